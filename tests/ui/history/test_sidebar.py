"""Stories of the sidebar: deleting with undo, renaming, pinning, selecting several, restoring the window."""

from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QModelIndex, QPoint, QPointF, Qt
from PySide6.QtGui import QDropEvent, QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QFileDialog, QInputDialog, QLineEdit, QMenu
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Chat
from headstart.chat.history.reader import Group
from headstart.chat.imports.files import read_chats
from headstart.ui.program import Program
from headstart.ui.sidebar.chat_list import fitting_names, groups
from headstart.ui.sidebar.sidebar import ChatMenu, TagMenu
from headstart.ui.transcript.message import MessageAction
from headstart.ui.window.dialogs import CommandPalette
from tests.ui.person import WAIT, ask, chat_rows, click_chat, press, shown, texts, words, write

Open = Callable[..., Program]
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def _chats(app: Program, *titles: str) -> list[str]:
    """Save chats with one question each, the newest last, and list them."""
    ids = [app.store.create_chat(title).id for title in titles]
    app.chats.refresh()
    return ids


def _titles(app: Program) -> list[str]:
    return sorted(chat.title for chat in app.store.chats())


@pytest.mark.parametrize("way", ["bar", "menu", "key after the bar went"])
def test_deleted_chat_can_be_restored(qtbot: QtBot, app: Program, way: str) -> None:
    ask(qtbot, app, "keep me")
    bar, undo = app.window.sidebar.undo_bar, app.window.actions_by_name["undo"]
    app.window.actions_by_name["delete"].trigger()
    assert not app.store.chats()
    assert not shown(app)
    assert (bar.text, undo.text()) == ("Deleted “keep me”", "&Undo: Delete “keep me”")
    if way == "bar":
        bar._action.click()
    elif way == "menu":
        undo.trigger()
    else:
        bar._hiding.timeout.emit()
        assert bar.isHidden()
        QTest.keyClick(app.window.chat.composer.edit, Qt.Key.Key_Z, CTRL)
    assert texts(app) == ["keep me", "You wrote: keep me"]
    assert bar.isHidden()
    assert undo.text() == "&Undo"


def test_chat_commands_act_on_the_open_chat(qtbot: QtBot, app: Program) -> None:
    _chats(app, "LRU cache")
    ask(qtbot, app, "open")
    right_click(app, "LRU cache")
    app.window.actions_by_name["pin"].trigger()
    assert chat_rows(app) == ["Pinned", "open", "Today", "LRU cache"]
    right_click(app, "LRU cache")
    assert app.window.actions_by_name["pin"].isChecked()
    app.window.actions_by_name["delete"].trigger()
    assert _titles(app) == ["LRU cache"]


def test_row_menu_acts_on_its_row(qtbot: QtBot, app: Program) -> None:
    _chats(app, "LRU cache")
    ask(qtbot, app, "open")
    menu = right_click(app, "LRU cache", close=False)
    next(action for action in menu.actions() if action.text() == "&Delete").trigger()
    assert _titles(app) == ["open"]


def test_restored_chat_leaves_the_open_one(qtbot: QtBot, app: Program) -> None:
    (other,) = _chats(app, "other")
    ask(qtbot, app, "open")
    app.chats.delete(other)
    app.window.actions_by_name["undo"].trigger()
    assert _titles(app) == ["open", "other"]
    assert texts(app)[0] == "open"


def right_click(app: Program, title: str, *, close: bool = True) -> QMenu:
    """Open the menu of a row, and close it with Esc."""
    listing = app.window.sidebar.list
    place = listing.visualRect(listing.model().index(chat_rows(app).index(title), 0)).center()
    listing.setFocus()  # as every click does
    QTest.mouseClick(listing.viewport(), Qt.MouseButton.RightButton, pos=place)
    listing.customContextMenuRequested.emit(place)
    menu = next(menu for menu in app.window.sidebar.findChildren(ChatMenu) if menu.isVisible())
    if close:
        QTest.keyClick(menu, Qt.Key.Key_Escape)
    return menu


