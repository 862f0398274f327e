"""The library of prompts: what it holds, the popup that "/" opens, the dialog, and presets of system prompts."""

from collections.abc import Callable
from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog, QPushButton
from pytestqt.qtbot import QtBot

from headstart.ui.chat.empty_page import examples
from headstart.ui.composer.prompts import (
    FilledPrompt,
    PromptDialog,
    built_in_prompts,
    fill,
    library,
    matching_names,
    own_prompts,
    prompt_name,
    typed_name,
)
from headstart.ui.models.catalogue import Strength, strength
from headstart.ui.program import Program
from headstart.ui.settings import presets
from headstart.ui.settings.settings_form import PresetEditor
from tests.ui.person import WAIT, ask, filled_panel, press, texts

Open = Callable[..., Program]


def test_prompt_library_is_read_back() -> None:
    prompts = library({"mine": "My text", "summarise": "Shorter", "tests": ""})
    assert prompts["summarise"] == "Shorter"
    assert "tests" not in prompts
    assert list(prompts) == sorted(prompts, key=str.casefold)
    assert library(own_prompts(prompts)) == prompts
    assert own_prompts(library({})) == {}


def test_built_in_prompts_are_valid() -> None:
    assert len(built_in_prompts()) == 5
    for name, text in built_in_prompts().items():
        assert prompt_name(name) == name
        assert "{cursor}" in text


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("plain", FilledPrompt("plain", 5)),
        ("a {cursor} b {cursor}", FilledPrompt("a  b ", 2)),
        ("<{selection}|{clipboard}|{other}>", FilledPrompt("<S {cursor}|C|{other}>", 22)),
    ],
)
def test_placeholders_are_filled_once(prompt: str, expected: FilledPrompt) -> None:
    assert fill(prompt, "C", "S {cursor}") == expected


def test_only_a_prefix_of_a_name_opens_the_library() -> None:
    assert [typed_name(text) for text in ("/", "/su", "/su m", "a/", "/usr/bin", "")] == [
        "",
        "su",
        None,
        None,
        None,
        None,
    ]
    assert matching_names(["rewrite", "write", "explain"], "WRI") == ["write", "rewrite"]
    assert prompt_name(" /my own/name ") == "my-own-name"


def test_prompt_is_chosen_by_keyboard(qtbot: QtBot, app: Program) -> None:
    edit, popup = app.window.chat.composer.edit, app.window.chat.prompts
    edit.setFocus()
    QTest.keyClicks(edit, "/")
    assert popup.isVisible()
    assert popup.names() == ["explain", "rewrite", "summarise", "tests", "translate", ""]
    QTest.keyClicks(edit, "t")
    assert popup.names() == ["tests", "translate", "rewrite", ""]
    QTest.keyClick(edit, Qt.Key.Key_Up)
    QTest.keyClick(edit, Qt.Key.Key_Up)
    QTest.keyClick(edit, Qt.Key.Key_Up)
    QTest.keyClick(edit, Qt.Key.Key_Down)
    QTest.keyClick(edit, Qt.Key.Key_Up)
    QTest.keyClick(edit, Qt.Key.Key_Tab)
    assert popup.isHidden()
    assert edit.text() == "Translate the following text into English. Give only the translation.\n\n"
    QTest.keyClicks(edit, "Hallo")
    assert edit.text().endswith("\n\nHallo")


def test_cursor_moves_to_the_placeholder(qtbot: QtBot, app: Program) -> None:
    edit = app.window.chat.composer.edit
    edit.setFocus()
    QTest.keyClicks(edit, "/explain ")  # a space takes what is written out
    QTest.keyClicks(edit, "x = 1")
    assert edit.text().endswith("```\nx = 1\n```")


def test_escape_closes_the_library_and_enter_sends(qtbot: QtBot, app: Program) -> None:
    edit, popup = app.window.chat.composer.edit, app.window.chat.prompts
    edit.setFocus()
    QTest.keyClicks(edit, "/te")
    QTest.keyClick(edit, Qt.Key.Key_Escape)
    assert popup.isHidden()
    QTest.keyClicks(edit, "s")
    assert popup.isHidden()
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        QTest.keyClick(edit, Qt.Key.Key_Return)
    assert texts(app)[0] == "/tes"
    QTest.keyClicks(edit, "/")
    assert popup.isVisible()
    app.window.sidebar.search.setFocus()
    assert popup.isHidden()


def test_path_is_no_prompt(qtbot: QtBot, app: Program) -> None:
    edit = app.window.chat.composer.edit
    edit.setFocus()
    QTest.keyClicks(edit, "/usr")
    assert app.window.chat.prompts.isHidden()


def test_selection_and_clipboard_fill_the_prompt(qtbot: QtBot, app: Program) -> None:
    app.settings.change(prompts={"both": "{selection} and {clipboard}"})
    ask(qtbot, app, "tiger")
    _select_all(app)
    QGuiApplication.clipboard().setText("lion")
    edit = app.window.chat.composer.edit
    edit.setFocus()
    QTest.keyClicks(edit, "/both ")
    assert edit.text() == "You wrote: tiger and lion"


