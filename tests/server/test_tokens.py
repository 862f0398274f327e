"""Texts as tokens and back, through the server, as a tokenizer does it."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headstart.engine.engine import LoadOptions, Message, Tool
from headstart.engine.text.tokenizer import Tokenizer
from headstart.server.worker import Limits
from tests.engine.answers import load
from tests.server.serving import MODEL, Running, serving
from tests.stand_ins.fakes import ScriptedEngine
from tests.support.waiting import PATIENCE, wait_until

TEXT = "The terms <|im_end|> of the\n licence, naïve 🙂"
HI: Any = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="module")
def running(tiny_target: Path) -> Iterator[Running]:
    with closing(load(LoadOptions(tiny_target))) as engine, serving(engine) as running:
        yield running


@pytest.fixture(scope="module")
def tokenizer(tiny_target: Path) -> Tokenizer:
    return Tokenizer(tiny_target)


def ask(running: Running, path: str, **body: Any) -> tuple[int, Any]:
    status, _, text = running.ask("POST", path, body=json.dumps(body))
    return status, json.loads(text)


def test_text_becomes_tokens_and_text_again(running: Running, tokenizer: Tokenizer) -> None:
    ids = tokenizer.raw_prompt(TEXT)
    told = {"tokens": ids, "count": len(ids), "max_model_len": 1024}
    for body in ({"content": TEXT}, {"prompt": TEXT, "model": MODEL, "add_special_tokens": False}):
        assert ask(running, "/tokenize", **body) == (200, told)
    assert ask(running, "/detokenize", tokens=ids) == (200, {"content": TEXT, "prompt": TEXT})
    status, many = ask(running, "/tokenize/", content="word " * 3000)
    assert (status, many["count"] > 1024) == (200, True), "more than the context holds can be counted"


def test_conversation_is_counted_with_its_tools(running: Running, tokenizer: Tokenizer) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    plain, offered = (ask(running, "/tokenize", messages=HI, **more)[1] for more in ({}, {"tools": [tool]}))
    assert plain["tokens"] == tokenizer.prompt([Message("user", "Hi")])
    assert offered["tokens"] == tokenizer.prompt([Message("user", "Hi")], [Tool("look", '{"type":"object"}')])
    _, _, text = running.ask("GET", "/metrics")
    assert "headstart_prompt_tokens_total 0\n" in text, "nothing was read by the model"


LOOK: Any = {"name": "look", "description": "Looks", "input_schema": {"type": "object"}}
CALLED: Any = [
    *HI,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {"at": "it"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "nothing"}]},
]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"system": "Be brief.", "stop_sequences": ["."], "thinking": {"type": "disabled"}},
        {"tools": [LOOK, {"type": "web_search_20250305", "name": "web_search"}], "messages": CALLED},
        {"tools": [LOOK], "tool_choice": {"type": "none"}},
        {"output_format": {"type": "json_schema", "schema": {"type": "object"}}},
    ],
)
def test_count_of_a_message_equals_its_usage(running: Running, more: Any) -> None:
    body = {"model": MODEL, "messages": HI, **more}
    counted = ask(running, "/v1/messages/count_tokens", **body)
    usage = ask(running, "/v1/messages", **body, max_tokens=1)[1]["usage"]
    assert counted == (200, {"input_tokens": usage["input_tokens"] + usage["cache_read_input_tokens"]})
    assert ask(running, "/v1/messages/count_tokens", **body, max_tokens=5, stream=True) == counted


def test_count_of_a_response_equals_its_usage(running: Running) -> None:
    look = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    items = [*HI, {"type": "function_call", "name": "look"}, {"type": "function_call_output", "output": "nothing"}]
    for body in ({"input": "Hi"}, {"input": items, "instructions": "Be brief.", "tools": [look, {"type": "shell"}]}):
        counted = ask(running, "/v1/responses/input_tokens", model=MODEL, **body)
        usage = ask(running, "/v1/responses", model=MODEL, max_output_tokens=1, **body)[1]["usage"]
        assert counted == (200, {"object": "response.input_tokens", "input_tokens": usage["input_tokens"]})


def test_more_than_the_context_holds_is_counted(running: Running) -> None:
    long = [{"role": "user", "content": "word " * 3000}]
    for path, body in (
        ("/v1/messages/count_tokens", {"messages": long}),
        ("/v1/responses/input_tokens", {"input": long}),
    ):
        status, told = ask(running, path, model=MODEL, **body)
        assert (status, told["input_tokens"] > 1024) == (200, True)


def test_tokens_are_counted_while_answers_are_written() -> None:
    may_end = threading.Event()
    engine = ScriptedEngine(before_round=lambda *_: may_end.wait(PATIENCE))
    with serving(engine, Limits(waiting=4)) as running, ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(ask, running, "/v1/messages", model=MODEL, messages=HI, max_tokens=5) for _ in range(2)]
        wait_until(lambda: engine.requests and running.waiting)
        assert ask(running, "/v1/messages/count_tokens", model=MODEL, messages=HI) == (200, {"input_tokens": 1})
        assert ask(running, "/v1/responses/input_tokens", model=MODEL, input="Hi")[0] == 200
        assert ask(running, "/tokenize", messages=HI)[1]["count"] == 1
        may_end.set()
        assert [answer.result(PATIENCE)[0] for answer in answers] == [200, 200]
    assert len(engine.requests) == 5


def test_stop_text_of_a_model_is_named(running: Running) -> None:
    asked: Any = {"model": MODEL, "messages": HI, "temperature": 0, "max_tokens": 40}
    text = ask(running, "/v1/chat/completions", **asked)[1]["choices"][0]["message"]["content"]
    stop = text[8:11]
    (choice,) = ask(running, "/v1/chat/completions", **asked, stop=["no such text", stop])[1]["choices"]
    assert (choice["message"]["content"], choice["stop_reason"]) == (text.partition(stop)[0], stop)
    told = ask(running, "/v1/messages", **asked, stop_sequences=[stop])[1]
    assert (told["stop_reason"], told["stop_sequence"]) == ("stop_sequence", stop)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/tokenize", {}, "Send one of `content`, `prompt` and `messages`"),
        ("/tokenize", {"content": "a", "prompt": "b"}, "Send one of"),
        ("/tokenize", {"content": "a", "with_pieces": True}, "`with_pieces` is not supported"),
        ("/tokenize", {"content": "a", "parse_special": False}, "`parse_special` is not supported"),
        ("/tokenize", {"content": "a", "model": "other"}, "is not served here"),
        ("/detokenize", {"tokens": []}, "a list of at least 1 item"),
        ("/detokenize", {"tokens": [100_000]}, "no token 100000"),
    ],
)
def test_invalid_token_request_is_refused(running: Running, path: str, body: Any, words: str) -> None:
    status, told = ask(running, path, **body)
    assert status in {400, 404}
    assert words in told["error"]["message"]
