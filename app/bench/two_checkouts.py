"""Races two checkouts of Headstart on the same models: benchmarks run in turns and are compared prompt by prompt.

`python app/bench/two_checkouts.py OLD NEW --model FOLDER` prints JSON. Each folder has its own `.venv`. A ratio above 1
says how many times as fast NEW is; the interval is of the geometric mean over all prompts and rounds, with 95 %
confidence.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from headstart.engine.bench.race import AUTO, PLAIN
from headstart.engine.bench.result import bootstrap_interval, geometric_mean

_NAMES = (PLAIN, AUTO)
Times = dict[tuple[str, str], float]  # ms a token, by prompt and contestant


def main() -> int:
    """Print how many times as fast NEW is as OLD."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--model", required=True, help="a folder that both can load")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--prompts", type=int, default=1, help="of each class")
    arguments = parser.parse_args()
    checkouts = (arguments.old, arguments.new)
    command = ["--model", arguments.model, "--tokens", str(arguments.tokens), "--prompts", str(arguments.prompts)]
    ratios: dict[str, list[float]] = {name: [] for name in _NAMES}
    with tempfile.TemporaryDirectory() as homes:
        for number in range(arguments.rounds):
            found = {}
            for checkout in checkouts if number % 2 == 0 else reversed(checkouts):  # what drifts hits both alike
                print(f"round {number + 1} of {arguments.rounds}: {checkout}", file=sys.stderr, flush=True)
                found[checkout] = _times(checkout, command, Path(homes) / str(checkouts.index(checkout)))
            old, new = (found[checkout] for checkout in checkouts)
            for (prompt, name), ms in old.items():
                ratios[name].append(ms / new[prompt, name])
    print(json.dumps({name: _summary(each) for name, each in ratios.items()}, indent=2))
    return 0


def _times(checkout: Path, command: list[str], home: Path) -> Times:
    """One benchmark in a home that only this checkout writes to, so that what it learns stays its own."""
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


def _summary(ratios: list[float]) -> dict[str, object]:
    interval = bootstrap_interval(ratios)
    return {
        "times as fast": geometric_mean(ratios),
        "from": interval.low if interval else None,
        "to": interval.high if interval else None,
        "comparisons": len(ratios),
    }


if __name__ == "__main__":
    sys.exit(main())
