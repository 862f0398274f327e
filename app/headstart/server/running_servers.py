"""The servers that run on this computer. Each describes its state in a file of its own."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from headstart import paths, private_files

_START_TOLERANCE_SECONDS = 2.0  # two readings of the start of one process may differ by this much


@dataclass(frozen=True)
class ModelProcess:
    name: str
    since: float  # seconds since 1970
    process: int  # which holds it
    answers: int = 0  # in progress

    @property
    def memory(self) -> int:
        """Bytes that its process holds; 0 if it has ended."""
        try:
            return int(psutil.Process(self.process).memory_info().rss)
        except psutil.Error:
            return 0


@dataclass(frozen=True)
class RunningServer:
    url: str
    process: int
    start_time: float  # start of the process, which tells it from a later process with the same number
    models: tuple[ModelProcess, ...] = ()


def write_state(url: str, models: tuple[ModelProcess, ...]) -> None:
    """Write the state of this process's server. A full disk stops no answers."""
    process = os.getpid()
    state = RunningServer(url, process, psutil.Process(process).create_time(), models)
    with contextlib.suppress(OSError):
        private_files.write(_file(process), msgspec.json.encode(state))


def delete_state() -> None:
    """Delete the state of this process's server, which has ended."""
    with contextlib.suppress(OSError):
        _file(os.getpid()).unlink(missing_ok=True)


def list_servers() -> list[RunningServer]:
    """Return the servers that run, in the order of their start. Delete the files of servers that were killed."""
    servers = list[RunningServer]()
    for file in paths.servers_folder().glob("*.json"):
        with contextlib.suppress(OSError):
            state = _read(file)
            if state and _runs(state):
                servers.append(state)
            else:
                file.unlink(missing_ok=True)
    return sorted(servers, key=lambda state: state.start_time)


def _read(file: Path) -> RunningServer | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=RunningServer)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _runs(state: RunningServer) -> bool:
    try:
        return bool(abs(psutil.Process(state.process).create_time() - state.start_time) < _START_TOLERANCE_SECONDS)
    except psutil.Error:
        return False


def _file(process: int) -> Path:
    return paths.servers_folder() / f"{process}.json"
