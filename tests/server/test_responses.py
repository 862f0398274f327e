"""The Responses API through OpenAI's own client: what it sends reaches the engine, and its events build a reply."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from headstart.engine.engine import Call, Message
from tests.fakes import ScriptedEngine
from tests.server.serving import MODEL, Running, serving

FOX = "The quick brown fox jumps over the lazy dog."
CALL = 'So:\n<tool_call>\n{"name": "look", "arguments": {"place": "in there"}}\n</tool_call>'
PLACE = {"type": "object", "properties": {"place": {"type": "string"}}}
LOOK: Any = {"type": "function", "name": "look", "description": "Looks", "parameters": PLACE, "strict": False}


ENGINE = ScriptedEngine()


class Person(BaseModel):
    name: str
    age: int


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving(ENGINE) as running:
        yield running


@pytest.fixture
def engine() -> ScriptedEngine:
    """The engine of `running`, as if it were new."""
    ENGINE.requests.clear()
    return ENGINE


@pytest.fixture
def client(running: Running, engine: ScriptedEngine) -> Iterator[openai.OpenAI]:
    assert not engine.requests
    with running.client() as client:
        yield client


def test_response_answers_and_is_not_stored(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    reply = client.responses.create(model=MODEL, input="Hi", instructions="Be brief.", store=True, max_output_tokens=50)
    assert (reply.output_text, reply.status, reply.error, reply.incomplete_details) == (FOX, "completed", None, None)
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.total_tokens) == (3, 9, 12)
    assert reply.to_dict()["store"] is False
    (request,) = engine.requests
    assert request.messages == (Message("system", "Be brief."), Message("user", "Hi"))
    assert request.max_new_tokens == 50
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(reply.id)


def test_input_with_tool_calls_reaches_the_engine(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    given: Any = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Find it."}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "So:", "annotations": []}],
        },
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"place": "here"}'},
        {"type": "function_call", "call_id": "call_2", "name": "look", "arguments": ""},
        {"type": "function_call_output", "call_id": "call_1", "output": "nothing"},
        {"type": "function_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "a key"}]},
    ]
    choices: list[Any] = ["required", {"type": "function", "name": "look"}, "none"]
    for choice in choices:
        client.responses.create(model=MODEL, input=given, tools=[LOOK], tool_choice=choice, temperature=0.5)
    required, only, none = engine.requests
    assert required.messages == (
        Message("system", "Be brief."),
        Message("user", "Find it."),
        Message("assistant", "So:", (Call("look", '{"place": "here"}'), Call("look", "{}"))),
        Message("tool", "nothing"),
        Message("tool", "a key"),
    )
    assert required.sampling.temperature == 0.5
    assert required.tools is not None
    assert (required.tools.required, json.loads(required.tools.offered[0].parameters)) == (True, PLACE)
    assert (only.tools and only.tools.only, none.tools) == ("look", None)


def test_stream_events_have_the_order_of_openai(client: openai.OpenAI) -> None:
    events = list(client.responses.create(model=MODEL, input="Hi", stream=True))
    kinds = [event.type for event in events]
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    assert [kind for kind in kinds if kind != "response.output_text.delta"] == [
        *("response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"),
        *("response.output_text.done", "response.content_part.done", "response.output_item.done"),
        "response.completed",
    ]
    assert kinds[4 : 4 + len(deltas)] == ["response.output_text.delta"] * len(deltas)
    assert "".join(delta.delta for delta in deltas) == FOX
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last: Any = events[-1]
    assert last.response.output_text == FOX
    assert {delta.item_id for delta in deltas} == {last.response.output[0].id}


def test_response_with_a_tool_call_is_sent_whole_and_streamed() -> None:
    asked: Any = {"model": MODEL, "input": "Hi", "tools": [LOOK]}
    with serving(ScriptedEngine([CALL])) as running, running.client() as client:
        text, call = client.responses.create(**asked).output
        with client.responses.stream(**asked) as stream:
            events = list(stream)
            told_text, told_call = stream.get_final_response().output
    assert text.type == "message"
    assert text.content[0].to_dict()["text"] == "So:\n"
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "look", {"place": "in there"})
    assert (call.call_id[:5], call.status) == ("call_", "completed")
    same = ("type", "name", "arguments", "status")
    assert [told_call.to_dict()[name] for name in same] == [call.to_dict()[name] for name in same]
    assert told_text.type == "message"
    assert told_text.content[0].to_dict()["text"] == "So:\n"
    arguments = [event for event in events if event.type == "response.function_call_arguments.delta"]
    assert "".join(event.delta for event in arguments) == call.arguments
    (done,) = [event for event in events if event.type == "response.function_call_arguments.done"]
    assert (done.arguments, done.output_index) == (call.arguments, 1)


def test_schema_is_kept_to_and_parsed() -> None:
    engine = ScriptedEngine(['{"name": "Ada", "age": 36}'])
    with serving(engine) as running, running.client() as client:
        reply = client.responses.parse(model=MODEL, input="Hi", text_format=Person)
        with client.responses.stream(model=MODEL, input="Hi", text_format=Person) as stream:
            streamed = stream.get_final_response()
        client.responses.create(model=MODEL, input="Hi", text={"format": {"type": "json_object"}})
    assert reply.output_parsed == streamed.output_parsed == Person(name="Ada", age=36)
    assert json.loads(engine.requests[0].schema)["required"] == ["name", "age"]
    assert json.loads(engine.requests[2].schema) == {"type": "object"}


def test_cut_response_is_incomplete(client: openai.OpenAI) -> None:
    reply = client.responses.create(model=MODEL, input="Hi", max_output_tokens=2)
    assert (reply.status, reply.output_text) == ("incomplete", "The quick")
    assert reply.incomplete_details is not None
    assert reply.incomplete_details.reason == "max_output_tokens"
    *_, last = client.responses.create(model=MODEL, input="Hi", max_output_tokens=2, stream=True)
    assert last.type == "response.incomplete"
    assert last.response.output[0].to_dict()["status"] == "incomplete"
    nothing = client.responses.create(model=MODEL, input="Hi", max_output_tokens=0)
    assert (nothing.output, nothing.status) == ([], "incomplete")


def test_logprobs_are_sent_on_request(client: openai.OpenAI) -> None:
    asked: Any = {"model": MODEL, "input": "Hi", "include": ["message.output_text.logprobs"], "top_logprobs": 1}
    part: Any = client.responses.create(**asked).to_dict()["output"]
    tokens = part[0]["content"][0]["logprobs"]
    assert "".join(token["token"] for token in tokens) == FOX
    assert [len(token["top_logprobs"]) for token in tokens] == [1] * 9
    events = client.responses.create(**asked, stream=True)
    streamed = [token for event in events if event.type == "response.output_text.delta" for token in event.logprobs]
    assert [token.token for token in streamed] == [token["token"] for token in tokens]
    plain: Any = client.responses.create(model=MODEL, input="Hi").to_dict()["output"]
    assert plain[0]["content"][0]["logprobs"] == []


def test_stream_error_is_raised_by_the_client() -> None:
    with serving(ScriptedEngine(["word " * 4000], pause=0.05)) as running, running.client() as client:
        stream = client.responses.create(model=MODEL, input="Hi", stream=True)
        next(stream)
        running.server.stop()
        with pytest.raises(openai.APIError, match="being stopped"):
            list(stream)


@pytest.mark.parametrize(
    ("asked", "param", "words"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id", "Nothing is stored here"),
        ({"conversation": "conv_1"}, "conversation", "Nothing is stored here"),
        ({"background": True}, "background", "not kept for later"),
        ({"input": []}, "input", "length >= 1"),
        ({"input": [{"role": "user"}]}, "input", r"`input\[0\]` is a message: it needs `role` and `content`"),
        ({"input": [{"type": "function_call"}]}, "input", "it needs `name`"),
        ({"input": [{"type": "function_call_output", "call_id": "a"}]}, "input", "it needs `output`"),
        ({"input": [{"type": "function_call", "name": "f", "arguments": "{"}]}, "input", "are not a JSON object"),
        ({"input": [{"type": "item_reference", "id": "a"}]}, "input", "item_reference"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input", "reads text only"),
        ({"tools": [{"type": "web_search"}]}, "tools", "web_search"),
        ({"tools": [LOOK], "tool_choice": {"type": "function", "name": "run"}}, "tool_choice", "not in `tools`"),
        ({"text": {"format": {"type": "json_object"}}, "guided_json": PLACE}, "text", "keeps to one form"),
    ],
)
def test_unsupported_field_is_refused_by_name(
    client: openai.OpenAI, engine: ScriptedEngine, asked: dict[str, Any], param: str, words: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=words) as refusal:
        client.responses.create(model=MODEL, input="Hi", extra_body=asked)
    assert refusal.value.param == param
    assert not engine.requests
