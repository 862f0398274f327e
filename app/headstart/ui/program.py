"""The program: the window and everything behind it, connected."""

import gc
import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication

from headstart import paths
from headstart.chat.history.reader import Hit
from headstart.chat.history.store import Store
from headstart.engine.loading.memory import free_memory
from headstart.engine.process.watchdog import Timeouts
from headstart.errors import HistoryError
from headstart.library import import_folder
from headstart.settings import Settings, per_chat
from headstart.ui.chat.chat_controller import ChatController
from headstart.ui.chat.chat_session import ChatSession
from headstart.ui.chat.comparison_controller import ComparisonController
from headstart.ui.chat.prompts_controller import PromptsController
from headstart.ui.chat.read_ahead import ReadAheadController
from headstart.ui.chat.tools import ToolsController
from headstart.ui.composer.dictation import DictationController
from headstart.ui.engine_link import EngineLink
from headstart.ui.engine_request import Find, installed_model
from headstart.ui.folders.embedder import installed_embedder
from headstart.ui.folders.folders_controller import FindEmbedder, FoldersController
from headstart.ui.history.encryption import EncryptionOrder
from headstart.ui.history.maintenance import Maintenance
from headstart.ui.local_server.server_controller import ServerController
from headstart.ui.local_server.server_page import ServerPage
from headstart.ui.models.model_choices import ModelChoices, ModelSwitch
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.models.models_controller import ModelsController
from headstart.ui.performance.benchmark_controller import BenchmarkController
from headstart.ui.performance.benchmark_page import BenchmarkPage
from headstart.ui.performance.engine_job import EngineJob
from headstart.ui.performance.race_controller import RaceController
from headstart.ui.performance.race_page import RacePage
from headstart.ui.performance.tuning_controller import TuningController
from headstart.ui.performance.tuning_page import TuningPage
from headstart.ui.settings.presets import built_in
from headstart.ui.settings.settings_form import SettingsForm
from headstart.ui.settings_controller import CurrentSettings, SettingsController
from headstart.ui.sidebar.chat_titles import TitleController
from headstart.ui.sidebar.chats_controller import ChatsController, SidebarContent, TagsController
from headstart.ui.sidebar.projects import Models, ProjectsController
from headstart.ui.sidebar.sidebar import SidebarController
from headstart.ui.speech.announcer import Announcer
from headstart.ui.speech.read_aloud import ReadAloudController
from headstart.ui.widgets.focus import InputMethodGuard
from headstart.ui.widgets.progress import Cause
from headstart.ui.widgets.theme import Appearance
from headstart.ui.widgets.undo_stack import UndoStack
from headstart.ui.window.dialogs import Dialogs
from headstart.ui.window.main_window import MainWindow
from headstart.ui.window.model_in_use import ModelInUse
from headstart.ui.window.notifications import Attention, Motion
from headstart.ui.window.quick_ask import QuickAskController
from headstart.ui.window.window_commands import WindowCommands

_INTERVAL_MS = 1000


class GarbageCollection(QObject):
    """Garbage collection on a timer of the window's thread instead of wherever memory is asked for.

    A cycle may hold a widget, and a widget that another thread destroys takes the program with it.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self.sweep)
        self._timer.start()

    @Slot()
    def sweep(self) -> None:
        """Collect the oldest generation that is due."""
        due = [
            generation
            for generation, (count, threshold) in enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True))
            if count > threshold
        ]
        if due:
            gc.collect(due[-1])

    def close(self) -> None:
        """Give collection back to Python."""
        self._timer.stop()
        gc.enable()


GEOMETRY = "window"  # key of the store for size and position
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineSource:
    """The engine that answers and its source of models; by default the engine's process with the installed models."""

    command: tuple[str, ...] | None = None
    find: Find = installed_model
    timeouts: Timeouts | None = None
    find_embedder: FindEmbedder = installed_embedder
    listener: tuple[str, ...] | None = None  # what writes down speech


