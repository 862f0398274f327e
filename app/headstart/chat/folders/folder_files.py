"""The files in a folder that can be searched, and their text, which processes of their own read piece by piece."""

import json
import os
import queue
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

import psutil

from headstart.chat.files import attachments, document_text, pdf_text, pictures
from headstart.chat.files.attachments import DocumentKind
from headstart.chat.files.pictures import Recognize
from headstart.errors import AttachmentError, Translatable

MAX_FILES = 20_000  # in one folder
MAX_PAGES = 20_000  # of a PDF
LARGEST = document_text.LARGEST  # bytes of a file
SMALL = 1_000_000  # bytes of a file that is read before larger ones
SILENCE_S = 300.0  # of the reading process, before a page or a file is given up
PIECE = 200_000  # characters of a text without pages that are read at a time
_POLL_S = 0.02  # a question waits as long
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
_NICE = 10
_BUSY, _SKIPPED = "busy", "skipped"  # replies of the reading process
_LAST_TIME = 2**63 - 1  # ns, in 2262


class Unit(StrEnum):
    """The unit of places in a file."""

    PAGE = "page"
    LINE = "line"
    NONE = ""


class FileSection(NamedTuple):
    """A part of the text of a file: a page, or some lines."""

    text: str
    unit: Unit = Unit.NONE
    place: int = 1  # the page, or the first line
    next: int = 0  # where to go on; 0 at the end of the file
    share: float = 1.0  # of the file that is read with it


class FileStat(NamedTuple):
    """The size of a file in bytes, and the time of its last change in nanoseconds."""

    size: int
    changed: int

    @classmethod
    def of(cls, state: os.stat_result) -> "FileStat":
        """Return those of a file; a time that is out of this world becomes the last one that the index can hold."""
        return cls(state.st_size, max(-_LAST_TIME, min(state.st_mtime_ns, _LAST_TIME)))


@dataclass
class Listing:
    """The files of a folder, by their paths in it, with slashes."""

    files: dict[str, FileStat] = field(default_factory=dict)
    skipped: int = 0  # hidden files and folders, links, folders of programs, and files that are too large
    unreadable: dict[str, Translatable] = field(default_factory=dict)  # folders and names, and why
    is_cut: bool = False  # there are more than MAX_FILES


class NoTextError(Exception):
    """The file is not text; it may be an image."""


class CancelledError(Exception):
    """The reading of a file was cancelled."""


class ReaderDiedError(AttachmentError):
    """The process that reads a file died at it twice."""

    def __init__(self, name: str) -> None:
        super().__init__(
            "The program that reads {name} ended twice at it, maybe for lack of memory; close other programs and start "
            "Headstart again, or save the file in parts.",
            name=name,
        )


def list_files(folder: Path, is_wanted: Callable[[], bool] = lambda: True) -> Listing:
    """List a folder. Links are not followed. Raises OSError if it cannot be listed, and CancelledError."""
    listing = Listing()
    waiting = [""]
    while waiting and not listing.is_cut:
        if not is_wanted():
            raise CancelledError
        inside = waiting.pop()
        try:
            with os.scandir(folder / inside) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not inside:
                raise
            listing.unreadable[inside] = unopened(inside, error)
            continue
        folders = [f"{inside}{entry.name}/" for entry in found if _take(listing, inside, entry)]
        waiting += reversed(folders)
    return listing


def _take(listing: Listing, inside: str, entry: "os.DirEntry[str]") -> bool:
    """Add a file to the listing; return whether the entry is a folder to be listed."""
    path = f"{inside}{entry.name}"
    try:
        state = entry.stat(follow_symlinks=False)
        path.encode()
    except OSError as error:
        listing.unreadable[_shown(path)] = unopened(_shown(path), error)
        return False
    except UnicodeEncodeError:
        listing.unreadable[_shown(path)] = Translatable(
            "The name of {name} has bytes that are no letters; give the file another name.", name=_shown(entry.name)
        )
        return False
    attributes = getattr(state, "st_file_attributes", 0)  # of Windows
    if entry.name.startswith(".") or attributes & (stat.FILE_ATTRIBUTE_HIDDEN | stat.FILE_ATTRIBUTE_REPARSE_POINT):
        listing.skipped += 1
    elif stat.S_ISDIR(state.st_mode) and entry.name not in _SKIPPED_FOLDERS:
        return True
    elif not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST:
        listing.skipped += 1
    elif len(listing.files) >= MAX_FILES:
        listing.is_cut = True
    else:
        listing.files[path] = FileStat.of(state)
    return False


