"""The strip of six live figures, each with a small chart."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QSizePolicy, QWidget

from headstart.engine.engine import Round, Step
from headstart.ui.formatting import decimal, listed, percent, titled, whole
from headstart.ui.transcript.live_answer import REPEATS, StoredStats
from headstart.ui.widgets.labels import ElidedLabel
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, TINY, current

MAX_ROUNDS = 120  # in a chart
_WINDOW = 6  # a figure is the mean of this number of rounds


@dataclass
class LiveFigures:
    """The figures of an answer that grows. Each series has one value per round, the newest last."""

    speed: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_ROUNDS))  # tokens per second
    acceptance: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_ROUNDS))  # share of the guesses, 0 to 1
    length: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_ROUNDS))  # guesses per round
    saved_ms: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_ROUNDS))  # so far; empty if unknown
    is_saving_unknown: bool = False  # rounds came without a figure of the time saved
    by_part: dict[str, float] = field(default_factory=lambda: {"draft": 0.0, "verify": 0.0, "other": 0.0})  # ms
    _reached: Counter[int] = field(default_factory=Counter)  # rounds that judged the guess at a position
    _accepted: Counter[int] = field(default_factory=Counter)  # rounds that accepted it
    _rounds: int = 0
    _reports_saving: bool = False
    _recent: deque[Round] = field(default_factory=lambda: deque(maxlen=_WINDOW))

    def grow(self, steps: Iterable[Step]) -> None:
        """Add further rounds. Text after the last round does not count."""
        for step in steps:
            self._reports_saving = self._reports_saving or step.round.ledger_ms is not None
            self.is_saving_unknown = not self._reports_saving
            if step.round.tokens:
                self._add(step.round)

    def shares(self) -> dict[str, float]:
        """Return the share of each part in the time spent; empty before the second round."""
        total = sum(self.by_part.values())
        return {part: spent / total for part, spent in self.by_part.items()} if total else {}

    def by_position(self) -> tuple[float, ...]:
        """Return, for each position in a round, the share of accepted guesses when all before were accepted."""
        return tuple(self._accepted[place] / self._reached[place] for place in range(len(self._reached)))

    def _add(self, round_: Round) -> None:
        self._rounds += 1
        if self._rounds == 1:  # the first token comes from the pass that reads the prompt
            return
        self._recent.append(round_)
        self.by_part["draft"] += round_.timing.draft_ms
        self.by_part["verify"] += round_.timing.verify_ms
        self.by_part["other"] += round_.timing.other_ms
        self.length.append(float(round_.drafted))
        if round_.ledger_ms is not None:
            self.saved_ms.append(round_.ledger_ms)
        self._reached.update(range(min(round_.drafted, round_.accepted + 1)))
        self._accepted.update(range(round_.accepted))
        total_ms = sum(round_.timing.total_ms for round_ in self._recent)
        if total_ms:
            self.speed.append(1000.0 * sum(len(round_.tokens) for round_ in self._recent) / total_ms)
        drafted = sum(round_.drafted for round_ in self._recent)
        if drafted:
            self.acceptance.append(sum(round_.accepted for round_ in self._recent) / drafted)


_HEIGHT, _MIN_HEIGHT = 26, 8
_MAX_BAR_WIDTH = 12.0
_EDGE = 2.0


class Chart(QWidget):
    """A chart as high as a line of text, or lower in a low window, and as wide as its room."""

    usual_width = 120

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)

    def sizeHint(self) -> QSize:
        return QSize(self.usual_width, _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, _MIN_HEIGHT)


class Sparkline(Chart):
    """A line from 0, or the lowest value below it, to `top`, or to the highest value if `top` is 0."""

    def __init__(self, colour: str, top: float = 0.0, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._colour, self._top = colour, top
        self._figures: tuple[float, ...] = ()

    def show_figures(self, figures: Sequence[float], colour: str) -> None:
        """Draw other values."""
        self._figures, self._colour = tuple(figures), colour
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
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
        """Return the y coordinates of values."""
        low = min(*self._figures, 0.0)
        span = (self._top or max(*self._figures, 0.0)) - low or 1.0
        room = self.height() - 2 * _EDGE
        return [_EDGE + room * (1 - (value - low) / span) for value in values]


class BarChart(Chart):
    """A bar for each of several shares, 0 to 1."""

    usual_width = 80

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shares: tuple[float, ...] = ()
        self._colour = ""

    def show_shares(self, shares: Sequence[float], colour: str) -> None:
        """Draw these shares instead of the last ones."""
        self._shares, self._colour = tuple(shares), colour
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        room = self.height() - 4
        width = min(self.width() / max(len(self._shares), 1), _MAX_BAR_WIDTH)
        for place, share in enumerate(self._shares):
            height = max(room * share, 1.0)
            left = self.width() - (place + 1) * width if self.isRightToLeft() else place * width
            bar = QRectF(left, 2 + room - height, width - 2, height)
            painter.fillRect(bar, QColor(self._colour))
        painter.end()


class ShareBar(Chart):
    """One bar divided into coloured parts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shares: Mapping[str, float] = {}
        self._colours: Mapping[str, str] = {}

    def show_shares(self, shares: Mapping[str, float], colours: Mapping[str, str]) -> None:
        """Draw these shares, whose sum is 1."""
        self._shares, self._colours = shares, colours
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setPen(Qt.PenStyle.NoPen)
        left, height = 0.0, 8.0
        for name, share in self._shares.items():
            width = share * self.width()
            painter.setBrush(QColor(self._colours[name]))
            painter.drawRect(QRectF(left, (self.height() - height) / 2, width, height))
            left += width
        painter.end()


