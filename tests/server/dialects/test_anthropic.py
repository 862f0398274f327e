"""Anthropic's Messages API: what it sends reaches the engine, and its events build the same message."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headstart.engine.engine import Call, Message, Sampling
from headstart.errors import BrokenModelError, ContextOverflowError
from headstart.server import streaming
from headstart.server.worker import Limits
from tests.server.serving import KEY, MODEL, Running, chat_body, serving
from tests.stand_ins.fakes import ScriptedEngine
from tests.support.waiting import PATIENCE, wait_until

PATH = "/v1/messages"
HI: Any = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
TOOL = {"name": "look", "description": "Looks", "input_schema": {"type": "object"}}
CALL = 'So:\n<tool_call>\n{"name": "look", "arguments": {"place": "in there"}}\n</tool_call>'


ENGINE = ScriptedEngine([CALL])


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving(ENGINE) as running:
        yield running


@pytest.fixture(autouse=True)
def engine() -> ScriptedEngine:
    """The engine of `running`, with its requests cleared."""
    vars(ENGINE).update(vars(ScriptedEngine([CALL])))
    return ENGINE


def ask(running: Running, **more: Any) -> tuple[int, str]:
    """Send a request. Return status and body; the key is where Anthropic's clients put it."""
    status, _, text = running.ask("POST", PATH, {"Authorization": "", "x-api-key": KEY}, json.dumps(HI | more))
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


def test_instructions_come_before_a_question_and_after_results(running: Running, engine: ScriptedEngine) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    turns: list[Any] = [
        {"role": "user", "content": "Find it."},
        {"role": "system", "content": "You may look."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "nothing"}]},
        {"role": "system", "content": "Look again."},
    ]
    assert ask(running, messages=turns)[0] == 200
    (request,) = engine.requests
    assert [message.content for message in request.messages] == [
        "You may look.", "Find it.", "", "nothing", "Look again."
    ]  # fmt: skip


def test_additions_to_the_api_reach_the_engine(running: Running, engine: ScriptedEngine) -> None:
    stops = [f"stop {number}" for number in range(64)]
    more: Any = {"seed": 7, "min_p": 0.1, "repetition_penalty": 1.2, "presence_penalty": 1, "frequency_penalty": -1}
    more |= {"temperature": 1.5, "logit_bias": {"9": 5}, "stop_on_repetition": True, "stop_sequences": stops}
    assert ask(running, **more, response_format={"type": "json_object"})[0] == 200
    assert ask(running, guided_choice=["a"], stop="b", stop_sequences=["c"], max_tokens=None)[0] == 200
    first, second = engine.requests
    assert first.sampling == Sampling(1.5, 1.0, 0, 0.1, 1.2, 1.0, -1.0, 7, logit_bias={9: 5.0})
    assert (first.stop, first.stop_on_repetition, json.loads(first.schema)) == (tuple(stops), True, {"type": "object"})
    assert (second.stop, second.grammar) == (("b", "c"), 'start: "a"')


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"min_tokens": 5}, "`min_tokens` is not supported here: leave it out"),
        ({"n": 2}, "use /v1/chat/completions"),
        ({"logprobs": True}, "`logprobs` is not supported here"),
        ({"stop_sequences": ["a"] * 65}, "up to 64"),
        ({"temprature": 1}, "did you mean `temperature`"),
        ({"stop_sequence": ["a"]}, "did you mean `stop_sequences`"),
        ({"output_config": {"effort": "some"}}, "`output_config.effort` must be 'high', 'low'"),
    ],
)
def test_unsupported_field_of_messages_is_refused_by_name(
    running: Running, engine: ScriptedEngine, asked: dict[str, Any], words: str
) -> None:
    status, text = ask(running, **asked)
    assert (status, words in text) == (400, True)
    assert not engine.requests


