"""Writes chats as PDF files bit by bit, between what the window has to do. Knows no chat and no widget."""

import time
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from headstart.chat.exchange.writing import write_export
from headstart.errors import HeadstartError
from headstart.ui.exchange.pdf_export import Working
from headstart.ui.fault_words import said

_SLICE = 0.012  # seconds of work before the window gets its turn


class PdfSaving(QObject):
    """One file at a time."""

    began = Signal(str)  # name of the file
    progressed = Signal(object, object)  # done, of how many
    ended = Signal()
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        """Nothing is written yet."""
        super().__init__(parent)
        self._work: Working | None = None
        self._path = Path()
        self._turns = QTimer(self)
        self._turns.timeout.connect(self._go_on)

    @property
    def is_busy(self) -> bool:
        """Whether a file is being written."""
        return self._work is not None

    def start(self, work: Working, path: Path) -> None:
        """Write what `work` makes; `ended` follows, after `failed` where it could not be."""
        assert not self.is_busy, "the caller looks first"
        self._work, self._path = work, path
        self._turns.start(0)
        self.began.emit(path.name)

    @Slot()
    def cancel(self) -> None:
        """Give the file up; nothing of it was written."""
        if self._work:
            self._work.close()
            self._end()

    @Slot()
    def _go_on(self) -> None:
        assert self._work
        until, share = time.perf_counter() + _SLICE, 0.0
        try:
            while time.perf_counter() < until:
                share = next(self._work)
        except StopIteration as end:
            self._write(end.value)
        else:
            self.progressed.emit(round(share * 1000), 1000)

    def _write(self, content: bytes) -> None:
        try:
            write_export(self._path, content)
        except HeadstartError as error:
            self.failed.emit(said(error))
        self._end()

    def _end(self) -> None:
        self._work = None
        self._turns.stop()
        self.ended.emit()
