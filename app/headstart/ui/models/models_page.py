"""The page of installed models, and of adding one."""

from collections.abc import Iterable, Mapping

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QWidget

from headstart.library.library import Entry
from headstart.settings import Settings
from headstart.ui.formatting import format_size
from headstart.ui.models import model_choices
from headstart.ui.models.add_model import ExporterNote
from headstart.ui.models.catalogue import FIRST, Catalogue, Welcome
from headstart.ui.models.model_card import ModelCard
from headstart.ui.models.remote_servers import RemoteServersList
from headstart.ui.settings.settings_form import Choices, SettingsForm
from headstart.ui.widgets.labels import button, muted
from headstart.ui.widgets.layouts import Card, Page, add, row, stacked
from headstart.ui.widgets.progress import WorkCard
from headstart.ui.widgets.stylesheet import set_style_property
from headstart.ui.widgets.theme import MEDIUM, TEXT_WIDTH

_SETTINGS = ("device", "draft_device", "context")


class Placement(Card):
    """The settings that decide where models run, and what each device here can and cannot do."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, self.tr("Where models run"))
        self._form = SettingsForm([("", _SETTINGS)], self)
        form = self._form.layout()
        assert form
        form.setContentsMargins(0, 0, 0, 0)
        self._limits = muted("", self)
        self._memory = muted("", self)
        add(self.column, self._form, self._limits, self._memory)
        self.built, self.edited = self._form.built, self._form.edited

    @property
    def is_built(self) -> bool:
        return self._form.is_built

    def flush(self) -> None:
        self._form.flush()

    def show_settings(self, settings: Settings, usual: Mapping[str, float]) -> None:
        self._form.show_settings(settings, usual)

    def show_choices(self, choices: Mapping[str, Choices]) -> None:
        """Show the choices of each setting, and the limits of each device."""
        self._form.show_choices(choices)
        devices = [name for name, _, _ in choices.get("device", []) if name]
        self._limits.setText("\n".join(map(model_choices.device_limits, devices)))

    def show_notes(self, notes: Mapping[str, str]) -> None:
        self._form.show_notes(notes)

    def show_memory(self, free: int) -> None:
        """Show the bytes that a model could take now."""
        self._memory.setText(
            self.tr("{} of memory is free for a model (with the memory of the one in use).").format(format_size(free))
        )


_COMMAND = "headstart serve --model {}"


class ServerNote(Card):
    """A note on answering other programs, shown while there is a model for that."""

    page_requested = Signal()  # the page of the local server

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, self.tr("Answer other programs"))
        self._command = ""
        self._text = muted("", self, selectable=True)
        copy, here = button(self.tr("Copy command"), self), button(self.tr("Local server…"), self)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._command))
        here.clicked.connect(self.page_requested)
        add(self.column, self._text, row(here, copy))
        self.hide()

    def show_model(self, name: str) -> None:
        """Show the command for a model; "" hides the note."""
        self._command = _COMMAND.format(name)
        words = self.tr(
            "Editors and scripts on this computer can use a model as they use OpenAI's API. Switch that on on the page "
            "of the local server, or type this in a terminal, where the model needs its memory a second time:\n{}"
        )
        self._text.setText(words.format(self._command))
        self.setVisible(bool(name))


class ModelsPage(Page):
    """The installed models, models to get, where models run, and the servers.

    The window shows `work`, the progress of getting a model, below every page.
    """

    action_requested = Signal(str, str)  # the action of a card and its entry
    dropped = Signal(str)  # path of a file or folder

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(TEXT_WIDTH, parent)
        self.set_title(self.tr("Models"))
        self.setAcceptDrops(True)
        self._cards: dict[str, ModelCard] = {}
        self._folder = muted("", self, selectable=True)
        self.welcome = Welcome(self)
        self.exporter = ExporterNote(FIRST, self)
        self.work = WorkCard(self)
        self.catalogue = Catalogue(self)
        self.servers = RemoteServersList(self)
        self.serve = ServerNote(self)
        self.placement = Placement(self)
        self._lay_out()

    def show_entries(self, entries: Iterable[Entry], current: str, folder: str) -> None:
        """Show the installed models, and which of them new chats use."""
        for card in self._cards.values():
            card.deleteLater()
        all_entries = tuple(entries)
        self._cards = {entry.name: self._card(entry) for entry in all_entries}
        for index, card in enumerate(self._cards.values()):
            self._list.insertWidget(index, card)
        self.show_current(current)
        self._folder.setText(self.tr("Models are in {}").format(folder))
        self.welcome.setVisible(not all_entries)
        self.setFocusProxy(None if all_entries else self.welcome)  # type: ignore[arg-type] # Qt's own way to have none
        self.catalogue.show_installed(self._cards.keys())
        self.placement.setVisible(bool(all_entries))

    def show_current(self, current: str) -> None:
        """Show which model new chats use."""
        for name, card in self._cards.items():
            card.show_chosen(name == current)

    def card(self, name: str) -> ModelCard | None:
        return self._cards.get(name)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self.welcome.isHidden():
            self.welcome.setFocus()
        elif not event.spontaneous():
            self.setFocus()  # Qt would choose any button, such as one that removes a model

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()
            set_style_property(self, "dropping", True)  # noqa: FBT003

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        set_style_property(self, "dropping", False)  # noqa: FBT003

    def dropEvent(self, event: QDropEvent) -> None:
        set_style_property(self, "dropping", False)  # noqa: FBT003
        local = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if local:
            event.acceptProposedAction()
            self.dropped.emit(local[0])

    def _lay_out(self) -> None:
        self._list = stacked(None, spacing=MEDIUM)
        add(self.column, self.welcome, self._list)
        add(self.column, self.catalogue, self.exporter, self.placement, self._folder, self.servers, self.serve)
        self.column.addStretch(1)

    def _card(self, entry: Entry) -> ModelCard:
        card = ModelCard(entry, self)
        card.action_requested.connect(self.action_requested)
        return card
