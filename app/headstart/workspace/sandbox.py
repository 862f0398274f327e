"""A command in bubblewrap, without a network and with one folder alone; or without it, if you allow that."""

import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import psutil

from headstart.engine.cancelling import CancelEvent
from headstart.errors import WorkspaceError
from headstart.workspace.folder import Entry, EntryKind, is_secret

MAX_SECONDS = 120.0
MAX_OUTPUT = 10_000  # characters that the model gets, of the beginning and of the end
MAX_WRITTEN = 200_000_000  # bytes of one file
_MAX_MOUNTS = 300
_POLL_S = 0.05
_PATH = "/usr/local/bin:/usr/bin:/bin"
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_FROM_ETC = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/fonts")
_GIT_RUNS = ("/.git/hooks", "/.git/config")  # programs that git starts later, outside
MIN_MEMORY = 4 * 2**30  # bytes that a program may have at least; half of the computer's memory if that is more
MAX_PROCESSES = 512  # of a command in the sandbox, their threads too
_COUNTS_APART = (5, 14)  # the kernel from which on processes in a sandbox are counted by themselves


@dataclass(frozen=True)
class CommandOutput:
    """The output of a command, and its end."""

    output: str
    code: int
    reason: str = ""  # why it was ended


@dataclass(frozen=True)
class ProtectedPaths:
    """The parts of a folder that a command in the sandbox may not read, or not change."""

    hidden: tuple[Entry, ...]  # keys and passwords
    kept: tuple[str, ...]  # files with another name outside of the folder, and what git runs
    fixed: tuple[str, ...] = ()  # folders that may change inside, but not be moved away

    @classmethod
    def around(cls, entries: Iterable[Entry]) -> "ProtectedPaths":
        """Return the shield of a folder with these entries. Raises WorkspaceError if it has too many."""
        entries = tuple(entries)
        names = Counter(entry.inode for entry in entries if entry.kind is EntryKind.FILE)
        hidden = [
            each
            for each in entries
            if each.kind in (EntryKind.FILE, EntryKind.FOLDER)
            and is_secret(each.path)
            and not is_secret(each.path.rpartition("/")[0])
        ]
        linked = [
            each.path
            for each in entries
            if each.kind is EntryKind.FILE and each.links > names[each.inode] and not is_secret(each.path)
        ]
        git = [each.path for each in entries if f"/{each.path}".endswith(_GIT_RUNS)]
        if len(hidden) + len(linked) + len(git) > _MAX_MOUNTS:
            raise WorkspaceError("The folder has too many keys or hard links to run a command beside them.")
        repositories = dict.fromkeys(path.rpartition("/")[0] for path in git)
        return cls(tuple(hidden), (*linked, *git), tuple(repositories))


def program() -> str | None:
    """Return the path of bubblewrap, if it is installed and works here."""
    found = shutil.which("bwrap")
    return found if found and _works(found) else None


@cache
def _works(bubblewrap: str) -> bool:
    try:
        command = [bubblewrap, *_system(), "--", "/bin/sh", "-c", ":"]
        return not subprocess.run(command, check=False, capture_output=True, timeout=10).returncode
    except (OSError, subprocess.TimeoutExpired):
        return False


def run(
    command: str,
    folder: Path,
    shield: ProtectedPaths | None,
    cancel: CancelEvent,
    *,
    extra: Mapping[str, Path] | None = None,
    seconds: float = MAX_SECONDS,
) -> CommandOutput:
    """Run a shell command in a folder: in the sandbox with a shield, as any program without one.

    `extra` has folders that the sandbox shows, by their places in it. Raises WorkspaceError if it cannot be started.
    """
    shell = ["/bin/sh", "-c", f'{_limits(is_confined=shield is not None)} exec /bin/sh -c "$0"', command]
    environment = {"PATH": _PATH, "LANG": "C.UTF-8", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}
    if shield is not None:
        bubblewrap = program()
        if bubblewrap is None:
            raise WorkspaceError("bubblewrap does not work here any more.")
        shell = [bubblewrap, *_system(), *_mounts(folder, shield, extra or {}), "--", *shell]
        environment["HOME"] = "/tmp"  # noqa: S108 - of the sandbox, empty
    else:
        environment |= {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                shell,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise WorkspaceError("The command cannot be started ({reason}).", reason=error.strerror) from error
        reason = _wait(process, cancel, seconds)
        return CommandOutput(_shown(output), process.returncode, reason)


def _limits(*, is_confined: bool) -> str:
    """Return the commands of a shell that set limits, which hold for whatever it starts."""
    memory = max(MIN_MEMORY, psutil.virtual_memory().total // 2)
    limits = f"ulimit -c 0; ulimit -f {MAX_WRITTEN // 512}; ulimit -v {memory // 1024};"  # files: blocks of 512 bytes
    kernel = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    if is_confined and kernel >= _COUNTS_APART:
        limits += f" ulimit -u {MAX_PROCESSES} 2>/dev/null || ulimit -p {MAX_PROCESSES};"  # -p: of Debian's shell
    return limits


def _wait(process: "subprocess.Popen[bytes]", cancel: CancelEvent, seconds: float) -> str:
    """Wait for the end, and stop child processes that are left. Return why it was ended early."""
    due, reason = time.monotonic() + seconds, ""
    try:
        while process.poll() is None and not reason:
            if cancel.is_set():
                reason = "The user stopped it."
            elif time.monotonic() > due:
                reason = f"It was ended after {seconds:.0f} seconds."
            else:
                time.sleep(_POLL_S)
    finally:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return reason


def _shown(output: IO[bytes]) -> str:
    """Return the beginning and the end of an output."""
    size, half = output.seek(0, os.SEEK_END), MAX_OUTPUT // 2
    output.seek(0)
    if size <= MAX_OUTPUT:
        return output.read().decode(errors="replace")
    start = output.read(half).decode(errors="replace")
    output.seek(size - half)
    return f"{start}\n[… {size - 2 * half:,} bytes left out …]\n{output.read().decode(errors='replace')}"


def _system() -> list[str]:
    """Return the options for a sandbox with the programs of the system, and nothing else."""
    options = ["--unshare-user", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    options += ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            options += ["--ro-bind", name, name]
    for name in _FROM_ETC:
        options += ["--ro-bind-try", name, name]
    return [*options, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108 - of the sandbox


def _mounts(folder: Path, shield: ProtectedPaths, extra: Mapping[str, Path]) -> list[str]:
    root = str(folder)
    options = ["--bind", root, root, "--chdir", root]
    for path in shield.fixed:
        options += ["--bind", f"{root}/{path}", f"{root}/{path}"]
    for entry in shield.hidden:
        place = f"{root}/{entry.path}"
        if entry.kind is EntryKind.FOLDER:
            options += ["--tmpfs", place, "--remount-ro", place]
        else:
            options += ["--ro-bind", "/dev/null", place]
    for path in shield.kept:
        options += ["--ro-bind", f"{root}/{path}", f"{root}/{path}"]
    for place, source in extra.items():
        options += ["--ro-bind", str(source), place]
    return options