def test_undo_in_the_composer_undoes_typing_first(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "keep me")
    app.window.actions_by_name["delete"].trigger()
    edit = app.window.chat.composer.edit
    QTest.keyClicks(edit, "half a thought")
    QTest.keyClick(edit, Qt.Key.Key_Z, CTRL)
    assert edit.text() == ""
    assert not app.store.chats()
    QTest.keyClick(edit, Qt.Key.Key_Y, CTRL)
    assert edit.text() == "half a thought"


def test_undo_works_while_editing_a_message(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first words")
    app.window.actions_by_name["edit_last"].trigger()
    edit = app.window.chat.composer.edit
    QTest.keyClicks(edit, " and more")
    assert edit.text() == "first words and more"
    QTest.keyClick(edit, Qt.Key.Key_Z, CTRL)
    assert edit.text() == "first words"


def test_deleted_message_can_be_restored(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "one")
    ask(qtbot, app, "two")
    app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, 4)
    assert texts(app) == ["one", "You wrote: one", "two"]
    app.window.actions_by_name["undo"].trigger()
    assert texts(app)[-1] == "You wrote: two"
    app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, 4)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.actions_by_name["regenerate"].trigger()
    before = texts(app)
    app.window.chat.notice._action.click()
    app.window.actions_by_name["undo"].trigger()
    assert texts(app) == before


def test_title_is_edited_in_the_list(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "dull title")
    qtbot.waitUntil(lambda: app.window.sidebar.list.model().rowCount() == 2, timeout=WAIT)
    QTest.keyClick(app.window.sidebar.list, Qt.Key.Key_F2)
    editor = app.window.sidebar.list.findChild(QLineEdit)
    assert editor is not None
    editor.setText("Bright title")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: app.window.chat._title.text() == "Bright title", timeout=WAIT)
    assert app.store.chats()[0].title == "Bright title"
    qtbot.waitUntil(lambda: chat_rows(app)[1] == "Bright title", timeout=WAIT)


def test_cancelled_or_empty_title_is_not_saved(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "title")
    qtbot.waitUntil(lambda: app.window.sidebar.list.model().rowCount() == 2, timeout=WAIT)
    for key, text in ((Qt.Key.Key_Escape, "other"), (Qt.Key.Key_Return, "  ")):
        app.window.actions_by_name["rename"].trigger()
        (editor,) = app.window.sidebar.list.findChildren(QLineEdit)
        editor.setText(text)
        QTest.keyClick(editor, key)
        qtbot.waitUntil(lambda: not app.window.sidebar.list.findChildren(QLineEdit), timeout=WAIT)
        assert _titles(app) == ["title"]


def test_pinned_chat_is_first(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "older")
    app.window.actions_by_name["pin"].trigger()
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "newer")
    assert chat_rows(app) == ["Pinned", "older", "Today", "newer"]
    click_chat(app, "older")
    assert app.window.actions_by_name["pin"].isChecked()
    app.window.actions_by_name["pin"].trigger()
    qtbot.waitUntil(lambda: chat_rows(app) == ["Today", "newer", "older"], timeout=WAIT)


def test_selected_chats_are_deleted_together(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "open")
    _chats(app, "a", "b", "c")
    click_chat(app, "a", CTRL)
    click_chat(app, "c", CTRL)
    assert texts(app)[0] == "open"
    assert len(app.window.sidebar.list.selected()) == 3
    click_chat(app, "open", CTRL)
    QTest.keyClick(app.window.sidebar.list, Qt.Key.Key_Delete)
    assert _titles(app) == ["b", "open"]
    assert app.window.sidebar.undo_bar.text == "Deleted 2 chats"
    app.window.actions_by_name["undo"].trigger()
    assert _titles(app) == ["a", "b", "c", "open"]
    assert texts(app)[0] == "open"


