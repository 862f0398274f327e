"""The record of a working folder: the log, and snapshots of files, so that an answer can be undone."""

import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from headstart import private_files
from headstart.errors import WorkspaceError
from headstart.workspace.folder import Entry, EntryKind, Folder

MAX_ANSWERS = 20  # that can be undone, of one folder
MAX_KEPT = 100_000_000  # bytes of the files before a command
_MAX_LOG = 1_000_000  # bytes; the older half is dropped
_CHANGES, _LOG = "changes.jsonl", "log.jsonl"


@dataclass(frozen=True)
class Change:
    """One step of an answer, and how to undo it."""

    kind: str  # "file", "folder", "moved" or "link"
    path: str
    existed: bool = False  # before the step
    before: str = ""  # the snapshot of a file, the target of a link, or the place before a move
    after: str | None = None  # the hash of the file after the step; None if there is none
    mode: int = 0o644


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Record:
    """The snapshots and the log of one folder. They are private files outside of it."""

    def __init__(self, place: Path, folder: Folder) -> None:
        """`place` is the folder of the record, made with the first line."""
        self._place, self._folder = place, folder
        self._answer: Path | None = None  # of the answer in progress, once it has changed something

    def begin_answer(self) -> None:
        """Let the next changes belong to another answer."""
        self._answer = None

    @property
    def has_changes(self) -> bool:
        """The answer in progress has changed something."""
        return self._answer is not None

    @property
    def latest(self) -> str | None:
        """The name of the answer that `undo` takes back; None if there is none."""
        answers = self._answers()
        return answers[-1].name if answers else None

    @property
    def can_undo(self) -> bool:
        return bool(self._answers())

    def keep(self, data: bytes) -> str:
        """Keep the content of a file before a step. Return the name of its snapshot."""
        name = digest(data)
        path = self._begun() / name
        if not path.exists():
            _writing(path, data)
        return name

    def add(self, change: Change) -> None:
        """Note a step before it is made, so that nothing is lost if the program ends within it."""
        self._append(self._begun() / _CHANGES, asdict(change))

    def before_command(self, entries: Iterable[Entry]) -> dict[str, tuple[Entry, str]]:
        """Return what a command may change, by path: the entry with a new snapshot, or the target of a link."""
        found = dict[str, tuple[Entry, str]]()
        for entry in entries:
            kept = ""
            with suppress(WorkspaceError):  # it may not be read; then the command cannot change it either
                if entry.kind is EntryKind.FILE:
                    kept = self.keep(self._folder.read(entry.path, MAX_KEPT).data)
                elif entry.kind is EntryKind.LINK:
                    kept = self._folder.target(entry.path)
            found[entry.path] = entry, kept
        return found

    def after_command(self, before: Mapping[str, tuple[Entry, str]], after: Iterable[Entry]) -> list[str]:
        """Note the changes of a command, delete the other snapshots, and return the changed paths."""
        now = {entry.path: entry for entry in after}
        changes = list[Change]()
        for path, (entry, kept) in before.items():
            new = now.get(path)
            if (
                new is not None
                and new.kind is entry.kind
                and (new.stamp == entry.stamp or entry.kind is EntryKind.FOLDER)
            ):
                continue
            same = new if new and new.kind is entry.kind else None
            if same and entry.kind is EntryKind.FILE and self._hash(path) == kept:
                continue  # only its times are others
            changes.append(
                Change(
                    entry.kind.value,
                    path,
                    existed=True,
                    before=kept,
                    after=self._hash(path) if same and entry.kind is EntryKind.FILE else None,
                    mode=entry.stamp[-1] & 0o777,
                )
            )
        changes.sort(key=lambda change: change.path, reverse=True)  # undone last to first: folders before files
        for path, entry in sorted(now.items()):
            if path not in before or before[path][0].kind is not entry.kind:
                is_file = entry.kind is EntryKind.FILE
                changes.append(Change(entry.kind.value, path, after=self._hash(path) if is_file else None))
        for change in changes:
            self.add(change)
        self._drop_unused()
        return sorted({change.path for change in changes})

    def undo(self) -> tuple[list[str], list[str]]:
        """Take back the last answer that changed something.

        Return the paths that are as before, and those that were changed since and stay. Raises WorkspaceError.
        """
        answers = self._answers()
        if not answers:
            raise WorkspaceError("There is nothing to undo in this folder.")
        place = answers[-1]
        restored, kept = list[str](), list[str]()
        for change in reversed(_changes(place)):
            try:
                self._take_back(change, place)
                restored.append(change.path)
            except WorkspaceError:
                kept.append(change.path)
        shutil.rmtree(place, ignore_errors=True)
        self._answer = None
        self.log(action="undo", result=f"{len(restored)} restored, {len(kept)} kept")
        return sorted(set(restored) - set(kept)), sorted(set(kept))

    def log(self, **line: object) -> None:
        """Add a line to the log."""
        path = self._place / _LOG
        with suppress(OSError):
            if path.stat().st_size > _MAX_LOG:
                lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
                private_files.write(path, "".join(lines[len(lines) // 2 :]))
        self._append(path, {"time": round(time.time(), 3), **line})

    def lines(self) -> list[dict[str, object]]:
        """Return the lines of the log, oldest first."""
        return _json_lines(self._place / _LOG)

    def forget(self) -> None:
        """Delete the snapshots and the log."""
        self._answer = None
        shutil.rmtree(self._place, ignore_errors=True)

    def _take_back(self, change: Change, place: Path) -> None:
        folder, path = self._folder, change.path
        match change.kind:
            case "moved":
                if folder.kind(path) is not None:
                    folder.move(path, change.before)
            case "folder" if change.existed:
                folder.make(path)
            case "link" if change.existed:
                if folder.kind(path) is EntryKind.LINK:
                    folder.remove(path)
                folder.make(path.rpartition("/")[0])
                folder.link(path, change.before)
            case "file":
                present = folder.readable(path, MAX_KEPT)
                now = digest(present.data) if present else None
                if now == (change.before if change.existed else None):
                    return
                if now != change.after:
                    raise WorkspaceError("{path} has changed since.", path=path)
                if not change.existed:
                    folder.remove(path)
                    return
                folder.make(path.rpartition("/")[0])
                data = _reading(place / change.before)
                folder.write(path, data, present.data if present else None, change.mode, MAX_KEPT)
            case _ if folder.kind(path) is not None:
                folder.remove(path)

    def _hash(self, path: str) -> str | None:
        with suppress(WorkspaceError):
            return digest(self._folder.read(path, MAX_KEPT).data)
        return None

    def _begun(self) -> Path:
        if self._answer is None:
            begun = self._place / "answers" / f"{time.time_ns():020}-{secrets.token_hex(4)}"
            try:
                private_files.make(begun)
            except OSError as error:
                raise _unwritable(begun, error) from error
            self._answer = begun
            for old in self._answers(empty=True)[:-MAX_ANSWERS]:
                shutil.rmtree(old, ignore_errors=True)
        return self._answer

    def _answers(self, *, empty: bool = False) -> list[Path]:
        """Return the folders of answers that changed something, or of all, oldest first."""
        places = sorted((self._place / "answers").glob("*"))
        return places if empty else [place for place in places if (place / _CHANGES).exists()]

    def _drop_unused(self) -> None:
        if self._answer is None:
            return
        changes = _changes(self._answer)
        used = {_CHANGES, *(change.before for change in changes if change.kind == "file")}
        for path in self._answer.iterdir():
            if path.name not in used:
                with suppress(OSError):
                    path.unlink()
        if not changes:
            shutil.rmtree(self._answer, ignore_errors=True)
            self._answer = None

    def _append(self, path: Path, line: Mapping[str, object]) -> None:
        try:
            private_files.make(path.parent)
            with private_files.appending(path) as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise _unwritable(path, error) from error


def _changes(place: Path) -> list[Change]:
    return [Change(**line) for line in _json_lines(place / _CHANGES)]  # type: ignore[arg-type]


def _json_lines(path: Path) -> list[dict[str, object]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return []
    lines = list[dict[str, object]]()
    for line in text.split("\n"):
        with suppress(ValueError):  # the last one may be cut off
            lines.append(json.loads(line))
    return lines


def _writing(path: Path, data: bytes) -> None:
    try:
        private_files.write(path, data)
    except OSError as error:
        raise _unwritable(path, error) from error


def _reading(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WorkspaceError("{path} cannot be read ({reason}).", path=path, reason=error.strerror) from error


def _unwritable(path: Path, error: OSError) -> WorkspaceError:
    return WorkspaceError(
        "{path} cannot be written ({reason}), so nothing was changed; make room there.",
        path=path.parent,
        reason=error.strerror,
    )
