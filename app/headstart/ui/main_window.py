"""The window: sidebar, pages and side panel side by side, menus above."""

from functools import partial

from PySide6.QtCore import QByteArray, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QFont, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QSplitter,
    QStackedWidget,
    QTextEdit,
    QWidget,
)

from headstart.ui import actions
from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.local_server.server_page import ServerPage
from headstart.ui.models.models_page import ModelsPage
from headstart.ui.performance.benchmark_page import BenchmarkPage
from headstart.ui.performance.race_page import RacePage
from headstart.ui.performance.tuning_page import TuningPage
from headstart.ui.settings.side_panel import SidePanel
from headstart.ui.sidebar.sidebar import Sidebar
from headstart.ui.widgets import focus, stylesheet
from headstart.ui.widgets.focus import FocusKeeper
from headstart.ui.widgets.layouts import Page, stacked
from headstart.ui.widgets.progress import ActivityLine, BusyBar
from headstart.ui.widgets.theme import SMALL, Theme, scaled

_SIDES = (248, 720, 320)  # sidebar, pages, panel
_SIDEBAR, _PANEL = (180, 260), (260, 460)  # least widths, at the usual size of text and at any
_NARROW = 640  # pixels, below which the sidebar leaves its room to the chat
_PAGE_ACTIONS = ("models", "race", "bench", "tune", "server")  # in the order of `beside_the_chat`
_SIDE_ACTIONS = ("sidebar", "panel", "live")  # remembered


