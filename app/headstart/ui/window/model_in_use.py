"""The model that answers: loading, display, and replacement as models are chosen, added and removed."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from headstart import remotes
from headstart.chat.history.store import Store
from headstart.engine.protocol import Description, ModelInfo
from headstart.errors import EngineBusyError, HeadstartError, HistoryError
from headstart.library import library
from headstart.settings import Settings
from headstart.ui.chat.tools import ToolsController
from headstart.ui.formatting import listed, titled
from headstart.ui.models import model_choices
from headstart.ui.models.model_check import ModelCheck
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.models.models_controller import ModelsController
from headstart.ui.settings.settings_form import label, title
from headstart.ui.settings_controller import CurrentSettings
from headstart.ui.sidebar.chats_controller import ChatsController
from headstart.ui.transcript.live_answer import NOTICE
from headstart.ui.translation import translate_error
from headstart.ui.widgets.progress import Cause
from headstart.ui.window.main_window import MainWindow

_WARNED = "told that {} is elsewhere"  # key of the store for the address that the user was warned about


class ModelInUse(QObject):
    """The connection of the engine with everything that shows or lists models."""

    shown = Signal(bool)  # whether the model of the open chat is loaded

    def __init__(
        self,
        window: MainWindow,
        loader: ModelLoader,
        chats: ChatsController,
        models: ModelsController,
        settings: CurrentSettings,
        store: Store,
        tools: ToolsController,
    ) -> None:
        """`store` remembers the servers that the user was warned about."""
        super().__init__(window)
        self._window, self._loader, self._chats = window, loader, chats
        self._models, self._settings, self._store, self._tools = models, settings, store, tools
        self._check = ModelCheck(self)
        self._connect()

    @Slot()
    def load(self) -> None:
        """Load the model of the open chat; without any model, the page of models says what to do.

        While an answer is being written, its model stays; the next message loads.
        """
        session = self._chats.current
        if not session or not self._has_model() or self._loader.link.generation is not None:
            return
        self._show_errors_of(partial(self._loader.require, session.settings))

    @Slot()
    def check(self) -> None:
        """Check the model of the open chat in the background, if it was imported and is not checked yet."""
        entry = self._entry()
        if entry and self._loader.is_ready:
            self._check.start(entry)
            self.show()

    def close(self) -> None:
        self._check.close()

    @Slot()
    def load_again(self) -> None:
        """Load again after a failure."""
        self._try_to_load(self._loader.reload)

    @Slot(str, object)
    def show_error(self, sentence: str, cause: Cause | None = None) -> None:
        """Show an error. If the model is the cause, offer the page of models."""
        page, adding = self._window.chat, self._models.adding
        notice = page.unsaved if cause is Cause.SAVING else page.notice
        if cause is not Cause.MODEL:
            notice.say(sentence, bad=True, cause=cause)
        elif self._models.choices.usable:
            notice.say(sentence, self.tr("Show models"), self._show_models, bad=True, cause=cause)
        elif adding.is_busy:
            notice.say(self.tr("A model is being prepared. Ask again when it is there."), cause=cause)
        else:
            notice.say(sentence, self.tr("Get a model"), self._show_models, cause=cause)

    def show_installed(self) -> None:
        """Show the installed models wherever models are listed."""
        self._models.choices.set_models(_listed(), remotes.configured())
        self._models.show(self._loader.name(self._settings.now), self._settings.now)
        if not self._has_model():
            self._window.show_page(self._window.models)

    @Slot(object)
    def _on_settings_changed(self, settings: Settings) -> None:
        self._models.follow(self._loader.name(settings), settings)

    @Slot()
    def _look_again(self) -> None:
        """Show what was installed, removed or broken elsewhere, such as in a terminal."""
        if _listed() != self._models.choices.entries:
            self.show_installed()
            self.show()

    def _connect(self) -> None:
        loader, models = self._loader, self._models
        loader.changed.connect(self.show)
        loader.refused.connect(self._on_refused)
        loader.link.crashed.connect(self._on_crashed)
        loader.link.described.connect(self._on_described)
        loader.link.loaded.connect(loader.link.describe)
        loader.link.loaded.connect(self._remember_model)
        loader.link.loaded.connect(self._on_loaded)
        loader.link.loaded.connect(self._show_slowness)
        self._settings.changed.connect(self._on_settings_changed)
        models.chosen.connect(self._choose_model)
        models.entered.connect(self._look_again)
        models.changed.connect(self._on_models_changed)
        models.removing.connect(self._on_removing)
        self._tools.changed.connect(self._show_reach)
        models.adding.busy.connect(lambda _busy: self._show_reach())
        models.adding.installed.connect(self._on_installed)
        models.adding.chat_requested.connect(self._begin_chat)
        models.servers.chosen.connect(self._choose_model)
        models.servers.changed.connect(self._on_servers_changed)
        models.servers.removing.connect(self._on_server_removing)
        self._check.progressed.connect(models.show_check)
        self._check.ended.connect(self._on_checked)
        self._window.hidden_changed.connect(loader.link.set_hidden)
        self._window.actions_by_name["load"].triggered.connect(self.load_again)
        self._window.actions_by_name["unload"].triggered.connect(loader.unload)

    @Slot()
    def show(self) -> None:
        """Show below the message box which model answers, or what keeps it from answering."""
        session, loader = self._chats.current, self._loader
        is_loaded = bool(session and loader.has_loaded(session.settings))
        is_shown_above = bool(session and session.is_answering)  # below the name of the message that waits for it
        progress = () if is_shown_above else loader.loading.texts
        self._window.chat.composer.show_model(*self._model_words(is_loaded=is_loaded), progress)
        self._window.chat.composer.show_thinking(self._thinks() if is_loaded else None)
        self._window.chat.composer.set_blocked(self._loader.occupation)
        if not loader.occupation and self._loader.link.generation is None:
            self._window.chat.notice.retract(Cause.BUSY)
        self._window.actions_by_name["unload"].setEnabled(loader.is_ready)
        self._show_reach()
        if session:
            models = self._models.choices.models_for(session.settings)
            parameters = models[0].manifest.parameters if models else None
            self._window.chat.empty.show_model(loader.name(session.settings), parameters)
        self.shown.emit(is_loaded)

    def _show_reach(self) -> None:
        session, servers = self._chats.current, self._models.choices.servers
        if session is None:
            return
        reach = model_choices.reach(
            session.settings, servers, fetching=self._models.adding.is_fetching, tools=self._tools.online_names
        )
        self._window.chat.composer.show_reach(reach.text, reach.tip, leaves_computer=reach.leaves_computer)
        server = model_choices.server_of(session.settings, servers)
        if not reach.leaves_computer:
            self._window.chat.notice.retract(Cause.REACH)
        if server and not remotes.is_here(server) and self._store.recall(_WARNED.format(server.name)) != server.url:
            with suppress(HistoryError):  # it is said again then
                self._store.remember(_WARNED.format(server.name), server.url)
            self._window.chat.notice.say(model_choices.warning(server), cause=Cause.REACH)

    def _model_words(self, *, is_loaded: bool) -> tuple[str, str, str, str]:
        """Return the name, details for the tooltip, and what remains to be loaded, in full and in brief."""
        session, loader, model_info = self._chats.current, self._loader, self._loader.link.model_info
        if loader.status:
            return loader.status, loader.progress, "", ""
        if loader.fault:
            return self.tr("No model loaded"), loader.fault, "", ""
        name = loader.name(session.settings) if session else ""
        if not name:
            return self.tr("No model"), "", "", ""
        if not model_info or not is_loaded:
            tip = self.tr("{} is in memory.").format(loader.model) if model_info else self.tr("No model is in memory.")
            return name, tip, self.tr("loads with the next message"), self.tr("not loaded")
        if model_info.server:
            words = self.tr("{model} of the server {server}").format(model=model_info.model, server=model_info.server)
            return name, words, "", ""
        guessing = [self.tr("draft model {}").format(model_info.draft)] if model_info.draft else []
        guessing += [self.tr("draft head")] if model_info.head else []
        guessing = guessing or [self.tr("earlier text")]
        words = self.tr("{model} on {device}, speed-up by {guessing}").format(
            model=model_info.model, device=model_info.device, guessing=listed(guessing)
        )
        engine = titled(title("engine"), label("engine", model_info.engine))
        entry = self._entry()
        checking = (
            [self.tr("It is being checked in the background.")] if entry and self._check.name == entry.name else []
        )
        return name, "\n".join((words, engine, *checking, *map(translate_error, model_info.notes))), "", ""

    def _thinks(self) -> bool | None:
        """Return whether the model thinks with the settings of the open chat; None if it has no switch."""
        session, model_info = self._chats.current, self._loader.link.model_info
        if not (session and model_info and model_info.thinking and model_info.thinking.can_switch):
            return None
        return model_info.thinking.by_default if session.settings.think is None else session.settings.think

    def _entry(self) -> library.Model | library.Pair | None:
        """Return the installed model of the open chat."""
        session = self._chats.current
        name = self._loader.name(session.settings) if session else ""
        return next((entry for entry in self._models.choices.usable if entry.name == name), None)

    @Slot(str, str)
    def _on_checked(self, name: str, fault: str) -> None:
        if fault and self._loader.model == name:
            self._loader.unload()
            self.show_error(fault, Cause.MODEL)
        self.show_installed()
        self.show()

    @Slot()
    def _on_loaded(self) -> None:
        self._window.chat.notice.retract(Cause.MODEL)

    @Slot(object)
    def _show_slowness(self, model_info: ModelInfo) -> None:
        """Say that answers are slower than they could be: above the message box, and on the card of the model."""
        sentence = translate_error(model_info.slowness) if model_info.slowness else ""
        notice = self._window.chat.notice
        self._models.show_slowness(self._loader.model, sentence)
        if sentence and not notice.text:  # an error, or a message that is edited, stays
            notice.say(sentence, cause=Cause.MODEL)

    @Slot(str, bool)
    def _on_refused(self, sentence: str, can_insist: bool) -> None:
        settings = self._loader.settings  # of a comparison, which may have others than the chat
        slot = partial(self._try_to_load, self._loader.load_anyway, settings) if can_insist else self.load_again
        label = self.tr("Load anyway") if can_insist else self.tr("Load again")
        self._window.chat.notice.say(sentence, label, slot, bad=True, cause=Cause.MODEL)

    @Slot(str)
    def _on_crashed(self, sentence: str) -> None:
        QTimer.singleShot(0, self, partial(self._show_crash, sentence))  # once the answer has ended

    def _show_crash(self, sentence: str) -> None:
        """Show a crash of the engine, unless the answer that it ended shows it already."""
        session, link = self._chats.current, self._loader.link
        last = session.path[-1] if session and session.path else None
        if last and last.stats.get(NOTICE) == sentence:
            return
        if link.is_restarting or link.model_info:
            self._window.chat.notice.say(sentence, bad=True, cause=Cause.MODEL)
        else:
            self._on_refused(sentence, can_insist=False)

    def _try_to_load(self, load: Callable[[Settings], None], settings: Settings | None = None) -> None:
        assert self._chats.current
        self._show_errors_of(partial(load, settings or self._chats.current.settings))

    def _show_errors_of(self, load: Callable[[], object]) -> None:
        try:
            load()
        except HeadstartError as error:
            self.show_error(translate_error(error), Cause.BUSY if isinstance(error, EngineBusyError) else Cause.MODEL)

    @Slot()
    def _show_models(self) -> None:
        self._window.show_page(self._window.models)

    @Slot(object)
    def _on_described(self, machine: Description) -> None:
        self._models.choices.set_devices(device.name for device in machine.devices)
        self._models.show_memory()

    @Slot()
    def _remember_model(self) -> None:
        """Remember the model that was loaded last for new chats."""
        used, session = self._loader.settings, self._chats.current
        # The chat of a comparison keeps its model.
        is_compared = session is not None and used.model != session.settings.model
        if used.model and used.model != self._settings.now.model and not is_compared:
            self._settings.change(model=used.model, draft=used.draft)

    @Slot(str)
    def _choose_model(self, name: str) -> None:
        self._settings.change(model=name, draft="")
        session = self._chats.current
        if session and {"model", "draft"} & session.chat.settings.keys():
            values = {key: value for key, value in session.chat.settings.items() if key not in {"model", "draft"}}
            session.change_settings(values)
        self.load()
        self.show_installed()
        self.show()

    @Slot(str)
    def _on_installed(self, name: str) -> None:
        """Start a chat with a new model, unless the user is busy elsewhere: the card has a button for that."""
        session, current_page = self._chats.current, self._window.pages.currentWidget()
        self.show_installed()
        if name not in [entry.name for entry in self._models.choices.usable]:  # it turns texts into vectors
            self._window.models.work.end(self.tr("{} is installed. It cannot chat.").format(name), bad=False)
        elif current_page is self._window.models or (
            current_page is self._window.chat and session and not session.path
        ):
            self._begin_chat(name)

    @Slot(str)
    def _begin_chat(self, name: str) -> None:
        self._chats.open_new()
        self._choose_model(name)
        self._window.actions_by_name["write"].trigger()
        self._window.models.work.end(self.tr("{} is ready. Write your first message.").format(name), bad=False)

    @Slot(object)
    def _on_removing(self, entry: library.Entry) -> None:
        """Free the model, and let new chats choose another model or draft."""
        self._check.forget(entry.name)
        if self._loader.uses(entry.folder):
            self._loader.unload()
        settings = self._settings.now
        if settings.model == entry.name:
            self._settings.change(model="", draft="")
        elif settings.draft == entry.name or settings.draft.startswith(f"{entry.name}/"):
            self._settings.change(draft="")

    @Slot(str)
    def _on_server_removing(self, name: str) -> None:
        session, servers = self._chats.current, self._models.choices.servers
        server = model_choices.server_of(session.settings, servers) if session else None
        if server and server.name == name:
            self._loader.unload()
        default = model_choices.server_of(self._settings.now, servers)
        if default and default.name == name:
            self._settings.change(model="", draft="")

    @Slot()
    def _on_servers_changed(self) -> None:
        self.show_installed()
        self.show()
        session = self._chats.current
        if session and remotes.is_remote(session.settings.model):  # perhaps of a server with a new address
            self.load()

    @Slot()
    def _on_models_changed(self) -> None:
        self._window.chat.notice.retract(Cause.MODEL)
        had_none = not self._models.choices.usable
        self.show_installed()
        self.show()
        if had_none and self._has_model():
            self._window.show_page(self._window.chat)
        self.load()

    def _has_model(self) -> bool:
        return bool(self._loader.name(self._settings.now))


def _listed() -> tuple[library.Entry, ...]:
    """Return the installed models that the window lists: those that chat, and those that cannot be used."""
    return tuple(each for each in library.installed() if isinstance(each, library.Broken) or library.can_chat(each))
