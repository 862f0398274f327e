"""The files that will go with a message, as chips with name, tokens and a button to remove. Knows no message."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

from headstart.chat.conversation import Attachment
from headstart.errors import AttachmentError
from headstart.ui.chat import attachments
from headstart.ui.chat.pdf_reading import PdfReading
from headstart.ui.fault_words import said
from headstart.ui.spelling import whole
from headstart.ui.widgets.flow import Flow
from headstart.ui.widgets.icons import show_icon
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import ICON, SMALL, TINY, Theme

_LONGEST_NAME = 36  # characters


class AttachmentTray(QWidget):
    """Hidden while it is empty. Texts are there at once, PDF files when they have been read."""

    changed = Signal()
    troubled = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Attached files"))
        self._theme = theme
        self._chips: dict[Attachment, Chip] = {}
        self._readings: dict[PdfReading, Chip] = {}
        self._flow = Flow(self, TINY)
        self.hide()

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """What is there."""
        return tuple(self._chips)

    @property
    def is_reading(self) -> bool:
        """Whether a PDF file is still being read."""
        return bool(self._readings)

    def attach(self, files: Iterable[Path]) -> None:
        """Read files and show them; what cannot be attached is told when the others are there."""
        refused: list[AttachmentError] = []
        for path in files:
            try:
                self._require_room(path)
                if attachments.is_pdf(path):
                    self._begin(path)
                else:
                    self._add(attachments.read(path))
            except AttachmentError as error:
                refused.append(error)
        self._note_change()
        for refusal in refused:
            self.troubled.emit(said(refusal))

    def set_attached(self, files: Iterable[Attachment]) -> None:
        """Show these and no others."""
        for reading in list(self._readings):
            self._drop(reading)
        for attachment in list(self._chips):
            self._discard(self._chips.pop(attachment))
        for attachment in files:
            self._add(attachment)
        self.setVisible(bool(self._chips))

    def show_tokens(self, tokens: Mapping[Attachment, int]) -> None:
        """How many tokens each has, as far as they are counted."""
        for attachment, chip in self._chips.items():
            if attachment in tokens:
                chip.show_remark(self.tr("{} tokens").format(whole(tokens[attachment])))

    def set_theme(self, theme: Theme) -> None:
        """Icons in another colour."""
        self._theme = theme
        for chip in (*self._chips.values(), *self._readings.values()):
            chip.set_theme(theme)

    def _require_room(self, path: Path) -> None:
        if len(self._chips) + len(self._readings) >= attachments.MOST:
            raise AttachmentError(
                f"{path.name} was not attached: {attachments.MOST} files is the most for one message."
            )

    def _add(self, attachment: Attachment) -> None:
        if attachment in self._chips:  # the same file again
            return
        chip = self._chip(attachment.name, self.tr("Remove {}").format(attachment.name))
        chip.show_remark(attachments.size(attachment))
        chip.remove.clicked.connect(partial(self._remove, attachment))
        self._chips[attachment] = chip

    def _begin(self, path: Path) -> None:
        reading = PdfReading(path, self)
        chip = self._readings[reading] = self._chip(path.name, self.tr("Stop reading {}").format(path.name))
        chip.show_remark(self.tr("reading…"))
        chip.remove.clicked.connect(partial(self._abandon, reading))
        reading.progressed.connect(partial(self._show_progress, chip))
        reading.read.connect(partial(self._finish, reading))
        reading.failed.connect(partial(self._fail, reading))
        reading.start()

    def _show_progress(self, chip: "Chip", page: int, pages: int) -> None:
        chip.show_remark(self.tr("page {page} of {pages}").format(page=page, pages=pages))

    def _finish(self, reading: PdfReading, attachment: Attachment) -> None:
        try:
            attachments.require_short(attachment)
        except AttachmentError as error:
            self._fail(reading, str(error))
            return
        self._drop(reading)
        self._add(attachment)
        self._note_change()

    def _fail(self, reading: PdfReading, sentence: str) -> None:
        self._drop(reading)
        self._note_change()
        self.troubled.emit(said(sentence))

    def _abandon(self, reading: PdfReading) -> None:
        self._drop(reading)
        self._note_change()

    def _remove(self, attachment: Attachment) -> None:
        self._discard(self._chips.pop(attachment))
        self._note_change()

    def _drop(self, reading: PdfReading) -> None:
        self._discard(self._readings.pop(reading))
        reading.cancel()
        reading.deleteLater()

    def _discard(self, chip: "Chip") -> None:
        self._flow.removeWidget(chip)
        chip.hide()
        chip.deleteLater()

    def _chip(self, name: str, remove: str) -> "Chip":
        chip = Chip(name, remove, self._theme, self)
        self._flow.addWidget(chip)
        chip.show()
        return chip

    def _note_change(self) -> None:
        self.setVisible(bool(self._chips or self._readings))
        self.changed.emit()


class Chip(QFrame):
    """A file's name with a remark, and a button."""

    def __init__(self, name: str, remove: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        dress(self, "chip")
        self._name = QLabel(_shortened(name), self)
        self._name.setToolTip(name)
        self._remark = QLabel(self)
        dress(self._remark, "muted")
        self.remove = QToolButton(self)
        dress(self.remove, "flat")
        self.remove.setToolTip(remove)
        self.remove.setAccessibleName(remove)
        self._full_name = name
        row = QHBoxLayout(self)
        row.setContentsMargins(SMALL, 0, 0, 0)
        row.setSpacing(SMALL)
        for widget in (self._name, self._remark, self.remove):
            row.addWidget(widget)
        self.set_theme(theme)

    def show_remark(self, text: str) -> None:
        """Size, tokens or progress."""
        self._remark.setText(text)
        self.setAccessibleName(f"{self._full_name}, {text}")

    def set_theme(self, theme: Theme) -> None:
        """The icon in another colour."""
        show_icon(self.remove, "close", theme.muted, ICON - 2)


def _shortened(name: str) -> str:
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[-half + 1 :]}"
