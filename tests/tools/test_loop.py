"""The loop of an answer that calls tools, without an engine and without tools."""

import json
from collections.abc import Iterator

import pytest

from headstart.chat.conversation import AnswerOutcome, Conversation, State, ToolCall, turns
from headstart.engine.engine import (
    Call,
    ConversationRequest,
    Message,
    Origin,
    Piece,
    Round,
    Step,
    Timing,
    Tool,
    written_call,
)
from headstart.tools.loop import MAX_RESULT_CHARACTERS, ToolLoop, ToolResult, offering
from tests.stand_ins.fakes import ScriptedEngine

ADD = Tool("add", '{"type": "object"}', "Add two numbers.")
ASKED = offering(ConversationRequest((Message("user", "What is 1 + 1?"),)), (ADD,))
CALL = Call("add", '{"a": 1, "b": 1}')


TWO = ToolResult("2")


def write(loop: ToolLoop, *answers: str, result: ToolResult = TWO) -> str:
    """Return the shown text while a model writes these answers."""
    engine, shown = ScriptedEngine(answers), ""
    for _ in answers:
        for event in engine.generate(loop.request):
            if isinstance(event, Step):
                step = loop.take(event)
                assert step.text == "".join(piece.text for piece in step.pieces)
                shown += step.text
        rest, call = loop.end()
        shown += rest.text if rest else ""
        if call is None:
            break
        loop.give(call, result)
    assert loop.text.endswith(shown)
    return shown


def test_tool_call_is_no_text_and_its_result_is_sent() -> None:
    loop = ToolLoop(ASKED)
    assert write(loop, f"Let me see.\n{written_call(CALL)}", "It is 2.") == "Let me see.\n\n\nIt is 2."
    (made,) = loop.calls
    assert (made.name, json.loads(made.arguments), made.result, made.failed) == ("add", {"a": 1, "b": 1}, "2", False)
    assert loop.request.messages[1:] == (
        Message("assistant", "Let me see.\n", (Call("add", made.arguments),)),
        Message("tool", "2"),
    )
    assert loop.request.tools == ASKED.tools


def test_answer_without_tools_is_unchanged() -> None:
    loop = ToolLoop(ConversationRequest((Message("user", "?"),)))
    assert write(loop, f"Look: {written_call(CALL)}") == f"Look: {written_call(CALL)}"
    assert not loop.calls


@pytest.mark.parametrize("text", ['{"a": 1} is JSON.', "{", "```json\n{}\n```", "a < b", "<tool"])
def test_text_like_a_tool_call_is_shown(text: str) -> None:
    assert write(ToolLoop(ASKED), text).lstrip("`json\n") == text.lstrip("`json\n")


def test_cut_tool_call_is_not_made() -> None:
    loop = ToolLoop(ASKED)
    assert write(loop, 'Now <tool_call>\n{"name": "add", "arguments": {"a": 1') == "Now "
    assert loop.end() == (None, None)


def test_number_of_tool_calls_is_bounded() -> None:
    loop = ToolLoop(ASKED, max_calls=2)
    assert write(loop, written_call(CALL), written_call(CALL), "Enough.") == "Enough."
    assert len(loop.calls) == 2
    assert loop.request.tools is None


def test_long_result_is_cut() -> None:
    loop = ToolLoop(ASKED)
    write(loop, written_call(CALL), "So much.", result=ToolResult("x" * 1_000_000))
    assert len(loop.calls[0].result) < MAX_RESULT_CHARACTERS + 100
    assert "1,000,000 characters after 12,000" in loop.calls[0].result


def test_call_knows_its_place_in_the_thinking() -> None:
    loop = ToolLoop(ASKED)
    quiet = Round((), 0, 0, Origin.TARGET, Timing())
    for thinking, text in (("I add.", written_call(CALL)), ("Good.", "It is 2.")):
        pieces = (Piece(thinking, Origin.TARGET, is_thinking=True), Piece(text, Origin.TARGET))
        loop.take(Step(text, quiet, pieces))
        if call := loop.end()[1]:
            loop.give(call, TWO)
    assert loop.thinking == "I add.\n\nGood."
    assert [call.thought_at for call in loop.calls] == [6]
    tree = (
        Conversation()
        .ask("?")
        .begin_answer()
        .finish(2, AnswerOutcome(loop.text, calls=loop.calls, thinking=loop.thinking))
    )
    assert [turn.thinking for turn in turns(tree.path)] == ["", "I add.", "", "Good."]


def test_continued_answer_keeps_its_beginning() -> None:
    request = offering(ConversationRequest((Message("user", "?"), Message("assistant", "Let me"))), (ADD,))
    loop = ToolLoop(request, "Let me")
    assert write(loop, f" see.{written_call(CALL)}", "2.") == " see.\n\n2."
    assert loop.request.messages[1].content == "Let me see."


def test_continued_answer_after_a_tool_call_keeps_its_line() -> None:
    begun = (Message("assistant", "Let me see.", (CALL,)), Message("tool", "2"), Message("assistant", "It"))
    loop = ToolLoop(offering(ConversationRequest((Message("user", "?"), *begun)), (ADD,)), "Let me see.\n\nIt")
    assert write(loop, " is 2.") == " is 2."


def conversation() -> Iterator[Conversation]:
    """Return a conversation with a call, its result and what followed."""
    asked = Conversation().ask("What is 1 + 1?").begin_answer()
    call = ToolCall(11, "add", CALL.arguments, "2")
    yield asked.write(2, "Let me see.").call(2, call)
    text = "Let me see.\n\nIt is 2."
    yield asked.finish(2, AnswerOutcome(text, State.COMPLETE, calls=(call,))).ask("Thanks.")
