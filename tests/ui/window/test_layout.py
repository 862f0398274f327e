"""Positions of menus, pages and strips, and the effect of zoom on the sides."""

from collections.abc import Callable
from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QToolButton, QWidget
from pytestqt.qtbot import QtBot

from headstart.engine.engine import ConversationRequest, Message
from headstart.ui.composer.composer import Composer, TokenCount
from headstart.ui.program import Program
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.layouts import Page
from headstart.ui.widgets.menus import Menu, TextPopup
from headstart.ui.widgets.theme import LIGHT
from tests.ui.person import WAIT, ask, open_pages, shown

ZOOMS = (110, 125, 150, 200, 67, 150, 100)


def left(widget: QWidget) -> int:
    return widget.mapToGlobal(QPoint(0, 0)).x()


def test_menus_open_at_the_left_of_their_buttons(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["panel"].trigger()
    preset = app.window.panel.findChildren(type(app.window.chat.empty.preset))[0]
    for button in (app.window.chat.composer.model_button, app.window.chat.empty.preset, preset):
        assert isinstance(button, QToolButton)
        assert isinstance(button.menu(), Menu)
        assert button.layoutDirection() == Qt.LayoutDirection.LeftToRight  # Qt aligns the menu by it


def test_menus_have_round_corners_in_the_colours_of_the_theme(app: Program) -> None:
    for theme in ("light", "dark"):
        app.settings.change(theme=theme)
        menu = app.window.menuBar().actions()[0].menu()
        assert isinstance(menu, Menu)
        menu.aboutToShow.emit()
        assert app.appearance.theme.surface in menu.styleSheet()
        assert "border-radius" in menu.styleSheet()


def test_details_are_a_card(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "toy: words 30")
    footer = app.window.chat.transcript.view_of(shown(app)[-1].id)._footer
    footer._details.click()
    (popup,) = footer.findChildren(TextPopup)
    assert "First token after" in popup.label.text()
    assert popup.property("kind") == "card"
    popup.close()


def _below(page: Page) -> list[QWidget]:
    """Return the visible parts of a page."""
    parts = (item.widget() for at in range(page.column.count()) if (item := page.column.itemAt(at)))
    return [part for part in parts if part and part.isVisible()]


def _is_aligned(part: QWidget, page: Page) -> bool:
    return left(part) == left(page._title)


def test_pages_begin_at_the_edge_of_their_titles(qtbot: QtBot, app: Program) -> None:
    edges = set()
    for page in open_pages(app):
        app.window.show_page(page)
        first = min(_below(page), key=lambda part: part.y())
        qtbot.waitUntil(partial(_is_aligned, first, page), timeout=WAIT)
        edges.add(left(first))
    assert len(edges) == 1


def test_nothing_is_empty_below_the_pages(app: Program) -> None:
    assert not _room_below(app)
    app.window.models.work.begin("Getting a model")
    assert _room_below(app)
    app.window.models.work.hide()
    assert not _room_below(app)


def _room_below(app: Program) -> int:
    """Return the pixels below the pages."""
    inside = app.window.centralWidget()
    assert inside
    layout = inside.layout()
    assert layout
    layout.activate()
    return inside.rect().bottom() - app.window._split.geometry().bottom()


def test_sides_follow_the_zoom_and_come_back(qtbot: QtBot, app: Program) -> None:
    app.window.resize(1600, 800)
    app.window.actions_by_name["panel"].setChecked(True)
    qtbot.waitUntil(lambda: app.window.panel.width() > 0 and app.window._split.sizes()[2] > 0, timeout=WAIT)
    before = app.window._split.sizes()
    app.settings.change(zoom=125)
    wider = app.window._split.sizes()
    assert (wider[0], wider[2]) == (round(before[0] * 1.25), round(before[2] * 1.25))
    for zoom in ZOOMS:
        app.settings.change(zoom=zoom)
    assert app.window._split.sizes() == before


def test_chat_keeps_its_share_at_large_sizes(app: Program) -> None:
    app.window.resize(1180, 780)
    app.window.actions_by_name["panel"].setChecked(True)
    app.settings.change(zoom=150)
    sidebar, pages, panel = app.window._split.sizes()
    assert pages > max(sidebar, panel)


def test_sides_keep_the_widths_of_the_user(qtbot: QtBot, app: Program, open_program: Callable[..., Program]) -> None:
    app.window._split.moveSplitter(300, 1)
    assert app.window._split.sizes()[0] == 300
    for zoom in ZOOMS:
        app.settings.change(zoom=zoom)
    assert app.window._split.sizes()[0] == 300
    assert open_program().window._split.sizes()[0] == 300


@pytest.mark.parametrize(("width", "least"), [(280, "qwen2.5"), (420, "qwen2.5-coder"), (700, "qwen2.5-coder")])
def test_name_of_the_model_comes_before_the_switch(qtbot: QtBot, width: int, least: str) -> None:
    composer = Composer()
    qtbot.addWidget(composer)
    composer.setStyleSheet(stylesheet.sheet(LIGHT, composer.font()))
    composer.setMinimumSize(1, 1)  # as in a narrow window, which does not ask its parts
    composer.show_model("qwen2.5-coder", "")
    composer.show_count(TokenCount(ConversationRequest((Message("user", "Hi"),)), 44, 8192))
    composer.show_thinking(on=True)
    composer.show()
    composer.resize(width, composer.sizeHint().height())
    assert composer.model_button.text().startswith(least)
    assert composer._think.isHidden() == (width == 280)


@pytest.mark.parametrize(
    ("tokens", "words"), [(44, ""), (6000, ""), (6144, "Chat 75 % full"), (8192, "Too long for the model")]
)
def test_context_is_shown_only_when_it_is_nearly_full(qtbot: QtBot, tokens: int, words: str) -> None:
    composer = Composer()
    qtbot.addWidget(composer)
    composer.resize(900, 100)
    composer.show_count(TokenCount(ConversationRequest((Message("user", "Hi"),)), tokens, 8192))
    assert composer._count.text() == words
