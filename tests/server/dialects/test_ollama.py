"""Ollama's API: what its clients send reaches the engine, and they can read what comes back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from headstart.engine.engine import Call, Message, Sampling
from headstart.errors import ContextOverflowError
from headstart.server.models import OneModel, Served
from tests.server.serving import MODEL, Running, serving
from tests.stand_ins.fakes import ScriptedEngine

CALL = 'So:\n<tool_call>\n{"name": "look", "arguments": {"place": "in there"}}\n</tool_call>'
TOOL = {"type": "function", "function": {"name": "look", "description": "Looks", "parameters": {"type": "object"}}}
HI = [{"role": "user", "content": "Hi"}]
ENGINE = ScriptedEngine([CALL])


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving(ENGINE, models=OneModel(Served(MODEL, 4096), ENGINE)) as running:
        yield running


@pytest.fixture(autouse=True)
def engine() -> ScriptedEngine:
    """The engine of `running`, with its requests cleared."""
    vars(ENGINE).update(vars(ScriptedEngine([CALL])))
    return ENGINE


def ask(running: Running, route: str, **body: Any) -> tuple[int, Any]:
    """Send a request. Return status and JSON; for a stream, the list of its lines."""
    status, headers, text = running.ask("POST", f"/api/{route}", None, json.dumps({"model": MODEL, **body}))
    if headers["content-type"] == "application/x-ndjson":
        return status, [json.loads(line) for line in text.splitlines()]
    return status, json.loads(text)


def test_conversation_with_calls_and_options_reaches_the_engine(running: Running, engine: ScriptedEngine) -> None:
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": {"at": 1}}}]},
        {"role": "tool", "content": "nothing", "tool_name": "look"},
    ]
    options: dict[str, Any] = {"temperature": 0.5, "top_k": 3.0, "min_p": 0.1, "seed": 7, "num_predict": 9}
    options |= {"stop": ["END"], "repeat_penalty": 1.2, "num_ctx": 4096, "num_thread": 4}
    status, _ = ask(running, "chat", messages=turns, tools=[TOOL], options=options, keep_alive="5m", think=False)
    assert status == 200
    (request,) = engine.requests
    assert request.messages == (
        Message("system", "Be brief."),
        Message("user", "Find it."),
        Message("assistant", "", (Call("look", '{"at":1}'),)),
        Message("tool", "nothing"),
    )
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_k, sampling.min_p, sampling.seed) == (0.5, 3, 0.1, 7)
    assert (sampling.repetition_penalty, request.stop, request.max_new_tokens) == (1.2, ("END",), 9)
    assert request.tools is not None
    assert request.tools.offered[0].name == "look"


def test_chat_streams_unless_told_not_to(running: Running) -> None:
    _, lines = ask(running, "chat", messages=HI, tools=[TOOL])
    *parts, end = lines
    assert "".join(part["message"]["content"] for part in parts) == "So:\n"
    calls = [call for part in parts for call in part["message"].get("tool_calls", ())]
    assert calls == [{"function": {"name": "look", "arguments": {"place": "in there"}}}]
    assert not any(part["done"] for part in parts)
    assert (end["done"], end["done_reason"], end["model"]) == (True, "stop", MODEL)
    assert end["eval_count"] > 0
    assert end["total_duration"] >= end["load_duration"]
    _, whole = ask(running, "chat", messages=HI, tools=[TOOL], stream=False)
    assert whole["message"] == {"role": "assistant", "content": "So:\n", "tool_calls": calls}
    assert (whole["done"], whole["eval_count"]) == (True, end["eval_count"])


def test_call_that_is_cut_off_is_not_sent(running: Running) -> None:
    _, whole = ask(running, "chat", messages=HI, tools=[TOOL], stream=False, options={"num_predict": 4})
    assert (whole["done_reason"], whole["message"].get("tool_calls")) == ("length", None)


def test_generate_answers_continues_and_fills(running: Running, engine: ScriptedEngine) -> None:
    _, whole = ask(running, "generate", prompt="Hi", system="Be brief.", stream=False)
    assert whole["response"] == CALL
    assert "message" not in whole
    ask(running, "generate", prompt="Once upon", raw=True)
    ask(running, "generate", prompt="def f(", suffix="return 1", format="")
    asked, raw, gap = engine.requests
    assert asked.messages == (Message("system", "Be brief."), Message("user", "Hi"))
    assert raw.prompt == "Once upon"
    assert (gap.prompt, gap.suffix) == ("def f(", "return 1")


def test_format_is_a_schema_or_any_object(running: Running, engine: ScriptedEngine) -> None:
    ask(running, "chat", messages=HI, format="json")
    ask(running, "generate", prompt="Hi", format={"type": "object", "properties": {"a": {"type": "string"}}})
    assert [json.loads(request.schema) for request in engine.requests] == [
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string"}}},
    ]


def test_logprobs_are_sent(running: Running) -> None:
    _, whole = ask(running, "chat", messages=HI, logprobs=True, top_logprobs=1, stream=False)
    assert len(whole["logprobs"]) == whole["eval_count"]
    assert len(whole["logprobs"][0]["top_logprobs"]) == 1


def test_request_without_a_prompt_loads_the_model(running: Running) -> None:
    for route, body in (("chat", {}), ("chat", {"messages": []}), ("generate", {"keep_alive": -1})):
        status, reply = ask(running, route, **body)
        assert (status, reply["done"], reply["done_reason"]) == (200, True, "load")


@pytest.mark.parametrize(
    ("route", "body", "words"),
    [
        ("chat", {"options": {"mirostat": 2}}, "`options.mirostat` is not supported"),
        ("chat", {"options": {"typical_p": 0.5}}, "`options.typical_p` is not supported"),
        ("chat", {"options": {"repeat_last_n": 64}}, "`options.repeat_last_n` is not supported"),
        ("chat", {"options": {"num_ctx": 8192}}, "leave out `num_ctx`"),
        ("chat", {"options": {"temperature": -1}}, "`options.temperature` must be"),
        ("chat", {"messages": [{"role": "user", "content": "What?", "images": ["aGk="]}]}, "reads text only"),
        ("generate", {"prompt": "Hi", "template": "{{ .Prompt }}"}, "`template` is not supported"),
        ("generate", {"prompt": "Hi", "raw": True, "system": "Be brief."}, "leave out `system`"),
        ("generate", {"prompt": "Hi", "context": [1, 2]}, "`context` is not supported"),
        ("chat", {"model": "llama3.2"}, "'llama3.2' is not served here"),
        ("embed", {"input": "Hi"}, "turns texts into vectors"),
        ("pull", {}, "`headstart models`"),
        ("create", {}, "`headstart models`"),
        ("tag", {}, "did you mean /api/tags"),
    ],
)
def test_refusal_is_a_sentence_of_its_own(running: Running, route: str, body: dict[str, Any], words: str) -> None:
    status, reply = ask(running, route, **({"messages": HI} | body))
    assert status in {400, 404}
    assert words in reply["error"]


def test_refusal_without_a_key_has_the_form_of_ollama(running: Running) -> None:
    status, _, text = running.ask("GET", "/api/tags", {"Authorization": ""})
    assert (status, "Incorrect API key" in json.loads(text)["error"]) == (401, True)


def test_error_in_a_stream_is_a_line() -> None:
    with serving(ScriptedEngine([ContextOverflowError("Too long.")]), models=None) as running:
        assert ask(running, "chat", messages=HI) == (400, {"error": "Too long."})


def test_models_are_listed_and_described(running: Running) -> None:
    (tagged,) = json.loads(running.ask("GET", "/api/tags")[2])["models"]
    assert (tagged["name"], tagged["details"]["format"]) == (f"{MODEL}:latest", "openvino")
    (loaded,) = json.loads(running.ask("GET", "/api/ps")[2])["models"]
    assert (loaded["name"], loaded["digest"], loaded["context_length"]) == (tagged["name"], tagged["digest"], 4096)
    for body in ({"model": tagged["name"]}, {"name": MODEL, "model": ""}):
        _, shown = ask(running, "show", **body)
        facts = shown["model_info"]
        assert facts[f"{facts['general.architecture']}.context_length"] == 4096
        assert "completion" in shown["capabilities"]
    assert json.loads(running.ask("GET", "/api/version")[2])["version"]
    assert running.ask("HEAD", "/", {"Authorization": ""})[0] == 200


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/chat/completions", "put /v1 behind the address of the server, http://127.0.0.1:"),
        ("/models", "put /v1 behind"),
        ("/v1/v1/chat/completions", "has /v1 twice"),
        ("/v1/v1/messages", "has /v1 twice"),
        ("/v1/api/chat", "stand without /v1"),
        ("/v1/chat/completion", "did you mean /v1/chat/completions"),
        ("/zzz", "see /openapi.json"),
    ],
)
def test_wrong_address_is_told_the_right_one(running: Running, path: str, words: str) -> None:
    status, _, text = running.ask("POST", path, None, "{}")
    assert (status, words in json.loads(text)["error"]["message"]) == (404, True)


def test_wrong_method_is_told_the_right_one(running: Running) -> None:
    status, headers, text = running.ask("GET", "/v1/chat/completions")
    assert (status, headers["allow"]) == (405, "POST")
    assert "it takes POST" in json.loads(text)["error"]["message"]


def test_base_url_answers_as_the_root(running: Running) -> None:
    for path in ("/", "/v1", "/v1/"):
        assert running.ask("GET", path, {"Authorization": ""})[0] == 200


def test_show_has_the_sampling_values_of_the_model() -> None:
    known = OneModel(Served(MODEL, sampling=Sampling(0.2, 0.5, 5, 0.1)), ENGINE)
    for models, shown in (
        (known, "temperature 0.2\ntop_p 0.5\ntop_k 5\nmin_p 0.1\nrepeat_penalty 1"),
        (OneModel(Served(MODEL), ENGINE), ""),
    ):
        with serving(ENGINE, models=models) as server:
            _, _, text = server.ask("POST", "/api/show", body=json.dumps({"model": MODEL}))
        assert json.loads(text)["parameters"] == shown


def test_models_and_schemas_are_those_of_the_other_routes(running: Running) -> None:
    parameters = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?!x)y"}}}
    tools = [
        {"type": "function", "function": {"name": "bad", "parameters": parameters}},
        {"type": "web_search", "name": "web"},
    ]
    body = {"messages": [{"role": "user", "content": "Hi"}], "tools": tools, "stream": False}
    status, headers, text = running.ask("POST", "/api/chat", body=json.dumps(body))
    assert (status, json.loads(text)["model"]) == (200, MODEL)
    assert (headers["x-headstart-loosened"], headers["x-headstart-left-out"]) == ("bad", "web_search")
    with serving(ScriptedEngine(), aliases=(("other-*", MODEL),)) as server:
        status, _, text = server.ask("POST", "/api/show", body=json.dumps({"model": "other-name"}))
    assert status == 200, text


def test_null_in_a_message_is_the_same_as_leaving_a_field_out(running: Running, engine: ScriptedEngine) -> None:
    call = {"function": {"name": "look", "arguments": {}}}
    turns = [*HI, {"role": "assistant", "content": None, "tool_calls": [call]}]
    turns.append({"role": "tool", "content": "sun", "tool_name": None, "tool_call_id": None})
    assert ask(running, "chat", messages=turns, stream=False)[0] == 200
    assert engine.requests[0].messages[1:] == (Message("assistant", "", (Call("look", "{}"),)), Message("tool", "sun"))