def test_tool_use_is_sent_whole_and_streamed(running: Running) -> None:
    whole = json.loads(ask(running, tools=[TOOL])[1])
    text, use = whole["content"]
    assert (text, whole["stop_reason"]) == ({"type": "text", "text": "So:\n"}, "tool_use")
    assert (use["type"], use["name"], use["input"]) == ("tool_use", "look", {"place": "in there"})
    assert whole["usage"]["output_tokens"] > 0
    told = events(ask(running, tools=[TOOL], stream=True)[1])
    assert [each["type"] for each in told if each["type"] not in {"content_block_delta", "ping"}] == [
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


def test_cut_tool_use_is_left_out_and_its_stream_ends_as_cut_off(running: Running) -> None:
    whole = json.loads(ask(running, tools=[TOOL], max_tokens=5)[1])
    assert (whole["content"], whole["stop_reason"]) == ([{"type": "text", "text": "So:\n"}], "max_tokens")
    streamed = events(ask(running, tools=[TOOL], max_tokens=5, stream=True)[1])
    assert streamed[-2]["delta"]["stop_reason"] == "max_tokens"


def test_arguments_reach_the_client_as_they_were_written() -> None:
    with serving(ScriptedEngine([CALL.replace('"in there"', "1e400")])) as running:
        assert '"input":{"place": 1e400}' in ask(running, tools=[TOOL])[1]


def test_bad_tool_spoils_no_request_of_messages(running: Running, engine: ScriptedEngine) -> None:
    bad: Any = {"type": "object", "properties": {"path": {"type": "string", "pattern": "(a)\\1"}}}
    body = {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    tools = [TOOL, {"name": "bad", "input_schema": bad}, {"name": "none", "input_schema": None}, {"name": "lacking"}]
    status, headers, _ = running.ask("POST", PATH, {}, json.dumps({**body, "tools": tools}))
    assert (status, headers["x-headstart-loosened"]) == (200, "bad")
    assert len(engine.requests) == 1


def test_stop_sequence_that_ended_the_answer_is_named(running: Running, engine: ScriptedEngine) -> None:
    engine.scripts = ["One. Two."]
    fields = {"stop_reason": "stop_sequence", "stop_sequence": "."}
    whole = json.loads(ask(running, stop_sequences=["Two", "."])[1])
    assert {name: whole[name] for name in fields} == fields
    assert events(ask(running, stop_sequences=["Two", "."], stream=True)[1])[-2]["delta"] == fields
    other = json.loads(ask(running, stop_sequences=["Four"])[1])
    assert (other["stop_reason"], other["stop_sequence"]) == ("end_turn", None)


def test_errors_have_the_form_of_anthropic(running: Running, engine: ScriptedEngine) -> None:
    engine.scripts = [BrokenModelError("Export it again.")]

    def refusal(path: str = PATH, method: str = "POST", **more: Any) -> tuple[int, str]:
        headers = more.pop("headers", {})
        status, told, text = running.ask(method, path, headers, json.dumps(HI | more))
        body = json.loads(text)
        assert (body["type"], body.keys()) == ("error", {"type", "error", "request_id"})
        assert body["error"].keys() == {"type", "message"}
        assert (told["request-id"], body["request_id"][:4]) == (body["request_id"], "req_")
        return status, body["error"]["type"]

    assert refusal(messages=[]) == refusal(f"{PATH}/count_tokens", messages=[]) == (400, "invalid_request_error")
    assert refusal(model="other") == refusal(f"{PATH}/batches") == (404, "not_found_error")
    assert refusal(method="GET") == (405, "invalid_request_error")
    assert refusal(headers={"Authorization": "Bearer no"}) == (401, "authentication_error")
    assert refusal(headers={"Origin": "http://page"}) == (403, "permission_error")
    assert refusal(messages=[{"role": "user", "content": "a" * 2**22}]) == (413, "request_too_large")
    assert refusal() == (500, "api_error")
    engine.scripts = [ZeroDivisionError("a bug")]
    assert refusal() == (500, "api_error")


def test_full_queue_is_a_rate_limit_error() -> None:
    busy = ScriptedEngine(pause=PATIENCE)
    with serving(busy, Limits(waiting=0)) as running, ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, running)
        wait_until(lambda: busy.requests)
        status, text = ask(running)
        assert (status, json.loads(text)["error"]["type"]) == (429, "rate_limit_error")
        running.server.stop()
        assert json.loads(first.result(PATIENCE)[1])["error"]["type"] == "api_error"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("longest", "remedy"),
    [
        (0, "start the server again with a longer `--context`."),
        (64, "start the server again with a longer `--context`; this model allows up to 64."),
        (8, "the model allows no more"),
    ],
)
def test_too_long_prompt_is_refused_in_the_words_of_anthropic(
    monkeypatch: pytest.MonkeyPatch, longest: int, remedy: str, stream: bool
) -> None:
    monkeypatch.setattr(streaming, "longest_context", {MODEL: longest}.__getitem__)
    overflow = ContextOverflowError("It has {count}, not {room}.", count=12, room=8)
    with serving(ScriptedEngine([overflow])) as running:
        status, text = ask(running, stream=stream)
        _, _, chat = running.ask("POST", "/v1/chat/completions", body=chat_body())
    assert status == 400
    sentence = json.loads(text)["error"]["message"]
    assert sentence.startswith("prompt is too long: 12 tokens > 8 maximum. ")
    assert remedy in sentence
    assert json.loads(chat)["error"]["code"] == "context_length_exceeded"
    assert "maximum context length is 8 tokens" in json.loads(chat)["error"]["message"]
    assert remedy in json.loads(chat)["error"]["message"]


