"""The view of a message: content, actions and growth."""

import random
import re
from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QEnterEvent,
    QGuiApplication,
    QImage,
    QTextCursor,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QScrollBar, QToolButton, QToolTip
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Attachment
from headstart.engine.engine import Origin
from headstart.markdown.blocks import Code, spans
from headstart.ui.markdown.document import frame_rect
from headstart.ui.transcript.live_answer import details
from headstart.ui.transcript.message import (
    MessageAction,
    MessageContent,
    MessageState,
    OriginRun,
    PassageSource,
    RoundNote,
    attached_blocks,
)
from headstart.ui.transcript.message_view import MessageView, SourceList
from headstart.ui.transcript.text_view import TextView
from headstart.ui.widgets import theme
from headstart.ui.widgets.legend import Legend
from headstart.ui.widgets.theme import DARK, LIGHT, TINY
from tests.chat.history.trees import QUOTING
from tests.ui.corpus import EVERYTHING

Show = Callable[[MessageContent], MessageView]


@pytest.fixture
def show(qtbot: QtBot) -> Show:
    """A function that shows a view of a message, 700 pixels wide."""
    kept: list[MessageView] = []  # a test may hold but its text

    def made(content: MessageContent) -> MessageView:
        view = MessageView(LIGHT, theme.text_font(10))
        kept.append(view)
        qtbot.addWidget(view)
        view.set_message(content)
        view.set_width(700)
        view.show()
        return view

    return made


def _answer(text: str, **more: object) -> MessageContent:
    return MessageContent("a", "assistant", text, **more)  # type: ignore[arg-type]


def _button(view: MessageView, name: str) -> QToolButton:
    found = view.findChild(QToolButton, name)
    assert found
    return found


def _labels(view: MessageView) -> list[str]:
    """Return the visible words beside the name, the text and the buttons."""
    labels = [label.text() for label in view.findChildren(QLabel) if label.isVisible()]
    return [text for text in labels if text not in ("", "Assistant")]


def _is_painted(view: MessageView, name: str) -> bool:
    """Return whether a button of the footer shows its icon."""
    button = _button(view, name)
    picture = button.grab().toImage()
    return any(
        picture.pixelColor(x, y) != picture.pixelColor(0, 0)
        for x in range(picture.width())
        for y in range(picture.height())
    )


def _text(view: MessageView) -> TextView:
    return view._text


def _shown(view: MessageView) -> str:
    return _text(view).toPlainText()


@pytest.mark.parametrize("seed", range(4))
def test_streamed_message_equals_the_finished_one(show: Show, seed: int) -> None:
    rng = random.Random(seed)
    source = EVERYTHING
    view = show(_answer(""))
    view.begin_stream()
    view._fold.click()
    while len(view.content.thinking) < len(source):
        at = len(view.content.thinking)
        view.append("", (), source[at : at + rng.randint(1, 40)])
    while len(view.content.text) < len(source):
        at = len(view.content.text)
        piece = source[at : at + rng.randint(1, 40)]
        view.append(piece, [OriginRun(len(piece), "draft", RoundNote("draft", 4, 2))])
    view.end_stream(_answer("", stats="18 tok/s"))
    view.set_width(700)
    once = show(_answer(source, thinking=source))
    once._fold.click()
    assert view._unfolded
    assert once._unfolded
    assert view._unfolded.toPlainText() == once._unfolded.toPlainText() == _shown(once)
    assert _shown(view) == _shown(once)
    assert _text(view).document().size() == _text(once).document().size()
    assert view.content.text == source
    assert sum(run.length for run in view.content.origins) == len(source)
    assert view.content.state is MessageState.DONE


@pytest.mark.parametrize(("width", "are_beside"), [(700, True), (200, False)])
def test_buttons_of_a_question_stand_beside_it_if_there_is_room(show: Show, width: int, are_beside: bool) -> None:
    view = show(MessageContent("q", "user", "Why is the sky blue?"))
    height = view.set_width(width)
    footer = view._footer.geometry()
    assert (footer.right() < view._bubble.left()) == are_beside
    assert (footer.top() > view._bubble.bottom()) != are_beside
    assert (height == view._bubble.height() + TINY) == are_beside  # the answer follows at once
    assert 0 <= footer.top() <= footer.bottom() < height
    assert footer.left() >= 0


