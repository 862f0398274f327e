"""What keeps the engine to itself for a while, and the page that it is started from."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from headstart.engine.protocol import Failed, Load
from headstart.errors import HeadstartError
from headstart.settings import Settings
from headstart.ui.models.model_facts import no_model
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.translation import said
from headstart.ui.widgets.labels import button, muted
from headstart.ui.widgets.notice_bar import NoticeBar
from headstart.ui.widgets.page import Page
from headstart.ui.widgets.reading_order import ends
from headstart.ui.widgets.theme import SMALL


class RunRow(QWidget):
    """Start or Stop, and a sentence; the keyboard stays with them."""

    start_requested = Signal()
    stop_requested = Signal()

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self.start = button("", self, "primary")
        self.stop = button(self.tr("Cancel"), self)
        self._get = button(self.tr("Get a model"), self)
        self._status = muted("", self)
        ends(self.stop)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(SMALL)
        for part in (self.start, self.stop, self._get):
            self._row.addWidget(part)
        self._row.addWidget(self._status, 1)
        self.start.clicked.connect(self.start_requested)
        self.stop.clicked.connect(self.stop_requested)
        self._get.clicked.connect(self._show_models)

    @property
    def sentence(self) -> str:
        """What is said now."""
        return self._status.text()

    @property
    def can_start(self) -> bool:
        """Whether there is a button to start with."""
        return self.start.isVisible() and self.start.isEnabled()

    def insert(self, more: QPushButton) -> None:
        """One more, before the sentence."""
        self._row.insertWidget(self._row.count() - 1, more)

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Which button there is. `reason`: why none can start; empty where one can."""
        self.start.setVisible(not running)
        self.start.setEnabled(not reason)
        self.start.setToolTip(reason)
        self.stop.setVisible(running)
        self._get.setVisible(reason == no_model())

    @Slot()
    def _show_models(self) -> None:
        """By the command of the window that this stands in."""
        command = self.window().findChild(QAction, "models")
        if isinstance(command, QAction):
            command.trigger()

    def say(self, sentence: str) -> None:
        """What is going on, or why nothing can."""
        self._status.setText(sentence)


class JobPage(Page):
    """Emits what a person wants; shows what it is told."""

    start_requested = Signal(object)
    stop_requested = Signal()

    def __init__(self, widest: int, parent: QWidget | None = None) -> None:
        super().__init__(widest, parent)
        self.notice = NoticeBar(self)
        self.run = RunRow(self)
        self._reason = ""
        self.run.stop_requested.connect(self.stop_requested)

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Which buttons there are. `reason`: why nothing can be started; empty where something can."""
        self.run.show_state(running=running, reason=reason)
        if reason or self.run.sentence == self._reason:
            self.run.say(reason)
        self._reason = reason


class EngineJob(QObject):
    """One for its page. Chats wait while it runs."""

    def __init__(
        self, page: JobPage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` gives those of the open chat, which say what runs."""
        super().__init__(parent)
        self._page, self._loader, self._link, self._settings = page, loader, loader.link, settings
        self._ticket: int | None = None  # of what the engine does for it
        page.start_requested.connect(self._begin)
        page.stop_requested.connect(self._stop)
        page.entered.connect(self._enter)
        loader.changed.connect(self._refresh)
        loader.link.failed.connect(self._take_failure)
        loader.link.crashed.connect(self._take_crash)

    @property
    def is_running(self) -> bool:
        """Whether it has the engine."""
        return self._loader.occupation == self._occupation()

    def close(self) -> None:
        """The window closes."""
        self._page.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._ticket = None

    def _occupation(self) -> str:
        """What chats are told meanwhile."""
        raise NotImplementedError

    def _start(self, wish: Any) -> None:
        """Have the engine do it. Raises a HeadstartError."""
        raise NotImplementedError

    def _show_more(self) -> None:
        """Whatever else the page shows."""

    @Slot()
    def _stop(self) -> None:
        self._link.stop_job()

    @Slot()
    def _enter(self) -> None:
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        if not self._page.isHidden():
            self._page.show_state(running=self.is_running, reason="" if self.is_running else self._obstacle())
            self._show_more()

    def _obstacle(self) -> str:
        return self._loader.obstacle(self._settings())

    @Slot(object)
    def _begin(self, wish: object) -> None:
        if self._obstacle():
            self._refresh()
            return
        self._page.notice.hide()
        self._loader.occupy(self._occupation())
        try:
            self._start(wish)
        except HeadstartError as error:
            self._end(said(error), bad=True)

    def _ends(self, failed: Failed) -> bool:
        return failed.order == Load.__name__ or self._ticket in (failed.ticket, failed.generation)

    @Slot(str, object)
    def _take_failure(self, sentence: str, failed: Failed) -> None:
        if self._ticket is not None and self._ends(failed):
            self._end(sentence, bad=True)

    @Slot(str, object)
    def _take_crash(self, sentence: str, _generation: int | None) -> None:
        if self._ticket is not None:
            self._end(sentence, bad=True)

    def _end(self, sentence: str, *, bad: bool = False) -> None:
        self._ticket = None
        self._page.run.say("")
        if sentence:
            self._page.notice.say(sentence, bad=bad)
        self._loader.release()
