"""The page of installed models, and of adding one. Knows no library and no process."""

from collections.abc import Iterable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QToolButton, QVBoxLayout, QWidget

from headstart.library import Entry
from headstart.ui import model_facts
from headstart.ui.add_model import AddModel
from headstart.ui.icons import icon
from headstart.ui.model_card import ModelCard
from headstart.ui.stylesheet import dress
from headstart.ui.theme import HUGE, ICON, LARGE, MEDIUM, SMALL, TEXT_WIDTH, Theme
from headstart.ui.welcome import Welcome


class ModelsPage(QFrame):
    """Signals name an entry; `add` and `welcome` have their own."""

    back_requested = Signal()
    chosen = Signal(str)
    verify_requested = Signal(str)
    folder_requested = Signal(str)
    remove_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAccessibleName(self.tr("Models"))
        self._cards: dict[str, ModelCard] = {}
        self._back = QToolButton(self)
        self._back.setIconSize(QSize(ICON, ICON))
        self._back.setAccessibleName(self.tr("Back to the chat"))
        self._back.setToolTip(self.tr("Back to the chat (Esc)"))
        dress(self._back, "flat")
        self._folder = QLabel(self)
        self._memory = QLabel(self)
        self.welcome = Welcome(self)
        self.add = AddModel(self)
        self._lay_out()
        self._back.clicked.connect(self.back_requested)
        self.set_theme(theme)

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
        self.add.setVisible(bool(found))

    def show_memory(self, free: int) -> None:
        """Bytes that a program could take now."""
        self._memory.setText(self.tr("{} of memory are free now").format(model_facts.amount(free)))

    def card(self, name: str) -> ModelCard | None:
        """The card of an entry, if it is still there."""
        return self._cards.get(name)

    def set_theme(self, theme: Theme) -> None:
        """Icons in another colour."""
        self._back.setIcon(icon("previous", theme.text))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        side = max((self.width() - TEXT_WIDTH) // 2, LARGE)
        self._column.setContentsMargins(side, MEDIUM, side, HUGE)

    def _lay_out(self) -> None:
        title = QLabel(self.tr("Models"), self)
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.5)
        font.setBold(True)
        title.setFont(font)
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
        self._column.addWidget(self.add)
        self._column.addWidget(self._memory)
        self._column.addWidget(self._folder)
        self._column.addStretch(1)
        dress(self._folder, "muted")
        dress(self._memory, "muted")
        self._folder.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        scroll = QScrollArea(self)
        scroll.setWidgetResizable(True)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(inner)
        scroll.viewport().setAutoFillBackground(False)
        inner.setAutoFillBackground(False)
        return scroll

    def _card(self, entry: Entry) -> ModelCard:
        card = ModelCard(entry, self)
        card.chosen.connect(self.chosen)
        card.verify_requested.connect(self.verify_requested)
        card.folder_requested.connect(self.folder_requested)
        card.remove_requested.connect(self.remove_requested)
        return card
