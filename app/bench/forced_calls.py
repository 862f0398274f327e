"""Count the answers that a model gives as text, and as calls, to questions that need no tool, and to some that do.

python -m bench.forced_calls MODEL_FOLDER, of one model or of a pair. A call is forced if the model writes another text
without the grammar.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headstart.engine import local
from headstart.engine.engine import (
    ConversationRequest,
    GenerationRequest,
    LoadOptions,
    Message,
    PromptRequest,
    Step,
    Tool,
    Tools,
)
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.engine.local import LocalEngine
from headstart.library.manifest import DRAFT_FOLDER, TARGET_FOLDER
from headstart.server.routes.replies import read_whole
from headstart.tools.calls import reader_of

_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = Tools((Tool("get_weather", json.dumps(_CITY), "Get the weather of a city"),))
TEXTS = (
    "Convert this YAML to JSON: city: Oslo, temp: 3",
    "Convert this YAML to JSON: name: Ann, age: 30, city: New York",
    "Convert this CSV to JSON: id,name\n1,Ann\n2,Bob",
    "Write a JSON object with three colours and their hex codes.",
    "Give me a JSON array of the first five primes.",
    "Show a package.json of a small Node app.",
    "Show a tsconfig.json with strict mode.",
    "Write a JSON schema of a person with name and age.",
    "Give a GeoJSON point for London.",
    "Answer with JSON only: is 7 prime? Use the key `prime`.",
    "Extract name and city as JSON: Ann lives in Paris.",
    "Write the JSON body of a request that creates a user.",
    "Turn this into JSON: the book Emma by Jane Austen, 1815.",
    "What does {} mean in Python?",
    "Write a Python function that adds two numbers.",
    "Write a shell command that lists files, in a block of code.",
    "Show a Dockerfile for a Python app.",
    "Write an SQL query for all users older than 30.",
    "Fix this JSON: {a: 1, b: 2,}",
    "Explain the <tool_call> format that you use.",
    "What does <tool_call> mean in a chat template?",
    "What is the difference between JSON and YAML?",
    "Who wrote Emma?",
    "Show an example of an OpenAI function definition in JSON.",
    "Write an HTML form with a text field.",
)
CALLS = ("What is the weather in Oslo?", "Is it raining in Paris right now?", "How warm is it in Rome today?")
MAX_TOKENS = 120


@dataclass(frozen=True)
class CallOutcome:
    written: str
    num_calls: int
    is_whole: bool  # text and calls are all that was written
    is_forced: bool


def answers(engine: LocalEngine, questions: tuple[str, ...]) -> Iterator[CallOutcome]:
    """Yield the outcome of each question."""
    for question in questions:
        request = ConversationRequest((Message("user", question),), max_new_tokens=MAX_TOKENS, tools=TOOLS)
        written = _text(engine, request)
        text, calls = read_whole(written, reader_of(request))
        ids = tuple(engine.tokenizer.prompt_of(request, sys.maxsize))
        free = PromptRequest(max_new_tokens=MAX_TOKENS, prompt=ids)
        is_forced = bool(calls) and _text(engine, free) != written
        yield CallOutcome(written, len(calls), bool(calls) or text == written, is_forced)


def _text(engine: LocalEngine, request: GenerationRequest) -> str:
    return "".join(event.text for event in engine.generate(request) if isinstance(event, Step))


def main(folder: Path) -> None:
    is_pair = (folder / TARGET_FOLDER).is_dir()
    target, draft = (folder / TARGET_FOLDER, folder / DRAFT_FOLDER) if is_pair else (folder, None)
    engine = local.load(ResolvedOptions.read(LoadOptions(target, draft, context=2048)))
    for kind, questions in (("need no tool", TEXTS), ("need the tool", CALLS)):
        outcomes = list(answers(engine, questions))
        for question, each in zip(questions, outcomes, strict=True):
            if each.num_calls or not each.is_whole:
                cause = "forced" if each.is_forced else "by the model itself"
                extent = "whole" if each.is_whole else "cut"
                print(f"{question!r}: {each.num_calls} calls {cause}, {extent}: {each.written!r}")
        called, forced = sum(each.num_calls > 0 for each in outcomes), sum(each.is_forced for each in outcomes)
        num_cut = sum(not each.is_whole for each in outcomes)
        print(f"{len(outcomes)} questions that {kind}: {called} called, {forced} forced, {num_cut} cut", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
