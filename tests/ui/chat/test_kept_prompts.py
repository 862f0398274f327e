"""Stored prefixes of chats: wanted by requests, and gone with the chat, the setting or the history."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bench.toy import PROGRAM
from bench.window.profile import toy_model
from headstart import paths, private_files
from headstart.chat.history.store import open_store
from headstart.engine import prompt_cache_files
from headstart.engine.engine import ConversationRequest, Keep, LoadOptions, Message
from headstart.engine.protocol import Forget, Generate, Load, Order
from headstart.settings import Settings, save
from headstart.ui.engine_link import EngineLink
from headstart.ui.program import EngineSource, Program
from tests.ui.person import WAIT, ask, begin


def keep(*chats: str) -> None:
    """Store prefixes for two models."""
    for model in ("model", "other"):
        for chat in chats:
            (paths.kept_prompts() / model / chat).mkdir(parents=True)
            (paths.kept_prompts() / model / chat / "a.part").write_bytes(b"keys and values")


def forgotten(orders: list[Order]) -> list[tuple[str, ...]]:
    return [order.chats for order in orders if isinstance(order, Forget)]


def wanted(orders: list[Order]) -> list[Keep | None]:
    return [
        order.request.keep
        for order in orders
        if isinstance(order, Generate) and isinstance(order.request, ConversationRequest)
    ]


def test_request_names_its_chat_and_the_room_for_it(qtbot: QtBot, app: Program, orders: list[Order]) -> None:
    ask(qtbot, app, "first")
    app.settings.change(prompt_cache_gb=0.5)
    ask(qtbot, app, "second")
    app.settings.change(prompt_cache_gb=0.0)
    ask(qtbot, app, "third")
    chat = app.chat_controller.session.chat.id
    assert wanted(orders) == [Keep(chat, 2_000_000_000), Keep(chat, 500_000_000), None]


@pytest.mark.parametrize("is_answering", [False, True])
def test_deleted_chat_deletes_its_prefixes(
    qtbot: QtBot, open_program: Callable[..., Program], orders: list[Order], is_answering: bool
) -> None:
    app = open_program(0.01)
    begin(qtbot, app, "toy: words 3000") if is_answering else ask(qtbot, app, "delete me")
    chat = app.chat_controller.session.chat.id
    keep(chat, "another")
    app.window.actions_by_name["delete"].trigger()
    assert prompt_cache_files.chats() == {"another"}
    assert forgotten(orders) == [(chat,)]
    app.window.actions_by_name["undo"].trigger()
    assert [each.id for each in app.store.chats()] == [chat]


def test_prefixes_are_deleted_with_the_setting(qtbot: QtBot, app: Program, orders: list[Order]) -> None:
    keep("a", "b")
    app.settings.change(prompt_cache_gb=1.0)
    assert prompt_cache_files.chats() == {"a", "b"}
    app.settings.change(prompt_cache_gb=0.0)
    app.settings.change(theme="dark")
    assert not paths.kept_prompts().exists()
    assert forgotten(orders) == [()]


def test_waiting_request_keeps_nothing_forgotten(qtbot: QtBot, link: EngineLink, orders: list[Order]) -> None:
    link.forget_chats("before")
    link.load(LoadOptions(Path("toy")))
    with qtbot.waitSignal(link.finished, timeout=WAIT):
        link.generate(ConversationRequest((Message("user", "hello"),), keep=Keep("chat", 1)))
        link.forget_chats("chat")
    assert [type(order) for order in orders] == [Load, Generate, Forget]


def test_start_deletes_prefixes_of_deleted_chats(open_program: Callable[..., Program], history: Path) -> None:
    store = open_store(history)
    here, deleted = store.create_chat("here"), store.create_chat("deleted")
    store.delete(deleted.id)
    store.close()
    keep(here.id, deleted.id, "lost")
    open_program(loaded=False)
    assert prompt_cache_files.chats() == {here.id}
    save(Settings(prompt_cache_gb=0.0))
    open_program(loaded=False)
    assert not prompt_cache_files.chats()


@pytest.mark.parametrize("is_kept", [True, False])
def test_start_keeps_prefixes_of_the_terminal(open_program: Callable[..., Program], is_kept: bool) -> None:
    keep("terminal")
    if is_kept:
        private_files.write(paths.last_chat(), "[]")
    open_program(loaded=False)
    assert prompt_cache_files.chats() == ({"terminal"} if is_kept else set())


def test_window_without_the_history_deletes_no_prefixes(qapp: QApplication, tmp_path: Path) -> None:
    keep("a")
    program = Program(qapp, open_store(tmp_path / "a check"), EngineSource(PROGRAM, toy_model))
    program.start()
    program.window.close()
    assert prompt_cache_files.chats() == {"a"}


def test_odd_chat_ids_delete_only_prefixes(headstart_home: Path) -> None:
    keep("a")
    (headstart_home / "history.db").write_bytes(b"mine")
    for name in ("", ".", "..", "../..", "*", str(headstart_home)):
        prompt_cache_files.delete(name)
    assert prompt_cache_files.chats() == {"a"}
    assert (headstart_home / "history.db").exists()
