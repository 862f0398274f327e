"""Larger text finds room: nothing is cut at twice the size, and what is larger than the rest stays so."""

import gc
from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QAbstractButton, QApplication, QCheckBox, QDialog, QLabel, QPlainTextEdit, QStyle, QWidget
from pytestqt.qtbot import QtBot

from headstart.engine.engine import ConversationRequest, Message
from headstart.ui.composer.composer import Composer, TokenCount
from headstart.ui.program import Program
from headstart.ui.sidebar.chats_controller import ChatPlace
from headstart.ui.transcript.message import MessageContent
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.labels import Fold, Heading
from headstart.ui.widgets.theme import LIGHT, MEDIUM
from tests.ui import reach
from tests.ui.person import WAIT, ask, open_pages, preferences

DIALOGS = ("preferences", "about")


@pytest.mark.parametrize("zoom", [100, 150, 200])
def test_pages_cut_nothing_at_any_size(app: Program, qtbot: QtBot, zoom: int) -> None:
    app.window.actions_by_name["panel"].setChecked(True)
    app.settings.change(zoom=zoom)
    for page in (app.window.chat, *open_pages(app)):
        app.window.show_page(page)
        # The model may have been loaded a moment ago: its button has its new place with the next events.
        qtbot.waitUntil(lambda: not reach.cut(app.window), timeout=WAIT)


def test_text_size_can_change_repeatedly(app: Program, qtbot: QtBot) -> None:
    ask(qtbot, app, "toy: words 300")
    for zoom in (150, 200, 100, 200, 100):
        app.settings.change(zoom=zoom)
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # the views of the other size
        QApplication.processEvents()
        gc.collect()
    assert app.window.chat.transcript.isVisible()


@pytest.mark.parametrize("name", DIALOGS)
def test_dialogs_cut_nothing_at_any_size(app: Program, name: str) -> None:
    app.settings.change(zoom=200)
    app.window.actions_by_name[name].trigger()
    QApplication.processEvents()
    dialog = next(child for child in app.window.findChildren(QDialog) if child.isVisible())
    assert not reach.cut(dialog)


def test_table_headers_are_not_cut(qtbot: QtBot) -> None:
    table = FigureTable("figures")
    qtbot.addWidget(table)
    titles = ("class", "a title of several words", "another")
    table.begin(titles)
    table.resize(200, 100)
    table.show()
    for column, title in enumerate(titles):
        assert table.header().sectionSize(column) > table.fontMetrics().horizontalAdvance(title)


def test_labels_below_the_message_hide_in_order(qtbot: QtBot) -> None:
    composer = Composer()
    qtbot.addWidget(composer)
    composer.setStyleSheet(stylesheet.sheet(LIGHT, composer.font()))
    composer.show_model("a model with a name", "")
    composer.show_reach("Offline", "", leaves_computer=False)
    composer.show_count(TokenCount(ConversationRequest((Message("user", "Hi"),)), 7315, 8192))
    composer.show()
    seen = []
    for width in range(2 * composer.sizeHint().width(), composer.minimumSizeHint().width(), -10):
        composer.resize(width, composer.sizeHint().height())
        QApplication.processEvents()
        assert composer._count.width() >= composer._count.sizeHint().width()
        seen.append((composer._reach.isVisible(), composer._count.text()))
    words, brief = "Chat 89 % full", "89 % full"
    assert list(dict.fromkeys(seen)) == [(True, words), (False, words), (False, brief)]
    assert "7,315 of 8,192 tokens" in composer._count.toolTip()
    composer.show_reach("Leaves this computer", "", leaves_computer=True)
    assert composer._reach.isVisible()  # that must be seen


def test_headings_grow_with_the_text(open_program: Callable[..., Program]) -> None:
    app = open_program()
    _show_every_page(app)
    before = [heading.font().pointSizeF() for heading in app.window.findChildren(Heading)]
    app.settings.change(zoom=200)
    after = [heading.font().pointSizeF() for heading in app.window.findChildren(Heading)]
    assert before
    assert after == pytest.approx([2 * size for size in before])


def _show_every_page(app: Program) -> None:
    """Show every page, which styles it."""
    open_pages(app)
    app.window.show_page(app.window.chat)


