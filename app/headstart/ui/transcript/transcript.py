"""The transcript of one chat, which builds widgets only for the messages near the visible part."""

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QPoint, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QFont, QGuiApplication, QKeyEvent, QKeySequence, QPalette, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from headstart.chat.conversation import titled
from headstart.markdown.blocks import plain_text
from headstart.markdown.parser import parse
from headstart.ui.transcript.message import THINKING, MessageAction, MessageContent, MessageId
from headstart.ui.transcript.message_view import MessageView, author
from headstart.ui.widgets.focus import FocusRing
from headstart.ui.widgets.icons import icon_button
from headstart.ui.widgets.stylesheet import hide_idle_bar, sheet
from headstart.ui.widgets.theme import MEDIUM, SMALL, TEXT_WIDTH, Theme, palette

_MARKUP = r"[*_`~\\]*"


@dataclass(frozen=True)
class Match:
    """A search hit: the range [start, end) of a message's text, of its thinking, or of the text of one of its files."""

    message: int  # index
    start: int
    end: int
    file: int | None = None  # index, or THINKING


Finder = Callable[[str], Iterable[tuple[int, int]]]


def finder(query: str) -> Finder:
    """Return a function that finds every match of `query`, in the addresses of links too."""
    words = query.split()
    if not words:
        return lambda _: ()
    pattern = re.compile(rf"{_MARKUP}\s+{_MARKUP}".join(_MARKUP.join(map(re.escape, word)) for word in words), re.I)
    return lambda text: (match.span() for match in pattern.finditer(text))


def find_places(messages: Iterable[MessageContent], find: Finder) -> list[Match]:
    """Return every hit in reading order: thinking and files of a message stand above its text."""
    return [match for index, message in enumerate(messages) for match in _find_in(message, index, find)]


def _find_in(message: MessageContent, index: int, find: Finder) -> Iterator[Match]:
    yield from (Match(index, start, end, THINKING) for start, end in find(message.thinking))
    for number, file in enumerate(message.attached):
        yield from (Match(index, start, end, number) for start, end in find(file.text))
    yield from (Match(index, start, end) for start, end in find(message.text))


# Pixels of an estimated message.
_FRAME_HEIGHT = 74  # header, footer and margins
_LINE_HEIGHT = 22
_LETTER_WIDTH = 7.5  # mean; wide letters count twice


@dataclass(frozen=True)
class Anchor:
    """A place in the transcript that survives changes of height."""

    index: int  # of a message
    offset: int  # pixels below its top

    def shifted(self, count: int) -> "Anchor":
        """Return the same place after `count` messages were inserted above it."""
        return Anchor(self.index + count, self.offset)


class Heights:
    """The heights of messages, in pixels, stacked with a gap between them."""

    def __init__(self, gap: int) -> None:
        self._gap = gap
        self._heights: list[int] = []
        self._tops: list[int] | None = None

    def __len__(self) -> int:
        return len(self._heights)

    def insert(self, index: int, height: int) -> None:
        self._heights.insert(index, height)
        self._tops = None

    def remove(self, index: int) -> None:
        del self._heights[index]
        self._tops = None

    def set(self, index: int, height: int) -> None:
        if self._heights[index] != height:
            self._heights[index] = height
            self._tops = None

    def height(self, index: int) -> int:
        return self._heights[index]

    def top(self, index: int) -> int:
        return self._all_tops()[index]

    def total(self) -> int:
        """Return the height of everything, with a gap at both ends."""
        return self._all_tops()[-1]

    def at(self, y: int) -> int:
        """Return the index of the message at `y`, or of the nearest one."""
        return min(max(0, bisect_right(self._all_tops(), y) - 1), max(0, len(self) - 1))

    def anchor(self, y: int) -> Anchor:
        index = self.at(y)
        return Anchor(index, y - self.top(index) if len(self) else 0)

    def _all_tops(self) -> list[int]:
        if self._tops is None:
            y = self._gap
            self._tops = []
            for height in self._heights:
                self._tops.append(y)
                y += height + self._gap
            self._tops.append(y)
        return self._tops


def estimate_height(content: MessageContent, width: int) -> int:
    letters = max(1.0, width / _LETTER_WIDTH)
    text = content.text
    lines = sum(1 + int(_columns_of(line) / letters) for line in text.split("\n") if line) if len(text) < 100_000 else 0
    return _FRAME_HEIGHT + _LINE_HEIGHT * (lines or 1 + int(_columns_of(text) / letters))