def test_stopped_answer_keeps_its_text_and_says_so(show: Show) -> None:
    view = show(_answer(""))
    view.begin_stream()
    view.append("half **a", [OriginRun(8, "target")])
    view.end_stream(_answer("", state=MessageState.STOPPED, notice="You stopped this answer."))
    assert _labels(view) == ["You stopped this answer."]  # once
    view.end_stream(_answer("", state=MessageState.STOPPED))
    assert _labels(view) == ["stopped"]
    assert view.content.text == "half **a"


def test_message_buttons_request_their_actions(show: Show, qtbot: QtBot) -> None:
    view = show(_answer("# Hi\n\n- *there*", version=2, versions=3))
    asked: list[tuple[object, ...]] = []
    view.action_requested.connect(lambda action, message: asked.append((action.value, message)))
    for name in ("edit", "regenerate", "copy", "previous", "next"):
        _button(view, name).click()
    assert asked == [("edit", "a"), ("regenerate", "a"), ("previous", "a"), ("next", "a")]
    assert QGuiApplication.clipboard().text() == "Hi\n\n- there"
    assert view.findChildren(QLabel, "")  # the counter is one of them
    assert "2/3" in [label.text() for label in view.findChildren(QLabel)]


def test_message_menu_has_the_other_actions(show: Show) -> None:
    view = show(_answer("**x**"))
    asked: list[object] = []
    view.action_requested.connect(lambda action, _message: asked.append(action))
    menu = view.menu()
    for action in menu.actions():
        action.trigger()
    selects = [MessageAction.SELECT, MessageAction.SELECT_UP_TO]
    ways_on = [MessageAction.CONTINUE, MessageAction.COMPARE]
    assert asked == [*ways_on, *selects, MessageAction.FORK, MessageAction.DELETE]
    assert QGuiApplication.clipboard().text() == "**x**"
    menu.deleteLater()


def test_user_message_is_plain_and_not_regenerated(show: Show) -> None:
    view = show(MessageContent("u", "user", "# not a heading\n    **as typed**"))
    assert not _button(view, "regenerate").isVisible()
    assert _shown(view) == "# not a heading\n    **as typed**"


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
def test_question_is_a_bubble_at_the_end_of_the_line(show: Show, direction: Qt.LayoutDirection) -> None:
    view = show(MessageContent("u", "user", "Why?"))
    view.setLayoutDirection(direction)
    for text, share in (("Why?", 0.0), ("Why do leaves change their colour? " * 20, 0.6)):
        view.set_message(MessageContent("u", "user", text))
        view.set_width(700)
        place = _text(view).geometry()
        is_at_the_right = direction is Qt.LayoutDirection.LeftToRight
        assert (700 - place.right() if is_at_the_right else place.left()) < 20
        assert 700 * share < place.width() <= 700 * 0.75
        assert _text(view).document().idealWidth() <= place.width()
        assert _labels(view) == []
    assert view.set_width(400) > view.set_width(700)


def test_actions_show_at_the_pointer_at_the_focus_and_below_the_last_message(show: Show) -> None:
    view = show(_answer("Answer", versions=2))
    view.activateWindow()
    QApplication.processEvents()
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))  # the pointer may be there
    _text(view).setFocus()
    names = ("copy", "edit", "regenerate", "more", "compare")
    assert not any(_is_painted(view, name) for name in names)
    assert _is_painted(view, "next")  # it says that there is another version
    QApplication.sendEvent(view, QEnterEvent(QPointF(5, 5), QPointF(5, 5), QPointF(5, 5)))
    assert all(_is_painted(view, name) for name in names)
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    assert not _is_painted(view, "copy")
    _button(view, "edit").setFocus()
    assert all(_is_painted(view, name) for name in names)
    _text(view).setFocus()
    assert not _is_painted(view, "copy")
    view.set_last(True)
    assert all(_is_painted(view, name) for name in names)
    assert all(_button(view, name).accessibleName() for name in names)


def test_streaming_message_has_no_actions(show: Show) -> None:
    view = show(_answer("", versions=2, version=2))
    view.begin_stream()
    assert not any(_button(view, name).isEnabled() for name in ("edit", "regenerate", "more", "previous"))
    assert _button(view, "copy").isEnabled()
    view.end_stream(_answer(""))
    assert all(_button(view, name).isEnabled() for name in ("edit", "regenerate", "more", "previous"))


