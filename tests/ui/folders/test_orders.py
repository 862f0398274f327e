"""Random orders of what a person does with projects and their folders: each question is answered from present files."""

import logging
import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bench.toy import PROGRAM
from bench.window.profile import toy_model
from headstart.chat.conversation import Excerpt, Project
from headstart.chat.files.passages import MOST
from headstart.chat.folders import folder_files, folder_index
from headstart.chat.folders.folder_files import CancelledError, FileSection
from headstart.chat.folders.folder_index import FolderIndex, IsWanted
from headstart.ui.folders import folders_controller
from headstart.ui.folders.folder_list import FolderRow
from headstart.ui.program import EngineSource, Program
from headstart.ui.sidebar import projects
from tests.chat.folders.test_folders import DirectReader
from tests.chat.folders.test_orders import DISK_ACTIONS, Disk
from tests.support.waiting import PATIENCE
from tests.ui.folders.test_folders import ToyEmbedder
from tests.ui.folders.test_projects import choose, dialog
from tests.ui.person import WAIT, press, words, write

_STEPS = 25
pytestmark = pytest.mark.skipif(os.name == "nt", reason="names are shorter there, and what is read cannot be moved")
_PROJECTS = ("Thesis", "Garden")
_ACTIONS = (
    *["change_files"] * 12,
    *["ask", "wait", "update"] * 3,
    *["add_folder", "remove_folder", "delete_project", "move_chat", "open_chat", "stop"],
    *["restart", "restart_engine", "kill_reader", "unload"],
)


class _Reader:
    """Reads files in this process."""

    def __init__(self, _command: object) -> None:
        pass

    def read(self, path: Path, start: int, is_wanted: IsWanted) -> Iterator[FileSection]:
        """Yield the pieces of a file as the reading process does."""
        for piece in folder_files.pieces(path, start):
            if not is_wanted():
                raise CancelledError
            yield piece

    def close(self) -> None:
        """Do nothing."""


