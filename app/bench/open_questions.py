"""How good the first answers are: loops and broken answers to thirty open questions, by way of sampling.

PYTHONPATH=app python app/bench/open_questions.py --model NAME [--sampling NAME ...] [--tokens 300] [--output FILE.json]

The questions and the ways are in open_questions.toml; question n is asked with seed n. Writes every answer to the file,
prints a table in Markdown.
"""

import argparse
import json
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from headstart import library
from headstart.cli import load_apart
from headstart.engine.engine import Engine, Finish, FinishReason, LoadOptions, Message, Request, Sampling, Step

_RUN = 4  # words
_MOST_STRANGE = 0.02  # of the characters of a text


@dataclass(frozen=True)
class Answer:
    """What became of one question asked in one way."""

    way: str
    kind: str
    question: str
    text: str
    tokens: int
    reason: FinishReason

    @property
    def is_broken(self) -> bool:
        """Whether there is no text in it that anybody could read."""
        strange = sum(unicodedata.category(sign) in {"Cc", "Cn", "Co"} and sign != "\n" for sign in self.text)
        strange += self.text.count("\N{REPLACEMENT CHARACTER}")
        return not self.text.strip() or strange > _MOST_STRANGE * len(self.text) + 2

    @property
    def freshness(self) -> float:
        """The share of its runs of four words that it has only once, its first time counted."""
        words = self.text.split()
        runs = Counter(tuple(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1))
        return len(runs) / runs.total() if runs else 1.0


def main() -> None:
    """Load, ask, print."""
    options = _arguments()
    asked = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    ways = {name: Sampling(**asked["sampling"][name]) for name in options.sampling}
    choice = library.choose(options.model)
    load = LoadOptions(choice.target.folder, choice.draft.folder if choice.draft else None)
    found: list[Answer] = []
    with closing(load_apart(load)) as engine:
        for answer in _answers(engine, asked["question"], ways, options.tokens):
            found.append(answer)
            if options.output:
                told = [{**asdict(each), "freshness": round(each.freshness, 3)} for each in found]
                options.output.write_text(json.dumps(told, indent=1, ensure_ascii=False), encoding="utf-8")
    print(table(found, options.tokens))


def table(answers: Iterable[Answer], tokens: int) -> str:
    """A row for each way."""
    lines = [
        f"| sampling | ended by itself | looped | broken | cut at {tokens} tokens | four words new |",
        "| :-- | --: | --: | --: | --: | --: |",
    ]
    by_way: dict[str, list[Answer]] = {}
    for answer in answers:
        by_way.setdefault(answer.way, []).append(answer)
    for way, given in by_way.items():
        reasons = Counter(answer.reason for answer in given)
        broken, fresh = (
            sum(answer.is_broken for answer in given),
            sum(answer.freshness for answer in given) / len(given),
        )
        counts = (reasons[FinishReason.STOP], reasons[FinishReason.REPETITION], broken, reasons[FinishReason.LENGTH])
        lines.append(f"| {way} | {' | '.join(map(str, counts))} | {fresh:.0%} |")
    return "\n".join(lines)


def _answers(
    engine: Engine, questions: Iterable[Mapping[str, str]], ways: Mapping[str, Sampling], tokens: int
) -> Iterator[Answer]:
    for way, sampling in ways.items():
        for seed, question in enumerate(questions, start=1):
            text = question["text"].strip()
            asked = Request((Message("user", text),), tokens, replace(sampling, seed=seed))
            parts: list[str] = []
            for event in engine.generate(asked):
                if isinstance(event, Step):
                    parts.append(event.text)
                elif isinstance(event, Finish):
                    written, reason = len(event.token_ids), event.reason
            yield Answer(way, question["kind"], text, "".join(parts), written, reason)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["sampling"]
    parser.add_argument("--model", required=True, help="a model or pair of the library")
    parser.add_argument("--sampling", nargs="+", choices=known, default=list(known), metavar="NAME", help="which ways")
    parser.add_argument("--tokens", type=int, default=300, help="longest answer (default: 300)")
    parser.add_argument("--output", type=Path, help="where all answers go, as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