def test_error_after_the_first_event_has_the_form_of_anthropic(running: Running, engine: ScriptedEngine) -> None:
    def stop(_request: int, round_: int) -> None:
        if round_ > 1:
            raise BrokenModelError("Export it again.")

    engine.before_round = stop
    *_, last = events(ask(running, stream=True)[1])
    assert last["error"] == {"type": "api_error", "message": "Export it again."}


def test_waiting_stream_sends_pings() -> None:
    may_end = threading.Event()
    busy = ScriptedEngine(before_round=lambda *_: may_end.wait(PATIENCE))
    with serving(busy) as running, ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, running)
        wait_until(lambda: busy.requests)
        second = pool.submit(ask, running, stream=True)
        wait_until(lambda: running.waiting)
        may_end.set()
        kinds = [each["type"] for each in events(second.result(PATIENCE)[1])]
        assert first.result(PATIENCE)[0] == 200
    assert kinds[:2] == ["message_start", "ping"]
    assert kinds.count("message_start") == 1


SERVER_TOOLS: Any = [
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
    {"type": "bash_20250124", "name": "bash"},
    {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
    {"type": "computer_20250124", "name": "computer", "display_width_px": 1, "display_height_px": 1},
    {"type": "code_execution_20250825", "name": "code_execution"},
    {"type": "mcp_toolset", "mcp_server_name": "files"},
]


def test_tools_of_messages_that_nobody_can_call_are_left_out(
    running: Running, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = [tool["type"] for tool in SERVER_TOOLS]
    body = HI | {"tools": [*SERVER_TOOLS, TOOL], "mcp_servers": [{"type": "url", "name": "files"}]}
    for _ in range(2):
        status, headers, _ = running.ask("POST", PATH, body=json.dumps(body))
        assert (status, headers["x-headstart-left-out"].split(", ")) == (200, [*kinds, "mcp_servers"])
    tools = engine.requests[0].tools
    assert tools is not None
    assert [tool.name for tool in tools.offered] == ["look"]
    for kind in (*kinds, "mcp_servers"):
        assert sum(f"{kind!r}" in record.getMessage() for record in caplog.records) == 1, "each is said once"
    assert ask(running, tools=SERVER_TOOLS)[0] == 200
    assert engine.requests[-1].tools is None
    for name in ("web_search", "web_search_20250305"):
        status, text = ask(running, tools=[*SERVER_TOOLS, TOOL], tool_choice={"type": "tool", "name": name})
        assert (status, f"'{name}'" in text) == (400, True)
    status, text = ask(running, tools=SERVER_TOOLS, tool_choice={"type": "any"})
    assert (status, "nobody can call these `tools`" in text) == (400, True)
    assert "`tools[0]` lacks `name`" in ask(running, tools=[{"input_schema": {}}])[1]


def test_left_out_kinds_cannot_break_the_header(running: Running) -> None:
    tools = [{"type": f"naïve\r\nset-cookie: {number}"} for number in range(30)]
    status, headers, _ = running.ask("POST", PATH, body=json.dumps(HI | {"tools": tools}))
    assert (status, len(headers["x-headstart-left-out"].split(", "))) == (200, 20)
    assert "set-cookie" not in headers


def test_fields_that_change_no_answer_are_taken(running: Running, engine: ScriptedEngine) -> None:
    cached: Any = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    more: Any = {
        "system": [{"type": "text", "text": "Be brief.", **cached}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "citations": None, **cached}]}],
        "tools": [TOOL | cached | {"eager_input_streaming": True, "type": "custom", "strict": None}],
        "metadata": {"user_id": "u"},
        "service_tier": "auto",
        "betas": ["interleaved-thinking-2025-05-14"],
        "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
        "mcp_servers": [],
        "container": "c",
        "output_config": {"effort": "high"},
        "inference_geo": "us",
        "temperature": 1.5,
    }
    status, headers, _ = running.ask("POST", f"{PATH}?beta=true", body=json.dumps(HI | more))
    assert (status, "x-headstart-left-out" in headers) == (200, False)
    (request,) = engine.requests
    assert request.messages == (Message("system", "Be brief."), Message("user", "Hi"))
    assert (request.sampling.temperature, request.schema) == (1.5, "")


