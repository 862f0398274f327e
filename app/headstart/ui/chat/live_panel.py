"""The strip of six live figures, each with a small drawing."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QSizePolicy, QWidget

from headstart.engine.engine import Round, Step
from headstart.ui.chat.live_answer import REPEATS, Kept
from headstart.ui.formatting import decimal, listed, percent, titled, whole
from headstart.ui.widgets.labels import ElidedLabel
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, TINY, current

KEPT = 120  # rounds that are drawn
_WINDOW = 6  # rounds that a figure is the mean of


@dataclass
class LiveFigures:
    """Grows by steps; each series has a figure for every round, the newest last."""

    speed: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))  # tokens per second
    acceptance: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))  # share of the guesses
    length: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))  # guesses in the round
    ledger: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))  # ms earned so far; none where untold
    lacks_ledger: bool = False  # something came, and nobody reckons what it earned
    by_part: dict[str, float] = field(default_factory=lambda: {"draft": 0.0, "verify": 0.0, "other": 0.0})  # ms
    _reached: Counter[int] = field(default_factory=Counter)  # rounds in which the guess at a position was judged
    _held: Counter[int] = field(default_factory=Counter)  # and accepted
    _rounds: int = 0
    _reckoned: bool = False
    _recent: deque[Round] = field(default_factory=lambda: deque(maxlen=_WINDOW))

    def grow(self, steps: Iterable[Step]) -> None:
        """Add further rounds. Text left over at the end is no round."""
        for step in steps:
            self._reckoned = self._reckoned or step.round.ledger_ms is not None
            self.lacks_ledger = not self._reckoned
            if step.round.tokens:
                self._add(step.round)

    def shares(self) -> dict[str, float]:
        """Parts of the time, which together are 1; empty before there is any."""
        total = sum(self.by_part.values())
        return {part: spent / total for part, spent in self.by_part.items()} if total else {}

    def by_position(self) -> tuple[float, ...]:
        """For each position in a round: the share of guesses that held when all before them did."""
        return tuple(self._held[place] / self._reached[place] for place in range(len(self._reached)))

    def _add(self, made: Round) -> None:
        self._rounds += 1
        if self._rounds == 1:  # the first token comes with the prompt's own pass: its time says nothing of the speed
            return
        self._recent.append(made)
        self.by_part["draft"] += made.timing.draft_ms
        self.by_part["verify"] += made.timing.verify_ms
        self.by_part["other"] += made.timing.other_ms
        self.length.append(float(made.drafted))
        if made.ledger_ms is not None:
            self.ledger.append(made.ledger_ms)
        self._reached.update(range(min(made.drafted, made.accepted + 1)))
        self._held.update(range(made.accepted))
        spent = sum(each.timing.total_ms for each in self._recent)
        if spent:
            self.speed.append(1000.0 * sum(len(each.tokens) for each in self._recent) / spent)
        guessed = sum(each.drafted for each in self._recent)
        if guessed:
            self.acceptance.append(sum(each.accepted for each in self._recent) / guessed)


_HEIGHT = 26
_WIDEST_BAR = 12.0
_EDGE = 2.0


class Drawing(QWidget):
    """As low as a line of text and as wide as there is room."""

    usual_width = 120

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(self.usual_width, _HEIGHT)


class Sparkline(Drawing):
    """Figures from 0 to `top`, or to the largest of them; where some are below 0, from the least of them."""

    def __init__(self, colour: str, top: float = 0.0, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._colour, self._top = colour, top
        self._figures: tuple[float, ...] = ()

    def show_figures(self, figures: Sequence[float], colour: str) -> None:
        """Another line."""
        self._figures, self._colour = tuple(figures), colour
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002
        if len(self._figures) < 2:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        zero, *heights = self.heights((0.0, *self._figures))
        if zero < self.height() - _EDGE:
            painter.setPen(QPen(self.palette().mid(), 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(_EDGE, zero), QPointF(self.width() - _EDGE, zero))
        painter.setPen(QPen(QColor(self._colour), 1))  # wider antialiased lines cost fifty times as much
        step = (self.width() - 2 * _EDGE) / (len(heights) - 1)
        for first, second in pairwise(QPointF(_EDGE + at * step, height) for at, height in enumerate(heights)):
            painter.drawLine(first, second)
        painter.end()

    def heights(self, values: Sequence[float]) -> list[float]:
        """How far below its upper edge values are drawn."""
        least = min(*self._figures, 0.0)
        span = (self._top or max(*self._figures, 0.0)) - least or 1.0
        room = self.height() - 2 * _EDGE
        return [_EDGE + room * (1 - (value - least) / span) for value in values]


class Bars(Drawing):
    """Shares of 1, one bar beside the other."""

    usual_width = 80

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shares: tuple[float, ...] = ()
        self._colour = ""

    def show_shares(self, shares: Sequence[float], colour: str) -> None:
        """Other bars."""
        self._shares, self._colour = tuple(shares), colour
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002
        painter = QPainter(self)
        room = self.height() - 4
        width = min(self.width() / max(len(self._shares), 1), _WIDEST_BAR)
        for place, share in enumerate(self._shares):
            height = max(room * share, 1.0)
            left = self.width() - (place + 1) * width if self.isRightToLeft() else place * width
            bar = QRectF(left, 2 + room - height, width - 2, height)
            painter.fillRect(bar, QColor(self._colour))
        painter.end()


class ShareBar(Drawing):
    """One bar cut into parts, each in its colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shares: Mapping[str, float] = {}
        self._colours: Mapping[str, str] = {}

    def show_shares(self, shares: Mapping[str, float], colours: Mapping[str, str]) -> None:
        """Parts that together are 1."""
        self._shares, self._colours = shares, colours
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002
        painter = QPainter(self)
        painter.setPen(Qt.PenStyle.NoPen)
        left, height = 0.0, 8.0
        for name, share in self._shares.items():
            width = share * self.width()
            painter.setBrush(QColor(self._colours[name]))
            painter.drawRect(QRectF(left, (self.height() - height) / 2, width, height))
            left += width
        painter.end()


