"""One lane of a race: an answer as it streams, with its clock, its speed and how far it is. Knows no engine."""

from collections.abc import Iterable

from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QProgressBar, QVBoxLayout, QWidget

from headstart.engine.engine import Step
from headstart.ui.spelling import decimal
from headstart.ui.widgets import theme as looks
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY, Theme

_TEXT_HEIGHT = 110  # pixels, at least
_PARTS = 1000  # of the bar


class RaceLane(QFrame):
    """Shows what it is given; colours tokens by who proposed them."""

    def __init__(self, title: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self.setAccessibleName(title)
        self._theme = theme
        self._runs: list[tuple[str, str]] = []
        self.tokens = 0
        self._title = QLabel(title, self)
        self.clock = QLabel(self)
        self._speed = QLabel(self)
        self._bar = QProgressBar(self)
        self.text = QPlainTextEdit(self)
        self._lay_out(title)
        self.clear()

    def clear(self) -> None:
        """Back to the start."""
        self._runs.clear()
        self.tokens = 0
        self.text.clear()
        self.clock.setText("–")
        self._speed.setText(self.tr("not started"))
        self.show_share(0.0)

    def grow(self, steps: Iterable[Step]) -> None:
        """Further rounds."""
        for step in steps:
            self.tokens += len(step.round.tokens)
            for piece in step.pieces:
                self._runs.append((piece.text, piece.origin.value))
                self._append(piece.text, piece.origin.value)
        bar = self.text.verticalScrollBar()
        bar.setValue(bar.maximum())

    def show_time(self, milliseconds: float, tokens_per_second: float | None) -> None:
        """The clock, and the speed so far where there is one."""
        self.clock.setText(self.tr("{} s").format(decimal(milliseconds / 1000, 2)))
        words = [self.tr("{} tokens").format(self.tokens)]
        if tokens_per_second is not None:
            words.insert(0, self.tr("{} tokens/s").format(decimal(tokens_per_second, 1)))
        self._speed.setText(" · ".join(words))

    def show_share(self, done: float) -> None:
        """How much of the way is done, 0 to 1."""
        self._bar.setValue(round(done * _PARTS))

    def set_theme(self, theme: Theme) -> None:
        """The same text in other colours."""
        self._theme = theme
        font = QFont(self.font())
        font.setFamilies(looks.mono_families())
        self.text.setFont(font)
        big = QFont(self.font())
        big.setPointSizeF(self.font().pointSizeF() * 1.8)
        big.setBold(True)
        self.clock.setFont(big)
        self.text.clear()
        for text, origin in self._runs:
            self._append(text, origin)

    def _append(self, text: str, origin: str) -> None:
        form = QTextCharFormat()
        form.setForeground(QColor(self._theme.text))
        if mark := self._theme.origins.get(origin):
            form.setBackground(QColor(mark.background))
            form.setUnderlineStyle(mark.underline)
            form.setUnderlineColor(QColor(mark.line))
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(text, form)

    def _lay_out(self, title: str) -> None:
        self.text.setReadOnly(True)
        self.text.setUndoRedoEnabled(False)
        self.text.setAccessibleName(self.tr("Text of: {}").format(title))
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setMinimumHeight(_TEXT_HEIGHT)
        self._bar.setRange(0, _PARTS)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Progress of: {}").format(title))
        dress(self._title, "section")
        dress(self._speed, "muted")
        self._speed.setWordWrap(True)  # or two lanes need more than a narrow window has
        names = QVBoxLayout()
        names.setSpacing(TINY)
        names.addWidget(self._title)
        names.addWidget(self._speed)
        head = QHBoxLayout()
        head.addLayout(names, 1)
        head.addWidget(self.clock)
        column = QVBoxLayout(self)
        column.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, SMALL)
        column.setSpacing(SMALL)
        column.addLayout(head)
        column.addWidget(self._bar)
        column.addWidget(self.text, 1)