def test_selection_survives_changes_of_the_list(qtbot: QtBot, app: Program) -> None:
    a, b = _chats(app, "a", "b")
    click_chat(app, "a")
    click_chat(app, "b", SHIFT)
    _chats(app, "c")
    app.store.rename(a, "A")
    app.chats.refresh()
    assert set(app.window.sidebar.list.selected()) == {a, b}


BEGINNINGS = {".md": "# ", ".html": "<!DOCTYPE html>", ".json": "{"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Web page (*.html)", "chats.html"),
        ("Markdown (*.md)", "chats.md"),
        ("JSON with all versions (*.json)", "chats.headstart.json"),
    ],
)
def test_selected_chats_are_exported(app: Program, tmp_path: Path, kind: str, name: str) -> None:
    _chats(app, "a", "b")
    app.window.sidebar.export_requested.emit(tuple(chat.id for chat in app.store.chats()))
    (dialog,) = app.window.findChildren(QFileDialog)
    assert Path(dialog.selectedFiles()[0]).name == "chats.headstart.json"
    assert "PDF (*.pdf)" not in dialog.nameFilters()
    dialog.filterSelected.emit(kind)
    assert Path(dialog.selectedFiles()[0]).name == name
    dialog.fileSelected.emit(str(tmp_path / name))
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(BEGINNINGS[Path(name).suffix])
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [name]
    dialog.reject()


def test_export_dialog_has_the_theme(app: Program) -> None:
    app.window.sidebar.export_requested.emit(tuple(_chats(app, "a")))
    (dialog,) = app.window.findChildren(QFileDialog)
    buttons = dialog.findChildren(QDialogButtonBox)[0].buttons()
    assert buttons
    assert all(button.icon().isNull() for button in buttons)
    dialog.reject()


def test_selection_menu_pins_and_exports(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    _chats(app, "a", "b", "c")
    click_chat(app, "a")
    click_chat(app, "b", CTRL)
    listing = app.window.sidebar.list
    listing.customContextMenuRequested.emit(listing.visualRect(listing.currentIndex()).center())
    (menu,) = app.window.sidebar.findChildren(ChatMenu)
    entries = {action.text().replace("&", ""): action for action in menu.actions()}
    found = [name for name in entries if name]
    assert found == ["Pin", "Tags", "Move to Project", "Export 2 Chats…", "Archive 2 Chats", "Delete 2 Chats"]
    entries["Pin"].trigger()
    assert [chat.title for chat in app.store.chats() if chat.pinned] == ["b", "a"]
    target = tmp_path / "chats.json"
    entries["Export 2 Chats…"].trigger()
    (dialog,) = app.window.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(target))
    dialog.reject()
    assert sorted(chat.title for chat, _ in read_chats(target)) == ["a", "b"]
    menu.close()


def test_arrows_and_enter_open_chats(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "older")
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "newer")
    qtbot.waitUntil(lambda: chat_rows(app) == ["Today", "newer", "older"], timeout=WAIT)
    listing = app.window.sidebar.list
    listing.go_to_first()
    QTest.keyClick(listing, Qt.Key.Key_Down)
    assert texts(app)[0] == "newer"
    QTest.keyClick(listing, Qt.Key.Key_Return)
    assert texts(app)[0] == "older"
    QTest.keyClick(listing, Qt.Key.Key_Up)
    QTest.keyClick(listing, Qt.Key.Key_Up)
    assert app.window.focusWidget() is app.window.sidebar.search


def test_empty_list_has_a_hint(qtbot: QtBot, app: Program) -> None:
    sidebar = app.window.sidebar
    assert not sidebar._empty.isHidden()
    assert sidebar._empty.text().startswith("No chats yet.")
    ask(qtbot, app, "first")
    qtbot.waitUntil(sidebar._empty.isHidden, timeout=WAIT)
    assert not sidebar.list.isHidden()