_COLUMNS = (6, 3, 2)  # the first number that has room is used
_UNKNOWN = "–"
_LENGTH = "mean_length"  # guesses per step of the whole answer


class LivePanel(QFrame):
    """The figures of the answer that is being written, or of the last one.

    To start faster, it gets its parts when it is first shown.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAccessibleName(self.tr("Live figures"))
        self._figures = LiveFigures()
        self._whole: StoredStats = {}  # statistics of the whole answer, once it is complete
        self._titles = (
            self.tr("Speed"),
            self.tr("Accepted"),
            self.tr("Accepted by place"),
            self.tr("Proposed"),
            self.tr("Time saved (estimate)"),
            self.tr("Time spent"),
        )
        self._labels: list[ElidedLabel] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(LARGE, 0, LARGE, SMALL)
        self._grid.setHorizontalSpacing(MEDIUM)
        self._grid.setVerticalSpacing(0)
        self._columns = 0

    def begin(self) -> None:
        """Clear the figures for another answer."""
        self._figures, self._whole = LiveFigures(), {}
        self._show()

    def grow(self, steps: Iterable[Step]) -> None:
        """Show further rounds."""
        self._figures.grow(steps)
        self._show()

    def end(self, whole: StoredStats) -> None:
        """Show the figures of the complete answer, without the time saved if it repeats itself."""
        drafted, rounds = whole.get("drafted"), whole.get("rounds")
        mean = drafted / rounds if isinstance(drafted, int) and isinstance(rounds, int) and rounds else None
        self._whole = {**whole, _LENGTH: mean}
        if whole.get(REPEATS):
            self._figures.saved_ms.clear()
        self._show()

    def width_for(self, columns: int) -> int:
        """Return the width in pixels of a row with this number of figures."""
        return sum(self._widths(columns)) + (columns - 1) * MEDIUM + 2 * LARGE

    def showEvent(self, event: QShowEvent) -> None:
        if not self._labels:
            self._build()
            self._arrange()
        self._show()
        super().showEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._labels:
            self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if not self._labels:
            return
        if event.type() == QEvent.Type.FontChange:
            self._arrange()
        elif event.type() == QEvent.Type.PaletteChange:
            self._show()

    def _build(self) -> None:
        self._labels = [ElidedLabel(self) for _ in self._titles]
        self._lines = [Sparkline(current().accent, top, self) for top in (0.0, 1.0, 16.0, 0.0)]
        self._bars = BarChart(self)
        self._bar = ShareBar(self)
        self._charts: tuple[QWidget, ...] = (*self._lines[:2], self._bars, *self._lines[2:], self._bar)
        self._headings = [self._heading(title) for title in self._titles]

    def _heading(self, title: str) -> ElidedLabel:
        heading = ElidedLabel(self)
        heading.show_text(title)
        set_style_class(heading, "muted")
        return heading

    def _arrange(self) -> None:
        """Use one row, or several if the longest text would be cut."""
        columns = next((columns for columns in _COLUMNS if self.width_for(columns) <= self.width()), _COLUMNS[-1])
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
        for number, cell in enumerate(zip(self._headings, self._labels, self._charts, strict=True)):
            row, column = divmod(number, columns)
            top = row * (len(cell) + 1)
            if row:
                self._grid.setRowMinimumHeight(top - 1, SMALL)
            for line, widget in enumerate(cell):
                self._grid.addWidget(widget, top + line, column)

    def _widths(self, columns: int) -> list[int]:
        """Return the width of each column, from the widest texts that it may show."""
        widest = (
            self.tr("{} tokens/s").format(decimal(88.8, 1)),
            percent(1),
            self._pair_text((1.0, 0.88)),
            decimal(16.8, 1),
            self.tr("{} s").format(decimal(88.88, 2)),
            self._shares_text({"draft": 0.44, "verify": 0.44, "other": 0.12}),
        )
        metrics = self.fontMetrics()
        pairs = zip(self._titles, widest, strict=True)
        cells = [max(metrics.horizontalAdvance(text) for text in pair) + TINY for pair in pairs]
        return [max(cells[column::columns]) for column in range(columns)]

    def _show(self) -> None:
        """Show the figures, unless nobody sees them."""
        if not self.isVisible():
            return
        figures, series = self._figures, current().series
        positions, shares = figures.by_position(), figures.shares()
        speed = self._figure("tokens_per_second", figures.speed)
        accepted = self._figure("acceptance_rate", figures.acceptance)
        length = self._figure(_LENGTH, figures.length)
        texts = (
            _UNKNOWN if speed is None else self.tr("{} tokens/s").format(decimal(speed, 1)),
            _UNKNOWN if accepted is None else percent(accepted),
            self._pair_text((positions[0], positions[-1])) if positions else _UNKNOWN,
            _UNKNOWN if length is None else decimal(length, 1),
            self._saved_text(),
            self._shares_text(shares) if shares else _UNKNOWN,
        )
        for label, title, text, note in zip(self._labels, self._titles, texts, self._notes(), strict=True):
            label.show_text(text, note)
            label.setToolTip(note)
            label.setAccessibleName(titled(title, text))
        lines = (figures.speed, figures.acceptance, figures.length, figures.saved_ms)
        for line, values, origin in zip(self._lines, lines, ("target", "draft", "n-gram", "draft"), strict=True):
            line.show_figures(values, series[origin])
        self._bars.show_shares(positions, series["draft"])
        self._bar.show_shares(shares, {part: series[part] for part in ("draft", "verify", "other")})

    def _figure(self, name: str, series: Sequence[float]) -> float | None:
        """Return the figure of the complete answer, else the last of `series`; None if there is neither."""
        value = self._whole.get(name)
        if isinstance(value, int | float):
            return float(value)
        return series[-1] if series else None

    def _notes(self) -> tuple[str, ...]:
        """Return the meaning of each figure."""
        unknown = self.tr("The program that writes this answer does not report what the speed-up saves.")
        estimate = self.tr("Compared with writing token by token, as estimated for this answer so far.")
        return (
            self.tr("While the answer grows: of the last steps. At its end: of the whole answer."),
            self.tr("How many of the proposed tokens the model accepts."),
            self.tr("How often the first token proposed in a step is accepted, and how often the last one."),
            self.tr("Tokens proposed in each step, before the model checks them all at once."),
            unknown if self._figures.is_saving_unknown else " ".join(filter(None, (estimate, self._loss_text()))),
            self.tr("Proposing, checking, and the rest."),
        )

    def _pair_text(self, shares: tuple[float, float]) -> str:
        return self.tr("first {first} %, last {last} %").format(
            first=whole(shares[0] * 100), last=whole(shares[1] * 100)
        )

    def _saved_text(self) -> str:
        """Return the time saved since the answer began."""
        if not self._figures.saved_ms:
            return _UNKNOWN
        seconds = round(self._figures.saved_ms[-1] / 1000.0, 2)
        if seconds > 0:
            return self.tr("{} s").format(decimal(seconds, 2))
        return self.tr("none") if self._whole else self.tr("none yet")

    def _loss_text(self) -> str:
        """Return a sentence if proposing took longer than it saved."""
        seconds = round(self._figures.saved_ms[-1] / 1000.0, 2) if self._figures.saved_ms else 0.0
        return self.tr("Proposing took {} s more than it saved.").format(decimal(-seconds, 2)) if seconds < 0 else ""

    def _shares_text(self, shares: Mapping[str, float]) -> str:
        names = {"draft": self.tr("propose"), "verify": self.tr("check"), "other": self.tr("other")}
        return listed(f"{names[part]} {percent(share)}" for part, share in shares.items())