def test_icons_grow_with_the_text(open_program: Callable[..., Program]) -> None:
    app = open_program()
    _show_every_page(app)
    app.window.chat.show_empty(False)  # noqa: FBT003
    app.window.chat.transcript.add(MessageContent("a", "assistant", "An answer", versions=2))
    before = _icons(app)
    assert {"Copy message", "Next version", "Send", "New chat", "Models", "Live figures", "Close find"} <= before.keys()
    app.settings.change(zoom=200)
    assert _icons(app) == {name: 2 * size for name, size in before.items()}
    app.settings.change(zoom=100, font_size=22)
    assert _icons(app) == {name: 2 * size for name, size in before.items()}
    app.settings.change(font_size=11)
    assert _icons(app) == before


def _icons(app: Program) -> dict[str, int]:
    """Return the sizes at which the window's icons are shown."""
    QApplication.processEvents()
    found = {}
    message = app.window.chat.transcript.view(0)  # last: one in the old looks may wait for its deletion
    for button in (*app.window.findChildren(QAbstractButton), *message.findChildren(QAbstractButton)):
        name = button.accessibleName() or button.text()
        if name and not button.icon().isNull():
            found[name] = button.iconSize().width()
    return found


@pytest.mark.parametrize("points", [11.0, 22.0])
def test_boxes_and_switches_grow_with_the_text(qtbot: QtBot, points: float) -> None:
    for kind, usual in (("", 16), ("switch", 36)):
        box = QCheckBox("words")
        qtbot.addWidget(box)
        font = QFont(box.font())
        font.setPointSizeF(points)
        box.setFont(font)
        stylesheet.set_style_class(box, kind)
        box.setStyleSheet(stylesheet.sheet(LIGHT, font))
        border = 2
        width = box.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorWidth, None, box)
        assert width == (usual - border) * points / 11 + border


def test_rows_of_a_table_grow_with_the_text(app: Program) -> None:
    table = app.bench.page.findChildren(FigureTable)[0]
    table.begin(("class", "a title of several words"))
    for _ in range(3):
        table.add(("code", "1.5"))
    app.settings.change(zoom=300)
    QApplication.processEvents()
    row = table.visualRect(table.model().index(0, 0)).height()
    assert row >= table.fontMetrics().height()
    assert table.height() >= 3 * row + table.header().height()
    assert table.header().minimumSectionSize() > table.fontMetrics().horizontalAdvance("a title of several words")


@pytest.mark.parametrize("zoom", [100, 200])
@pytest.mark.parametrize("shown_first", [True, False])
def test_buttons_stay_within_the_panel(app: Program, zoom: int, shown_first: bool) -> None:
    app.window.resize(1180, 780)
    app.window.chat.composer.show_model("a model with a name of many words", "")
    app.window.actions_by_name["panel"].setChecked(shown_first)
    app.settings.change(zoom=zoom)
    app.window.actions_by_name["panel"].setChecked(True)
    for _ in range(3):  # what is laid out may ask for another layout
        QApplication.processEvents()
    panel = app.window.panel
    assert panel.geometry().right() < app.window.width()
    for button in (panel.reset, panel.adopt):
        assert button.width() >= button.sizeHint().width()
        assert button.geometry().right() <= panel.width() - MEDIUM


def test_fields_and_buttons_of_the_panel_align(app: Program) -> None:
    app.window.resize(1180, 780)
    app.window.actions_by_name["panel"].setChecked(True)
    panel = app.window.panel
    fold = next(button for button in panel.findChildren(Fold) if button.text() == "More")
    for unfolded in (False, True):
        fold.setChecked(unfolded)
        for _ in range(3):  # what is laid out may ask for another layout
            QApplication.processEvents()
        field = panel.forms[0].findChildren(QPlainTextEdit)[0]
        end = field.mapTo(panel, field.rect().bottomRight()).x()
        assert end == panel.adopt.geometry().right()


