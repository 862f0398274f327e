"""What the loading of a model is at, for how long it goes on, and how long it took last time, in words."""

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from headstart.engine.protocol import Loading, Phase
from headstart.ui.spelling import whole

_TICK = 1000  # ms: the seconds are shown


class LoadProgress(QObject):
    """One for each engine; says nothing while nothing is being loaded."""

    changed = Signal()  # the words differ: each second while something is being loaded

    def __init__(self, parent: QObject | None = None) -> None:
        """Nothing is being loaded."""
        super().__init__(parent)
        self._stage: Loading | None = None  # told last
        self._clock = QElapsedTimer()  # valid while a model is being loaded
        self._tick = QTimer(self, interval=_TICK)
        self._tick.timeout.connect(self.changed)

    @property
    def step(self) -> str:
        """All that is known."""
        if not self._clock.isValid():
            return ""
        step = self._words(self._stage.phase if self._stage else None)
        if self._stage is None or self._stage.expected is None:
            return self.tr("{step} · {time}").format(step=step, time=self.seconds)
        return self.tr("{step} · {time}, usually about {expected} s").format(
            step=step, time=self.seconds, expected=whole(max(1, self._stage.expected))
        )

    @property
    def seconds(self) -> str:
        """The time alone."""
        return self.tr("{} s").format(whole(self._clock.elapsed() // 1000)) if self._clock.isValid() else ""

    def note(self, stage: Loading | None) -> None:
        """How far it is; None where it begins."""
        if stage is None or not self._clock.isValid():
            self._clock.start()
            self._tick.start()
        self._stage = stage

    def end(self) -> None:
        """Nothing is being loaded any more."""
        self._clock.invalidate()
        self._tick.stop()

    def _words(self, phase: Phase | None) -> str:
        match phase:
            case Phase.SERVER:
                return self.tr("asking the other computer")
            case Phase.RUNTIME:
                return self.tr("starting OpenVINO")
            case Phase.PROOF:
                return self.tr("trying the precision")
            case Phase.MODEL:
                return self.tr("checking and compiling the model")
            case Phase.DRAFT:
                return self.tr("checking and compiling the draft model")
            case Phase.WARM_UP:
                return self.tr("warming up")
            case None:
                return self.tr("starting the engine")
