"""Count the answers that a model gives as text, and as calls, to questions that need no tool, and to some that do.

python -m bench.forced_calls MODEL_FOLDER
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from headstart.engine import local
from headstart.engine.engine import LoadOptions, Message, Request, Sampling, Speculation, Step, Tool, Tools
from headstart.engine.load_options import ResolvedOptions
from headstart.engine.local import LocalEngine
from headstart.server.replies import read_whole
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


def answers(engine: LocalEngine, questions: tuple[str, ...]) -> Iterator[tuple[str, int, bool]]:
    """Yield each question's answer, the number of its calls, and whether text and calls are all that was written."""
    for question in questions:
        request = Request((Message("user", question),), MAX_TOKENS, Sampling(), Speculation(), tools=TOOLS)
        written = "".join(event.text for event in engine.generate(request) if isinstance(event, Step))
        text, calls = read_whole(written, reader_of(request))
        yield written, len(calls), bool(calls) or text == written


def main(folder: str) -> None:
    engine = local.load(ResolvedOptions.read(LoadOptions(Path(folder), context=2048)))
    for kind, questions in (("need no tool", TEXTS), ("need the tool", CALLS)):
        results = list(answers(engine, questions))
        for question, (written, calls, is_whole) in zip(questions, results, strict=True):
            if calls or not is_whole:
                print(f"{question!r}: {calls} calls, {'whole' if is_whole else 'cut'}: {written!r}")
        num_called = sum(calls > 0 for _, calls, _ in results)
        num_cut = sum(not is_whole for *_, is_whole in results)
        print(f"{len(results)} questions that {kind}: {num_called} called, {num_cut} cut", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
