"""The files in a folder that can be searched, and their text, which a process of its own reads."""

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
from pathlib import Path
from typing import IO, Any, NamedTuple

import psutil

from headstart.chat import attachments, document_text, pdf_text
from headstart.chat.attachments import Document
from headstart.chat.conversation import Attachment
from headstart.errors import AttachmentError

MAX_FILES = 20_000  # in one folder
MAX_PAGES = 5000  # of a PDF
LARGEST = document_text.LARGEST  # bytes of a file
LARGEST_TEXT = 5 * attachments.LARGEST  # bytes of the text of a document
SILENCE_S = 300.0  # of the reading process, before a file is given up
_POLL_S = 0.1
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
_NICE = 10


class Unit(StrEnum):
    """The unit of places in a file."""

    PAGE = "page"
    LINE = "line"
    NONE = ""


class Text(NamedTuple):
    """The text of a file. A text without pages is one page."""

    pages: tuple[str, ...]
    unit: Unit


class FileStat(NamedTuple):
    """The size of a file in bytes, and the time of its last change in nanoseconds."""

    size: int
    changed: int


@dataclass
class Listing:
    """The files of a folder, by their paths in it, with slashes."""

    files: dict[str, FileStat] = field(default_factory=dict)
    skipped: int = 0  # hidden files and folders, links, folders of programs, and files that are too large
    unreadable: list[str] = field(default_factory=list)  # folders that cannot be listed, and what their names are not
    is_cut: bool = False  # there are more than MAX_FILES


class NoTextError(Exception):
    """A file is no text, such as an image."""


class CancelledError(Exception):
    """The reading of a file was cancelled."""


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
        except OSError:
            if not inside:
                raise
            listing.unreadable.append(inside)
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
    except (OSError, UnicodeEncodeError):
        listing.unreadable.append(path.encode(errors="replace").decode())
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
        listing.files[path] = FileStat(state.st_size, state.st_mtime_ns)
    return False


def read_text(path: Path) -> Text:
    """Return the text of a file. Raises AttachmentError, and NoTextError for what is no text."""
    kind = attachments.document(path)
    if kind is Document.PDF:
        text = Text(tuple(pdf_text.pages(path, pdf_text.open_pdf(path, MAX_PAGES))), Unit.PAGE)
    elif kind:
        text = Text((attachments.read_document(path, kind, largest=LARGEST_TEXT).text,), Unit.NONE)
    else:
        try:
            attachments.require_text(path)
            text = Text((attachments.read(path)[0].attachment.text,), Unit.LINE)
        except AttachmentError as error:
            if not os.access(path, os.R_OK):
                raise
            raise NoTextError from error
    attachments.require_short(Attachment(path.name, "".join(text.pages)), LARGEST_TEXT)
    return text


def serve(lines: Iterable[str]) -> Iterator[str]:
    """Yield a line of JSON with the text of each file whose path a line has as JSON."""
    for line in lines:
        try:
            text = read_text(Path(json.loads(line)))
            reply: dict[str, Any] = {"pages": text.pages, "unit": text.unit}
        except NoTextError:
            reply = {"skipped": True}
        except AttachmentError as error:
            reply = {"error": error.text.as_data()}
        yield json.dumps(reply)


class TextReader:
    """A process that reads files, of low priority, started when it is needed. It may be slow, or be made to do harm."""

    def __init__(self, command: Sequence[str]) -> None:
        """`command` runs `serve` on its standard input."""
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read(self, path: Path, is_wanted: Callable[[], bool] = lambda: True) -> Text:
        """Return the text of a file. Raises AttachmentError, NoTextError and CancelledError."""
        process = self._start()
        assert process.stdin
        with suppress(OSError):  # a process that has just died gives no line either
            process.stdin.write(json.dumps(str(path)) + "\n")
            process.stdin.flush()
        reply = json.loads(self._next_line(is_wanted) or "{}")
        if "pages" in reply:
            return Text(tuple(reply["pages"]), Unit(reply["unit"]))
        if "skipped" in reply:
            raise NoTextError
        raise AttachmentError("{name} could not be read to its end.", name=path.name)

    def close(self) -> None:
        """End the process."""
        if self._process:
            self._process.kill()
            self._process.communicate()
        self._process = None

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

    def _next_line(self, is_wanted: Callable[[], bool]) -> str:
        """Return the next line; empty if the process died or was silent for too long."""
        due = time.monotonic() + SILENCE_S
        while time.monotonic() < due:
            with suppress(queue.Empty):
                return self._lines.get(timeout=_POLL_S)
            if not is_wanted():
                self.close()
                raise CancelledError
        self.close()
        return ""


def lower_priority(pid: int | None) -> None:
    """Let other programs go first."""
    with suppress(psutil.Error, OSError):
        psutil.Process(pid).nice(getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", _NICE))


def _pass_on(pipe: IO[str], lines: "queue.SimpleQueue[str]") -> None:
    with suppress(OSError, ValueError):  # closed
        for line in pipe:
            lines.put(line)
    lines.put("")
