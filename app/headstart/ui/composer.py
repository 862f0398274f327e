"""Where a message is written: text, attached files, the count against the context, Send and Stop. Knows no chat."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from headstart.chat.conversation import Attachment
from headstart.errors import AttachmentError
from headstart.ui import attachments
from headstart.ui.icons import icon
from headstart.ui.message_edit import MessageEdit
from headstart.ui.stylesheet import dress, mark
from headstart.ui.theme import ICON, MEDIUM, SMALL, TINY, Theme


class Composer(QFrame):
    """Emits a finished message; what is written stays until `clear`."""

    submitted = Signal(str, object)  # text, tuple[Attachment, ...]
    stop_requested = Signal()
    changed = Signal()  # text or attachments
    recall_requested = Signal()
    troubled = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._theme = theme
        self._attached: list[Attachment] = []
        self._busy = False
        self.edit = MessageEdit(self)
        self.edit.setPlaceholderText(self.tr("Ask anything"))
        self._chips = QWidget(self)
        self._attach = self._button(self.tr("Attach files"), "flat")
        self._model = QLabel(self)
        self._count = QLabel(self)
        self._send = self._button(self.tr("Send"), "round")
        self._lay_out()
        self._connect()
        self.set_theme(theme)
        self._show_chips()

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """The files that go with the message."""
        return tuple(self._attached)

    def text(self) -> str:
        """What is typed."""
        return self.edit.text()

    def set_text(self, text: str) -> None:
        """Put a draft into the box, the cursor behind it."""
        self.edit.setPlainText(text)
        self.edit.moveCursor(self.edit.textCursor().MoveOperation.End)

    def clear(self) -> None:
        """The message was sent."""
        self._attached.clear()
        self.edit.clear()
        self._show_chips()

    def attach(self, files: Iterable[Path]) -> None:
        """Read files and show them; what cannot be attached is told."""
        for file in files:
            try:
                self._attached.append(attachments.read(file))
            except AttachmentError as error:
                self.troubled.emit(str(error))
        self._show_chips()
        self.changed.emit()

    def set_busy(self, busy: bool) -> None:
        """While an answer is written the button stops it."""
        self._busy = busy
        self._show_button()

    def show_model(self, text: str, tip: str) -> None:
        """Which model will answer, or what is going on with it."""
        self._model.setText(text)
        self._model.setToolTip(tip)

    def show_count(self, tokens: int, context: int, parts: dict[str, int]) -> None:
        """How much of the context the conversation with this message takes; `parts` by attachment."""
        self._count.setText(self.tr("{tokens} / {context} tokens").format(tokens=f"{tokens:,}", context=f"{context:,}"))
        dress(self._count, "danger" if tokens >= context else "muted")
        mark(self._count, "over", tokens >= context)
        names = [self.tr("{name}: {count} tokens").format(name=name, count=count) for name, count in parts.items()]
        self._count.setToolTip("\n".join([self.tr("This conversation with the message, of the context"), *names]))

    def hide_count(self) -> None:
        """Nobody can count now."""
        self._count.clear()

    def set_dropping(self, dropping: bool) -> None:
        """Files are held over the window."""
        mark(self, "dropping", dropping)

    def set_theme(self, theme: Theme) -> None:
        """Icons in other colours."""
        self._theme = theme
        self._attach.setIcon(icon("attach", theme.muted))
        self._show_chips()
        self._show_button()

    @Slot()
    def submit(self) -> None:
        """Send what is there, or stop what is being written."""
        if self._busy:
            return
        text = self.text().strip()
        if text or self._attached:
            self.submitted.emit(text, self.attached)

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.addWidget(self._attach)
        row.addWidget(self._model)
        row.addStretch(1)
        row.addWidget(self._count)
        row.addWidget(self._send)
        column = QVBoxLayout(self)
        column.setContentsMargins(MEDIUM, SMALL, SMALL, SMALL)
        column.setSpacing(TINY)
        column.addWidget(self._chips)
        column.addWidget(self.edit)
        column.addLayout(row)
        chips = QHBoxLayout(self._chips)
        chips.setContentsMargins(0, 0, 0, 0)
        dress(self._model, "muted")
        dress(self._count, "muted")
        self.setFocusProxy(self.edit)

    def _connect(self) -> None:
        self.edit.submitted.connect(self.submit)
        self.edit.textChanged.connect(self.changed)
        self.edit.textChanged.connect(self._show_button)
        self.edit.files_given.connect(self.attach)
        self.edit.recall_requested.connect(self.recall_requested)
        self.edit.focused.connect(lambda focused: mark(self, "focused", focused))
        self._attach.clicked.connect(self._ask_for_files)
        self._send.clicked.connect(self._act)

    def _button(self, label: str, kind: str) -> QToolButton:
        button = QToolButton(self)
        dress(button, kind)
        button.setToolTip(label)
        button.setAccessibleName(label)
        button.setIconSize(QSize(ICON, ICON) if kind == "flat" else QSize(ICON + TINY, ICON + TINY))
        button.setFixedSize(QSize(30, 30) if kind == "flat" else QSize(34, 34))
        return button

    @Slot()
    def _act(self) -> None:
        if self._busy:
            self.stop_requested.emit()
        else:
            self.submit()

    @Slot()
    def _show_button(self) -> None:
        label = self.tr("Stop") if self._busy else self.tr("Send")
        can = self._busy or bool(self.text().strip() or self._attached)
        self._send.setEnabled(can)
        self._send.setIcon(
            icon("stop" if self._busy else "send", self._theme.on_accent if can else self._theme.disabled)
        )
        self._send.setToolTip(self.tr("Stop (Esc)") if self._busy else label)
        self._send.setAccessibleName(label)

    @Slot()
    def _ask_for_files(self) -> None:
        names, _ = QFileDialog.getOpenFileNames(self, self.tr("Attach files"))
        self.attach(Path(name) for name in names)

    def _show_chips(self) -> None:
        row = self._chips.layout()
        assert row
        while item := row.takeAt(0):
            if widget := item.widget():
                widget.deleteLater()
        for index, attachment in enumerate(self._attached):
            row.addWidget(self._chip(index, attachment))
        row.setAlignment(Qt.AlignmentFlag.AlignLeft)
        self._chips.setVisible(bool(self._attached))

    def _chip(self, index: int, attachment: Attachment) -> QWidget:
        chip = QFrame(self._chips)
        dress(chip, "chip")
        row = QHBoxLayout(chip)
        row.setContentsMargins(SMALL, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(QLabel(f"{attachment.name}  {_size(attachment)}", chip))
        remove = self._button(self.tr("Remove {}").format(attachment.name), "flat")
        remove.setIcon(icon("close", self._theme.muted))
        remove.clicked.connect(partial(self._detach, index))
        row.addWidget(remove)
        return chip

    def _detach(self, index: int) -> None:
        del self._attached[index]
        self._show_chips()
        self._show_button()
        self.changed.emit()


def _size(attachment: Attachment) -> str:
    size = len(attachment.text.encode(errors="replace"))
    return f"{size / 1000:.1f} kB" if size >= 1000 else f"{size} B"
