"""Prompts of clients that stay in memory."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headstart.engine.engine import LoadOptions, Mode, Sampling, Speculation
from tests.engine.answers import load
from tests.server.serving import MODEL, Running, serving

PLAIN: Any = {"sampling": Sampling(automatic=("temperature",)), "speculation": Speculation(mode=Mode.OFF)}
LONG = "These are the terms of the work of number {}, and these are its conditions. " * 12


@pytest.fixture(scope="module")
def running(tiny_target: Path) -> Iterator[Running]:
    with closing(load(LoadOptions(tiny_target))) as engine, serving(engine, **PLAIN) as running:
        yield running


def test_prefixes_of_two_clients_are_kept(running: Running) -> None:
    chats: list[list[Any]] = [[{"role": "user", "content": LONG.replace("{}", str(name))}] for name in (1, 2)]
    with running.client() as first, running.client() as second:
        for turn in range(3):
            for client, messages in zip((first, second), chats, strict=True):
                reply = client.chat.completions.create(
                    model=MODEL, messages=messages, max_tokens=8, temperature=1, extra_body={"top_k": 1}
                )
                usage: Any = reply.usage
                new = usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens
                assert (new < 40) == (turn > 0)
                messages += [
                    {"role": "assistant", "content": reply.choices[0].message.content},
                    {"role": "user", "content": "And then?"},
                ]


def test_prefix_of_a_read_prompt_is_reused(running: Running) -> None:
    document: Any = {"role": "system", "content": f"Read this. {LONG}"}
    question: Any = {"role": "user", "content": "What are the terms?"}
    other: Any = {"role": "user", "content": "What is another text?"}
    with running.client() as client:
        create = client.chat.completions.create
        alone: Any = create(model=MODEL, messages=[document], max_tokens=0)
        create(model=MODEL, messages=[other], max_tokens=8)
        told: Any = create(model=MODEL, messages=[document, question], max_tokens=8)
    assert (alone.choices[0].message.content, alone.usage.completion_tokens) == ("", 0)
    assert alone.usage.prompt_tokens_details.cached_tokens < 0.1 * alone.usage.prompt_tokens
    assert told.usage.prompt_tokens_details.cached_tokens > 0.9 * alone.usage.prompt_tokens


@pytest.mark.parametrize("asked", [{"temperature": 0}, {"temperature": 0.9, "seed": 5}])
def test_same_request_gets_the_same_answer_whatever_was_asked_before(running: Running, asked: Any) -> None:
    messages: Any = [{"role": "user", "content": f"{asked} {LONG * 2}"}]
    with running.client() as client:
        create: Any = client.chat.completions.create
        replies = []
        for number in range(8):
            reply = create(model=MODEL, messages=messages, max_tokens=12, **asked)
            replies.append(reply)
            said = {"role": "assistant", "content": reply.choices[0].message.content}
            create(model=MODEL, messages=[*messages, said, {"role": "user", "content": str(number)}], max_tokens=4)
            create(
                model=MODEL, messages=[{"role": "user", "content": LONG * (number % 3) + "?"}], max_tokens=4, **asked
            )
    assert len({reply.choices[0].message.content for reply in replies}) == 1
    cached = [reply.usage.prompt_tokens_details.cached_tokens for reply in replies]
    assert set(cached[1:]) == {replies[0].usage.prompt_tokens - 1}, "only the last token is read again"
    assert len({reply.system_fingerprint for reply in replies}) == 1