class MainWindow(QMainWindow):
    """Its parts are public; `Program` connects them."""

    closing = Signal()
    hidden_changed = Signal(bool)
    hides_on_close = False  # the program goes on in the tray

    def __init__(self, theme: Theme, font: QFont) -> None:
        super().__init__()
        self.setWindowTitle("Headstart")
        self.resize(1180, 780)
        self.setMinimumSize(480, 400)
        self.actions_by_name = actions.make(self)
        actions.fill(self.menuBar(), self.actions_by_name)
        self.sidebar = Sidebar(self)
        self.chat = ChatPage(theme, font, self)
        self.models = ModelsPage(self)
        self.race = RacePage(self)
        self.bench = BenchmarkPage(self)
        self.tune = TuningPage(self)
        self.server = ServerPage(self)
        self.panel = SidePanel(self)
        self.pages = QStackedWidget(self)
        self._split = QSplitter(Qt.Orientation.Horizontal, self)
        jobs = (self.race, self.bench, self.tune)
        self.activity = {page: ActivityLine(page.accessibleName(), self) for page in jobs}
        self._keeper = FocusKeeper(self)
        self._is_narrow = self._is_folded = False  # the sidebar is folded for want of room
        self._lay_out()
        self._connect()
        self.apply_theme(theme, font)

    def show_page(self, page: QWidget) -> None:
        """Show the chat or another page; a page gets its style sheet when first shown, which makes the start faster."""
        if page is not self.chat and not page.styleSheet():
            page.setStyleSheet(self._sheet)
        self.pages.setCurrentWidget(page)
        for other, line in self.activity.items():
            line.set_away(away=other is not page)

    def beside_the_chat(self) -> tuple[ModelsPage | Page, ...]:
        """All pages except the chat."""
        return self.models, self.race, self.bench, self.tune, self.server

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        """Another theme or font."""
        self._sheet = stylesheet.sheet(theme, font)
        pages = self.beside_the_chat()
        for part in (
            self.sidebar,
            *(page for page in pages if page.styleSheet()),
            self.panel,
            *self.chat.chrome(),
            self.models.work,
            *self.activity.values(),
        ):
            part.setStyleSheet(self._sheet)
        self.chat.apply_theme(theme, font)
        for part, (least, most) in ((self.sidebar, _SIDEBAR), (self.panel, _PANEL)):
            part.setMinimumWidth(min(scaled(least, font), most))

    def set_still(self, still: bool) -> None:
        """Allow or stop everything that moves by itself."""
        for bar in self.findChildren(BusyBar):
            bar.set_still(still=still)

    def state(self) -> str:
        """Size, position, and the widths and visibility of both sides, for the next start."""
        parts = (self.saveGeometry(), self._split.saveState())
        checked = [name for name in _SIDE_ACTIONS if self.actions_by_name[name].isChecked()]
        shown = " ".join((*checked, *(["sidebar"] if self._is_folded else [])))
        return "|".join([*(bytes(part.toBase64().data()).decode() for part in parts), shown])

    def restore(self, state: str) -> None:
        """Apply what `state` returned; anything else changes nothing."""
        window, sides, *shown = state.split("|") if "|" in state else ("", "")
        self.restoreGeometry(QByteArray.fromBase64(window.encode()))
        self._split.restoreState(QByteArray.fromBase64(sides.encode()))
        for name in _SIDE_ACTIONS if shown else ():
            self.actions_by_name[name].setChecked(name in shown[0].split())

    def focusNextPrevChild(self, forward: bool) -> bool:  # noqa: N802
        """Tab: sidebar, page and panel in reading order. Qt also calls this when it hides the widget with the focus."""
        return self._keeper.has_lost() or focus.step(self._columns(), forward=forward)

    @Slot()
    def quit(self) -> None:
        """Close, even where that would only hide."""
        self.hides_on_close = False
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        if self.hides_on_close:
            event.ignore()
            self.hide()
            return
        self.closing.emit()
        super().closeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        sidebar, was_narrow = self.actions_by_name["sidebar"], self._is_narrow
        self._is_narrow = self.width() < _NARROW
        if self._is_narrow and not was_narrow:
            self._is_folded = sidebar.isChecked()
            sidebar.setChecked(False)
        elif self._is_folded and not self._is_narrow:
            self._is_folded = False
            sidebar.setChecked(True)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self.hidden_changed.emit(False)  # noqa: FBT003 - Qt's own signature

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        self.hidden_changed.emit(True)  # noqa: FBT003 - Qt's own signature

    def _connect(self) -> None:
        """Connect what menus, keys and buttons do to the window itself."""
        chat, sidebar, do = self.chat, self.sidebar, self.actions_by_name
        for name, page in zip(_PAGE_ACTIONS, self.beside_the_chat(), strict=True):
            do[name].triggered.connect(partial(self._show_page, page))
            page.back_requested.connect(partial(self.show_page, chat))
        for page, line in self.activity.items():
            line.page_requested.connect(partial(self._show_page, page))
        self.models.work.dismissed.connect(self._focus_page)
        for job in (self.race, self.bench, self.tune):
            job.worked.connect(self.activity[job].follow)
        sidebar.models.clicked.connect(do["models"].trigger)
        self.models.serve.page_requested.connect(do["server"].trigger)
        for name in ("cut", "copy", "paste", "select_all"):
            do[name].triggered.connect(partial(self._in_field, name))
        for name, act in (("quit", self.quit), ("find", chat.find_bar.open_find), ("search", self._search)):
            do[name].triggered.connect(act)
        do["write"].triggered.connect(self._write)
        do["attach"].triggered.connect(self._attach)
        do["sidebar"].setChecked(True)
        shown = {"sidebar": sidebar, "panel": self.panel, "live": chat.live, "origins": None}
        buttons = (chat.sidebar_button, chat.panel_button, chat.live_button, chat.origins_button)
        for (name, part), button in zip(shown.items(), buttons, strict=True):
            button.clicked.connect(do[name].trigger)
            if part:
                do[name].toggled.connect(part.setVisible)
                do[name].toggled.connect(button.setChecked)

    def _columns(self) -> tuple[QWidget, ...]:
        """The parts of the window in reading order."""
        return self.sidebar, self.pages, self.panel, self.models.work, *self.activity.values()

    def _show_page(self, page: QWidget, _checked: bool = False) -> None:
        self.show_page(page)

    @Slot()
    def _focus_page(self) -> None:
        page = self.pages.currentWidget()
        assert page, "one is always shown"
        page.setFocus()

    def _in_field(self, name: str, _checked: bool = False) -> None:
        field = self.focusWidget()
        if isinstance(field, QLineEdit | QPlainTextEdit | QTextEdit):
            does = {"cut": field.cut, "copy": field.copy, "paste": field.paste, "select_all": field.selectAll}
            does[name]()

    @Slot()
    def _search(self) -> None:
        self.actions_by_name["sidebar"].setChecked(True)
        self.sidebar.search.setFocus()
        self.sidebar.search.selectAll()

    @Slot()
    def _write(self) -> None:
        self.show_page(self.chat)
        self.chat.composer.setFocus()

    @Slot()
    def _attach(self) -> None:
        self._write()
        self.chat.composer.ask_for_files()

    def _lay_out(self) -> None:
        for page in (self.chat, *self.beside_the_chat()):
            self.pages.addWidget(page)
        for part in (self.sidebar, self.pages, self.panel):
            self._split.addWidget(part)
        self._split.setHandleWidth(1)
        self._split.setChildrenCollapsible(False)
        self._split.setStretchFactor(1, 1)
        self._split.setSizes(list(_SIDES))
        self.panel.setMaximumWidth(_PANEL[1])
        inside = QWidget(self)
        work = stacked(None, self.models.work, margin=SMALL)
        stacked(inside, self._split, work, *self.activity.values(), spacing=0, growing=self._split)
        self.setCentralWidget(inside)
        self.panel.hide()