def test_wide_figures_stand_below_the_buttons(show: Show) -> None:
    figures = "112.4 tokens/s, about 1.6× as fast as without guessing"
    view = show(_answer("Answer", versions=2, version=2, stats=f"{figures}\n2 tokens per step"))
    shown = next(label for label in view.findChildren(QLabel) if label.text() == figures)
    heights = {}
    for width, is_beside in ((900, True), (450, False), (900, True)):
        heights[is_beside] = view.set_width(width)
        QApplication.processEvents()
        assert shown.width() >= shown.fontMetrics().horizontalAdvance(figures)
        assert (shown.geometry().top() > _button(view, "copy").geometry().bottom()) is not is_beside
        assert _button(view, "details").geometry().left() > shown.geometry().right()
    assert heights[False] > heights[True]
    view.apply_theme(LIGHT, theme.text_font(20))
    grown = view.set_width(450)
    QApplication.processEvents()
    assert view.set_width(450) == grown
    view.apply_theme(LIGHT, theme.text_font(10))
    view.set_message(_answer("Answer", versions=2, version=2))
    assert view.set_width(450) == view.set_width(900)


def test_thinking_is_folded(show: Show) -> None:
    view = show(_answer("Answer", thinking="first *this*"))
    closed = view.set_width(700)
    assert _shown(view) == "Answer"
    assert view._fold.text() == "Thoughts (2 words)"
    view._fold.click()
    assert view._unfolded is not None
    assert view._unfolded.toPlainText() == "first this"
    assert view.set_width(700) > closed
    view._fold.click()
    assert view.set_width(700) == closed
    assert view.plain_text() == "Answer"


def test_fold_says_how_long_the_model_thinks(show: Show) -> None:
    view = show(_answer(""))
    view.begin_stream()
    assert view._fold.isHidden()
    view.append("", (), "hm")
    assert view._fold.text() == "Thinking…"
    view.append("", (), " so", 2)
    assert view._fold.text() == "Thinking… 2 s"
    view.append("Yes", [OriginRun(3, "target")], "", 3)
    assert view._fold.text() == "Thought for 3 s"
    view.append("", (), "\n\nagain", 4)  # after a call of a tool
    assert view._fold.text() == "Thinking… 4 s"
    view.end_stream(_answer("", thinking_seconds=4))
    assert view._fold.text() == "Thought for 4 s"
    assert (view.content.text, view.content.thinking) == ("Yes", "hm so\n\nagain")


@pytest.mark.parametrize("text", QUOTING)
def test_quoted_marks_are_shown_and_copied_word_for_word(show: Show, text: str) -> None:
    view = show(_answer(text))
    streamed = show(_answer(""))
    streamed.begin_stream()
    for letter in text:
        streamed.append(letter, [OriginRun(1, "target")])
    streamed.end_stream(_answer(""))
    for shown in (view, streamed):
        assert shown._fold.isHidden()
        assert _shown(shown).split() == shown.plain_text().split() == text.split()
        shown.perform(MessageAction.COPY_MARKDOWN)
        assert QGuiApplication.clipboard().text() == text


def test_code_is_copied_as_written(show: Show) -> None:
    view = show(_answer("```py\na = 1\n\nb = '🎉'\n```"))
    _text(view).anchorClicked.emit(QUrl("copy:0"))
    assert QGuiApplication.clipboard().text() == "a = 1\n\nb = '🎉'"
    assert QToolTip.text() == "Copied"


def test_copy_button_of_code_is_focusable(show: Show, qtbot: QtBot) -> None:
    view = show(_answer("```py\na = 1\n```"))
    _text(view).setFocus()
    QTest.keyClick(_text(view), Qt.Key.Key_Tab)
    QTest.keyClick(_text(view), Qt.Key.Key_Return)
    assert QGuiApplication.clipboard().text() == "a = 1"


