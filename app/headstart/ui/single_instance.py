"""One window for each world of chats: a second start raises the first one, may hand it a file, and ends.

Knows no window.
"""

import hashlib
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_CONNECT_MS = 800
_RAISE, _OPEN = b"raise\n", b"open\0"


class SingleInstance(QObject):
    """Holds a lock file in `folder` while it lives."""

    raise_requested = Signal()
    open_requested = Signal(str)  # the path of a file with chats

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        """Takes nothing yet."""
        super().__init__(parent)
        folder.mkdir(parents=True, exist_ok=True)
        # Unix sockets allow about a hundred characters, and folders may have more. A folder may have several paths.
        self._name = f"headstart-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}"
        self._lock = QLockFile(str(folder / "window.lock"))
        self._lock.setStaleLockTime(0)  # a window may be open for weeks; one that died is noticed by its process id
        self._server = QLocalServer(self)
        self._server.newConnection.connect(self._take)

    def claim(self, file: Path | None = None) -> bool:
        """Whether this is the only window; if not, the other one is asked to come to the front and to open `file`."""
        if not self._lock.tryLock(0):
            self._call(_OPEN + str(file).encode("utf-8", "surrogateescape") if file else _RAISE)
            return False
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(self._name)
        self._server.listen(self._name)
        return True

    def release(self) -> None:
        """The window closes."""
        self._server.close()
        self._lock.unlock()

    def _call(self, message: bytes) -> None:
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if socket.waitForConnected(_CONNECT_MS):
            socket.write(message)
            socket.waitForBytesWritten(_CONNECT_MS)
            socket.disconnectFromServer()

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