def test_narrow_models_page_does_not_scroll_sideways(app: Program) -> None:
    app.window.actions_by_name["models"].trigger()
    app.window.resize(520, 700)
    for _ in range(3):  # what is laid out may ask for another layout
        QApplication.processEvents()
    assert app.window.width() == 520
    assert app.window.models.scroll_area.horizontalScrollBar().maximum() == 0


def test_pages_of_a_narrow_window_have_its_width(app: Program) -> None:
    sidebar = app.window.sidebar
    app.window.resize(480, 400)
    for page in open_pages(app):
        app.window.show_page(app.window.chat)
        app.window.actions_by_name["sidebar"].setChecked(True)
        app.window.show_page(page)
        for _ in range(3):  # what is laid out may ask for another layout
            QApplication.processEvents()
        assert not sidebar.isVisible()
        assert page.scroll_area.horizontalScrollBar().maximum() == 0, page.accessibleName()
    app.window.resize(1000, 700)
    assert sidebar.isVisible()


def test_archive_has_room_in_a_low_window(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.tags.create("work", (app.chat_controller.session.chat.id,))
    app.window.resize(700, 400)
    for name in ("archive", "show_archive"):
        app.window.actions_by_name[name].trigger()
    sidebar = app.window.sidebar
    assert sidebar.undo_bar.isVisible()
    qtbot.waitUntil(lambda: not reach.cut(app.window), timeout=WAIT)
    assert "The search finds these chats, too." in _whole_labels(sidebar)
    assert not sidebar.tags.isVisible()
    app.window.resize(700, 700)
    qtbot.waitUntil(sidebar.tags.isVisible, timeout=WAIT)


def test_bin_has_room_in_a_low_window(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "archived")
    app.window.actions_by_name["new"].trigger()
    ask(qtbot, app, "deleted")
    deleted, archived = (chat.id for chat in app.store.chats())
    app.chats.archive(archived, archived=True)
    app.chats.delete(deleted)
    app.window.resize(700, 400)
    app.chats.show_place(ChatPlace.BIN)
    sidebar = app.window.sidebar
    assert sidebar.undo_bar.isVisible()
    qtbot.waitUntil(lambda: not reach.cut(app.window), timeout=WAIT)
    assert "Recently deleted" in _whole_labels(sidebar)
    assert not sidebar.archive.isVisible()
    app.window.resize(700, 700)
    qtbot.waitUntil(sidebar.archive.isVisible, timeout=WAIT)


def test_live_figures_have_room_in_a_low_window(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "toy: words 100")
    app.window.resize(480, 400)
    app.window.actions_by_name["live"].trigger()
    live = app.window.chat.live
    for _ in range(3):  # what is laid out may ask for another layout
        QApplication.processEvents()
    assert live.geometry().bottom() <= app.window.chat.composer.mapTo(app.window.chat, QPoint(0, 0)).y()
    assert {"Speed", "Time spent"} <= set(_whole_labels(live))


def _whole_labels(part: QWidget) -> list[str]:
    """Return the words that are shown, none of which is cut."""
    labels = [label for label in part.findChildren(QLabel) if label.isVisible() and label.text()]
    assert all(label.height() >= label.heightForWidth(label.width()) for label in labels)
    assert all(label.height() >= label.minimumSizeHint().height() for label in labels)
    return [label.text() for label in labels]


def test_undo_banner_fits_the_sidebar(app: Program) -> None:
    app.settings.change(zoom=200)
    bar = app.window.sidebar.undo_bar
    bar.say("Deleted “a chat with a long name of several words”", "Undo")
    for _ in range(3):
        QApplication.processEvents()
    assert not reach.cut(app.window)
    assert bar._label.width() > 0.8 * bar.width()


def test_boxes_grow_with_the_zoom(app: Program) -> None:
    dialog = preferences(app)
    box = dialog.findChildren(QCheckBox)[0]
    widths = []
    for zoom in (100, 200, 100):
        app.settings.change(zoom=zoom)
        QApplication.processEvents()
        widths.append(box.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorWidth, None, box))
    assert widths == [16, 30, 16]


def test_preferences_fit_at_twice_the_size(app: Program) -> None:
    app.settings.change(zoom=200)
    dialog = preferences(app)
    QApplication.processEvents()
    assert dialog.pages.height() > 0.6 * dialog.height()
