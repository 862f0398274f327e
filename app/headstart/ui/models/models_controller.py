"""What the page of models does: list, choose, verify, remove, add."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QThreadPool, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices

from headstart import exporter, intake, library, paths
from headstart.engine.engine import LoadOptions
from headstart.library import Broken, Entry, Model, Pair
from headstart.settings import Settings
from headstart.ui.background_task import BackgroundTask
from headstart.ui.engine_link import EngineLink
from headstart.ui.engine_request import Find
from headstart.ui.models import model_choices
from headstart.ui.models.add_model_controller import AddModelController
from headstart.ui.models.model_choices import ModelChoices
from headstart.ui.models.model_loader import LoadTest
from headstart.ui.models.models_page import ModelsPage
from headstart.ui.models.remote_servers import RemoteServersController
from headstart.ui.spelling import amount, place, sentences
from headstart.ui.translation import said, telling
from headstart.ui.widgets.layouts import confirm


class Verification(QObject):
    """Compares the files of a model with their hashes, then loads it and asks it for one token. Runs once."""

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
        self._task.progressed.connect(self._note_progress)
        self._task.done.connect(self._load)
        self._task.failed.connect(self._note_trouble)

    def start(self) -> None:
        """`ended` follows, unless it is closed before."""
        self._note_progress(0, 1)
        self._task.start()

    def close(self) -> None:
        """End it; `ended` does not follow."""
        self._task.cancel()
        if self._test:
            self._test.close()

    def _check(self, task: BackgroundTask) -> list[str]:
        def go_on(done: int, total: int) -> bool:
            task.progressed.emit(done, total)
            return not task.is_cancelled

        try:
            return intake.check(self.entry, go_on)
        except intake.Stopped:
            return []

    @Slot(object, object)
    def _note_progress(self, done: int, total: int) -> None:
        words = self.tr("Comparing every file with its hash: {} %").format(done * 100 // max(total, 1))
        self.progressed.emit(self.entry.name, words)

    @Slot(object)
    def _load(self, faults: list[str]) -> None:
        if faults:
            self._end(faults, "")
            return
        self._test = LoadTest(self._options, self._make_link, self)
        self._test.loading.changed.connect(self._show_loading)
        self._show_loading()
        self._test.ended.connect(self._note_trouble)
        self._test.start()

    @Slot()
    def _show_loading(self) -> None:
        words = self.tr("Every file is as it was exported. Loading it and asking for a word…")
        step = self._test.loading.step if self._test else ""
        self.progressed.emit(self.entry.name, sentences(words, step) if step else words)

    @Slot(str)
    def _note_trouble(self, sentence: str) -> None:
        self._end([], sentence)

    def _end(self, faults: list[str], sentence: str) -> None:
        self.close()
        self.ended.emit(self.entry.name, faults, sentence)


class ModelsController(QObject):
    """One for the window."""

    chosen = Signal(str)  # the model of new chats
    changed = Signal()  # other models are installed
    removing = Signal(str)  # before its folder goes

    def __init__(
        self,
        page: ModelsPage,
        choices: ModelChoices,
        find: Find,
        make_link: Callable[[], EngineLink],
        parent: QObject | None = None,
    ) -> None:
        """Shows nothing yet. `make_link` gives an engine to try a model in."""
        super().__init__(parent)
        self._page, self.choices, self._find, self._make_link = page, choices, find, make_link
        self._settings = Settings()
        self._verifications: dict[str, Verification] = {}
        self.adding = AddModelController(page.work, self)
        self.servers = RemoteServersController(page.servers, make_link, self)
        self._connect_page()
        self._connect_adding()

    def show(self, current: str, settings: Settings) -> None:
        """List what is installed; `current` is the model of new chats, which have these settings."""
        self._settings = settings
        self._show_exporter()
        self._page.show_entries(self.choices.entries, current, place(paths.models_folder()))
        names = [entry.name for entry in self.choices.usable]
        self._page.serve.show_model(current if current in names else next(iter(names), ""))
        self.servers.show(self.choices.servers, settings)
        self.show_memory()

    @Slot()
    def show_memory(self) -> None:
        """What each model takes against what is free now."""
        free = self.choices.free()
        for part in (self._page.placement, self._page.catalogue, self._page.welcome):
            part.show_memory(free)
        for entry in self.choices.usable:
            card = self._page.card(entry.name)
            if card:
                card.show_memory(model_choices.memory_of(model_choices.models_of(entry), self._settings), free)

    def close(self) -> None:
        """The window closes: an export ends, a verification is waited for."""
        self.adding.close()
        self.servers.close()
        for verification in self._verifications.values():
            verification.blockSignals(True)  # noqa: FBT003 - Qt's own; its last words would reach cards that are gone
            verification.close()
        QThreadPool.globalInstance().waitForDone()

    def _connect_page(self) -> None:
        page = self._page
        page.action_requested.connect(self._act)
        page.entered.connect(self.show_memory)
        page.entered.connect(self.adding.sweep)
        page.entered.connect(self.servers.find_keys)
        page.dropped.connect(self.adding.take)
        page.catalogue.other.path_chosen.connect(self.adding.take)
        for part in (page.catalogue, page.welcome):
            part.start_requested.connect(self._get)

    def _connect_adding(self) -> None:
        self.adding.added.connect(self.changed)
        self.adding.named.connect(self._page.catalogue.show_source)
        for changed in (self.adding.ready, self.adding.busy):
            changed.connect(self._show_exporter)

    @Slot()
    def _show_exporter(self) -> None:
        """What has to be had first, and whether models can be got now."""
        is_missing = exporter.command() is None
        self._page.exporter.setVisible(is_missing)
        can_be_had = not is_missing or exporter.package() is not None
        for part in (self._page.catalogue, self._page.welcome):
            part.set_enabled(enabled=can_be_had and not self.adding.is_busy)

    @Slot(object)
    def _get(self, words: Sequence[str]) -> None:
        self.adding.get(words)
        self._page.work.setFocus()

    @Slot(str, str)
    def _act(self, action: str, name: str) -> None:
        acts: dict[str, Callable[[str], object]] = {
            "use": self.chosen.emit, "check": self._verify, "folder": self._show_folder, "remove": self._remove
        }  # fmt: skip
        acts[action](name)

    def _verify(self, name: str) -> None:
        entry, card = self._entry(name), self._page.card(name)
        if entry is None or isinstance(entry, Broken) or card is None or name in self._verifications:
            return
        with telling(partial(card.show_state, bad=True)):
            options = self._find(replace(self._settings, model=name, draft="")).options
            card.set_busy(True)
            self._verifications[name] = made = Verification(entry, options, self._make_link, self)
            made.progressed.connect(self._note_progress)
            made.ended.connect(self._note_verified)
            made.start()

    @Slot(str, str)
    def _note_progress(self, name: str, words: str) -> None:
        card = self._page.card(name)
        if card:
            card.show_state(words)

    @Slot(str, object, str)
    def _note_verified(self, name: str, faults: list[str], trouble: str) -> None:
        self._verifications.pop(name).deleteLater()
        card = self._page.card(name)
        if card:
            card.set_busy(False)
            sound = self.tr("Every file is as it was exported; it loads and answers.")
            lines = [*map(said, faults), self.tr("Remove it and add it again.")] if faults else [trouble or sound]
            card.show_state("\n".join(lines), bad=bool(faults or trouble))

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
        self.removing.emit(name)
        library.remove(entry)
        self.changed.emit()

    def _confirms(self, entry: Entry) -> bool:
        size = "" if isinstance(entry, Broken) else f" ({amount(model_choices.size_of(entry))})"
        question = self.tr("Remove {name}{size} from this computer? Chats written with it stay.").format(
            name=entry.name, size=size
        )
        return confirm(self._page, self.tr("Remove model"), question, self.tr("Remove"))

    def _entry(self, name: str) -> Entry | None:
        return next((entry for entry in self.choices.entries if entry.name == name), None)
