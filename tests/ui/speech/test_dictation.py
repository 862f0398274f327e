"""Stories of dictation: what is said stands in the message box while it is said, and nothing of it is kept."""

import json
import sys
from collections.abc import Callable

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit
from pytestqt.qtbot import QtBot

from bench.toy import PROGRAM
from bench.window.profile import toy_model
from headstart.ui.composer.dictation import DictationController, DictationWidget
from headstart.ui.program import EngineSource, Program
from tests.ui.person import WAIT, words

_REPORTS = """
import json, sys
for report in json.loads({reports!r}):
    print(json.dumps(report), flush=True)
sys.stdin.read()
for report in json.loads({last!r}):
    print(json.dumps(report), flush=True)
sys.exit({code})
"""


class Dictation:
    """A message box with a microphone, whose input a test sets."""

    def __init__(self, qtbot: QtBot) -> None:
        self.edit, self.widget, self.errors = QPlainTextEdit(), DictationWidget(), list[str]()
        self._qtbot = qtbot
        for part in (self.edit, self.widget):
            qtbot.addWidget(part)
            part.show()

    def hear(self, *reports: object, last: tuple[object, ...] = (), code: int = 0) -> DictationController:
        script = _REPORTS.format(reports=json.dumps(reports), last=json.dumps(last), code=code)
        controller = DictationController(self.edit, self.widget, (sys.executable, "-c", script), self.widget)
        controller.error_occurred.connect(self.errors.append)
        return controller

    def wait_for(self, text: str) -> None:
        self._qtbot.waitUntil(lambda: self.edit.toPlainText() == text, timeout=WAIT)

    def click(self) -> None:
        self.widget.button.click()


@pytest.fixture
def dictation(qtbot: QtBot) -> Dictation:
    """A message box and a button."""
    return Dictation(qtbot)


def said(text: str, *, final: bool = False) -> dict[str, object]:
    """Return the report of an utterance."""
    return {"text": text, "is_final": final}


def test_text_stands_at_the_cursor_while_it_is_said(dictation: Dictation) -> None:
    dictation.edit.setPlainText("Dear Ann, bye")
    cursor = dictation.edit.textCursor()
    cursor.setPosition(len("Dear Ann,"))
    dictation.edit.setTextCursor(cursor)
    dictation.hear({"level": 0.5}, said("thank"), said("thank you 🎉"), said("Thank you.", final=True), said("See"))
    dictation.click()
    dictation.wait_for("Dear Ann, Thank you. See bye")


def test_undo_takes_an_utterance_back(dictation: Dictation) -> None:
    dictation.edit.setPlainText("Hello.")
    dictation.edit.moveCursor(dictation.edit.textCursor().MoveOperation.End)
    dictation.hear(said("one"), said("one two"), said("One two.", final=True))
    dictation.click()
    dictation.wait_for("Hello. One two.")
    dictation.edit.undo()
    assert dictation.edit.toPlainText() == "Hello."


def test_second_click_stops_and_what_was_said_is_still_written(qtbot: QtBot, dictation: Dictation) -> None:
    dictation.hear(said("one"), last=(said("One two.", final=True),))
    dictation.click()
    dictation.wait_for("one")
    assert dictation.widget.button.isChecked()
    dictation.click()
    assert not dictation.widget.button.isChecked()
    assert "Writing…" in words(dictation.widget)
    dictation.wait_for("One two.")
    qtbot.waitUntil(lambda: not dictation.widget.is_busy, timeout=WAIT)
    assert "Writing…" not in words(dictation.widget)
    assert dictation.errors == []


def test_chinese_gets_no_spaces(dictation: Dictation) -> None:
    dictation.hear(said("今天天气很好。", final=True), said("我们走吧。", final=True))
    dictation.click()
    dictation.wait_for("今天天气很好。我们走吧。")


def test_cancelled_dictation_writes_no_more(qtbot: QtBot, dictation: Dictation) -> None:
    controller = dictation.hear(said("one"), last=(said("two", final=True),))
    dictation.click()
    dictation.wait_for("one")
    controller.cancel()
    assert not dictation.widget.button.isChecked()
    dictation.click()
    dictation.wait_for("one one")


def test_missing_microphone_is_said_in_a_sentence(qtbot: QtBot, dictation: Dictation) -> None:
    dictation.hear({"error": "No microphone can be used."}, code=1)
    dictation.click()
    qtbot.waitUntil(lambda: bool(dictation.errors), timeout=WAIT)
    dictation.click()
    assert dictation.errors == ["No microphone can be used."]


def test_next_dictation_takes_the_error_of_the_last_one_away(
    qtbot: QtBot, open_program: Callable[..., Program]
) -> None:
    script = _REPORTS.format(reports=json.dumps([{"error": "No microphone can be used."}]), last="[]", code=1)
    app = open_program(engine=EngineSource(PROGRAM, toy_model, listener=(sys.executable, "-c", script)))
    notice, dictate = app.window.chat.notice, app.window.actions_by_name["dictate"]
    dictate.trigger()
    qtbot.waitUntil(notice.isVisible, timeout=WAIT)
    dictate.trigger()
    qtbot.waitUntil(lambda: not app.window.chat.composer.dictation.is_busy, timeout=WAIT)
    assert notice.isVisible()
    dictate.trigger()
    assert not notice.isVisible()


def test_without_a_model_you_see_where_to_get_one(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["dictate"].trigger()
    qtbot.waitUntil(app.window.models.catalogue.isVisible, timeout=WAIT)
    catalogue = app.window.models.catalogue
    assert catalogue.search.text() == "Whisper"
    assert "Dictation needs Whisper" in words(catalogue)
    QTest.keyClicks(catalogue.search, " x")
    assert "Dictation needs Whisper" not in words(catalogue)
    assert not app.window.chat.composer.dictation.button.isChecked()
