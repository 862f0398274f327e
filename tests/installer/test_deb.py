"""The package for Debian: built, installed in bare Debians without a network, used, and removed.

HEADSTART_TEST_DEB names a package that was built before, HEADSTART_TEST_PICTURES a folder for pictures of the windows.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from headstart.chat.conversation import State
from headstart.chat.history import backups
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.store import open_store
from headstart.ui.widgets.theme import LIGHT
from tests.end_to_end import screen as screens
from tests.end_to_end.foreign_servers import GGUF
from tests.end_to_end.screen import count, open_screen, wait
from tests.end_to_end.visit import Visit

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = os.environ.get("HEADSTART_TEST_DEB", "")
PICTURES = os.environ.get("HEADSTART_TEST_PICTURES", "")
OLD_HISTORY = (ROOT / "tests/chat/history/version_1.sql").read_text(encoding="utf-8")
SPEECH = ROOT / "tests/engine/data/speech.opus"
CLIPBOARD = "from PySide6.QtGui import QGuiApplication as A; a = A([]); print(a.clipboard().text())"

_MIRROR = "http://deb.debian.org/debian"
_X11 = Path("/tmp/.X11-unix")  # noqa: S108 - where X11 has its sockets everywhere
PERSON = "person"


def _missing() -> str:
    """Return why the test cannot run on this machine; empty if it can."""
    if os.geteuid() != 0:
        return "a bare Debian needs root (chroot and mount)"
    programs = ("mmdebstrap", "unshare", "chroot", "mount", "ip", "weston", "weston-screenshooter")
    lacking = [name for name in programs if not shutil.which(name)]
    return f"a bare Debian needs {', '.join(lacking)}" if lacking else ""


class BareDebian:
    """A Debian with required packages and apt, whose programs see neither a network nor /sys."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def fetch(self, package: Path) -> None:
        """Let apt download a package's dependencies without installing them; only this step uses a network."""
        shutil.copy(package, self.root / "root" / "package.deb")
        self._run(["chroot", str(self.root), "apt-get", "update", "-q"])
        self._run(["chroot", str(self.root), *_install("--download-only")])

    def install(self) -> None:
        """Install the package, without a network."""
        self._run(["unshare", "--net", "chroot", str(self.root), *_install()])
        self._run(["chroot", str(self.root), "useradd", "--create-home", PERSON])

    def remove(self, name: str) -> str:
        """Purge a package. Return apt's output."""
        return self._run(["unshare", "--net", "chroot", str(self.root), "apt-get", "purge", "-y", "-q", name])

    def command(self, *words: str, **variables: str) -> list[str]:
        """Return the command that runs a program inside as the user, without a network."""
        known = {"HOME": f"/home/{PERSON}", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **variables}
        plain = ["env", "-i", *(f"{name}={value}" for name, value in known.items())]
        inside = ["chroot", f"--userspec={PERSON}:{PERSON}", str(self.root), *plain, *words]
        # The computer's own address is no network, and its own server answers there.
        return ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *inside]

    def run(self, *words: str) -> str:
        """Run a program to its end. Return its output."""
        return self._run(self.command(*words))

    def traces(self) -> list[str]:
        """Return the paths named after Headstart, except in home folders and apt's own records."""
        notes = ("/home/", "/proc/", "/var/log/", "/var/cache/apt/", "/root/package.deb")
        found = self._run(["find", str(self.root), "-xdev", "-iname", "*headstart*"]).splitlines()
        names = [name.removeprefix(str(self.root)) for name in found]
        return [name for name in names if not name.startswith(notes)]

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


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The .deb without a model."""
    if PACKAGE:
        return Path(PACKAGE)
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, str(ROOT / "installer" / "build.py"), "--target", "deb", "--output", str(folder)], check=True
    )
    return next(folder.glob("headstart_*.deb"))


@pytest.fixture(params=["bookworm", "trixie"])
def debian(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[BareDebian]:
    """A Debian, whose mounts are removed at the end."""
    root = tmp_path / "debian"
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", request.param, str(root), _MIRROR], check=True)
    mounts = {Path("/proc"): root / "proc", _X11: root / _X11.relative_to("/")}
    with ExitStack() as stack:
        for source, place in mounts.items():
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--bind", str(source), str(place)], check=True)
            stack.callback(subprocess.run, ["umount", str(place)], check=True)
        yield BareDebian(root)
        shutil.rmtree(root / "usr")  # most of a gigabyte


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = Path(PICTURES) if PICTURES else tmp_path / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.usefixtures("real_smollm2")  # its export leaves the GGUF file in the cache
def test_first_chats_in_a_bare_debian(
    package: Path, debian: BareDebian, pictures: Path, real_whisper: Path, real_pp_ocr: Path, tmp_path: Path
) -> None:
    debian.fetch(package)
    debian.install()
    assert "headstart 0." in debian.run("headstart", "--version")
    debian.run("headstart", "--self-check")
    findings = json.loads(debian.run("headstart", "doctor", "--json"))["findings"]
    assert [found for found in findings if found["level"] == "ok" and "Its own kernels" in found["text"]], findings
    home = debian.root / "home" / PERSON
    data = home / ".local/share/headstart"
    _leave_history_of_old_version(debian, data / "history")
    shutil.copyfile(GGUF, debian.root / "tmp" / "SmolLM2.gguf")
    assert "cat" in debian.run("headstart", "run", "/tmp/SmolLM2.gguf", "What is a cat?").lower()  # noqa: S108
    _chat_in_window(debian, data, tmp_path, pictures / f"{tmp_path.name}-x11.png")
    _open_on_wayland(debian, tmp_path, pictures / f"{tmp_path.name}-wayland.png")
    _hear_and_see(debian, data, [real_whisper, real_pp_ocr])
    logs = [path.read_text(encoding="utf-8") for path in home.rglob("*.log")]
    assert logs
    assert not [text for text in logs if "Traceback" in text]
    assert "~/.local/share/headstart" in debian.remove("headstart")
    assert debian.traces() == []
    _require_upgraded_history(data / "history")


def _chat_in_window(debian: BareDebian, data: Path, folder: Path, picture: Path) -> None:
    (folder / "screen").mkdir()
    with open_screen(folder / "screen") as screen:
        visit = Visit(screen, data, ROOT)
        with subprocess.Popen(debian.command("headstart", DISPLAY=screen.environment["DISPLAY"])) as window:
            wait(lambda: screen.count(LIGHT.surface) > 100_000, "a window in light colours")
            screen.type("What is a cat?")
            screen.keys("Return")
            answer = visit.wait_for_answer(1, State.COMPLETE)
            screen.keys("ctrl+shift+c")
            shown = subprocess.run(
                [sys.executable, "-c", CLIPBOARD], env=screen.environment, capture_output=True, text=True, check=True
            )
            assert shown.stdout.strip() == answer.text.strip()
            screen.save(picture)
            screen.keys("ctrl+q")
            assert window.wait(timeout=60) == 0


def _open_on_wayland(debian: BareDebian, folder: Path, picture: Path) -> None:
    sockets = debian.root / "tmp" / "wayland"
    sockets.mkdir()
    environment = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(sockets), "WAYLAND_DISPLAY": "screen"}
    server = ["weston", "--backend=headless-backend.so", "--use-pixman", "--debug", "--no-config", "--socket=screen"]
    with ExitStack() as stack:
        _start(stack, server, environment)
        wait((sockets / "screen").exists, "weston")
        for path in (sockets, sockets / "screen"):
            path.chmod(0o777)  # the person inside is not the one who started weston
        variables = {"XDG_RUNTIME_DIR": "/tmp/wayland", "WAYLAND_DISPLAY": "screen", "QT_QPA_PLATFORM": "wayland"}  # noqa: S108
        _start(stack, debian.command("headstart", **variables), environment)

        def is_shown() -> bool:
            subprocess.run(["weston-screenshooter"], cwd=folder, env=environment, check=True)
            made = max(folder.glob("wayland-screenshot-*.png"), key=lambda path: path.stat().st_mtime)
            shutil.move(made, picture)
            with Image.open(picture) as image:
                pixels = np.asarray(image.convert("RGB"))
            return bool(count(pixels, LIGHT.surface) > 100_000)

        wait(is_shown, "a window in light colours")


def _hear_and_see(debian: BareDebian, data: Path, models: list[Path]) -> None:
    """Transcribe speech, and ask about the text in a picture."""
    for model in models:
        shutil.copytree(model, data / "models" / model.name)
    shutil.copy(SPEECH, debian.root / "tmp")
    assert "Please send me the report" in debian.run("headstart", "transcribe", f"/tmp/{SPEECH.name}")  # noqa: S108
    picture = Image.new("L", (900, 200), 255)
    ImageDraw.Draw(picture).text((40, 40), "Room 4711 is free.", 0, ImageFont.load_default(36))
    picture.save(debian.root / "tmp" / "room.png")
    question = ["-f", "/tmp/room.png", "--prompt", "Which room is free?", "--greedy"]  # noqa: S108
    assert "4711" in debian.run("headstart", "chat", "--model", "smollm2", *question)


def _start(stack: ExitStack, command: list[str], environment: dict[str, str]) -> None:
    process = stack.enter_context(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
    stack.callback(process.terminate)


def _require_upgraded_history(folder: Path) -> None:
    """Require the old chat beside the new one, and the old file."""
    with closing(open_store(folder)) as store:
        assert {"老虎 and others"} < {chat.title for chat in store.chats()}
    (backup,) = [found for found in backups.list_backups(folder) if "before-" in found.path.name]
    with closing(sqlite3.connect(backup.path)) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (1,)


def _leave_history_of_old_version(debian: BareDebian, folder: Path) -> None:
    """Create the files of the first Headstart."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / FILE_NAME)) as history:
        history.executescript(OLD_HISTORY)
    owner = f"{PERSON}:{PERSON}"
    subprocess.run(["chroot", str(debian.root), "chown", "-R", owner, f"/home/{PERSON}/.local"], check=True)