def unopened(path: str, error: OSError) -> Translatable:
    """Return why a file or folder cannot be read now."""
    return Translatable(
        "{name} cannot be opened ({reason}); see that you may read it and that no other program keeps it.",
        name=PurePosixPath(path).name,
        reason=error.strerror or str(error),
    )


def _shown(path: str) -> str:
    return path.encode(errors="replace").decode()


def pieces(
    path: Path,
    start: int = 0,
    recognize: Recognize | None = None,
    on_picture: Callable[[int, int], object] = lambda *_: None,
) -> Iterator[FileSection]:
    """Yield the text of a file in pieces, from a page or character on. Raises AttachmentError and NoTextError.

    There is always a last piece, also where nothing is left, and nothing is raised behind it. `on_picture` is called
    after each picture of a piece that has many.
    """
    kind = attachments.document(path)
    if kind is DocumentKind.PDF:
        reader = pdf_text.open_pdf(path, MAX_PAGES)
        count = len(reader.pages)
        if 0 < count <= start:
            yield FileSection("", Unit.PAGE, count)
        for number, page in enumerate(pdf_text.pages(path, reader, start, recognize), start=start + 1):
            yield FileSection(page, Unit.PAGE, number, number if number < count else 0, number / count)
    elif kind is DocumentKind.PICTURE:
        yield from _parts(_text_in_picture(path, recognize, on_picture), Unit.NONE, start)
    elif kind is DocumentKind.RECORDING:
        raise NoTextError
    elif kind:
        document = attachments.read_document(path, kind, on_picture, LARGEST, recognize)
        yield from _parts(document.text, Unit.NONE, start)
    else:
        yield from _parts(_plain_text(path), Unit.LINE, start)


def _plain_text(path: Path) -> str:
    try:
        attachments.require_text(path)
        return attachments.read(path, LARGEST)[0].attachment.text
    except AttachmentError as error:
        if not os.access(path, os.R_OK):
            raise
        raise NoTextError from error


def _parts(text: str, unit: Unit, start: int) -> Iterator[FileSection]:
    """Yield a text in pieces that end with a line."""
    line = 1 + text.count("\n", 0, start)
    if start >= len(text):
        yield FileSection("", unit, line)
    while start < len(text):
        end = len(text)
        if end - start > PIECE:
            end = text.rfind("\n", start, start + PIECE) + 1 or start + PIECE
        piece = text[start:end]
        yield FileSection(piece, unit, line, end if end < len(text) else 0, end / len(text))
        line += piece.count("\n")
        start = end


def _text_in_picture(path: Path, recognize: Recognize | None, on_picture: Callable[[int, int], object]) -> str:
    try:
        return pictures.read_picture(path, recognize, on_picture)
    except AttachmentError as error:
        if not os.access(path, os.R_OK):
            raise
        raise NoTextError from error


def serve(
    lines: Iterable[str],
    write: Callable[[str], object],
    find_recognize: Callable[[], Recognize | None] = lambda: None,
) -> None:
    """Write a line of JSON for each piece of the files; each of `lines` has a path and where to start, as JSON.

    Of a piece that has many pictures, `"busy"` comes after each. The model that reads pictures is looked for anew for
    each file: it may be installed meanwhile.
    """
    for line in lines:
        path, start = json.loads(line)
        try:
            for piece in pieces(Path(path), start, find_recognize(), lambda *_: write(json.dumps(_BUSY))):
                write(json.dumps(piece))
        except NoTextError:
            write(json.dumps(_SKIPPED))
        except AttachmentError as error:
            write(json.dumps(error.text.as_data()))


