"""Starting and ending: one window, no display, the self-check, and nothing left behind."""

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QLockFile, QObject, QThreadPool, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bench.window import start_cost
from headstart.chat.json_chats import to_json
from headstart.errors import WindowError
from headstart.ui import application
from headstart.ui.application import SingleInstance
from headstart.ui.background_task import BackgroundTask
from headstart.ui.program import Program
from tests.ui.person import WAIT, ask, second_start

ROOT = Path(__file__).resolve().parents[2]
SILENT = rf"\(process {os.getpid()} on .+\) and does not answer; close it there"
Open = Callable[..., Program]


def headstart(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    environment.pop("QT_QPA_PLATFORM", None)
    command = [sys.executable, "-m", "headstart", *arguments]
    return subprocess.run(
        command, env=environment | variables, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a display")
@pytest.mark.parametrize("display", [{}, {"DISPLAY": ":4711"}], ids=["missing", "unreachable"])
def test_missing_display_names_the_terminal(display: dict[str, str]) -> None:
    done = headstart(**display)
    assert done.returncode == 1
    assert ("`headstart chat`" in done.stderr, done.stderr.count("\n")) == (True, 1)


def test_start_loads_no_part_that_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    (started,) = start_cost.starts(tmp_path, 1)
    assert started["parts"] == []


@pytest.mark.slow
def test_self_check_works_without_a_model(tmp_path: Path) -> None:
    done = headstart("--profile", str(tmp_path / "world"), "--self-check")
    assert (done.returncode, done.stderr) == (0, "")
    assert "(no model is installed) answered: CPU" in done.stdout
    assert not (tmp_path / "world" / "history").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_second_start_raises_the_first_window(qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "profile").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "profile")
    first = SingleInstance(tmp_path / "profile")
    assert first.claim()
    with qtbot.waitSignal(first.raise_requested, timeout=60_000):
        assert not second_start(tmp_path / "link")
    first.release()
    second = SingleInstance(tmp_path / "link")
    assert second.claim()
    second.release()


def test_second_start_sends_its_file_to_the_first_window(qtbot: QtBot, tmp_path: Path) -> None:
    first = SingleInstance(tmp_path)
    file = tmp_path / "线 of chats.headstart.json"
    assert first.claim(file)
    with qtbot.waitSignal(first.open_requested, timeout=60_000) as handed:
        assert not second_start(tmp_path, file)
    assert handed.args == [str(file)]
    first.release()


def test_opened_file_imports_its_chats(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    ask(qtbot, app, "hello")
    former = app.chat_controller.session.chat.id
    file = tmp_path / "hello.headstart.json"
    exported = to_json([(app.store.chats()[0], app.store.conversation(former))])
    file.write_text(exported.replace(former, "0" * len(former)).replace("hello", "howdy"), encoding="utf-8")
    app.import_file(str(file))
    assert app.chat_controller.session.chat.id != former
    assert app.chat_controller.session.path[0].text == "howdy"
    assert len(app.store.chats()) == 2


def test_window_that_does_not_answer_is_named(tmp_path: Path) -> None:
    """A start that shows nothing and says nothing would be taken for a broken program."""
    lock = QLockFile(str(tmp_path / "window.lock"))
    assert lock.tryLock(0)
    with pytest.raises(WindowError, match=SILENT):
        SingleInstance(tmp_path).claim()
    lock.unlock()


def test_window_that_hangs_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The system takes a request for a program that hangs."""
    first = SingleInstance(tmp_path)
    assert first.claim()
    monkeypatch.setattr(application, "_ANSWER_MS", 50)
    with pytest.raises(WindowError, match=SILENT):  # no event loop runs
        SingleInstance(tmp_path).claim()
    first.release()


def test_lock_of_a_dead_window_is_ignored(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from PySide6.QtCore import QCoreApplication\n"
        "from headstart.ui.application import SingleInstance\n"
        "app = QCoreApplication([]); one = SingleInstance(Path(sys.argv[1]))\n"
        "assert one.claim(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    after = SingleInstance(tmp_path)
    assert after.claim()
    after.release()


@pytest.mark.engine_process
def test_closed_window_leaves_no_thread_timer_or_process(qtbot: QtBot, open_program: Open) -> None:
    threads = threading.active_count()
    app = open_program(pace=0.01)
    pid = app.link.pid
    for _ in range(3):
        app.window.sidebar.new_requested.emit()
        ask(qtbot, app, "hello")
    app.window.close()

    def check() -> None:
        assert not psutil.pid_exists(pid)
        assert threading.active_count() <= threads
        assert not [timer.parent() for timer in app.findChildren(QTimer) if timer.isActive()]

    qtbot.waitUntil(check, timeout=WAIT)  # threads end when the machine lets them


def _echo(value: bool, _task: BackgroundTask) -> bool:
    return value


def test_cancelled_task_reports_nothing(qtbot: QtBot) -> None:
    pool = QThreadPool()
    heard: list[bool] = []
    for cancelled in (False, True):
        task = BackgroundTask(partial(_echo, cancelled))
        task.done.connect(heard.append)
        task.start(pool=pool)
        pool.waitForDone()  # its end is not yet delivered to this thread
        if cancelled:
            task.cancel()
        QApplication.processEvents()
    assert heard == [False]


def test_left_chats_are_freed(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    for number in range(5):
        app.window.sidebar.new_requested.emit()
        ask(qtbot, app, f"hello {number}")
    QApplication.processEvents()
    gc.collect()
    sessions = [child for child in app.chats.findChildren(QObject) if type(child).__name__ == "ChatSession"]
    assert len(sessions) == 1


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal there")
def test_event_loop_drops_no_reference_to_none(qtbot: QtBot) -> None:
    before = sys.getrefcount(None)
    for _ in range(1000):
        QApplication.processEvents()
    assert sys.getrefcount(None) > before - 100


def test_garbage_is_collected_in_the_main_thread(qtbot: QtBot, app: Program) -> None:
    class Node:
        """A node that refers to itself."""

        def __init__(self) -> None:
            self.me = self

    assert not gc.isenabled()
    gc.collect()
    gone = weakref.ref(Node())
    kept = [Node() for _ in range(gc.get_threshold()[0] + 1)]
    assert gone() is not None
    app.garbage_collection.sweep()
    assert gone() is None
    assert len(kept) > 1
    app.window.close()
    assert gc.isenabled()


ANOTHER_LANGUAGE = """
from PySide6.QtCore import QTimer
from headstart import paths
from headstart.chat.conversation import Conversation
from headstart.chat.history.store import open_store
from headstart.ui import application

store = open_store(paths.history_folder())
chats = [store.create_chat(title).id for title in ("first", "second")]
store.close()
opened = []


class Watched(application.Program):
    def start(self):
        super().start()
        opened.append(self)
        QTimer.singleShot(0, self.act)

    def act(self):
        print(self.window.menuBar().actions()[0].text(), self.chats.current.chat.title)
        print(self.window.width() <= self.window.screen().availableSize().width())
        if len(opened) == 1:
            self.chats.open(chats[0])
            self.settings.change(language="zh_CN", restore_chat=False)
            self.restart()
        else:
            self.window.close()


application.Program = Watched
raise SystemExit(application.run())
"""


@pytest.mark.slow
def test_window_is_rebuilt_in_another_language(headstart_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ANOTHER_LANGUAGE],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen", "HEADSTART_HOME": str(headstart_home), "LANGUAGE": "en"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    first, first_fits, second, second_fits = done.stdout.splitlines()
    assert first.startswith("&File")
    assert second == "文件(&F) first"
    assert first_fits == second_fits == "True"
    assert done.returncode == 0


OPENED = """
from PySide6.QtCore import QTimer
from headstart.ui import application


class Watched(application.Program):
    def start(self):
        super().start()
        QTimer.singleShot(0, lambda: print("open", flush=True))


application.Program = Watched
raise SystemExit(application.run())
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGTERM")
def test_window_that_the_system_ends_leaves_no_lock_and_no_socket(headstart_home: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "t"
    temporary.mkdir()
    names = {"QT_QPA_PLATFORM": "offscreen", "HEADSTART_HOME": str(headstart_home), "TMPDIR": str(temporary)}
    with subprocess.Popen([sys.executable, "-c", OPENED], env=os.environ | names, stdout=subprocess.PIPE) as window:
        assert window.stdout
        assert window.stdout.readline() == b"open\n"
        assert list(temporary.glob("headstart-*"))
        window.terminate()
        assert window.wait(timeout=60) == 0
    assert not list(temporary.glob("headstart-*"))
    assert not (headstart_home / "window.lock").exists()
