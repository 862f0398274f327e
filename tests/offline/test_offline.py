"""A day of window and terminal with a model: no system call is for another computer, and no network is missed."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.offline import watched

ROOT = Path(__file__).resolve().parents[2]
GUARD = Path(__file__).parent / "guard"
DONE = ["load", "chat", "search", "exchange", "settings", "models", "remote list", "doctor", "chat --prompt"]
OUTWARD = "import socket; socket.socket({}, socket.SOCK_DGRAM).connect(({!r}, 9))"


@dataclass(frozen=True)
class Day:
    """The observations of a day."""

    done: subprocess.CompletedProcess[str]
    trace: Path
    wishes: Path


def environment(home: Path, wishes: Path) -> dict[str, str]:
    """Return the environment of a process whose connections are noted, without a proxy of the machine."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    path = os.pathsep.join([str(GUARD), str(ROOT), str(ROOT / "app"), kept.get("PYTHONPATH", "")])
    own = {"HEADSTART_HOME": str(home), "OFFLINE_WISHES": str(wishes), "QT_QPA_PLATFORM": "offscreen"}
    return {**kept, **own, "PYTHONPATH": path, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


@pytest.fixture(scope="module")
def day(tiny_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Day:
    """A day with whatever can watch it here."""
    folder = tmp_path_factory.mktemp("offline")
    shutil.copytree(tiny_target, folder / "home" / "models" / "tiny")
    trace, wishes = folder / "trace", folder / "wishes"
    command = [sys.executable, "-m", "tests.offline.day"]
    return Day(watched.run(command, trace, environment(folder / "home", wishes)), trace, wishes)


@pytest.mark.slow
def test_everything_works_without_a_network(day: Day) -> None:
    assert day.done.returncode == 0, day.done.stderr
    assert day.done.stdout.split("\n")[:-1] == DONE


@pytest.mark.slow
def test_python_opens_no_remote_connection(day: Day) -> None:
    assert day.done.returncode == 0
    assert not day.wishes.exists(), day.wishes.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(not watched.can_trace(), reason="there is no strace here, or it may not trace")
def test_system_calls_reach_no_other_computer(day: Day) -> None:
    assert day.done.returncode == 0
    assert watched.away(day.trace) == []


@pytest.mark.skipif(not watched.namespace(), reason="nobody may take the network away from a process here")
def test_sandbox_has_no_network(tmp_path: Path) -> None:
    code = "import socket; print([name for _, name in socket.if_nameindex()])"
    done = watched.run([sys.executable, "-c", code], tmp_path / "trace", dict(os.environ))
    assert done.stdout == "['lo']\n"


@pytest.mark.parametrize(
    ("family", "address"),
    [("socket.AF_INET", "192.0.2.1"), ("socket.AF_INET6", "2001:db8::1")],
)
def test_attempted_connection_is_noticed(tmp_path: Path, family: str, address: str) -> None:
    trace, wishes = tmp_path / "trace", tmp_path / "wishes"
    code = OUTWARD.format(family, address)
    watched.run([sys.executable, "-c", code], trace, environment(tmp_path, wishes))
    assert address in wishes.read_text(encoding="utf-8")
    if watched.can_trace():
        (call,) = watched.away(trace)
        assert address in call
