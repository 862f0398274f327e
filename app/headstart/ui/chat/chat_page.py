"""The page of a chat: title, transcript, find bar, notices and composer."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QFont,
    QGuiApplication,
    QKeyEvent,
    QPalette,
    QResizeEvent,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from headstart.tools.servers import ServerTool
from headstart.ui.chat.comparison import Comparison
from headstart.ui.chat.empty_page import EmptyPage
from headstart.ui.chat.live_panel import LivePanel
from headstart.ui.chat.tools import CallBar
from headstart.ui.composer.composer import Composer
from headstart.ui.composer.prompts import PromptPopup
from headstart.ui.transcript.message import MessageContent, MessageId
from headstart.ui.transcript.transcript import Transcript
from headstart.ui.widgets.icons import icon_button
from headstart.ui.widgets.labels import ElidedLabel
from headstart.ui.widgets.layouts import set_margins, stacked
from headstart.ui.widgets.legend import Legend
from headstart.ui.widgets.progress import NoticeBar, WorkBar
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import MEDIUM, SMALL, TEXT_WIDTH, TINY, Theme, scaled
from headstart.ui.workspace.folder_bar import FolderBar

if TYPE_CHECKING:
    from headstart.engine.engine import Call
    from headstart.ui.workspace.proposal_bar import ProposalBar
    from headstart.workspace.tools import Proposal


class SelectionBar(QFrame):
    """A bar that copies the selected messages; hidden while there are none."""

    def __init__(self, transcript: Transcript, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._transcript = transcript
        set_style_class(self, "bar")
        self._label = QLabel(self)
        self.markdown_button = QPushButton(self.tr("Copy as Markdown"), self)
        self.text_button = QPushButton(self.tr("Copy as text"), self)
        self._close = icon_button("close", self.tr("Select nothing"), self)
        for copying in (self.markdown_button, self.text_button):
            set_style_class(copying, "flat")
        row = QHBoxLayout(self)
        set_margins(row, start=SMALL, top=TINY, end=TINY, bottom=TINY)
        row.addWidget(self._label, 1)
        for button in (self.markdown_button, self.text_button, self._close):
            row.addWidget(button)
        self.markdown_button.clicked.connect(lambda: self._copy(transcript.to_markdown))
        self.text_button.clicked.connect(lambda: self._copy(transcript.to_text))
        self._close.clicked.connect(transcript.clear_selection)
        transcript.selection_changed.connect(self.show_count)
        self.hide()

    @Slot(int)
    def show_count(self, messages: int) -> None:
        one = self.tr("1 message selected. Click another name with Shift to select up to there.")
        self._label.setText(one if messages == 1 else self.tr("{} messages selected").format(messages))
        self.setVisible(bool(messages))

    def _copy(self, write: Callable[[Sequence[MessageContent]], str]) -> None:
        QGuiApplication.clipboard().setText(write(self._transcript.selected_messages()))
        self._transcript.clear_selection()


class FindBar(QFrame):
    """A bar that finds words in the open chat; opened by Ctrl+F and closed by Esc."""

    closed = Signal()

    def __init__(self, transcript: Transcript, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._transcript = transcript
        set_style_class(self, "bar")
        self.field = QLineEdit(self)
        self.field.setPlaceholderText(self.tr("Find in this chat"))
        self.field.setAccessibleName(self.tr("Find in this chat"))
        self._count = QLabel(self)
        set_style_class(self._count, "muted")
        self._previous = icon_button("up", self.tr("Previous match"), self)
        self._next = icon_button("unfolded", self.tr("Next match"), self)
        self._close = icon_button("close", self.tr("Close find"), self)
        row = QHBoxLayout(self)
        set_margins(row, start=SMALL, top=TINY, end=TINY, bottom=TINY)
        row.addWidget(self.field, 1)
        for widget in (self._count, self._previous, self._next, self._close):
            row.addWidget(widget)
        self.field.textChanged.connect(transcript.find_text)
        self.field.returnPressed.connect(transcript.find_next)
        self._next.clicked.connect(transcript.find_next)
        self._previous.clicked.connect(transcript.find_previous)
        self._close.clicked.connect(self.close_find)
        transcript.found_changed.connect(self.show_found)
        self.hide()

    def open_find(self) -> None:
        """Show the bar and focus its field."""
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        self._transcript.find_text(self.field.text())

    @Slot()
    def close_find(self) -> None:
        """Hide the bar and remove the marks."""
        if not self.isHidden():
            self.hide()
            self._transcript.clear_find()
            self.closed.emit()

    def show_found(self, current: int, count: int) -> None:
        """Show the number of the current match and of all."""
        text = self.tr("{} of {}").format(current, count) if count else self.tr("no match")
        self._count.setText(text if self.field.text() else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        has_shift = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and has_shift:
            self._transcript.find_previous()
        else:
            super().keyPressEvent(event)


_WIDE = 720  # pixels at the usual size of text, from which on the buttons of the header have words


class ChatPage(QFrame):
    """The page of the open chat, whose parts are public."""

    files_dropped = Signal(object)  # list[Path]
    decided = Signal(bool, bool, object)  # about a step in the folder: allowed, always, the text that you changed

    def __init__(self, theme: Theme, font: QFont, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAcceptDrops(True)
        self.setAccessibleName(self.tr("Chat"))
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        self._title = ElidedLabel(self)
        dark = QPalette.ColorRole.WindowText
        self.sidebar_button = icon_button("sidebar", self.tr("Show or hide the sidebar"), self, colour=dark)
        self.origins_button = icon_button("origins", self.tr("Mark faster words"), self, colour=dark)
        self.live_button = icon_button("chart", self.tr("Live figures"), self, colour=dark)
        self.panel_button = icon_button("panel", self.tr("Settings of this chat"), self, colour=dark)
        names = {
            self.origins_button: self.tr("Faster words"),
            self.live_button: self.tr("Figures"),
            self.panel_button: self.tr("Settings"),
        }
        for button, name in names.items():
            button.setText(name)
        self.legend = Legend(self)
        self.live = LivePanel(self)
        self.live.hide()
        self.transcript = Transcript(theme, font, self)
        self.find_bar = FindBar(self.transcript, self)
        self.comparison: Comparison | None = None  # once two answers are compared
        self.empty = EmptyPage(self)
        self.notice = NoticeBar(self)
        self.unsaved = NoticeBar(self)  # while the history takes nothing; no other notice replaces it
        self.selection = SelectionBar(self.transcript, self)
        self.work = WorkBar(self)
        self.call = CallBar(self)
        self.folder = FolderBar(self)
        # The question before a step in the folder stands here, once there is one.
        self.proposal: ProposalBar | None = None
        self.reading: NoticeBar | None = None  # while an answer is read aloud; likewise
        self.composer = Composer(self)
        self.setFocusProxy(self.composer)
        self.find_bar.closed.connect(self.composer.setFocus)
        self.prompts = PromptPopup(self.composer.edit, self.composer, self)
        self._lay_out()
        self.apply_theme(theme, font)

    def show_title(self, title: str) -> None:
        self._title.show_text(title)

    def ask(self, pending: "tuple[Call, ServerTool | Proposal] | None") -> None:
        """Show a call that waits for approval; None hides the question."""
        call, asked = pending or (None, None)
        self.call.ask((call, asked) if call and isinstance(asked, ServerTool) else None)
        proposal = None if asked is None or isinstance(asked, ServerTool) else asked
        if proposal and self.proposal is None:
            from headstart.ui.workspace.proposal_bar import ProposalBar  # noqa: PLC0415 - few chats have a folder

            self.proposal = ProposalBar(self)
            self.proposal.decided.connect(self.decided)
            self.proposal.apply_theme(self._theme)
            self._insert_bar(self.proposal)
        if self.proposal:
            self.proposal.ask(proposal)

    def add_reading_bar(self, bar: NoticeBar) -> None:
        """Show a bar while an answer is read aloud."""
        self.reading = bar
        self._insert_bar(bar)

    def _insert_bar(self, bar: QWidget) -> None:
        layout = self._foot.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.insertWidget(layout.indexOf(self.call), bar)

    def show_empty(self, empty: bool) -> None:
        """Show the page of an empty chat in place of the messages."""
        self.empty.setVisible(empty)
        self.transcript.setVisible(not empty and not self.is_comparing)

    @property
    def is_comparing(self) -> bool:
        """True while two versions of an answer are shown in place of the messages."""
        return self.comparison is not None and not self.comparison.isHidden()

    def add_comparison(self) -> Comparison:
        """Add the comparison of two versions of an answer, hidden at first."""
        self.comparison = Comparison(self._theme, self._font, self)
        self.comparison.hide()
        self.comparison.set_origins_visible(self.origins_button.isChecked())
        for part in self.comparison.chrome():
            part.setStyleSheet(self._foot.styleSheet())
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.insertWidget(layout.indexOf(self.transcript) + 1, self.comparison, 1)
        return self.comparison

    def show_comparison(self, *, shown: bool) -> None:
        """Show two versions of an answer in place of the messages."""
        if self.comparison:
            self.comparison.setVisible(shown)
        self.transcript.setVisible(not shown)

    def showing(self, message: MessageId) -> Iterator[Transcript]:
        """Return the transcripts that show a message: the chat's own and those of the comparison."""
        columns = self.comparison.columns if self.comparison else ()
        transcripts = (self.transcript, *(column.transcript for column in columns))
        return (transcript for transcript in transcripts if transcript.shows(message))

    def show_origins(self, shown: bool) -> None:
        """Show or hide token colours and their legend."""
        self.legend.setVisible(shown)
        self.origins_button.setChecked(shown)
        self.transcript.set_origins_visible(shown)
        if self.comparison:
            self.comparison.set_origins_visible(shown)

    def chrome(self) -> tuple[QWidget, ...]:
        """Return the parts that take a style sheet: all except the transcript."""
        bar = self.transcript.verticalScrollBar()
        parts = (self._header, self.live, self.find_bar, self.legend, self.empty, self._foot, self.prompts, bar)
        return (*parts, *(self.comparison.chrome() if self.comparison else ()))

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        bold = QFont(font)
        bold.setBold(True)
        self._title.setFont(bold)
        self._fit_header()
        self._theme, self._font = theme, font
        if self.proposal:
            self.proposal.apply_theme(theme)
        self.transcript.apply_theme(theme, font)
        if self.comparison:
            self.comparison.apply_theme(theme, font)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_header()
        bar = self.transcript.verticalScrollBar().sizeHint().width()
        side = max((self.width() - bar - TEXT_WIDTH) // 2, SMALL)  # the width of the messages above
        foot = self._foot.layout()
        assert foot
        set_margins(foot, start=side, top=SMALL, end=side + bar, bottom=MEDIUM)
        self._make_room()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # a bar appeared, or the text became larger
            self._make_room()
        return super().event(event)

    def _make_room(self) -> None:
        """Give a low page to the parts around the messages, and the place of the folder to a question with answers."""
        column = self.layout()
        assert column
        is_asking = any(bar and not bar.isHidden() for bar in (self.proposal, self.call))
        for page in (self.transcript, self.empty):
            if page.isHidden():
                continue
            usual = page.minimumSizeHint().height()
            needed = max(column.totalMinimumSize().height(), column.totalMinimumHeightForWidth(self.width()))
            room = self.height() - needed + (page.minimumHeight() or usual)
            page.setMinimumHeight(min(max(room, 1), usual))
            folder = self.folder.sizeHint().height() + SMALL if self.folder.is_yielding else 0
            self.folder.set_yielding(is_asking and room < folder)

    def _fit_header(self) -> None:
        """Show words beside the icons where there is room for them."""
        styles = Qt.ToolButtonStyle
        style = (
            styles.ToolButtonTextBesideIcon if self.width() >= scaled(_WIDE, self.font()) else styles.ToolButtonIconOnly
        )
        for button in (self.origins_button, self.live_button, self.panel_button):
            button.setToolButtonStyle(style)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            self.composer.set_dropping(True)
            event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.composer.set_dropping(False)
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
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
        self._foot = QFrame(self)
        self._foot.setObjectName("foot")
        foot = QVBoxLayout(self._foot)
        foot.setSpacing(SMALL)
        for part in (self.selection, self.work, self.unsaved, self.notice, self.folder, self.call, self.composer):
            foot.addWidget(part)
        column = stacked(self, self._header, self.legend, self.live, self.find_bar, spacing=0)
        for page in (self.transcript, self.empty):
            column.addWidget(page, 1)
        column.addWidget(self._foot)
        for button in (self.origins_button, self.live_button, self.panel_button):
            button.setCheckable(True)
