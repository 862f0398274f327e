"""The speech of the desktop: speech-dispatcher, by its protocol SSIP."""

import os
import re
import shutil
from collections import deque
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, Signal, Slot
from PySide6.QtNetwork import QLocalSocket

PROGRAM = "speech-dispatcher"
_BEGIN = (
    "SET SELF CLIENT_NAME user:headstart:answers",
    "SET SELF NOTIFICATION END ON",
    "SET SELF NOTIFICATION CANCEL ON",
    "SET SELF PRIORITY MESSAGE",
)
_REPLY = re.compile(r"(\d{3})([ -])(.*)")  # the last line of a reply has a space
_SPEAK, _CANCEL = "SPEAK", "CANCEL SELF"
_READY, _QUEUED = 230, 225  # replies: the text may come, the text was taken
_EVENTS, _ENDED, _CANCELLED = 700, 702, 703


class Voice(QObject):
    """Speaks one sentence at a time. It connects, and starts the service if need be, with the first one."""

    ended = Signal()  # the sentence was spoken
    cancelled = Signal()  # somebody else has silenced it
    failed = Signal()  # there is no service, or it has no voice

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._socket = QLocalSocket(self)
        self._spawning: QProcess | None = None
        self._rest = b""
        self._orders: deque[tuple[str, str]] = deque()  # with the text of SPEAK; the first one waits for its reply
        self._reply: list[str] = []  # lines of the reply or event that is being read
        self._message: str | None = None  # id of the sentence that is spoken
        self._socket.connected.connect(self._on_connected)
        self._socket.readyRead.connect(self._read)
        self._socket.errorOccurred.connect(self._on_error)

    def say(self, text: str, language: str, rate: int) -> None:
        """Speak a sentence; `ended` follows. `language` is as in "en", `rate` from -100 to 100."""
        lines = [f".{line}" if line.startswith(".") else line for line in text.splitlines()]
        self._order(f"SET SELF LANGUAGE {language}")
        self._order(f"SET SELF RATE {rate}")
        self._order(_SPEAK, "\r\n".join([*lines, "."]))
        if self._socket.state() is QLocalSocket.LocalSocketState.UnconnectedState and self._spawning is None:
            self._connect()

    def stop(self) -> None:
        """Stop at once."""
        if self._is_connected:
            self._message = None
            self._order(_CANCEL)
        else:
            self._orders.clear()

    def close(self) -> None:
        """Stop, and close the connection to the service."""
        self._socket.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        if self._is_connected:
            self._socket.write(f"{_CANCEL}\r\n".encode())
            self._socket.flush()
        self._socket.abort()
        self._socket.blockSignals(False)  # noqa: FBT003
        self._orders.clear()
        self._reply.clear()
        self._rest, self._message, self._spawning = b"", None, None

    @property
    def _is_connected(self) -> bool:
        return self._socket.state() is QLocalSocket.LocalSocketState.ConnectedState

    @Slot()
    def _connect(self) -> None:
        self._socket.connectToServer(str(_address()))

    @Slot()
    def _on_connected(self) -> None:
        self._spawning = None
        self._orders.extendleft((order, "") for order in reversed(_BEGIN))
        self._send()

    def _order(self, order: str, text: str = "") -> None:
        self._orders.append((order, text))
        if len(self._orders) == 1 and self._is_connected:
            self._send()

    def _send(self) -> None:
        self._socket.write(f"{self._orders[0][0]}\r\n".encode())

    @Slot()
    def _read(self) -> None:
        *lines, self._rest = (self._rest + self._socket.readAll().data()).split(b"\r\n")
        for line in lines:
            if match := _REPLY.fullmatch(line.decode("utf-8", "replace")):
                self._reply.append(match[3])
                if match[2] == " ":
                    reply, self._reply = self._reply, []
                    self._take(int(match[1]), reply)

    def _take(self, code: int, reply: list[str]) -> None:
        """Handle a reply or an event, whose first line is the id of a sentence."""
        if code >= _EVENTS:
            if reply[0] == self._message and code in {_ENDED, _CANCELLED}:
                self._message = None
                (self.ended if code == _ENDED else self.cancelled).emit()
        elif code == _READY:
            self._socket.write(f"{self._orders[0][1]}\r\n".encode())
        elif self._orders:
            order, _ = self._orders.popleft()
            if order == _SPEAK and code != _QUEUED:
                self._fail()
                return
            if order == _SPEAK and (_CANCEL, "") not in self._orders:
                self._message = reply[0]
            if self._orders:
                self._send()

    @Slot()
    def _on_error(self) -> None:
        """Start the service, once, if it does not answer."""
        program = shutil.which(PROGRAM)
        if self._message is None and not self._orders:
            self.close()
        elif self._message is None and self._spawning is None and program:
            self._spawning = QProcess(self)
            self._spawning.finished.connect(self._connect)
            self._spawning.start(program, ["--spawn"])
        else:
            self._fail()

    def _fail(self) -> None:
        self.close()
        self.failed.emit()


def _address() -> Path:
    """Return the path of the service's socket."""
    kind, _, address = os.environ.get("SPEECHD_ADDRESS", "").partition(":")
    if kind == "unix_socket" and address:
        return Path(address)
    return Path(os.environ.get("XDG_RUNTIME_DIR") or Path.home() / ".cache") / PROGRAM / "speechd.sock"
