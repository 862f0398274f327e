"""Races two exports of a model, as with an old head and a new one: both answer the same prompts in turns.

`python app/bench/two_models.py OLD NEW` prints JSON: how many times as fast as plain decoding of OLD both are in
automatic mode, by class and in all, and NEW beside OLD. Decoding, then with the time to first token; intervals are of
geometric means over prompts, with 95 % confidence. Call it twice: by then both know what their passes cost. "Tokens a
pass" compares how many tokens a pass of the target gave, which a busy machine hardly changes.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace

from headstart.engine.bench.prompts import KINDS, BenchPrompt, read_kinds, read_prompts
from headstart.engine.bench.race import AUTO, PLAIN, OwnMode, Run, own_modes, race
from headstart.engine.bench.result import bootstrap_interval, geometric_mean
from headstart.engine.engine import LoadOptions
from headstart.engine.local import load
from headstart.engine.opening import resolve
from headstart.library import library

OLD, NEW = "old", "new"
_PAIRS = ((OLD, PLAIN), (NEW, PLAIN), (NEW, OLD))
_TIMES: dict[str, Callable[[Run], float | None]] = {
    "decoding": lambda run: run.ms_per_token,
    "with TTFT": lambda run: run.total_ms_per_token(len(run.tokens)),
    "tokens a pass": lambda run: run.rounds / len(run.tokens) if run.rounds and run.tokens else None,
}
_Scores = dict[str, dict[str, float | None]]  # by prompt, then contestant: milliseconds or passes a token


def main() -> int:
    """Race, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", help="a folder, or the name of an installed model or pair")
    parser.add_argument("new")
    parser.add_argument("--classes", type=read_kinds, default=KINDS, metavar="NAMES", help="with commas (default: all)")
    parser.add_argument("--prompts", type=int, default=1, help="of each class")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=96)
    given = parser.parse_args()
    prompts = read_prompts(given.prompts, given.classes)
    runs: dict[tuple[str, str], list[Run]] = {}
    with ExitStack() as stack:
        plain, old = _modes(given.old, OLD, given.tokens, stack)
        contestants = [plain, old, _modes(given.new, NEW, given.tokens, stack)[1]]
        for each in contestants:
            each.answer(prompts[0])
        for heat in race(contestants, prompts, given.repeats):
            runs.setdefault((heat.prompt.id, heat.contestant), []).append(heat.run)
            print(f"{heat.prompt.id}, {heat.contestant}", file=sys.stderr, flush=True)
    print(json.dumps({way: _report(_scores(runs, time), prompts) for way, time in _TIMES.items()}, indent=2))
    return 0


def _modes(name: str, called: str, tokens: int, stack: ExitStack) -> tuple[OwnMode, OwnMode]:
    """Plain decoding of a model, and its automatic mode under another name."""
    choice = library.choose(name)
    options = LoadOptions(choice.target.folder, choice.draft_folder)
    engine = stack.enter_context(closing(load(resolve(options))))
    plain, auto = own_modes(engine, tokens, engine.forget_all, names=(PLAIN, AUTO))
    return plain, replace(auto, name=called)


def _scores(runs: dict[tuple[str, str], list[Run]], time: Callable[[Run], float | None]) -> _Scores:
    found: _Scores = {}
    for (prompt, contestant), several in runs.items():
        known = [ms for ms in map(time, several) if ms]
        found.setdefault(prompt, {})[contestant] = geometric_mean(known)
    return found


def _report(scores: _Scores, prompts: Sequence[BenchPrompt]) -> dict[str, object]:
    found: dict[str, object] = {}
    for kind in [*dict.fromkeys(prompt.kind for prompt in prompts), None]:
        timed = [scores[prompt.id] for prompt in prompts if kind in (prompt.kind, None)]
        found[kind or "all"] = {f"{first} to {second}": _compared(timed, first, second) for first, second in _PAIRS}
    return found


def _compared(timed: Sequence[dict[str, float | None]], first: str, second: str) -> dict[str, float | None]:
    """Return how many times as fast the first one is."""
    ratios = [slow / quick for each in timed if (slow := each[second]) and (quick := each[first])]
    interval = bootstrap_interval(ratios)
    return {
        "times as fast": geometric_mean(ratios),
        "from": interval.low if interval else None,
        "to": interval.high if interval else None,
        "worst": min(ratios, default=None),
    }


if __name__ == "__main__":
    sys.exit(main())
