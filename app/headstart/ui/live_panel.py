"""A strip that shows how speculation does while an answer is written: six figures, each with a small drawing."""

from collections.abc import Iterable

from PySide6.QtWidgets import QFrame, QGridLayout, QWidget

from headstart.engine.engine import Step
from headstart.ui.elided_label import ElidedLabel
from headstart.ui.live_figures import LiveFigures
from headstart.ui.sparkline import Bars, ShareBar, Sparkline
from headstart.ui.spelling import decimal, listed, percent, titled, whole
from headstart.ui.stylesheet import dress
from headstart.ui.theme import LARGE, SMALL, Theme

_WIDTHS = (3, 2, 3, 3, 4, 6)  # the last of them has three figures
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
        self._lay_out()
        self._show()

    def begin(self) -> None:
        """Another answer."""
        self._figures = LiveFigures()
        self._show()

    def grow(self, steps: Iterable[Step]) -> None:
        """Further rounds of it."""
        self._figures.grow(steps)
        self._show()

    def set_theme(self, theme: Theme) -> None:
        """Other colours."""
        self._theme = theme
        self._show()

    def _lay_out(self) -> None:
        speed, accepted, length, ledger = self._lines
        grid = QGridLayout(self)
        grid.setContentsMargins(LARGE, 0, LARGE, SMALL)
        grid.setHorizontalSpacing(LARGE)
        grid.setVerticalSpacing(0)
        for column, drawing in enumerate((speed, accepted, self._bars, length, ledger, self._bar)):
            heading = ElidedLabel(self)
            heading.show_text(self._titles[column])
            dress(heading, "muted")
            grid.addWidget(heading, 0, column)
            grid.addWidget(self._labels[column], 1, column)
            grid.addWidget(drawing, 2, column)
            grid.setColumnStretch(column, _WIDTHS[column])

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
        if not shares:
            return _UNTOLD
        names = {"draft": self.tr("draft"), "verify": self.tr("verify"), "other": self.tr("other")}
        return listed(f"{names[part]} {percent(share)}" for part, share in shares.items())
