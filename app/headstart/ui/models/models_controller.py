"""The controller of the page of models: it lists, chooses, verifies, removes and adds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QThreadPool, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices

from headstart import paths
from headstart.engine.engine import LoadOptions
from headstart.library import exporter, import_folder, library
from headstart.library.library import Broken, Entry, Model, Pair
from headstart.settings import Settings
from headstart.ui.background_task import BackgroundTask
from headstart.ui.engine_link import EngineLink
from headstart.ui.engine_request import Find
from headstart.ui.formatting import format_size, sentences, short_path
from headstart.ui.models import model_choices
from headstart.ui.models.add_model_controller import AddModelController
from headstart.ui.models.model_choices import ModelChoices
from headstart.ui.models.model_loader import LoadTest
from headstart.ui.models.models_page import ModelsPage
from headstart.ui.models.remote_servers import RemoteServersController
from headstart.ui.translation import showing_errors, translate_error
from headstart.ui.widgets.layouts import confirm


class Verification(QObject):
    """A check of a model: its files are compared with their hashes, and it is loaded and writes a word."""

    progressed = Signal(str, str)  # name, what is going on
    ended = Signal(str, object, str)  # name, faults of its files (list[str]), why it did not answer (or empty)

    def __init__(
        self,
        entry: Model | Pair,
        options: LoadOptions,
        make_link: Callable[[], EngineLink],
        parent: QObject | None = None,
    ) -> None:
        """`make_link` starts an engine for this verification alone."""
        super().__init__(parent)
        self.entry = entry
        self._options, self._make_link = options, make_link
        self._test: LoadTest | None = None
        self._task = BackgroundTask(self._check, self)
        self._task.progressed.connect(self._on_progressed)

    def start(self) -> None:
        """Start the check; `ended` follows, unless `close` comes first."""
        self._on_progressed(0, 1)
        self._task.start(self._on_checked, self._on_ended)

    def close(self) -> None:
        """End the check; `ended` does not follow."""
        self._task.cancel()
        if self._test:
            self._test.close()

    def _check(self, task: BackgroundTask) -> list[str]:
        def should_continue(done: int, total: int) -> bool:
            task.progressed.emit(done, total)
            return not task.is_cancelled

        try:
            return import_folder.check(self.entry, should_continue)
        except import_folder.Stopped:
            return []

    @Slot(object, object)
    def _on_progressed(self, done: int, total: int) -> None:
        words = self.tr("Comparing every file with its hash: {} %").format(done * 100 // max(total, 1))
        self.progressed.emit(self.entry.name, words)

    @Slot(object)
    def _on_checked(self, faults: list[str]) -> None:
        if faults:
            self._end(faults, "")
            return
        self._test = LoadTest(self._options, self._make_link, self)
        self._test.loading.changed.connect(self._show_loading)
        self._show_loading()
        self._test.ended.connect(self._on_ended)
        self._test.start()

    @Slot()
    def _show_loading(self) -> None:
        words = self.tr("Every file is as it was exported. Loading it and asking for a word…")
        step = self._test.loading.step if self._test else ""
        self.progressed.emit(self.entry.name, sentences(words, step) if step else words)

    @Slot(str)
    def _on_ended(self, sentence: str) -> None:
        self._end([], sentence)

    def _end(self, faults: list[str], sentence: str) -> None:
        self.close()
        self.ended.emit(self.entry.name, faults, sentence)


class ModelsController(QObject):
    chosen = Signal(str)  # name of the model for new chats
    changed = Signal()  # other models are installed
    entered = Signal()  # the page is shown
    removing = Signal(object)  # Entry, before its folder goes

    def __init__(
        self,
        page: ModelsPage,
        choices: ModelChoices,
        find: Find,
        make_link: Callable[[], EngineLink],
        parent: QObject | None = None,
    ) -> None:
        """`make_link` starts an engine to try a model in."""
        super().__init__(parent)
        self._page, self.choices, self._find, self._make_link = page, choices, find, make_link
        self._settings = Settings()
        self._verifications: dict[str, Verification] = {}
        self._slowness: dict[str, str] = {}  # by name: why its answers are slower than they could be
        self.adding = AddModelController(page.work, self)
        self.servers = RemoteServersController(page.servers, make_link, self)
        self._connect_page()
        self._connect_adding()

    def show(self, current: str, settings: Settings) -> None:
        """List what is installed; `current` is the model of new chats, which have these `settings`."""
        self._show_exporter()
        self._page.show_entries(self.choices.entries, current, short_path(paths.models_folder()))
        for name, sentence in self._slowness.items():
            self.show_slowness(name, sentence)
        for name in self._verifications:
            if card := self._page.card(name):
                card.set_busy(True)
        self.follow(current, settings)

    def follow(self, current: str, settings: Settings) -> None:
        """Show that new chats have the model `current` and these settings."""
        self._settings = settings
        self._page.show_current(current)
        names = [entry.name for entry in self.choices.usable]
        self._page.serve.show_model(current if current in names else next(iter(names), ""))
        self.servers.show(self.choices.servers, settings)
        self.show_memory()

    @Slot()
    def show_memory(self) -> None:
        """Show the memory that each model needs, beside the free memory, while the page is seen."""
        if not self._page.isVisible():  # else the start would wait for it
            return
        free = self.choices.free()
        self._page.placement.show_memory(free)
        for part in (self._page.catalogue, self._page.welcome):
            part.show_memory(free, self._settings)
        for entry in self.choices.usable:
            card = self._page.card(entry.name)
            if card:
                card.show_memory(model_choices.memory_of(model_choices.models_of(entry), self._settings), free)

    def show_slowness(self, name: str, sentence: str) -> None:
        """Show on the card of a model why its answers are slower than they could be; "" if they are not."""
        self._slowness[name] = sentence
        if card := self._page.card(name):
            card.show_slowness(sentence)

    @Slot(str, int, int)
    def show_check(self, name: str, step: int, steps: int) -> None:
        """Show on the card of a model how its check in the background goes."""
        if (card := self._page.card(name)) and name not in self._verifications:
            words = self.tr("It is being checked in the background.")
            more = self.tr("Step {step} of {steps}.").format(step=step, steps=steps) if steps else ""
            card.show_state(sentences(words, more).strip())

    def close(self) -> None:
        """End an export, and wait for verifications."""
        self.adding.close()
        self.servers.close()
        for verification in self._verifications.values():
            verification.blockSignals(True)  # noqa: FBT003 - Qt's own; its last words would reach cards that are gone
            verification.close()
        QThreadPool.globalInstance().waitForDone()

    def _connect_page(self) -> None:
        page = self._page
        page.action_requested.connect(self._on_action)
        page.entered.connect(self.entered)
        page.entered.connect(self.show_memory)
        page.entered.connect(self.adding.sweep)
        page.entered.connect(self.servers.find_keys)
        page.dropped.connect(self.adding.add_path)
        page.catalogue.other.path_chosen.connect(self.adding.add_path)
        for part in (page.catalogue, page.welcome):
            part.start_requested.connect(self._on_start_requested)

    def _connect_adding(self) -> None:
        self.adding.added.connect(self.changed)
        self.adding.source_chosen.connect(self._page.catalogue.show_source)
        for changed in (self.adding.exporter_ready, self.adding.busy):
            changed.connect(self._show_exporter)

    @Slot()
    def _show_exporter(self) -> None:
        """Show the note on the exporter if it is missing, and whether models can be got now."""
        is_missing = exporter.command() is None
        self._page.exporter.setVisible(is_missing)
        can_get = not is_missing or exporter.importer() is not None or exporter.package() is not None
        for part in (self._page.catalogue, self._page.welcome):
            part.set_enabled(enabled=can_get and not self.adding.is_busy)
        self._page.setAcceptDrops(not self.adding.is_busy)

    @Slot(object)
    def _on_start_requested(self, words: Sequence[str]) -> None:
        self.adding.get(words)
        self._page.work.setFocus()

    @Slot(str, str)
    def _on_action(self, action: str, name: str) -> None:
        actions: dict[str, Callable[[str], object]] = {
            "use": self.chosen.emit, "check": self._verify, "folder": self._show_folder, "remove": self._remove
        }  # fmt: skip
        actions[action](name)

    def _verify(self, name: str) -> None:
        entry, card = self._entry(name), self._page.card(name)
        if entry is None or isinstance(entry, Broken) or card is None or name in self._verifications:
            return
        with showing_errors(partial(card.show_state, bad=True)):
            options = self._find(replace(self._settings, model=name, draft="")).options
            card.set_busy(True)
            self._verifications[name] = verification = Verification(entry, options, self._make_link, self)
            verification.progressed.connect(self._on_progressed)
            verification.ended.connect(self._on_verified)
            verification.start()

    @Slot(str, str)
    def _on_progressed(self, name: str, words: str) -> None:
        card = self._page.card(name)
        if card:
            card.show_state(words)

    @Slot(str, object, str)
    def _on_verified(self, name: str, faults: list[str], fault: str) -> None:
        self._verifications.pop(name).deleteLater()
        card = self._page.card(name)
        if card:
            card.set_busy(False)
            sound = self.tr("Every file is as it was exported; it loads and answers.")
            if faults:
                lines = [*map(translate_error, faults), self.tr("Remove it and add it again.")]
                card.show_state("\n".join(lines), bad=True)
            else:
                card.show_state(fault or sound, bad=bool(fault))

    def _show_folder(self, name: str) -> None:
        entry = self._entry(name)
        if entry:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(entry.folder)))

    def _remove(self, name: str) -> None:
        entry = self._entry(name)
        if entry is None or not self._confirms(entry):
            return
        if name in self._verifications:
            self._verifications.pop(name).close()
        self.removing.emit(entry)
        fault = list[str]()
        with showing_errors(fault.append):
            library.remove(entry)
        self.changed.emit()
        card = self._page.card(name)
        if card and fault:
            card.show_state(fault[0], bad=True)

    def _confirms(self, entry: Entry) -> bool:
        size = "" if isinstance(entry, Broken) else f" ({format_size(model_choices.size_of(entry))})"
        question = self.tr("Remove {name}{size} from this computer? Chats written with it stay.").format(
            name=entry.name, size=size
        )
        return confirm(self._page, self.tr("Remove model"), question, self.tr("Remove"))

    def _entry(self, name: str) -> Entry | None:
        return next((entry for entry in self.choices.entries if entry.name == name), None)
