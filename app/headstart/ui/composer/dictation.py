"""Dictation into the message box: a button with the level of the microphone, and the process that listens."""

import json
import sys

from PySide6.QtCore import QElapsedTimer, QObject, Signal, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QProgressBar, QWidget

from headstart.errors import Translatable
from headstart.library.library import find_transcription
from headstart.ui.line_process import Ending, LineProcess
from headstart.ui.translation import translate_error
from headstart.ui.widgets.icons import icon_button
from headstart.ui.widgets.labels import muted
from headstart.ui.widgets.layouts import beside, set_margins
from headstart.ui.widgets.theme import TINY, scaled

_HOLD_MS = 500  # a press of the button that is longer ends the dictation when it is released
_LEVEL_WIDTH = 36  # pixels


def listener_command() -> tuple[str, ...]:
    """Return the `headstart` command that prints microphone speech as JSON lines."""
    start = (sys.executable,) if getattr(sys, "frozen", False) else (sys.executable, "-P", "-m", "headstart")
    return (*start, "dev", "listen")


class DictationWidget(QWidget):
    """The button and the level display of the microphone."""

    toggled = Signal()
    released = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.button = icon_button("microphone", "", self, "toggle")
        self.button.setCheckable(True)
        self.is_listening = False
        self.button.clicked.connect(lambda: self.button.setChecked(self.is_listening))  # a click does not decide it
        self._level = QProgressBar(self, textVisible=False, maximum=100)
        self._level.setFixedWidth(scaled(_LEVEL_WIDTH, self.font()))
        self._level.setAccessibleName(self.tr("Level of the microphone"))
        self._writing = muted(self.tr("Writing…"), self)
        self._writing.setWordWrap(False)
        set_margins(
            beside(self, self.button, self._level, self._writing, spacing=TINY), start=0, top=0, end=0, bottom=0
        )
        self.button.pressed.connect(self.toggled)
        self.button.released.connect(self.released)
        self.show_listening(is_on=False)

    def show_listening(self, *, is_on: bool) -> None:
        self.is_listening = is_on
        self.button.setChecked(is_on)
        self._name(self.tr("Stop dictating") if is_on else self.tr("Dictate: click, or hold while you speak (Ctrl+D)"))
        self._level.setValue(0)
        self._level.setVisible(is_on)
        self._writing.hide()

    def show_writing(self) -> None:
        """Show that the microphone is off, and that the last words are still being written down."""
        self.show_listening(is_on=False)
        self._name(self.tr("Your last words are being written down"))
        self._writing.show()

    def _name(self, text: str) -> None:
        self.button.setToolTip(text)
        self.button.setAccessibleName(text)

    @property
    def is_busy(self) -> bool:
        """True while it listens, and while the last words are being written down."""
        return self.is_listening or not self._writing.isHidden()

    def show_level(self, level: float) -> None:
        """Show how loud it is, from 0 to 1."""
        self._level.setValue(round(100 * level))


class DictationController(QObject):
    """Controller of a dictation: its text goes into the message box where the cursor is. Nothing of it is kept."""

    begun = Signal()
    error_occurred = Signal(str)
    model_requested = Signal(str, str)  # a name to look for, and the reason: none that writes down speech is installed

    def __init__(
        self,
        edit: QPlainTextEdit,
        widget: DictationWidget,
        command: tuple[str, ...] | None = None,
        parent: QObject | None = None,
    ) -> None:
        """`command` replaces `listener_command()`, for tests."""
        super().__init__(parent)
        self._edit, self._widget, self._command = edit, widget, command
        self._place = QTextCursor()  # selects the text that is not final yet
        self._written, self._is_failed = "", False
        self._held = QElapsedTimer()
        self._process = LineProcess(self)
        self._process.line_read.connect(self._on_line)
        self._process.ended.connect(self._on_ended)
        widget.toggled.connect(self.toggle)
        widget.released.connect(self._on_released)

    @Slot()
    def toggle(self) -> None:
        """Begin to listen, or stop; what was said by then is still written."""
        if self._process.is_running:
            self._stop()
            return
        if not self._command and find_transcription() is None:
            reason = self.tr("Dictation needs Whisper: get one of these models, then press the microphone again.")
            self.model_requested.emit("Whisper", reason)
            return
        self.begun.emit()
        self._place, self._written, self._is_failed = self._edit.textCursor(), "", False
        self._place.clearSelection()
        self._held.start()
        self._process.start(self._command or listener_command(), merged=False)
        self._widget.show_listening(is_on=True)
        self._edit.setFocus()

    @Slot()
    def cancel(self) -> None:
        """End the dictation at once: the message box has another text now."""
        if self._process.is_running:
            self._process.close()
            self._widget.show_listening(is_on=False)

    def _stop(self) -> None:
        self._process.finish()
        self._widget.show_writing()

    @Slot()
    def _on_released(self) -> None:
        if self._widget.is_listening and self._held.elapsed() > _HOLD_MS:
            self._stop()

    @Slot(str)
    def _on_line(self, line: str) -> None:
        report = json.loads(line)
        if "level" in report:
            self._widget.show_level(report["level"])
        elif "error" in report:
            self._is_failed = True
            self.error_occurred.emit(translate_error(Translatable.from_data(report["error"])))
        else:
            self._write(report["text"], is_final=report["is_final"])

    def _write(self, text: str, *, is_final: bool) -> None:
        """Replace the text of the current utterance."""
        place = self._place
        if place.selectedText() != self._written:  # it was edited meanwhile
            place = self._place = self._edit.textCursor()
            place.clearSelection()
        start = place.selectionStart()
        before = self._edit.document().characterAt(start - 1) if start else " "
        text = f" {text}" if text and not before.isspace() and before.isascii() else text
        if self._written:
            place.joinPreviousEditBlock()  # one Undo takes an utterance back
        else:
            place.beginEditBlock()
        place.insertText(text)
        place.endEditBlock()
        self._written = "" if is_final else text
        if not is_final:
            place.setPosition(start)
            place.setPosition(start + len(text.encode("utf-16-le")) // 2, QTextCursor.MoveMode.KeepAnchor)
        self._edit.ensureCursorVisible()

    @Slot(object)
    def _on_ended(self, ending: Ending) -> None:
        self._widget.show_listening(is_on=False)
        if not ending.is_good and not self._is_failed:
            self.error_occurred.emit(self.tr("The dictation ended unexpectedly; click the microphone to go on."))
