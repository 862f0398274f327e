"""The controller of the local server, which joins page, engine, key and the settings of the open chat."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from headstart import paths, remotes
from headstart.engine.protocol import (
    Answered,
    Asked,
    Failed,
    Load,
    Loading,
    ModelInfo,
    ServerEnded,
    ServerReport,
    Serving,
    StartServer,
)
from headstart.engine.supervision import Journal
from headstart.errors import HeadstartError, PortTakenError
from headstart.server import keys
from headstart.settings import Settings
from headstart.ui.local_server.server_page import ServedModel, ServerPage, ServerState, ServerView
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.translation import translate_error
from headstart.ui.widgets.layouts import confirm

LOG = "server.log"
_HOST = "127.0.0.1"


class ServerController(QObject):
    """The one server in the engine's process: it answers with the window's model and ends with either."""

    port_chosen = Signal(int)
    changed = Signal()  # another state

    def __init__(
        self, page: ServerPage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` returns the settings of the open chat."""
        super().__init__(parent)
        self.page, self._loader, self._settings = page, loader, settings
        self.journal = Journal(paths.logs_folder() / LOG)
        self.state = ServerState.OFF
        self.sentence = ""  # about its work, or why it ended
        self._served_model: ServedModel | None = None
        self._port = 0
        self._url = ""
        self._key = ""  # while the window is open; the disk has its hash
        self._restarts = False  # start another server once this one has ended
        link = loader.link
        page.card.switch.toggled.connect(self.switch)
        page.card.port.edited.connect(lambda _name, port: self.port_chosen.emit(port))
        page.address.new_key.clicked.connect(self._on_new_key)
        page.entered.connect(self.show)
        loader.changed.connect(self.follow)
        link.served.connect(self._on_report)
        link.loading.connect(self._on_loading)
        link.loaded.connect(self._on_loaded)
        link.unloaded.connect(self._on_unloaded)
        link.failed.connect(self._on_failed)
        link.crashed.connect(self._on_crashed)

    @Slot(bool)
    def switch(self, on: bool) -> None:
        """Start or end the server."""
        if on and self.state.is_down:
            self._start()
        elif not on and self.state.is_on:
            self._stop()
        self.show()

    @Slot()
    def show(self) -> None:
        """Show everything as it is now."""
        selected, port = self._selected(), self._settings().server_port
        view = ServerView(
            self.state,
            self.sentence or (self._fault() if self.state.is_down else ""),
            self._served_model or selected,
            selected,
            port,
            self._url or f"http://{_HOST}:{port}/v1",
            self._key,
            paths.server_key().exists(),
        )
        self.page.show_view(view)

    @Slot()
    def follow(self) -> None:
        """Follow another model or other settings."""
        if self.state is ServerState.STARTING and self._loader.progress:
            self._set(ServerState.STARTING, self._loader.progress)
        elif self.page.isVisible():
            self.show()

    def _selected(self) -> ServedModel | None:
        """Return the model of the open chat's settings; None if it cannot be served."""
        settings = self._settings()
        name = "" if remotes.is_remote(settings.model) else self._loader.name(settings)
        return ServedModel(name, settings.sampling, settings.guessing) if name else None

    def _fault(self) -> str:
        """Return why nothing can be served now, or ""."""
        settings = self._settings()
        if remotes.is_remote(settings.model):
            return self.tr("The model of the open chat is on another computer; choose one of this computer.")
        if self._loader.has_loaded(settings) and not self._loader.occupation:
            return ""
        return self._loader.unavailable_reason(settings)

    def _start(self) -> None:
        settings = self._settings()
        fault = self._fault()
        if fault:
            self._end(fault)
            return
        try:
            self._prepare_key()
            self._port = settings.server_port
            self._set(ServerState.STARTING)
            self._loader.require(settings)
        except HeadstartError as error:
            self._end(translate_error(error))
            return
        if self._loader.is_ready:
            self._serve(settings)

    def _serve(self, settings: Settings) -> None:
        """Serve the loaded model."""
        try:
            stored_hash = keys.read(paths.server_key()) or ""
        except HeadstartError as error:
            self._end(translate_error(error))
            return
        self._served_model = ServedModel(self._loader.model, settings.sampling, settings.guessing)
        self.page.requests.clear()
        order = StartServer(
            self._served_model.name,
            (stored_hash,),
            _HOST,
            self._port,
            sampling=self._served_model.sampling,
            speculation=self._served_model.speculation,
            seed=self._served_model.sampling.seed or None,
        )
        self._loader.link.serve(order)

    def _stop(self, *, restarts: bool = False) -> None:
        if not self._loader.is_ready:
            self._end()
            return
        self._restarts = restarts
        words = self.tr("It is started again with the new key.") if restarts else ""
        self._set(ServerState.STOPPING, words)
        self._loader.link.stop_serving()

    @Slot(object)
    def _on_report(self, report: ServerReport) -> None:
        match report:
            case Serving(url=url):
                self.journal.write(str(report))  # without a key and without what was asked
                if self.state is ServerState.STARTING:
                    self._url = url
                    self._set(ServerState.READY)
            case Asked():
                self.page.requests.begin(report)
                self._show_requests()
            case Answered():
                self.page.requests.end(report)
                self._show_requests()
            case ServerEnded():
                self.journal.write(str(report))
                sentence = self.tr("The server stopped unexpectedly; Help › Show Logs says more.")
                self._end("" if self.state is ServerState.STOPPING else sentence)

    def _show_requests(self) -> None:
        """Show whether a request is being answered, and how many wait."""
        if self.state not in {ServerState.READY, ServerState.BUSY}:
            return
        waiting = self.page.requests.num_open - 1
        if waiting < 0:
            self._set(ServerState.READY)
        elif waiting:
            self._set(ServerState.BUSY, self.tr("A request is being answered; waiting: {}.").format(waiting))
        else:
            self._set(ServerState.BUSY, self.tr("A request is being answered."))

    @Slot(object)
    def _on_loading(self, stage: Loading | None) -> None:
        if stage is None and self.state is ServerState.STOPPING:  # its process is gone
            self._end()
        elif self.state.is_on:
            self._set(ServerState.STARTING, self._loader.progress)

    @Slot(object)
    def _on_loaded(self, model_info: ModelInfo) -> None:
        if not self.state.is_on:
            return
        if model_info.server:
            self._end(self.tr("The window has changed to a model on another computer, so the server ended."))
        else:
            self._serve(self._loader.settings)

    @Slot()
    def _on_unloaded(self) -> None:
        if not self.state.is_down:
            self._end(self.tr("The model was unloaded, so the server ended."))

    @Slot(str, object)
    def _on_failed(self, sentence: str, failed: Failed) -> None:
        if self.state.is_down or failed.order not in {Load.__name__, StartServer.__name__}:
            return
        if failed.kind == PortTakenError.__name__:
            text = self.tr("Port {} is taken by another program; choose another port, then switch the server on again.")
            sentence = text.format(self._port)
        self._end(sentence)

    @Slot(str, object)
    def _on_crashed(self, sentence: str, _generation: int | None) -> None:
        if self.state.is_on and self._loader.link.is_restarting:
            self._set(ServerState.STARTING, sentence)
        elif not self.state.is_down:
            self._end(sentence)

    def _end(self, sentence: str = "") -> None:
        """Note that there is no server. `sentence` says why; it is empty if the user ended it."""
        self._served_model, self._url = None, ""
        restarts, self._restarts = self._restarts and not sentence, False
        self._set(ServerState.FAILED if sentence else ServerState.OFF, sentence)
        if restarts:
            self.switch(on=True)

    def _set(self, state: ServerState, sentence: str = "") -> None:
        if (state, sentence) != (self.state, self.sentence):
            self.state, self.sentence = state, sentence
            self.show()
            self.changed.emit()

    def _prepare_key(self) -> None:
        """Make a key if there is none. Drop the key that is shown if another was made in a terminal since."""
        stored_hash = keys.read(paths.server_key())
        if stored_hash is None:
            self._make_key()
        elif self._key and not keys.matches(self._key, stored_hash):
            self._key = ""

    def _make_key(self) -> None:
        key = keys.new()
        keys.write(paths.server_key(), keys.digest(key))
        self._key = key

    @Slot()
    def _on_new_key(self) -> None:
        """Make a key; ask first if programs have an older one, which they cannot use any more."""
        if not paths.server_key().exists():
            self._renew_key()
            return
        question = self.tr("Make another key? Programs that have the present one are turned away until they get it.")
        if confirm(self.page, self.tr("New key"), question, self.tr("Make another key")):
            self._renew_key()

    def _renew_key(self) -> None:
        try:
            self._make_key()
        except HeadstartError as error:
            self._set(ServerState.FAILED if self.state.is_down else self.state, translate_error(error))
            return
        if self.state.is_on:
            self._stop(restarts=True)
        self.show()
