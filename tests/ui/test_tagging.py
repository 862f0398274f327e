"""Stories of tags: made, given by menu, key and mouse, filtered by, renamed, deleted with undo, kept over a restart."""

from collections.abc import Callable

from PySide6.QtCore import QMimeData, QModelIndex, QPoint, QPointF, Qt
from PySide6.QtGui import QDropEvent, QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QInputDialog, QLineEdit
from pytestqt.qtbot import QtBot

from headstart.chat.reader import Tag
from headstart.ui.program import Program
from headstart.ui.sidebar.chat_list import fitting
from headstart.ui.sidebar.sidebar import TagMenu
from tests.ui.person import WAIT, ask, chat_rows, click_chat

Open = Callable[..., Program]


def _with_chats(app: Program, *titles: str) -> list[str]:
    ids = [app.store.create_chat(title).id for title in titles]
    app.chats.refresh()
    return ids


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


def test_names_of_tags_are_shown_whole_or_counted(qapp: QApplication) -> None:
    metrics = QFontMetrics(qapp.font())
    whole, first = (sum(metrics.horizontalAdvance(name) + 20 for name in names) for names in (["a", "wide"], ["a"]))
    assert fitting(["a", "wide"], metrics, whole) == ["a", "wide"]
    assert fitting(["a", "wide", "wider"], metrics, first + metrics.horizontalAdvance("+2") + 20) == ["a", "+2"]
    assert fitting(["a", "wide"], metrics, 1) == ["+2"]
    assert fitting([], metrics, 1) == []


def test_a_tag_is_made_with_the_button_and_filters(qtbot: QtBot, app: Program) -> None:
    sidebar = app.window.sidebar
    assert sidebar.tags.isHidden()
    _with_chats(app, "a", "b")
    sidebar._new_tag.click()
    _answer_name(app, " Work ")
    assert _tag_rows(app) == ["Work"]
    _click_tag(app, "Work")
    assert sidebar._empty.text() == "No chat is tagged “Work” yet. Drag chats onto it, or use their menu."
    _click_tag(app, "Work")
    assert chat_rows(app) == ["Today", "b", "a"]


def test_chats_are_tagged_by_their_menu(qtbot: QtBot, app: Program) -> None:
    a, _ = _with_chats(app, "a", "b")
    app.tags.create("work", [a])
    click_chat(app, "a")
    click_chat(app, "b", Qt.KeyboardModifier.ControlModifier)
    listing = app.window.sidebar.list
    listing.customContextMenuRequested.emit(listing.visualRect(listing.currentIndex()).center())
    (menu,) = app.window.sidebar.findChildren(TagMenu)
    tag, new = (action for action in menu.actions() if not action.isSeparator())
    assert (tag.text(), tag.isChecked()) == ("work", False)
    tag.trigger()
    assert app.store.tags() == (Tag("work", 2),)
    new.trigger()
    _answer_name(app, "home")
    assert app.store.tags() == (Tag("home", 2), Tag("work", 2))
    menu.close()


def test_the_open_chat_is_tagged_by_keys_alone(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "walrus")
    app.tags.create("zoo")
    QTest.keyClick(app.window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    menus = [menu for menu in app.window.sidebar.findChildren(TagMenu) if menu.isVisible()]
    QTest.keyClick(menus[0], Qt.Key.Key_Down)
    QTest.keyClick(menus[0], Qt.Key.Key_Return)
    assert app.chat_controller.session.chat.tags == ("zoo",)
    assert app.store.tags() == (Tag("zoo", 1),)
    app.tags.mark([app.chat_controller.session.chat.id], "zoo", given=False)
    assert app.store.tags() == (Tag("zoo", 0),)
    assert not app.chat_controller.session.chat.tags


def test_chats_dropped_on_a_tag_get_it(qtbot: QtBot, app: Program) -> None:
    _with_chats(app, "a", "b")
    app.tags.create("work")
    rows = app.window.sidebar.list.model()
    data = rows.mimeData([rows.index(1, 0), rows.index(2, 0)])
    tags = app.window.sidebar.tags
    _drop(app, data, tags.visualRect(tags.model().index(0, 0)).center())
    assert app.store.tags() == (Tag("work", 2),)
    _drop(app, QMimeData(), tags.visualRect(tags.model().index(0, 0)).center())
    assert app.store.tags() == (Tag("work", 2),)


def _drop(app: Program, data: QMimeData, place: QPoint) -> None:
    action, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    event = QDropEvent(QPointF(place), action, data, button, Qt.KeyboardModifier.NoModifier)
    app.window.sidebar.tags.dropEvent(event)


def test_a_tag_is_renamed_in_the_list_and_the_filter_follows(qtbot: QtBot, app: Program) -> None:
    (a,) = _with_chats(app, "a")
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


def test_deleting_a_tag_leaves_the_chats_and_is_undone(qtbot: QtBot, app: Program) -> None:
    a, _ = _with_chats(app, "a", "b")
    app.tags.create("work", [a])
    _click_tag(app, "work")
    assert chat_rows(app) == ["Today", "a"]
    QTest.keyClick(app.window.sidebar.tags, Qt.Key.Key_Delete)
    assert chat_rows(app) == ["Today", "b", "a"]
    assert app.window.sidebar.tags.isHidden()
    assert app.window.sidebar.undo_bar.text == "Deleted tag “work”"
    app.window.sidebar.undo_bar.button.click()
    assert app.store.tags() == (Tag("work", 1),)


def test_search_stays_within_the_tag_and_escape_leaves_both(qtbot: QtBot, app: Program) -> None:
    sidebar = app.window.sidebar
    a, _ = _with_chats(app, "walrus a", "walrus b")
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


def test_tags_are_there_again_after_a_restart(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    ask(qtbot, app, "walrus")
    app.tags.create("zoo", [app.chat_controller.session.chat.id])
    app.chat_controller.fork_requested.emit(2)
    again = open_program()
    assert _tag_rows(again) == ["zoo"]
    assert again.store.tags() == (Tag("zoo", 2),)
