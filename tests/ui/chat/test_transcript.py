"""A chat on screen: where it scrolls, what exists, finding, selecting, staying quick."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from headstart.ui.transcript.message import THINKING, MessageAction, MessageContent, MessageState, OriginRun
from headstart.ui.transcript.transcript import AT_END, Match, Transcript, find_places, finder
from headstart.ui.widgets import theme
from headstart.ui.widgets.theme import DARK, LIGHT
from tests.chat.history.trees import QUOTING
from tests.ui.person import WAIT

PARAGRAPH = "Some **text** that is long enough to fill a line or two of the window, with `code` and all.\n\n"
Make = Callable[..., Transcript]


@pytest.fixture
def make(qtbot: QtBot) -> Make:
    """A function that shows a transcript of 700 x 500 pixels with some messages."""

    def made(count: int = 30) -> Transcript:
        transcript = Transcript(LIGHT, theme.text_font(10))
        qtbot.addWidget(transcript)
        transcript.resize(700, 500)
        transcript.show()
        transcript.show_chat(_chat(count))
        _settle(qtbot, transcript)
        return transcript

    return made


def _chat(count: int) -> list[MessageContent]:
    return [
        MessageContent(n, "assistant" if n % 2 else "user", f"Message {n}. " + PARAGRAPH * (1 + n % 4))
        for n in range(count)
    ]


def _settle(qtbot: QtBot, transcript: Transcript) -> None:
    qtbot.waitUntil(lambda: not transcript._ahead.isActive(), timeout=WAIT)


def _seen(transcript: Transcript) -> list[int]:
    """Return the messages on screen; check their places and heights."""
    top, room = transcript.verticalScrollBar().value(), transcript.viewport().height()
    views = [
        (index, view) for index, view in transcript.views() if view.y() < top + room and view.y() + view.height() > top
    ]
    for (_, above), (_, below) in pairwise(views):
        assert above.y() + above.height() <= below.y()
    return [index for index, _ in views]


def _select(transcript: Transcript, first: int, last: int) -> None:
    transcript.view(first).perform(MessageAction.SELECT)
    transcript.view(last).perform(MessageAction.SELECT_UP_TO)


def test_transcript_that_has_the_focus_can_be_destroyed(qtbot: QtBot) -> None:
    transcript = Transcript(LIGHT, theme.text_font(10))
    transcript.show()
    transcript.activateWindow()
    transcript.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(transcript.hasFocus, timeout=WAIT)
    with qtbot.waitSignal(transcript.destroyed, timeout=WAIT):
        transcript.deleteLater()


def test_chat_opens_at_its_end(make: Make) -> None:
    transcript = make()
    assert transcript._at_end
    assert transcript.verticalScrollBar().value() == transcript.verticalScrollBar().maximum() > 500
    assert _seen(transcript)[-1] == 29


def test_button_scrolls_to_the_end(make: Make, qtbot: QtBot) -> None:
    transcript = make()
    assert transcript._newest.isHidden()
    transcript.verticalScrollBar().setValue(0)
    assert transcript._newest.isVisible()
    transcript._newest.click()
    _settle(qtbot, transcript)
    assert _seen(transcript)[-1] == 29
    assert transcript._newest.isHidden()


def test_only_visible_messages_have_views(make: Make, qtbot: QtBot) -> None:
    transcript = make(400)
    assert len(list(transcript.views())) < 25
    bar = transcript.verticalScrollBar()
    for part in range(10):
        bar.setValue(bar.maximum() * part // 10)
        seen = _seen(transcript)
        assert seen == list(range(seen[0], seen[-1] + 1))
        _settle(qtbot, transcript)
    assert len(list(transcript.views())) < 60


def test_thousand_messages_have_few_views(make: Make) -> None:
    transcript = make(0)
    transcript.show_chat(_chat(1000))
    transcript.grab()
    assert len(list(transcript.views())) < 25
    assert _seen(transcript)[-1] == 999


def test_new_text_stays_in_view_at_the_end(make: Make) -> None:
    transcript = make(6)
    transcript.add(MessageContent("live", "assistant", ""))
    transcript.view_of("live").begin_stream()
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() - AT_END)
    for _ in range(10):
        transcript.view_of("live").append(PARAGRAPH, [OriginRun(len(PARAGRAPH), "draft")])
        assert bar.value() == bar.maximum()
    transcript.end_stream(MessageContent("live", "assistant", "", stats="done"))
    assert bar.value() == bar.maximum()


def test_new_text_does_not_scroll_a_reader(make: Make) -> None:
    transcript = make(6)
    transcript.add(MessageContent("live", "assistant", ""))
    transcript.view_of("live").begin_stream()
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() - AT_END - 30)
    before = bar.value()
    for _ in range(5):
        transcript.view_of("live").append(PARAGRAPH, [OriginRun(len(PARAGRAPH), "draft")])
    transcript.end_stream(MessageContent("live", "assistant", "", stats="done"))
    assert bar.value() == before
    assert not transcript._at_end
    transcript.scroll_to_end()
    assert bar.value() == bar.maximum()


def test_position_survives_changed_heights(make: Make, qtbot: QtBot) -> None:
    transcript = make(60)
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    _settle(qtbot, transcript)
    index = _seen(transcript)[1]
    place = transcript.view(index).y() - bar.value()
    transcript.replace(index - 2, MessageContent(index - 2, "assistant", PARAGRAPH * 30))
    transcript.remove(0)
    assert transcript.view(index - 1).y() - bar.value() == place


def test_position_survives_a_narrower_window(make: Make, qtbot: QtBot) -> None:
    transcript = make(60)
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    first = transcript._anchor().index
    transcript.resize(420, 500)
    assert transcript._anchor().index == first
    assert all(view.width() <= 420 for index, view in transcript.views() if index in _seen(transcript))
    transcript.scroll_to_end()
    transcript.resize(700, 300)
    assert bar.value() == bar.maximum()


def test_find_counts_marks_and_wraps(make: Make, qtbot: QtBot) -> None:
    transcript = make(40)
    found: list[tuple[int, int]] = []
    transcript.found_changed.connect(lambda number, count: found.append((number, count)))
    assert transcript.find_text("MESSAGE 1") == 11
    transcript.scroll_to_end()
    assert transcript.find_text("some text that") == sum(1 + n % 4 for n in range(40))
    assert _seen(transcript)[-1] >= 37  # the search began where the reader was
    transcript.find_text("message 7.")
    assert 7 in _seen(transcript)
    transcript.find_text("message 1")
    first = found[-1][0]
    transcript.find_previous()
    transcript.find_next()
    transcript.find_next()
    assert [number for number, _ in found[-3:]] == [(first - 2) % 11 + 1, first, first % 11 + 1]
    assert transcript.find_text("no such words") == 0
    assert found[-1] == (0, 0)
    transcript.clear_find()


def test_found_words_are_marked(make: Make) -> None:
    transcript = make(2)
    transcript.find_text("text that")
    block = transcript.view(1)._text.document().firstBlock()
    found = [
        (block.text()[part.start : part.start + part.length], part.format.background().color().name())
        for part in block.layout().formats()
    ]
    assert found == [("text that", LIGHT.match)]
    assert _grounds(transcript, 0) == {LIGHT.match_current}


def _grounds(transcript: Transcript, index: int) -> set[str]:
    """Return the highlights in a message."""
    found, block = set(), transcript.view(index)._text.document().begin()
    while block.isValid():
        found |= {part.format.background().color().name() for part in block.layout().formats()}
        block = block.next()
    return found


def test_message_ranges_are_selected_and_copied(make: Make, qtbot: QtBot) -> None:
    transcript = make(6)
    _select(transcript, 2, 4)
    assert [message.id for message in transcript.selected_messages()] == [2, 3, 4]
    QTest.keyClick(transcript, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("**You:**\n\nMessage 2. Some **text**")
    assert "**Assistant:**\n\nMessage 3." in copied
    assert "Some text that" in transcript.to_text(transcript.selected_messages())
    QTest.keyClick(transcript, Qt.Key.Key_Escape)
    assert transcript.selected_messages() == []


def test_plain_copy_omits_thinking(make: Make) -> None:
    message = MessageContent(1, "assistant", "**Yes**", author="Qwen", thinking="hm")
    assert make(0).to_text([message]) == "Qwen:\nYes"
    assert make(0).to_markdown([message]) == "**Qwen:**\n\n**Yes**"


def test_find_opens_the_thinking(make: Make) -> None:
    transcript = make(0)
    transcript.show_chat([MessageContent("x", "assistant", "A lion", thinking="Perhaps a lion, or a tiger")])
    view = transcript.view(0)
    assert transcript.find_text("tiger") == 1
    assert view._unfolded
    assert transcript.find_text("lion") == 2
    assert find_places(transcript.contents(), finder("lion")) == [Match(0, 10, 14, THINKING), Match(0, 2, 6)]
    transcript.find_next()
    assert len(_grounds(transcript, 0)) == 1


@pytest.mark.parametrize("text", QUOTING)
def test_quoted_marks_are_copied_and_found_word_for_word(make: Make, text: str) -> None:
    message = MessageContent(1, "assistant", text, author="Qwen")
    transcript = make(0)
    assert transcript.to_text([message]).removeprefix("Qwen:").split() == text.split()
    assert transcript.to_markdown([message]) == f"**Qwen:**\n\n{text}"
    transcript.show_chat([message])
    assert all(transcript.find_text(line) == 1 for line in text.split("\n"))


def test_reused_view_is_clean(make: Make, qtbot: QtBot) -> None:
    transcript = make(4)
    transcript.set_origins_visible(True)
    transcript.find_text("message")
    _select(transcript, 0, 3)
    transcript.show_chat([MessageContent("x", "assistant", "message")])
    _settle(qtbot, transcript)
    assert transcript.selected_messages() == []
    assert _grounds(transcript, 0) == set()


def test_streaming_message_survives_scrolling(make: Make, qtbot: QtBot) -> None:
    transcript = make(200)
    transcript.add(MessageContent("live", "assistant", ""))
    transcript.view_of("live").begin_stream()
    transcript.view_of("live").append("one ", [OriginRun(4, "draft")])
    transcript.verticalScrollBar().setValue(0)
    _settle(qtbot, transcript)
    transcript.view_of("live").append("two", [OriginRun(3, "draft")])
    ended = MessageContent("live", "assistant", "", stats="9 tok/s", state=MessageState.STOPPED)
    transcript.end_stream(ended)
    assert replace(transcript.contents()[-1], origins=()) == replace(ended, text="one two")


def test_streamed_answer_keeps_its_text_in_another_theme(make: Make) -> None:
    transcript, text = make(0), "It is long. " * 300
    transcript.add(MessageContent("live", "assistant", "", state=MessageState.STREAMING))
    transcript.view_of("live").begin_stream()
    transcript.view_of("live").append(text, [OriginRun(len(text), "draft")])
    transcript.end_stream(MessageContent("live", "assistant", text))
    transcript.add(MessageContent("next", "user", PARAGRAPH * 9))
    transcript.apply_theme(DARK, theme.text_font(13))
    live, _ = transcript.contents()
    assert (live.text, live.state) == (text, MessageState.DONE)


def test_theme_reaches_visible_and_hidden_messages(make: Make, qtbot: QtBot) -> None:
    transcript = make(60)
    transcript.apply_theme(DARK, theme.text_font(13))
    for index in (59, 0):
        block = transcript.view(index)._text.document().firstBlock()
        assert block.textFormats()[0].format.foreground().color().name() == DARK.text
    assert _seen(transcript)[-1] == 59


def test_tab_goes_from_top_to_bottom(make: Make) -> None:
    transcript = make(8)
    expected = [widget for _, view in transcript.views() for widget in view.focus_widgets()]
    found: list[QWidget] = []
    widget: QWidget | None = expected[0]
    while widget and widget not in found:
        found += [widget] if widget in expected else []
        widget = widget.nextInFocusChain()
    assert found == expected
