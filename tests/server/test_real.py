"""A real model says the same through every door: the terminal, OpenVINO GenAI, the server, another Headstart."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headstart import keys, remotes
from headstart.cli import load_apart, main
from headstart.engine.engine import LoadOptions, Mode, Numerics, Remote, Speculation
from tests.server.serving import KEY, MODEL, Running, serving

QUESTION = "Write three short sentences about rivers."
ASKED: Any = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 40}
Type = Callable[..., Any]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Type:
    """What `headstart chat` answers greedily with these flags."""

    def chat(*flags: str) -> Any:
        assert main(["chat", *flags, "--max-new-tokens", "40", "--greedy", "--json", "--prompt", QUESTION]) == 0
        return json.loads(capsys.readouterr().out)

    return chat


@pytest.fixture
def running(real_smollm2: Path) -> Iterator[Running]:
    """The model behind the server, in exact numerics."""
    with closing(load_apart(LoadOptions(real_smollm2, numerics=Numerics.EXACT))) as engine, serving(engine) as running:
        yield running


def test_every_door_gives_the_same_greedy_text(real_smollm2: Path, running: Running, typed: Type) -> None:
    here = ("--model", str(real_smollm2), "--numerics", "exact")
    said = typed(*here)
    assert typed(*here, "--engine", "genai", "--speculation", "off")["token_ids"] == said["token_ids"]
    keys.keep("here", KEY)
    remotes.add(Remote("here", running.url))
    assert typed("--model", "remote:here")["text"] == said["text"]
    with running.client() as client:
        reply = client.chat.completions.create(**ASKED, temperature=0, logprobs=True, top_logprobs=1)
    assert reply.choices[0].message.content == said["text"]
    tokens = reply.choices[0].logprobs.content
    assert b"".join(bytes(token.bytes) for token in tokens).decode() == said["text"]
    assert all(token.top_logprobs[0].bytes == token.bytes for token in tokens)  # it is the greedy choice
    assert reply.usage.completion_tokens == len(tokens) == len(said["token_ids"])


def test_a_prediction_alters_nothing_and_a_form_is_kept(running: Running) -> None:
    schema = {"type": "object", "properties": {"length": {"type": "integer"}}, "required": ["length"]}
    form: Any = {"type": "json_schema", "json_schema": {"name": "river", "schema": schema}}
    with running.client() as client:
        create: Any = client.chat.completions.create  # whose many forms mypy cannot match with a mapping
        reply = create(**ASKED)
        text = reply.choices[0].message.content
        again = create(**ASKED, prediction={"type": "content", "content": text})
        formed = create(**ASKED | {"max_tokens": 400}, response_format=form)
    assert again.choices[0].message.content == text
    accepted = [answer.usage.completion_tokens_details.accepted_prediction_tokens for answer in (reply, again)]
    assert accepted[1] > accepted[0]
    if formed.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(formed.choices[0].message.content)["length"], int)


@pytest.mark.parametrize("asked", [{"temperature": 0}, {"temperature": 0.8, "seed": 5}])
def test_the_same_request_gets_the_same_answer_in_fast_numerics(real_smollm2: Path, asked: Any) -> None:
    with (
        closing(load_apart(LoadOptions(real_smollm2))) as engine,
        serving(engine, speculation=Speculation(mode=Mode.OFF)) as running,
        running.client() as client,
    ):
        create: Any = client.chat.completions.create
        texts = set()
        for number in range(8):
            text = create(**ASKED | {"max_tokens": 20}, **asked).choices[0].message.content
            texts.add(text)
            said = [*ASKED["messages"], {"role": "assistant", "content": text}, {"role": "user", "content": "Go on."}]
            create(**ASKED | {"messages": said, "max_tokens": 5})
            create(
                **ASKED | {"messages": [{"role": "user", "content": QUESTION[: 5 * number + 1]}], "max_tokens": 5},
                **asked,
            )
    assert len(texts) == 1
