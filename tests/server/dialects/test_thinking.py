"""Thinking in the replies of every API, by a tiny model whose chat template opens a section."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from headstart.engine.backends.remote.engine import RemoteEngine
from headstart.engine.engine import ConversationRequest, Finish, LoadOptions, Message, Remote, Step
from headstart.engine.local import LocalEngine
from headstart.errors import RemoteError
from tests.engine.answers import load
from tests.engine.text.test_thinking import PLAIN, QWEN36
from tests.server.serving import KEY, MODEL, Running, serving

TURNS = [{"role": "user", "content": "Hi"}]
BUDGET = 8
ASKED: dict[str, Any] = {"model": MODEL, "messages": TURNS, "max_tokens": 24}
MESSAGES: dict[str, Any] = ASKED | {"thinking": {"type": "enabled", "budget_tokens": BUDGET}}


@pytest.fixture(scope="module")
def running(tiny_thinking: Callable[[str], Path]) -> Iterator[Running]:
    """A server of a model that thinks."""
    yield from served(tiny_thinking(QWEN36))


@pytest.fixture(scope="module")
def plain(tiny_thinking: Callable[[str], Path]) -> Iterator[Running]:
    """A server of a model that does not think."""
    yield from served(tiny_thinking(PLAIN))


def served(folder: Path) -> Iterator[Running]:
    engine: LocalEngine = load(LoadOptions(folder))
    with serving(engine, models=None, usual=MODEL) as server:
        yield server
    engine.close()


def ask(running: Running, path: str, **body: Any) -> tuple[int, Any]:
    status, _, text = running.ask("POST", path, body=json.dumps(body))
    return status, json.loads(text)


def lines(running: Running, path: str, **body: Any) -> list[Any]:
    _, _, text = running.ask("POST", path, body=json.dumps(body | {"stream": True}))
    told = (line.strip().removeprefix("data: ") for line in text.split("\n"))
    return [json.loads(line) for line in told if line.startswith("{")]


def test_chat_tells_thinking_apart(running: Running) -> None:
    status, reply = ask(running, "/v1/chat/completions", **ASKED, thinking_budget=BUDGET)
    assert status == 200
    message = reply["choices"][0]["message"]
    assert message["reasoning_content"]
    assert message["content"]
    assert BUDGET <= reply["usage"]["completion_tokens_details"]["reasoning_tokens"] <= BUDGET + 2
    deltas = [
        chunk["choices"][0]["delta"]
        for chunk in lines(running, "/v1/chat/completions", **ASKED, thinking_budget=BUDGET)
    ]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == message["reasoning_content"]
    assert "".join(delta.get("content", "") for delta in deltas) == message["content"]


def test_messages_have_blocks_of_thinking(running: Running) -> None:
    _, reply = ask(running, "/v1/messages", **MESSAGES)
    thinking, text = reply["content"]
    assert (thinking["type"], text["type"]) == ("thinking", "text")
    events = lines(running, "/v1/messages", **MESSAGES)
    started = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    assert started == ["thinking", "text"]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta.get("thinking", "") for delta in deltas) == thinking["thinking"]
    assert "".join(delta.get("text", "") for delta in deltas) == text["text"]


def test_responses_have_items_of_reasoning(running: Running) -> None:
    asked: dict[str, Any] = {"model": MODEL, "input": "Hi", "max_output_tokens": 24, "thinking_budget": BUDGET}
    _, reply = ask(running, "/v1/responses", **asked)
    assert [item["type"] for item in reply["output"]] == ["reasoning", "message"]
    assert reply["usage"]["output_tokens_details"]["reasoning_tokens"] >= BUDGET
    events = lines(running, "/v1/responses", **asked)
    parts = [event["delta"] for event in events if event["type"] == "response.reasoning_text.delta"]
    assert "".join(parts) == reply["output"][0]["content"][0]["text"]
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["reasoning", "message"]
    again = [{"role": "user", "content": "Hi"}, *reply["output"], {"role": "user", "content": "And?"}]
    assert ask(running, "/v1/responses", **asked | {"input": again})[0] == 200


def test_ollama_has_a_field_for_thinking(running: Running) -> None:
    asked = {"model": MODEL, "messages": TURNS, "options": {"num_predict": 24}, "think": True}
    _, reply = ask(running, "/api/chat", **asked, stream=False)
    assert reply["message"]["thinking"]
    parts = lines(running, "/api/chat", **asked)
    assert "".join(part["message"].get("thinking", "") for part in parts) == reply["message"]["thinking"]


OFF: dict[str, dict[str, Any]] = {
    "effort": {"reasoning_effort": "none"},
    "template": {"chat_template_kwargs": {"enable_thinking": False}},
    "switch": {"enable_thinking": False},
}


@pytest.mark.parametrize("off", OFF)
def test_thinking_is_switched_off(running: Running, plain: Running, off: str) -> None:
    for server in (running, plain):
        status, reply = ask(server, "/v1/chat/completions", **ASKED, **OFF[off])
        assert (status, "reasoning_content" in reply["choices"][0]["message"]) == (200, False)
        assert reply["usage"]["completion_tokens_details"]["reasoning_tokens"] == 0


def test_thinking_is_switched_off_elsewhere(running: Running) -> None:
    _, message = ask(running, "/v1/messages", **ASKED, thinking={"type": "disabled"})
    assert [block["type"] for block in message["content"]] == ["text"]
    _, response = ask(running, "/v1/responses", input="Hi", max_output_tokens=8, reasoning={"effort": "none"})
    assert [item["type"] for item in response["output"]] == ["message"]
    _, line = ask(running, "/api/chat", model=MODEL, messages=TURNS, stream=False, think=False)
    assert "thinking" not in line["message"]


def test_model_without_thinking_takes_what_allows_it(plain: Running) -> None:
    assert ask(plain, "/v1/messages", **MESSAGES, output_config={"effort": "high"})[0] == 200
    assert ask(plain, "/v1/chat/completions", **ASKED, reasoning_effort="high")[0] == 200
    status, reply = ask(plain, "/v1/chat/completions", **ASKED, enable_thinking=True)
    assert (status, "has no switch for thinking" in reply["error"]["message"]) == (400, True)
    status, reply = ask(plain, "/v1/chat/completions", **ASKED, chat_template_kwargs={"tools_in_user": True})
    assert (status, "tools_in_user" in reply["error"]["message"]) == (400, True)


def test_earlier_thinking_is_taken_back(running: Running) -> None:
    for past in ({"reasoning_content": "Hm."}, {"reasoning": "Hm."}):
        answered = [*TURNS, {"role": "assistant", "content": "Yes.", **past}, *TURNS]
        assert ask(running, "/v1/chat/completions", **ASKED | {"messages": answered})[0] == 200
    blocks = [{"type": "thinking", "thinking": "Hm.", "signature": ""}, {"type": "text", "text": "Yes."}]
    turns: list[Any] = [*TURNS, {"role": "assistant", "content": blocks}, *TURNS]
    counted = ask(running, "/v1/messages/count_tokens", model=MODEL, messages=turns)[1]["input_tokens"]
    usage = ask(running, "/v1/messages", **ASKED | {"messages": turns})[1]["usage"]
    assert counted == usage["input_tokens"] + usage["cache_read_input_tokens"]


@pytest.mark.parametrize(("thinking", "budget"), [(None, BUDGET), (True, BUDGET), (False, None)])
def test_client_of_our_own_gets_thinking(running: Running, thinking: bool | None, budget: int | None) -> None:
    request = ConversationRequest(
        (Message("user", "Hi"),), max_new_tokens=24, thinking=thinking, thinking_budget=budget
    )
    with closing(RemoteEngine(Remote("own", running.url), KEY)) as engine:
        *steps, finish = [event for event in engine.generate(request) if isinstance(event, Step | Finish)]
    assert isinstance(finish, Finish)
    said = [step for step in steps if isinstance(step, Step)]
    assert "".join(step.text for step in said)
    assert bool("".join(step.thinking for step in said)) == (thinking is not False)
    assert BUDGET * (thinking is not False) <= finish.stats.thinking_tokens <= BUDGET + 2


def test_client_of_our_own_is_refused_a_switch(plain: Running) -> None:
    request = ConversationRequest((Message("user", "Hi"),), max_new_tokens=24, thinking=True)
    with closing(RemoteEngine(Remote("own", plain.url), KEY)) as engine:
        with pytest.raises(RemoteError, match="own has no switch for thinking"):
            list(engine.generate(request))
        assert list(engine.generate(structs.replace(request, thinking=False)))
