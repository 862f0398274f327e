"""The page of installed models, and of adding one."""

from collections.abc import Iterable, Mapping
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QShowEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QLabel, QRadioButton, QStyle, QVBoxLayout, QWidget

from headstart.library import Entry
from headstart.settings import Settings
from headstart.ui.models import model_choices
from headstart.ui.models.add_model import FIRST, OFFERS, AddModel, ExporterSetupForm, Recipe, facts, offers
from headstart.ui.models.model_card import ModelCard
from headstart.ui.models.remote_servers import RemoteServersList
from headstart.ui.settings.settings_form import Choices, SettingsForm
from headstart.ui.spelling import amount
from headstart.ui.widgets.labels import Heading, button, muted
from headstart.ui.widgets.layouts import Card, Page, row, set_margins
from headstart.ui.widgets.progress import WorkCard
from headstart.ui.widgets.stylesheet import dress, mark
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, TEXT_WIDTH, TINY

_NAMES = ("device", "draft_device", "context")


class Placement(Card):
    """The settings that decide it, and what each device here can and cannot do."""

    edited = Signal(str, object)  # name, plain value

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, self.tr("Where models run"))
        self._form = SettingsForm([("", _NAMES)], self)
        form = self._form.layout()
        assert form
        form.setContentsMargins(0, 0, 0, 0)
        self._limits = muted("", self)
        self._memory = muted("", self)
        for part in (self._form, self._limits, self._memory):
            self.column.addWidget(part)
        self._form.edited.connect(self.edited)

    def show_settings(self, settings: Settings, usual: Mapping[str, float]) -> None:
        """The values that hold, and those that automatic ones take."""
        self._form.show_settings(settings, usual)

    def show_choices(self, choices: Mapping[str, Choices]) -> None:
        """What can be chosen, by setting."""
        self._form.show_choices(choices)
        devices = [name for name, _, _ in choices.get("device", []) if name]
        self._limits.setText("\n".join(map(model_choices.device_limits, devices)))

    def show_notes(self, notes: Mapping[str, str]) -> None:
        """What is worth knowing with these models, by setting."""
        self._form.show_notes(notes)

    def show_memory(self, free: int) -> None:
        """Bytes that a model could take now."""
        self._memory.setText(
            self.tr("{} of memory is free for a model, that of the one in use included.").format(amount(free))
        )


_COMMAND = "headstart serve --model {}"


class ServerNote(Card):
    """Shown while there is a model to be served."""

    page_requested = Signal()  # of the local server

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, self.tr("Answer other programs"))
        self._command = ""
        self._text = muted("", self, selectable=True)
        copy, here = button(self.tr("Copy command"), self), button(self.tr("Local server…"), self)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._command))
        here.clicked.connect(self.page_requested)
        self.column.addWidget(self._text)
        self.column.addLayout(row(here, copy))
        self.hide()

    def show_model(self, name: str) -> None:
        """The model to be served; empty: there is none."""
        self._command = _COMMAND.format(name)
        words = self.tr(
            "Editors and scripts on this computer can ask a model as they ask OpenAI's API. The page of the local "
            "server switches that on; in a terminal, this does:\n{}\nThe model is loaded a second time there and "
            "takes its memory again."
        )
        self._text.setText(words.format(self._command))
        self.setVisible(bool(name))


