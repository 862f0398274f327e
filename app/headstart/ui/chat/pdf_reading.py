"""Has the text of one PDF file read by a process of its own. Knows no widget.

A file from anywhere may crash, stall or fill what reads it, and reading in a thread would hold up the window.
"""

import json
import sys
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, Signal, Slot

from headstart.chat.conversation import Attachment

_KILL_WAIT = 2000  # ms for the system to clear away a killed process


def command() -> tuple[str, ...]:
    """What prints the text of a PDF as JSON lines; `headstart` itself."""
    # -P: the current folder is the user's, and may hold a file named like a module.
    start = (sys.executable,) if getattr(sys, "frozen", False) else (sys.executable, "-P", "-m", "headstart")
    return (*start, "dev", "text", "--lines")


class PdfReading(QObject):
    """One reading from its start to its end. `read` or `failed` comes once, and neither after `cancel`."""

    progressed = Signal(int, int)  # pages read, pages
    read = Signal(object)  # Attachment
    failed = Signal(str)  # a sentence

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        """Nothing runs before `start`."""
        super().__init__(parent)
        self.path = path
        self._outcome: dict[str, str] = {}
        self._rest = b""
        self._process = QProcess(self)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.finished.connect(self._finish)
        self._process.errorOccurred.connect(self._note_error)

    def start(self, program: tuple[str, ...] | None = None) -> None:
        """Begin; `program` is another than the usual one."""
        words = program or command()
        self._process.start(words[0], [*words[1:], str(self.path.absolute())])

    def cancel(self) -> None:
        """End it at once and say nothing more."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.kill()
            self._process.waitForFinished(_KILL_WAIT)

    @Slot()
    def _read(self) -> None:
        *lines, self._rest = (self._rest + bytes(self._process.readAllStandardOutput().data())).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "page" in said:
                self.progressed.emit(said["page"], said["pages"])
            else:
                self._outcome = said

    @Slot(QProcess.ProcessError)
    def _note_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:  # the only one that `finished` does not follow
            self._fail()

    @Slot()
    def _finish(self) -> None:
        self._read()
        if "text" in self._outcome:
            self.read.emit(Attachment(self.path.name, self._outcome["text"]))
        else:
            self._fail()

    def _fail(self) -> None:
        unread = self.tr("{} could not be read to its end; save its text as a file and attach that.")
        self.failed.emit(self._outcome.get("error") or unread.format(self.path.name))
