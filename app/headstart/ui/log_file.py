"""Reads a log file from its end and follows it through rotations, line by line with its level. Knows no widget."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LEVEL = re.compile(rf"^\S+ \S+ ({'|'.join(LEVELS)}) ")
_FIRST = 256 * 1024  # bytes of what is there already


@dataclass(frozen=True)
class Line:
    """A line, with the level of the entry it belongs to."""

    text: str
    level: int  # place in LEVELS


class LogFile:
    """`news` gives what was added since it was last called."""

    def __init__(self, path: Path, first: int = _FIRST) -> None:
        """Opens nothing yet. `first`: how many bytes of an old file are read at most."""
        self.path = path
        self._first = first
        self._inode = self._position = 0
        self._rest = b""
        self._level = LEVELS.index("INFO")

    def news(self) -> tuple[Line, ...]:
        """Whole lines; none while the file is missing or cannot be read."""
        try:
            with self.path.open("rb") as file:
                added = self._added(file)
        except OSError:
            return ()
        *whole, self._rest = (self._rest + added).split(b"\n")
        return tuple(self._line(line.decode("utf-8", "replace").rstrip("\r")) for line in whole)

    def _added(self, file: BinaryIO) -> bytes:
        size, inode = file.seek(0, 2), self.path.stat().st_ino
        if inode != self._inode or size < self._position:  # the first look, or another file after a rotation
            is_first, self._inode = not self._inode, inode
            self._rest = b""
            self._position = max(size - self._first, 0) if is_first else 0
            if self._position:
                file.seek(self._position)
                file.readline()  # the cut one
                self._position = file.tell()
        file.seek(self._position)
        added = file.read()
        self._position += len(added)
        return added

    def _line(self, text: str) -> Line:
        if found := _LEVEL.match(text):
            self._level = LEVELS.index(found.group(1))
        return Line(text, self._level)
