"""A strip that shows how speculation does while an answer is written: six figures, each with a small drawing."""

from collections.abc import Iterable, Mapping

from PySide6.QtCore import QEvent
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QWidget

from headstart.engine.engine import Step
from headstart.ui.chat.live_figures import LiveFigures
from headstart.ui.spelling import decimal, listed, percent, titled, whole
from headstart.ui.widgets.elided_label import ElidedLabel
from headstart.ui.widgets.sparkline import Bars, ShareBar, Sparkline
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, TINY, Theme

_COLUMNS = (6, 3, 2)  # as many as find room for their words
_UNTOLD = "–"


class LivePanel(QFrame):
    """Knows no chat: it is given the steps of one answer."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAccessibleName(self.tr("Live figures"))
        self._theme = theme
        self._figures = LiveFigures()
        self._titles = (
            self.tr("Speed"),
            self.tr("Accepted"),
            self.tr("By position"),
            self.tr("Guessed ahead"),
            self.tr("Ledger (estimate)"),
            self.tr("Time"),
        )
        self._labels = [ElidedLabel(self) for _ in self._titles]
        self._lines = [Sparkline(theme.accent, top, self) for top in (0.0, 1.0, 16.0, 0.0)]
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
        self._figures = LiveFigures()
        self._show()

    def grow(self, steps: Iterable[Step]) -> None:
        """Further rounds of it."""
        self._figures.grow(steps)
        self._show()

    def end(self, *, repeats: bool) -> None:
        """The answer is complete. Nothing was saved on one that repeats itself."""
        if repeats:
            self._figures.disown()
            self._show()

    def set_theme(self, theme: Theme) -> None:
        """Other colours."""
        self._theme = theme
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

    def _heading(self, title: str) -> ElidedLabel:
        heading = ElidedLabel(self)
        heading.show_text(title)
        dress(heading, "muted")
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
            f"{percent(1)} → {percent(0.88)}",
            self.tr("{} tokens").format(whole(16)),
            self.tr("{} s saved").format(decimal(88.88, 2)),
            self._parted({"draft": 0.44, "verify": 0.44, "other": 0.12}),
        )
        metrics = self.fontMetrics()
        pairs = zip(self._titles, widest, strict=True)
        cells = [max(metrics.horizontalAdvance(text) for text in pair) + TINY for pair in pairs]
        return [max(cells[column::columns]) for column in range(columns)]

    def _show(self) -> None:
        figures, series = self._figures, self._theme.series
        texts = (
            self.tr("{} tokens/s").format(decimal(figures.speed[-1], 1)) if figures.speed else _UNTOLD,
            percent(figures.acceptance[-1]) if figures.acceptance else _UNTOLD,
            self._position_text(),
            self.tr("{} tokens").format(whole(figures.length[-1])) if figures.length else _UNTOLD,
            self._ledger_text(),
            self._time_text(),
        )
        notes = ("", "", "", "", self._ledger_note(), "")
        for label, title, text, note in zip(self._labels, self._titles, texts, notes, strict=True):
            label.show_text(text, note)
            label.setAccessibleName(titled(title, text))
        lines = (figures.speed, figures.acceptance, figures.length, figures.ledger)
        for line, values, origin in zip(self._lines, lines, ("target", "draft", "n-gram", "draft"), strict=True):
            line.show_figures(values, series[origin])
        self._bars.show_shares(figures.by_position(), series["draft"])
        self._bar.show_shares(figures.shares(), {part: series[part] for part in ("draft", "verify", "other")})

    def _position_text(self) -> str:
        """Of the first guess in a round, and of the last."""
        shares = self._figures.by_position()
        return " → ".join(dict.fromkeys(percent(share) for share in (*shares[:1], *shares[-1:]))) or _UNTOLD

    def _ledger_text(self) -> str:
        """Earned in the answer so far, those rounds included that are drawn no more."""
        if not self._figures.ledger:
            return _UNTOLD
        seconds = round(self._figures.ledger[-1] / 1000.0, 2)
        if not seconds:
            return self.tr("nothing yet")
        words = self.tr("{} s saved") if seconds > 0 else self.tr("{} s lost")
        return words.format(decimal(abs(seconds), 2))

    def _ledger_note(self) -> str:
        if self._figures.lacks_ledger:
            return self.tr("What writes this answer does not reckon what guessing saves.")
        return self.tr("Against plain decoding, in this answer so far, as the engine reckons it from its usual speed.")

    def _time_text(self) -> str:
        shares = self._figures.shares()
        return self._parted(shares) if shares else _UNTOLD

    def _parted(self, shares: Mapping[str, float]) -> str:
        names = {"draft": self.tr("draft"), "verify": self.tr("verify"), "other": self.tr("other")}
        return listed(f"{names[part]} {percent(share)}" for part, share in shares.items())