class Program(QObject):
    """A history of chats with its window. `close` ends the engine and closes the history."""

    reopens: str | None = None  # id of a chat: open the window again and show it
    order: EncryptionOrder | None = None  # work on the history before that
    _is_closed = False

    def __init__(self, application: QApplication, store: Store, engine: EngineSource | None = None) -> None:
        """`engine` replaces the usual one, for tests."""
        super().__init__()
        self.settings = CurrentSettings(self)
        self._shown = self.settings.now  # the settings of the open chat, as the window shows them
        self.settings.changed.connect(self._on_settings_changed)  # connected first, so that it runs before all others
        self.store = store
        self.appearance = Appearance(application, self.settings.now, self)
        self._engine = engine or EngineSource()
        self.link = EngineLink(self._engine.command, parent=self, timeouts=self._engine.timeouts)
        self.loader = ModelLoader(self.link, self._engine.find, self)
        self.folders = FoldersController(store, self.is_answering, self._engine.find_embedder, self)
        self.tools = ToolsController(self.settings, self.folders.search_in, self)
        self.chats = ChatsController(store, self.loader, self.settings.now, self.tools, self)
        self.tags = TagsController(store, self)
        self.undo_stack, self.maintenance = UndoStack(self), Maintenance(store, self)
        self.garbage_collection = GarbageCollection(self)
        self._input_method_guard = InputMethodGuard(self)
        self.window = MainWindow(self.appearance.theme, self.appearance.font)
        self.chat_controller = ChatController(self.window.chat, self.link, self)
        self.quick = QuickAskController(self.window, self.chats, self.appearance, self.settings.now, self)
        self.attention = Attention(application, self.window, self.settings.now, lambda: self.quick.icon, self)
        self.motion = Motion(application, self.settings.now, self)
        self.choices = ModelChoices(lambda: free_memory(self.link.pid), self)
        self.comparing = ComparisonController(self.window.chat, self.chat_controller, self.choices, self)
        self.projects = ProjectsController(store, self.window, self._models, self.folders, self)
        make_link = partial(EngineLink, self._engine.command)  # for another engine
        self.models = ModelsController(self.window.models, self.choices, self._engine.find, make_link, self)
        self.placement = SettingsController([self.window.models.placement], self.choices, self)
        self._jobs: list[EngineJob] = []  # those whose pages were opened
        self.panel = SettingsController(self.window.panel.forms, self.choices, self)
        self.switch = ModelSwitch(self.window.chat.composer, self.choices, self)
        self.window.chat.composer.model_button.setMenu(self.switch.menu)
        self.prompts = PromptsController(self.window.chat, self)
        self.commands = WindowCommands(
            self.window, store, self.chats, self.chat_controller, self.settings, self.undo_stack
        )
        Dialogs(self.window, self.settings, self.choices, store, self.restart)
        self.model_in_use = ModelInUse(
            self.window, self.loader, self.chats, self.models, self.settings, store, self.tools
        )
        composer, composing = self.window.chat.composer, self.chat_controller.composing
        self.read_ahead = ReadAheadController(composer, composing, self.loader, self.settings)
        self.dictation = DictationController(composer.edit, composer.dictation, self._engine.listener, self)
        self.titles = TitleController(self.chats, composer, self.loader, store, self.settings)
        self.announcer = Announcer(self.window.chat, self)
        self.read_aloud = ReadAloudController(self.window.chat, self.settings, self)
        self._connect_chats()
        self._connect_folders()
        self._connect_pages()
        self._connect_rest()

    @cached_property
    def race(self) -> RaceController:
        """The race, made with its page when that is first opened, as the other jobs and the server are."""
        race = RaceController(RacePage(self.window), self.loader, self._chat_settings, self)
        self.motion.changed.connect(race.set_still)
        race.set_still(self.motion.is_reduced)
        self._add_job(race)
        return race

    @cached_property
    def bench(self) -> BenchmarkController:
        bench = BenchmarkController(BenchmarkPage(self.window), self.loader, self._chat_settings, self)
        self._add_job(bench)
        return bench

    @cached_property
    def tune(self) -> TuningController:
        tune = TuningController(TuningPage(self.window), self.loader, self._chat_settings, self)
        self._add_job(tune)
        return tune

    @cached_property
    def server(self) -> ServerController:
        server = ServerController(ServerPage(self.window), self.loader, self._chat_settings, self)
        self.window.add_page(server.page)
        server.port_chosen.connect(lambda port: self.settings.change(server_port=port))
        self.settings.changed.connect(server.follow)
        return server

    def _add_job(self, job: EngineJob) -> None:
        self.window.add_page(job.page)
        self._jobs.append(job)

    def start(self) -> None:
        """Show the chats and load the model."""
        import_folder.sweep(paths.models_folder())
        state = self.store.recall(GEOMETRY)
        if state:
            self.window.restore(state)
        self.window.chat.show_origins(self.settings.now.show_origins)
        self.window.chat.composer.edit.enter_sends = self.settings.now.enter_sends
        self.prompts.show(self.settings.now.prompts)
        self.placement.show_settings(self.settings.now)
        self.chats.start()
        self.folders.start()
        self.tools.follow(self.settings.now)
        self.model_in_use.show_installed()
        QTimer.singleShot(0, self, self._on_started)

    @Slot()
    def _on_started(self) -> None:
        """Load the model once the window is shown. If the window was closed at once, nothing would end the engine."""
        if not self._is_closed:
            self.model_in_use.load()
            self.quick.show_icon()

    @Slot(object)
    def _on_settings_changed(self, changed: Settings) -> None:
        self.window.chat.notice.retract(Cause.SETTINGS)
        self.chats.set_settings(changed)
        self.appearance.set_settings(changed)
        self.window.chat.composer.edit.enter_sends = changed.enter_sends
        self.prompts.show(changed.prompts)
        self._follow_settings()

    @Slot()
    def bring_to_front(self) -> None:
        """Bring the window to the front, as a second start asks for."""
        _log.info("another start asks for the window")
        self.window.setWindowState(self.window.windowState() & ~Qt.WindowState.WindowMinimized)
        self.window.show()
        self.window.raise_()
        self.window.activateWindow()

    @Slot(str)
    def _on_chat_requested(self, chat_id: str) -> None:
        """Bring the window to the front, and open a chat if one is named."""
        self.bring_to_front()
        if chat_id:
            self._on_chosen(chat_id, None)

    def tell(self, sentence: str, *, bad: bool) -> None:
        """Say what happened to the chats at the start, also where the page of models would be shown."""
        self.window.show_page(self.window.chat)
        (self.chat_controller.show_error if bad else self.chat_controller.show_hint)(sentence)

    @Slot(str)
    def import_file(self, file: str) -> None:
        """Import the chats of an exported file."""
        self.commands.import_file(Path(file))

    def restart(self, order: EncryptionOrder | None = None) -> None:
        """Close the window and the history, carry out the order, and open both again."""
        self.order = order
        self.reopens = self.chats.current.chat.id if self.chats.current else ""
        self.window.quit()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        for form in self.window.findChildren(SettingsForm):
            form.flush()
        self.commands.close()
        self.quick.close()
        self.folders.close()
        self.dictation.cancel()
        self.read_ahead.close()
        self.titles.close()
        self.announcer.close()
        self.read_aloud.close()
        self.chat_controller.close()
        self.motion.restore()
        self.chats.close()
        self.tools.close()
        self.garbage_collection.close()
        with suppress(HistoryError):  # the place of the window may be lost, an answer not
            self.store.remember(GEOMETRY, self.window.state())
        self.choices.close()
        self.model_in_use.close()
        self.models.close()
        for job in self._jobs:
            job.close()
        self.loader.close()
        self.link.close()
        self.chats.delete_outdated_caches()
        self.maintenance.close()
        self.store.close()

    def _connect_chats(self) -> None:
        chats = self.chats
        self._connect_sidebar()
        chats.changed.connect(self._follow_settings)
        self.settings.undoable.connect(chats.undoable)
        chats.leaving.connect(self.panel.flush)
        chats.leaving.connect(self.chat_controller.composing.save)
        chats.opened.connect(self._on_opened)
        for follower in (self.announcer, self.read_aloud):
            chats.opened.connect(follower.follow)
        chats.listed.connect(self._on_listed)
        chats.events.error_occurred.connect(self.model_in_use.show_error)
        chats.events.answered.connect(self.model_in_use.show)
        chats.events.answered.connect(self.model_in_use.check)
        chats.events.hint_shown.connect(self.chat_controller.show_hint)
        chats.all_saved.connect(self.chat_controller.show_saved)
        chats.events.sent.connect(self.maintenance.sync)
        self.model_in_use.shown.connect(self.chat_controller.composing.count.set_exact)
        self.model_in_use.shown.connect(self.read_ahead.follow)
        self.model_in_use.shown.connect(self.commands.update)
        self.undo_stack.changed.connect(self.commands.update)
        self.chat_controller.undoable.connect(self.undo_stack.push)
        self.chat_controller.fork_requested.connect(chats.fork)
        self.chat_controller.answered.connect(self.commands.update)
        self.chat_controller.model_dropped.connect(self.models.adding.add_path)
        self.models.adding.refused.connect(self.chat_controller.show_hint)
        chats.events.answered.connect(self.attention.on_answered)
        chats.events.answered.connect(self.window.models.work.retire)

    def _connect_sidebar(self) -> None:
        sidebar = self.window.sidebar
        SidebarController(sidebar, self.chats, self.tags, self.projects, self.undo_stack, self)
        for troubled, changed in (
            (self.tags.error_occurred, self.tags.changed),
            (self.projects.error_occurred, self.projects.changed),
        ):
            troubled.connect(lambda sentence: self.chat_controller.show_error(sentence, Cause.TAGS))
            changed.connect(lambda _: self.window.chat.notice.retract(Cause.TAGS))
        self.projects.changed.connect(self._show_project)
        self.window.chat.empty.project_edit_requested.connect(self.projects.edit)
        sidebar.new_requested.connect(self._on_new_requested)
        sidebar.list.chosen.connect(self._on_chosen)

    def _connect_folders(self) -> None:
        self.chat_controller.composing.search_folders = self.folders.search
        self.chat_controller.composing.question_begun.connect(self.folders.prepare)
        self.folders.error_occurred.connect(self.chat_controller.show_error)
        self.projects.model_requested.connect(self._on_model_requested)
        self.chat_controller.composing.model_requested.connect(self._on_model_requested)
        self.models.adding.installed.connect(lambda _: self.folders.update())

    @Slot(str)
    @Slot(str, str)
    def _on_model_requested(self, name: str, reason: str = "") -> None:
        """Open the page of models, and search its catalogue for this model."""
        self.window.actions_by_name["models"].trigger()
        self.window.models.catalogue.search_for(name, reason)

    def is_answering(self) -> bool:
        """Return whether a model writes."""
        return self.link.generation is not None

    def _connect_pages(self) -> None:
        """Open pages by their commands, and make those that were not opened before."""
        commands = self.window.actions_by_name
        commands["race"].triggered.connect(lambda: self.window.show_page(self.race.page))
        commands["bench"].triggered.connect(lambda: self.window.show_page(self.bench.page))
        commands["tune"].triggered.connect(lambda: self.window.show_page(self.tune.page))
        commands["server"].triggered.connect(lambda: self.window.show_page(self.server.page))

    def _connect_rest(self) -> None:
        self.chats.destroyed_chats.connect(lambda _: self.maintenance.erase())
        self.maintenance.error_occurred.connect(self.chat_controller.show_error)  # chats are shown on a full disk, too
        self.settings.refused.connect(lambda sentence: self.chat_controller.show_error(sentence, Cause.SETTINGS))
        self.appearance.changed.connect(self.window.apply_theme)
        self.settings.changed.connect(self.attention.set_settings)
        self.settings.changed.connect(self.quick.follow)
        self.settings.changed.connect(self.motion.set_settings)
        self.motion.changed.connect(self.window.set_still)
        self.window.set_still(self.motion.is_reduced)
        self.attention.chat_requested.connect(self._on_chat_requested)
        self.quick.chat_requested.connect(self._on_chat_requested)
        title = self.tr("The export has ended")
        self.models.adding.exported.connect(lambda _, sentence: self.attention.notify(title, sentence))
        self.window.closing.connect(self.close)
        self.panel.changed.connect(self._change_chat)
        self.window.chat.empty.preset.chosen.connect(lambda preset: self._change_chat(preset.values()))
        self.placement.changed.connect(lambda values: self.settings.change(**values))
        self.settings.changed.connect(self.placement.show_settings)
        self.switch.chosen.connect(lambda name: self._change_chat({"model": name, "draft": ""}))
        self.window.chat.composer.thinking_chosen.connect(lambda on: self._change_chat({"think": on}))
        self.switch.page_requested.connect(self.window.actions_by_name["models"].trigger)
        self.comparing.switch.page_requested.connect(self.window.actions_by_name["models"].trigger)
        self.window.actions_by_name["compare"].triggered.connect(self._on_compare)
        self.window.actions_by_name["quick"].triggered.connect(self.quick.ask)
        self.window.actions_by_name["prompts"].triggered.connect(self.prompts.open_library)
        self.window.actions_by_name["tools"].triggered.connect(lambda: self.tools.show_dialog(self.window))
        self.window.actions_by_name["read_aloud"].triggered.connect(self.read_aloud.toggle)
        self.read_aloud.error_occurred.connect(self.chat_controller.show_error)
        self.window.actions_by_name["folder"].triggered.connect(self.chat_controller.open_folder_dialog)
        self.tools.error_occurred.connect(lambda sentence: self.chat_controller.show_error(sentence, Cause.TOOLS))
        self.tools.changed.connect(lambda: self.window.chat.notice.retract(Cause.TOOLS))
        self.tools.changed.connect(self.read_ahead.schedule)
        self.tools.changed.connect(self.chat_controller.composing.recount)
        self.window.actions_by_name["dictate"].triggered.connect(self.dictation.toggle)
        for over in (self.dictation.begun, self.chats.opened):
            over.connect(lambda *_: self.window.chat.notice.retract(Cause.DICTATION))
        self.dictation.error_occurred.connect(
            lambda sentence: self.chat_controller.show_error(sentence, Cause.DICTATION)
        )
        self.dictation.model_requested.connect(self._on_model_requested)
        self.window.chat.composer.submitted.connect(self.dictation.cancel)
        self.chats.opened.connect(self.dictation.cancel)
        self.prompts.changed.connect(lambda values: self.settings.change(prompts=values))
        self.window.panel.reset.clicked.connect(self._on_reset)
        self.window.panel.adopt.clicked.connect(self._on_defaults_requested)

    @Slot(object)
    def _on_opened(self, session: ChatSession) -> None:
        self.window.show_page(self.window.chat)
        self.comparing.close()
        self.chat_controller.open(session)
        self.window.sidebar.list.set_open(session.chat.id)
        self._show_settings(session.settings)
        self._show_project()
        self.model_in_use.show()
        self.commands.update()

    @Slot()
    def _show_project(self) -> None:
        """Show the open chat's project if the chat has no messages."""
        name = self.chats.current.chat.project if self.chats.current else ""
        self.window.chat.empty.show_project(self.projects.read(name) if name else None)

    @Slot(object)
    def _on_listed(self, listing: SidebarContent) -> None:
        current = self.chats.current
        self.window.sidebar.show_listing(listing, current.chat.id if current else None)
        self.commands.update()

    @Slot()
    def _on_new_requested(self) -> None:
        self.chats.open_new()
        self.window.show_page(self.window.chat)
        self.window.chat.composer.setFocus()

    @Slot()
    def _on_compare(self) -> None:
        self.window.show_page(self.window.chat)
        self.comparing.open_last()

    @Slot(str, object)
    def _on_chosen(self, chat_id: str, hit: Hit | None) -> None:
        message = hit.message if hit else None
        self.chats.open(chat_id, message)
        self.window.show_page(self.window.chat)
        query = self.window.sidebar.search.text().strip()
        if hit and message is not None and query:
            self.chat_controller.reveal(hit, query)

    def _models(self) -> Models:
        """Return the models that a project can choose from."""
        return self.choices.by_setting(self.settings.now)["model"]

    @Slot(object)
    def _change_chat(self, values: dict[str, object]) -> None:
        session = self.chats.current
        presets = values.get("presets")
        if isinstance(presets, dict):  # they belong to all chats
            self.settings.change_presets(presets)
        elif session:
            own = dict(session.chat.settings)
            if values.get("model"):
                self.settings.change(model=values["model"], draft="")
            self.window.chat.notice.retract(Cause.SETTINGS)
            session.change_settings({**own, **values} if values else {})
            if not values and own:
                title, sentence = self.tr("Reset Settings"), self.tr("The chat has the settings of all chats.")
                self.chats.offer_settings(session, own, title, sentence)
            elif self._is_lost(own.get("system_prompt"), session.settings):
                title, sentence = self.tr("Replace System Prompt"), self.tr("The system prompt is replaced.")
                self.chats.offer_settings(session, own, title, sentence)

    def _is_lost(self, prompt: object, after: Settings) -> bool:
        """Return whether a system prompt that is nowhere else was replaced by a preset."""
        known = {"", *self.settings.now.presets.values(), *(preset.system_prompt for preset in built_in())}
        return bool(prompt) and prompt not in known and after.system_prompt in known

    @Slot()
    def _follow_settings(self) -> None:
        """Show and apply the settings of the open chat, if they differ from those that are shown."""
        session, before = self.chats.current, self._shown
        if not session or _panel_values(session.settings) == _panel_values(before):
            return
        self._show_settings(session.settings)
        if _load_values(before) != _load_values(session.settings):
            self.model_in_use.load()
        self.model_in_use.show()
        self.chat_controller.composing.recount()

    def _show_settings(self, settings: Settings) -> None:
        self._shown = settings
        self.panel.show_settings(settings)
        self.window.chat.empty.show_settings(settings)
        self.switch.settings = settings

    @Slot()
    def _on_reset(self) -> None:
        """Give the open chat the settings of all chats."""
        self.panel.flush()
        self._change_chat({})

    @Slot()
    def _on_defaults_requested(self) -> None:
        """Make the settings of the open chat those of all chats; it keeps its own if they cannot be saved."""
        self.panel.flush()
        session = self.chats.current
        if session and self.settings.change(**{name: getattr(session.settings, name) for name in per_chat()}):
            session.change_settings({})

    def _chat_settings(self) -> Settings:
        return self.chats.current.settings if self.chats.current else self.settings.now


def _load_values(settings: Settings) -> tuple[object, ...]:
    names = ("model", "draft", "device", "draft_device", "context", "engine", "kv_precision")
    return tuple(getattr(settings, name) for name in names)


def _panel_values(settings: Settings) -> tuple[object, ...]:
    return (settings.chat_values(), settings.presets)
