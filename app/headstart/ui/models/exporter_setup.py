"""Sets the exporter up when a person asks for it, on a thread of its own."""

from PySide6.QtCore import QT_TRANSLATE_NOOP, QObject, QThreadPool, Signal, Slot

from headstart import exporter
from headstart.ui.background_task import BackgroundTask
from headstart.ui.translation import translate

_GRACE_MS = 3000
_STEPS = (
    QT_TRANSLATE_NOOP("ExporterSetup", "Looking for Python"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Making an environment for it"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Asking what is to be fetched"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Looking for {}"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Fetching {}"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Fetching {} ({})"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Unpacking {} packages, which takes some minutes"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Trying it"),
)


class ExporterSetup(QObject):
    """One at a time."""

    said = Signal(str)  # a line
    stepped = Signal(str)  # what is done now
    progressed = Signal(object, object)  # bytes of this file, of how many
    ended = Signal(bool, str)  # whether it can be used, and if not why

    def __init__(self, parent: QObject | None = None) -> None:
        """Runs nothing yet."""
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._setup: exporter.SetUp | None = None
        self._sweeping: BackgroundTask | None = None

    @property
    def is_running(self) -> bool:
        """Whether one goes on."""
        return self._setup is not None

    def start(self) -> None:
        """Look for a Python, make an environment with it, fetch the packages and try them."""
        assert not self.is_running, "one set-up at a time"
        setup = self._setup = exporter.SetUp(self)
        task = BackgroundTask(lambda _: setup.run(), self)
        task.done.connect(self._note_done)
        task.failed.connect(self._note_failure)
        task.start(self._pool)

    def cancel(self) -> None:
        """End it; `ended` follows."""
        if self._setup:
            self._setup.cancel()

    def close(self) -> None:
        """The window closes: the processes end, and what is left is removed when the page is shown the next time."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self.cancel()
        if self._sweeping:
            self._sweeping.cancel()
        self._pool.waitForDone(_GRACE_MS)

    def sweep(self) -> None:
        """Remove what one that was cut short has left, on a thread of its own."""
        if not self.is_running and exporter.has_remains():
            self._sweeping = BackgroundTask(_sweep, self)
            self._sweeping.start(self._pool)

    def note_line(self, line: str) -> None:
        """From the thread of the set-up, as the next two."""
        self.said.emit(line)

    def note_step(self, template: str, *values: object) -> None:
        """In the window's language."""
        self.stepped.emit(translate("ExporterSetup", template).format(*values))

    def note_progress(self, done: int, total: int) -> None:
        """Bytes of a file."""
        self.progressed.emit(done, total)

    @Slot(object)
    def _note_done(self, _: object) -> None:
        self._setup = None
        self.ended.emit(True, "")  # noqa: FBT003 - Qt's own signature

    @Slot(str)
    def _note_failure(self, sentence: str) -> None:
        self._setup = None
        self.ended.emit(False, sentence)  # noqa: FBT003 - Qt's own signature
        self.sweep()


def _sweep(task: BackgroundTask) -> None:
    exporter.sweep(lambda: not task.is_cancelled)
