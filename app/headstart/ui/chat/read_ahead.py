"""Reading ahead: an idle model reads the prompt before it is sent."""

from contextlib import suppress

from PySide6.QtCore import QObject, QTimer, Slot

from headstart.engine.engine import ConversationRequest
from headstart.engine.hardware.machine import is_on_battery
from headstart.errors import HeadstartError
from headstart.ui.chat.composer_controller import ComposerController
from headstart.ui.composer.composer import Composer
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.settings_controller import CurrentSettings

_PAUSE_MS = 300  # after the last key


class ReadAheadController(QObject):
    """Controller that has the prompt of the open chat and its unsent message read, and shows when it is."""

    def __init__(
        self, composer: Composer, composing: ComposerController, loader: ModelLoader, settings: CurrentSettings
    ) -> None:
        """Read nothing until `follow` reports that the model of the open chat is in memory."""
        super().__init__(composer)
        self._composer, self._composing, self._loader, self._settings = composer, composing, loader, settings
        self._is_loaded = False
        self._request: ConversationRequest | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._read_ahead)
        composer.changed.connect(self._on_composer_changed)
        settings.changed.connect(self.schedule)
        loader.link.prompt_read.connect(self._on_prompt_read)
        loader.link.restarted.connect(self._pause.stop)  # the prompt may have ended the engine

    @Slot(bool)
    def follow(self, is_loaded: bool) -> None:
        """Handle another chat, model or answer. `is_loaded`: the model of the open chat is in memory."""
        self._is_loaded = is_loaded
        if not is_loaded:
            self._set_request(None)
        self._pause.start()

    @Slot()
    def schedule(self) -> None:
        """Read again soon, because the prompt has changed."""
        self._pause.start()

    def close(self) -> None:
        self._pause.stop()
        self._composer.changed.disconnect(self._on_composer_changed)

    @Slot()
    def _on_composer_changed(self) -> None:
        self._set_request(None)
        self._pause.start()

    @Slot()
    def _read_ahead(self) -> None:
        request = None
        if self._can_read_ahead():
            with suppress(HeadstartError):  # reported when the message is sent
                request = self._composing.request()
        self._set_request(request)
        if request:
            self._loader.link.read_ahead(request)

    def _can_read_ahead(self) -> bool:
        choice, model_info = self._settings.now.read_ahead, self._loader.link.model_info
        if choice == "never" or (choice == "auto" and is_on_battery()):
            return False
        return self._is_loaded and not self._loader.occupation and model_info is not None and not model_info.server

    def _set_request(self, request: ConversationRequest | None) -> None:
        if request != self._request:
            self._request = request
            self._composer.show_ready(ready=False)

    @Slot(object)
    def _on_prompt_read(self, request: ConversationRequest) -> None:
        if request == self._request:
            self._composer.show_ready(ready=True)
