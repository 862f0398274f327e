"""One window for each world of chats: a second start raises the first one, may hand it a file, and ends.

Knows no window.
"""

import contextlib
import hashlib
import logging
import time
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from headstart import own_folder

_CONNECT_MS = 800
_BEING_WRITTEN = 0.2  # seconds in which a lock file may be empty because its owner has just made it
_log = logging.getLogger(__name__)
_RAISE, _OPEN = b"raise\n", b"open\0"


class SingleInstance(QObject):
    """Holds a lock file in `folder` while it lives."""

    raise_requested = Signal()
    open_requested = Signal(str)  # the path of a file with chats

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        """Takes nothing yet."""
        super().__init__(parent)
        with contextlib.suppress(OSError):  # told by whoever opens the history in there
            own_folder.make(folder)
        # Unix sockets allow about a hundred characters, and folders may have more. A folder may have several paths.
        self._name = f"headstart-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}"
        self._lock = QLockFile(str(folder / "window.lock"))
        self._lock.setStaleLockTime(0)  # a window may be open for weeks; one that died is noticed by its process id
        self._server = QLocalServer(self)
        self._server.newConnection.connect(self._take)

    def claim(self, file: Path | None = None) -> bool:
        """Whether this is the only window; if not, the other one is asked to come to the front and to open `file`.

        Asked again it tries again: a folder that cannot be written has room for no lock, and hinders no start.
        """
        if self._server.isListening():  # it was, while the folder had room for no lock or had one for us
            return self._lock.isLocked() or self._lock.tryLock(0) or not self._is_held()
        if not self._take_lock(file):
            return False
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(self._name)
        self._server.listen(self._name)
        return True

    def release(self) -> None:
        """The window closes."""
        self._server.close()
        self._lock.unlock()

    def _take_lock(self, file: Path | None) -> bool:
        """Also where there can be no lock and nobody answers."""
        if self._lock.tryLock(0):
            return True
        is_held, fault = self._is_held(), self._lock.error()
        if self._call(_OPEN + str(file).encode("utf-8", "surrogateescape") if file else _RAISE):
            return False
        if not is_held:
            _log.warning("no lock in %s: %s", self._lock.fileName(), fault.name)
            return True
        return self._take_torn_lock()

    def _is_held(self) -> bool:
        """Whether somebody else has it, rather than that none can be had."""
        return self._lock.error() == QLockFile.LockError.LockFailedError

    def _take_torn_lock(self) -> bool:
        """A power cut may leave the file without its content, which to Qt is a lock for ever."""
        time.sleep(_BEING_WRITTEN)
        if self._owner():
            return False
        _log.warning("%s says nobody's name; it is taken over", self._lock.fileName())
        return self._lock.removeStaleLockFile() and self._lock.tryLock(0)

    def _owner(self) -> int:
        """The process that the file names; 0 where it names none."""
        with contextlib.suppress(OSError, ValueError):
            return int(Path(self._lock.fileName()).read_text(encoding="utf-8").partition("\n")[0])
        return 0

    def _call(self, message: bytes) -> bool:
        """Whether somebody was there to hear it."""
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(_CONNECT_MS):
            return False
        socket.write(message)
        socket.waitForBytesWritten(_CONNECT_MS)
        socket.disconnectFromServer()
        return True

    @Slot()
    def _take(self) -> None:
        while socket := self._server.nextPendingConnection():
            socket.disconnected.connect(self._read)
            self.raise_requested.emit()

    @Slot()
    def _read(self) -> None:
        socket = self.sender()
        assert isinstance(socket, QLocalSocket)
        message = bytes(socket.readAll().data())
        socket.deleteLater()
        if message.startswith(_OPEN):
            self.open_requested.emit(message.removeprefix(_OPEN).decode("utf-8", "surrogateescape"))
