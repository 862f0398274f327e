"""The message box with its attached files, token count, model button, Send and Stop."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from headstart.chat.conversation import Attachment
from headstart.engine.engine import Request
from headstart.engine.memory import DEFAULT_CONTEXT
from headstart.settings import Settings
from headstart.ui.chat.attachments import AttachmentTray
from headstart.ui.engine_link import EngineLink
from headstart.ui.formatting import whole
from headstart.ui.markdown import blocks
from headstart.ui.widgets.icons import icon, icon_button
from headstart.ui.widgets.layouts import beside, file_place, keep_place, set_margins, stacked
from headstart.ui.widgets.stylesheet import set_style_class, set_style_property
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY, scaled


@dataclass(frozen=True)
class Count:
    """What was counted. The context must hold the tokens and at least one more, for the answer.

    `is_exact`: by the model that will answer, and not by another one that is in memory.
    """

    request: Request
    tokens: int
    context: int
    parts: Mapping[Attachment, int] = field(default_factory=dict)
    is_exact: bool = True

    @property
    def fits(self) -> bool:
        """Whether there is room for an answer, as far as anybody knows."""
        return self.tokens < self.context or not self.is_exact


_MOST_LINES = 12
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class MessageEdit(QPlainTextEdit):
    """A text box that sends with Enter and takes files. The text stays until it is cleared."""

    submitted = Signal()
    files_given = Signal(object)  # list[Path]
    recall_requested = Signal()  # Up in an empty box
    focused = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.enter_sends = True
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Message"))
        self.document().setDocumentMargin(SMALL / 2)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def text(self) -> str:
        """What is typed."""
        return self.toPlainText()

    def event(self, event: QEvent) -> bool:
        # With nothing to take back here, the key is the window's: it undoes what was deleted last.
        if event.type() == QEvent.Type.ShortcutOverride and self._leaves_undo_to_the_window(event):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() in _ENTER and self._sends(event.modifiers()):
            self.submitted.emit()
        elif event.key() == Qt.Key.Key_Up and not self.toPlainText():
            self.recall_requested.emit()
        else:
            super().keyPressEvent(self._as_break(event) if event.key() in _ENTER else event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:  # noqa: N802
        return bool(_files(source)) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:  # noqa: N802
        if files := _files(source):
            self.files_given.emit(files)
        elif source.hasText():
            self.insertPlainText(source.text())

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusInEvent(event)
        self.focused.emit(True)  # noqa: FBT003 - Qt's own signature

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusOutEvent(event)
        self.focused.emit(False)  # noqa: FBT003 - Qt's own signature

    def _sends(self, modifiers: Qt.KeyboardModifier) -> bool:
        control = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        shift = bool(modifiers & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier))
        return control or (self.enter_sends and not shift)

    def _as_break(self, event: QKeyEvent) -> QKeyEvent:
        """Shift+Enter would insert a line separator, which is no line break to anyone else."""
        plain = Qt.KeyboardModifier.NoModifier
        return QKeyEvent(event.type(), Qt.Key.Key_Return, plain, event.text(), event.isAutoRepeat(), event.count())

    def _leaves_undo_to_the_window(self, event: QEvent) -> bool:
        is_undo = isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Undo)
        return is_undo and not self.document().isUndoAvailable()

    @Slot()
    def _fit(self) -> None:
        line = self.fontMetrics().lineSpacing()
        lines = min(max(int(self.document().size().height()), 1), _MOST_LINES)
        margins = 2 * int(self.document().documentMargin()) + 2 * self.frameWidth()
        policy = Qt.ScrollBarPolicy
        fits = self.document().size().height() <= _MOST_LINES
        self.setVerticalScrollBarPolicy(policy.ScrollBarAlwaysOff if fits else policy.ScrollBarAsNeeded)
        self.setFixedHeight(line * lines + margins)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(super().sizeHint().width(), self.height())


def _files(source: QMimeData) -> list[Path]:
    return [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]


_MODEL_WIDTH = 260  # most of a model's name that is shown
_NAMED = 72  # pixels: a model's button keeps no window wide
_FLAT, _ROUND = 32, 34  # pixels of a button's side beside text of the usual size


class Composer(QFrame):
    """Emits a finished message. The text stays until `clear`."""

    submitted = Signal(str, object)  # text, tuple[Attachment, ...]
    stop_requested = Signal()
    changed = Signal()  # text or attachments
    error_occurred = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._busy = False
        self._takes_files = True
        self._reason = ""
        self.edit = MessageEdit(self)
        self.edit.setPlaceholderText(self.tr("Ask anything"))
        self._tray = AttachmentTray(self)
        self._attach = icon_button("attach", self.tr("Attach files (text, Markdown, code, PDF)"), self)
        self.model_button = QToolButton(self)
        self.model_button.setIcon(icon("unfolded"))
        self._reach = QLabel(self)
        self._ready = QLabel(self.tr("Ready ·"), self)
        self._is_ready = False
        self._leaves = False  # what is written goes to another computer
        self._count = QLabel(self)
        self._model: tuple[str, ...] = ("",)  # in all words, in fewer, and by its name
        self._counted = ("", "")  # in all words, and in one
        self._progress = ("", "")  # of loading; nobody can count meanwhile
        self._send = icon_button("send", self.tr("Send"), self, "round")
        self._lay_out()
        self._connect()
        self._scale()
        self._show_button()

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """The files that go with the message."""
        return self._tray.attached

    @property
    def is_reading(self) -> bool:
        """Whether a file is still being read."""
        return self._tray.is_reading

    def text(self) -> str:
        """What is typed."""
        return self.edit.text()

    def set_text(self, text: str, cursor: int | None = None) -> None:
        """Put a draft into the box, the cursor behind it or where it is wanted."""
        self.edit.setPlainText(text)
        self._place_cursor(text, cursor)

    def replace_text(self, text: str, cursor: int | None = None) -> None:
        """Do as `set_text`, so that Undo brings back what stood there."""
        self.edit.selectAll()
        self.edit.insertPlainText(text)
        self._place_cursor(text, cursor)

    def _place_cursor(self, text: str, cursor: int | None) -> None:
        place = self.edit.textCursor()
        place.setPosition(blocks.units(text if cursor is None else text[:cursor]))
        self.edit.setTextCursor(place)
        self.edit.ensureCursorVisible()

    def set_attached(self, files: Iterable[Attachment], *, takes_more: bool = True) -> None:
        """Show the files of a draft or of a message being edited. Files still being read are dropped."""
        self._takes_files = takes_more
        self._attach.setEnabled(takes_more)
        self._tray.set_attached(files)
        self._show_button()
        self.changed.emit()

    def clear(self) -> None:
        """Empty it after the message was sent."""
        self.edit.clear()
        self.set_attached(())

    def attach(self, files: Iterable[Path]) -> None:
        """Read and show files, or report why they are refused."""
        if self._takes_files:
            self._tray.attach(files)
        else:
            self.error_occurred.emit(self.tr("Files go with questions; an answer has none."))

    def show_in_passages(self, files: Iterable[Attachment]) -> None:
        """Say of which files the model gets passages, because they are too long."""
        self._tray.show_in_passages(files)

    def set_busy(self, busy: bool) -> None:
        """Turn the button into Stop while an answer is written."""
        self._busy = busy
        if busy:
            self.show_ready(ready=False)
        self._show_button()

    def set_blocked(self, reason: str) -> None:
        """Say why nothing can be sent while the engine does something else. An empty reason allows sending."""
        self._reason = reason
        self._show_button()

    def show_model(self, name: str, tip: str, state: str = "", progress: tuple[str, str] = ("", "")) -> None:
        """Which model will answer, and whether it is there; `progress` of its loading, in all words and in few."""
        button = self.model_button
        text = f"{name} · {state}" if state else name
        short = button.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, scaled(_MODEL_WIDTH, self.font()))
        brief = self.tr("not loaded")
        self._model = (f"{short} · {state}", f"{short} · {brief}", short) if state else (short,)
        self._progress = progress
        button.setToolTip(tip if text in tip else f"{text}\n{tip}".rstrip())
        button.setAccessibleName(self.tr("Model: {}").format(text))
        button.setAccessibleDescription(tip)
        self._fit()

    def show_reach(self, text: str, tip: str, *, leaves: bool) -> None:
        """Whether what is written stays on this computer."""
        self._reach.setText(text)
        self._reach.setToolTip(tip)
        self._reach.setAccessibleName(text)
        self._reach.setAccessibleDescription(tip)
        self._leaves = leaves
        set_style_class(self._reach, "badge-accent" if leaves else "badge")
        set_style_property(self._reach, "leaves", leaves)
        self._reach.updateGeometry()
        self._fit()

    def show_count(self, count: Count) -> None:
        """How much of the context the conversation with this message takes, and each file of it."""
        if not count.is_exact:
            words = self.tr("about {tokens} tokens")
            meaning = self.tr("This conversation with the message, as another model counts it")
        else:
            roomy, long = self.tr("{tokens} / {context} tokens"), self.tr("Too long: {tokens} / {context} tokens")
            words = roomy if count.fits else long
            meaning = self.tr("This conversation with the message, of the context")
        full = words.format(tokens=whole(count.tokens), context=whole(count.context))
        self._counted = (full, whole(count.tokens) if count.is_exact else f"≈ {whole(count.tokens)}")
        self._count.setAccessibleName(full)
        set_style_class(self._count, "muted" if count.fits else "danger")
        set_style_property(self._count, "over", not count.fits)
        self._count.setToolTip(f"{full}\n{meaning}")
        self._fit()
        self._tray.show_tokens(count.parts)

    def hide_count(self) -> None:
        """Show no count."""
        self._counted = ("", "")
        self._fit()

    def show_ready(self, *, ready: bool) -> None:
        """Whether the model has read what would be sent."""
        self._is_ready = ready
        self._send.setAccessibleDescription(self._ready.accessibleDescription() if ready else "")
        self._fit()

    def set_dropping(self, dropping: bool) -> None:
        """Mark the box while files are dragged over the window."""
        set_style_property(self, "dropping", dropping)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._scale()

    def _scale(self) -> None:
        for button, pixels in ((self._attach, _FLAT), (self._send, _ROUND)):
            side = scaled(pixels, self.font())
            button.setFixedSize(side, side)
        self.model_button.setMinimumWidth(scaled(_NAMED, self.font()))

    @Slot()
    def submit(self) -> None:
        """Send what is there, or stop what is being written."""
        if self._busy:
            return
        text = self.text().strip()
        if self._tray.is_reading:
            self.error_occurred.emit(self.tr("A file is still being read; send the message when it is there."))
        elif text or self.attached:
            self.submitted.emit(text, self.attached)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Where words find no room, "Offline" goes first, then the size of the context, which may make room for it."""
        room = self._fit_model()
        full, short = self._progress if self._progress[0] else self._counted
        metrics = self._count.fontMetrics()
        if metrics.horizontalAdvance(short) > room:  # less than what is to be known of the model
            full = short = ""
        self._count.setText(full)
        self._count.setMinimumWidth(metrics.horizontalAdvance(short) + TINY)
        if self._count.sizeHint().width() > room:
            self._count.setText(short)
        count, reach = self._count.sizeHint().width(), self._reach.sizeHint().width()
        has_room = self._leaves or count + reach <= room
        self._reach.setVisible(bool(self._reach.text()) and has_room)
        room -= count + (0 if self._reach.isHidden() else reach)
        if room < 0:
            self._count.setText(short)
        self._ready.setVisible(self._is_ready and self._ready.sizeHint().width() + SMALL <= room)

    def _fit_model(self) -> int:
        """Name the model in as many words as leave room for the count, or for the seconds of loading: how much."""
        button, is_there = self.model_button, len(self._model) == 1
        short = self._progress[1] or (self._counted[1] if is_there else "")  # what another model counts may go
        least = self._count.fontMetrics().horizontalAdvance(short) + TINY if short else 0
        beside = self._attach.minimumWidth() + self._send.minimumWidth() + MEDIUM + 6 * SMALL
        for text in self._model:
            button.setText(text)
            room = self.width() - beside - max(button.sizeHint().width(), button.minimumWidth())
            if room >= least:
                return room
        metrics, name = button.fontMetrics(), self._model[-1]
        cut = max(metrics.horizontalAdvance(name) + room - least, 0)
        button.setText(metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, cut))
        return self.width() - beside - button.sizeHint().width()

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        status = beside(None, self._ready, self._count, spacing=TINY)
        row.addWidget(self._attach)
        row.addWidget(self.model_button)
        row.addWidget(self._reach, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addStretch(1)
        row.addLayout(status)
        row.addWidget(self._send)
        column = stacked(self, self._tray, self.edit, row, spacing=TINY)
        set_margins(column, start=MEDIUM, top=SMALL, end=SMALL, bottom=SMALL)
        set_style_class(self.model_button, "flat")
        self.model_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.model_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.model_button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow behind the name
        set_style_class(self._count, "muted")
        set_style_class(self._reach, "badge")
        set_style_class(self._ready, "muted")
        meaning = self.tr("The model has read this chat and your message so far: its answer begins at once.")
        self._ready.setToolTip(meaning)
        self._ready.setAccessibleName(self.tr("Ready"))
        self._ready.setAccessibleDescription(meaning)
        self._ready.hide()
        for label in (self._reach, self._ready):
            label.setMinimumWidth(1)  # it keeps no window wide
        self.setFocusProxy(self.edit)

    def _connect(self) -> None:
        self.edit.submitted.connect(self.submit)
        self.edit.textChanged.connect(self.changed)
        self.edit.textChanged.connect(self._show_button)
        self.edit.files_given.connect(self.attach)
        self.edit.focused.connect(lambda focused: set_style_property(self, "focused", focused))
        self._tray.changed.connect(self.changed)
        self._tray.changed.connect(self._show_button)
        self._tray.error_occurred.connect(self.error_occurred)
        self._attach.clicked.connect(self.ask_for_files)
        self._send.clicked.connect(self._act)

    @Slot()
    def _act(self) -> None:
        if self._busy:
            self.stop_requested.emit()
        else:
            self.submit()

    @Slot()
    def _show_button(self) -> None:
        label = self.tr("Stop") if self._busy else self.tr("Send")
        is_idle = not self._tray.is_reading and not self._reason
        can = self._busy or (bool(self.text().strip() or self.attached) and is_idle)
        self._send.setEnabled(can)
        self._send.setIcon(icon("stop" if self._busy else "send", QPalette.ColorRole.HighlightedText))
        self._send.setToolTip(self.tr("Stop (Esc)") if self._busy else self._reason or label)
        self._send.setAccessibleName(label)

    @Slot()
    def ask_for_files(self) -> None:
        """Open the dialog that chooses files."""
        kinds = self.tr("Text, code and PDF (*)")
        names, _ = QFileDialog.getOpenFileNames(self, self.tr("Attach files"), file_place(), kinds)
        if names:
            keep_place(names[0])
            self.attach(Path(name) for name in names)


_PAUSE = 250  # ms after the last key
_MOST_BYTES = 8  # of UTF-8 in a token, of any text that people read
_PATIENCE = 3000  # ms that a message may wait for its count; the engine counts again anyway
Then = Callable[[Count | None], None]


class TokenCount(QObject):
    """Counts the tokens of what the model would be asked, then those of each new attachment."""

    counted = Signal(object)  # Count of what nobody waits to send

    def __init__(self, link: EngineLink, composer: Composer, parent: QObject | None = None) -> None:
        """Asks nothing yet. The composer shows what is counted."""
        super().__init__(parent)
        self._link, self._composer = link, composer
        self._request: Request | None = None
        self._attached: tuple[Attachment, ...] = ()
        self._known: dict[Attachment, int] = {}
        self._last: Count | None = None
        self._asked: tuple[int, Attachment | Request] | None = None
        self._then: Then | None = None
        self._is_exact = True
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self._ask)
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE)
        self._patience.timeout.connect(self._give_up)
        link.counted.connect(self._take)
        link.loaded.connect(self._count_anew)

    def count(self, request: Request | None, attached: tuple[Attachment, ...]) -> None:
        """Show the count soon, if a loaded model counts and nothing newer is asked; show none without a request."""
        self._request, self._attached = request, attached
        if self._is_elsewhere() or not request:
            self._composer.hide_count()
        else:
            self._pause.start()

    def set_exact(self, exact: bool) -> None:
        """Whether the model in memory is the one that will answer."""
        if exact != self._is_exact:
            self._is_exact = exact
            if self._last and self._last.request == self._request:
                self._tell(self._last)

    def settle(self, request: Request, attached: tuple[Attachment, ...], then: Then) -> None:
        """Call `then` with the count of exactly this request, or with None where nobody counts it in time."""
        if not self._link.facts or self._is_elsewhere() or not self._is_exact:
            then(None)
        elif self._last and self._last.request == request:
            then(self._last)
        else:
            self.count(request, attached)
            self._pause.stop()
            self._then = then
            self._patience.start()
            self._ask()

    def is_hopeless(self, request: Request, settings: Settings) -> bool:
        """Whether this is too long for the context, however it is counted, as far as that is known."""
        facts = self._link.facts
        is_known = facts and (facts.server or self._is_exact)
        context = facts.context if facts and is_known else settings.context or DEFAULT_CONTEXT
        length = sum(len(message.content.encode(errors="replace")) for message in request.messages)
        return bool(context) and length > context * _MOST_BYTES

    def forget(self) -> None:
        """Forget what `settle` was asked for."""
        self._then = None
        self._patience.stop()

    def close(self) -> None:
        """Ask nothing more."""
        self.forget()
        self._pause.stop()
        self._link.disconnect(self)

    def _is_elsewhere(self) -> bool:
        return bool(self._link.facts and self._link.facts.server)

    @Slot()
    def _count_anew(self) -> None:
        self._known.clear()
        self._last = None
        if self._is_elsewhere():
            self._composer.hide_count()
        else:
            self._pause.start()

    @Slot()
    def _ask(self) -> None:
        if self._request and (self._last is None or self._last.request != self._request):
            self._asked = (self._link.count_tokens(request=self._request), self._request)
            return
        unknown = next((attachment for attachment in self._attached if attachment not in self._known), None)
        if unknown:
            self._asked = (self._link.count_tokens(unknown.text), unknown)
        elif self._last:
            self._tell(self._last)

    @Slot(int, int, int)
    def _take(self, ticket: int, tokens: int, context: int) -> None:
        if self._asked is None or self._asked[0] != ticket:
            return
        asked = self._asked[1]
        if isinstance(asked, Attachment):
            self._known[asked] = tokens
            self._ask()
            return
        self._tell(Count(asked, tokens, context))
        if any(attachment not in self._known for attachment in self._attached):
            self._ask()

    def _tell(self, count: Count) -> None:
        parts = {item: self._known[item] for item in self._attached if item in self._known}
        self._last = replace(count, parts=parts, is_exact=self._is_exact)
        self._composer.show_count(self._last)
        then = self._then
        if count.request != self._request:
            return
        if then:
            self.forget()
            then(self._last)
        else:
            self.counted.emit(self._last)

    @Slot()
    def _give_up(self) -> None:
        then = self._then
        self.forget()
        if then:
            then(None)