def test_window_chat_and_draft_survive_a_restart(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    ask(qtbot, app, "yesterday")
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "today")
    click_chat(app, "yesterday")
    QTest.keyClicks(app.window.chat.composer.edit, "not yet sent")
    app.window.resize(700, 550)
    for strip in ("panel", "live", "sidebar"):
        app.window.actions_by_name[strip].trigger()
    again = open_program()
    assert texts(again)[0] == "yesterday"
    assert again.window.chat.composer.text() == "not yet sent"
    assert (again.window.width(), again.window.height()) == (700, 550)
    assert again.window.sidebar.isHidden()
    assert not again.window.panel.isHidden()
    assert not again.window.chat.live.isHidden()
    again.window.actions_by_name["sidebar"].trigger()
    assert not again.window.sidebar.isHidden()


def test_long_list_is_extended_by_scrolling(qtbot: QtBot, app: Program) -> None:
    for number in range(1000):
        app.store.create_chat(f"chat {number}")
    app.chats.refresh()
    listing = app.window.sidebar.list
    assert 100 < listing.model().rowCount() < 1001
    assert len(listing.viewport().children()) == 0
    assert listing.indexAt(QPoint(20, 40)).data() == "chat 999"

    def scroll_on() -> bool:
        listing.verticalScrollBar().setValue(listing.verticalScrollBar().maximum())
        return listing.model().rowCount() == 1001

    qtbot.waitUntil(scroll_on, timeout=WAIT)
    assert listing.model().index(1000, 0).data() == "chat 0"
    write(app, "one more")
    qtbot.waitUntil(lambda: chat_rows(app)[1] == "one more", timeout=WAIT)


def test_palette_lists_some_chats_and_finds_all(qtbot: QtBot, app: Program) -> None:
    for number in range(300):
        app.store.create_chat(f"chat {number}")
    app.window.actions_by_name["palette"].trigger()
    (palette,) = app.window.findChildren(CommandPalette)
    assert palette.list.topLevelItemCount() < 200
    palette.field.setText("chat 79")
    found = [palette.list.topLevelItem(row) for row in range(palette.list.topLevelItemCount())]
    assert [item.text(0) for item in found if item] == ["chat 279", "chat 179", "chat 79"]
    palette.close()


TODAY = date(2026, 3, 20)


def chat(title: str, day: date, *, pinned: bool = False) -> Chat:
    seconds = datetime.combine(day, time(12)).astimezone().timestamp()
    return Chat(title, title, seconds, seconds, pinned=pinned)


def test_chats_are_grouped_by_pin_and_age() -> None:
    chats = [
        chat("old", date(2025, 12, 24)),
        chat("kept", date(2025, 1, 1), pinned=True),
        chat("week", date(2026, 3, 14)),
        chat("now", TODAY),
        chat("month", date(2026, 2, 20)),
        chat("yesterday", date(2026, 3, 19)),
        chat("older", date(2025, 12, 1)),
    ]
    found = [(group.title, [each.title for each in group.chats]) for group in groups(chats, TODAY)]
    assert found == [
        ("Pinned", ["kept"]),
        ("Today", ["now"]),
        ("Yesterday", ["yesterday"]),
        ("Last 7 days", ["week"]),
        ("Last 30 days", ["month"]),
        ("December 2025", ["old", "older"]),
    ]


def _tag_rows(app: Program) -> list[str]:
    model = app.window.sidebar.tags.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def _click_tag(app: Program, name: str) -> None:
    tags = app.window.sidebar.tags
    index = tags.model().index(_tag_rows(app).index(name), 0)
    QTest.mouseClick(tags.viewport(), Qt.MouseButton.LeftButton, pos=tags.visualRect(index).center())


def _answer_name(app: Program, name: str) -> None:
    (dialog,) = app.window.sidebar.findChildren(QInputDialog)
    dialog.setTextValue(name)
    dialog.accept()


def _bin(app: Program) -> None:
    app.window.actions_by_name["show_bin"].trigger()


