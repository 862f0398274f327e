"""Runs a program where there is no network, with every system call of networking written down."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_TRACER = ("strace", "--seccomp-bpf", "-f", "-qq", "-s", "0", "-e", "trace=connect,sendto,sendmsg,sendmmsg,bind")
_NAMESPACES = (("unshare", "-n"), ("unshare", "-rn"))  # of root, of anybody
_AWAY = re.compile(r"sin6?_port=htons\((?P<port>\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )\"(?P<host>[^\"]+)\"")
_CALL = re.compile(r"(connect|sendto|sendmsg|sendmmsg)\(")


@cache
def namespace() -> tuple[str, ...]:
    """Return the command prefix that removes the network; empty if that is not allowed."""
    return next((words for words in _NAMESPACES if _runs(words)), ())


@cache
def can_trace() -> bool:
    """Return whether strace is installed, and may trace."""
    return _runs((*_TRACER, "-o", os.devnull))


def run(command: Sequence[str], trace: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command with all its children, traced into a file if possible."""
    tracer = (*_TRACER, "-o", str(trace)) if can_trace() else ()
    return subprocess.run(
        [*namespace(), *tracer, *command], env=environment, capture_output=True, text=True, check=False, timeout=600
    )


def away(trace: Path) -> list[str]:
    """Return the calls to other computers."""
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if _CALL.search(line) and any(map(_is_outside, _AWAY.finditer(line)))]


def _is_outside(found: re.Match[str]) -> bool:
    host = found["host"]
    return not (host.startswith("127.") or host in ("::1", "::ffff:127.0.0.1"))


def _runs(words: Sequence[str]) -> bool:
    if not shutil.which(words[0]):
        return False
    return subprocess.run([*words, "true"], capture_output=True, check=False, timeout=60).returncode == 0
