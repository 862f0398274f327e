"""The menu below the composer in which a chat gets another model, each with the memory that it takes."""

from functools import partial

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu, QToolButton

from headstart import remotes
from headstart.library import Model, Pair
from headstart.settings import Settings
from headstart.ui.models import model_facts, outside
from headstart.ui.models.model_choices import ModelChoices
from headstart.ui.spelling import amount

_NAME_WIDTH = 280


class ModelSwitch(QObject):
    """Filled anew whenever it opens: memory and models come and go."""

    chosen = Signal(str)
    page_requested = Signal()

    def __init__(self, button: QToolButton, choices: ModelChoices, parent: QObject | None = None) -> None:
        """Gives the button its menu."""
        super().__init__(parent)
        self.settings = Settings()  # of the open chat
        self._choices = choices
        self.menu = QMenu(button)
        self.menu.setAccessibleName(self.tr("Models"))
        self.menu.setLayoutDirection(QGuiApplication.layoutDirection())  # the button has its own
        self.menu.aboutToShow.connect(self._fill)
        button.setMenu(self.menu)

    @Slot()
    def _fill(self) -> None:
        self.menu.clear()
        usable = self._choices.usable
        current = self.settings.model or (usable[0].name if usable else "")
        for entry in usable:
            action = QAction(self._words(entry), self.menu)
            action.setCheckable(True)
            action.setChecked(entry.name == current)
            action.triggered.connect(partial(self.chosen.emit, entry.name))
            self.menu.addAction(action)
        self._fill_servers()
        self.menu.addSeparator()
        self.menu.addAction(self.tr("All Models…"), self.page_requested.emit)

    def _fill_servers(self) -> None:
        self.menu.addSeparator()
        for server in self._choices.servers:
            name = remotes.model_name(server)
            action = QAction(f"{self._short(server.label)}\t{outside.place(server)}", self.menu)
            action.setCheckable(True)
            action.setChecked(name == self.settings.model)
            action.triggered.connect(partial(self.chosen.emit, name))
            self.menu.addAction(action)

    def _words(self, entry: Model | Pair) -> str:
        """The name, and at the right edge what it takes."""
        models = model_facts.models(entry)
        lack = self._choices.lack(models, self.settings)
        needed = amount(model_facts.memory(models, self.settings))
        detail = self.tr("{}, {} too much").format(needed, amount(lack)) if lack else needed
        return f"{self._short(entry.name)}\t{detail}"

    def _short(self, name: str) -> str:
        shown = self.menu.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, _NAME_WIDTH)
        return shown.replace("&", "&&")
