"""The page of installed models, and of adding one."""

from collections.abc import Iterable, Mapping

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QPalette,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QToolButton, QVBoxLayout, QWidget

from headstart.engine.engine import Remote
from headstart.library import Entry
from headstart.settings import Settings
from headstart.ui.models import model_facts
from headstart.ui.models.add_model import AddModel, ExporterOffer
from headstart.ui.models.add_remote_server import AddRemoteServer
from headstart.ui.models.export_run import FIRST
from headstart.ui.models.model_card import ModelCard, RemoteServerCard
from headstart.ui.settings.settings_form import Choices, SettingsForm
from headstart.ui.spelling import amount
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.labels import Heading, muted
from headstart.ui.widgets.layouts import scrolled
from headstart.ui.widgets.progress import WorkCard
from headstart.ui.widgets.stylesheet import dress, mark
from headstart.ui.widgets.theme import HUGE, LARGE, MEDIUM, SMALL, TEXT_WIDTH

_NAMES = ("device", "draft_device", "context")


class Placement(QFrame):
    """A card with the settings that decide it, and what each device here can and cannot do."""

    edited = Signal(str, object)  # name, plain value

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        title = QLabel(self.tr("Where models run"), self)
        dress(title, "section")
        self._form = SettingsForm([("", _NAMES)], self)
        form = self._form.layout()
        assert form
        form.setContentsMargins(0, 0, 0, 0)
        self._limits = muted("", self)
        self._memory = muted("", self)
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        for part in (title, self._form, self._limits, self._memory):
            column.addWidget(part)
        self._form.edited.connect(self.edited)

    def show_settings(self, settings: Settings, usual: Mapping[str, float]) -> None:
        """The values that hold, and those that automatic ones take."""
        self._form.show_settings(settings, usual)

    def show_choices(self, choices: Mapping[str, Choices]) -> None:
        """What can be chosen, by setting."""
        for name, offered in choices.items():
            self._form.set_choices(name, offered)
        self._limits.setText(_limits(name for name, _, _ in choices.get("device", []) if name))

    def show_notes(self, notes: Mapping[str, str]) -> None:
        """What is worth knowing with these models, by setting."""
        self._form.show_notes(notes)

    def show_memory(self, free: int) -> None:
        """Bytes that a model could take now."""
        self._memory.setText(
            self.tr("{} of memory is free for a model, that of the one in use included.").format(amount(free))
        )


def _limits(devices: Iterable[str]) -> str:
    return "\n".join(model_facts.device_limits(device) for device in devices)


_COMMAND = "headstart serve --model {}"


class ServerNote(QFrame):
    """A card; shown while there is a model to be served."""

    page_requested = Signal()  # of the local server

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._command = ""
        self._text = QLabel(self)
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        dress(self._text, "muted")
        title = QLabel(self.tr("Answer other programs"), self)
        dress(title, "section")
        copy = QPushButton(self.tr("Copy command"), self)
        dress(copy, "plain")
        copy.clicked.connect(self._copy)
        here = QPushButton(self.tr("Local server…"), self)
        dress(here, "plain")
        here.clicked.connect(self.page_requested)
        buttons = QHBoxLayout()
        buttons.setSpacing(SMALL)
        for button in (here, copy):
            buttons.addWidget(button)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        for part in (title, self._text):
            column.addWidget(part)
        column.addLayout(buttons)
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

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._command)


class Welcome(QFrame):
    """Asks for the export of the first model."""

    start_requested = Signal(object)  # tuple[str, ...]
    setup_requested = Signal(object)  # the same, where there is no exporter yet

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._title = Heading(self.tr("Welcome. One thing is missing: a model."), 1.4, self)
        self._text = QLabel(self)
        self._button = QPushButton(self.tr("Get SmolLM2 135M Instruct"), self)
        self._offer = ExporterOffer(self)
        self._lay_out()
        self._button.clicked.connect(lambda: self.start_requested.emit((FIRST,)))
        self._offer.setup_requested.connect(lambda: self.setup_requested.emit((FIRST,)))
        self.set_exporter(installed=True)

    def set_exporter(self, *, installed: bool) -> None:
        """Whether models can be made here."""
        self._button.setVisible(installed)
        self._offer.setVisible(not installed)
        self.setFocusProxy(self._button if installed else self._offer)
        self._offer.show_words((FIRST,))

    def set_busy(self, busy: bool) -> None:
        """While a model is being added."""
        self._button.setEnabled(not busy)
        self._offer.set_busy(busy=busy)

    def _lay_out(self) -> None:
        dress(self._button, "primary")
        dress(self._text, "muted")
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, LARGE, LARGE, LARGE)
        column.setSpacing(MEDIUM)
        for label in (self._title, self._text):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            column.addWidget(label)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._offer)
        # Sizes of the recipe's two sources, and of the folder that the export makes of either; time on two cores.
        self._text.setText(
            self.tr(
                "SmolLM2 135M Instruct is small and quick on any computer, and knows little. Getting it downloads "
                "100 to 270 MB once, then converts for about a minute, and takes 144 MB on the disk. Afterwards "
                "everything stays on this computer."
            )
        )


