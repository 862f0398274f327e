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
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from headstart import library
from headstart.cli import load_apart
from headstart.engine.engine import Finish, FinishReason, LoadOptions, Message, Request, Sampling, Step

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
    content = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    known = content["sampling"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a model or pair of the library")
    parser.add_argument("--sampling", nargs="+", choices=known, default=list(known), metavar="NAME", help="which ways")
    parser.add_argument("--tokens", type=int, default=300, help="longest answer (default: 300)")
    parser.add_argument("--output", type=Path, help="where all answers go, as JSON")
    given = parser.parse_args()
    choice = library.choose(given.model)
    load = LoadOptions(choice.target.folder, choice.draft.folder if choice.draft else None)
    found: list[Answer] = []
    with closing(load_apart(load)) as engine:
        for way, (seed, question) in product(given.sampling, enumerate(content["question"], start=1)):
            text = question["text"].strip()
            asked = Request((Message("user", text),), given.tokens, Sampling(**known[way], seed=seed))
            *steps, end = engine.generate(asked)
            assert isinstance(end, Finish)
            said = "".join(step.text for step in steps if isinstance(step, Step))
            found.append(Answer(way, question["kind"], text, said, len(end.token_ids), end.reason))
            if given.output:
                kept = [{**asdict(each), "freshness": round(each.freshness, 3)} for each in found]
                given.output.write_text(json.dumps(kept, indent=1, ensure_ascii=False), encoding="utf-8")
    print(table(found, given.tokens))


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
        broken = sum(answer.is_broken for answer in given)
        fresh = sum(answer.freshness for answer in given) / len(given)
        counts = (reasons[FinishReason.STOP], reasons[FinishReason.REPETITION], broken, reasons[FinishReason.LENGTH])
        lines.append(f"| {way} | {' | '.join(map(str, counts))} | {fresh:.0%} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