def test_answer_follows_an_output_format(running: Running, engine: ScriptedEngine) -> None:
    form = {"type": "json_schema", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    assert (
        ask(running, output_format=form)[0] == ask(running, output_config={"format": form, "effort": "low"})[0] == 200
    )
    assert [json.loads(request.schema) for request in engine.requests] == [form["schema"]] * 2
    status, text = ask(running, output_format=form, output_config={"format": form})
    assert (status, "keeps to one form" in text) == (400, True)
    status, text = ask(running, output_format=form | {"type": "xml"})
    assert (status, "`output_format.type`" in text, "'xml'" in text) == (400, True, True)


IMAGE: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
LEFT_OUT = "[images left out: this model reads text only]"


def document(**source: Any) -> Any:
    return {"type": "document", "title": "Rivers", "source": source, "citations": {"enabled": True}}


def test_blocks_become_text(running: Running, engine: ScriptedEngine) -> None:
    found = {"type": "search_result", "source": "http://a", "title": "A", "content": [{"type": "text", "text": "x"}]}
    turns = [
        {
            "role": "user",
            "content": [
                document(type="text", media_type="text/plain", data="They flow."),
                document(type="content", content=[{"type": "text", "text": "Far."}, IMAGE]),
                found,
                {"type": "text", "text": "Go."},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "So:"},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
                {"type": "server_tool_use", "id": "c", "name": "code_execution", "input": {}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "s",
                    "content": [
                        {"type": "web_search_result", "title": "T", "url": "http://b", "encrypted_content": ""}
                    ],
                },
                {"type": "code_execution_tool_result", "tool_use_id": "c", "content": {"stdout": "1"}},
                {"type": "text", "text": "There."},
                {"type": "tool_use", "id": "u", "name": "two words / 1", "input": {}},
                {"type": "tool_use", "id": "v", "name": "two words / 1", "input": {}},
                {"type": "tool_use", "id": "w", "name": "two words / 1", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And?"},
                {
                    "type": "tool_result",
                    "tool_use_id": "u",
                    "content": [{"type": "text", "text": "seen"}, IMAGE, found],
                },
                {"type": "tool_result", "tool_use_id": "v", "content": [document(type="base64", data="AA==")]},
                {"type": "tool_result", "tool_use_id": "w"},
            ],
        },
    ]
    status, headers, _ = running.ask("POST", PATH, body=json.dumps(HI | {"messages": turns}))
    assert (status, "x-headstart-left-out" in headers) == (200, False)
    assert engine.requests[0].messages == (
        Message.of_parts(
            "user", ["Rivers\nThey flow.\n\n", f"Rivers\nFar.{LEFT_OUT}\n\n\n", "A\nhttp://a\nx\n\n", "Go."]
        ),
        Message("assistant", "So:", (Call("web_search", '{"query": "q"}'), Call("code_execution", "{}")), "Hm."),
        Message("tool", "T\nhttp://b\n\n"),
        Message("tool", '{"stdout": "1"}'),
        Message("assistant", "There.", (Call("two words / 1", "{}"),) * 3),
        Message("tool", f"seen{LEFT_OUT}\nA\nhttp://a\nx\n\n"),
        Message("tool", "[files left out: this model reads text only]\n"),
        Message("tool", ""),
        Message("user", "And?"),
    )


def test_unknown_block_is_left_out_and_named(running: Running, engine: ScriptedEngine) -> None:
    blocks = [{"type": "container_upload", "file_id": "f"}, {"type": "text", "text": "Hi"}]
    body = HI | {"messages": [{"role": "user", "content": blocks}]}
    status, headers, _ = running.ask("POST", PATH, body=json.dumps(body))
    assert (status, headers["x-headstart-left-out"]) == (200, "container_upload")
    assert engine.requests[0].messages == (Message("user", "Hi"),)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (IMAGE, "This model reads text only: leave out the images in `messages[0].content[0]`"),
        (document(type="base64", media_type="application/pdf", data="AA=="), "Only documents of plain text are read"),
        (document(type="url", url="http://a"), "Only documents of plain text are read"),
        ({"type": "text"}, "`messages[0].content[0]` lacks `text`: add it"),
        ({"type": "tool_use", "id": "a", "input": {}}, "lacks `name`"),
        ({"type": "tool_use", "id": "a", "name": "f", "input": "x"}, "must be an object, not 'x'"),
        ({"text": "Hi"}, "`messages[0].content[0]` lacks `type`"),
    ],
)
def test_block_that_cannot_be_read_is_refused_by_name(running: Running, block: Any, words: str) -> None:
    status, text = ask(running, messages=[{"role": "user", "content": [block]}])
    assert (status, json.loads(text)["error"]["type"]) == (400, "invalid_request_error")
    assert words in json.loads(text)["error"]["message"]


def test_health_needs_no_key(running: Running) -> None:
    for path in ("/health", "/v1/health", "/health/"):
        assert running.ask("GET", path, {"Authorization": ""})[0] == 200
