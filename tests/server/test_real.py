"""A real model behind the server says what it says in the terminal."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headstart.cli import load_apart, main
from headstart.engine.engine import LoadOptions, Numerics
from tests.server.serving import MODEL, serving

QUESTION = "Write three short sentences about rivers."


def test_serve_and_the_terminal_give_the_same_greedy_text(
    real_smollm2: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--model", str(real_smollm2), "--numerics", "exact", "--max-new-tokens", "40", "--json"]
    assert main(["chat", *flags, "--prompt", QUESTION]) == 0
    said = json.loads(capsys.readouterr().out)
    schema = {"type": "object", "properties": {"length": {"type": "integer"}}, "required": ["length"]}
    with (
        closing(load_apart(LoadOptions(real_smollm2, numerics=Numerics.EXACT))) as engine,
        serving(engine) as running,
        running.client() as client,
    ):
        create: Any = client.chat.completions.create  # whose many forms mypy cannot match with a mapping
        asked = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 40}
        reply = create(**asked, temperature=0)
        again = create(**asked, prediction={"type": "content", "content": said["text"]})
        form = {"type": "json_schema", "json_schema": {"name": "river", "schema": schema}}
        formed = create(**asked | {"max_tokens": 400}, response_format=form)
    assert reply.choices[0].message.content == again.choices[0].message.content == said["text"]
    assert reply.usage.completion_tokens == len(said["token_ids"])
    accepted = [answer.usage.completion_tokens_details.accepted_prediction_tokens for answer in (reply, again)]
    assert accepted[1] > accepted[0]
    if formed.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(formed.choices[0].message.content)["length"], int)
