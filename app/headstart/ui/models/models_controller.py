"""What the page of models does: list, choose, verify, remove, add."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, QThreadPool, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices

from headstart import exporter, library, paths
from headstart.errors import HeadstartError
from headstart.library import Broken, Entry
from headstart.settings import Settings
from headstart.ui.engine_link import EngineLink
from headstart.ui.engine_request import Find
from headstart.ui.models import model_facts
from headstart.ui.models.add_model_controller import AddModelController
from headstart.ui.models.model_choices import ModelChoices
from headstart.ui.models.models_page import ModelsPage
from headstart.ui.models.remote_servers_controller import RemoteServersController
from headstart.ui.models.verification import Verification
from headstart.ui.spelling import amount, place
from headstart.ui.translation import said
from headstart.ui.widgets.dialog import confirms


class ModelsController(QObject):
    """One for the window."""

    chosen = Signal(str)  # the model of new chats
    exported = Signal(bool, str)  # whether a model was made, and the last sentence
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
        self.servers = RemoteServersController(page, make_link, self)
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
        self._page.placement.show_memory(free)
        for entry in self.choices.usable:
            card = self._page.card(entry.name)
            if card:
                card.show_memory(model_facts.memory(model_facts.models(entry), self._settings), free)

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
        page.entered.connect(self.adding.find_recipes)
        page.dropped.connect(self.adding.take)
        page.add.path_chosen.connect(self.adding.take)
        for part in (page.add, page.welcome):
            part.start_requested.connect(self.adding.export)
            part.setup_requested.connect(self.adding.set_up)

    def _connect_adding(self) -> None:
        self.adding.added.connect(self.changed)
        self.adding.exported.connect(self.exported)
        self.adding.named.connect(self._page.add.show_source)
        self.adding.recipes_found.connect(self._page.add.set_catalogue)
        self.adding.ready.connect(self._show_exporter)
        for part in (self._page.add, self._page.welcome):
            self.adding.busy.connect(part.set_busy)

    @Slot()
    def _show_exporter(self) -> None:
        for part in (self._page.add, self._page.welcome):
            part.set_exporter(installed=exporter.command() is not None)

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
        try:
            options = self._find(replace(self._settings, model=name, draft="")).options
        except HeadstartError as error:
            card.show_state(said(error), bad=True)
            return
        card.set_busy(True)
        self._verifications[name] = made = Verification(entry, options, self._make_link, self)
        made.told.connect(self._note_progress)
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
        size = "" if isinstance(entry, Broken) else f" ({amount(model_facts.size(entry))})"
        question = self.tr("Remove {name}{size} from this computer? Chats written with it stay.").format(
            name=entry.name, size=size
        )
        return confirms(self._page, self.tr("Remove model"), question, self.tr("Remove"))

    def _entry(self, name: str) -> Entry | None:
        return next((entry for entry in self.choices.entries if entry.name == name), None)
