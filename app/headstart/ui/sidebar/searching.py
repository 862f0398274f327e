"""Searches the history in a thread of its own, so that the window never waits; the newest query wins. No widget."""

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QThread, Signal, Slot

from headstart.chat.cipher import Key
from headstart.chat.reader import Hit, Reader, open_reader
from headstart.errors import HistoryError
from headstart.ui.fault_words import said

_AT_ONCE = 25  # hits shown together: more than a sidebar has room for


@dataclass(frozen=True)
class Findings:
    """What a search has found so far."""

    query: str
    hits: tuple[Hit, ...]
    is_complete: bool


class Searching(QObject):
    """`found` follows every `begin` that no other one overtakes, several times where there is much to find."""

    found = Signal(object)  # Findings
    troubled = Signal(str)
    _ordered = Signal(int, str, str)

    def __init__(self, folder: Path, parent: QObject | None = None, key: Key | None = None) -> None:
        """`folder` has the history, `key` is what it is encrypted with; the first search starts the thread."""
        super().__init__(parent)
        self._number = 0
        self._seeker = _Seeker(folder, key)
        self._thread = QThread(self)
        self._seeker.moveToThread(self._thread)
        self._ordered.connect(self._seeker.search)
        self._seeker.found.connect(self._take)
        self._seeker.failed.connect(self._take_fault)
        # In the thread itself: only there may its connection be closed.
        self._thread.finished.connect(self._seeker.close, Qt.ConnectionType.DirectConnection)

    def begin(self, query: str, tag: str = "") -> None:
        """Search, with a tag only in chats that have it; what is being searched for now is given up."""
        self.forget()
        if not self._thread.isRunning():
            self._thread.start()
        self._ordered.emit(self._number, query, tag)

    def forget(self) -> None:
        """Nothing is searched for any more."""
        self._number += 1
        self._seeker.give_up(self._number)

    def close(self) -> None:
        """End the thread; harmless twice."""
        self.forget()
        self._thread.quit()
        self._thread.wait()

    @Slot(int, object)
    def _take(self, number: int, findings: Findings) -> None:
        if number == self._number:
            self.found.emit(findings)

    @Slot(int, str)
    def _take_fault(self, number: int, sentence: str) -> None:
        if number == self._number:
            self.troubled.emit(sentence)


class _Seeker(QObject):
    """Lives in the thread; only `give_up` is called from another."""

    found = Signal(int, object)
    failed = Signal(int, str)

    def __init__(self, folder: Path, key: Key | None) -> None:
        super().__init__()
        self._folder, self._key = folder, key
        self._reader: Reader | None = None
        self._newest = 0

    def give_up(self, newest: int) -> None:
        """All searches before this number are of no interest."""
        self._newest = newest
        if self._reader:
            self._reader.interrupt()

    @Slot(int, str, str)
    def search(self, number: int, query: str, tag: str) -> None:
        """Tell what is found, as long as nobody asks for something else."""
        if number != self._newest:
            return
        try:
            self._search(number, query, tag)
        except HistoryError as error:
            self.failed.emit(number, said(error))

    @Slot()
    def close(self) -> None:
        """Let go of the file."""
        if self._reader:
            self._reader.close()
            self._reader = None

    def _search(self, number: int, query: str, tag: str) -> None:
        self._reader = self._reader or open_reader(self._folder, self._key)
        hits: list[Hit] = []
        for find in (self._reader.title_hits, self._reader.message_hits, self._reader.file_hits):
            for hit in find(query, tag=tag):
                hits.append(hit)
                if len(hits) % _AT_ONCE == 0:
                    self.found.emit(number, Findings(query, tuple(hits), is_complete=False))
            if number != self._newest:
                return
        self.found.emit(number, Findings(query, tuple(hits), is_complete=True))
