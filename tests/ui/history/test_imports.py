"""Stories of chats that come from other programs: what the window says, and what it shows then."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from headstart.chat.json_chats import to_json
from headstart.ui.program import Program
from tests.chat.imports.test_imports import CLAUDE, TALK, _chain, _text
from tests.ui.conftest import Speak
from tests.ui.person import WAIT, ask, begin, press, stored, texts

Choose = Callable[..., None]


@pytest.fixture
def choose(app: Program, monkeypatch: pytest.MonkeyPatch) -> Choose:
    """A function that imports files with the dialog."""

    def choose(*paths: Path) -> None:
        monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(path) for path in paths], ""))
        app.window.actions_by_name["import"].trigger()

    return choose


def _written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_import_says_what_came_and_what_was_left_out(app: Program, tmp_path: Path, choose: Choose) -> None:
    chats = [_chain(*TALK), _chain(*TALK), {"mapping": {}}]
    choose(_written(tmp_path / "conversations.json", chats))
    assert app.window.chat.notice.text == ("Imported 2 chats from ChatGPT. Left out: chats without messages (1).")
    assert len(app.store.chats()) == 2


def test_import_of_several_files_says_all(app: Program, tmp_path: Path, choose: Choose) -> None:
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    choose(_written(tmp_path / "a.json", [CLAUDE]), tmp_path / "bad.json")
    said = app.window.chat.notice.text
    assert said.startswith("bad.json ")
    assert "Imported 1 chat from Claude" in said
    assert [chat.title for chat in app.store.chats()] == ["Tigers"]


def test_forgotten_parts_of_an_export_are_named(app: Program, tmp_path: Path, choose: Choose) -> None:
    paths = [_written(tmp_path / f"conversations-{number:03}.json", [_chain(*TALK)]) for number in range(3)]
    choose(*paths[:2])
    assert app.window.chat.notice.text.endswith(": conversations-002.json.")
    choose(*paths)
    assert "further parts" not in app.window.chat.notice.text


def test_opened_file_says_what_came(app: Program, tmp_path: Path) -> None:
    app.import_file(str(_written(tmp_path / "conversations.json", [_chain(*TALK)])))
    assert app.window.chat.notice.text == "Imported 1 chat from ChatGPT."
    assert [message.text for message in app.chat_controller.session.path] == ["one", "two", "three", "four"]


def test_import_is_taken_back_once(app: Program, tmp_path: Path) -> None:
    app.import_file(str(_written(tmp_path / "conversations.json", [_chain(*TALK)])))
    assert app.undo_stack.next
    press(app.window.chat.notice, "Undo")
    assert not app.store.chats()
    assert not app.undo_stack.next
    assert app.window.chat.notice.isHidden()


def test_export_that_is_imported_again_adds_what_is_new(app: Program, tmp_path: Path) -> None:
    notice, later = app.window.chat.notice, (*TALK, _text("user", "five"))
    chats = [{**_chain(*TALK), "conversation_id": f"id {number}"} for number in range(40)]
    app.import_file(str(_written(tmp_path / "conversations.json", chats)))
    assert notice.text == "Imported 40 chats from ChatGPT."
    app.import_file(str(tmp_path / "conversations.json"))
    assert notice.text == "Nothing is new in the chats from ChatGPT. Here already: 40."
    own = to_json([(chat, app.store.conversation(chat.id)) for chat in app.store.chats()])
    (tmp_path / "own.json").write_text(own, encoding="utf-8")
    app.import_file(str(tmp_path / "own.json"))
    assert notice.text == "Nothing is new in the chats from Headstart. Here already: 40."
    longer = [{**_chain(*later), "conversation_id": f"id {number}"} for number in (0, 40)]
    app.import_file(str(_written(tmp_path / "conversations.json", [*chats[1:], *longer])))
    assert notice.text == "Imported 1 chat from ChatGPT. Chats with new messages: 1. Here already: 39."
    press(notice, "Undo")
    assert to_json([(chat, app.store.conversation(chat.id)) for chat in app.store.chats()]) == own


def test_import_reports_in_the_language_of_the_window(
    app: Program, tmp_path: Path, choose: Choose, speak: Speak
) -> None:
    path = _written(tmp_path / "conversations.json", [_chain(*TALK), {"mapping": {}}])
    speak("zh_CN")
    choose(path)
    assert app.window.chat.notice.text == "已从 ChatGPT 导入 1 个对话。未导入：没有消息的对话（1）。"


def test_open_chat_takes_the_messages_of_an_import(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    app.import_file(str(_written(path, [_chain(*TALK)])))
    app.window.chat.composer.set_text("typed meanwhile")
    app.import_file(str(_written(path, [_chain(*TALK, _text("user", "five"), _text("assistant", "six"))])))
    assert texts(app) == ["one", "two", "three", "four", "five", "six"]
    assert app.window.chat.composer.text() == "typed meanwhile"
    app.window.chat.composer.clear()
    ask(qtbot, app, "seven")
    assert [text for text, _ in stored(app)] == [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "You wrote: seven",
    ]


@pytest.mark.parametrize("change", ["edit", "ask"])
def test_undo_keeps_imported_messages_that_go_on(qtbot: QtBot, app: Program, tmp_path: Path, change: str) -> None:
    path = tmp_path / "conversations.json"
    app.import_file(str(_written(path, [_chain(*TALK)])))
    app.import_file(str(_written(path, [_chain(*TALK, _text("user", "five"), _text("assistant", "six"))])))
    if change == "ask":
        ask(qtbot, app, "seven")
    else:
        app.chat_controller.edit_last()
        app.window.chat.composer.set_text("five, but better")
    before = texts(app)
    app.undo_stack.undo()
    assert texts(app) == before
    assert app.window.chat.composer.text() == ("five, but better" if change == "edit" else "")
    assert app.window.chat.notice.text == "Chats that stay, because you changed them: 1."


def test_undo_removes_imported_messages_from_the_open_chat(app: Program, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    app.import_file(str(_written(path, [_chain(*TALK)])))
    app.import_file(str(_written(path, [_chain(*TALK, _text("user", "five"))])))
    app.undo_stack.undo()
    assert texts(app) == [text for text, _ in stored(app)] == ["one", "two", "three", "four"]


def test_undo_keeps_imported_chats_that_go_on(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    chats = [{**_chain(*TALK), "conversation_id": f"id {number}"} for number in range(3)]
    app.import_file(str(_written(tmp_path / "conversations.json", chats)))
    ask(qtbot, app, "my own words")
    app.undo_stack.undo()
    assert len(app.store.chats()) == 1
    assert stored(app)[-2][0] == "my own words"
    assert app.window.chat.notice.text == "Chats that stay, because you changed them: 1."


def test_chat_that_goes_with_its_import_is_left(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    app.import_file(str(_written(tmp_path / "conversations.json", [_chain(*TALK)])))
    assert texts(app)
    app.undo_stack.undo()
    assert not texts(app)
    ask(qtbot, app, "new")
    assert [chat.title for chat in app.store.chats()] == ["new"]


def test_nothing_is_imported_while_an_answer_is_written(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    app.import_file(str(_written(path, [_chain(*TALK)])))
    begin(qtbot, app, "toy: words 1500")
    app.import_file(str(_written(path, [_chain(*TALK, _text("user", "five"))])))
    assert "still being written" in app.window.chat.notice.text
    app.undo_stack.undo()
    assert "still being written" in app.window.chat.notice.text
    assert app.undo_stack.next
    app.chat_controller.stop()
    qtbot.waitUntil(lambda: not app.chat_controller.session.is_answering, timeout=WAIT)
