"""The servers that run on this computer: each tells in a file of its own what it has loaded and answers."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from headstart import own_folder, paths

_SAME = 2.0  # seconds by which two readings of one process's start may differ


@dataclass(frozen=True)
class Loaded:
    """A model in memory. `since`: seconds since 1970; `process`: the one that holds it; `answers`: being written."""

    name: str
    since: float
    process: int
    answers: int = 0

    @property
    def memory(self) -> int:
        """Bytes that its process holds; 0 if it has ended."""
        try:
            return int(psutil.Process(self.process).memory_info().rss)
        except psutil.Error:
            return 0


@dataclass(frozen=True)
class Running:
    """A server; `born`: when its process started, as another one may get its number."""

    url: str
    process: int
    born: float
    models: tuple[Loaded, ...] = ()


def note(url: str, models: tuple[Loaded, ...]) -> None:
    """Write down the state of the server of this process. A disk that is full keeps nobody from answering."""
    process = os.getpid()
    state = Running(url, process, psutil.Process(process).create_time(), models)
    with contextlib.suppress(OSError):
        own_folder.write(_file(process), msgspec.json.encode(state))


def forget() -> None:
    """The server of this process has ended."""
    with contextlib.suppress(OSError):
        _file(os.getpid()).unlink(missing_ok=True)


def servers() -> list[Running]:
    """Those that run, in the order of their start. Files of others, which were killed, are deleted."""
    found = list[Running]()
    for file in paths.servers_folder().glob("*.json"):
        with contextlib.suppress(OSError):
            state = _read(file)
            if state and _runs(state):
                found.append(state)
            else:
                file.unlink(missing_ok=True)
    return sorted(found, key=lambda state: state.born)


def _read(file: Path) -> Running | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Running)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _runs(state: Running) -> bool:
    try:
        return bool(abs(psutil.Process(state.process).create_time() - state.born) < _SAME)
    except psutil.Error:
        return False


def _file(process: int) -> Path:
    return paths.servers_folder() / f"{process}.json"