_COLUMNS = (6, 3, 2)  # as many as find room for their words
_UNTOLD = "–"
_LENGTH = "mean_length"  # guesses per step of a whole answer


class LivePanel(QFrame):
    """Knows no chat: it is given the steps of one answer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAccessibleName(self.tr("Live figures"))
        self._figures = LiveFigures()
        self._whole: Kept = {}  # the statistics of the whole answer, from its end on
        self._titles = (
            self.tr("Speed"),
            self.tr("Accepted"),
            self.tr("First / last guess"),
            self.tr("Guesses per step"),
            self.tr("Time saved (estimate)"),
            self.tr("Time spent"),
        )
        self._labels = [ElidedLabel(self) for _ in self._titles]
        self._lines = [Sparkline(current().accent, top, self) for top in (0.0, 1.0, 16.0, 0.0)]
        self._bars = Bars(self)
        self._bar = ShareBar(self)
        self._drawings: tuple[QWidget, ...] = (*self._lines[:2], self._bars, *self._lines[2:], self._bar)
        self._headings = [self._heading(title) for title in self._titles]
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(LARGE, 0, LARGE, SMALL)
        self._grid.setHorizontalSpacing(MEDIUM)
        self._grid.setVerticalSpacing(0)
        self._columns = 0
        self._arrange()
        self._show()

    def begin(self) -> None:
        """Another answer."""
        self._figures, self._whole = LiveFigures(), {}
        self._show()

    def grow(self, steps: Iterable[Step]) -> None:
        """Further rounds of it."""
        self._figures.grow(steps)
        self._show()

    def end(self, whole: Kept) -> None:
        """The answer is complete: show its own figures. Nothing was saved on one that repeats itself."""
        drafted, rounds = whole.get("drafted"), whole.get("rounds")
        mean = drafted / rounds if isinstance(drafted, int) and isinstance(rounds, int) and rounds else None
        self._whole = {**whole, _LENGTH: mean}
        if whole.get(REPEATS):
            self._figures.ledger.clear()
        self._show()

    def needed(self, columns: int) -> int:
        """How wide it must be for so many figures in a row."""
        return sum(self._widths(columns)) + (columns - 1) * MEDIUM + 2 * LARGE

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._arrange()
        elif event.type() == QEvent.Type.PaletteChange:
            self._show()

    def _heading(self, title: str) -> ElidedLabel:
        heading = ElidedLabel(self)
        heading.show_text(title)
        set_style_class(heading, "muted")
        return heading

    def _arrange(self) -> None:
        """In one row, or in several where the longest words would be cut."""
        columns = next((columns for columns in _COLUMNS if self.needed(columns) <= self.width()), _COLUMNS[-1])
        widths = [*self._widths(columns), *[0] * (_COLUMNS[0] - columns)]
        for column, width in enumerate(widths):
            self._grid.setColumnStretch(column, width)
        if columns != self._columns:
            self._columns = columns
            self._place(columns)

    def _place(self, columns: int) -> None:
        while self._grid.takeAt(0):
            pass
        for row in range(self._grid.rowCount()):
            self._grid.setRowMinimumHeight(row, 0)
        for number, cell in enumerate(zip(self._headings, self._labels, self._drawings, strict=True)):
            row, column = divmod(number, columns)
            top = row * (len(cell) + 1)
            if row:
                self._grid.setRowMinimumHeight(top - 1, SMALL)
            for line, widget in enumerate(cell):
                self._grid.addWidget(widget, top + line, column)

    def _widths(self, columns: int) -> list[int]:
        """Of the widest words in each column, whatever the figures are now."""
        widest = (
            self.tr("{} tokens/s").format(decimal(88.8, 1)),
            percent(1),
            self._pair((1.0, 0.88)),
            decimal(16.8, 1),
            self.tr("{} s lost").format(decimal(88.88, 2)),
            self._parted({"draft": 0.44, "verify": 0.44, "other": 0.12}),
        )
        metrics = self.fontMetrics()
        pairs = zip(self._titles, widest, strict=True)
        cells = [max(metrics.horizontalAdvance(text) for text in pair) + TINY for pair in pairs]
        return [max(cells[column::columns]) for column in range(columns)]

    def _show(self) -> None:
        figures, series = self._figures, current().series
        speed = self._figure("tokens_per_second", figures.speed)
        accepted = self._figure("acceptance_rate", figures.acceptance)
        length = self._figure(_LENGTH, figures.length)
        texts = (
            _UNTOLD if speed is None else self.tr("{} tokens/s").format(decimal(speed, 1)),
            _UNTOLD if accepted is None else percent(accepted),
            self._position_text(),
            _UNTOLD if length is None else decimal(length, 1),
            self._ledger_text(),
            self._time_text(),
        )
        for label, title, text, note in zip(self._labels, self._titles, texts, self._notes(), strict=True):
            label.show_text(text, note)
            label.setToolTip(note)
            label.setAccessibleName(titled(title, text))
        lines = (figures.speed, figures.acceptance, figures.length, figures.ledger)
        for line, values, origin in zip(self._lines, lines, ("target", "draft", "n-gram", "draft"), strict=True):
            line.show_figures(values, series[origin])
        self._bars.show_shares(figures.by_position(), series["draft"])
        self._bar.show_shares(figures.shares(), {part: series[part] for part in ("draft", "verify", "other")})

    def _figure(self, name: str, series: Sequence[float]) -> float | None:
        """Of the whole answer once it is complete, else of the last rounds; None where there is none."""
        found = self._whole.get(name)
        if isinstance(found, int | float):
            return float(found)
        return series[-1] if series else None

    def _notes(self) -> tuple[str, ...]:
        """What each figure means."""
        untold = self.tr("What writes this answer does not reckon what guessing saves.")
        reckoned = self.tr("Against writing without guessing, in this answer so far, as the engine reckons it.")
        return (
            self.tr("While the answer grows: of the last steps. At its end: of the whole answer."),
            self.tr("Share of the guesses that the model accepts."),
            self.tr("Share of the first guesses of a step that are accepted, and of the last ones."),
            self.tr("Tokens guessed before the model checks them all at once."),
            untold if self._figures.lacks_ledger else reckoned,
            self.tr("Guessing, checking the guesses, and the rest."),
        )

    def _position_text(self) -> str:
        """Of the first guess in a round, and of the last."""
        shares = self._figures.by_position()
        return self._pair((shares[0], shares[-1])) if shares else _UNTOLD

    def _pair(self, shares: tuple[float, float]) -> str:
        return self.tr("{first} / {last} %").format(first=whole(shares[0] * 100), last=whole(shares[1] * 100))

    def _ledger_text(self) -> str:
        """Earned in the answer so far, those rounds included that are drawn no more."""
        if not self._figures.ledger:
            return _UNTOLD
        seconds = round(self._figures.ledger[-1] / 1000.0, 2)
        if not seconds:
            return self.tr("nothing yet")
        words = self.tr("{} s") if seconds > 0 else self.tr("{} s lost")
        return words.format(decimal(abs(seconds), 2))

    def _time_text(self) -> str:
        shares = self._figures.shares()
        return self._parted(shares) if shares else _UNTOLD

    def _parted(self, shares: Mapping[str, float]) -> str:
        names = {"draft": self.tr("guess"), "verify": self.tr("check"), "other": self.tr("other")}
        return listed(f"{names[part]} {percent(share)}" for part, share in shares.items())
