"""Stories of files that do not fit the context: the model gets passages, which the answer names and shows."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Attachment, Passage
from headstart.ui.composer.attachments import AttachmentChip
from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageAction
from headstart.ui.transcript.message_view import MessageView
from tests.ui.conftest import Speak
from tests.ui.person import WAIT, ask, chips, shown, texts, write

Open = Callable[..., Program]
FILLER = "Nothing of interest happens in this paragraph, and the next is like it.\n\n" * 120
BOOK = f"{FILLER}The walrus sleeps by day & night.\n\n{FILLER}Tigers were charged in pounds.\n\n{FILLER}"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A file of 4,692 words; the toy's context holds 2,048."""
    path = tmp_path / "book.txt"
    path.write_text(BOOK, encoding="utf-8")
    return path


def answer(app: Program) -> MessageView:
    """Return the last answer on screen."""
    return app.window.chat.transcript.view(len(shown(app)) - 1)


def buttons(view: MessageView) -> list[QToolButton]:
    """Return the buttons of the passages that an answer names."""
    return view._sources.buttons() if view._sources else []


def sent(app: Program, number: int = 0) -> str:
    """Return this message of the last request."""
    return app.chat_controller.session.request(app.chat_controller.session.path[:-1]).messages[number].content


def test_large_file_is_sent_in_passages(qtbot: QtBot, app: Program, book: Path) -> None:
    composer = app.window.chat.composer
    composer.attach([book])
    composer.set_text("when does the walrus sleep?")
    qtbot.waitUntil(lambda: chips(app) == ["book.txt, 4,692 tokens · in passages"], timeout=WAIT)
    qtbot.waitUntil(lambda: composer._count.accessibleDescription().endswith(" of 2,048 tokens"), timeout=WAIT)
    assert "Too long" not in composer._count.text()
    assert "passages that fit your question" in composer.findChildren(AttachmentChip)[0].toolTip()
    composer.set_text("")
    ask(qtbot, app, "when does the walrus sleep?")
    assert sent(app).startswith("Passages of book.txt:\n```\n")
    assert "walrus sleeps by day" in sent(app)
    assert len(sent(app)) < len(BOOK) / 3
    assert app.chat_controller.session.path[0].attachments == (Attachment("book.txt", BOOK),)
    assert not chips(app)


def test_answer_names_its_passages(qtbot: QtBot, app: Program, book: Path) -> None:
    app.window.chat.composer.attach([book])
    ask(qtbot, app, "when does the walrus sleep?")
    view = answer(app)
    assert len(buttons(view)) == 5
    walrus = next(at for at, source in enumerate(view.content.sources) if "walrus" in source.text)
    height = view.height()
    buttons(view)[walrus].click()
    assert view._passage
    assert buttons(view)[walrus].toolTip().startswith("book.txt, after 3")
    assert "walrus sleeps by day & night" in view._passage.toPlainText()
    assert view.height() > height
    assert buttons(view)[walrus].isChecked()
    buttons(view)[walrus - 1].click()
    assert "walrus" not in view._passage.toPlainText()
    buttons(view)[walrus - 1].click()
    assert view._passage is None
    assert view.height() == height


def test_later_question_has_its_own_passages(qtbot: QtBot, open_program: Open, book: Path) -> None:
    app = open_program()
    app.settings.change(max_new_tokens=20)  # else the toy repeats the passages, and no room is left
    app.window.chat.composer.attach([book])
    ask(qtbot, app, "when does the walrus sleep?")
    ask(qtbot, app, "how much did a tiger cost, charged in pounds?")
    assert "Tigers were charged" in sent(app, 2)
    assert "walrus" not in sent(app, 2)
    assert any("Tigers" in source.text for source in answer(app).content.sources)
    again = open_program()
    again.chats.open(again.store.chats()[0].id)
    assert buttons(answer(again))


