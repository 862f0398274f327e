"""Has a model with nothing to do read what will be asked, before it is sent."""

from contextlib import suppress

from PySide6.QtCore import QObject, QTimer, Slot

from headstart.computer import is_on_battery
from headstart.engine.engine import Request
from headstart.errors import HeadstartError
from headstart.ui.chat.chat_controller import ComposerController
from headstart.ui.chat.composer import Composer
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.settings_controller import CurrentSettings

_PAUSE = 300  # ms after the last key


class ReadAheadController(QObject):
    """Asks for the prompt of the open chat and its unsent message, and shows when that is read."""

    def __init__(
        self, composer: Composer, composing: ComposerController, loader: ModelLoader, settings: CurrentSettings
    ) -> None:
        """Asks nothing until the model of the open chat is in memory: see `follow`."""
        super().__init__(composer)
        self._composer, self._composing, self._loader, self._settings = composer, composing, loader, settings
        self._is_loaded = False
        self._wanted: Request | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self._ask)
        composer.changed.connect(self._begin_anew)
        settings.changed.connect(self.look_again)
        loader.link.prompt_read.connect(self._show)
        loader.link.restarted.connect(self._pause.stop)  # what would be read may be what ended the engine

    @Slot(bool)
    def follow(self, is_loaded: bool) -> None:
        """Another chat, model or answer; `is_loaded`: whether the model of the open chat is in memory."""
        self._is_loaded = is_loaded
        if not is_loaded:
            self._want(None)
        self._pause.start()

    @Slot()
    def look_again(self) -> None:
        """Something else would be asked than before."""
        self._pause.start()

    def close(self) -> None:
        """Ask nothing more."""
        self._pause.stop()
        self._composer.changed.disconnect(self._begin_anew)

    @Slot()
    def _begin_anew(self) -> None:
        self._want(None)
        self._pause.start()

    @Slot()
    def _ask(self) -> None:
        request = None
        if self._may_ask():
            with suppress(HeadstartError):  # which will be told when it is sent
                request = self._composing.request()
        self._want(request)
        if request:
            self._loader.link.read_ahead(request)

    def _may_ask(self) -> bool:
        choice, facts = self._settings.now.read_ahead, self._loader.link.facts
        if choice == "never" or (choice == "auto" and is_on_battery()):
            return False
        return self._is_loaded and not self._loader.occupation and facts is not None and not facts.server

    def _want(self, request: Request | None) -> None:
        if request != self._wanted:
            self._wanted = request
            self._composer.show_ready(ready=False)

    @Slot(object)
    def _show(self, request: Request) -> None:
        if request == self._wanted:
            self._composer.show_ready(ready=True)
