"""The main window: sidebar, pages and side panel side by side, menus above."""

import re
from functools import partial

from PySide6.QtCore import QByteArray, QPoint, QRect, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QFont, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QSplitter,
    QStackedWidget,
    QStyle,
    QTextEdit,
    QWidget,
)

from headstart.ui import actions
from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.models.models_page import ModelsPage
from headstart.ui.performance.engine_job import JobPage
from headstart.ui.settings.side_panel import SidePanel
from headstart.ui.sidebar.sidebar import Sidebar
from headstart.ui.widgets import focus, stylesheet
from headstart.ui.widgets.focus import FocusKeeper
from headstart.ui.widgets.layouts import Page, Spaced, stacked
from headstart.ui.widgets.progress import ActivityLine, BusyBar
from headstart.ui.widgets.theme import SMALL, USUAL_SIZE, Theme, scaled

_SIDEBAR_WIDTH, _PANEL_WIDTH = 248, 320  # pixels at the usual size of text
_MIN_SIDEBAR, _MIN_PANEL = (180, 260), (260, 460)  # likewise, and the limit at any size
_MAX_PANEL = 460  # pixels at the usual size of text
_MIN_PAGES = 360  # pixels at the usual size of text that both sides leave to the pages where they can
_NARROW = 640  # pixels; a narrower window hides the sidebar for the chat and the other pages
_SIDE_ACTIONS = ("sidebar", "panel", "live")  # remembered for the next start


