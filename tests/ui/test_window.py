"""Stories of a person at the window: typing, sending, stopping, editing, walking, searching, starting again."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import State
from headstart.ui.command_palette import CommandPalette
from headstart.ui.message import MessageContent, MessageState
from headstart.ui.program import Program

WAIT = 20_000
Open = Callable[..., Program]


def shown(app: Program) -> list[MessageContent]:
    return app.window.chat.transcript.contents()


def texts(app: Program) -> list[str]:
    return [content.text.strip() for content in shown(app)]


def write(app: Program, text: str) -> None:
    QTest.keyClicks(app.window.chat.composer.edit, text)
    QTest.keyClick(app.window.chat.composer.edit, Qt.Key.Key_Return)


def ask(qtbot: QtBot, app: Program, text: str) -> None:
    with qtbot.waitSignal(app.presenter.answered, timeout=WAIT):
        write(app, text)


def begin(qtbot: QtBot, app: Program, text: str) -> None:
    """Ask, and go on when the answer has begun to show."""
    write(app, text)
    qtbot.waitUntil(lambda: len(shown(app)) >= 2 and len(shown(app)[-1].text) > 20, timeout=WAIT)


def stored(app: Program) -> list[tuple[str, State]]:
    chat = app.presenter.session.chat.id
    return [(message.text.strip(), message.state) for message in app.store.conversation(chat).path]


def test_enter_sends_and_the_answer_is_shown_and_kept(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello there")
    assert texts(app) == ["hello there", "You wrote: hello there"]
    assert stored(app) == [("hello there", State.COMPLETE), ("You wrote: hello there", State.COMPLETE)]
    assert app.window.chat.composer.text() == ""
    assert shown(app)[1].author == "toy"
    assert "accepted" in shown(app)[1].stats_line
    assert {run.origin for run in shown(app)[1].origins} == {"target", "draft"}
    assert app.chats.current
    assert app.chats.current.chat.title == "hello there"


def test_shift_enter_breaks_the_line(qtbot: QtBot, app: Program) -> None:
    edit = app.window.chat.composer.edit
    QTest.keyClicks(edit, "one")
    QTest.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(edit, "two")
    assert edit.text() == "one\ntwo"
    assert not shown(app)


def test_where_enter_breaks_control_enter_sends(qtbot: QtBot, app: Program) -> None:
    app.change(enter_sends=False)
    edit = app.window.chat.composer.edit
    write(app, "one")
    assert edit.text() == "one\n"
    with qtbot.waitSignal(app.presenter.answered, timeout=WAIT):
        QTest.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert texts(app)[0] == "one"


def test_escape_stops_and_keeps_what_came(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 400")
    with qtbot.waitSignal(app.presenter.answered, timeout=WAIT):
        app.window.actions_by_name["stop"].trigger()
    text, state = stored(app)[-1]
    assert state is State.STOPPED
    assert text.startswith("The toy engine")
    assert len(text.split()) < 400
    assert shown(app)[-1].state is MessageState.STOPPED
    ask(qtbot, app, "go on")
    assert texts(app)[-1] == "You wrote: go on"


def test_the_button_sends_and_stops(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    button = app.window.chat.composer._send
    assert not button.isEnabled()
    QTest.keyClicks(app.window.chat.composer.edit, "toy: words 400")
    assert button.isEnabled()
    button.click()
    qtbot.waitUntil(lambda: button.accessibleName() == "Stop", timeout=WAIT)
    with qtbot.waitSignal(app.presenter.answered, timeout=WAIT):
        button.click()
    assert button.accessibleName() == "Send"


def test_streamed_text_is_on_disk_within_a_second(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.05)
    begin(qtbot, app, "toy: words 400")
    qtbot.wait(1000)
    seen = app.presenter.session.path[-1].text
    text, state = stored(app)[-1]
    assert state is State.STREAMING
    assert len(seen.split()) - len(text.split()) < 60  # a second of this toy


def test_a_dead_engine_leaves_the_partial_answer_and_the_chat_goes_on(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 400")
    with qtbot.waitSignal(app.link.restarted, timeout=WAIT):
        os.kill(app.link.pid, signal.SIGKILL)
    text, state = stored(app)[-1]
    assert state is State.INTERRUPTED
    assert text.startswith("The toy engine")
    assert shown(app)[-1].state is MessageState.FAILED
    assert "unexpectedly" in app.window.chat.notice.text
    ask(qtbot, app, "still there?")
    assert texts(app)[-1] == "You wrote: still there?"


def test_a_refusal_is_told_below_the_answer(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "toy: refuse")
    assert shown(app)[-1].notice == "The toy refuses; ask for something else."


def test_editing_a_question_makes_a_branch_and_versions_are_walked(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.window.chat.transcript.edit_requested.emit(shown(app)[0].id)
    assert app.window.chat.composer.text() == "first"
    app.window.chat.composer.set_text("")
    ask(qtbot, app, "second")
    assert texts(app) == ["second", "You wrote: second"]
    assert (shown(app)[0].version, shown(app)[0].versions) == (2, 2)
    app.window.chat.transcript.version_requested.emit(shown(app)[0].id, 1)
    assert texts(app) == ["first", "You wrote: first"]


def test_editing_an_answer_keeps_the_persons_words(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.window.chat.transcript.edit_requested.emit(shown(app)[1].id)
    app.window.chat.composer.set_text("")
    write(app, "better words")
    assert texts(app) == ["first", "better words"]
    assert shown(app)[1].notice == "Edited by you."
    assert (shown(app)[1].version, shown(app)[1].versions) == (2, 2)


def test_an_edit_can_be_left_and_the_draft_is_there_again(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.window.chat.composer.set_text("half a thought")
    app.presenter.edit_last()
    assert app.window.chat.composer.text() == "first"
    app.window.actions_by_name["stop"].trigger()
    assert app.window.chat.composer.text() == "half a thought"
    assert texts(app)[0] == "first"


def test_regenerating_adds_a_version(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "again")
    with qtbot.waitSignal(app.presenter.answered, timeout=WAIT):
        app.window.actions_by_name["regenerate"].trigger()
    assert (shown(app)[1].version, shown(app)[1].versions) == (2, 2)
    assert "temperature 0" in app.window.chat.notice.text


def test_an_answer_is_continued_where_it_ended(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    before = shown(app)[1]
    with qtbot.waitSignal(app.presenter.answered, timeout=WAIT):
        app.window.chat.transcript.continue_requested.emit(before.id)
    assert shown(app)[1].text.startswith(before.text)
    assert len(shown(app)[1].text) > len(before.text)
    assert shown(app)[1].versions == 1


def test_a_message_is_deleted_and_comes_back(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.window.chat.transcript.delete_requested.emit(shown(app)[1].id)
    assert texts(app) == ["first"]
    app.window.chat.notice._action.click()
    assert texts(app) == ["first", "You wrote: first"]


def test_a_fork_is_a_chat_of_its_own(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    ask(qtbot, app, "second")
    app.window.chat.transcript.fork_requested.emit(shown(app)[1].id)
    assert texts(app) == ["first", "You wrote: first"]
    assert len(app.store.chats()) == 2


def test_search_finds_a_word_and_opens_the_message(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "tell of the walrus")
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "tell of the crab")
    listing = app.window.sidebar.list
    app.window.sidebar.search.setText("walrus")
    qtbot.waitUntil(lambda: listing.model().index(0, 0).data() == "3 results", timeout=WAIT)  # title, question, answer
    listing.clicked.emit(listing.model().index(3, 0))
    assert texts(app)[0] == "tell of the walrus"
    assert app.window.chat.find_bar.field.text() == "walrus"
    app.window.sidebar.search.clear()
    qtbot.waitUntil(lambda: listing.model().index(0, 0).data() == "Today", timeout=WAIT)
    assert listing.model().rowCount() == 3  # a heading and two chats


def test_find_in_the_chat_counts_and_escape_closes_it(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "echo echo")
    app.window.actions_by_name["find"].trigger()
    bar = app.window.chat.find_bar
    QTest.keyClicks(bar.field, "echo")
    assert bar._count.text() == "1 of 4"
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    assert bar._count.text() == "2 of 4"
    app.window.actions_by_name["stop"].trigger()
    assert bar.isHidden()


def test_a_restart_brings_back_chat_draft_and_window(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    ask(qtbot, app, "remember this")
    app.window.chat.composer.set_text("a draft")
    app.window.resize(760, 620)
    again = open_program()
    assert texts(again) == ["remember this", "You wrote: remember this"]
    assert again.window.chat.composer.text() == "a draft"
    assert again.window.size().toTuple() == (760, 620)
    assert [chat.title for chat in again.store.chats()] == ["remember this"]


def test_closing_in_the_middle_of_an_answer_keeps_it(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 400")
    again = open_program()
    text, state = stored(again)[-1]
    assert state is State.INTERRUPTED
    assert text.startswith("The toy engine")
    assert "interrupted" in shown(again)[-1].notice


def test_an_answer_goes_on_while_another_chat_is_open(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    begin(qtbot, app, "toy: words 90")
    chat = app.presenter.session.chat.id
    app.window.sidebar.new_requested.emit()
    assert not shown(app)
    assert not app.presenter.session.send("not now")
    assert "still being written" in app.window.chat.notice.text
    qtbot.waitUntil(lambda: app.link.generation is None, timeout=WAIT)
    app.window.sidebar.chosen.emit(chat, None)
    assert len(texts(app)[-1].split()) == 90
    assert shown(app)[-1].state is MessageState.DONE


def test_deleting_a_chat_can_be_undone(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "keep me")
    app.window.actions_by_name["delete"].trigger()
    assert not app.store.chats()
    assert not shown(app)
    app.window.sidebar._undo._button.click()
    assert texts(app) == ["keep me", "You wrote: keep me"]


def test_a_title_is_changed_in_the_list(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "dull title")
    qtbot.waitUntil(lambda: app.window.sidebar.list.model().rowCount() == 2, timeout=WAIT)
    app.window.actions_by_name["rename"].trigger()
    editor = app.window.sidebar.list.findChild(QLineEdit)
    assert editor is not None
    editor.setText("Bright title")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: app.window.chat._title.text() == "Bright title", timeout=WAIT)
    assert app.store.chats()[0].title == "Bright title"


def test_a_pinned_chat_stands_first(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "older")
    app.window.actions_by_name["pin"].trigger()
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "newer")
    items = app.window.sidebar.list.model()
    assert [items.index(row, 0).data() for row in range(items.rowCount())] == ["Pinned", "older", "Today", "newer"]


def test_settings_of_a_chat_hold_for_its_next_message(qtbot: QtBot, app: Program) -> None:
    app.window.panel.edited.emit("max_new_tokens", 4)
    app.window.panel.edited.emit("num_assistant_tokens", 3)
    app.window.panel.edited.emit("assistant_confidence_threshold", 0.5)
    ask(qtbot, app, "toy: words 50")
    assert len(texts(app)[-1].split()) == 4
    assert "longest length" in shown(app)[-1].notice
    made = app.presenter.session.path[-1].settings
    assert (made["num_assistant_tokens"], made["assistant_confidence_threshold"]) == (3, 0.5)
    app.window.sidebar.new_requested.emit()
    assert app.presenter.session.settings.max_new_tokens == 2048
    app.chats.open(app.store.chats()[0].id)
    app.window.panel.reset_requested.emit()
    assert app.presenter.session.settings.max_new_tokens == 2048


def test_fixed_speculation_comes_with_a_number(qtbot: QtBot, app: Program) -> None:
    app.window.panel.edited.emit("speculation", "fixed")
    settings = app.presenter.session.settings
    assert (settings.speculation, settings.num_assistant_tokens) == ("fixed", 4)
    app.window.panel.edited.emit("num_assistant_tokens", None)
    assert app.presenter.session.settings.speculation == "auto"


def test_settings_can_become_those_of_all_chats(qtbot: QtBot, app: Program) -> None:
    app.window.panel.edited.emit("temperature", 0.7)
    app.window.panel.adopt_requested.emit()
    assert app.settings.temperature == 0.7
    assert not app.presenter.session.chat.settings


def test_a_file_goes_with_the_message(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nalpha beta", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0")
    app.window.chat.files_dropped.emit([tmp_path / "notes.md", tmp_path / "picture.png"])
    assert "picture.png is not a text" in app.window.chat.notice.text
    ask(qtbot, app, "what is this?")
    assert "notes.md" in texts(app)[0]
    assert "alpha" in texts(app)[1]
    assert app.presenter.session.path[0].attachments[0].text.startswith("# Notes")


def test_the_count_shows_context_and_attachments(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("alpha beta gamma", encoding="utf-8")
    app.window.chat.files_dropped.emit([tmp_path / "notes.md"])
    app.window.chat.composer.set_text("one two")
    count = app.window.chat.composer._count
    qtbot.waitUntil(lambda: count.text() == "9 / 2,048 tokens", timeout=WAIT)  # role, name, fences, words
    assert "notes.md: 3 tokens" in count.toolTip()


def test_origins_are_coloured_on_demand_and_stay_so(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    assert app.window.chat.legend.isHidden()
    app.window.chat.origins_button.click()
    assert not app.window.chat.legend.isHidden()
    again = open_program()
    assert not again.window.chat.legend.isHidden()


def test_the_last_answer_is_copied_as_markdown(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "**bold**")
    app.window.actions_by_name["copy_last"].trigger()
    assert QGuiApplication.clipboard().text().strip() == "You wrote: **bold**"


def test_themes_and_zoom_change_live(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    app.window.actions_by_name["theme_dark"].trigger()
    assert app.looks.theme.dark
    before = app.looks.font.pointSizeF()
    app.window.actions_by_name["zoom_in"].trigger()
    assert app.settings.zoom == 110
    assert app.looks.font.pointSizeF() == pytest.approx(before * 1.1)
    app.window.actions_by_name["theme_light"].trigger()
    assert not app.looks.theme.dark


def test_the_palette_runs_a_command(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["palette"].trigger()
    palette = next(child for child in app.window.children() if isinstance(child, CommandPalette))
    QTest.keyClicks(palette.field, "dark th")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert app.settings.theme == "dark"


def test_up_in_an_empty_box_edits_the_last_question(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    QTest.keyClick(app.window.chat.composer.edit, Qt.Key.Key_Up)
    assert app.window.chat.composer.text() == "first"


def test_no_two_commands_share_a_key(qtbot: QtBot, app: Program) -> None:
    keys = [
        key.toString(QKeySequence.SequenceFormat.PortableText)
        for action in app.window.actions_by_name.values()
        for key in action.shortcuts()
    ]
    assert len(keys) > 15
    assert len(keys) == len(set(keys))


def test_every_control_has_an_accessible_name(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    controls = (QAbstractButton, QLineEdit, QPlainTextEdit, QComboBox, QAbstractSpinBox, QListView)
    nameless = [
        f"{type(widget).__name__} {widget.objectName()} in {type(widget.parent()).__name__}"
        for widget in app.window.findChildren(QWidget)
        if isinstance(widget, controls)
        and not _is_internal(widget)
        and not (widget.accessibleName() or getattr(widget, "text", str)())
    ]
    assert not nameless


def _is_internal(widget: QWidget) -> bool:
    """Parts that Qt makes for itself inside a control."""
    parent = widget.parent()
    inside = isinstance(parent, QAbstractSpinBox | QComboBox | QLineEdit)
    in_popup = isinstance(parent, QWidget) and isinstance(parent.parent(), QComboBox)
    return inside or in_popup or widget.objectName().startswith("qt_")
