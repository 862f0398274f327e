"""Actions while nothing can be written: the window stays, reports it, loses nothing, and recovers."""

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from pytestqt.qtbot import QtBot

from headstart import api_keys
from headstart.chat.conversation import Project
from headstart.errors import UnwritablePlaceError
from headstart.library import library
from headstart.ui.program import Program
from headstart.ui.widgets.layouts import open_folder
from tests.ui.person import WAIT, ask, texts, write

resource = pytest.importorskip("resource")  # Windows has none

Fault = Callable[[Program], AbstractContextManager[None]]
Action = Callable[[Program, Path], object]
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir")
_read_only: list[str] = []  # folders


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what would change a read-only folder, as the system does, for root too."""
    if not _read_only or not (event in _CHANGES or (event == "open" and (arguments[2] or 0) & _WRITING)):
        return
    path, *rest = arguments
    if event in ("os.remove", "os.rmdir") and rest[0] != -1:
        path = os.path.join(os.readlink(f"/proc/self/fd/{rest[0]}"), path)  # noqa: PTH115, PTH118
    if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(tuple(_read_only)):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fspath(path))


@cache
def _watch_changes() -> None:
    """Install the hook, only where a test needs it: it stays, and each of Python's events calls it from then on."""
    sys.addaudithook(_refuse)


@contextmanager
def read_only_folder(folder: Path) -> Iterator[None]:
    """Context manager in which Python cannot change a folder."""
    _watch_changes()
    _read_only.append(str(folder))
    try:
        yield
    finally:
        _read_only.clear()


@contextmanager
def full_disk(_app: Program) -> Iterator[None]:
    """Context manager in which no file can grow, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only_disk(app: Program) -> Iterator[None]:
    """Context manager in which Headstart's folder and that of the exports cannot be changed."""
    app.store._connection.execute("PRAGMA query_only = 1")
    try:
        with read_only_folder(app.store.path.parent.parent.parent):
            yield
    finally:
        app.store._connection.execute("PRAGMA query_only = 0")


def chat(app: Program) -> str:
    return app.chat_controller.session.chat.id


ACTIONS: dict[str, Action] = {
    "index": lambda app, _: app.folders.update(),  # first: its fault is said once
    "send": lambda app, _: write(app, "second question"),
    "rename": lambda app, _: app.chats.rename(chat(app), "new title"),
    "pin": lambda app, _: app.chats.pin(chat(app), pinned=True),
    "archive": lambda app, _: app.chats.archive(chat(app)),
    "delete": lambda app, _: app.chats.delete(chat(app)),
    "tag": lambda app, _: app.tags.create("later", [chat(app)]),
    "rename a project": lambda app, _: app.projects.rename("Papers", "Thesis"),
    "branch": lambda app, _: app.chats.fork(1),
    "settings of a chat": lambda app, _: app.window.panel.forms[0].edited.emit("temperature", 0.5),
    "settings": lambda app, _: app.settings.change(theme="dark"),
    "export": lambda app, folder: app.commands._import_export.write(chat(app), folder / "chat.md"),
    "export as PDF": lambda app, folder: app.commands._import_export.write(chat(app), folder / "chat.pdf"),
    "import": lambda app, folder: app.commands._import_export.read(folder / "others.json"),
}
_QUESTION = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["hello"]}}
OTHERS = [{"title": "Elsewhere", "mapping": {"a": {"id": "a", "children": [], "message": _QUESTION}}}]  # as of ChatGPT


@pytest.mark.parametrize("fault", [full_disk, read_only_disk])
def test_each_action_says_what_cannot_be_written(qtbot: QtBot, app: Program, tmp_path: Path, fault: Fault) -> None:
    ask(qtbot, app, "first question")
    app.store.add_project(Project("Papers", folders=(str(tmp_path),)))
    (tmp_path / "others.json").write_text(json.dumps(OTHERS), encoding="utf-8")
    bars = (app.window.chat.notice, app.window.chat.unsaved)
    for name, action in ACTIONS.items():
        for bar in bars:
            bar.hide()
        with fault(app):
            action(app, tmp_path)
            qtbot.waitUntil(lambda: any(str(tmp_path) in bar.text for bar in bars), timeout=WAIT)
        assert app.window.isVisible(), name
        assert texts(app)[0] == "first question", name
    assert app.window.chat.composer.text() == "second question"
    assert [each.title for each in app.store.chats()] == ["first question"]
    app.window.chat.composer.clear()
    ask(qtbot, app, "third question")
    assert [message.text for message in app.store.conversation(chat(app)).path[::2]] == [
        "first question",
        "third question",
    ]


@pytest.mark.parametrize("change", [library.remove, lambda entry: library.rename(entry, "other")])
def test_model_that_cannot_be_changed_stays(headstart_home: Path, change: Callable[[library.Entry], object]) -> None:
    folder = headstart_home / "models" / "kept"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("broken", encoding="utf-8")
    (entry,) = library.installed()
    with read_only_folder(headstart_home), pytest.raises(UnwritablePlaceError, match=str(folder)):
        change(entry)
    assert (folder / "manifest.json").exists()
    change(entry)
    assert not folder.exists()


def test_key_that_cannot_be_deleted_is_said(headstart_home: Path) -> None:
    api_keys.keep("desk", "secret")
    with read_only_folder(headstart_home), pytest.raises(UnwritablePlaceError, match="Read-only"):
        api_keys.forget("desk")
    assert api_keys.find("desk")
    api_keys.forget("desk")
    assert api_keys.find("desk") is None


def test_folder_that_cannot_be_made_is_shown_by_the_one_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    with read_only_folder(tmp_path):
        open_folder(tmp_path / "none" / "logs")
    assert opened == [QUrl.fromLocalFile(str(tmp_path))]
