"""Every dialog: what Enter does, the button that it presses, and what the manual and the list of keys say."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QInputDialog, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Project
from headstart.markdown.blocks import Preview
from headstart.ui.chat.tools import ServerDialog
from headstart.ui.composer.prompts import PromptDialog
from headstart.ui.help.manual import KeysDialog, ManualDialog, chapters
from headstart.ui.markdown.preview import PreviewDialog
from headstart.ui.program import Program
from headstart.ui.settings.settings_form import NumberBox, PresetEditor
from headstart.ui.sidebar.projects import ProjectDialog
from headstart.ui.widgets.layouts import Dialog, confirm
from headstart.ui.window.dialogs import CommandPalette
from tests.ui.person import ask, button, chat_rows, preferences, setting

HARMLESS = {"Save", "Close", "OK", "Cancel", "Reopen now"}  # or none at all
OPENED_BY_MENU = ("preferences", "about", "palette", "manual", "keys", "tools", "prompts", "folder", "quick")


def default_of(dialog: QDialog) -> str:
    """Return the text of the button that Enter in a field presses, or ""."""
    return next((each.text().replace("&", "") for each in dialog.findChildren(QPushButton) if each.isDefault()), "")


def opened() -> Iterator[QDialog]:
    yield from (each for each in QApplication.topLevelWidgets() if isinstance(each, QDialog) and each.isVisible())


@pytest.mark.parametrize("name", OPENED_BY_MENU)
def test_default_button_of_a_dialog_of_the_menus_is_harmless(qtbot: QtBot, app: Program, name: str) -> None:
    ask(qtbot, app, "hello")
    app.window.actions_by_name[name].trigger()
    (dialog,) = opened()
    assert default_of(dialog) in {"", *HARMLESS}
    dialog.close()


def test_default_button_of_other_dialogs_is_harmless(qtbot: QtBot, app: Program) -> None:
    window = app.window
    dialogs: list[tuple[Dialog, str]] = [
        (ProjectDialog(Project(""), (), app.folders, window), "Save"),
        (ServerDialog("", {}, (), window), "Save"),
        (PromptDialog({"a": "b"}, "", window), ""),
        (PreviewDialog(Preview.HTML, "<p>Hello</p>", window), ""),
    ]
    for dialog, text in dialogs:
        dialog.show()
        assert default_of(dialog) == text, dialog
        dialog.close()
    prompt = setting(app, "system_prompt")
    assert isinstance(prompt, PresetEditor)
    for ask_for_name in (window.sidebar.ask_for_tag, prompt._on_save):
        ask_for_name()
        question = next(each for each in window.findChildren(QInputDialog) if each.isVisible())
        assert default_of(question) == "OK"
        question.close()


@pytest.mark.parametrize("name", ["preferences", "about", "manual", "keys", "tools", "prompts", "folder"])
def test_dialogs_grow_with_the_text_and_fit_the_screen(app: Program, name: str) -> None:
    sizes = []
    for zoom in (100, 200):
        app.settings.change(zoom=zoom)
        app.window.actions_by_name[name].trigger()
        (dialog,) = opened()
        sizes.append(dialog.size())
        dialog.close()
    usual, large = sizes
    room = app.window.screen().availableSize()
    assert large.width() >= min(usual.width() * 2, room.width() - 40)
    assert large.width() <= room.width()
    assert large.height() < room.height() - 20


def test_question_presses_cancel_at_enter(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: asked.append(box.defaultButton().text().replace("&", "")))
    assert not confirm(None, "Remove", "Remove it?", "Remove")  # type: ignore[arg-type]
    assert asked == ["Cancel"]


def test_every_class_of_dialog_is_walked() -> None:
    """A new dialog must be added here, or its command in the menus."""
    walked = {"ProjectDialog", "ServerDialog", "PromptDialog", "PreviewDialog"}
    by_menu = {
        "PreferencesDialog",
        "AboutDialog",
        "CommandPalette",
        "FolderDialog",
        "ManualDialog",
        "KeysDialog",
        "ToolsDialog",
        "QuickAsk",
    }
    elsewhere = {"PassphraseDialog", "EncryptionWork"}  # test_encryption.py
    assert {each.__name__ for each in Dialog.__subclasses__()} <= walked | by_menu | elsewhere


def test_enter_saves_a_new_project(qtbot: QtBot, app: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: pytest.fail("asked for files"))
    app.window.sidebar.new_project_requested.emit(())
    dialog = next(each for each in opened() if isinstance(each, ProjectDialog))
    QTest.keyClicks(dialog.name, "Garden")
    QTest.keyClick(dialog.name, Qt.Key.Key_Return)
    assert [project.name for project in app.store.projects()] == ["Garden"]
    assert not dialog.isVisible()


def test_enter_in_a_number_of_the_preferences_closes_nothing(app: Program) -> None:
    dialog = preferences(app)
    spin = dialog.findChildren(NumberBox)[0]
    QTest.keyClick(spin, Qt.Key.Key_Return)
    assert dialog.isVisible()
    dialog.close()


def test_manual_and_keys_are_in_menu_and_palette(qtbot: QtBot, app: Program) -> None:
    for name, kind in (("manual", ManualDialog), ("keys", KeysDialog)):
        app.window.actions_by_name["palette"].trigger()
        (palette,) = opened()
        assert isinstance(palette, CommandPalette)
        QTest.keyClicks(palette.field, name)
        QTest.keyClick(palette.field, Qt.Key.Key_Return)
        (dialog,) = opened()
        assert isinstance(dialog, kind)
        dialog.close()


def test_keys_list_has_every_key(app: Program) -> None:
    dialog = KeysDialog(app.window.actions_by_name, app.window)
    groups = [group for row in range(dialog.list.topLevelItemCount()) if (group := dialog.list.topLevelItem(row))]
    keys = [key for group in groups for row in range(group.childCount()) if (key := group.child(row))]
    rows = {key.text(0): key.text(1) for key in keys}
    assert rows["New Chat"] == "Ctrl+N"
    assert rows["New line"] == "Shift+Return"
    keyed = [action for action in app.window.actions_by_name.values() if not action.shortcut().isEmpty()]
    assert len(rows) == len(keyed) + 3


def test_manual_has_all_chapters(app: Program) -> None:
    dialog = ManualDialog(app.window)
    assert all(title in dialog.text.toPlainText() and text in dialog.text.toPlainText() for title, text in chapters())


def test_quick_ask_opens_from_the_menu(app: Program) -> None:
    app.window.actions_by_name["quick"].trigger()
    assert app.quick.dialog
    assert app.quick.dialog.isVisible()
    app.quick.dialog.close()


def test_double_click_renames_a_chat(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    listing = app.window.sidebar.list
    index = listing.model().index(chat_rows(app).index("hello"), 0)
    place = listing.visualRect(index).center()
    QTest.mouseClick(listing.viewport(), Qt.MouseButton.LeftButton, pos=place)
    QTest.mouseDClick(listing.viewport(), Qt.MouseButton.LeftButton, pos=place)
    editor = QApplication.focusWidget()
    assert editor is not None
    QTest.keyClicks(editor, "Greeting")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert "Greeting" in chat_rows(app)
    assert button(app.window.sidebar, "New chat")
