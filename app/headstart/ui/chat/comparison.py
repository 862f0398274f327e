"""The comparison of two versions of an answer, with the words that differ marked."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtGui import QFont, QPalette, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QComboBox, QToolButton, QWidget

from headstart.chat.search import CJK
from headstart.ui.transcript.message import MessageContent, MessageState
from headstart.ui.transcript.transcript import Match, Transcript
from headstart.ui.widgets.focus import pass_wheel
from headstart.ui.widgets.labels import StatusLine, button, muted
from headstart.ui.widgets.layouts import back_button, beside, flowing, stacked
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY, Theme, scaled

_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+|[^\w\s]")


class TextDifferences(NamedTuple):
    """The ranges [start, end) of the words that only one of two texts has."""

    share: float  # of the words that both have, 0 to 1
    first: tuple[tuple[int, int], ...]
    second: tuple[tuple[int, int], ...]


def compare_texts(first: str, second: str) -> TextDifferences:
    """Compare two texts word by word; white space does not count."""
    matcher = SequenceMatcher(None, _WORD.findall(first), _WORD.findall(second))
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return TextDifferences(
        matcher.ratio(),
        _word_ranges(first, (code[1:3] for code in changed)),
        _word_ranges(second, (code[3:5] for code in changed)),
    )


def _word_ranges(text: str, spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the character ranges of runs of words of a text."""
    words = [match.span() for match in _WORD.finditer(text)]
    return tuple((words[start][0], words[end - 1][1]) for start, end in spans if start < end)


class AnswerColumn(QWidget):
    """A column with one version of an answer: its name, figures and text."""

    chosen = Signal(int)  # the id of another version
    used = Signal(int)  # the id of the version shown

    def __init__(self, title: str, theme: Theme, font: QFont, parent: QWidget) -> None:
        """`title` is the name for screen readers."""
        super().__init__(parent)
        self.setAccessibleName(title)
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.head = QWidget(self)
        self._chooser = QComboBox(self.head)
        self._chooser.setAccessibleName(title)
        self._chooser.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._chooser.setMinimumContentsLength(4)
        pass_wheel(self._chooser)
        self.use = button(self.tr("Use this"), self.head)
        self.use.setAccessibleName(self.tr("Use this answer"))
        self._figures = muted("", self.head)
        self.transcript = Transcript(theme, font, self, is_bare=True)
        self.transcript.setAccessibleName(title)
        choice = beside(None, self._chooser, self.use, growing=self._chooser)
        head = stacked(self.head, choice, self._figures, spacing=TINY)
        head.setContentsMargins(MEDIUM, SMALL, MEDIUM, SMALL)
        stacked(self, self.head, self.transcript, spacing=0, growing=self.transcript)
        self._chooser.activated.connect(lambda _: self.chosen.emit(self._chooser.currentData()))
        self.use.clicked.connect(lambda: self.used.emit(self._chooser.currentData()))

    def show_versions(self, names: dict[int, str], shown: int | None) -> None:
        """Show the names of the versions by their ids; `shown` is the id of the current one."""
        self._chooser.clear()
        for id_, name in names.items():
            self._chooser.addItem(name, id_)
        self._chooser.setCurrentIndex(self._chooser.findData(shown))
        self._chooser.setToolTip(self._chooser.currentText())
        for part in (self._chooser, self.use):
            part.setVisible(shown is not None)

    def show_figures(self, text: str, more: str = "") -> None:
        """Show the figures of the answer, and `more` in the tooltip."""
        self._figures.setText(text)
        self._figures.setToolTip(more)
        self._figures.setAccessibleDescription(more)

    def show_answer(self, content: MessageContent | None) -> None:
        """Show an answer; one that is shown already keeps its scroll position."""
        shown = [(each.id, each.state) for each in self.transcript.contents()]
        if shown == ([(content.id, content.state)] if content else []):
            return
        self.transcript.show_chat([content] if content else [])
        if content and content.state is MessageState.STREAMING:
            self.transcript.view_of(content.id).begin_stream()
        elif content:
            self.transcript.reveal(0, 0, 0)

    def mark(self, ranges: Iterable[tuple[int, int]]) -> None:
        self.transcript.mark_places([Match(0, start, end) for start, end in ranges])


_NARROW = 440  # pixels at the usual size of text; in less width, one version stands above the other


class Comparison(QWidget):
    """Two columns with versions of an answer, and buttons that write another one."""

    closed = Signal()

    def __init__(self, theme: Theme, font: QFont, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Compare answers"))
        self.bar = QWidget(self)
        back = back_button(self.bar)
        self.marks = button(self.tr("Mark differences"), self.bar)
        self.marks.setCheckable(True)
        self.again = button(self.tr("Answer again"), self.bar)
        self.another_model = button(self.tr("With another model"), self.bar)
        self.guessing = button("", self.bar)
        self._verdict = StatusLine(self.bar)
        self.columns = tuple(
            AnswerColumn(title, theme, font, self) for title in (self.tr("First answer"), self.tr("Second answer"))
        )
        self._columns_area = QWidget(self)
        self._columns_layout = QBoxLayout(QBoxLayout.Direction.LeftToRight, self._columns_area)
        self._lay_out(back)
        back.clicked.connect(self.closed)

    def show_verdict(self, text: str) -> None:
        """Show how the two compare; an empty text hides the line."""
        self._verdict.say(text)

    def set_actions_enabled(self, *, enabled: bool) -> None:
        """Enable or disable the buttons that write or choose an answer."""
        for part in (self.again, self.another_model, self.guessing, *(column.use for column in self.columns)):
            part.setEnabled(enabled)

    def chrome(self) -> tuple[QWidget, ...]:
        """Return the parts that take a style sheet: all except the answers."""
        bars = (column.transcript.verticalScrollBar() for column in self.columns)
        return (self.bar, *(column.head for column in self.columns), *bars)

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        for column in self.columns:
            column.transcript.apply_theme(theme, font)

    def set_origins_visible(self, visible: bool) -> None:
        for column in self.columns:
            column.transcript.set_origins_visible(visible)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < scaled(_NARROW, self.font())
        direction = QBoxLayout.Direction
        self._columns_layout.setDirection(direction.TopToBottom if narrow else direction.LeftToRight)

    def _lay_out(self, back: QToolButton) -> None:
        tools = flowing([back, self.again, self.another_model, self.guessing, self.marks], self.bar)
        bar = stacked(self.bar, tools, self._verdict, spacing=SMALL)
        bar.setContentsMargins(MEDIUM, SMALL, MEDIUM, SMALL)
        self._columns_area.setAutoFillBackground(True)
        self._columns_area.setBackgroundRole(QPalette.ColorRole.Mid)  # the line between the two
        self._columns_layout.setContentsMargins(0, 1, 0, 1)
        self._columns_layout.setSpacing(1)
        for column in self.columns:
            self._columns_layout.addWidget(column, 1)
        stacked(self, self.bar, self._columns_area, spacing=0, growing=self._columns_area)
