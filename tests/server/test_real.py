"""A real model says the same through every door: the terminal, OpenVINO GenAI, the server, another Headstart."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headstart import api_keys, remotes
from headstart.cli import load_apart, main
from headstart.engine.engine import LoadOptions, Remote
from tests.server.serving import KEY, MODEL, Running, serving

QUESTION = "Write three short sentences about rivers."
ASKED: Any = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 40}
Type = Callable[..., Any]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Type:
    """Return the greedy answer of `headstart chat` with these flags."""

    def chat(*flags: str) -> Any:
        assert main(["chat", *flags, "--max-new-tokens", "40", "--greedy", "--json", "--prompt", QUESTION]) == 0
        return json.loads(capsys.readouterr().out)

    return chat


@pytest.fixture
def running(real_smollm2: Path) -> Iterator[Running]:
    """The model behind the server."""
    with closing(load_apart(LoadOptions(real_smollm2))) as engine, serving(engine) as running:
        yield running


def test_every_api_gives_the_same_greedy_text(real_smollm2: Path, running: Running, typed: Type) -> None:
    here = ("--model", str(real_smollm2))
    said = typed(*here)
    genai = typed(*here, "--engine", "genai", "--speculation", "off")["token_ids"]
    assert genai[:16] == said["token_ids"][:16]  # it rounds in another way, which shows sooner or later
    api_keys.keep("here", KEY)
    remotes.add(Remote("here", running.url))
    assert typed("--model", "remote:here")["text"] == said["text"]
    with running.client() as client:
        reply = client.chat.completions.create(**ASKED, temperature=0, logprobs=True, top_logprobs=1)
    assert reply.choices[0].message.content == said["text"]
    tokens = reply.choices[0].logprobs.content
    assert b"".join(bytes(token.bytes) for token in tokens).decode() == said["text"]
    assert all(token.top_logprobs[0].bytes == token.bytes for token in tokens)  # it is the greedy choice
    assert reply.usage.completion_tokens == len(tokens) == len(said["token_ids"])