def test_prompts_are_added_changed_and_removed(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    ask(qtbot, app, "tiger")
    _select_all(app)
    dialog = _dialog(app)
    dialog.import_button.click()
    _retype(dialog, "my own")
    dialog.list.setCurrentItem(dialog.list.findItems("tests", Qt.MatchFlag.MatchExactly)[0])
    dialog.remove_button.click()
    dialog.list.setCurrentItem(dialog.list.findItems("rewrite", Qt.MatchFlag.MatchExactly)[0])
    dialog.text.setPlainText("Better!")
    dialog.save_button.click()
    again = open_program()
    assert again.settings.now.prompts == {"my-own": "You wrote: tiger", "rewrite": "Better!", "tests": ""}
    edit = again.window.chat.composer.edit
    edit.setFocus()
    QTest.keyClicks(edit, "/")
    assert again.window.chat.prompts.names() == ["explain", "my-own", "rewrite", "summarise", "translate", ""]
    QTest.keyClick(edit, Qt.Key.Key_Up)
    QTest.keyClick(edit, Qt.Key.Key_Return)
    dialog = again.window.findChildren(PromptDialog)[-1]
    dialog.restore_button.click()
    dialog.save_button.click()
    assert again.settings.now.prompts == {"my-own": "You wrote: tiger"}


def test_prompt_dialog_says_what_is_wrong(qtbot: QtBot, app: Program) -> None:
    dialog = _dialog(app)
    assert not dialog.import_button.isEnabled()
    dialog.add_button.click()
    assert dialog._error.text() == "/prompt has no text yet."
    dialog.text.setPlainText("Text")
    assert dialog.save_button.isEnabled()
    _retype(dialog, "tests")
    assert "Two prompts are called /tests" in dialog._error.text()
    assert not dialog.save_button.isEnabled()
    _retype(dialog, "/ ")
    assert dialog._error.text() == "Every prompt needs a name."
    dialog.reject()
    assert not app.settings.now.prompts


def test_system_prompt_is_saved_as_a_preset(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    editor = _presets(app)
    shipped = {preset.name: True for preset in presets.built_in()}
    actions = {"Save as Preset…": False, "Rename Preset…": False, "Delete Preset": False}
    assert _entries(editor) == {"None": True, **shipped, **actions}
    editor._field.setPlainText("Be terse.")
    editor.save(" A terse voice ")
    assert app.settings.now.presets == {"A terse voice": "Be terse."}
    assert app.chat_controller.session.settings.system_prompt == "Be terse."
    assert editor.button.accessibleName() == "Preset: A terse voice"
    again = open_program()
    again.window.sidebar.new_requested.emit()
    editor = _presets(again)
    _action(editor, "A terse voice").trigger()
    assert again.chat_controller.session.settings.system_prompt == "Be terse."
    assert again.settings.now.system_prompt == ""


def test_presets_are_renamed_and_deleted(qtbot: QtBot, app: Program) -> None:
    app.settings.change(presets={"a": "A", "b": "B", "c": "C"})
    editor = _presets(app)
    _action(editor, "b").trigger()
    _action(editor, "Rename Preset…").trigger()
    dialog = editor.findChildren(QInputDialog)[-1]
    assert dialog.textValue() == "b"
    dialog.setTextValue("a")
    dialog.accept()
    assert app.settings.now.presets == {"a": "B", "c": "C"}
    _action(editor, "Delete Preset").trigger()
    assert app.settings.now.presets == {"c": "C"}
    assert app.chat_controller.session.settings.system_prompt == "B"
    bar = app.window.sidebar.undo_bar
    assert bar.text == "Deleted preset “a”"
    app.undo_stack.undo()
    assert app.settings.now.presets == {"a": "B", "c": "C"}
    app.undo_stack.undo()
    assert app.settings.now.presets == {"a": "A", "b": "B", "c": "C"}, "as before it was renamed"


def test_preset_that_is_replaced_can_be_brought_back(app: Program) -> None:
    app.settings.change(presets={"a": "A"})
    editor = _presets(app)
    editor._field.setPlainText("B")
    editor.save("a")
    assert app.settings.now.presets == {"a": "B"}
    assert app.window.sidebar.undo_bar.text == "Replaced preset “a”"
    editor._field.setPlainText("C")
    editor.save("c")
    app.undo_stack.undo()
    assert app.settings.now.presets == {"a": "A", "c": "C"}


def test_system_prompt_that_is_replaced_can_be_brought_back(qtbot: QtBot, app: Program) -> None:
    editor = _presets(app)
    for choose in (
        _action(editor, "Translator").trigger,
        app.window.panel.reset.click,
        partial(app.window.chat.empty.preset.chosen.emit, presets.built_in()[2]),
    ):
        editor._field.setPlainText("Be like nobody else.")
        choose()
        session = app.chat_controller.session
        assert session.settings.system_prompt != "Be like nobody else."
        app.undo_stack.undo()
        assert session.chat.settings == {"system_prompt": "Be like nobody else."}
        assert editor._field.toPlainText() == "Be like nobody else."
    _action(editor, "Translator").trigger()
    ask(qtbot, app, "first")
    app.undo_stack.undo()
    assert app.store.chats()[0].settings == {"system_prompt": "Be like nobody else."}


def test_built_in_presets_set_system_prompt_and_sampling(qtbot: QtBot, app: Program) -> None:
    assert len(presets.built_in()) == 8
    editor, session = _presets(app), app.chat_controller.session
    _action(editor, "Storyteller").trigger()
    assert session.settings.system_prompt.startswith("You write stories.")
    assert session.settings.sampling.temperature == 1.0
    assert _entries(editor)["Rename Preset…"] is False
    _action(editor, "Teacher").trigger()
    assert "temperature" in session.settings.sampling.automatic
    _action(editor, "None").trigger()
    assert session.settings.system_prompt == ""
    assert editor.button.text() == "Presets"


def test_preset_is_chosen_on_the_empty_page(qtbot: QtBot, app: Program) -> None:
    app.settings.change(presets={"mine": "Be kind."})
    button = app.window.chat.empty.preset
    button.fill()
    next(action for action in button.menu().actions() if action.text() == "mine").trigger()
    assert app.chat_controller.session.settings.system_prompt == "Be kind."
    assert button.accessibleName() == "Preset: mine" == _presets(app).button.accessibleName()
    assert button.menu().layoutDirection() is app.window.layoutDirection()


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("qwen2.5-coder", 1_777_088_000, Strength.CODE),
        ("qwen2.5-coder-0.5b-instruct", 630_167_424, Strength.CODE),
        ("smollm2-135m-instruct", 134_515_008, Strength.SMALL),
        ("qwen3-8b", 8_000_000_000, Strength.GENERAL),
        ("remote:box/some-model", None, Strength.GENERAL),
    ],
)
def test_examples_suit_the_model(name: str, parameters: int | None, expected: Strength) -> None:
    assert strength(name, parameters) is expected
    assert len({example.text for example in examples(expected)}) == 4


