"""A child process that writes lines."""

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

from headstart.library.exporter import kill

_GRACE_MS = 3000


@dataclass(frozen=True)
class Ending:
    code: int
    crashed: bool = False
    fault: str = ""  # why it could not be started

    @property
    def is_good(self) -> bool:
        return self.code == 0 and not self.crashed and not self.fault


class LineProcess(QObject):
    """A child process whose output arrives line by line; at most one runs at a time."""

    line_read = Signal(str)  # a line that is not blank
    ended = Signal(object)  # Ending

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._rest = ""
        self._grace = QTimer(self, singleShot=True, interval=_GRACE_MS)
        self._grace.timeout.connect(self.kill)

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int:
        """Process id; 0 if it was not started or is gone."""
        return int(self._process.processId()) if self._process else 0

    def start(self, command: Sequence[str], *, merged: bool = True) -> None:
        """Start a command; `ended` follows once. `merged`: read stderr too."""
        assert self._process is None, "one process at a time"
        self._rest = ""
        self._process = process = QProcess(self)
        modes = QProcess.ProcessChannelMode
        process.setProcessChannelMode(modes.MergedChannels if merged else modes.SeparateChannels)
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        process.start(command[0], list(command[1:]))

    def finish(self) -> None:
        """Close the standard input of the process, so that it comes to its end."""
        if self._process:
            self._process.closeWriteChannel()

    def interrupt(self) -> None:
        """Send Ctrl+C, so that the process cleans up, and kill it after a while. Windows has no Ctrl+C for a child."""
        if self._process is None:
            return
        if sys.platform == "win32" or not self.pid:
            self._process.terminate()
        else:
            os.kill(self.pid, signal.SIGINT)
        self._grace.start()

    @Slot()
    def kill(self) -> None:
        """Kill the process and what it has started."""
        if self._process:
            if self.pid:
                kill(self.pid)
            self._process.kill()

    def close(self) -> None:
        """Kill the process, wait for its end, and emit nothing. Only for a window that closes."""
        if self._process:
            self._process.blockSignals(True)  # noqa: FBT003 - Qt's own signature
            self.kill()
            self._process.waitForFinished(_GRACE_MS)
            self._process = None

    @Slot()
    def _read(self) -> None:
        assert self._process
        self._rest += bytes(self._process.readAllStandardOutput().data()).decode("utf-8", "replace")
        *lines, self._rest = self._rest.replace("\r", "\n").split("\n")
        for line in filter(str.strip, lines):
            self.line_read.emit(line.rstrip())

    @Slot(QProcess.ProcessError)
    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process:  # `finished` does not follow
            self._end(Ending(-1, fault=self._process.errorString()))

    @Slot(int, QProcess.ExitStatus)
    def _on_finished(self, code: int, status: QProcess.ExitStatus) -> None:
        self._read()
        if self._rest.strip():
            self.line_read.emit(self._rest.rstrip())
        self._end(Ending(code, crashed=status != QProcess.ExitStatus.NormalExit))

    def _end(self, ending: Ending) -> None:
        self._grace.stop()
        process, self._process = self._process, None
        if process:
            process.deleteLater()
        self.ended.emit(ending)
