"""A virtual screen with a window manager, a keyboard and a mouse."""

import contextlib
import ctypes.util
import os
import shutil
import struct
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SIZE = (1280, 860)
_PROGRAMS = ("Xvfb", "openbox", "xdotool")
_LIBRARIES = ("xcb-cursor", "xcb-icccm", "xcb-keysyms", "xkbcommon-x11")  # of Qt's plugin for X11
_OF_THE_DESKTOP = ("DBUS_SESSION_BUS_ADDRESS", "XDG_CURRENT_DESKTOP", "QT_IM_MODULE")  # colours and typing of another
_LONGEST = 90.0  # seconds, for a loaded machine

Picture = NDArray[np.uint8]  # [height, width, 3], red first


def missing() -> list[str]:
    """Return which programs for a virtual screen are missing on this machine."""
    programs = [name for name in _PROGRAMS if not shutil.which(name)]
    return programs + [f"lib{name}" for name in _LIBRARIES if not ctypes.util.find_library(name)]


def wait(until: Callable[[], object], what: str, seconds: float = _LONGEST) -> None:
    """Wait until a condition holds; fail with the message that `what` did not come."""
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.05)


class Screen:
    """Use `open_screen`."""

    def __init__(self, display: str, memory: Path) -> None:
        """`memory` is the file with the picture on the screen."""
        plain = {name: value for name, value in os.environ.items() if name not in _OF_THE_DESKTOP}
        self.environment = {**plain, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "XDG_SESSION_TYPE": "x11"}
        self._memory = memory

    def picture(self) -> Picture:
        """Return the picture on the screen."""
        data = self._memory.read_bytes()  # as `xwd` writes it
        header, *_ = head = struct.unpack(">25I", data[:100])
        width, height, line, colours = head[4], head[5], head[12], head[19]
        start = header + 12 * colours
        pixels = np.frombuffer(data, np.uint8, line * height, start).reshape(height, line)
        return pixels[:, : width * 4].reshape(height, width, 4)[:, :, 2::-1]

    def count(self, colour: str) -> int:
        return count(self.picture(), colour)

    def widest(self, colour: str) -> int:
        """Return the most pixels of exactly this colour in one row."""
        return int(_where(self.picture(), colour).sum(axis=1).max())

    def keys(self, *names: str) -> None:
        """Press keys, such as "ctrl+k"."""
        self._do("key", "--clearmodifiers", "--delay", "40", *names)

    def type(self, text: str) -> None:
        """Type a text."""
        self._do("type", "--clearmodifiers", "--delay", "15", text)

    def click(self, colour: str) -> None:
        """Click the topmost area of this colour that is as wide as a button, if there is one."""
        wait(lambda: self._topmost(colour), f"a button in {colour}")
        place = self._topmost(colour)
        assert place
        self._do("mousemove", str(place[0]), str(place[1]), "click", "1")

    def has_manager(self) -> bool:
        """Return whether windows get the keyboard by now."""
        return self._asked("get_desktop") is not None

    def has_keyboard(self, process: int) -> bool:
        """Return whether a window of this process gets what is typed."""
        return self._asked("getwindowfocus", "getwindowpid") == str(process)

    def save(self, path: Path) -> None:
        """Save the screen as PNG, to find the cause of a failure."""
        picture = self.picture()
        height, width, _ = picture.shape
        rows = b"".join(b"\0" + row.tobytes() for row in picture)
        head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks))

    def _topmost(self, colour: str) -> tuple[int, int] | None:
        found = _where(self.picture(), colour)
        rows = np.flatnonzero(found.sum(axis=1) > 40)
        if not len(rows):
            return None
        row = int(rows[0]) + 4
        columns = np.flatnonzero(found[row])
        return (int(columns[0]) + 6, row) if len(columns) else None

    def _asked(self, *arguments: str) -> str | None:
        """Return the answer of xdotool; None if it fails."""
        done = subprocess.run(
            ["xdotool", *arguments], env=self.environment, capture_output=True, text=True, timeout=30, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else None

    def _do(self, *arguments: str) -> None:
        subprocess.run(["xdotool", *arguments], env=self.environment, timeout=60, check=True)


@contextlib.contextmanager
def open_screen(folder: Path) -> Iterator[Screen]:
    """Context manager with a new screen. `folder` is for its files and its last picture."""
    readable, writable = os.pipe()
    size = f"{SIZE[0]}x{SIZE[1]}x24"
    command = ["Xvfb", "-displayfd", str(writable), "-screen", "0", size, "-fbdir", str(folder), "-nolisten", "tcp"]
    command.append("-noreset")  # whoever looks for the window manager before it has come would take it along on leaving
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(_program(command, dict(os.environ), pass_fds=(writable,)))
        os.close(writable)
        with os.fdopen(readable, encoding="ascii") as told:
            number = told.readline().strip()
        assert number, f"Xvfb ended with {server.wait()}"
        screen = Screen(f":{number}", folder / "Xvfb_screen0")
        stack.enter_context(_program(["openbox", "--sm-disable"], screen.environment))
        wait(screen.has_manager, "a window manager", 30.0)
        try:
            yield screen
        finally:
            screen.save(folder / "last.png")


@contextlib.contextmanager
def _program(
    command: list[str], environment: dict[str, str], pass_fds: tuple[int, ...] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=pass_fds
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


def count(picture: Picture, colour: str) -> int:
    """Return how many pixels have exactly this colour, "#rrggbb"."""
    return int(_where(picture, colour).sum())


def _where(picture: Picture, colour: str) -> NDArray[np.bool_]:
    wanted = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], np.uint8)
    return np.asarray((picture == wanted).all(axis=2))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