class MainWindow(QMainWindow):
    """The main window. Its parts are public; `Program` connects them."""

    closing = Signal()
    hidden_changed = Signal(bool)
    hides_on_close = False  # because the program stays in the tray

    def __init__(self, theme: Theme, font: QFont) -> None:
        super().__init__()
        self.setWindowTitle("Headstart")
        self.resize(1180, 780)
        self.setMinimumSize(480, 400)
        self.actions_by_name = actions.make(self)
        actions.fill(self.menuBar(), self.actions_by_name)
        # Made where they stay: another parent would have all of it styled again.
        self._inside = QWidget(self)
        self._split = QSplitter(Qt.Orientation.Horizontal, self._inside)
        self.sidebar = Sidebar(self._split)
        self.pages = QStackedWidget(self._split)
        self.chat = ChatPage(theme, font, self.pages)
        self.models = ModelsPage(self.pages)
        self.panel = SidePanel(self._split)
        self._other_pages: list[Page] = []  # than the chat
        self.activity: dict[QWidget, ActivityLine] = {}  # of the pages of jobs
        self._keeper = FocusKeeper(self)
        self._is_still = False
        self._is_narrow = self._is_folded = False  # folded: hidden because the window is narrow
        self._widths: dict[QWidget, float] = {self.sidebar: _SIDEBAR_WIDTH, self.panel: _PANEL_WIDTH}  # as above
        self._text_font = font
        self._style(theme, font)  # before the layout, or all parts would be styled twice
        self._lay_out()
        self._connect()
        self._fit_sides(font)

    def show_page(self, page: QWidget) -> None:
        """Show the chat or another page. To start faster, a page gets its style sheet when it is first shown."""
        if page is not self.chat and not page.styleSheet():
            page.setStyleSheet(self._sheet)
        if page is not self.chat and self._is_narrow and self.actions_by_name["sidebar"].isChecked():
            self._fold_sidebar()
        self.pages.setCurrentWidget(page)
        for other, line in self.activity.items():
            line.set_away(away=other is not page)

    def add_page(self, page: Page) -> None:
        """Add a page. To start faster, the window has only the chat and the models at first."""
        self._other_pages.append(page)
        self.pages.addWidget(page)
        page.back_requested.connect(partial(self.show_page, self.chat))
        if isinstance(page, JobPage):
            self.activity[page] = line = ActivityLine(page.accessibleName(), self)
            line.setStyleSheet(self._sheet)
            line.page_requested.connect(partial(self.show_page, page))
            page.status_changed.connect(line.follow)
            self._column.addWidget(line)
        for bar in page.findChildren(BusyBar):
            bar.set_still(still=self._is_still)

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        self._style(theme, font)
        self.chat.apply_theme(theme, font)
        self._fit_sides(font)

    def _style(self, theme: Theme, font: QFont) -> None:
        self._sheet = stylesheet.sheet(theme, font)
        for part in (
            self.sidebar,
            *(page for page in self._other_pages if page.styleSheet()),
            self.panel,
            *self.chat.chrome(),
            self.models.work,
            *self.activity.values(),
        ):
            part.setStyleSheet(self._sheet)

    def _fit_sides(self, font: QFont) -> None:
        """Set the bounds and the widths of sidebar and panel for this size of text."""
        self._text_font = font
        for part, (minimum, limit) in ((self.sidebar, _MIN_SIDEBAR), (self.panel, _MIN_PANEL)):
            part.setMinimumWidth(min(max(scaled(minimum, font), minimum), limit))
        self.panel.setMaximumWidth(scaled(_MAX_PANEL, font))
        self._size_sides()

    def set_still(self, still: bool) -> None:
        """Stop or allow the movement of bars that show work."""
        self._is_still = still
        for bar in self.findChildren(BusyBar):
            bar.set_still(still=still)

    def state(self) -> str:
        """Return size, position, and the widths and visibility of both sides, as text for `restore`."""
        sides = " ".join(f"{width:.1f}" for width in self._widths.values())
        checked = [name for name in _SIDE_ACTIONS if self.actions_by_name[name].isChecked()]
        shown = " ".join((*checked, *(["sidebar"] if self._is_folded else [])))
        return "|".join((bytes(self.saveGeometry().toBase64().data()).decode(), sides, shown))

    def restore(self, state: str) -> None:
        """Apply a text of `state`; any other text changes nothing."""
        window, sides, *shown = state.split("|") if "|" in state else ("", "")
        self.restoreGeometry(QByteArray.fromBase64(window.encode()))
        if re.fullmatch(r"\d+\.\d \d+\.\d", sides):
            self._widths = dict(zip(self._widths, map(float, sides.split()), strict=True))
            self._size_sides()
        for name in _SIDE_ACTIONS if shown else ():
            self.actions_by_name[name].setChecked(name in shown[0].split())

    def fit_screen(self) -> None:
        """Make the window no larger than the screen, with room for its title bar, and move it there if it is beyond."""
        if self.isMaximized() or self.isFullScreen():
            return
        title = self.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
        room, place = self.screen().availableGeometry().adjusted(0, title, 0, 0), self.geometry()
        place.setSize(place.size().boundedTo(room.size()))
        self.resize(place.size())
        if not room.contains(place):
            left = max(room.left(), min(place.left(), room.right() + 1 - place.width()))
            top = max(room.top(), min(place.top(), room.bottom() + 1 - place.height()))
            self.setGeometry(QRect(QPoint(left, top), place.size()))

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus through sidebar, page and panel. Qt also calls this when it hides the focused widget."""
        columns = (self.sidebar, self.pages, self.panel, self.models.work, *self.activity.values())
        return self._keeper.has_lost() or focus.step(columns, forward=forward)

    @Slot()
    def quit(self) -> None:
        """Close the window even if closing only hides it."""
        self.hides_on_close = False
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.hides_on_close:
            event.ignore()
            self.hide()
            return
        self.closing.emit()
        super().closeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        was_narrow, self._is_narrow = self._is_narrow, self.width() < _NARROW
        if self._is_narrow and not was_narrow:
            self._fold_sidebar()
        elif self._is_folded and not self._is_narrow:
            self._is_folded = False
            self.actions_by_name["sidebar"].setChecked(True)

    def _fold_sidebar(self) -> None:
        """Hide the sidebar until the window is wide enough for it."""
        sidebar = self.actions_by_name["sidebar"]
        self._is_folded = sidebar.isChecked()
        sidebar.setChecked(False)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.hidden_changed.emit(False)  # noqa: FBT003 - Qt's own signature

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.hidden_changed.emit(True)  # noqa: FBT003 - Qt's own signature

    def _size_sides(self) -> None:
        """Set the widths of sidebar and panel in the current size of text; the pages get the rest."""
        total = self._split.width() if self.isVisible() else self.width()
        sides = {part: scaled(width, self._text_font) for part, width in self._widths.items()}
        wanted = sum(width for part, width in sides.items() if not part.isHidden())
        share = min(1.0, max(total - scaled(_MIN_PAGES, self._text_font), 0) / wanted) if wanted else 1.0
        sides = {part: max(round(width * share), part.minimumWidth()) for part, width in sides.items()}
        rest = total - sum(width for part, width in sides.items() if not part.isHidden())
        self._split.setSizes([sides[self.sidebar], max(rest, 1), sides[self.panel]])

    @Slot()
    def _remember_sides(self) -> None:
        """Store the widths that the user gave to sidebar and panel, in the default size of text."""
        sidebar, _, panel = self._split.sizes()
        for part, width in ((self.sidebar, sidebar), (self.panel, panel)):
            if width:  # 0 while it is hidden
                self._widths[part] = width * USUAL_SIZE / self._text_font.pointSizeF()

    def _connect(self) -> None:
        self._split.splitterMoved.connect(self._remember_sides)
        chat, sidebar, commands = self.chat, self.sidebar, self.actions_by_name
        commands["models"].triggered.connect(lambda: self.show_page(self.models))
        self.models.work.dismissed.connect(self._on_work_dismissed)
        sidebar.models.clicked.connect(commands["models"].trigger)
        self.models.serve.page_requested.connect(commands["server"].trigger)
        for name in ("cut", "copy", "paste", "select_all"):
            commands[name].triggered.connect(partial(self._in_field, name))
        for name, slot in (("quit", self.quit), ("find", chat.find_bar.open_find), ("search", self._on_search)):
            commands[name].triggered.connect(slot)
        commands["write"].triggered.connect(self._on_write)
        commands["attach"].triggered.connect(self._on_attach)
        commands["sidebar"].setChecked(True)
        shown = {"sidebar": sidebar, "panel": self.panel, "live": chat.live, "origins": None}
        buttons = (chat.sidebar_button, chat.panel_button, chat.live_button, chat.origins_button)
        for (name, part), button in zip(shown.items(), buttons, strict=True):
            button.clicked.connect(commands[name].trigger)
            if part:
                commands[name].toggled.connect(part.setVisible)
                commands[name].toggled.connect(button.setChecked)

    @Slot()
    def _on_work_dismissed(self) -> None:
        page = self.pages.currentWidget()
        assert page, "one is always shown"
        page.setFocus()

    def _in_field(self, name: str, _checked: bool = False) -> None:
        field = self.focusWidget()
        if isinstance(field, QLineEdit | QPlainTextEdit | QTextEdit):
            slots = {"cut": field.cut, "copy": field.copy, "paste": field.paste, "select_all": field.selectAll}
            slots[name]()

    @Slot()
    def _on_search(self) -> None:
        self.actions_by_name["sidebar"].setChecked(True)
        self.sidebar.search.setFocus()
        self.sidebar.search.selectAll()

    @Slot()
    def _on_write(self) -> None:
        self.show_page(self.chat)
        self.chat.composer.setFocus()

    @Slot()
    def _on_attach(self) -> None:
        self._on_write()
        self.chat.composer.ask_for_files()

    def _lay_out(self) -> None:
        self.pages.addWidget(self.chat)
        self.add_page(self.models)
        for part in (self.sidebar, self.pages, self.panel):
            self._split.addWidget(part)
        self._split.setHandleWidth(1)
        self._split.setChildrenCollapsible(False)
        self._split.setStretchFactor(1, 1)
        self._split.setSizes([_SIDEBAR_WIDTH, self.width() - _SIDEBAR_WIDTH, _PANEL_WIDTH])
        work = Spaced(self.models.work, SMALL, self._inside)
        self._column = stacked(self._inside, self._split, work, spacing=0, growing=self._split)
        self.setCentralWidget(self._inside)
        self.panel.hide()
