"""Orders of tuning as methods, what is told of it as a signal; one tuning at a time. Knows no process."""

import itertools
from collections.abc import Iterator

from PySide6.QtCore import QObject, Signal

from headstart.engine.engine import LoadOptions
from headstart.engine.protocol import Cancel, Order
from headstart.engine.tuning.messages import (
    ForgetTuned,
    RecallTuned,
    Tune,
    TunedKnown,
    TuneEnded,
    TuneReport,
    TuneWish,
)

ASIDES = (RecallTuned.__name__, ForgetTuned.__name__)  # asked beside other work


class TuneLink(QObject):
    """`due` has what is to be sent; late reports of other tunings are dropped."""

    due = Signal(object)  # Order
    told = Signal(object)  # TuneReport; TuneEnded is a tuning's last unless the engine fails or dies

    def __init__(self, numbers: Iterator[int] | None = None, parent: QObject | None = None) -> None:
        """`numbers` gives tickets that nothing else bears."""
        super().__init__(parent)
        self._numbers = numbers or itertools.count(1)
        self._running: int | None = None
        self._asked: int | None = None  # the latest question of what is known

    def begin(self, wish: TuneWish) -> int:
        """Tune; the ticket that every report bears."""
        assert self._running is None, "one tuning at a time"
        self._running = next(self._numbers)
        self._order(Tune(self._running, wish))
        return self._running

    def stop(self) -> None:
        """End it; TuneEnded without findings follows."""
        if self._running is not None:
            self._order(Cancel(self._running))

    def recall(self, load: LoadOptions) -> None:
        """Ask what counts for these models; TunedKnown follows."""
        self._asked = next(self._numbers)
        self._order(RecallTuned(self._asked, load))

    def forget(self, load: LoadOptions) -> None:
        """Drop what counts for them; TunedKnown follows."""
        self._asked = next(self._numbers)
        self._order(ForgetTuned(self._asked, load))

    def take(self, report: TuneReport) -> None:
        """What the engine says of it."""
        if report.ticket != (self._asked if isinstance(report, TunedKnown) else self._running):
            return
        if isinstance(report, TuneEnded):
            self._running = None
        self.told.emit(report)

    def note_failure(self) -> None:
        """The tuning is over, and who has to know does."""
        self._running = None

    def drop(self) -> None:
        """The engine will have another task: end without findings."""
        if self._running is not None:
            self.take(TuneEnded(self._running, None))

    def _order(self, order: Order) -> None:
        self.due.emit(order)
