"""Plays two recorded lanes at once, at the times that were measured. Measures nothing."""

from collections.abc import Sequence

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal, Slot

from headstart.ui.performance.race_lane import RaceLane
from headstart.ui.performance.race_record import Lane

_TICK = 33  # ms


class Replay(QObject):
    """One for the page; `start` begins anew."""

    ended = Signal()

    def __init__(self, views: Sequence[RaceLane], parent: QObject | None = None) -> None:
        """`views` show the lanes in the order in which `start` gets them."""
        super().__init__(parent)
        self._views = tuple(views)
        self._lanes: tuple[Lane, ...] = ()
        self._moments: list[tuple[float, ...]] = []
        self._shown: list[int] = []
        self._clock = QElapsedTimer()
        self._tick = QTimer(self, interval=_TICK)
        self._tick.timeout.connect(self._advance)

    @property
    def is_running(self) -> bool:
        """Whether something moves."""
        return self._tick.isActive()

    def start(self, lanes: Sequence[Lane]) -> None:
        """Play from the beginning."""
        self._lanes = tuple(lanes)
        self._moments = [lane.moments for lane in lanes]
        self._shown = [0] * len(lanes)
        for view in self._views:
            view.clear()
        self._clock.start()
        self._tick.start()

    def stop(self) -> None:
        """Leave everything as it stands."""
        self._tick.stop()

    def finish(self) -> None:
        """Show the end at once."""
        self._show(max((lane.total_ms for lane in self._lanes), default=0.0))
        self._tick.stop()

    @Slot()
    def _advance(self) -> None:
        now = float(self._clock.elapsed())
        self._show(now)
        if all(now >= lane.total_ms for lane in self._lanes):
            self._tick.stop()
            self.ended.emit()

    def _show(self, now: float) -> None:
        for index, (view, lane) in enumerate(zip(self._views, self._lanes, strict=True)):
            first, moments = self._shown[index], self._moments[index]
            is_over = now >= lane.total_ms
            upto = len(moments) if is_over else sum(moment <= now for moment in moments)
            view.grow(lane.steps[first:upto])
            self._shown[index] = upto
            view.show_time(min(now, lane.total_ms), _speed(lane, view.tokens, now))
            view.show_share(view.tokens / lane.tokens if lane.tokens else 1.0)


def _speed(lane: Lane, tokens: int, now: float) -> float | None:
    """Tokens per second after the first one, up to `now`."""
    if now >= lane.total_ms:
        return lane.finish.stats.tokens_per_second
    spent = now - lane.finish.stats.ttft_ms
    return (tokens - 1) * 1000.0 / spent if tokens > 1 and spent > 0 else None