def test_example_fills_the_message_and_can_be_undone(qtbot: QtBot, app: Program) -> None:
    page, edit = app.window.chat, app.window.chat.composer.edit
    QTest.keyClicks(edit, "my own words")
    example = examples(Strength.GENERAL)[0]
    press(page.empty, example.title)
    assert edit.text() == example.text
    edit.undo()
    assert edit.text() == "my own words"
    edit.redo()
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        QTest.keyClick(edit, Qt.Key.Key_Return)
    assert texts(app)[0] == example.text
    assert page.empty.isHidden()


def test_another_model_has_other_examples(qtbot: QtBot, app: Program) -> None:
    page = app.window.chat.empty
    page.show_model("some-coder")
    press(page, "Draw a picture")
    assert "SVG" in app.window.chat.composer.text()


def test_prompt_on_the_empty_page_takes_the_typed_text(qtbot: QtBot, app: Program) -> None:
    edit = app.window.chat.composer.edit
    QTest.keyClicks(edit, "Hallo")
    press(app.window.chat.empty, "/translate")
    assert edit.text() == "Translate the following text into English. Give only the translation.\n\nHallo"
    app.settings.change(prompts={"mine": "My text", "translate": ""})
    press(app.window.chat.empty, "/mine")
    assert edit.text() == "My text"
    shown = [each.text() for each in app.window.chat.empty.findChildren(QPushButton) if not each.isHidden()]
    assert "/translate" not in shown
    press(app.window.chat.empty, "Edit prompts…")
    assert app.window.findChildren(PromptDialog)


def _select_all(app: Program) -> None:
    view = app.window.chat.transcript.view(1)._text
    view.selectAll()
    assert view.textCursor() != QTextCursor()


def _dialog(app: Program) -> PromptDialog:
    app.window.actions_by_name["prompts"].trigger()
    return app.window.findChildren(PromptDialog)[-1]


def _retype(dialog: PromptDialog, name: str) -> None:
    dialog.name.selectAll()
    QTest.keyClicks(dialog.name, name)


def _presets(app: Program) -> PresetEditor:
    return filled_panel(app).findChildren(PresetEditor)[0]


def _entries(editor: PresetEditor) -> dict[str, bool]:
    editor.button.fill()
    return {action.text(): action.isEnabled() for action in editor.button.menu().actions() if not action.isSeparator()}


def _action(editor: PresetEditor, text: str) -> QAction:
    editor.button.fill()
    return next(action for action in editor.button.menu().actions() if action.text() == text)