class Welcome(Card):
    """Offers two or three models for a start, and asks for the one that is chosen."""

    start_requested = Signal(object)  # tuple[str, ...]
    setup_requested = Signal(object)  # the same, where there is no exporter yet

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, spacing=MEDIUM)
        title = Heading(self.tr("Welcome. One thing is missing: a model."), 1.4, self)
        title.setWordWrap(True)
        title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        text = self.tr(
            "Choose one to begin with; you can add others later. It is downloaded and converted once. Afterwards "
            "everything stays on this computer."
        )
        self._good_at = {
            "smollm2-135m-instruct": self.tr("Small and quick on any computer; it knows little. Ready in minutes."),
            "qwen2.5-coder": self.tr("Writes code. A small draft model guesses ahead: here you see the head start."),
            "qwen3-4b+0.6b": self.tr("Good at most things and many languages. A small draft model guesses ahead."),
            "qwen3-8b+0.6b": self.tr("Knows the most, and takes its time. A small draft model guesses ahead."),
        }
        self._chosen = FIRST
        self._choices: dict[str, tuple[QRadioButton, QLabel]] = {}
        self._offers = QVBoxLayout()
        self._offers.setSpacing(TINY)
        self._button = button("", self, "primary")
        self._setup = ExporterSetupForm(self)
        self.column.setContentsMargins(LARGE, LARGE, LARGE, LARGE)
        self.column.addWidget(title)
        self.column.addWidget(muted(text, self, selectable=True))
        self.column.addLayout(self._offers)
        self.column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(self._setup)
        self._button.clicked.connect(lambda: self.start_requested.emit((self._chosen,)))
        self._setup.set_up.clicked.connect(lambda: self.setup_requested.emit((self._chosen,)))
        for recipe in OFFERS:
            self._add(recipe)
        self.show_memory(0)
        self.set_exporter(installed=True)
        self._choices[FIRST][0].setChecked(True)

    def show_memory(self, free: int) -> None:
        """Bytes that a model could take now: what fits is offered."""
        offered = offers(free)
        for recipe in OFFERS:
            choice, about = self._choices[recipe.name]
            words = facts(recipe, free)
            about.setText(f"{self._good_at[recipe.name]}\n{words[:1].upper()}{words[1:]}")
            choice.setAccessibleDescription(about.text())
            for part in (choice, about):
                part.setVisible(recipe in offered)
        if self._chosen not in [recipe.name for recipe in offered]:
            self._choices[FIRST][0].setChecked(True)

    def set_exporter(self, *, installed: bool) -> None:
        """Whether models can be made here."""
        self._button.setVisible(installed)
        self._setup.setVisible(not installed)
        self.setFocusProxy(self._button if installed else self._setup)
        self._setup.show_words((self._chosen,))

    def set_busy(self, busy: bool) -> None:
        """While a model is being added."""
        self._button.setEnabled(not busy)
        self._setup.set_up.setDisabled(busy)
        for choice, _ in self._choices.values():
            choice.setDisabled(busy)

    def _add(self, recipe: Recipe) -> None:
        choice, about = QRadioButton(recipe.title, self), muted("", self)
        dress(choice, "section")
        measure, style = QStyle.PixelMetric, choice.style()
        beside = (measure.PM_ExclusiveIndicatorWidth, measure.PM_RadioButtonLabelSpacing)
        below = QHBoxLayout()
        set_margins(below, start=sum(style.pixelMetric(each) for each in beside), top=0, end=0, bottom=SMALL)
        self._choices[recipe.name] = (choice, about)
        choice.toggled.connect(partial(self._choose, recipe))
        self._offers.addWidget(choice)
        below.addWidget(about)
        self._offers.addLayout(below)

    def _choose(self, recipe: Recipe, chosen: bool) -> None:
        if chosen:
            self._chosen = recipe.name
            self._button.setText(self.tr("Get {}").format(recipe.title))
            self._setup.show_words((recipe.name,))


class ModelsPage(Page):
    """The installed models, adding one, where models run, and the servers."""

    action_requested = Signal(str, str)  # as cards have it, with an entry
    dropped = Signal(str)  # a path

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(TEXT_WIDTH, parent)
        self.set_title(self.tr("Models"))
        self.setAcceptDrops(True)
        self._cards: dict[str, ModelCard] = {}
        self._folder = muted("", self, selectable=True)
        self.welcome = Welcome(self)
        self.work = WorkCard(self)
        self.add = AddModel(self)
        self.servers = RemoteServersList(self)
        self.serve = ServerNote(self)
        self.placement = Placement(self)
        self._lay_out()

    def show_entries(self, entries: Iterable[Entry], chosen: str, folder: str) -> None:
        """What is installed, and which of it new chats use."""
        for card in self._cards.values():
            card.deleteLater()
        found = tuple(entries)
        self._cards = {entry.name: self._card(entry) for entry in found}
        for place, (name, card) in enumerate(self._cards.items()):
            self._list.insertWidget(place, card)
            if name == chosen:
                card.show_chosen(True)  # noqa: FBT003
        self._folder.setText(self.tr("Models are in {}").format(folder))
        self.welcome.setVisible(not found)
        self.add.set_brief(brief=not found)
        self.placement.setVisible(bool(found))

    def card(self, name: str) -> ModelCard | None:
        """The card of an entry, if it is still there."""
        return self._cards.get(name)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        if not self.welcome.isHidden():
            self.welcome.setFocus()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()
            mark(self, "dropping", True)  # noqa: FBT003

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: N802
        super().dragLeaveEvent(event)
        mark(self, "dropping", False)  # noqa: FBT003

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        mark(self, "dropping", False)  # noqa: FBT003
        local = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if local:
            event.acceptProposedAction()
            self.dropped.emit(local[0])

    def _lay_out(self) -> None:
        self._list = QVBoxLayout()
        self._list.setSpacing(MEDIUM)
        self.column.addWidget(self.welcome)
        self.column.addLayout(self._list)
        for part in (self.work, self.add, self.placement, self._folder, self.servers, self.serve):
            self.column.addWidget(part)
        self.column.addStretch(1)
        self.work.begun.connect(lambda: QTimer.singleShot(0, self, self._reveal_work))

    @Slot()
    def _reveal_work(self) -> None:
        self.scroll_area.ensureWidgetVisible(self.work)

    def _card(self, entry: Entry) -> ModelCard:
        card = ModelCard(entry, self)
        card.action_requested.connect(self.action_requested)
        return card
