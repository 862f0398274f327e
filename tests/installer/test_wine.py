"""The packages for Windows on what plays Windows here: installed, used and removed. Wine is not Windows.

A small program has setups and MSIs tried with it; the whole one is that of HEADSTART_TEST_SETUP or `dist`.
"""

import json
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from installer.windows import launchers, msi, setup, tools

from headstart import __version__
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.reader import open_reader
from headstart.ui.widgets.theme import LIGHT
from tests.end_to_end import screen as screens
from tests.end_to_end.screen import Screen, open_screen, wait
from tests.installer import stand_ins

ROOT = Path(__file__).resolve().parents[2]
ENTRY = "Software\\Microsoft\\Windows\\CurrentVersion\\Uninstall\\Headstart"
CHATS = "Software\\Classes\\Headstart.Chats"
MENU = "AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Headstart.lnk"
# A window of its own that closes when it is asked to, in a program called as ours is.
WINDOW = """
#include <windows.h>
static LRESULT CALLBACK take(HWND window, UINT what, WPARAM first, LPARAM second) {
    if (what == WM_DESTROY) PostQuitMessage(0);
    return DefWindowProcW(window, what, first, second);
}
int WINAPI wWinMain(HINSTANCE instance, HINSTANCE before, LPWSTR line, int show) {
    WNDCLASSW kind = {.lpfnWndProc = take, .hInstance = instance, .lpszClassName = L"Window"};
    RegisterClassW(&kind);
    CreateWindowW(L"Window", L"Window", WS_OVERLAPPEDWINDOW | WS_VISIBLE, 0, 0, 200, 200, 0, 0, instance, 0);
    MSG message;
    while (GetMessageW(&message, 0, 0, 0) > 0) DispatchMessageW(&message);
    return 0;
}
"""

_LONGEST = 900  # seconds for one program on a loaded machine


def _missing() -> str:
    """Return why the test cannot run on this machine; empty if it can."""
    lacking = [name for name in ("wine", "wineboot", "wineserver") if not shutil.which(name)]
    return f"Windows is played by {', '.join(lacking)}, which is not installed" if lacking else ""


class WineMachine:
    """A computer with Windows in a folder, as Wine plays it: programs run on it."""

    def __init__(self, folder: Path, environment: Mapping[str, str], overrides: str) -> None:
        """`overrides`: libraries to take from beside programs, in Wine's syntax."""
        self.drive = folder / "drive_c"
        self.person = self.drive / "users" / pwd.getpwuid(os.getuid()).pw_name
        self.local = self.person / "AppData" / "Local"
        self.environment = {
            **environment,
            "WINEPREFIX": str(folder),
            "WINEARCH": "win64",
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": f"mscoree=;mshtml=;winemenubuilder.exe=;{overrides}",
        }

    def place(self, path: Path) -> str:
        """Return the path by which a program on the machine names a file on its drive."""
        return "C:\\" + str(path.relative_to(self.drive)).replace("/", "\\")

    def start(self, program: Path | str, *words: str) -> subprocess.Popen[bytes]:
        """Start a program without waiting for it."""
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(["wine", str(program), *words], env=self.environment, stdout=nowhere, stderr=nowhere)

    def run(self, program: Path | str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            ["wine", str(program), *words],
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LONGEST,
            check=False,
        )

    def registered(self, key: str, name: str = "") -> str:
        """Return a value of the user's registry; empty if there is none."""
        done = self.run("reg", "query", f"HKCU\\{key}", *(["/v", name] if name else ["/ve"]))
        return done.stdout.partition("REG_SZ")[2].strip() if done.returncode == 0 else ""


