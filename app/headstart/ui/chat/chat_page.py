"""The page of a chat: title, transcript, find bar, notices and composer, laid out."""

from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QFont, QPalette, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from headstart.ui.chat.composer import Composer
from headstart.ui.chat.find_bar import FindBar
from headstart.ui.chat.live_panel import LivePanel
from headstart.ui.chat.prompts import PromptPopup
from headstart.ui.chat.transcript import Transcript
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.labels import ElidedLabel
from headstart.ui.widgets.legend import Legend
from headstart.ui.widgets.notice_bar import NoticeBar
from headstart.ui.widgets.progress import WorkBar
from headstart.ui.widgets.stylesheet import dress, mark
from headstart.ui.widgets.theme import MEDIUM, SMALL, TEXT_WIDTH, TINY, Theme


class SelectionBar(QFrame):
    """Hidden while nothing is selected."""

    markdown_requested = Signal()
    text_requested = Signal()
    cleared = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "bar")
        self._label = QLabel(self)
        self.markdown_button = QPushButton(self.tr("Copy as Markdown"), self)
        self.text_button = QPushButton(self.tr("Copy as text"), self)
        self._close = QToolButton(self)
        self._close.setIcon(icon("close"))
        self._close.setToolTip(self.tr("Select nothing"))
        self._close.setAccessibleName(self.tr("Select nothing"))
        for button in (self.markdown_button, self.text_button, self._close):
            dress(button, "flat")
        row = QHBoxLayout(self)
        row.setContentsMargins(SMALL, TINY, TINY, TINY)
        row.addWidget(self._label, 1)
        for button in (self.markdown_button, self.text_button, self._close):
            row.addWidget(button)
        self.markdown_button.clicked.connect(self.markdown_requested)
        self.text_button.clicked.connect(self.text_requested)
        self._close.clicked.connect(self.cleared)
        self.hide()

    @Slot(int)
    def show_count(self, messages: int) -> None:
        """So many messages are selected."""
        one = self.tr("1 message selected. Click another name with Shift to select up to there.")
        self._label.setText(one if messages == 1 else self.tr("{} messages selected").format(messages))
        self.setVisible(bool(messages))


class ChatPage(QFrame):
    """Its parts are public: `transcript`, `composer`, `find_bar`, `notice`, `greeting`."""

    files_dropped = Signal(object)  # list[Path]

    def __init__(self, theme: Theme, font: QFont, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAcceptDrops(True)
        self.setAccessibleName(self.tr("Chat"))
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        self._title = ElidedLabel(self)
        self.sidebar_button = self._button("sidebar", self.tr("Show or hide the sidebar"))
        self.origins_button = self._button("origins", self.tr("Colour tokens by origin"))
        self.live_button = self._button("chart", self.tr("Live figures"))
        self.panel_button = self._button("panel", self.tr("Settings of this chat"))
        self.legend = Legend(self)
        self.live = LivePanel(self)
        self.live.hide()
        self.find_bar = FindBar(self)
        self.transcript = Transcript(theme, font, self)
        self.greeting = QLabel(self.tr("What would you like to know?"), self)
        self.notice = NoticeBar(self)
        self.selection = SelectionBar(self)
        self.work = WorkBar(self)
        self.composer = Composer(self)
        self.setFocusProxy(self.composer)
        self.prompts = PromptPopup(self.composer.edit, self.composer, self)
        self._lay_out()
        self.set_looks(theme, font)

    def show_title(self, title: str) -> None:
        """The open chat's."""
        self._title.show_text(title)

    def show_empty(self, empty: bool) -> None:
        """A chat without messages greets."""
        self.greeting.setVisible(empty)
        self.transcript.setVisible(not empty)

    def show_origins(self, shown: bool) -> None:
        """Token colours and their legend."""
        self.legend.setVisible(shown)
        self.origins_button.setChecked(shown)
        self.transcript.set_origins_visible(shown)

    def chrome(self) -> tuple[QWidget, ...]:
        """What a style sheet is for: everything but the transcript."""
        bar = self.transcript.verticalScrollBar()
        return (self._header, self.live, self.find_bar, self.legend, self.greeting, self._foot, self.prompts, bar)

    def set_looks(self, theme: Theme, font: QFont) -> None:
        """Another theme or font."""
        big = QFont(font)
        big.setPointSizeF(font.pointSizeF() * 1.5)
        self.greeting.setFont(big)
        bold = QFont(font)
        bold.setBold(True)
        self._title.setFont(bold)
        self.transcript.set_looks(theme, font)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        bar = self.transcript.verticalScrollBar().sizeHint().width()
        side = max((self.width() - bar - TEXT_WIDTH) // 2, SMALL)  # as wide as the messages above
        foot = self._foot.layout()
        assert foot
        foot.setContentsMargins(side, SMALL, side + bar, MEDIUM)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            self.composer.set_dropping(True)
            event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: N802
        self.composer.set_dropping(False)
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        self.composer.set_dropping(False)
        self.files_dropped.emit([Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()])
        event.acceptProposedAction()

    def _lay_out(self) -> None:
        self._header = QFrame(self)
        self._header.setObjectName("header")
        row = QHBoxLayout(self._header)
        row.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        for widget in (self.sidebar_button, self._title, self.origins_button, self.live_button, self.panel_button):
            row.addWidget(widget, 1 if widget is self._title else 0)
        self.greeting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.greeting.setWordWrap(True)
        self._foot = QFrame(self)
        self._foot.setObjectName("foot")
        foot = QVBoxLayout(self._foot)
        foot.setSpacing(SMALL)
        foot.addWidget(self.selection)
        foot.addWidget(self.work)
        foot.addWidget(self.notice)
        foot.addWidget(self.composer)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for part in (self._header, self.legend, self.live, self.find_bar):
            column.addWidget(part)
        column.addWidget(self.transcript, 1)
        column.addWidget(self.greeting, 1)
        column.addWidget(self._foot)
        for button in (self.origins_button, self.live_button, self.panel_button):
            button.setCheckable(True)
        bar = self.transcript.verticalScrollBar()
        mark(bar, "idle", value=True)
        bar.rangeChanged.connect(lambda low, high: mark(bar, "idle", low == high))

    def _button(self, name: str, label: str) -> QToolButton:
        button = QToolButton(self)
        button.setIcon(icon(name, QPalette.ColorRole.WindowText))
        button.setToolTip(label)
        button.setAccessibleName(label)
        dress(button, "flat")
        return button
