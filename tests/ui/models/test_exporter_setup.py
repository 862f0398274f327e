"""Setting the exporter up from the page of models: by a Python that only says what one would say, and by a real one."""

import dataclasses
import importlib.util
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QThreadPool
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from headstart import paths
from headstart.library import exporter
from headstart.ui.engine_request import installed_model
from headstart.ui.line_process import LineProcess
from headstart.ui.models.add_model_controller import ExporterSetup
from headstart.ui.models.catalogue import FIRST
from headstart.ui.program import Program
from tests.source.source_tree import ROOT
from tests.stand_ins import fake_python
from tests.stand_ins.fake_python import Plan
from tests.ui.person import WAIT, button, press, words

GET = "Get SmolLM2 135M Instruct"
Open = Callable[..., Program]
Planned = Callable[[Plan], None]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for Python is a script with a #! line")

OFFLINE = (
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...: Failed to establish a new "
    "connection: [Errno -3] Temporary failure in name resolution')': /simple/torch/\n"
    "ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: none)\n"
    "ERROR: No matching distribution found for torch==2.13.0"
)
FAILURES = {
    "no network": (Plan(says=OFFLINE, code=1), "The package index cannot be reached; check this computer's network"),
    "nothing for it": (Plan(says=OFFLINE.partition("\n")[2], code=1), "lacks something for Python 3.11"),
    "full": (
        Plan(says="ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", code=1),
        "The disk is full; make room and try again.",
    ),
    "other": (Plan(says="ERROR: Wheel is invalid.", code=2), "The exporter could not be set up: Wheel is invalid."),
    "no trial": (Plan(trial_says="ImportError: libgomp"), "The exporter could not be set up: ImportError: libgomp"),
    "no venv": (Plan(pip=""), "apt install python3-venv"),
    "half a venv": (Plan(venv_says="ensurepip is not available."), "apt install python3-venv"),
    "old": (Plan(version=(3, 9, 2)), "The Python found here is 3.9, and 3.11 or newer is needed"),
}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An installed program without an exporter, but with its package and without another Python."""
    monkeypatch.setattr(exporter, "find_spec", lambda _name: None)
    monkeypatch.setattr(paths, "bundled_wheel", lambda: tmp_path / "headstart-0.1.0-py3-none-any.whl")
    monkeypatch.setattr(exporter, "_free", lambda: 10_000_000_000)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")


@pytest.fixture
def plan(installed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Planned:
    """A function that puts a fake Python on the PATH."""
    fake_python.put(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def follow(planned: Plan) -> None:
        monkeypatch.setenv("FAKE_PYTHON", json.dumps(dataclasses.asdict(planned)))

    return follow


@pytest.fixture
def setup(qtbot: QtBot, installed: None) -> Iterator[ExporterSetup]:
    """A set-up without a window."""
    made = ExporterSetup()
    yield made
    made.close()
    QThreadPool.globalInstance().waitForDone()


def nothing_is_left(home: Path) -> bool:
    return not list(home.glob("exporter*"))


def test_setup_button_goes_on_to_the_model(
    qtbot: QtBot, headstart_home: Path, open_program: Open, plan: Planned
) -> None:
    plan(Plan())
    app = open_program(find=installed_model, loaded=False)
    page = app.window.models
    assert "2.10 GB" in words(page.exporter)
    assert "python3 -m venv" in words(page.exporter)
    told: list[str] = []
    app.models.adding._setup.stepped.connect(told.append)
    shares: list[tuple[int, int]] = []
    app.models.adding._setup.progressed.connect(lambda done, total: shares.append((done, total)))
    first = button(page.welcome, GET)
    first.setFocus()
    qtbot.waitUntil(first.hasFocus, timeout=WAIT)
    press(page.welcome, GET)
    qtbot.waitUntil(page.work._cancel.hasFocus, timeout=WAIT)
    assert not first.isEnabled()
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    assert (headstart_home / "models" / FIRST).is_dir()
    assert told == [
        "Looking for Python",
        "Making an environment for it",
        "Asking what is to be fetched",
        "Looking for torch",
        "Fetching torch-2.13.0 (104.1 MB)",
        "Unpacking 3 packages, which takes some minutes",
        "Trying it",
    ]
    assert shares == [(26, 104)]
    assert sorted(path.name for path in (headstart_home / "exporter").iterdir()) == ["bin"]
    assert page.exporter.isHidden()


def test_setup_exports_the_named_model(qtbot: QtBot, headstart_home: Path, open_program: Open, plan: Planned) -> None:
    plan(Plan())
    other = open_program(find=installed_model, loaded=False).window.models.catalogue.other
    other.source.setText("my model")
    other.weights.setCurrentText("Fast (4 bits)")
    press(other, "Download and convert")
    qtbot.waitUntil((headstart_home / "models" / "my model" / "manifest.json").is_file, timeout=WAIT)


def ending(qtbot: QtBot, setup: ExporterSetup) -> tuple[bool, str]:
    with qtbot.waitSignal(setup.ended, timeout=2 * WAIT) as ended:
        setup.start()
    assert ended.args
    return ended.args[0], ended.args[1]


@pytest.mark.parametrize("name", FAILURES)
def test_failed_setup_is_reported_and_leaves_nothing(
    qtbot: QtBot, headstart_home: Path, setup: ExporterSetup, plan: Planned, name: str
) -> None:
    planned, sentence = FAILURES[name]
    plan(planned)
    usable, said = ending(qtbot, setup)
    assert sentence in said
    assert not usable
    assert exporter.command() is None
    qtbot.waitUntil(lambda: nothing_is_left(headstart_home), timeout=WAIT)


def test_failed_setup_can_be_retried(qtbot: QtBot, open_program: Open, plan: Planned) -> None:
    planned, sentence = FAILURES["no network"]
    plan(planned)
    app = open_program(find=installed_model, loaded=False)
    press(app.window.models.welcome, GET)
    qtbot.waitUntil(lambda: sentence in app.window.models.work.text, timeout=WAIT)
    assert "No matching distribution found" in app.window.models.work.log
    plan(Plan())
    press(app.window.models.work, "Try again")
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)


def test_setup_without_python_names_the_remedy(
    qtbot: QtBot, setup: ExporterSetup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    told: list[str] = []
    setup.ended.connect(lambda _usable, sentence: told.append(sentence))
    setup.start()
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT)
    assert "No Python" in told[0]


def test_setup_on_a_full_disk_is_refused_early(
    qtbot: QtBot, headstart_home: Path, setup: ExporterSetup, plan: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(Plan())
    monkeypatch.setattr(exporter, "_free", lambda: 800_000_000)
    assert "0.8 GB" in ending(qtbot, setup)[1]
    assert nothing_is_left(headstart_home)


def test_setup_of_another_process_is_left_alone(
    qtbot: QtBot, headstart_home: Path, setup: ExporterSetup, plan: Planned
) -> None:
    plan(Plan())
    mark = headstart_home / "exporter" / "unfinished"
    mark.parent.mkdir(parents=True)
    mark.write_text(str(os.getppid()))
    assert not exporter.has_remains()
    is_ready, sentence = ending(qtbot, setup)
    assert not is_ready
    assert "another Headstart" in sentence
    assert mark.is_file()
    mark.write_text("999999999")  # it died
    assert exporter.has_remains()
    assert not mark.exists()


@pytest.fixture
def waiting(qtbot: QtBot, open_program: Open, plan: Planned, tmp_path: Path) -> tuple[Program, psutil.Process]:
    """A set-up during which pip has written half of it."""
    number = tmp_path / "pid"
    plan(Plan(waits=str(number)))
    app = open_program(find=installed_model, loaded=False)
    press(app.window.models.welcome, GET)
    qtbot.waitUntil(lambda: number.is_file() and bool(number.read_text()), timeout=WAIT)
    return app, psutil.Process(int(number.read_text()))


def test_cancelled_setup_leaves_nothing(
    qtbot: QtBot, headstart_home: Path, waiting: tuple[Program, psutil.Process]
) -> None:
    app, pip = waiting
    assert exporter.program("headstart-export").is_file()
    assert exporter.command() is None  # it is not finished
    assert app.window.chat.composer._reach.text() == "On this computer"
    press(app.window.models.work, "Cancel")
    qtbot.waitUntil(lambda: "Cancelled." in app.window.models.work.text, timeout=WAIT)
    assert not pip.is_running()
    assert app.window.chat.composer._reach.text() == "Offline"
    qtbot.waitUntil(lambda: nothing_is_left(headstart_home), timeout=WAIT)


def test_setup_can_be_cancelled_while_asking_python(
    qtbot: QtBot, setup: ExporterSetup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    silent = tmp_path / "python3"
    silent.write_text(f"#!{sys.executable} -IS\nimport time\ntime.sleep(600)\n", encoding="utf-8")
    silent.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with qtbot.waitSignal(setup.ended, timeout=WAIT) as ended:
        setup.start()
        setup.cancel()
    assert ended.args == [False, "Cancelled."]
    assert not setup.is_running


def test_killed_setup_is_reported(qtbot: QtBot, headstart_home: Path, waiting: tuple[Program, psutil.Process]) -> None:
    app, pip = waiting
    pip.kill()
    qtbot.waitUntil(lambda: "The set-up was ended from outside" in app.window.models.work.text, timeout=WAIT)
    qtbot.waitUntil(lambda: nothing_is_left(headstart_home), timeout=WAIT)


def test_closing_ends_setup_and_the_next_start_cleans_up(
    qtbot: QtBot, headstart_home: Path, open_program: Open, plan: Planned, waiting: tuple[Program, psutil.Process]
) -> None:
    app, pip = waiting
    app.window.close()
    assert not pip.is_running()
    assert exporter.command() is None
    plan(Plan())
    again = open_program(find=installed_model, loaded=False)
    again.window.actions_by_name["models"].trigger()
    qtbot.waitUntil(lambda: nothing_is_left(headstart_home), timeout=WAIT)
    press(again.window.models.welcome, GET)
    qtbot.waitUntil(lambda: again.loader.is_ready, timeout=WAIT)


def test_setup_starts_with_the_button(open_program: Open, plan: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(LineProcess, "start", lambda *words: started.append(words))
    monkeypatch.setattr(exporter.SetUp, "run", started.append)
    plan(Plan())
    app = open_program(find=installed_model, loaded=False)
    app.window.actions_by_name["models"].trigger()
    press(app.window.models.exporter, "Copy command")
    assert QGuiApplication.clipboard().text().endswith(f'headstart-export" {FIRST}')
    assert started == []


def test_setup_takes_the_best_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = {"python3": '["a", [3, 9, 1], "22.0", true]', "python3.13": '["b", [3, 13, 0], "", true]'}
    said |= {"python3.12": '["c", [3, 12, 1], "24.3.1", true]', "python3.11": "not asked any more", "python": "nor it"}
    for name, line in said.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{line}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert exporter.SetUp(lambda *_: None).find_python() == exporter.Python("c", (3, 12, 1), (24, 3))


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("Collecting optimum-intel<2.3,>=2.2", ("Looking for {}", "optimum-intel")),
        (
            "  Downloading nncf-3.4.0-py3-none-any.whl.metadata (11 kB)",
            ("Fetching {} ({})", "nncf-3.4.0", "11 kB"),
        ),
        ("  Downloading antlr4-4.9.3.tar.gz (117 kB)", ("Fetching {} ({})", "antlr4-4.9.3", "117 kB")),
        ("Installing collected packages: a, b", ("Unpacking {} packages, which takes some minutes", 2)),
        ("Requirement already satisfied: x", None),
    ],
)
def test_setup_reads_the_output_of_pip(line: str, step: tuple[object, ...] | None) -> None:
    assert exporter.parse_step(line) == step


def wheel(folder: Path, requires: str = "") -> Path:
    """Create a package in place of Headstart's, with empty modules for the trial's imports."""
    path = folder / "headstart-0.1.0-py3-none-any.whl"
    info = "headstart-0.1.0.dist-info"
    extra = f"Requires-Dist: {requires}; extra == 'export'\n" if requires else ""
    modules = ("headstart_export/__init__", "headstart_export/cli", "nncf", "optimum/intel", "torch", "transformers")
    described = f"Metadata-Version: 2.1\nName: headstart\nVersion: 0.1.0\nProvides-Extra: export\n{extra}"
    with zipfile.ZipFile(path, "w") as archive:
        for module in modules:
            archive.writestr(f"{module}.py", "def main():\n    print('[]')\n")
        archive.writestr(f"{info}/METADATA", described)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(
            f"{info}/entry_points.txt", "[console_scripts]\nheadstart-export = headstart_export.cli:main\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def real_setup(setup: ExporterSetup, monkeypatch: pytest.MonkeyPatch) -> ExporterSetup:
    """A set-up with the Python of the tests, whose pip has no reachable index."""
    if importlib.util.find_spec("ensurepip") is None:
        pytest.skip("this Python has no ensurepip; on Debian, apt-get install python3-venv")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")  # nobody listens there
    monkeypatch.setattr(shutil, "which", lambda name: sys.executable if name == "python3" else None)
    return setup


@pytest.mark.slow
def test_setup_works_with_a_real_pip(
    qtbot: QtBot, real_setup: ExporterSetup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paths, "bundled_wheel", lambda: wheel(tmp_path))
    assert ending(qtbot, real_setup) == (True, "")
    assert exporter.command() == (str(exporter.program("headstart-export")),)


@pytest.mark.slow
def test_setup_understands_pip_without_a_network(
    qtbot: QtBot, headstart_home: Path, real_setup: ExporterSetup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paths, "bundled_wheel", lambda: wheel(tmp_path, "not-to-be-had"))
    assert "index cannot be reached" in ending(qtbot, real_setup)[1]
    qtbot.waitUntil(lambda: nothing_is_left(headstart_home), timeout=WAIT)
