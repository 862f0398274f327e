"""How likely tokens were, through OpenAI's own client: in both APIs, whole and streamed, and only where asked for."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.fakes import HALF, ScriptedEngine
from tests.server.serving import MODEL, serving

HI: Any = [{"role": "user", "content": "Hi"}]
WORDS = ["One", " two", " thrée"]


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(["".join(WORDS)])


@pytest.fixture
def client(engine: ScriptedEngine) -> Iterator[openai.OpenAI]:
    with serving(engine) as running, running.client() as client:
        yield client


def test_a_chat_has_its_tokens_with_the_likeliest_beside_them(client: openai.OpenAI) -> None:
    (choice,) = client.chat.completions.create(model=MODEL, messages=HI, logprobs=True, top_logprobs=2).choices
    assert choice.logprobs is not None
    assert choice.logprobs.content is not None
    tokens = choice.logprobs.content
    assert [token.token for token in tokens] == WORDS
    assert [bytes(token.bytes or []).decode() for token in tokens] == WORDS
    assert {token.logprob for token in tokens} == {-0.25}
    for token in tokens:
        first, half = token.top_logprobs
        assert (first.token, first.logprob) == (token.token, token.logprob)
        assert (half.token, half.logprob, half.bytes) == (r"\xf0\x9f", HALF.logprob, list(HALF.spelling))


def test_streamed_it_has_the_same_in_parts(client: openai.OpenAI) -> None:
    asked: Any = {"model": MODEL, "messages": HI, "logprobs": True, "top_logprobs": 1}
    (whole,) = client.chat.completions.create(**asked).choices
    parts = [chunk.choices[0] for chunk in client.chat.completions.create(**asked, stream=True)]
    assert whole.logprobs is not None
    told = [token for part in parts if part.logprobs for token in part.logprobs.content or []]
    assert told == whole.logprobs.content
    for part in parts:
        content = (part.logprobs and part.logprobs.content) or []
        assert "".join(token.token for token in content) == (part.delta.content or "")


def test_a_text_has_them_as_the_older_api_does(client: openai.OpenAI) -> None:
    (choice,) = client.completions.create(model=MODEL, prompt="Once", logprobs=2).choices
    assert choice.logprobs is not None
    assert choice.logprobs.tokens == WORDS
    assert choice.logprobs.token_logprobs == [-0.25] * 3
    assert choice.logprobs.text_offset == [0, 3, 7]
    assert choice.logprobs.top_logprobs is not None
    assert choice.logprobs.top_logprobs[0] == {"One": -0.25, r"bytes:\xf0\x9f": -1.5}
    streamed = client.completions.create(model=MODEL, prompt="Once", logprobs=0, stream=True)
    parts = [chunk.choices[0].logprobs for chunk in streamed]
    assert [offset for part in parts if part for offset in part.text_offset or []] == [0, 3, 7]
    assert [top for part in parts if part for top in part.top_logprobs or []] == [{word: -0.25} for word in WORDS]


@pytest.mark.parametrize(
    ("asked", "likeliest"),
    [
        ({}, None),
        ({"logprobs": False, "top_logprobs": 3}, None),
        ({"logprobs": True}, 0),
        ({"logprobs": True, "top_logprobs": 20}, 20),
        ({"top_logprobs": 3}, 3),
    ],
)
def test_who_does_not_ask_is_not_told(
    client: openai.OpenAI, engine: ScriptedEngine, asked: Any, likeliest: int | None
) -> None:
    (choice,) = client.chat.completions.create(model=MODEL, messages=HI, **asked).choices
    assert (choice.logprobs is None) == (likeliest is None)
    assert engine.requests[0].likeliest == likeliest
