"""The file of answers: what an earlier run left whole, and one line for each answer after that. Knows no engine."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headstart.errors import BatchError, SettingsError
from headstart.terminal.batch_input import Identity

_BEGINNING = b'{"id": '  # of every line


class _Kind(Enum):
    ANSWER = auto()
    ERROR = auto()  # to be tried again
    TORN = auto()  # the run was killed while it wrote
    FOREIGN = auto()


@dataclass(frozen=True)
class Earlier:
    """What an earlier run left."""

    answered: frozenset[Identity] = frozenset()
    errors: int = 0
    torn: bool = False


def resume(path: Path) -> Earlier:
    """Keep the whole answers of an earlier run and drop its errors and a torn last line; they are made again.

    Raises SettingsError for a file that is none of ours, and leaves it alone; BatchError where it cannot be read.
    """
    if not path.exists():
        return Earlier()
    kinds, answered = list[_Kind](), set[Identity]()
    try:
        for number, line in _lines(path):
            kind, identity = _judged(line)
            if kind is _Kind.FOREIGN:
                raise SettingsError(
                    f"{path} holds something else than answers (line {number}); name another file with --output."
                )
            kinds.append(kind)
            if identity is not None:
                answered.add(identity)
        if not all(kind is _Kind.ANSWER for kind in kinds) or not _ends_a_line(path):
            _keep_answers(path)
    except OSError as error:
        raise _refusal(path, error) from None
    return Earlier(frozenset(answered), kinds.count(_Kind.ERROR), _Kind.TORN in kinds)


class Answers:
    """Adds lines; each is in the file, whole, before the next answer begins."""

    def __init__(self, path: Path) -> None:
        """Open at the end. Raises BatchError where that is not possible."""
        self._path = path
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise _refusal(path, error) from None

    def add(self, line: Mapping[str, Any]) -> None:
        """Write one line. Where it does not fit, take back its beginning and raise BatchError."""
        rest = memoryview((json.dumps(line, ensure_ascii=False) + "\n").encode())
        assert bytes(rest).startswith(_BEGINNING), "a torn line is known by its beginning"
        before = self._file.seek(0, os.SEEK_END)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):  # a torn line is dropped by the next run
                self._file.truncate(before)
            raise _refusal(self._path, error) from None

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()


def _judged(line: bytes) -> tuple[_Kind, Identity | None]:
    """What a line is, and the id of a whole answer."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        begun = line.rstrip(b"\0")  # a crash of the whole system may leave these
        torn = not line.endswith(b"\n") and begun[: len(_BEGINNING)] == _BEGINNING[: len(begun)]
        return (_Kind.TORN if torn else _Kind.FOREIGN), None
    if not isinstance(data, dict) or "id" not in data:
        return _Kind.FOREIGN, None
    if isinstance(data.get("error"), str):
        return _Kind.ERROR, None
    identity = data["id"]
    if isinstance(identity, str | int) and isinstance(data.get("text"), str) and "finish_reason" in data:
        return _Kind.ANSWER, identity
    return _Kind.FOREIGN, None


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        yield from enumerate(file, start=1)


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        return file.read() in (b"\n", b"")


def _keep_answers(path: Path) -> None:
    """Written beside the file and put in its place, so that nothing is lost where the disk is full."""
    beside = path.with_name(f"{path.name}.new")
    try:
        with beside.open("wb") as file:
            kept = (line for _, line in _lines(path) if _judged(line)[0] is _Kind.ANSWER)
            file.writelines(line.rstrip(b"\r\n") + b"\n" for line in kept)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _refusal(path: Path, error: OSError) -> BatchError:
    return BatchError(
        f"{path} cannot be written ({error.strerror}); the answers in it are whole: make room or choose another place, "
        "and run the same command again to go on."
    )
