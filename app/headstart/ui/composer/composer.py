"""The composer: message box, attached files, token count, model button, switch for thinking, Send and Stop."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QFocusEvent, QGuiApplication, QImage, QKeyEvent, QKeySequence, QPalette, QResizeEvent
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
from headstart.engine.engine import ConversationRequest
from headstart.engine.loading.memory import DEFAULT_CONTEXT
from headstart.markdown import blocks
from headstart.settings import Settings
from headstart.ui.composer.attachments import AttachmentTray
from headstart.ui.composer.dictation import DictationWidget
from headstart.ui.engine_link import EngineLink
from headstart.ui.formatting import percent, whole
from headstart.ui.widgets.icons import icon, icon_button
from headstart.ui.widgets.layouts import beside, initial_path, remember_folder, set_margins, stacked
from headstart.ui.widgets.stylesheet import set_style_class, set_style_property
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY, scaled


@dataclass(frozen=True)
class TokenCount:
    """The tokens of a request. The context must hold them and at least one token of the answer."""

    request: ConversationRequest
    tokens: int
    context: int
    parts: Mapping[Attachment, int] = field(default_factory=dict)  # tokens of each file
    is_exact: bool = True  # counted by the model that will answer, not by another one in memory

    @property
    def share(self) -> float:
        """The share of the context that is used, 1 at most."""
        return min(self.tokens / self.context, 1.0) if self.context else 0.0

    @property
    def fits(self) -> bool:
        """True if there is room for an answer, or the count is not exact."""
        return self.tokens < self.context or not self.is_exact


_NEARLY_FULL = 0.75  # share of the context; below, nobody has to know
_MAX_LINES = 12
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class MessageEdit(QPlainTextEdit):
    """The message box, which sends with Enter and accepts files."""

    submitted = Signal()
    files_given = Signal(object)  # list[Path]
    picture_given = Signal(QImage)
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
        return self.toPlainText()

    def event(self, event: QEvent) -> bool:
        # If there is nothing to undo here, the key goes to the window, which undoes the last deletion.
        if event.type() == QEvent.Type.ShortcutOverride and self._passes_undo_on(event):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER and self._is_send_key(event.modifiers()):
            self.submitted.emit()
        elif event.key() == Qt.Key.Key_Up and not self.toPlainText():
            self.recall_requested.emit()
        else:
            super().keyPressEvent(self._plain_return(event) if event.key() in _ENTER else event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return bool(_files(source)) or source.hasImage() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if files := _files(source):
            self.files_given.emit(files)
        elif source.hasText():
            self.insertPlainText(source.text())
        elif source.hasImage() and isinstance(picture := source.imageData(), QImage):
            self.picture_given.emit(picture)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()  # a draft was opened before its lines had their width

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit(True)  # noqa: FBT003 - Qt's own signature

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focused.emit(False)  # noqa: FBT003 - Qt's own signature

    def _is_send_key(self, modifiers: Qt.KeyboardModifier) -> bool:
        control = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        shift = bool(modifiers & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier))
        return control or (self.enter_sends and not shift)

    def _plain_return(self, event: QKeyEvent) -> QKeyEvent:
        """Return the event without modifiers: Shift+Enter would insert a line separator instead of a line break."""
        plain = Qt.KeyboardModifier.NoModifier
        return QKeyEvent(event.type(), Qt.Key.Key_Return, plain, event.text(), event.isAutoRepeat(), event.count())

    def _passes_undo_on(self, event: QEvent) -> bool:
        is_undo = isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Undo)
        return is_undo and not self.document().isUndoAvailable()

    @Slot()
    def _fit(self) -> None:
        line = self.fontMetrics().lineSpacing()
        lines = min(max(int(self.document().size().height()), 1), _MAX_LINES)
        margins = 2 * int(self.document().documentMargin()) + 2 * self.frameWidth()
        policy = Qt.ScrollBarPolicy
        fits = self.document().size().height() <= _MAX_LINES
        self.setVerticalScrollBarPolicy(policy.ScrollBarAlwaysOff if fits else policy.ScrollBarAsNeeded)
        self.setFixedHeight(line * lines + margins)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.height())


def _files(source: QMimeData) -> list[Path]:
    return [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]


# Pixels at the usual size of text.
_MAX_MODEL_WIDTH = 260
_MIN_MODEL_WIDTH = 72
_WIDE, _CRAMPED = 520, 330  # in less width, the switch for thinking is only an icon, or leaves its room to the model
_BUTTON_SIDE, _SEND_SIDE = 32, 34


class Composer(QFrame):
    """The composer, which emits a finished message. The text stays until `clear`."""

    submitted = Signal(str, object)  # text, tuple[Attachment, ...]
    stop_requested = Signal()
    thinking_chosen = Signal(bool)  # whether the model shall think before it answers
    changed = Signal()  # text or attachments
    error_occurred = Signal(str, str)  # sentences, the model that is missing

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._is_busy = False
        self._takes_files = True
        self._block_reason = ""
        self.edit = MessageEdit(self)
        self.edit.setPlaceholderText(self.tr("Ask anything"))
        self._tray = AttachmentTray(self)
        self._attach = icon_button(
            "attach", self.tr("Attach files (text, code, PDF, Word, web pages, e-books, pictures of text)"), self
        )
        self.dictation = DictationWidget(self)
        self.model_button = QToolButton(self)
        self._think = icon_button("think", self.tr("Think"), self, "toggle")
        self._think.setText(self.tr("Think"))
        self._think.setCheckable(True)
        self._think.hide()
        self._can_think = False
        self._reach = QLabel(self)
        self._ready = QLabel(self)
        self._is_ready = False
        self._leaves_computer = False  # messages go to another computer
        self._count = QLabel(self)
        self._model_texts: tuple[str, ...] = ("",)  # full text, shorter text, name
        self._count_texts = ("", "")  # full and short
        self._progress_texts: tuple[str, ...] = ()  # of loading, the longest first; shown instead of the count
        self._send = icon_button("send", self.tr("Send"), self, "round")
        self._lay_out()
        self._connect()
        self._scale()
        self._update_send_button()

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """The files that go with the message."""
        return self._tray.attached

    @property
    def is_reading(self) -> bool:
        """True while a file is read."""
        return self._tray.is_reading

    def text(self) -> str:
        return self.edit.text()

    def set_text(self, text: str, cursor: int | None = None) -> None:
        """Set the text and put the cursor at `cursor`, by default at the end."""
        self.edit.setPlainText(text)
        self._place_cursor(text, cursor)

    def replace_text(self, text: str, cursor: int | None = None) -> None:
        """Set the text as `set_text` does, but so that Undo restores the old text."""
        self.edit.selectAll()
        self.edit.insertPlainText(text)
        self._place_cursor(text, cursor)

    def _place_cursor(self, text: str, cursor: int | None) -> None:
        place = self.edit.textCursor()
        place.setPosition(blocks.units(text if cursor is None else text[:cursor]))
        self.edit.setTextCursor(place)
        self.edit.ensureCursorVisible()

    def set_attached(self, files: Iterable[Attachment], *, takes_more: bool = True) -> None:
        """Replace the files by those of a draft or an edited message. Files still being read are dropped."""
        self._takes_files = takes_more
        self._attach.setEnabled(takes_more)
        self._tray.set_attached(files)
        self._update_send_button()
        self.changed.emit()

    def clear(self) -> None:
        self.edit.clear()
        self.set_attached(())

    def attach(self, files: Iterable[Path]) -> None:
        """Read and show files, or report why they are refused."""
        if self._require_question():
            self._tray.attach(files)

    @Slot(QImage)
    def attach_picture(self, picture: QImage) -> None:
        """Read and show a picture that was pasted, or report why it is refused."""
        if self._require_question():
            self._tray.attach_picture(picture)

    def _require_question(self) -> bool:
        if not self._takes_files:
            self.error_occurred.emit(self.tr("Files go with questions; an answer has none."), "")
        return self._takes_files

    def show_in_passages(self, files: Iterable[Attachment]) -> None:
        """Mark the files of which the model gets only passages because they are too long."""
        self._tray.show_in_passages(files)

    def set_busy(self, busy: bool) -> None:
        """Turn the button into Stop while an answer is written."""
        self._is_busy = busy
        if busy:
            self.show_ready(ready=False)
        self._update_send_button()

    def set_blocked(self, reason: str) -> None:
        """Show why nothing can be sent while the engine does something else. An empty reason allows sending."""
        self._block_reason = reason
        self._update_send_button()

    def show_model(self, name: str, tip: str, state: str = "", brief: str = "", progress: tuple[str, ...] = ()) -> None:
        """Show the model that will answer, and its state, `brief` where there is little room.

        `progress` is that of loading, in texts from the longest to the shortest.
        """
        button = self.model_button
        text = f"{name} · {state}" if state else name
        short = button.fontMetrics().elidedText(
            name, Qt.TextElideMode.ElideMiddle, scaled(_MAX_MODEL_WIDTH, self.font())
        )
        self._model_texts = (f"{short} · {state}", f"{short} · {brief or state}", short) if state else (short,)
        self._progress_texts = progress
        button.setToolTip(tip if text in tip else f"{text}\n{tip}".rstrip())
        button.setAccessibleName(self.tr("Model: {}").format(text))
        button.setAccessibleDescription(tip)
        self._fit()

    def show_thinking(self, on: bool | None) -> None:
        """Show whether the model will think before it answers; None if it has no switch for that."""
        self._can_think = on is not None
        self._think.setChecked(bool(on))
        self._think.setIcon(icon("think", QPalette.ColorRole.Link if on else QPalette.ColorRole.PlaceholderText))
        tip = self.tr("The model thinks before it answers.") if on else self.tr("The model answers at once.")
        self._think.setToolTip(tip)
        self._think.setAccessibleDescription(tip)
        self._fit()

    def show_reach(self, text: str, tip: str, *, leaves_computer: bool) -> None:
        """Show whether messages stay on this computer."""
        self._reach.setText(text)
        self._reach.setToolTip(tip)
        self._reach.setAccessibleName(text)
        self._reach.setAccessibleDescription(tip)
        self._leaves_computer = leaves_computer
        set_style_class(self._reach, "badge-accent" if leaves_computer else "badge")
        set_style_property(self._reach, "leaves", leaves_computer)
        self._reach.updateGeometry()
        self._fit()

    def show_count(self, count: TokenCount) -> None:
        """Show how full the context is with this message once that matters, and the tokens of each of its files."""
        if not count.is_exact or count.share < _NEARLY_FULL:
            self._count_texts = ("", "")
        elif count.fits:
            brief = self.tr("{} full").format(percent(count.share))
            self._count_texts = (self.tr("Chat {} full").format(percent(count.share)), brief)
        else:
            self._count_texts = (self.tr("Too long for the model"), self.tr("Too long"))
        figures = (
            self.tr("{tokens} of {context} tokens") if count.is_exact else self.tr("about {tokens} tokens")
        ).format(tokens=whole(count.tokens), context=whole(count.context))
        self._count.setAccessibleName(self._count_texts[0])
        self._count.setAccessibleDescription(figures)
        set_style_class(self._count, "muted" if count.fits else "danger")
        set_style_property(self._count, "over", not count.fits)
        meaning = self.tr("The model can read no more than its context at once. A new chat has room.")
        self._count.setToolTip(f"{figures}\n{meaning}")
        self._fit()
        self._tray.show_tokens(count.parts)

    def hide_count(self) -> None:
        self._count_texts = ("", "")
        set_style_property(self._count, "over", False)  # noqa: FBT003 - a value
        self._count.setAccessibleDescription("")
        self._fit()

    def show_ready(self, *, ready: bool) -> None:
        """Show whether the model has read what would be sent."""
        self._is_ready = ready
        self._send.setAccessibleDescription(self._ready.accessibleDescription() if ready else "")
        self._fit()

    def set_dropping(self, dropping: bool) -> None:
        """Mark the box while files are dragged over the window."""
        set_style_property(self, "dropping", dropping)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._scale()

    def _scale(self) -> None:
        for button, pixels in (
            (self._attach, _BUTTON_SIDE),
            (self.dictation.button, _BUTTON_SIDE),
            (self._send, _SEND_SIDE),
        ):
            side = scaled(pixels, self.font())
            button.setFixedSize(side, side)
        self._think.setFixedHeight(scaled(_BUTTON_SIDE, self.font()))
        self.model_button.setMinimumWidth(scaled(_MIN_MODEL_WIDTH, self.font()))

    @Slot()
    def submit(self) -> None:
        """Emit the message, unless it is empty or an answer is being written."""
        if self._is_busy:
            return
        QGuiApplication.inputMethod().commit()  # what is being composed, if the mouse sends
        text = self.text().strip()
        if self._tray.is_reading:
            self.error_occurred.emit(self.tr("A file is still being read; send the message when it is there."), "")
        elif text or self.attached:
            self.submitted.emit(text, self.attached)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Fit the texts to the width: hide "Offline" first, then shorten the count, which may make room for it."""
        room = self._fit_model()
        texts = self._progress_texts or self._count_texts
        metrics, reach = self._count.fontMetrics(), self._reach.sizeHint().width() + SMALL
        if metrics.horizontalAdvance(texts[-1]) > room:  # the name of the model matters more
            texts = ("",)
        self._count.setMinimumWidth(metrics.horizontalAdvance(texts[-1]) + TINY)
        for text in texts:
            self._count.setText(text)
            count = self._count.sizeHint().width()
            if count + (reach if self._leaves_computer else 0) <= room:
                break
        has_room = self._leaves_computer or count + reach <= room
        self._reach.setVisible(bool(self._reach.text()) and has_room)
        room -= count + (0 if self._reach.isHidden() else reach)
        self._ready.setText(self.tr("Ready ·") if self._count.text() else self.tr("Ready"))
        can_be_sent = self._is_ready and not self._count.property("over")
        self._ready.setVisible(can_be_sent and self._ready.sizeHint().width() + SMALL <= room)

    def _fit_model(self) -> int:
        """Show the longest name of the model that leaves room for the count or the progress; return that room."""
        button, is_loaded = self.model_button, len(self._model_texts) == 1
        styles = Qt.ToolButtonStyle
        is_wide = self.width() >= scaled(_WIDE, self.font())
        self._think.setToolButtonStyle(styles.ToolButtonTextBesideIcon if is_wide else styles.ToolButtonIconOnly)
        self._think.setVisible(self._can_think and self.width() >= scaled(_CRAMPED, self.font()))
        # The count of another model may be hidden.
        short = self._progress_texts[-1] if self._progress_texts else self._count_texts[-1] if is_loaded else ""
        min_room = self._count.fontMetrics().horizontalAdvance(short) + TINY if short else 0
        think = 0 if self._think.isHidden() else self._think.sizeHint().width() + SMALL
        sides = self._attach.minimumWidth() + self._send.minimumWidth()
        beside = sides + think + MEDIUM + 4 * SMALL + TINY
        microphone = self.dictation.sizeHint().width() + SMALL
        for has_microphone in (True, False):  # the name of the model matters more
            self.dictation.setVisible(has_microphone or self.dictation.is_busy)
            taken = beside + (0 if self.dictation.isHidden() else microphone)
            for text in self._model_texts:
                button.setText(text)
                room = self.width() - taken - max(button.sizeHint().width(), button.minimumWidth())
                if room >= min_room:
                    return room
        metrics, name = button.fontMetrics(), self._model_texts[-1]
        cut = max(metrics.horizontalAdvance(name) + room - min_room, 0)
        button.setText(metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, cut))
        return self.width() - taken - button.sizeHint().width()

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        status = beside(None, self._ready, self._count, spacing=TINY)
        row.addWidget(self._attach)
        row.addWidget(self.dictation)
        row.addWidget(self.model_button)
        row.addWidget(self._think)
        row.addWidget(self._reach, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addStretch(1)
        row.addLayout(status)
        row.addWidget(self._send)
        column = stacked(self, self._tray, self.edit, row, spacing=TINY)
        set_margins(column, start=MEDIUM, top=SMALL, end=SMALL, bottom=SMALL)
        set_style_class(self.model_button, "menu")
        self.model_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.model_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        set_style_class(self._count, "muted")
        set_style_class(self._reach, "badge")
        set_style_class(self._ready, "muted")
        meaning = self.tr("The model has read this chat and your message so far: its answer begins at once.")
        self._ready.setToolTip(meaning)
        self._ready.setAccessibleName(self.tr("Ready"))
        self._ready.setAccessibleDescription(meaning)
        self._ready.hide()
        for part in (self._reach, self._ready, self._think):
            part.setMinimumWidth(1)  # does not keep the window wide
        self.setFocusProxy(self.edit)

    def _connect(self) -> None:
        self.edit.submitted.connect(self.submit)
        self.edit.textChanged.connect(self.changed)
        self.edit.textChanged.connect(self._update_send_button)
        self.edit.files_given.connect(self.attach)
        self.edit.picture_given.connect(self.attach_picture)
        self.edit.focused.connect(lambda focused: set_style_property(self, "focused", focused))
        self._tray.changed.connect(self.changed)
        self._tray.changed.connect(self._update_send_button)
        self._tray.error_occurred.connect(self.error_occurred)
        self._attach.clicked.connect(self.ask_for_files)
        self._think.clicked.connect(self.thinking_chosen)
        self._send.clicked.connect(self._on_send_clicked)

    @Slot()
    def _on_send_clicked(self) -> None:
        if self._is_busy:
            self.stop_requested.emit()
        else:
            self.submit()

    @Slot()
    def _update_send_button(self) -> None:
        label = self.tr("Stop") if self._is_busy else self.tr("Send")
        is_idle = not self._tray.is_reading and not self._block_reason
        can_send = is_idle and bool(self.text().strip() or self.attached)
        self._send.setEnabled(self._is_busy or can_send)
        self._send.setIcon(icon("stop" if self._is_busy else "send", QPalette.ColorRole.HighlightedText))
        self._send.setToolTip(self.tr("Stop (Esc)") if self._is_busy else self._block_reason or label)
        self._send.setAccessibleName(label)

    @Slot()
    def ask_for_files(self) -> None:
        """Open the dialog that chooses files."""
        kinds = self.tr("Text, code and documents (*)")
        names, _ = QFileDialog.getOpenFileNames(self, self.tr("Attach files"), initial_path(), kinds)
        if names:
            remember_folder(names[0])
            self.attach(Path(name) for name in names)


_PAUSE = 250  # ms after the last key
_MAX_TOKEN_BYTES = 8  # largest mean of UTF-8 bytes per token in natural text
_TIMEOUT = 3000  # ms that a message waits for its count; the engine counts again anyway
Callback = Callable[[TokenCount | None], None]


class TokenCounter(QObject):
    """Counter of the tokens of a request, and then of each new attachment."""

    counted = Signal(object)  # TokenCount of a message that is not being sent

    def __init__(self, link: EngineLink, composer: Composer, parent: QObject | None = None) -> None:
        """`composer` shows the count."""
        super().__init__(parent)
        self._link, self._composer = link, composer
        self._request: ConversationRequest | None = None
        self._attached: tuple[Attachment, ...] = ()
        self._file_tokens: dict[Attachment, int] = {}
        self._last_count: TokenCount | None = None
        self._pending: tuple[int, Attachment | ConversationRequest] | None = None
        self._callback: Callback | None = None
        self._is_exact = True
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self._ask)
        self._timeout = QTimer(self, singleShot=True, interval=_TIMEOUT)
        self._timeout.timeout.connect(self.hurry)
        link.counted.connect(self._on_counted)
        link.loaded.connect(self._on_loaded)

    def count(self, request: ConversationRequest | None, attached: tuple[Attachment, ...]) -> None:
        """Show the count of `request` soon, or hide it for None or if another computer answers."""
        self._request, self._attached = request, attached
        if self._is_remote() or not request:
            self._composer.hide_count()
        else:
            self._pause.start()

    def set_exact(self, exact: bool) -> None:
        """Set whether the model in memory is the one that will answer."""
        if exact != self._is_exact:
            self._is_exact = exact
            if self._last_count and self._last_count.request == self._request:
                self._report(self._last_count)

    def count_for_sending(self, request: ConversationRequest, attached: tuple[Attachment, ...], then: Callback) -> None:
        """Call `then` with the count of exactly this request, or with None if it cannot be counted in time."""
        if not self._link.model_info or self._is_remote() or not self._is_exact:
            then(None)
        elif self._last_count and self._last_count.request == request:
            then(self._last_count)
        else:
            self.count(request, attached)
            self._pause.stop()
            self._callback = then
            self._timeout.start()
            self._ask()

    def is_too_long(self, request: ConversationRequest, settings: Settings) -> bool:
        """Return whether a request is too long for the context even at the largest number of bytes per token."""
        model_info = self._link.model_info
        is_known = model_info and (model_info.server or self._is_exact)
        context = model_info.context if model_info and is_known else settings.context or DEFAULT_CONTEXT
        length = sum(len(message.content.encode(errors="replace")) for message in request.messages)
        return bool(context) and length > context * _MAX_TOKEN_BYTES

    def drop_callback(self) -> None:
        """Drop the callback of `count_for_sending`."""
        self._callback = None
        self._timeout.stop()

    @Slot()
    def hurry(self) -> None:
        """Call back now, without a count, if a message waits for one."""
        while callback := self._callback:
            self.drop_callback()
            callback(None)

    def close(self) -> None:
        """Stop counting."""
        self.drop_callback()
        self._pause.stop()
        self._link.disconnect(self)

    def _is_remote(self) -> bool:
        return bool(self._link.model_info and self._link.model_info.server)

    @Slot()
    def _on_loaded(self) -> None:
        self._file_tokens.clear()
        self._last_count = None
        if self._is_remote():
            self._composer.hide_count()
        else:
            self._pause.start()

    @Slot()
    def _ask(self) -> None:
        if self._request and (self._last_count is None or self._last_count.request != self._request):
            self._pending = (self._link.count_tokens(request=self._request), self._request)
            return
        unknown = next((attachment for attachment in self._attached if attachment not in self._file_tokens), None)
        if unknown:
            self._pending = (self._link.count_tokens(unknown.text), unknown)
        elif self._last_count:
            self._report(self._last_count)

    @Slot(int, int, int)
    def _on_counted(self, ticket: int, tokens: int, context: int) -> None:
        if self._pending is None or self._pending[0] != ticket:
            return
        counted = self._pending[1]
        if isinstance(counted, Attachment):
            self._file_tokens[counted] = tokens
            self._ask()
            return
        self._report(TokenCount(counted, tokens, context))
        if any(attachment not in self._file_tokens for attachment in self._attached):
            self._ask()

    def _report(self, count: TokenCount) -> None:
        parts = {item: self._file_tokens[item] for item in self._attached if item in self._file_tokens}
        self._last_count = replace(count, parts=parts, is_exact=self._is_exact)
        self._composer.show_count(self._last_count)
        if count.request != self._request:
            return
        if callback := self._callback:
            self.drop_callback()
            callback(self._last_count)
        else:
            self.counted.emit(self._last_count)