def _columns_of(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode("utf-8")) * 2 // 3


AT_END = 24  # within this number of pixels from the end, the transcript follows new text
SLICE_MS = 8.0  # work between two visits of the event loop
NEAR, FAR = 1.0, 4.0  # viewports around the visible part: built ahead within NEAR, recycled beyond FAR
SPARE_VIEWS = 8


@dataclass
class TranscriptEntry:
    content: MessageContent
    view: MessageView | None = None  # exists while the message is near the visible part
    width: int = 0  # at which the height was measured


class Transcript(QScrollArea):
    """The messages of a chat. The end stays in view if it was, else the message being read does."""

    action_requested = Signal(object, object)  # MessageAction, id of the message
    menu_opening = Signal(object, object)  # Menu to add to, id of the message
    found_changed = Signal(int, int)  # number of the current match from 1 (0: none), number of matches
    selection_changed = Signal(int)  # number of selected messages

    def __init__(self, theme: Theme, font: QFont, parent: QWidget | None = None, *, is_bare: bool = False) -> None:
        """`is_bare` leaves out the author and the buttons of each message."""
        super().__init__(parent)
        self._theme, self._font, self._is_bare = theme, font, is_bare
        self._entries: list[TranscriptEntry] = []
        self._index: dict[MessageId, int] = {}
        self._heights = Heights(MEDIUM)
        self._spare: list[MessageView] = []
        self._at_end = True
        self._arranging = False
        self._origins_visible = False
        self._query = ""
        self._matches: list[Match] = []
        self._current = -1
        self._selection: tuple[int, int] | None = None
        self._column = QWidget()
        self.setAccessibleName(self.tr("Messages"))
        self.setWidget(self._column)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # A bar that comes and goes would change the width and with it every height.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.verticalScrollBar().setSingleStep(40)
        hide_idle_bar(self)
        FocusRing(self)
        label, dark = self.tr("Jump to the newest message"), QPalette.ColorRole.WindowText
        self._newest = icon_button("unfolded", label, self, "chip", dark)
        self._newest.hide()
        self._newest.clicked.connect(self.scroll_to_end)
        self._ahead = QTimer(self, singleShot=True)
        self._ahead.timeout.connect(self._build_ahead)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._apply_theme()

    # Messages

    def show_chat(self, contents: Sequence[MessageContent]) -> None:
        """Show the end of a chat; build the last screen first."""
        self.clear_find()
        self._select(None)
        self._ahead.stop()
        for entry in self._entries:
            self._recycle(entry)
        self._entries = [TranscriptEntry(content) for content in contents]
        self._heights = Heights(MEDIUM)
        width = self._text_width()
        for index, content in enumerate(contents):
            self._heights.insert(index, estimate_height(content, width))
        self._renumber()
        self.scroll_to_end()

    def add(self, content: MessageContent) -> None:
        """Add a message at the end, and scroll to it if the user wrote it."""
        anchor = self._anchor()
        self._entries.append(TranscriptEntry(content))
        self._heights.insert(len(self._heights), estimate_height(content, self._text_width()))
        self._renumber()
        self._refresh(anchor)
        if content.role == "user":
            self.scroll_to_end()

    def remove(self, message: MessageId) -> None:
        self._select(None)
        index, anchor = self.index_of(message), self._anchor()
        self._recycle(self._entries.pop(index))
        self._heights.remove(index)
        self._renumber()
        self._refresh(anchor.shifted(-int(index < anchor.index)))

    def replace(self, index: int, content: MessageContent) -> None:
        """Show another state of a message, or another message in its place."""
        entry = self._entries[index]
        entry.content = content
        entry.width = 0
        if entry.view:
            entry.view.set_message(content)
        self._renumber()
        self._refresh()

    def contents(self) -> list[MessageContent]:
        """Return every message as it is now."""
        return [entry.view.content if entry.view else entry.content for entry in self._entries]

    def index_of(self, message: MessageId) -> int:
        return self._index[message]

    def shows(self, message: MessageId) -> bool:
        return message in self._index

    def view(self, index: int) -> MessageView:
        """Return the widget of a message by its index; build it if need be."""
        entry = self._entries[index]
        if entry.view is None or entry.width != self._text_width():
            self._build(index)
            self._arrange()
        assert entry.view
        return entry.view

    def view_of(self, message: MessageId) -> MessageView:
        return self.view(self.index_of(message))

    def views(self) -> Iterator[tuple[int, MessageView]]:
        """Return index and widget of every message that has one."""
        return ((index, entry.view) for index, entry in enumerate(self._entries) if entry.view)

    def end_stream(self, ended: MessageContent) -> None:
        """Complete a message that was streamed."""
        self.view_of(ended.id).end_stream(ended)
        self._search_again()

    # Scrolling

    def scroll_to_end(self) -> None:
        """Scroll to the end and follow new text."""
        self._at_end = True
        self._refresh()

    def reveal(self, index: int, top: int, bottom: int) -> None:
        """Scroll to the pixels [top, bottom) of a message, unless they are visible."""
        self.view(index)
        y = self._heights.top(index)
        bar, room = self.verticalScrollBar(), self.viewport().height()
        if y + top >= bar.value() and y + bottom <= bar.value() + room:
            return
        self._at_end = False
        self._refresh(Anchor(index, max(-MEDIUM, (top + bottom - room) // 2)))
        self._at_end = bar.maximum() - bar.value() <= AT_END

    # Finding

    def find_text(self, text: str) -> int:
        """Mark all matches, go to the first one below the visible top and return their number."""
        self._query = text
        self._matches = find_places(self.contents(), finder(text))
        first = min(self._visible(), default=0)
        self._go_to(next((i for i, match in enumerate(self._matches) if match.message >= first), 0))
        return len(self._matches)

    def show_places(self, matches: Sequence[Match], first: Match) -> None:
        """Mark matches that were found elsewhere, and go to one of them."""
        self._query, self._matches = "", list(matches)
        self._go_to(self._matches.index(first))

    def mark_places(self, matches: Sequence[Match]) -> None:
        """Mark matches that were found elsewhere, and go to none."""
        self._query, self._matches, self._current = "", list(matches), -1
        for index, view in self.views():
            self._mark(index, view)

    def find_next(self) -> None:
        """Go to the next match; after the last, to the first."""
        self._go_to(self._current + 1)

    def find_previous(self) -> None:
        """Go to the previous match; before the first, to the last."""
        self._go_to(self._current - 1)

    def clear_find(self) -> None:
        """Remove the highlights of the search."""
        self._query, self._matches = "", []
        self._go_to(-1)

    def _go_to(self, number: int) -> None:
        self._current = number % len(self._matches) if self._matches else -1
        for index, view in self.views():
            self._mark(index, view)
        if self._current >= 0:
            match = self._matches[self._current]
            place = self.view(match.message).rect_of(match.start, match.file)
            self.reveal(match.message, int(place.top()), int(place.bottom()))
        self.found_changed.emit(self._current + 1, len(self._matches))

    def _search_again(self) -> None:
        if self._query:
            self._matches = find_places(self.contents(), finder(self._query))
            self._current = min(self._current, len(self._matches) - 1)
            for index, view in self.views():
                self._mark(index, view)
            self.found_changed.emit(self._current + 1, len(self._matches))

    def _mark(self, index: int, view: MessageView) -> None:
        here = [(number, match) for number, match in enumerate(self._matches) if match.message == index]
        inside = [(number, match) for number, match in here if match.file is None]
        current = next((at for at, (number, _) in enumerate(inside) if number == self._current), None)
        view.set_matches([(match.start, match.end) for _, match in inside], current)
        attached = [(number, match) for number, match in here if match.file is not None]
        current = next((at for at, (number, _) in enumerate(attached) if number == self._current), None)
        view.set_file_matches([(match.file or 0, match.start, match.end) for _, match in attached], current)

    # Selecting and copying

    def selected_messages(self) -> list[MessageContent]:
        """Return the selected messages, top to bottom."""
        if self._selection is None:
            return []
        first, last = sorted(self._selection)
        return self.contents()[first : last + 1]

    def clear_selection(self) -> None:
        self._select(None)

    def selected_text(self) -> str:
        """Return the text selected within a message, else the selected messages as plain text."""
        inside = next((text for _, view in self.views() if (text := view.selected_text())), "")
        return inside or self.to_text(self.selected_messages())

    def to_text(self, messages: Sequence[MessageContent]) -> str:
        """Return messages as plain text without thinking."""
        return "\n\n".join(f"{author(message)}:\n{_plain_text(message)}" for message in messages)

    def to_markdown(self, messages: Sequence[MessageContent]) -> str:
        """Return the Markdown source of messages without thinking, each with its attached files before the text."""
        return "\n\n".join(f"**{author(message)}:**\n\n{_markdown_of(message)}" for message in messages)

    @Slot(object, object)
    def _on_action(self, action: MessageAction, message: MessageId) -> None:
        """Select messages, or emit any other action."""
        index = self.index_of(message)
        if action is MessageAction.SELECT_UP_TO and self._selection:
            self._select((self._selection[0], index))
        elif action in (MessageAction.SELECT, MessageAction.SELECT_UP_TO):
            self._select(None if self._selection == (index, index) else (index, index))
        else:
            self.action_requested.emit(action, message)

    def _select(self, selection: tuple[int, int] | None) -> None:
        self._selection = selection
        for index, view in self.views():
            view.set_selected(self._is_selected(index))
        self.selection_changed.emit(len(self.selected_messages()))

    def _is_selected(self, index: int) -> bool:
        return self._selection is not None and min(self._selection) <= index <= max(self._selection)

    # Appearance

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        """Apply a theme and font to what is visible, and to the rest when it becomes visible."""
        if theme is self._theme and font == self._font:
            return
        self._theme, self._font = theme, font
        for view in self._spare:
            view.deleteLater()
        self._spare.clear()
        visible = set(self._visible())
        for index, entry in enumerate(self._entries):
            entry.width = 0
            if entry.view and (index in visible or entry.view.is_engaged()):
                entry.view.apply_theme(theme, font)
            elif entry.view:
                entry.content = entry.view.content
                entry.view.deleteLater()
                entry.view = None
        self._apply_theme()
        self._refresh()

    def set_origins_visible(self, visible: bool) -> None:
        """Show or hide the origins of all text."""
        self._origins_visible = visible
        for _, view in self.views():
            view.set_origins_visible(visible)

    def _apply_theme(self) -> None:
        self.setPalette(palette(self._theme))
        self.viewport().setBackgroundRole(self.backgroundRole().Base)
        self._column.setBackgroundRole(self.backgroundRole().Base)
        self._newest.setStyleSheet(sheet(self._theme, self._font))

    # Building

    def _build(self, index: int) -> None:
        entry, width = self._entries[index], self._text_width()
        if entry.view is None:
            entry.view = self._spare.pop() if self._spare else self._new_view()
            entry.view.set_message(entry.content)
            entry.view.set_origins_visible(self._origins_visible)
            entry.view.set_selected(self._is_selected(index))
            entry.view.set_last(index == len(self._entries) - 1)
            self._mark(index, entry.view)
            entry.view.show()
        self._heights.set(index, entry.view.set_width(width))
        entry.width = width

    def _new_view(self) -> MessageView:
        view = MessageView(self._theme, self._font, self._column, is_bare=self._is_bare)
        view.height_changed.connect(self._on_height_changed)
        view.action_requested.connect(self._on_action)
        view.menu_opening.connect(self.menu_opening)
        return view

    def _recycle(self, entry: TranscriptEntry) -> None:
        if entry.view is None:
            return
        entry.content = entry.view.content
        entry.view.hide()
        if len(self._spare) < SPARE_VIEWS:
            self._spare.append(entry.view)
        else:
            entry.view.deleteLater()
        entry.view = None

    def _refresh(self, anchor: Anchor | None = None) -> None:
        """Build the visible messages and place everything."""
        anchor = anchor or self._anchor()
        self._arrange(anchor)
        # Measured heights differ from estimates, so other messages become visible meanwhile; it settles quickly.
        for _ in range(8):
            missing = [index for index in self._visible() if not self._is_built(index)]
            if not missing:
                break
            for index in reversed(missing) if self._at_end else missing:
                self._build(index)
            self._arrange(anchor)
        self._set_tab_order()
        self._ahead.start(0)

    def _build_ahead(self) -> None:
        started = time.perf_counter()
        anchor, built = self._anchor(), False
        for index in self._around(NEAR):
            if self._is_built(index):
                continue
            if (time.perf_counter() - started) * 1000 > SLICE_MS:
                self._ahead.start(0)
                break
            self._build(index)
            built = True
        else:
            self._recycle_far()
        if built:
            self._arrange(anchor)
            self._set_tab_order()

    def _recycle_far(self) -> None:
        near = set(self._around(FAR))
        for index, entry in enumerate(self._entries):
            if entry.view and index not in near and not entry.view.is_engaged():
                self._recycle(entry)

    def _is_built(self, index: int) -> bool:
        entry = self._entries[index]
        return entry.view is not None and entry.width == self._text_width()

    def _visible(self) -> list[int]:
        return self._within(0.0)

    def _around(self, viewports: float) -> list[int]:
        """Return the messages within this number of viewports, nearest to the middle first."""
        indices = self._within(viewports)
        middle = self._heights.at(self.verticalScrollBar().value() + self.viewport().height() // 2) if indices else 0
        return sorted(indices, key=lambda index: abs(index - middle))

    def _within(self, viewports: float) -> list[int]:
        if not self._entries:
            return []
        top, room = self.verticalScrollBar().value(), self.viewport().height()
        margin = int(room * viewports)
        return list(range(self._heights.at(top - margin), self._heights.at(top + room + margin) + 1))

    # Arranging

    def _arrange(self, anchor: Anchor | None = None) -> None:
        anchor = anchor or self._anchor()
        self._arranging = True
        width = self._text_width()
        left = (self.viewport().width() - width) // 2
        for index, view in self.views():
            view.move(left, self._heights.top(index))
        self._column.resize(self.viewport().width(), max(self._heights.total(), self.viewport().height()))
        bar = self.verticalScrollBar()
        # A hidden scroll area does not adjust its bar.
        bar.setRange(0, max(0, self._column.height() - self.viewport().height()))
        if self._at_end:
            bar.setValue(bar.maximum())
        elif self._entries:
            bar.setValue(self._heights.top(min(anchor.index, len(self._entries) - 1)) + anchor.offset)
        self._arranging = False
        self._update_newest()

    def _update_newest(self) -> None:
        """Show the button that leads to the end while that is far below."""
        button, room = self._newest, self.viewport()
        bar = self.verticalScrollBar()
        button.setVisible(not self._is_bare and not self._at_end and bar.maximum() - bar.value() > room.height() // 2)
        if not button.isHidden():
            size = button.sizeHint()
            button.setGeometry(
                QRect(QPoint((room.width() - size.width()) // 2, room.height() - size.height() - SMALL), size)
            )

    def _anchor(self) -> Anchor:
        return self._heights.anchor(self.verticalScrollBar().value())

    def _set_tab_order(self) -> None:
        """Let Tab go from top to bottom, in whatever order the widgets were built."""
        widgets = [widget for _, view in self.views() for widget in view.focus_widgets()]
        for before, after in pairwise(widgets):
            if before.nextInFocusChain() is not after:
                QWidget.setTabOrder(before, after)

    @Slot(object)
    def _on_height_changed(self, message: MessageId) -> None:
        index = self._index.get(message, -1)
        entry = self._entries[index] if index >= 0 else None  # a recycled view may still report
        if entry is None or entry.view is None:
            return
        before, anchor = self._heights.height(index), self._anchor()
        height = entry.view.set_width(self._text_width())
        if height != before:
            self._heights.set(index, height)
            self._arrange(anchor)
            self._ahead.start(0)

    def _text_width(self) -> int:
        return max(200, min(TEXT_WIDTH, self.viewport().width() - 2 * SMALL))

    def _renumber(self) -> None:
        self._index = {entry.content.id: index for index, entry in enumerate(self._entries)}
        for index, view in self.views():
            view.set_last(index == len(self._entries) - 1)

    # Events

    def resizeEvent(self, event: QResizeEvent) -> None:
        anchor = self._anchor()
        super().resizeEvent(event)
        self._refresh(anchor)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _on_scrolled(self) -> None:
        if self._arranging:
            return
        bar = self.verticalScrollBar()
        self._at_end = bar.maximum() - bar.value() <= AT_END
        self._update_newest()
        if any(not self._is_built(index) for index in self._visible()):
            self._refresh(self._anchor())
        else:
            self._ahead.start(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        chosen = self.selected_messages()
        if chosen and event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.to_markdown(chosen))
        elif chosen and event.matches(QKeySequence.StandardKey.Cancel):
            self.clear_selection()
        else:
            super().keyPressEvent(event)


def _markdown_of(message: MessageContent) -> str:
    return "\n\n".join([*map(titled, message.attached), message.text]).rstrip("\n")


def _plain_text(message: MessageContent) -> str:
    if message.role != "assistant":
        return message.text
    return plain_text(parse(message.text))