def _menu_words(app: Program, title: str) -> list[str]:
    return [action.text() for action in right_click(app, title).actions() if action.text()]


def _choose(app: Program, title: str, words: str) -> None:
    menu = right_click(app, title, close=False)
    next(action for action in menu.actions() if action.text() == words).trigger()
    menu.close()


def test_deleted_chats_are_listed_and_restored(qtbot: QtBot, app: Program) -> None:
    sidebar = app.window.sidebar
    assert sidebar.bin.isHidden()
    ids = _chats(app, "a", "b", "c")
    app.chats.pin(ids[1], pinned=True)
    for chat in ids[:2]:
        app.chats.delete(chat)
    assert sidebar.bin.text() == "Recently deleted (2)"
    sidebar.bin.click()
    assert chat_rows(app) == ["Today", "b", "a"]
    assert "30 days" in words(sidebar.place)
    assert _menu_words(app, "a") == ["&Restore", "&Delete for Good…"]
    click_chat(app, "a")  # shows nothing of it
    assert texts(app) == []
    _choose(app, "a", "&Restore")
    assert chat_rows(app) == ["Today", "b"]
    assert sidebar.undo_bar.text == "Restored “a”"
    sidebar.undo_bar._action.click()
    assert sorted(chat_rows(app)) == ["Today", "a", "b"]
    click_chat(app, "b")
    press(sidebar.place, "Restore")
    assert chat_rows(app) == ["Today", "a"]
    QTest.keyClick(sidebar.list, Qt.Key.Key_Escape)
    assert chat_rows(app) == ["Pinned", "b", "Today", "c"]


