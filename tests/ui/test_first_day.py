"""The first day of a newcomer: no word of how it works inside, a speed below an answer, everyday settings first."""

import re
from collections.abc import Iterator

from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from headstart.ui import actions
from headstart.ui.models.catalogue import good_at, recipes
from headstart.ui.program import Program
from headstart.ui.settings.preferences_dialog import PreferencesDialog
from tests.ui.person import ask, preferences, shown

INSIDE = re.compile(r"\bguess|speculat|draft model", re.IGNORECASE)


def read(part: QWidget) -> Iterator[str]:
    """Yield the texts and tooltips that are visible."""
    for widget in part.findChildren(QWidget):
        if widget.isVisible():
            yield widget.toolTip()
            if isinstance(widget, QLabel | QAbstractButton):
                yield widget.text()
            if isinstance(widget, QComboBox):
                yield widget.currentText()


def inside(part: QWidget) -> list[str]:
    return [text for text in read(part) if INSIDE.search(text)]


def test_newcomer_reads_nothing_of_guesses(qtbot: QtBot, app: Program) -> None:
    window = app.window
    assert not inside(window)
    ask(qtbot, app, "toy: words 30")
    window.actions_by_name["panel"].setChecked(True)
    assert not inside(window)
    assert not INSIDE.search(shown(app)[-1].stats.partition("\n")[0])
    window.show_page(window.models)
    assert not inside(window)
    assert not [title for command in actions.COMMANDS if INSIDE.search(title := command.text)]
    assert not [words for recipe in recipes() if INSIDE.search(words := good_at(recipe))]


def test_preferences_keep_guesses_to_a_page_of_their_own(app: Program) -> None:
    dialog: PreferencesDialog = preferences(app)
    titles = [dialog.list.item(row).text() for row in range(dialog.list.count())]
    assert titles.index("Speed-up") > titles.index("Answers")
    for row, title in enumerate(titles):
        dialog.list.setCurrentRow(row)
        assert bool(inside(dialog)) == (title in {"Speed-up", "Model"}), title  # one has the draft model
    dialog.close()


def test_chat_page_of_the_preferences_is_short(app: Program) -> None:
    dialog = preferences(app)
    dialog.list.setCurrentRow(1)
    remarks = [each for each in dialog.forms[1].findChildren(QLabel) if each.property("kind") == "muted"]
    assert len([each for each in remarks if each.isVisible()]) <= 4
    assert all(len(each.text()) <= 120 for each in remarks)
    dialog.close()