class TextReader:
    """Processes of low priority that read files, started when they are needed. They may be slow, or be made to do harm.

    One reads the small files and one the large ones, so that a small one need not wait for the end of a large one.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """`command` runs `serve` on its standard input."""
        self._small, self._large = _Process(command), _Process(command)

    def read(self, path: Path, start: int = 0, is_wanted: Callable[[], bool] = lambda: True) -> Iterator[FileSection]:
        """Yield the pieces of a file. Raises AttachmentError, NoTextError and CancelledError.

        After CancelledError, the process goes on: a later call from the same place on finds the pieces read.
        """
        try:
            state = path.stat()
        except OSError as error:
            raise document_text.unreadable(path, error) from None
        process = self._large if state.st_size > SMALL else self._small
        yield from process.read((str(path), state.st_size, state.st_mtime_ns), start, is_wanted)

    def close(self) -> None:
        """End the processes."""
        self._small.close()
        self._large.close()


_File = tuple[str, int, int]  # path, size and time of a file


class _Process:
    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._place: tuple[_File, int] | None = None  # of the next piece; None: no file is being read
        self._given_up = set[_File]()  # after a long silence; until the program starts again

    def read(self, file: _File, start: int, is_wanted: Callable[[], bool]) -> Iterator[FileSection]:
        name = Path(file[0]).name
        last = FileSection("")
        died_at = -1
        while file not in self._given_up:
            if self._place != (file, start):
                self._order(file, start)
            line = self._next_line(is_wanted)
            self._place = None
            if line == "" and died_at != start:  # maybe of something else: the file is tried once more
                died_at = start
                self.close()
                continue
            if line:
                reply = json.loads(line)
            else:
                self.close()
                if not (last.unit is Unit.PAGE and last.next):
                    if line == "":
                        raise ReaderDiedError(name)
                    self._given_up.add(file)
                    break
                reply = ["", Unit.PAGE, start + 1, start + 1, last.share]  # the page takes too long: go on behind it
            if reply == _BUSY:
                self._place = (file, start)
                continue
            if reply == _SKIPPED:
                raise NoTextError
            if isinstance(reply, dict):
                raise AttachmentError(Translatable.from_data(reply))
            text, unit, place, after, share = reply
            last = FileSection(text, Unit(unit), place, after, share)
            if last.next:
                start = last.next
                self._place = (file, start) if line else None
            yield last
            if not last.next:
                return
        raise AttachmentError(
            "Reading {name} took more than {minutes:.0f} minutes at one place; save the file in parts.",
            name=name,
            minutes=SILENCE_S / 60,
        )

    def close(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
        self._process = self._place = None

    def _order(self, file: _File, start: int) -> None:
        """Have the process read a file; a process that reads another one is ended."""
        if self._place:
            self.close()
        process = self._start()
        assert process.stdin
        self._place = (file, start)
        with suppress(OSError):  # a process that has just died gives no line either
            process.stdin.write(json.dumps([file[0], start]) + "\n")
            process.stdin.flush()

    def _start(self) -> "subprocess.Popen[str]":
        if self._process is None or self._process.poll() is not None:
            self.close()
            flags = getattr(subprocess, "CREATE_NO_WINDOW", 0)
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                creationflags=flags,
                encoding="ascii",
            )
            lower_priority(self._process.pid)
            self._lines = queue.SimpleQueue()
            threading.Thread(target=_pass_on, args=(self._process.stdout, self._lines), daemon=True).start()
        return self._process

    def _next_line(self, is_wanted: Callable[[], bool]) -> str | None:
        """Return the next line; empty if the process died, None after a long silence. Raises CancelledError."""
        due = time.monotonic() + SILENCE_S
        while time.monotonic() < due:
            with suppress(queue.Empty):
                return self._lines.get(timeout=_POLL_S)
            if not is_wanted():
                raise CancelledError
        return None


def lower_priority(pid: int | None) -> None:
    """Let other programs go first."""
    with suppress(psutil.Error, OSError):
        psutil.Process(pid).nice(getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", _NICE))


def _pass_on(pipe: IO[str], lines: "queue.SimpleQueue[str]") -> None:
    with suppress(OSError, ValueError):  # closed
        for line in pipe:
            lines.put(line)
    lines.put("")
