"""The mirrored window of languages that are read from the right."""

import itertools
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QPushButton, QTextBrowser, QWidget
from pytestqt.qtbot import QtBot

from headstart.ui.program import Program
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.layouts import flowing
from headstart.ui.widgets.theme import LIGHT
from tests.ui import reach
from tests.ui.person import WAIT, ask, click_chat, open_pages

LEFT, RIGHT = Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft
Open = Callable[..., Program]


@pytest.fixture
def set_direction(qapp: QApplication) -> Iterator[Callable[[Qt.LayoutDirection], None]]:
    """A function that sets the reading direction of windows created afterwards."""
    yield qapp.setLayoutDirection
    qapp.setLayoutDirection(LEFT)


def _places(app: Program) -> dict[str, QRect]:
    """Return where the controls of each page stand."""
    app.window.resize(1400, 900)
    app.window.actions_by_name["panel"].setChecked(True)
    found = {}
    for index, page in enumerate((app.window.chat, *open_pages(app))):
        app.window.show_page(page)
        for _ in range(3):
            QApplication.processEvents()
        for number, control in enumerate(reach.controls(app.window)):
            place = QRect(control.mapTo(app.window, QPoint(0, 0)), control.size())
            found[f"page {index}, {number}: {reach.told(control)}"] = place
    return found


def test_every_control_is_mirrored(open_program: Open, set_direction: Callable[[Qt.LayoutDirection], None]) -> None:
    usual = _places(open_program())
    set_direction(RIGHT)
    app = open_program()
    mirrored, width = _places(app), app.window.width()
    assert usual.keys() == mirrored.keys()
    wanted = {name: QPoint(width - place.right() - 1, place.top()) for name, place in usual.items()}
    far = {name: place for name, place in mirrored.items() if (place.topLeft() - wanted[name]).manhattanLength() > 2}
    assert not far


def test_list_of_chats_is_mirrored(
    qtbot: QtBot, open_program: Open, set_direction: Callable[[Qt.LayoutDirection], None]
) -> None:
    set_direction(RIGHT)
    app = open_program()
    ask(qtbot, app, "open")
    chat = app.store.chats()[0]
    click_chat(app, "open")
    listing = app.window.sidebar.list

    def picture() -> QImage:
        app.chats.refresh()
        return listing.viewport().grab(listing.visualRect(listing.model().index(1, 0))).toImage()

    plain = picture()
    app.chats.rename(chat.id, "other")
    other = picture()
    app.store.create_tag("a", (chat.id,))
    tagged = picture()
    mark = [x for x, _, colour in _pixels(plain) if colour == LIGHT.accent]
    assert min(mark) > 0.9 * plain.width()  # at the open chat
    assert min(_changed(plain, other)) > 0.5 * plain.width()  # its title
    assert max(_changed(other, tagged)) < 0.5 * plain.width()  # its tag


def _pixels(picture: QImage) -> list[tuple[int, int, str]]:
    places = itertools.product(range(picture.width()), range(picture.height()))
    return [(x, y, picture.pixelColor(x, y).name()) for x, y in places]


def _changed(before: QImage, after: QImage) -> list[int]:
    """Return how far from the left the pixels are in which two pictures differ."""
    return [x for (x, _, old), (_, _, new) in zip(_pixels(before), _pixels(after), strict=True) if old != new]


def test_wrapped_rows_begin_on_the_right(qtbot: QtBot) -> None:
    row = QWidget()
    qtbot.addWidget(row)
    buttons = [QPushButton(name) for name in ("one", "two", "three")]
    inside = flowing(buttons, row)
    inside.setLayoutDirection(RIGHT)
    inside.resize(400, 40)
    row.show()
    assert [button.geometry().right() for button in buttons[:1]] == [399]
    assert buttons[0].x() > buttons[1].x() > buttons[2].x()


@pytest.mark.parametrize(("name", "turns"), [("previous", True), ("folded", True), ("copy", False), ("attach", False)])
def test_directional_icons_are_mirrored(
    set_direction: Callable[[Qt.LayoutDirection], None], name: str, turns: bool
) -> None:
    usual = icon(name).pixmap(32, 32).toImage()
    set_direction(RIGHT)
    shown = icon(name).pixmap(32, 32).toImage()
    assert (shown == usual) is not turns
    mirrored = usual.flipped(Qt.Orientation.Horizontal) if turns else usual
    ink = [(x, y) for x in range(32) for y in range(32) if shown.pixelColor(x, y).alpha() > 250]
    assert ink
    assert all(mirrored.pixelColor(x, y).alpha() > 100 for x, y in ink)


def test_words_keep_the_direction_of_their_script(
    qtbot: QtBot, open_program: Open, set_direction: Callable[[Qt.LayoutDirection], None]
) -> None:
    set_direction(RIGHT)
    app = open_program()
    for text in ("Left to right.", "مرحبا بالعالم."):
        with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
            app.chat_controller.session.ask(text)
    directions = []
    for message in (0, 2):
        browser = app.window.chat.transcript.view(message).findChild(QTextBrowser)
        assert browser
        directions.append(browser.document().firstBlock().textDirection())
    assert directions == [LEFT, RIGHT]