def test_bin_is_emptied_after_a_question(
    qtbot: QtBot, app: Program, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(_parent: object, _title: str, question: str, _action: str, _more: str) -> bool:
        asked.append(question)
        return len(asked) != 1

    monkeypatch.setattr("headstart.ui.sidebar.sidebar.confirm", answer)
    sidebar, undo = app.window.sidebar, app.window.actions_by_name["undo"]
    _chats(app, "zqxjvkw a", "zqxjvkw b", "zqxjvkw c", "kept")
    for title in ("zqxjvkw a", "zqxjvkw b", "zqxjvkw c"):
        click_chat(app, title)
        app.window.actions_by_name["delete"].trigger()
    _bin(app)
    press(sidebar.place, "Empty now…")
    assert ["3 chats" in sentence for sentence in asked] == [True]
    assert len(app.store.chats(deleted=True)) == 3
    click_chat(app, "zqxjvkw a")
    QTest.keyClick(sidebar.list, Qt.Key.Key_Delete)
    assert asked[1:] == ["Delete this chat for good?"]
    assert sidebar.undo_bar.text == "Deleted 1 chat for good"
    assert undo.text() == "&Undo: Delete “zqxjvkw c”"
    press(sidebar.place, "Empty now…")
    assert chat_rows(app) == []
    assert "30 days" in sidebar._empty.text()
    assert undo.text() == "&Undo"
    assert _titles(app) == ["kept"]
    qtbot.waitUntil(lambda: app.store.recall("erase") is None, timeout=WAIT)
    assert not [path.name for path in history.rglob("*") if path.is_file() and b"xjvkw" in path.read_bytes()]


def test_chats_are_archived_and_come_back(qtbot: QtBot, app: Program) -> None:
    sidebar = app.window.sidebar
    ids = _chats(app, "a", "b")
    app.tags.create("work", ids)
    _choose(app, "a", "&Archive")
    assert chat_rows(app) == ["Today", "b"]
    assert app.store.tags() == (Group("work", 1),)
    assert sidebar.undo_bar.text == "Archived “a”"
    sidebar.undo_bar._action.click()
    assert sidebar.archive.isHidden()
    click_chat(app, "a")
    app.window.actions_by_name["archive"].trigger()
    assert sidebar.archive.text() == "Archive (1)"
    app.window.actions_by_name["show_archive"].trigger()
    assert chat_rows(app) == ["Today", "a"]
    assert words(sidebar.place).startswith("Archive\n")
    click_chat(app, "a")
    assert app.chat_controller.session.chat.title == "a"
    _choose(app, "a", "Un&archive")
    assert sidebar._empty.text() == "No chat is archived. The menu of a chat can archive it."
    sidebar.new_requested.emit()
    assert chat_rows(app) == ["Today", "b", "a"]


def test_search_finds_archived_chats_but_none_of_the_bin(qtbot: QtBot, app: Program) -> None:
    a, b = _chats(app, "walrus a", "walrus b")
    app.chats.archive(a)
    app.chats.delete(b)
    _bin(app)
    app.window.sidebar.search.setText("walrus")
    qtbot.waitUntil(lambda: chat_rows(app) == ["1 result", "walrus a"], timeout=WAIT)
    assert app.window.sidebar.place.isHidden()


def test_tag_names_are_shown_or_counted(qapp: QApplication) -> None:
    metrics = QFontMetrics(qapp.font())
    whole, first = (sum(metrics.horizontalAdvance(name) + 20 for name in names) for names in (["a", "wide"], ["a"]))
    assert fitting_names(["a", "wide"], metrics, whole) == ["a", "wide"]
    assert fitting_names(["a", "wide", "wider"], metrics, first + metrics.horizontalAdvance("+2") + 20) == ["a", "+2"]
    assert fitting_names(["a", "wide"], metrics, 1) == ["+2"]
    assert fitting_names([], metrics, 1) == []


def test_new_tag_filters_the_list(qtbot: QtBot, app: Program) -> None:
    sidebar = app.window.sidebar
    assert sidebar.tags.isHidden()
    _chats(app, "a", "b")
    sidebar._new_tag.click()
    _answer_name(app, " Work ")
    assert _tag_rows(app) == ["Work"]
    _click_tag(app, "Work")
    assert "“Work”" in sidebar._empty.text()
    _click_tag(app, "Work")
    assert chat_rows(app) == ["Today", "b", "a"]


def test_chats_are_tagged_by_menu(qtbot: QtBot, app: Program) -> None:
    a, _ = _chats(app, "a", "b")
    app.tags.create("work", [a])
    click_chat(app, "a")
    click_chat(app, "b", Qt.KeyboardModifier.ControlModifier)
    listing = app.window.sidebar.list
    listing.customContextMenuRequested.emit(listing.visualRect(listing.currentIndex()).center())
    (menu,) = app.window.sidebar.findChildren(TagMenu)
    tag, new = (action for action in menu.actions() if not action.isSeparator())
    assert (tag.text(), tag.isChecked()) == ("work", False)
    tag.trigger()
    assert app.store.tags() == (Group("work", 2),)
    new.trigger()
    _answer_name(app, "home")
    assert app.store.tags() == (Group("home", 2), Group("work", 2))
    menu.close()


def test_open_chat_is_tagged_by_keyboard(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "walrus")
    app.tags.create("zoo")
    QTest.keyClick(app.window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    menus = [menu for menu in app.window.sidebar.findChildren(TagMenu) if menu.isVisible()]
    QTest.keyClick(menus[0], Qt.Key.Key_Down)
    QTest.keyClick(menus[0], Qt.Key.Key_Return)
    assert app.chat_controller.session.chat.tags == ("zoo",)
    assert app.store.tags() == (Group("zoo", 1),)
    app.tags.set_tag([app.chat_controller.session.chat.id], "zoo", tagged=False)
    assert app.store.tags() == (Group("zoo", 0),)
    assert not app.chat_controller.session.chat.tags


def test_chats_are_tagged_by_drag(qtbot: QtBot, app: Program) -> None:
    _chats(app, "a", "b")
    app.tags.create("work")
    rows = app.window.sidebar.list.model()
    data = rows.mimeData([rows.index(1, 0), rows.index(2, 0)])
    tags = app.window.sidebar.tags
    _drop(app, data, tags.visualRect(tags.model().index(0, 0)).center())
    assert app.store.tags() == (Group("work", 2),)
    _drop(app, QMimeData(), tags.visualRect(tags.model().index(0, 0)).center())
    assert app.store.tags() == (Group("work", 2),)


def _drop(app: Program, data: QMimeData, place: QPoint) -> None:
    action, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    event = QDropEvent(QPointF(place), action, data, button, Qt.KeyboardModifier.NoModifier)
    app.window.sidebar.tags.dropEvent(event)


def test_renamed_tag_keeps_the_filter(qtbot: QtBot, app: Program) -> None:
    (a,) = _chats(app, "a")
    app.tags.create("work", [a])
    app.tags.create("zoo")
    _click_tag(app, "work")
    _rename(app, "work", "Job")
    qtbot.waitUntil(lambda: _tag_rows(app) == ["Job", "zoo"], timeout=WAIT)
    assert chat_rows(app) == ["Today", "a"]
    _rename(app, "Job", "ZOO")
    qtbot.waitUntil(lambda: "already is a tag" in app.window.chat.notice.text, timeout=WAIT)
    assert _tag_rows(app) == ["Job", "zoo"]


def _rename(app: Program, old: str, new: str) -> None:
    tags = app.window.sidebar.tags
    tags.setFocus()
    tags.setCurrentIndex(tags.model().index(_tag_rows(app).index(old), 0))
    QTest.keyClick(tags, Qt.Key.Key_F2)
    editor = tags.findChildren(QLineEdit)[-1]
    editor.setText(new)
    QTest.keyClick(editor, Qt.Key.Key_Return)


def test_deleted_tag_keeps_its_chats_and_can_be_restored(qtbot: QtBot, app: Program) -> None:
    a, _ = _chats(app, "a", "b")
    app.tags.create("work", [a])
    _click_tag(app, "work")
    assert chat_rows(app) == ["Today", "a"]
    QTest.keyClick(app.window.sidebar.tags, Qt.Key.Key_Delete)
    assert chat_rows(app) == ["Today", "b", "a"]
    assert app.window.sidebar.tags.isHidden()
    assert app.window.sidebar.undo_bar.text == "Deleted tag “work”"
    app.window.sidebar.undo_bar._action.click()
    assert app.store.tags() == (Group("work", 1),)


def test_search_stays_within_the_tag(qtbot: QtBot, app: Program) -> None:
    sidebar = app.window.sidebar
    a, _ = _chats(app, "walrus a", "walrus b")
    app.tags.create("zoo", [a])
    _click_tag(app, "zoo")
    sidebar.search.setFocus()
    QTest.keyClicks(sidebar.search, "walrus")
    qtbot.waitUntil(lambda: chat_rows(app) == ["1 result", "walrus a"], timeout=WAIT)
    assert "tagged zoo" in str(_chat_row(app, 1).data(Qt.ItemDataRole.AccessibleTextRole))
    QTest.keyClicks(sidebar.search, " nowhere")
    qtbot.waitUntil(lambda: "in chats tagged “zoo”" in sidebar._empty.text(), timeout=WAIT)
    QTest.keyClick(sidebar.search, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: chat_rows(app) == ["Today", "walrus a"], timeout=WAIT)
    QTest.keyClick(sidebar.search, Qt.Key.Key_Escape)
    assert chat_rows(app) == ["Today", "walrus b", "walrus a"]


def _chat_row(app: Program, row: int) -> QModelIndex:
    return app.window.sidebar.list.model().index(row, 0)


def test_tags_survive_a_restart(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    ask(qtbot, app, "walrus")
    app.tags.create("zoo", [app.chat_controller.session.chat.id])
    app.chat_controller.fork_requested.emit(2)
    again = open_program()
    assert _tag_rows(again) == ["zoo"]
    assert again.store.tags() == (Group("zoo", 2),)