def test_link_asks_before_opening(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    view = show(_answer("[text](https://example.org/a%20b?x=1&y=2) [bad](javascript:x)"))
    answers = [QMessageBox.StandardButton.Cancel, QMessageBox.StandardButton.Open]
    opened: list[str] = []
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: answers.pop(0))
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toEncoded().data().decode()))
    for address in ("https://example.org/?no", "https://example.org/a%20b?x=1&y=2", "file:///etc/passwd"):
        _text(view).anchorClicked.emit(QUrl(address))
    assert opened == ["https://example.org/a%20b?x=1&y=2"]
    assert "[bad](javascript:x)" in _shown(view)


def _table(columns: int, cell: str) -> str:
    rows = ["|".join(["", *cells, ""]) for cells in ([f"head {n}" for n in range(columns)], ["---"] * columns)]
    return "\n".join([*rows, *["|".join(["", *[cell] * columns, ""])] * 3])


def _bars(text: TextView) -> list[QScrollBar]:
    """Return the scroll bars of wide blocks, from top to bottom."""
    found = [bar for bar in text.viewport().findChildren(QScrollBar) if bar.isVisible()]
    return sorted(found, key=lambda bar: bar.y())


def test_wide_table_scrolls_sideways(show: Show) -> None:
    view = show(_answer(f"{'before ' * 60}\n\n{_table(12, 'so much to say')}\n\nbehind"))
    text = _text(view)
    (bar,), width = _bars(text), text.viewport().width()
    assert not text.horizontalScrollBar().isVisible()
    assert abs(bar.maximum() - (text.document().size().width() - width)) < 10
    assert bar.maximum() > 100
    lines = text.document().firstBlock().layout()
    assert max(lines.lineAt(n).naturalTextWidth() for n in range(lines.lineCount())) <= width
    assert text.height() == view.findChild(TextView).height() >= text.document().size().height()  # type: ignore[union-attr]
    cell = text.document().find("so much to say")
    assert cell.block().layout().lineCount() == 1
    view.set_width(3000)
    assert not bar.isVisible()


_LONG = "x = " + " + ".join(f"name_{number}" for number in range(60))
_WIDE = f"above\n\n```python\n{_LONG}\ny = 1\n```\n\nbetween\n\n{_table(12, 'so much to say')}\n\nbelow"