class ModelsPage(QFrame):
    """Signals name an entry or a server; `welcome`, `add`, `work`, `add_server` and `placement` have their own."""

    back_requested = Signal()
    chosen = Signal(str)
    verify_requested = Signal(str)
    folder_requested = Signal(str)
    remove_requested = Signal(str)
    server_chosen = Signal(str)
    check_requested = Signal(str)
    server_remove_requested = Signal(str)
    dropped = Signal(str)  # a path
    shown = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAccessibleName(self.tr("Models"))
        self.setAcceptDrops(True)
        self._cards: dict[str, ModelCard] = {}
        self._server_cards: dict[str, RemoteServerCard] = {}
        self._back = QToolButton(self)
        self._back.setIcon(icon("previous", QPalette.ColorRole.WindowText))
        self._back.setAccessibleName(self.tr("Back to the chat"))
        self._back.setToolTip(self.tr("Back to the chat (Esc)"))
        dress(self._back, "flat")
        self._folder = QLabel(self)
        self._elsewhere = Heading(self.tr("Servers"), 1.2, self)
        self.welcome = Welcome(self)
        self.work = WorkCard(self)
        self.add = AddModel(self)
        self.add_server = AddRemoteServer(self)
        self.serve = ServerNote(self)
        self.placement = Placement(self)
        self._lay_out()
        self._back.clicked.connect(self.back_requested)

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

    def show_servers(self, servers: Iterable[Remote], chosen: str) -> None:
        """Which servers are known, and which of them new chats use."""
        for card in self._server_cards.values():
            card.deleteLater()
        self._server_cards = {server.name: self._server_card(server) for server in servers}
        for name, card in self._server_cards.items():
            self._servers.addWidget(card)
            card.show_chosen(name == chosen)
        self._elsewhere.setVisible(bool(self._server_cards))

    def server_card(self, name: str) -> RemoteServerCard | None:
        """The card of a server, if it is still known."""
        return self._server_cards.get(name)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self.shown.emit()
        if not self.welcome.isHidden():
            self.welcome.setFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        side = max((self.width() - TEXT_WIDTH) // 2, LARGE)
        self._column.setContentsMargins(side, MEDIUM, side, HUGE)

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
        title = Heading(self.tr("Models"), 1.5, self)
        head = QHBoxLayout()
        head.setContentsMargins(SMALL, SMALL, SMALL, 0)
        head.addWidget(self._back)
        head.addWidget(title)
        head.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(head)
        column.addWidget(self._scrolled(), 1)

    def _scrolled(self) -> QScrollArea:
        inner = QWidget(self)
        self._column = QVBoxLayout(inner)
        self._column.setSpacing(MEDIUM)
        self._list = QVBoxLayout()
        self._list.setSpacing(MEDIUM)
        self._column.addWidget(self.welcome)
        self._column.addLayout(self._list)
        self._servers = QVBoxLayout()
        self._servers.setSpacing(MEDIUM)
        for part in (self.work, self.add, self.placement, self._folder, self._elsewhere):
            self._column.addWidget(part)
        self._column.addLayout(self._servers)
        self._column.addWidget(self.add_server)
        self._column.addWidget(self.serve)
        self._column.addStretch(1)
        self.work.begun.connect(lambda: QTimer.singleShot(0, self, self._reveal_work))
        dress(self._folder, "muted")
        self._folder.setWordWrap(True)
        self._folder.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._scroll = scrolled(inner, self, sideways=True)
        return self._scroll

    @Slot()
    def _reveal_work(self) -> None:
        self._scroll.ensureWidgetVisible(self.work)

    def _card(self, entry: Entry) -> ModelCard:
        card = ModelCard(entry, self)
        card.chosen.connect(self.chosen)
        card.verify_requested.connect(self.verify_requested)
        card.folder_requested.connect(self.folder_requested)
        card.remove_requested.connect(self.remove_requested)
        return card

    def _server_card(self, server: Remote) -> RemoteServerCard:
        card = RemoteServerCard(server, self)
        card.chosen.connect(self.server_chosen)
        card.check_requested.connect(self.check_requested)
        card.remove_requested.connect(self.server_remove_requested)
        return card
