"""What a trimmed draft head gains and loses: ms per guess, acceptance, ms per token, by rows kept. Prints JSON.

PYTHONPATH=app python app/bench/draft_head.py --model PAIR [--rows 0 65536 32768] [--prompts 2] [--tokens 96]

One target serves all drafts; each prompt is answered with every number of rows in turn (0: the whole head), greedily
and from cold caches, so that whatever else the machine does falls on all alike.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from headstart import library, paths
from headstart.engine.bench.prompts import BenchPrompt, read_prompts
from headstart.engine.engine import Mode, Numerics, Origin, Request, Speculation, Step
from headstart.engine.loading import LoadedModel, Place, load_model
from headstart.engine.local import LocalEngine
from headstart.engine.measurements import Measurements
from headstart.engine.tokenizer import Tokenizer

KINDS = ("code", "explanation", "story")
CHINESE = (
    "请解释为什么天空是蓝色的,写两段话。",
    "写一个关于老渔夫和大海的短故事。",
    "如何准备一次成功的面试?请分点说明。",
    "量子计算机和普通计算机有什么不同?",
)
SPECULATIONS = {"fixed 4": Speculation(Mode.FIXED, 4), "auto": Speculation()}


@dataclass
class Sums:
    """Of all answers of a class with one head."""

    tokens: int = 0
    ms: float = 0.0
    rounds: int = 0
    guessed: int = 0  # tokens drafted, and checked, by the draft model
    accepted: int = 0
    drafting_ms: float = 0.0


def main() -> None:
    """Load, answer, print."""
    options = _arguments()
    parts = library.choose(options.model)
    assert parts.draft is not None, "a pair has a draft"
    place = Place("CPU", Numerics.FAST, 2048)
    target = load_model(parts.target.folder, place, paths.measurements_folder())
    tokenizer = Tokenizer(parts.target.folder)
    with TemporaryDirectory() as scratch:
        engines = {}
        for rows in options.rows:
            draft = load_model(parts.draft.folder, replace(place, rows=rows), paths.measurements_folder())
            engines[rows] = _engine(target, draft, tokenizer, Path(scratch))
        found = _measure(engines, options.prompts, options.tokens)
    print(json.dumps(found, indent=1))


def _engine(target: LoadedModel, draft: LoadedModel, tokenizer: Tokenizer, scratch: Path) -> LocalEngine:
    rows = 0 if draft.kept is None else draft.kept.size
    return LocalEngine(target, draft, tokenizer, Measurements(scratch, f"head-{rows}", {"rows": rows}))


def _measure(engines: dict[int, LocalEngine], prompts: int, tokens: int) -> list[dict[str, object]]:
    sums: dict[tuple[str, str, int], Sums] = defaultdict(Sums)
    for number, prompt in enumerate(_prompts(prompts)):
        for name, speculation in SPECULATIONS.items():
            order = list(engines.items())
            for rows, engine in reversed(order) if number % 2 else order:
                request = Request(prompt.messages, tokens, speculation=speculation, stop_on_repetition=False)
                _answer(engine, request, sums[name, prompt.kind, rows])
    return [
        {"mode": name, "class": kind, "rows": rows, **_figures(each)}
        for (name, kind, rows), each in sorted(sums.items())
    ]


def _answer(engine: LocalEngine, request: Request, sums: Sums) -> None:
    assert engine.draft is not None
    for model in (engine.target, engine.draft):
        model.runner.rollback(0)
    for event in engine.generate(request):
        if isinstance(event, Step):
            _add(event, sums)


def _add(step: Step, sums: Sums) -> None:
    done = step.round
    sums.tokens += len(done.tokens)
    sums.ms += done.timing.draft_ms + done.timing.verify_ms + done.timing.other_ms
    sums.rounds += 1
    if done.drafter is Origin.DRAFT:
        sums.guessed += done.drafted
        sums.accepted += done.accepted
        sums.drafting_ms += done.timing.draft_ms


def _figures(sums: Sums) -> dict[str, object]:
    return {
        **asdict(sums),
        "ms_per_token": round(sums.ms / sums.tokens, 2),
        "ms_per_guess": round(sums.drafting_ms / sums.guessed, 2) if sums.guessed else None,
        "acceptance_rate": round(sums.accepted / sums.guessed, 4) if sums.guessed else None,
        "tokens_per_round": round(sums.tokens / sums.rounds, 3),
    }


def _prompts(count: int) -> Iterator[BenchPrompt]:
    yield from read_prompts(count, KINDS)
    for number, text in enumerate(CHINESE[:count], start=1):
        yield BenchPrompt(f"chinese-{number}", "chinese", text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a pair whose draft brings a list of tokens")
    parser.add_argument("--rows", type=int, nargs="+", default=[0, 65536, 32768, 16384])
    parser.add_argument("--prompts", type=int, default=2, help="of each class")
    parser.add_argument("--tokens", type=int, default=96, help="longest answer")
    return parser.parse_args()


if __name__ == "__main__":
    main()