def test_wide_code_and_table_scroll_each_in_itself(show: Show) -> None:
    text = _text(show(_answer(_WIDE)))
    code, table = _bars(text)
    assert text.document().find("name_0").block().layout().lineCount() == 1
    before = _rows(text)
    code.setValue(code.maximum() // 2)
    after = _rows(text)
    moved = [row for row, line in enumerate(before) if line != after[row]]
    top = text.cursorRect(text.document().find("name_0")).top()
    assert moved
    assert top - 2 <= moved[0]
    assert moved[-1] <= code.geometry().bottom() + 2
    assert table.value() == 0


def test_edges_show_that_something_wide_goes_on(show: Show) -> None:
    text = _text(show(_answer(_WIDE)))
    code, _ = _bars(text)
    row = text.cursorRect(text.document().find("y = 1")).center().y()
    for value, goes_on in ((0, (False, True)), (200, (True, True)), (code.maximum(), (True, False))):
        code.setValue(value)
        line = _rows(text)[row]
        ground = line[len(line) // 2]
        assert (line[3] < ground, line[-4] < ground) == goes_on


def _rows(text: TextView) -> list[list[int]]:
    """Return the lightness of each pixel, by row."""
    image = text.viewport().grab().toImage().convertToFormat(QImage.Format.Format_Grayscale8)
    return [[image.pixelColor(x, y).value() for x in range(image.width())] for y in range(image.height())]


def test_scrolled_code_is_selected_where_it_is_seen(show: Show) -> None:
    text = _text(show(_answer(_WIDE)))
    code, _ = _bars(text)
    code.setValue(code.maximum())
    place = text.cursorRect(text.document().find("name_58")).center()
    assert place.x() > text.viewport().width()
    QTest.mouseDClick(text.viewport(), Qt.MouseButton.LeftButton, pos=place - QPoint(code.value(), 0))
    assert text.selected_text() == "name_58"
    assert code.value() == code.maximum()
    QTest.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    QTest.mouseDClick(text.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    assert text.selected_text() == "above"


def test_table_is_copied_with_tabs(show: Show) -> None:
    text = _text(show(_answer("| Name | Size |\n|---|---|\n| **Boat** | $x^2$ |\n| Red car | 2 |\n\nbelow")))
    entries = {}
    for word in ("Boat", "below"):
        place = text.cursorRect(text.document().find(word)).center().toPointF()
        entries[word] = {action.text(): action for action in text.context_menu(place).actions()}
    entries["Boat"]["Copy Table"].trigger()
    assert QGuiApplication.clipboard().text() == "Name\tSize\nBoat\t$x^2$\nRed car\t2"
    assert "Copy Table" not in entries["below"]


def test_keys_and_hits_scroll_wide_code(show: Show) -> None:
    text = _text(show(_answer(_WIDE)))
    code, table = _bars(text)
    cursor = text.document().find("name_0")
    cursor.clearSelection()
    text.setTextCursor(cursor)
    QTest.keyClick(text, Qt.Key.Key_End, Qt.KeyboardModifier.ShiftModifier)
    assert text.selected_text().endswith("name_59")
    assert code.value() > 0
    code.setValue(0)
    at = _WIDE.index("name_40")
    text.set_matches([(at, at + 7)], 0)
    assert 0 < code.value() < text.cursorRect(text.document().find("name_40")).right()
    assert table.value() == 0


def test_long_lines_of_prose_wrap(show: Show) -> None:
    prose = "so much to say " * 60
    code = show(_answer(f"```\n{'x' * 5000}\n```"))
    assert not _bars(_text(code))  # nobody reads so far sideways
    view = show(MessageContent("b", "user", "q", attached=(Attachment("a.txt", prose), Attachment("a.py", prose))))
    view._fold.click()
    view.set_width(700)
    assert view._unfolded
    assert len(_bars(view._unfolded)) == 1


@pytest.mark.parametrize("end", ["> ```\n> x\n> ```", "> | a |\n> |---|\n> | 1 |", "> text", "> - item"])
@pytest.mark.parametrize("below", ["plain outside", "- item outside", "```\ncode outside\n```"])
def test_bar_of_a_quote_ends_with_the_quote(show: Show, end: str, below: str) -> None:
    text = _text(show(_answer(f"{end}\n\n{below}")))
    image = text.viewport().grab().toImage()
    marked = [row for row in range(image.height()) if image.pixelColor(1, row) == QColor(LIGHT.quote_bar)]
    last = text.document().find(end.rpartition("> ")[2].strip("`-| ") or "x")
    outside = text.cursorRect(text.document().find("outside"))
    assert marked == list(range(marked[0], marked[-1] + 1))
    assert text.cursorRect(last).center().y() < marked[-1] < outside.top()


@pytest.mark.parametrize("above", ["$$\\frac{a}{b}$$", "text"])
def test_code_keeps_a_distance_from_what_is_above(show: Show, above: str) -> None:
    text = _text(show(_answer(f"{above}\n```\nx\n```")))
    layout, first = text.document().documentLayout(), text.document().firstBlock()
    (frame,) = text.document().rootFrame().childFrames()
    assert frame_rect(layout, frame).top() - layout.blockBoundingRect(first).bottom() >= (12 if "$" in above else 4)


def test_done_task_has_a_tick(show: Show) -> None:
    text = _text(show(_answer("- [x] done\n- [ ] open\n- other\n\n1. [x] first")))
    assert text.toPlainText().split("\n") == ["☑ done", "☐ open", "other", "☑ first"]
    done, other = (text.document().find(word).block() for word in ("done", "other"))
    assert done.textList() is None
    assert other.textList() is not None


@pytest.mark.parametrize("columns", [2, 3])
def test_narrow_table_wraps_its_cells(show: Show, columns: int) -> None:
    text = _text(show(_answer(_table(columns, "a long sentence that takes more than one line of its cell " * 2))))
    assert not _bars(text)
    assert text.document().find("a long sentence").block().layout().lineCount() > 1


def test_wheel_scrolls_a_wide_table_sideways(show: Show) -> None:
    text = _text(show(_answer(_table(20, "so much to say"))))
    (bar,), modifiers = _bars(text), Qt.KeyboardModifier
    turns = ((0, modifiers.NoModifier, False), (-120, modifiers.NoModifier, True), (0, modifiers.ShiftModifier, True))
    for across, modifier, is_taken in turns:
        bar.setValue(0)
        for target in (text, bar):
            turned = QWheelEvent(
                QPointF(9, 9), QPointF(9, 9), QPoint(), QPoint(across, -60), Qt.MouseButton.NoButton,
                modifier, Qt.ScrollPhase.NoScrollPhase, False,  # noqa: FBT003
            )  # fmt: skip
            target.wheelEvent(turned)
            assert (bar.value() > 0, turned.isAccepted()) == (is_taken, is_taken)


def test_growing_wide_table_equals_the_whole_one(show: Show) -> None:
    source = _table(12, "so much to say")
    view = show(_answer(""))
    view.begin_stream()
    for at in range(0, len(source), 40):
        piece = source[at : at + 40]
        view.append(piece, [OriginRun(len(piece), "target")])
        view.set_width(700)
    view.end_stream(_answer(source))
    view.set_width(700)
    assert _text(view).document().size() == _text(show(_answer(source))).document().size()


@pytest.mark.parametrize(
    "address", ["http://e.org/p.png", "https://e.org/p.png", "file:///etc/passwd", "data:text/plain,x", "/p"]
)
def test_message_fetches_nothing(show: Show, address: str) -> None:
    text = _text(show(_answer(f"![p]({address})")))
    assert text.loadResource(QTextDocument.ResourceType.ImageResource.value, QUrl(address)) is None
    assert "<img" not in text.toHtml()


def _point(text: TextView, word: str) -> QPointF:
    cursor = text.document().find(word)
    cursor.setPosition(cursor.selectionStart() + 1)
    return QPointF(text.cursorRect(cursor).center()) + QPointF(1, 0)


def test_tooltips_show_addresses_and_rounds(show: Show) -> None:
    runs = (OriginRun(5, "target"), OriginRun(6, "draft", RoundNote("draft", 4, 3)))
    view = show(_answer("Hello world [link](https://example.org)", origins=runs))
    text = _text(view)
    assert text.tooltip_at(_point(text, "link")) == "https://example.org"
    assert text.tooltip_at(_point(text, "world")) == ""
    view.set_origins_visible(True)
    assert re.findall(r"\d+", text.tooltip_at(_point(text, "world"))) == ["4", "3"]
    assert text.tooltip_at(_point(text, "Hello")) == "The model itself"


def test_every_origin_has_style_legend_and_label(show: Show) -> None:
    known = {origin.value for origin in Origin} - {Origin.UNKNOWN.value}
    legend = Legend()
    swatches = {swatch.origin: swatch.accessibleName() for swatch in legend._swatches}
    assert swatches.keys() == known
    assert DARK.origins.keys() == LIGHT.origins.keys() == known - {Origin.TARGET.value}
    runs = tuple(OriginRun(4, origin, RoundNote(origin, 2, 1)) for origin in sorted(known))
    view = show(_answer("aaa bbb ccc ddd eee", origins=runs))
    view.set_origins_visible(True)
    for letter, origin in zip("abcde", sorted(known), strict=True):
        said = _text(view).tooltip_at(_point(_text(view), letter))
        assert said.endswith(" proposed 2, 1 accepted.")
        assert f" {origin} " not in said
    told = details({"by_origin": dict.fromkeys(known, 7)})
    assert told == "Tokens from: draft model 7, draft head 7, earlier text 7, usual words 7, the model itself 7"


def _grounds(text: TextView) -> dict[str, str]:
    found, block = {}, text.document().begin()
    while block.isValid():
        for part in block.layout().formats():
            found[block.text()[part.start : part.start + part.length]] = part.format.background().color().name()
        block = block.next()
    return found


def test_origins_are_coloured_on_request(show: Show) -> None:
    source = "a **bold** c d"
    runs = tuple(OriginRun(n, origin) for n, origin in ((2, "target"), (4, "draft"), (6, "n-gram"), (2, "table")))
    view = show(_answer(source, origins=runs))
    assert _grounds(_text(view)) == {}
    view.set_origins_visible(True)
    assert _grounds(_text(view)) == {
        "bo": LIGHT.origins["draft"].background,
        "ld c": LIGHT.origins["n-gram"].background,
        " d": LIGHT.origins["table"].background,
    }
    view.apply_theme(DARK, theme.text_font(10))
    assert _grounds(_text(view))["bo"] == DARK.origins["draft"].background
    view.set_origins_visible(False)
    assert _grounds(_text(view)) == {}


def test_selection_is_copied_as_text_or_markdown(show: Show) -> None:
    view = show(_answer("# Title\n\nSome **bold** text\n\n- item\n\n```py\nx = 1\n```"))
    text = _text(view)
    text.selectAll()
    assert text.selected_markdown() == "# Title\n\nSome **bold** text\n\n- item\n\n```py\nx = 1\n"[:-1]
    assert text.createMimeDataFromSelection().text() == "Title\n\nSome bold text\n\n- item\n\nx = 1"
    assert not text.createMimeDataFromSelection().hasHtml()
    cursor = text.document().find("old")
    text.setTextCursor(cursor)
    assert (text.selected_text(), text.selected_markdown()) == ("old", "old")


def test_wheel_scrolls_the_chat(show: Show) -> None:
    view = show(_answer(EVERYTHING))
    text = _text(view)
    assert text.verticalScrollBar().maximum() == 0
    assert view.set_width(300) > view.set_width(700)
    assert text.verticalScrollBar().maximum() == 0


def test_message_is_accessible(show: Show) -> None:
    view = show(_answer("y", thinking="x", version=1, versions=2, author="Qwen"))
    assert view.accessibleName() == _text(view).accessibleName() == "Message from Qwen"
    assert all(button.accessibleName() for button in view.findChildren(QToolButton))


def test_selected_view_stays_alive(show: Show) -> None:
    view = show(_answer("text"))
    assert not view.is_engaged()
    cursor = _text(view).textCursor()
    cursor.select(QTextCursor.SelectionType.Document)
    _text(view).setTextCursor(cursor)
    assert view.is_engaged()


def test_attachment_is_shown_with_name_and_language() -> None:
    files = [Attachment("a.py", "x = 1\n```\n"), Attachment("notes", "\nhello"), Attachment("lost.png", "")]
    source, blocks, _ = attached_blocks(files)
    codes = [block for block in blocks if isinstance(block, Code)]
    assert [(code.text, code.language) for code in codes] == [("x = 1\n```", "py"), ("hello", "")]
    assert [source[span.start : span.end] for block in blocks for span in spans(block)] == [
        "a.py", "x = 1\n```", "notes", "hello", "lost.png",
    ]  # fmt: skip


def test_long_attachment_is_cut_at_a_line() -> None:
    _, (_, code), _ = attached_blocks([Attachment("a.txt", "12345\n67890\nabc")], max_characters=14)
    assert isinstance(code, Code)
    assert code.text == "12345\n67890\n…"
    _, (_, code), _ = attached_blocks([Attachment("a.txt", "1" * 100)], max_characters=14)
    assert isinstance(code, Code)
    assert len(code.text) == 9


def test_hit_in_a_long_attachment_is_shown_with_context() -> None:
    lines = "".join(f"line {number}\n" for number in range(1000))
    at = lines.index("line 700")
    shown = attached_blocks([Attachment("b", "short"), Attachment("a.txt", lines)], 200, (1, at))
    code = shown.blocks[-1]
    assert isinstance(code, Code)
    assert code.text.startswith("…\nline 6")
    assert code.text.endswith("\n…")
    assert len(code.text) < 300
    place = shown.place(1, at, at + 8)
    assert place
    assert shown.source[slice(*place)] == "line 700"
    assert shown.place(1, 0, 4) is None
    assert shown.source[slice(*(shown.place(0, 1, 4) or (0, 0)))] == "hor"


def test_sources_keep_their_size_in_another_theme(show: Show) -> None:
    place = PassageSource("a.md", "The walrus sleeps.", path="/a.md", place="folder/a.md")
    other = PassageSource("b.md", "Tigers do not.")
    view = show(MessageContent("a", "assistant", "It sleeps.", sources=(place, other)))
    sizes = list[set[float]]()
    for each in (LIGHT, DARK, LIGHT):
        view.apply_theme(each, theme.text_font(10))
        sources = view.findChild(SourceList)
        assert sources is not None
        parts = [*sources.buttons(), *(label for label in sources.findChildren(QLabel) if label.isVisible())]
        assert len(parts) == 4
        sizes.append({part.font().pointSizeF() for part in parts})
    assert sizes == [{8.8}] * 3