def test_passages_fit_the_remaining_context(qtbot: QtBot, app: Program, book: Path) -> None:
    ask(qtbot, app, "toy: words 900")
    app.window.chat.composer.attach([book])
    ask(qtbot, app, "when does the walrus sleep?")
    assert 1 <= len(buttons(answer(app))) <= 3
    assert "walrus sleeps" in sent(app, 2)


def test_short_file_is_sent_whole(qtbot: QtBot, app: Program, book: Path, tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("all of it")
    app.window.chat.composer.attach([tmp_path / "short.txt", book])
    ask(qtbot, app, "walrus?")
    assert sent(app).startswith("short.txt:\n```\nall of it\n```\n\nPassages of book.txt:")
    assert {passage.file for passage in app.chat_controller.session.path[0].passages} == {1}


def test_another_question_finds_other_passages(qtbot: QtBot, app: Program, book: Path) -> None:
    app.window.chat.composer.attach([book])
    ask(qtbot, app, "when does the walrus sleep?")
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, shown(app)[0].id)
    app.window.chat.composer.set_text("")
    ask(qtbot, app, "what were tigers charged in?")
    assert "Tigers were charged" in sent(app)
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, shown(app)[1].id)
    app.window.chat.composer.set_text("")
    write(app, "my own answer")
    assert texts(app)[1] == "my own answer"
    assert app.chat_controller.session.path[1].passages == ()


def test_file_that_fits_again_is_sent_whole(qtbot: QtBot, app: Program, book: Path, tmp_path: Path) -> None:
    app.window.chat.composer.attach([book])
    app.window.chat.composer.set_text("walrus?")
    qtbot.waitUntil(lambda: "in passages" in "".join(chips(app)), timeout=WAIT)
    (tmp_path / "notes.txt").write_text("word " * 1300)  # long, but it fits
    app.window.chat.composer.set_attached([])
    app.window.chat.composer.attach([tmp_path / "notes.txt"])
    app.window.chat.composer.set_text("")
    ask(qtbot, app, "what is it?")
    assert sent(app).startswith("notes.txt:\n")
    assert not buttons(answer(app))


def test_uncounted_file_is_cut_where_surely_too_long(qtbot: QtBot, open_program: Open, tmp_path: Path) -> None:
    app = open_program()
    app.chat_controller.composing.count.set_exact(False)  # another model is in memory
    (tmp_path / "tome.txt").write_text(BOOK * 4, encoding="utf-8")
    app.window.chat.composer.attach([tmp_path / "tome.txt"])
    ask(qtbot, app, "walrus?")
    assert sent(app).startswith("Passages of tome.txt:")


def test_passage_of_a_removed_file_is_not_named(qtbot: QtBot, app: Program, book: Path) -> None:
    app.settings.change(max_new_tokens=20)
    app.window.chat.composer.attach([book])
    ask(qtbot, app, "when does the walrus sleep?")
    ask(qtbot, app, "and the tiger?")
    assert buttons(answer(app))
    app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, shown(app)[0].id)
    assert answer(app).content.sources == ()
    assert not buttons(answer(app))
    assert Passage(1, 0, 0, 1) not in app.chat_controller.session.path[1].passages


def test_passages_work_in_chinese(qtbot: QtBot, open_program: Open, tmp_path: Path, speak: Speak) -> None:
    speak("zh_CN")
    app = open_program()
    path = tmp_path / "书.txt"
    path.write_text("这里 没有 什么 特别 的 内容。\n" * 400 + "老虎白天睡觉。\n", encoding="utf-8")
    app.window.chat.composer.attach([path])
    app.window.chat.composer.set_text("老虎什么时候睡觉？")
    qtbot.waitUntil(lambda: "段落" in "".join(chips(app)), timeout=WAIT)
    app.window.chat.composer.set_text("")
    app.window.chat.composer.set_text("老虎什么时候睡觉？")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.composer.submit()
    assert "老虎白天睡觉" in sent(app)
