"""Recorded sessions of coding agents give the same prompt in whatever order their results come, on every route.

`record_agents.py` wrote them: three turns with two calls each, and of aider, which calls no tools, three questions.
"""

import copy
import json
import random
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from headstart.engine.text.tokenizer import Tokenizer
from tests.server import histories
from tests.server.clients.record_agents import FOLDER
from tests.server.histories import Turn
from tests.server.serving import MODEL, Running, serving
from tests.stand_ins.fakes import ScriptedEngine

PATHS = {"claude": "/v1/messages", "codex": "/v1/responses", "opencode": "/v1/chat/completions"}
PATHS["qwen"] = PATHS["opencode"]
CALLS, TIMES = 6, 5


@pytest.fixture(scope="module")
def engine() -> ScriptedEngine:
    return ScriptedEngine(context=2**20)


@pytest.fixture(scope="module")
def running(engine: ScriptedEngine) -> Iterator[Running]:
    with serving(engine) as running:
        yield running


@pytest.fixture(scope="module")
def tokenizer(tiny_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = Path(shutil.copytree(tiny_target, tmp_path_factory.mktemp("templated") / "model"))
    (folder / "chat_template.jinja").write_text(histories.TEMPLATE, encoding="utf-8")
    return Tokenizer(folder)


def recording(agent: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((FOLDER / f"{agent}.json").read_text(encoding="utf-8"))
    return body | ({"max_tokens": 9} if agent == "claude" else {})


def is_result(item: dict[str, Any]) -> bool:
    return item.get("role") == "tool" or item.get("type") in {"tool_result", "function_call_output"}


def with_results_shuffled(items: list[Any], dice: random.Random) -> list[Any]:
    """Return messages, items or blocks with each row of results in another order."""
    shuffled = list[Any]()
    for found, row in groupby(items, is_result):
        rows = [*row]
        if found:
            dice.shuffle(rows)
        shuffled += rows
    for each in shuffled:
        if isinstance(each.get("content"), list):
            each["content"] = with_results_shuffled(each["content"], dice)
    return shuffled


def prompt(
    running: Running, engine: ScriptedEngine, tokenizer: Tokenizer, path: str, body: dict[str, Any]
) -> list[int]:
    status, _, text = running.ask("POST", path, body=json.dumps(body | {"model": MODEL, "stream": False}))
    assert status == 200, text
    return tokenizer.prompt_of(engine.requests[-1], sys.maxsize)


@pytest.mark.parametrize("agent", PATHS)
def test_order_of_results_leaves_an_agents_prompt_as_it_is(
    running: Running, engine: ScriptedEngine, tokenizer: Tokenizer, agent: str
) -> None:
    body, dice, path = recording(agent), random.Random(52), PATHS[agent]
    expected = prompt(running, engine, tokenizer, path, body)
    assert sum(len(turn.calls) for turn in engine.requests[-1].messages) == CALLS
    field = "input" if "input" in body else "messages"
    sent = [with_results_shuffled(copy.deepcopy(body[field]), dice) for _ in range(TIMES)]
    assert all(items != body[field] for items in sent)
    for items in sent:
        assert prompt(running, engine, tokenizer, path, body | {field: items}) == expected


@pytest.mark.parametrize("agent", [*PATHS, "aider"])
def test_session_of_an_agent_gives_one_prompt_on_every_route(
    running: Running, engine: ScriptedEngine, tokenizer: Tokenizer, agent: str
) -> None:
    prompt(running, engine, tokenizer, PATHS.get(agent, PATHS["opencode"]), recording(agent))
    turns, dice = list(turns_of(engine)), random.Random(52)
    assert len(turns) > CALLS // 2
    prompts = set[tuple[int, ...]]()
    for path, body_of in histories.ROUTES.items():
        prompts.add(tuple(prompt(running, engine, tokenizer, path, body_of(turns))))
        if path == "/api/chat" and agent == "codex":  # two calls of one tool differ by their order alone
            continue
        for _ in range(TIMES):
            mixed = [replace(turn, results=tuple(dice.sample(turn.results, len(turn.results)))) for turn in turns]
            prompts.add(tuple(prompt(running, engine, tokenizer, path, body_of(mixed))))
    assert len(prompts) == 1


def turns_of(engine: ScriptedEngine) -> Iterator[Turn]:
    """Yield the turns of the last request, with ids for its calls."""
    messages = list(engine.requests[-1].messages)
    for at, message in enumerate(messages):
        if message.role == "tool":
            continue
        ids = [f"call{at}{number}" for number in range(len(message.calls))]
        calls = [(id_, call.name, json.loads(call.arguments)) for id_, call in zip(ids, message.calls, strict=True)]
        results = [(id_, messages[at + 1 + number].content) for number, id_ in enumerate(ids)]
        texts = message.parts or ((message.content,) if message.content else ())
        yield Turn(message.role, texts, tuple(calls), tuple(results))
