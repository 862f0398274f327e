"""Measurements of this machine, stored between runs as one JSON file for each subject."""

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from headstart import private_files

_log = logging.getLogger(__name__)

VALIDATED = "validated"  # the key of what trials of precisions found
_UNSAFE = re.compile(r"[^\w.-]+")  # in a file name, on some system
_MAX_NAME = 100


class Measurements:
    """Stored values about one subject (model, device, versions, ...). A damaged file counts as empty."""

    def __init__(self, folder: Path, name: str, subject: Mapping[str, object]) -> None:
        """Read the file. Another `subject` has another file. `name` is for people who look for it."""
        text = json.dumps(subject, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._path = folder / f"{_UNSAFE.sub('-', name)[:_MAX_NAME]}-{digest}.json"
        self.subject = dict(subject)
        self._values = _read(self._path).values

    def get(self, key: str) -> Any:
        """Return the value under `key` (plain JSON data), or None."""
        return self._values.get(key)

    def put(self, key: str, value: object) -> None:
        """Store plain JSON data. A folder that cannot be written is logged; the value is then measured again."""
        self._values[key] = value
        self._write()

    def drop(self, key: str) -> bool:
        """Drop the value under `key`. Return True if there was one."""
        had_value = self._values.pop(key, None) is not None
        if had_value:
            self._write()
        return had_value

    def _write(self) -> None:
        content = json.dumps({"subject": self.subject, "values": self._values}, indent=1)
        temporary = self._path.with_suffix(f".{os.getpid()}.new")  # another process may write it, too
        try:
            private_files.make(self._path.parent)
            temporary.write_text(content, encoding="utf-8")
            temporary.replace(self._path)
        except OSError as error:
            _log.warning("measurements are not kept: %s", error)


def every(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the subject and the values of every file."""
    for path in sorted(folder.glob("*.json")):
        stored = _read(path)
        yield stored.subject, stored.values


class _Trial(msgspec.Struct):
    """The part of a stored `validation.Verdict` that the window needs for speeds; it does not load NumPy."""

    reason: dict[str, Any] = {}  # with a template if it was refused
    ms: dict[int, float] = {}


def measured_ms(folder: Path, weights: str) -> float | None:
    """Return the milliseconds of a pass of one token with the fastest properties; None if nothing was measured.

    `weights`: SHA-256 of the model's weights. `folder`: where measurements are stored.
    """
    found = [
        trial.ms[1]
        for subject, values in every(folder)
        if subject.get("weights") == weights
        for trial in _trials(values.get(VALIDATED))
        if 1 in trial.ms and not trial.reason.get("template")
    ]
    return min(found, default=None)


def _trials(stored: object) -> Iterable[_Trial]:
    try:
        return msgspec.convert(stored or {}, dict[str, _Trial], str_keys=True, strict=False).values()
    except msgspec.ValidationError:
        return ()


class _Kept(msgspec.Struct):
    subject: dict[str, Any]
    values: dict[str, Any]


def _read(path: Path) -> _Kept:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Kept)
    except FileNotFoundError:
        pass
    except (OSError, msgspec.DecodeError) as error:
        _log.warning("%s is ignored and measured again: %r", path, error)
    return _Kept({}, {})
