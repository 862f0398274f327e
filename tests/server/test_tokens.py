"""Texts as tokens and back, through the server, as a tokenizer does it."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headstart.engine.engine import LoadOptions, Message, Tool
from headstart.engine.tokenizer import Tokenizer
from tests.engine.answers import load
from tests.server.serving import MODEL, Running, serving

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


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/tokenize", {}, "Send one of `content`, `prompt` and `messages`"),
        ("/tokenize", {"content": "a", "prompt": "b"}, "Send one of"),
        ("/tokenize", {"content": "a", "with_pieces": True}, "leave out `with_pieces`"),
        ("/tokenize", {"content": "a", "parse_special": False}, "leave out `parse_special`"),
        ("/tokenize", {"content": "a", "model": "other"}, "is not served here"),
        ("/detokenize", {"tokens": []}, "length >= 1"),
        ("/detokenize", {"tokens": [100_000]}, "no token 100000"),
    ],
)
def test_invalid_token_request_is_refused(running: Running, path: str, body: Any, words: str) -> None:
    status, told = ask(running, path, **body)
    assert status in {400, 404}
    assert words in told["error"]["message"]
