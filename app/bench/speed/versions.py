"""Races two versions of Headstart, or of a model, in turns; the answers are compared prompt by prompt.

python app/bench/speed/versions.py checkouts OLD NEW --model FOLDER
python app/bench/speed/versions.py models OLD NEW

Both print JSON. A ratio above 1 says how many times as fast NEW is; intervals are of geometric means, with 95 %
confidence.

`checkouts` runs `headstart bench` of two folders, each with its own `.venv`. `models` takes two exports of a model, as
with an old head and a new one: how many times as fast as plain decoding of OLD both are in automatic mode, by class and
in all, and NEW beside OLD. Decoding, then with the time to first token. Call it twice: by then both know what their
passes cost. "Tokens a pass" compares how many tokens a pass of the target gave, which a busy machine hardly changes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from headstart.engine.bench.prompts import KINDS, BenchPrompt, read_kinds, read_prompts
from headstart.engine.bench.race import AUTO, PLAIN, OwnMode, TimedAnswer, own_modes, race
from headstart.engine.bench.result import bootstrap_interval, geometric_mean
from headstart.engine.engine import LoadOptions
from headstart.engine.local import load
from headstart.engine.opening import resolve
from headstart.library import library

OLD, NEW = "old", "new"
_NAMES = (PLAIN, AUTO)
_PAIRS = ((OLD, PLAIN), (NEW, PLAIN), (NEW, OLD))
_TIMES: dict[str, Callable[[TimedAnswer], float | None]] = {
    "decoding": lambda run: run.ms_per_token,
    "with TTFT": lambda run: run.total_ms_per_token(len(run.tokens)),
    "tokens a pass": lambda run: run.rounds / len(run.tokens) if run.rounds and run.tokens else None,
}
_Times = dict[tuple[str, str], float]  # ms a token, by prompt and contestant
_Scores = dict[str, dict[str, float | None]]  # by prompt, then contestant: milliseconds or passes a token
_Summary = dict[str, float | None]


def main() -> int:
    """Race, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    checkouts = commands.add_parser("checkouts", help="two versions of Headstart")
    checkouts.set_defaults(run=_race_checkouts)
    checkouts.add_argument("old", type=Path)
    checkouts.add_argument("new", type=Path)
    checkouts.add_argument("--model", required=True, help="a folder that both can load")
    checkouts.add_argument("--rounds", type=int, default=4)
    checkouts.add_argument("--tokens", type=int, default=64)
    models = commands.add_parser("models", help="two exports of a model")
    models.set_defaults(run=_race_models)
    models.add_argument("old", help="a folder, or the name of an installed model or pair")
    models.add_argument("new")
    models.add_argument("--classes", type=read_kinds, default=KINDS, metavar="NAMES", help="with commas (default: all)")
    models.add_argument("--repeats", type=int, default=1)
    models.add_argument("--tokens", type=int, default=96)
    for command in (checkouts, models):
        command.add_argument("--prompts", type=int, default=1, help="of each class")
    given = parser.parse_args()
    print(json.dumps(given.run(given), indent=2))
    return 0


def _race_checkouts(given: argparse.Namespace) -> dict[str, _Summary]:
    checkouts = (given.old, given.new)
    command = ["--model", given.model, "--tokens", str(given.tokens), "--prompts", str(given.prompts)]
    ratios: dict[str, list[float]] = {name: [] for name in _NAMES}
    with tempfile.TemporaryDirectory() as homes:
        for number in range(given.rounds):
            found = {}
            for checkout in checkouts if number % 2 == 0 else reversed(checkouts):  # what drifts hits both alike
                print(f"round {number + 1} of {given.rounds}: {checkout}", file=sys.stderr, flush=True)
                found[checkout] = _times(checkout, command, Path(homes) / str(checkouts.index(checkout)))
            old, new = (found[checkout] for checkout in checkouts)
            for (prompt, name), ms in old.items():
                ratios[name].append(ms / new[prompt, name])
    return {name: _summary(each) for name, each in ratios.items()}


def _times(checkout: Path, command: list[str], home: Path) -> _Times:
    """Run one benchmark with a home of this checkout's own, so that nothing learned is shared."""
    home.mkdir(exist_ok=True)
    file = home / "bench.json"
    flags = [*command, "--repeats", "1", "--peer", "none", "--contestants", ",".join(_NAMES), "--json", str(file)]
    subprocess.run(
        [checkout / ".venv/bin/headstart", "bench", *flags],
        env={**os.environ, "HEADSTART_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    prompts = json.loads(file.read_text(encoding="utf-8"))["prompts"]
    return {(prompt["id"], name): prompt["scores"][name]["ms_per_token"][0] for prompt in prompts for name in _NAMES}


def _race_models(given: argparse.Namespace) -> dict[str, object]:
    prompts = read_prompts(given.prompts, given.classes)
    runs: dict[tuple[str, str], list[TimedAnswer]] = {}
    with ExitStack() as stack:
        plain, old = _modes(given.old, OLD, given.tokens, stack)
        contestants = [plain, old, _modes(given.new, NEW, given.tokens, stack)[1]]
        for each in contestants:
            each.answer(prompts[0])
        for heat in race(contestants, prompts, given.repeats):
            runs.setdefault((heat.prompt.id, heat.contestant), []).append(heat.run)
            print(f"{heat.prompt.id}, {heat.contestant}", file=sys.stderr, flush=True)
    return {way: _report(_scores(runs, time), prompts) for way, time in _TIMES.items()}


def _modes(name: str, called: str, tokens: int, stack: ExitStack) -> tuple[OwnMode, OwnMode]:
    """Return a model's plain decoding, and its automatic mode under another name."""
    choice = library.choose(name)
    options = LoadOptions(choice.target.folder, choice.draft_folder)
    engine = stack.enter_context(closing(load(resolve(options))))
    plain, auto = own_modes(engine, tokens, engine.forget_all, names=(PLAIN, AUTO))
    return plain, replace(auto, name=called)


def _scores(runs: dict[tuple[str, str], list[TimedAnswer]], time: Callable[[TimedAnswer], float | None]) -> _Scores:
    found: _Scores = {}
    for (prompt, contestant), several in runs.items():
        known = [ms for ms in map(time, several) if ms]
        found.setdefault(prompt, {})[contestant] = geometric_mean(known)
    return found


def _report(scores: _Scores, prompts: Sequence[BenchPrompt]) -> dict[str, dict[str, _Summary]]:
    found: dict[str, dict[str, _Summary]] = {}
    for kind in [*dict.fromkeys(prompt.kind for prompt in prompts), None]:
        timed = [scores[prompt.id] for prompt in prompts if kind in (prompt.kind, None)]
        found[kind or "all"] = {f"{first} to {second}": _compared(timed, first, second) for first, second in _PAIRS}
    return found


def _compared(timed: Sequence[dict[str, float | None]], first: str, second: str) -> _Summary:
    """Return the first speed divided by the second."""
    return _summary([slow / quick for each in timed if (slow := each[second]) and (quick := each[first])])


def _summary(ratios: list[float]) -> _Summary:
    interval = bootstrap_interval(ratios)
    return {
        "times as fast": geometric_mean(ratios),
        "from": interval.low if interval else None,
        "to": interval.high if interval else None,
        "worst": min(ratios, default=None),
        "comparisons": len(ratios),
    }


if __name__ == "__main__":
    sys.exit(main())
