"""Larger text finds room: nothing is cut at twice the size, and what is larger than the rest stays so."""

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QApplication, QDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from headstart.ui import stylesheet
from headstart.ui.composer import Composer
from headstart.ui.figure_table import FigureTable
from headstart.ui.heading import Heading
from headstart.ui.program import Program
from headstart.ui.theme import LIGHT
from headstart.ui.token_count import Count
from tests.ui import reach

DIALOGS = ("preferences", "about", "logs")


@pytest.mark.parametrize("zoom", [100, 150, 200])
def test_nothing_is_cut(app: Program, zoom: int) -> None:
    app.window.actions_by_name["panel"].setChecked(True)
    app.change(zoom=zoom)
    for index in range(app.window.pages.count()):
        page = app.window.pages.widget(index)
        assert page
        app.window.show_page(page)
        QApplication.processEvents()
        assert not reach.cut(app.window), type(page).__name__


@pytest.mark.parametrize("name", DIALOGS)
def test_no_dialog_is_cut(app: Program, name: str) -> None:
    app.change(zoom=200)
    app.window.actions_by_name[name].trigger()
    QApplication.processEvents()
    dialog = next(child for child in app.window.findChildren(QDialog) if child.isVisible())
    assert not reach.cut(dialog)


def test_no_title_of_a_table_is_cut(qtbot: QtBot) -> None:
    table = FigureTable("figures")
    qtbot.addWidget(table)
    titles = ("class", "a title of several words", "another")
    table.begin(titles)
    table.resize(200, 100)
    table.show()
    for column, title in enumerate(titles):
        assert table.header().sectionSize(column) > table.fontMetrics().horizontalAdvance(title)


def test_words_below_the_message_give_way_one_after_the_other(qtbot: QtBot) -> None:
    composer = Composer(LIGHT)
    qtbot.addWidget(composer)
    composer.setStyleSheet(stylesheet.sheet(LIGHT))
    composer.show_model("a model with a name", "")
    composer.show_reach("Offline", "", leaves=False)
    composer.show_count(Count((), 1315, 8192))
    composer.show()
    seen = []
    for width in range(2 * composer.sizeHint().width(), composer.minimumSizeHint().width(), -10):
        composer.resize(width, composer.sizeHint().height())
        QApplication.processEvents()
        assert composer._count.width() >= composer._count.sizeHint().width()
        seen.append((composer._reach.isVisible(), composer._count.text()))
    words = "1,315 / 8,192 tokens"
    assert list(dict.fromkeys(seen)) == [(True, words), (False, words), (False, "1,315")]
    assert words in composer._count.toolTip()
    composer.show_reach("Leaves this computer", "", leaves=True)
    assert composer._reach.isVisible()  # that must be seen


def test_a_cut_control_is_found(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    button = QPushButton("some words", window)
    window.show()
    button.resize(20, 10)
    assert len(reach.cut(window)) == 1


def test_headings_grow_with_the_text(open_program: Callable[..., Program]) -> None:
    app = open_program()
    before = [heading.font().pointSizeF() for heading in app.window.findChildren(Heading)]
    app.change(zoom=200)
    after = [heading.font().pointSizeF() for heading in app.window.findChildren(Heading)]
    assert before
    assert after == pytest.approx([2 * size for size in before])
