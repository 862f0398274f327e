"""A history on a disk of its own that is full, or read-only: mounted, where the system allows that."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from headstart.chat import standby
from headstart.chat.conversation import Conversation
from headstart.chat.history.store import Store
from headstart.ui.engine_request import installed_model
from headstart.ui.history.maintenance import Recovery
from headstart.ui.program import Program
from tests.ui.person import WAIT, ask, texts, write

_SIZE = 4 * 2**20


@pytest.fixture
def disk(headstart_home: Path) -> Iterator[Path]:
    """The data folder on a disk of 4 MB."""
    headstart_home.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "headstart", str(headstart_home)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing may be mounted here")
    yield headstart_home
    subprocess.run(["umount", "--lazy", str(headstart_home)], check=True)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """The disk has no room."""
    rest = disk / "rest"
    with suppress(OSError), rest.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    yield
    rest.unlink()


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """The disk cannot be written."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


def _open(folder: Path) -> tuple[Recovery, Store]:
    recovery = Recovery(folder)
    store = recovery.open()
    assert store
    return recovery, store


def _add(store: Store, title: str) -> None:
    store.save(store.create_chat(title).id, Conversation(), Conversation().ask(title))


@pytest.mark.parametrize("fault", [full, read_only])
def test_disk_that_cannot_be_written_at_the_start_costs_nothing(
    qtbot: QtBot,
    disk: Path,
    fault: Callable[[Path], AbstractContextManager[None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(standby, "places", lambda: iter([tmp_path]))
    folder = disk / "history"
    _, store = _open(folder)
    _add(store, "before")
    store.close()
    with fault(disk):
        recovery, store = _open(folder)
        assert recovery.is_standby
        assert str(folder) in recovery.outcome
        assert any(reason in recovery.outcome for reason in ("Read-only file system", "disk is full"))
        assert [chat.title for chat in store.chats()] == ["before"]
        _add(store, "meanwhile")
        assert not standby.can_write(folder)
        store.close()
    assert standby.can_write(folder)
    recovery, store = _open(folder)
    assert (recovery.is_standby, recovery.is_whole, store.path.parent) == (False, True, folder)
    assert {chat.title for chat in store.chats()} == {"before", "meanwhile"}
    store.close()


def test_disk_that_gets_full_keeps_the_message(qtbot: QtBot, disk: Path, app: Program) -> None:
    ask(qtbot, app, "first question")
    chat, long = app.chat_controller.session.chat.id, "word " * 8_000
    unsaved = app.window.chat.unsaved
    with full(disk):
        app.window.chat.composer.edit.setPlainText(long)
        write(app, "")
        qtbot.waitUntil(lambda: str(disk) in unsaved.text, timeout=WAIT)
        qtbot.waitUntil(lambda: "tokens" in app.window.chat.notice.text, timeout=WAIT)  # the message is too long, too
        app.window.sidebar.new_requested.emit()
        assert str(disk) in unsaved.text
        app.window.sidebar.list.chosen.emit(chat, None)
        assert app.window.chat.composer.text() == long
    app.window.chat.composer.clear()
    qtbot.waitUntil(unsaved.isHidden, timeout=WAIT)
    ask(qtbot, app, "third question")
    assert texts(app)[::2] == ["first question", "third question"]


def test_what_happened_is_said_without_a_model(open_program: Callable[..., Program]) -> None:
    app = open_program(find=installed_model, loaded=False)
    assert app.window.pages.currentWidget() is app.window.models
    app.tell("The disk is full.", bad=True)
    assert app.window.pages.currentWidget() is app.window.chat
    assert app.window.chat.notice.text == "The disk is full."
