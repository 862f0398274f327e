"""The Responses API through OpenAI's own client: what it sends reaches the engine, and its events build a reply."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from headstart.engine.engine import Call, Message
from tests.server.serving import MODEL, Running, serving
from tests.stand_ins.fakes import ScriptedEngine

FOX = "The quick brown fox jumps over the lazy dog."
CALL = 'So:\n<tool_call>\n{"name": "look", "arguments": {"place": "in there"}}\n</tool_call>'
PLACE = {"type": "object", "properties": {"place": {"type": "string"}}}
UNHELD = {**PLACE, "not": {}}  # no grammar can hold it
FORM = {"type": "json_schema", "name": "form", "schema": UNHELD}
RESULT: Any = {"type": "function_call_output", "output": "nothing"}
LOOK: Any = {"type": "function", "name": "look", "description": "Looks", "parameters": PLACE, "strict": False}
PATH = "/v1/responses"
PATCH: Any = {"type": "custom", "name": "patch", "description": "Changes files", "format": {"type": "text"}}


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
    """The engine of `running`, with its requests cleared."""
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


IMAGE: Any = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
NOTE = "[images left out: this model reads text only]"


def test_history_of_an_agent_reaches_the_engine(running: Running, engine: ScriptedEngine) -> None:
    thoughts = [{"type": "reasoning_text", "text": "Hm."}]
    refusal = {"type": "refusal", "refusal": "I cannot."}
    items: list[Any] = [
        {"role": "user", "content": "Do it."},
        {"type": "reasoning", "id": "r", "summary": [], "content": thoughts, "encrypted_content": "x"},
        {"type": "message", "role": "assistant", "id": "m", "status": "completed", "content": [refusal]},
        {"type": "custom_tool_call", "call_id": "1", "name": "apply_patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "1", "output": "Done."},
        {"type": "local_shell_call", "call_id": "2", "status": "completed", "action": {"type": "exec"}},
        {"type": "local_shell_call_output", "call_id": "2", "output": "{}"},
        {"type": "shell_call", "call_id": "3", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "3", "output": [{"stdout": "a", "outcome": {"type": "exit"}}]},
        {"type": "apply_patch_call", "call_id": "4", "operation": {"type": "delete_file", "path": "a"}},
        {"type": "apply_patch_call_output", "call_id": "4", "status": "failed"},
        {"type": "computer_call", "call_id": "5", "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": "5", "output": {"type": "computer_screenshot", "image_url": "x"}},
        {"type": "mcp_call", "name": "roll", "server_label": "dice", "arguments": "{}", "output": "6"},
        {"type": "function_call", "call_id": "6", "name": "two words / 1", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "6", "output": [{"type": "input_text", "text": "seen"}, IMAGE]},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "compaction", "encrypted_content": "x"},
        {"type": "tool_search_call", "arguments": {"query": "q"}, "execution": "client"},
    ]
    status, headers, _ = running.ask("POST", PATH, body=json.dumps({"model": MODEL, "input": items}))
    assert (status, headers["x-headstart-left-out"]) == (200, "web_search_call, compaction, tool_search_call")
    assert engine.requests[0].messages == (
        Message("user", "Do it."),
        Message("assistant", "I cannot.", (Call("apply_patch", '{"input": "*** Begin"}'),)),
        Message("tool", "Done."),
        Message("assistant", "", (Call("local_shell", '{"type": "exec"}'),)),
        Message("tool", "{}"),
        Message("assistant", "", (Call("shell", '{"commands": ["ls"]}'),)),
        Message("tool", '[{"stdout": "a", "outcome": {"type": "exit"}}]'),
        Message("assistant", "", (Call("apply_patch", '{"type": "delete_file", "path": "a"}'),)),
        Message("tool", "failed"),
        Message("assistant", "", (Call("computer", '{"type": "screenshot"}'),)),
        Message("tool", NOTE),
        Message("assistant", "", (Call("roll", '{"input": "{}"}'),)),
        Message("tool", "6"),
        Message("assistant", "", (Call("two words / 1", "{}"),)),
        Message("tool", f"seen\n{NOTE}"),
    )


def test_tools_that_nobody_can_call_are_left_out_and_named(
    running: Running, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = ["web_search", "local_shell", "shell", "file_search", "code_interpreter", "mcp", "image_generation"]
    kinds += ["tool_search", "apply_patch", "namespace"]
    others = [{"type": kind, "name": "look"} for kind in kinds]
    for stream in (True, False):
        body = {"model": MODEL, "input": "Hi", "stream": stream, "tools": [*others, PATCH, LOOK]}
        status, headers, text = running.ask("POST", PATH, body=json.dumps(body))
        assert (status, headers["x-headstart-left-out"].split(", ")) == (200, [*kinds, "custom"])
    assert [tool["name"] for tool in json.loads(text)["tools"]] == ["look"]
    tools = engine.requests[0].tools
    assert tools is not None
    assert [tool.name for tool in tools.offered] == ["look"]
    for kind in (*kinds, "custom"):
        assert sum(f"{kind!r}" in record.getMessage() for record in caplog.records) == 1, "each is said once"


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


def test_cut_call_is_incomplete_and_is_taken_back() -> None:
    engine = ScriptedEngine([CALL])
    asked: Any = {"model": MODEL, "input": "Hi", "tools": [LOOK], "max_output_tokens": 5}
    with serving(engine) as running, running.client() as client:
        reply = client.responses.create(**asked)
        told = list(client.responses.create(**asked, stream=True))
        cut = reply.output[-1].to_dict()
        history: Any = [{"role": "user", "content": "Hi"}, cut, {**RESULT, "call_id": cut["call_id"]}]
        client.responses.create(model=MODEL, input=history)
    assert (reply.status, cut["type"], cut["status"]) == ("incomplete", "function_call", "incomplete")
    assert not any(event.type == "response.function_call_arguments.done" for event in told)
    assert told[-1].type == "response.incomplete"
    (call,) = engine.requests[-1].messages[1].calls
    assert json.loads(call.arguments) == {"place": "in"}


def test_schema_of_responses_is_kept_to_as_far_as_possible() -> None:
    engine = ScriptedEngine(["{}"])
    with serving(engine) as running, running.client() as client:
        for strict in (None, False):
            text: Any = {"format": {**FORM, "strict": strict}}
            reply = client.responses.with_raw_response.create(model=MODEL, input="Hi", text=text)
            assert reply.headers["x-headstart-loosened"] == "form"
    assert [json.loads(request.schema) for request in engine.requests] == [PLACE, PLACE]


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


def test_neutral_values_and_other_names_are_taken(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    more = {"n": 1, "truncation": "disabled", "logprobs": False, "max_tool_calls": None, "max_tokens": 5, "stop": "END"}
    client.responses.create(model=MODEL, input="Hi", extra_body=more | {"response_format": {"type": "json_object"}})
    (request,) = engine.requests
    assert (request.max_new_tokens, request.stop, json.loads(request.schema)) == (5, ("END",), {"type": "object"})


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
        ({"previous_response_id": "resp_1"}, "previous_response_id", "nothing is stored"),
        ({"conversation": "conv_1"}, "conversation", "nothing is stored"),
        ({"background": True}, "background", "is not supported here: leave it out"),
        ({"input": []}, "input", "a list of at least 1 item"),
        ({"truncation": "auto"}, "truncation", "no conversation is cut"),
        ({"max_tool_calls": 1}, "max_tool_calls", "calls no tools itself"),
        ({"n": 2}, "n", "use /v1/chat/completions"),
        ({"logprobs": True}, "logprobs", "send `top_logprobs`"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt", "nothing is stored"),
        ({"max_output_token": 5}, "max_output_token", "did you mean `max_output_tokens`"),
        ({"input": [{"role": "user"}]}, "input", r"`input\[0\]` is a message: it needs `role` and `content`"),
        ({"input": [{"type": "function_call"}]}, "input", "it needs `name`"),
        ({"input": [{"type": "function_call_output", "call_id": "a"}]}, "input", "it needs `output`"),
        ({"text": {"format": {**FORM, "strict": True}}}, "text", "`not` cannot be kept to"),
        ({"tools": [{**LOOK, "parameters": UNHELD, "strict": True}]}, "tools", "`not` cannot be kept to"),
        ({"input": [{"type": "item_reference", "id": "a"}]}, "input", "item_reference"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
            "input",
            "leave out the images in `input",
        ),
        ({"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}}, "tool_choice", "nobody can call"),
        (
            {"tools": [PATCH], "tool_choice": {"type": "custom", "name": "patch"}},
            "tool_choice",
            "'patch', which nobody",
        ),
        ({"tools": [PATCH], "tool_choice": "required"}, "tool_choice", "nobody can call these"),
        ({"tools": [{"type": "function"}]}, "tools", r"`tools\[0\]` lacks `name`"),
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
