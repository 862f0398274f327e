"""Two versions of an answer side by side: chosen, written anew, with another model, without guessing ahead."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QMenu
from pytestqt.qtbot import QtBot

from headstart.ui.chat.comparison import AnswerColumn, Comparison, compare_texts
from headstart.ui.engine_request import installed_model
from headstart.ui.program import Program
from headstart.ui.transcript.live_answer import speed_ratio
from headstart.ui.transcript.message import MessageAction, MessageState
from tests.stand_ins.model_folders import write_model
from tests.ui import reach
from tests.ui.person import WAIT, ask, begin, press, shown, texts, words, write

Open = Callable[..., Program]


def compare(app: Program) -> Comparison:
    """Open the comparison from the menu of the window."""
    app.window.actions_by_name["compare"].trigger()
    return opened(app)


def opened(app: Program) -> Comparison:
    view = app.window.chat.comparison
    assert view
    return view


def text(column: AnswerColumn) -> str:
    return "".join(content.text for content in column.transcript.contents()).strip()


def chooser(column: AnswerColumn) -> QComboBox:
    return column.findChildren(QComboBox)[0]


def versions(view: Comparison) -> list[str]:
    """Return the texts of the choosers."""
    return [chooser(column).currentText() for column in view.columns if not chooser(column).isHidden()]


def await_answer(qtbot: QtBot, app: Program, act: Callable[[], object]) -> None:
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        act()


def use_model(qtbot: QtBot, app: Program, name: str) -> None:
    menu = opened(app).another_model.menu()
    menu.aboutToShow.emit()
    action = next(action for action in menu.actions() if action.text().startswith(name))
    await_answer(qtbot, app, action.trigger)


def regenerate(qtbot: QtBot, app: Program) -> None:
    await_answer(qtbot, app, app.window.actions_by_name["regenerate"].trigger)


@pytest.mark.parametrize(
    ("first", "second", "share", "lacks"),
    [
        ("the same words", "the same words", 1.0, ("", "")),
        ("the same  words", "the same\nwords", 1.0, ("", "")),
        ("a red house.", "a blue house.", 0.75, ("red", "blue")),
        ("a house", "a large old house", 2 / 3, ("", "large old")),
        ("今天天气很好", "今天天气不好", 5 / 6, ("很", "不")),
        ("", "words", 0.0, ("", "words")),
    ],
)
def test_texts_are_compared_word_by_word(first: str, second: str, share: float, lacks: tuple[str, str]) -> None:
    found = compare_texts(first, second)
    assert found.share == pytest.approx(share)
    assert " ".join(first[start:end] for start, end in found.first) == lacks[0]
    assert " ".join(second[start:end] for start, end in found.second) == lacks[1]


def test_speeds_are_compared_where_meaningful() -> None:
    slow, fast = {"tokens_per_second": 5.0}, {"tokens_per_second": 10.0}
    assert speed_ratio(fast, slow) == 2.0
    assert speed_ratio(fast, {**slow, "repeats": 3}) is None
    assert speed_ratio(fast, {}) is None


def test_comparison_shows_the_version_before(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    for _ in range(2):
        regenerate(qtbot, app)
    app.window.chat.transcript.action_requested.emit(MessageAction.COMPARE, shown(app)[1].id)
    view = opened(app)
    assert view.isVisible()
    assert not app.window.chat.transcript.isVisible()
    assert versions(view) == ["Version 2", "Version 3"]
    assert [text(column) for column in view.columns] == ["You wrote: first"] * 2
    assert "Both texts are the same." in words(view.bar)
    assert all("tokens/s" in words(column.head) for column in view.columns)
    chooser(view.columns[0]).setFocus()
    QTest.keyClick(chooser(view.columns[0]), Qt.Key.Key_Home)
    assert versions(view) == ["Version 1", "Version 3"]


def test_hint_for_a_second_version_is_not_cut(qtbot: QtBot, app: Program) -> None:
    app.window.resize(700, 600)
    ask(qtbot, app, "first")
    head = compare(app).columns[1].head
    hint = "Have another version written to compare with this one."
    (label,) = [each for each in head.findChildren(QLabel) if each.text() == hint]
    qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()) > 0, timeout=WAIT)


def test_chosen_answer_closes_the_comparison(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    regenerate(qtbot, app)
    view = compare(app)
    press(view.columns[0], "Use this answer")
    assert not view.isVisible()
    assert app.window.chat.transcript.isVisible()
    assert (shown(app)[1].version, shown(app)[1].versions) == (1, 2)
    compare(app)
    QTest.keyClick(app.window, Qt.Key.Key_Escape)
    assert not view.isVisible()
    assert (shown(app)[1].version, shown(app)[1].versions) == (1, 2)


def test_plain_answer_differs_only_in_speculation(qtbot: QtBot, app: Program) -> None:
    app.window.panel.edited.emit("temperature", 0.3)
    ask(qtbot, app, "first")
    app.window.panel.edited.emit("temperature", 0.9)
    view = compare(app)
    assert versions(view) == ["Version 1"]
    assert "Have another version written" in words(view)
    await_answer(qtbot, app, lambda: press(view, "Without speed-up"))
    assert versions(view) == ["Version 1: with speed-up", "Version 2: without speed-up"]
    session = app.chat_controller.session
    first, second = session.conversation.versions(session.path[-1].id)
    assert second.settings == {**first.settings, "speculation": "off"}
    assert {run.origin for run in first.origins} != {run.origin for run in second.origins} == {"target"}
    assert session.settings.chat_values()["speculation"] == "auto"
    chooser(view.columns[0]).setCurrentIndex(1)
    chooser(view.columns[0]).activated.emit(1)
    await_answer(qtbot, app, lambda: press(view, "With speed-up"))
    assert versions(view)[1] == "Version 3: with speed-up"


def test_comparison_with_another_model_keeps_the_model_of_the_chat(
    qtbot: QtBot, headstart_home: Path, open_program: Open
) -> None:
    for name in ("other", "usual"):
        write_model(headstart_home / "models" / name)
    app = open_program(find=installed_model)
    app.switch.chosen.emit("usual")
    ask(qtbot, app, "first")
    view = compare(app)
    use_model(qtbot, app, "other")
    assert versions(view) == ["Version 1: usual", "Version 2: other"]
    assert app.link.model_info
    assert app.link.model_info.model == "other"
    assert (app.chat_controller.session.settings.model, app.settings.now.model) == ("usual", "usual")
    ask(qtbot, app, "second")
    assert not view.isVisible()
    assert [content.author for content in shown(app)] == ["", "other", "", "usual"]


def test_too_large_model_can_be_loaded_anyway(qtbot: QtBot, headstart_home: Path, open_program: Open) -> None:
    for name in ("large", "usual"):
        write_model(headstart_home / "models" / name)
    app = open_program(
        find=lambda settings: installed_model(settings.with_values({"model": settings.model or "usual"}))
    )
    ask(qtbot, app, "first")
    view = compare(app)
    use_model(qtbot, app, "large")
    assert "could not be loaded" in words(view.columns[1])
    press(app.window.chat.notice, "Load anyway")
    qtbot.waitUntil(lambda: bool(app.link.model_info and app.link.model_info.model == "large"), timeout=WAIT)
    use_model(qtbot, app, "large")
    assert text(view.columns[1]) == "You wrote: first"


def test_version_is_streamed_beside_the_other(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    begin(qtbot, app, "toy: words 2000")
    app.window.actions_by_name["stop"].trigger()
    qtbot.waitUntil(lambda: not app.chat_controller.session.is_answering, timeout=WAIT)
    view = compare(app)
    before = text(view.columns[0])
    press(view, "Answer again")
    assert not view.again.isEnabled()
    qtbot.waitUntil(lambda: len(text(view.columns[1])) > 20, timeout=WAIT)
    assert "writing…" in words(view.columns[1].head)
    assert view.columns[1].transcript.contents()[0].state is MessageState.STREAMING
    assert text(view.columns[0]) == before
    await_answer(qtbot, app, lambda: QTest.keyClick(app.window, Qt.Key.Key_Escape))
    assert view.isVisible()
    assert view.again.isEnabled()
    assert text(view.columns[1]) == texts(app)[1]


def test_differences_are_marked_on_demand(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "one two three")
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, shown(app)[1].id)
    app.window.chat.composer.set_text("")
    write(app, "You wrote: one deux three")
    view = compare(app)
    assert "83 %" in words(view.bar)
    assert versions(view)[1].endswith("edited by you")
    assert marked(view) == ["", ""]
    view.marks.click()
    assert marked(view) == ["two", "deux"]
    view.marks.click()
    assert marked(view) == ["", ""]


def marked(view: Comparison) -> list[str]:
    """Return the highlighted words."""
    found = []
    for column in view.columns:
        block = column.transcript.view(0)._text.document().firstBlock()
        ranges = [each for each in block.layout().formats() if each.format.background().style()]
        found.append(" ".join(block.text()[each.start : each.start + each.length] for each in ranges))
    return found


@pytest.mark.parametrize("act", ["another chat", "a new chat", "a question", "find"])
def test_comparison_ends_with_the_next_message(qtbot: QtBot, app: Program, act: str) -> None:
    ask(qtbot, app, "elsewhere")
    other = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "first")
    regenerate(qtbot, app)
    view = compare(app)
    match act:
        case "another chat":
            app.window.sidebar.list.chosen.emit(other, None)
        case "a new chat":
            app.window.sidebar.new_requested.emit()
        case "a question":
            ask(qtbot, app, "second")
        case "find":
            app.window.actions_by_name["find"].trigger()
            app.window.chat.find_bar.field.setText("wrote")
    assert not view.isVisible()
    assert app.window.chat.transcript.isVisible() is (act != "a new chat")
    assert app.window.chat.empty.isVisible() is (act == "a new chat")


@pytest.mark.parametrize("zoom", [100, 150, 200])
def test_comparison_is_accessible(qtbot: QtBot, app: Program, zoom: int) -> None:
    ask(qtbot, app, "first")
    regenerate(qtbot, app)
    app.settings.change(zoom=zoom)
    compare(app)
    app.window.activateWindow()
    QApplication.processEvents()
    assert not reach.unreached(app.window)
    assert not reach.nameless(app.window)
    qtbot.waitUntil(lambda: not reach.cut(app.window), timeout=WAIT)


def test_answer_is_regenerated_by_another_model_from_its_menu(
    qtbot: QtBot, headstart_home: Path, open_program: Open
) -> None:
    for name in ("one", "two"):
        write_model(headstart_home / "models" / name)
    app = open_program(find=installed_model)
    app.switch.chosen.emit("one")
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    ask(qtbot, app, "hello")
    menu = app.window.chat.transcript.view_of(shown(app)[-1].id).menu()
    (models,) = (action.menu() for action in menu.actions() if action.text() == "Regenerate with Another Model")
    assert isinstance(models, QMenu)
    models.aboutToShow.emit()
    (other,) = (action for action in models.actions() if action.text().startswith("two\t"))
    await_answer(qtbot, app, other.trigger)
    assert [(content.author, content.versions) for content in shown(app)[1:]] == [("two", 2)]
    assert app.chat_controller.session.settings.model == "one"  # of the chat