pytestmark = [
    pytest.mark.installer,
    pytest.mark.skipif(bool(_missing()), reason=_missing()),
    pytest.mark.skipif(bool(screens.missing()), reason=f"a window needs {', '.join(screens.missing())}"),
]


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    with open_screen(tmp_path_factory.mktemp("screen")) as shown:
        yield shown


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, screen: Screen) -> Iterator[WineMachine]:
    """A new machine, whose programs are ended after the tests."""
    made = WineMachine(tmp_path_factory.mktemp("machine") / "prefix", screen.environment, stand_ins.OVERRIDES)
    subprocess.run(["wineboot", "--init"], env=made.environment, capture_output=True, timeout=_LONGEST, check=True)
    try:
        yield made
    finally:
        subprocess.run(["wineserver", "-k"], env=made.environment, timeout=60, check=False)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the setup and the MSI of a minimal windowed program."""
    try:
        tools.require()
    except tools.BuildToolError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("small")
    program = folder / "program"
    program.mkdir()
    work = launchers.make(program, folder / "work")
    for name in ("lib/a.py", "app/headstart/b.py", "runtime/c.txt"):
        (program / name).parent.mkdir(parents=True)
        (program / name).write_text(name, encoding="utf-8")
    (folder / "window.c").write_text(WINDOW, encoding="utf-8")
    tools.run(tools.COMPILER, "-municode", "-mwindows", "-o", program / "headstart.exe", folder / "window.c")
    setup.pack(program, work, folder)
    msi.pack(program, work, folder)
    return folder


def the(folder: Path, ending: str) -> Path:
    (found,) = folder.glob(f"*{ending}")
    return found


def install(machine: WineMachine, package: Path, *words: str) -> Path:
    """Install a package, and return its folder."""
    assert machine.run(package, "/S", *words).returncode == 0
    return machine.local / "Programs" / "Headstart"


def remove(machine: WineMachine, program: Path, *words: str, others: frozenset[str] = frozenset()) -> None:
    """Uninstall a package; `others` lie beside the program and must stay."""
    machine.run(program / "uninstall.exe", "/S", *words)  # which leaves the work to a copy of itself
    wait(lambda: _names(program) == others and program.exists() == bool(others), "no program any more")
    wait(lambda: not machine.registered(ENTRY, "DisplayName"), "no entry any more")


@pytest.fixture
def data(machine: WineMachine) -> Path:
    """Create the files of a user."""
    folder = machine.local / "headstart"
    for name in ("models/large/weights.bin", "history/chats.db", "settings.toml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, encoding="utf-8")
    return folder


def test_setup_registers_and_unregisters_the_program(machine: WineMachine, small: Path, data: Path) -> None:
    program = install(machine, the(small, "setup.exe"))
    there = {path.relative_to(program).as_posix() for path in program.rglob("*") if path.is_file()}
    packed = {
        path.relative_to(small / "program").as_posix() for path in (small / "program").rglob("*") if path.is_file()
    }
    assert there == packed | {"uninstall.exe"}
    assert machine.registered(ENTRY, "DisplayVersion") == __version__
    opened = f'"{machine.place(program)}\\headstart.exe" --open "%1"'
    assert machine.registered(f"{CHATS}\\shell\\open\\command") == opened
    assert (machine.person / MENU).is_file()
    remove(machine, program)
    assert not machine.registered(f"{CHATS}\\shell\\open\\command")
    assert not (machine.person / MENU).exists()
    assert len([path for path in data.rglob("*") if path.is_file()]) == 3


def test_uninstall_keeps_models_and_chats_by_default(machine: WineMachine, small: Path, data: Path) -> None:
    elsewhere = machine.drive / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept.bin").touch()
    (data / "models" / "linked").symlink_to(elsewhere)
    remove(machine, install(machine, the(small, "setup.exe")), "/MODELS")
    wait(lambda: not (data / "models" / "large").exists(), "no models any more")
    assert (data / "history" / "chats.db").is_file()
    assert (elsewhere / "kept.bin").is_file()
    (data / "models" / "linked").unlink(missing_ok=True)  # which Wine cannot delete
    remove(machine, install(machine, the(small, "setup.exe")), "/MODELS", "/CHATS")
    wait(lambda: not data.exists(), "nothing any more")


def test_uninstall_may_remove_chats_alone(machine: WineMachine, small: Path, data: Path) -> None:
    remove(machine, install(machine, the(small, "setup.exe")), "/CHATS")
    wait(lambda: [path.name for path in data.iterdir()] == ["models"], "only models")


def test_setup_closes_a_running_program(machine: WineMachine, small: Path, screen: Screen) -> None:
    program = install(machine, the(small, "setup.exe"))
    for action in (lambda: install(machine, the(small, "setup.exe")), lambda: remove(machine, program)):
        with machine.start(program / "headstart.exe") as window:
            wait(lambda: _windows(screen), "a window")
            action()
            assert window.wait(timeout=60) == 0


def test_setup_replaces_no_foreign_files(machine: WineMachine, small: Path) -> None:
    mine = machine.drive / "mine"
    (mine / "lib").mkdir(parents=True)
    (mine / "lib" / "book.txt").touch()
    assert machine.run(the(small, "setup.exe"), "/S", "/D=C:\\mine").returncode == 2
    assert [path.name for path in mine.rglob("*")] == ["lib", "book.txt"]


def test_setup_refuses_to_downgrade(machine: WineMachine, small: Path) -> None:
    program = install(machine, the(small, "setup.exe"))
    machine.run("reg", "add", f"HKCU\\{ENTRY}", "/v", "DisplayVersion", "/d", "99.0.0", "/f")
    (program / "lib" / "a.py").unlink()
    assert machine.run(the(small, "setup.exe"), "/S").returncode == 2
    assert not (program / "lib" / "a.py").exists()
    remove(machine, program)


def test_msi_and_setup_exclude_each_other(machine: WineMachine, small: Path, data: Path) -> None:
    package, program = the(small, ".msi"), machine.local / "Programs" / "Headstart"
    assert machine.run("msiexec", "/i", str(package), "/qn").returncode == 0
    assert (program / "app/headstart/b.py").is_file()
    assert machine.registered(f"{CHATS}\\shell\\open\\command").endswith('headstart.exe" --open "%1"')
    assert (machine.person / MENU).is_file()
    assert machine.run(the(small, "setup.exe"), "/S").returncode == 2
    assert machine.run("msiexec", "/x", str(package), "/qn").returncode == 0
    assert not program.exists()
    assert not (machine.person / MENU).exists()
    assert (data / "settings.toml").is_file()
    install(machine, the(small, "setup.exe"))
    assert machine.run("msiexec", "/i", str(package), "/qn").returncode != 0
    remove(machine, program)


@pytest.fixture
def whole() -> Path:
    """The setup of Headstart itself."""
    named = os.environ.get("HEADSTART_TEST_SETUP", "")
    built = [Path(named)] if named else sorted((ROOT / "dist").glob("*setup.exe"))
    if not built:
        pytest.skip("no setup is built: `installer/build.py --target windows` makes it, HEADSTART_TEST_SETUP names one")
    return built[-1]


def test_program_answers_opens_its_window_and_ends(
    machine: WineMachine, whole: Path, screen: Screen, tmp_path: Path
) -> None:
    program = install(machine, whole)
    others = stand_ins.put(program, tmp_path / "stand-ins")
    assert f"headstart {__version__}" in machine.run(program / "headstart.com", "--version").stdout
    checked = machine.run(program / "headstart.com", "--profile", "C:\\checked", "--self-check")
    assert "the window opened and the engine (no model is installed) answered: " in checked.stdout
    assert checked.returncode == 0
    exported = machine.drive / "some chats.headstart.json"
    exported.write_text(json.dumps({"format": "headstart-chats", "version": 1, "chats": [_chat()]}), encoding="utf-8")
    with machine.start(program / "headstart.exe", "--open", machine.place(exported)) as window:
        wait(lambda: screen.count(LIGHT.surface) > 100_000, "a window in light colours", 300)
        wait(lambda: "On tigers" in _titles(machine.local / "headstart" / "history"), "the exported chat", 300)
        screen.save(tmp_path / "installed.png")
        remove(machine, program, others=others)
        assert window.wait(timeout=60) == 0
    assert "On tigers" in _titles(machine.local / "headstart" / "history")


def _chat() -> dict[str, object]:
    message = {"id": 1, "parent": None, "shown": True, "role": "user", "text": "Tigers?", "created": _WHEN}
    return {"title": "On tigers", "created": _WHEN, "updated": _WHEN, "messages": [{**message, "state": "complete"}]}


_WHEN = "2026-01-01T00:00:00+00:00"


def _titles(history: Path) -> list[str]:
    if not (history / FILE_NAME).is_file():
        return []
    reader = open_reader(history)
    assert reader
    found = [title for _, title in reader.titles()]
    reader.close()
    return found


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def _windows(screen: Screen) -> bool:
    command = ["xdotool", "search", "--onlyvisible", "--name", "^Window$"]
    return bool(subprocess.run(command, env=screen.environment, capture_output=True, check=False).stdout.strip())
