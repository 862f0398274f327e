"""The package for Debian: built, installed without a network, used in its window, and removed."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from headstart.chat.conversation import State
from headstart.chat.history import backups
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.store import open_store
from headstart.ui.widgets.theme import LIGHT
from tests.end_to_end import screen as screens
from tests.end_to_end.screen import open_screen, wait
from tests.end_to_end.visit import Visit

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = os.environ.get("HEADSTART_TEST_DEB", "")  # one with a model, to be used instead of building
OLD_HISTORY = (ROOT / "tests/chat/history/version_1.sql").read_text(encoding="utf-8")
CLIPBOARD = "from PySide6.QtGui import QGuiApplication as A; a = A([]); print(a.clipboard().text())"

_MIRROR = "http://deb.debian.org/debian"
_RELEASE = "bookworm"
_X11 = Path("/tmp/.X11-unix")  # noqa: S108 - where X11 has its sockets everywhere
PERSON = "person"


def _missing() -> str:
    """Why there can be none on this machine; empty where there can."""
    if os.geteuid() != 0:
        return "a fresh Debian needs root (chroot and mount)"
    lacking = [name for name in ("mmdebstrap", "unshare", "chroot", "mount", "ip") if not shutil.which(name)]
    return f"a fresh Debian needs {', '.join(lacking)}" if lacking else ""


class FreshDebian:
    """A Debian that has nothing yet, with programs run in it that see no network."""

    def __init__(self, root: Path) -> None:
        """`root` has a Debian with apt."""
        self.root = root

    def fetch(self, package: Path) -> None:
        """Have apt fetch what a package depends on, and install none of it; the only step that may use a network."""
        shutil.copy(package, self.root / "root" / "package.deb")
        self._run(["chroot", str(self.root), "apt-get", "update", "-q"])
        self._run(["chroot", str(self.root), *_install("--download-only")])

    def install(self) -> None:
        """Install the package, without a network."""
        self._run(["unshare", "--net", "chroot", str(self.root), *_install()])
        self._run(["chroot", str(self.root), "useradd", "--create-home", PERSON])

    def remove(self, name: str) -> str:
        """Remove a package for good. Returns what apt said."""
        return self._run(["unshare", "--net", "chroot", str(self.root), "apt-get", "purge", "-y", "-q", name])

    def command(self, *words: str, **variables: str) -> list[str]:
        """The command line that has the person run a program inside, without a network."""
        known = {"HOME": f"/home/{PERSON}", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **variables}
        plain = ["env", "-i", *(f"{name}={value}" for name, value in known.items())]
        inside = ["chroot", f"--userspec={PERSON}:{PERSON}", str(self.root), *plain, *words]
        # The computer's own address is no network, and its own server answers there.
        return ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *inside]

    def run(self, *words: str) -> str:
        """Run it to its end. Returns what it printed."""
        return self._run(self.command(*words))

    def _run(self, command: list[str]) -> str:
        environment = {"PATH": os.environ["PATH"], "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout


def _install(*options: str) -> list[str]:
    return ["apt-get", "install", "-y", "-q", "--no-install-recommends", *options, "/root/package.deb"]


pytestmark = [
    pytest.mark.installer,
    pytest.mark.skipif(bool(_missing()), reason=_missing()),
    pytest.mark.skipif(bool(screens.missing()), reason=f"a window needs {', '.join(screens.missing())}"),
]


@pytest.fixture
def package(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The .deb with SmolLM2."""
    if PACKAGE:
        return Path(PACKAGE)
    model = request.getfixturevalue("real_smollm2")
    order = ["--target", "deb", "--with-model", str(model), "--output", str(tmp_path / "dist")]
    subprocess.run([sys.executable, str(ROOT / "installer" / "build.py"), *order], check=True)
    return next((tmp_path / "dist").glob("headstart_*.deb"))


@pytest.fixture
def debian(tmp_path: Path) -> Iterator[FreshDebian]:
    """Made with the screens of this machine in it; gone from its mounts at the end."""
    root = tmp_path / "debian"
    subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", _RELEASE, str(root), _MIRROR], check=True)
    mounts = {Path("/proc"): root / "proc", _X11: root / _X11.relative_to("/")}
    with ExitStack() as stack:
        for source, place in mounts.items():
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--bind", str(source), str(place)], check=True)
            stack.callback(subprocess.run, ["umount", str(place)], check=True)
        yield FreshDebian(root)


def test_window_answers_in_a_fresh_debian(package: Path, debian: FreshDebian, tmp_path: Path) -> None:
    debian.fetch(package)
    debian.install()
    assert "headstart 0." in debian.run("headstart", "--version")
    assert "the installed model answered" in debian.run("headstart", "--self-check")
    assert (debian.root / "usr/lib/headstart/_internal/headstart/engine/kernels/libheadstart_kernels.so").is_file()
    data = debian.root / "home" / PERSON / ".local/share/headstart"
    _leave_history_of_old_version(debian, data / "history")
    (tmp_path / "screen").mkdir()
    with open_screen(tmp_path / "screen") as screen:
        display = screen.environment["DISPLAY"]
        visit = Visit(screen, data, ROOT)
        with subprocess.Popen(debian.command("headstart", DISPLAY=display)) as window:
            wait(lambda: screen.count(LIGHT.surface) > 100_000, "a window in light colours")
            screen.type("What is a cat?")
            screen.keys("Return")
            answer = visit.wait_for_answer(1, State.COMPLETE)
            screen.keys("ctrl+shift+c")
            shown = subprocess.run(
                [sys.executable, "-c", CLIPBOARD], env=screen.environment, capture_output=True, text=True, check=True
            )
            assert shown.stdout.strip() == answer.text.strip()
            screen.save(tmp_path / "installed.png")
            screen.keys("ctrl+q")
            assert window.wait(timeout=60) == 0
    assert "~/.local/share/headstart" in debian.remove("headstart")
    assert not (debian.root / "usr/lib/headstart").exists()
    assert not (debian.root / "usr/bin/headstart").exists()
    _require_upgraded_history(data / "history")


def _require_upgraded_history(folder: Path) -> None:
    """The old chat is beside the new one, and the old file is kept."""
    with closing(open_store(folder)) as store:
        assert {"老虎 and others"} < {chat.title for chat in store.chats()}
    (backup,) = [found for found in backups.list_backups(folder) if "before-" in found.path.name]
    with closing(sqlite3.connect(backup.path)) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (1,)


def _leave_history_of_old_version(debian: FreshDebian, folder: Path) -> None:
    """Leave the files of the first Headstart."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / FILE_NAME)) as history:
        history.executescript(OLD_HISTORY)
    owner = f"{PERSON}:{PERSON}"
    subprocess.run(["chroot", str(debian.root), "chown", "-R", owner, f"/home/{PERSON}/.local"], check=True)