class _Person:
    """A person who acts at random, while files change."""

    def __init__(self, qtbot: QtBot, open_program: Callable[..., Program], folder: Path, seed: int) -> None:
        self.qtbot, self.open_program = qtbot, open_program
        self.random = random.Random(seed)
        self.disk = Disk(folder / "disk", self.random)
        self.embedder = ToyEmbedder()
        self.engine = EngineSource((*PROGRAM, "--pace", "0"), toy_model, find_embedder=lambda: self.embedder)
        self.app = open_program(engine=self.engine)
        self.done: list[str] = []
        for name in _PROJECTS:
            self.add_folder(name)

    def act(self) -> None:
        name = self.random.choice(_ACTIONS)
        self.done.append(name)
        getattr(self, name)()
        self.qtbot.wait(self.random.choice((0, 0, 5, 30)))

    def change_files(self) -> None:
        name = self.random.choice(DISK_ACTIONS)
        self.done.append(f"({name})")
        getattr(self.disk, name)()

    def ask(self) -> None:
        choose(self.app, self.any_project())
        write(self.app, f"{self.word()}?")

    def wait(self) -> None:
        self.qtbot.waitUntil(lambda: not self.is_busy, timeout=WAIT)

    @property
    def is_busy(self) -> bool:
        folders = self.app.folders
        return bool(
            folders._searches
            or folders._pool.activeThreadCount()
            or folders._questions.activeThreadCount()
            or self.app.chat_controller.composing.count._callback  # before a message is sent
            or any(session.is_answering for session in self.app.chats._sessions.values())
        )

    def any_project(self) -> str:
        names = [project.name for project in self.app.store.projects()]
        if not names:
            self.add_folder(_PROJECTS[0])
            return _PROJECTS[0]
        return self.random.choice(names)

    def word(self) -> str:
        """Return a word that a file has or had."""
        return f"wxkq{self.random.randint(1, self.disk.count)}qkx"

    def update(self) -> None:
        self.app.folders.update()

    def add_folder(self, name: str = "") -> None:
        self.change_folders(name or self.random.choice(_PROJECTS), adds=True)

    def remove_folder(self) -> None:
        self.change_folders(self.any_project(), adds=False)

    def change_folders(self, name: str, *, adds: bool) -> None:
        """Add a folder in the dialog of a project, or remove one."""
        if self.app.store.project(name) is None:
            self.app.store.add_project(Project(name))
            self.app.chats.refresh()
        self.app.window.sidebar.project_edit_requested.emit(name)
        editing = dialog(self.app)
        if adds:
            editing.folders.add(str(self.random.choice(self.disk.folders)))
        elif editing.folders.folders:
            editing.folders.remove(self.random.choice(editing.folders.folders))
        press(editing, "Save")

    def delete_project(self) -> None:
        self.app.projects.delete(self.any_project())

    def move_chat(self) -> None:
        chats = self.app.store.chats()
        if chats:
            self.app.chats.move([self.random.choice(chats).id], self.any_project())

    def open_chat(self) -> None:
        chats = self.app.store.chats()
        if chats:
            self.app.chats.open(self.random.choice(chats).id)

    def stop(self) -> None:
        self.app.chat_controller.stop()

    def restart(self) -> None:
        self.app = self.open_program(engine=self.engine)

    def restart_engine(self) -> None:
        self.app.loader.reload(self.app.settings.now)

    def kill_reader(self) -> None:
        """End the process that reads; a file at which it dies twice is given up."""
        for each in psutil.Process().children():
            with suppress(psutil.Error):
                if "text" in each.cmdline():
                    each.kill()
        self.wait()

    def unload(self) -> None:
        self.app.folders.unload()

    def settle(self) -> None:
        """Wait until nothing goes on, and read what has changed."""
        self.disk.bring_back()
        self.wait()
        self.app.folders.update()
        self.wait()
        QApplication.processEvents()  # the state of the last folder is on its way

    def check(self, home: Path) -> None:
        """Compare what the window shows and what a question gets with a new index."""
        self.settle()
        folders = self.app.store.project_folders()
        with FolderIndex(home, None) as new:
            new.keep(folders)
            for folder in folders:
                all(new.update(folder, DirectReader()))
            while new.embed(folders, self.embedder):
                pass
            for folder in folders:
                assert self.app.folders.state(folder) == new.state(folder), self.done
            for project in self.app.store.projects():
                self._check_dialog(project.name)
                own = self.app.store.project_folders(project.name)
                for _ in range(3):
                    question = f"{self.word()}?"
                    found = new.find(own, question, self.embedder)
                    if len(found) < MOST:
                        assert sorted(self._given(project.name, question)) == sorted(found), self.done

    def _check_dialog(self, name: str) -> None:
        self.app.window.sidebar.project_edit_requested.emit(name)
        editing = dialog(self.app)
        for row in editing.folders.findChildren(FolderRow):
            assert "eading" not in words(row), self.done
        editing.reject()

    def _given(self, project: str, question: str) -> tuple[Excerpt, ...]:
        """Return the passages that a question in a new chat is sent with."""
        choose(self.app, project)
        self.app.window.sidebar.new_requested.emit()
        self.app.window.chat.composer.set_text("")  # what could not be sent before
        write(self.app, question)
        session = self.app.chat_controller.session
        self.qtbot.waitUntil(lambda: bool(session.path) and not self.is_busy, timeout=WAIT)
        assert session.path[0].text.strip() == question, self.done
        return session.path[0].excerpts


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a busy machine time to read the files before a question is sent, and answer each question."""
    monkeypatch.setattr(projects, "confirm", lambda *_: True)
    for name in ("SEARCH_S", "FIRST_SEARCH_S"):
        monkeypatch.setattr(folders_controller, name, PATIENCE)
    monkeypatch.setattr(folder_files, "_NICE", 0)
    monkeypatch.setattr(folder_index, "MOMENT_S", 1e12)  # every file is compared by its content


@pytest.mark.parametrize("reads_apart", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
def test_questions_are_answered_from_present_files(
    qtbot: QtBot,
    open_program: Callable[..., Program],
    tmp_path: Path,
    seed: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    *,
    reads_apart: bool,
) -> None:
    if not reads_apart:
        monkeypatch.setattr(folders_controller, "TextReader", _Reader)
    threads = set(threading.enumerate())
    person = _Person(qtbot, open_program, tmp_path, seed)
    for _ in range(_STEPS):
        person.act()
    person.check(tmp_path / "new")
    person.app.window.close()
    assert not [each for each in psutil.Process().children() if "text" in each.cmdline()], person.done
    qtbot.waitUntil(lambda: set(threading.enumerate()) <= threads, timeout=WAIT)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING], person.done
