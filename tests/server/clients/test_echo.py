"""The prompt before its answer, with the likelihood of its tokens, as programs that score models ask for it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import openai
import pytest

from headstart.engine.engine import LoadOptions
from headstart.engine.text.tokenizer import Tokenizer
from tests.engine.answers import load
from tests.server.serving import MODEL, serving

TEXT = "The terms of this licence are these: " * 12  # more than one part of a prompt


@pytest.fixture(scope="module")
def client(tiny_target: Path) -> Iterator[openai.OpenAI]:
    with (
        closing(load(LoadOptions(tiny_target))) as engine,
        serving(engine) as running,
        running.client() as client,
    ):
        yield client


def test_echoed_prompt_is_scored_like_an_answer(client: openai.OpenAI, tiny_target: Path) -> None:
    ask: Any = client.completions.create
    ids = Tokenizer(tiny_target).raw_prompt(TEXT)
    asked = {"model": MODEL, "prompt": ids, "echo": True, "logprobs": 2, "temperature": 0}
    whole = ask(**asked, max_tokens=0).choices[0]
    told = whole.logprobs
    assert whole.text == TEXT
    assert (told.token_logprobs[0], told.top_logprobs[0], len(told.tokens)) == (None, None, len(ids))
    assert "".join(told.tokens) == TEXT
    assert all(TEXT[at:].startswith(token) for at, token in zip(told.text_offset, told.tokens, strict=True))
    for place in (1, 128, 129, len(ids) - 1):  # the parts of a prompt have 128 tokens
        forced = ask(model=MODEL, prompt=ids[:place], max_tokens=1, logprobs=0, logit_bias={str(ids[place]): 100})
        assert forced.choices[0].logprobs.tokens == told.tokens[place : place + 1]
        (logprob,) = forced.choices[0].logprobs.token_logprobs
        assert told.token_logprobs[place] == pytest.approx(logprob, abs=1e-3)
    more = ask(**asked, max_tokens=3).choices[0]
    assert more.text.startswith(TEXT)
    assert more.logprobs.token_logprobs[1 : len(ids)] == pytest.approx(told.token_logprobs[1:], abs=1e-3)
    assert more.logprobs.text_offset[len(ids)] == len(TEXT)
    chunks = list(ask(**asked, max_tokens=3, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == more.text
    streamed = [chunk.choices[0].logprobs for chunk in chunks if chunk.choices[0].logprobs]
    assert [token for each in streamed for token in each.tokens] == more.logprobs.tokens


def test_echo_changes_no_answer(client: openai.OpenAI) -> None:
    asked: Any = {"model": MODEL, "prompt": TEXT, "max_tokens": 8, "temperature": 0}
    before = client.completions.create(**asked)
    echoed = client.completions.create(**asked, echo=True)
    after = client.completions.create(**asked)
    assert echoed.choices[0].text == TEXT + before.choices[0].text
    assert after.choices[0].text == before.choices[0].text
