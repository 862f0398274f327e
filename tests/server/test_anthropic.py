"""Anthropic's Messages API: what it sends reaches the engine, and its events build the same message."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from headstart.engine.engine import Call, Message
from headstart.errors import ContextOverflowError
from tests.fakes import ScriptedEngine
from tests.server.serving import KEY, MODEL, Running, serving

PATH = "/v1/messages"
TOOL = {"name": "look", "description": "Looks", "input_schema": {"type": "object"}}
CALL = 'So:\n<tool_call>\n{"name": "look", "arguments": {"place": "in there"}}\n</tool_call>'


ENGINE = ScriptedEngine([CALL])


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving(ENGINE) as running:
        yield running


@pytest.fixture(autouse=True)
def engine() -> ScriptedEngine:
    """The engine of `running`, as if it were new."""
    vars(ENGINE).update(vars(ScriptedEngine([CALL])))
    return ENGINE


def ask(running: Running, **more: Any) -> tuple[int, str]:
    """Status and body; the key is where Anthropic's clients put it."""
    body = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}], **more}
    status, _, text = running.ask("POST", PATH, {"Authorization": "", "x-api-key": KEY}, json.dumps(body))
    return status, text


def events(text: str) -> list[Any]:
    """Return the events of a stream, each with its name."""
    found = []
    for each in text.split("\n\n"):
        if each.startswith("event: "):
            name, data = each.split("\n")
            found.append(json.loads(data.removeprefix("data: ")))
            assert name == f"event: {found[-1]['type']}"
    return found


def test_messages_with_tool_calls_reach_the_engine(running: Running, engine: ScriptedEngine) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"place": "here"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "nothing"}]}
    turns = [
        {"role": "user", "content": [{"type": "text", "text": "Find it.", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "So:"}, use]},
        {"role": "user", "content": [result, {"type": "text", "text": "Go on."}]},
    ]
    more: Any = {"tools": [TOOL], "tool_choice": {"type": "any"}, "temperature": 0.5, "stop_sequences": ["END"]}
    assert ask(running, messages=turns, system=[{"type": "text", "text": "Be brief."}], **more)[0] == 200
    (request,) = engine.requests
    assert request.messages == (
        Message("system", "Be brief."),
        Message("user", "Find it."),
        Message("assistant", "So:", (Call("look", '{"place": "here"}'),)),
        Message("tool", "nothing"),
        Message("user", "Go on."),
    )
    assert (request.max_new_tokens, request.stop, request.sampling.temperature) == (100, ("END",), 0.5)
    assert request.tools is not None
    assert (request.tools.required, request.tools.offered[0].name) == (True, "look")


def test_tool_call_is_sent_whole_and_streamed(running: Running) -> None:
    whole = json.loads(ask(running, tools=[TOOL])[1])
    text, use = whole["content"]
    assert (text, whole["stop_reason"]) == ({"type": "text", "text": "So:\n"}, "tool_use")
    assert (use["type"], use["name"], use["input"]) == ("tool_use", "look", {"place": "in there"})
    assert whole["usage"]["output_tokens"] > 0
    told = events(ask(running, tools=[TOOL], stream=True)[1])
    assert [each["type"] for each in told if each["type"] != "content_block_delta"] == [
        *("message_start", "content_block_start", "content_block_stop", "content_block_start", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    deltas = [each["delta"] for each in told if each["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in deltas) == "So:\n"
    assert json.loads("".join(delta.get("partial_json", "") for delta in deltas)) == {"place": "in there"}
    assert told[-2]["delta"]["stop_reason"] == "tool_use"
    assert told[-2]["usage"] == whole["usage"]


def test_answer_without_tools_is_text(running: Running) -> None:
    cut = json.loads(ask(running, max_tokens=1)[1])
    assert (cut["content"][0]["type"], cut["stop_reason"]) == ("text", "max_tokens")


def test_stop_sequence_that_ended_the_answer_is_named(running: Running, engine: ScriptedEngine) -> None:
    engine.scripts = ["One. Two."]
    fields = {"stop_reason": "stop_sequence", "stop_sequence": "."}
    whole = json.loads(ask(running, stop_sequences=["Two", "."])[1])
    assert {name: whole[name] for name in fields} == fields
    assert events(ask(running, stop_sequences=["Two", "."], stream=True)[1])[-2]["delta"] == fields
    other = json.loads(ask(running, stop_sequences=["Four"])[1])
    assert (other["stop_reason"], other["stop_sequence"]) == ("end_turn", None)


def test_errors_have_the_form_of_anthropic() -> None:
    with serving(ScriptedEngine([ContextOverflowError("Too long.")])) as running:
        status, text = ask(running)
        assert (status, json.loads(text)["type"]) == (400, "error")
        assert json.loads(text)["error"]["message"] == "Too long."
        assert ask(running, messages=[])[0] == 400
        assert "leave out `output_format`" in ask(running, output_format={"type": "json_schema"})[1]
        image = {"type": "image", "source": {"type": "url", "url": "http://a"}}
        assert "reads text only" in ask(running, messages=[{"role": "user", "content": [image]}])[1]
        assert running.ask("POST", PATH, {"Authorization": "", "x-api-key": "no"}, "{}")[0] == 401


def test_health_needs_no_key(running: Running) -> None:
    for path in ("/health", "/v1/health", "/health/"):
        assert running.ask("GET", path, {"Authorization": ""})[0] == 200
