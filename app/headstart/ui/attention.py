"""Calls a person who looks elsewhere, when something that took long has ended. Knows no page and no engine."""

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QApplication, QWidget

from headstart.settings import Settings
from headstart.ui.desktop_message import DesktopMessage, desktop_message

LONG = 10.0  # seconds; who waits less is still there
_LETTERS = 160


class Attention(QObject):
    """Silent while the window has the keyboard, and where the settings say so."""

    wanted = Signal()  # the person answered the call

    def __init__(self, application: QApplication, window: QWidget, settings: Settings, parent: QObject) -> None:
        """Looks for the desktop's messages when the first is due."""
        super().__init__(parent)
        self._application, self._window, self._settings = application, window, settings
        self._message: DesktopMessage | None = None
        self._has_looked = False

    @Slot(object)
    def set_settings(self, settings: Settings) -> None:
        """Whether to call at all, and what to tell."""
        self._settings = settings

    @Slot(str, str, float)
    def note_answer(self, title: str, text: str, seconds: float) -> None:
        """An answer has ended in the chat with this title. Its text is shown to nobody who has not asked for it."""
        if seconds >= LONG:
            shown = " ".join(text.split())[:_LETTERS] if self._settings.notification_text else title
            self.call(self.tr("The answer is complete"), shown)

    def call(self, title: str, text: str = "") -> None:
        """Say that something has ended."""
        if not self._settings.notifications or self._window.isActiveWindow():
            return
        self._application.alert(self._window)
        if message := self._desktop():
            message.show(title, text)

    def _desktop(self) -> DesktopMessage | None:
        if not self._has_looked:
            self._has_looked = True
            self._message = desktop_message(self._application, self)
            if self._message:
                self._message.clicked.connect(self.wanted)
        return self._message
