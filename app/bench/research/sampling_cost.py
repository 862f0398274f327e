"""What it costs to choose a token: milliseconds a row, by the shape of the row and the sampling. Prints JSON.

PYTHONPATH=app python app/bench/research/sampling_cost.py [--against REVISION] [--vocabulary 151936] [--rows 200]

With --against, the sampler of another revision takes turns with this one on the same rows, so that whatever else the
machine does falls on both alike, and their tokens are compared. `flat` rows keep a third of the vocabulary in top-p.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from types import ModuleType

import numpy as np

from headstart.engine import sampling
from headstart.engine.engine import Sampling
from headstart.engine.sampling import Row

MODULE = "headstart.engine.sampling"
PROMPT = 3000  # tokens that the repetition penalty counts
SAMPLINGS = {
    "greedy": Sampling(),
    "temperature": Sampling(temperature=0.8, seed=3),
    "top-p": Sampling(temperature=0.8, top_p=0.95, seed=3),
    "top-k, top-p": Sampling(temperature=0.7, top_k=20, top_p=0.8, seed=3),
    "top-p, penalties": Sampling(
        temperature=0.8, top_p=0.95, repetition_penalty=1.1, presence_penalty=0.2, frequency_penalty=0.1, seed=3
    ),
}


def peaked(size: int, seed: int) -> Row:
    """Most of the mass on one token, as in most rows of a text."""
    row = np.random.default_rng(seed).normal(0.0, 2.5, size).astype(np.float32)
    row[7:27] += np.linspace(20.0, 10.0, 20, dtype=np.float32)
    return row


def open_ended(size: int, seed: int) -> Row:
    """Some thousand tokens in top-p, as at the beginning of a story."""
    return np.random.default_rng(seed).normal(0.0, 3.0, size).astype(np.float32)


def flat(size: int, seed: int) -> Row:
    """Nearly every token may come."""
    return np.random.default_rng(seed).normal(0.0, 1.0, size).astype(np.float32)


SHAPES: dict[str, Callable[[int, int], Row]] = {"peaked": peaked, "open": open_ended, "flat": flat}


def main() -> None:
    """Measure, print."""
    options = _arguments()
    samplers = {"now": sampling}
    if options.against:
        samplers[options.against] = _at_revision(options.against)
    print(json.dumps([_measured(samplers, shape, name, options) for shape in SHAPES for name in SAMPLINGS], indent=1))


def _measured(modules: dict[str, ModuleType], shape: str, name: str, options: argparse.Namespace) -> dict[str, object]:
    rows = [SHAPES[shape](options.vocabulary, seed) for seed in range(4)]
    prompt = np.random.default_rng(1).integers(0, options.vocabulary, PROMPT).tolist()
    samplers = {which: module.Sampler(SAMPLINGS[name], prompt) for which, module in modules.items()}
    spent: dict[tuple[str, str], list[float]] = defaultdict(list)
    differing = 0
    for number in range(options.rows):
        row, run = rows[number % len(rows)], prompt[: number % 5]
        tokens = set()
        for which, sampler in samplers.items():
            started = time.perf_counter()
            tokens.add(sampler.choose(row, number, run))
            chosen = time.perf_counter()
            tokens.add(sampler.guess(row, number, run).token)
            spent[which, "choose"].append(chosen - started)
            spent[which, "guess"].append(time.perf_counter() - chosen)
        differing += len(tokens) > 1
    figures = {
        f"{call}, {which}": {"min_ms": _ms(min(each)), "median_ms": _ms(float(np.median(each)))}
        for (which, call), each in spent.items()
    }
    return {"row": shape, "sampling": name, **figures, "rows": options.rows, "rows_with_different_tokens": differing}


def _at_revision(revision: str) -> ModuleType:
    """The sampler as it was, beside the one of today."""
    path = f"app/{MODULE.replace('.', '/')}.py"
    source = subprocess.run(["git", "show", f"{revision}:{path}"], capture_output=True, text=True, check=True).stdout
    former = sys.modules[MODULE] = ModuleType(MODULE)
    exec(compile(source, path, "exec"), vars(former))  # noqa: S102 - our own code of another day
    sys.modules[MODULE] = sampling
    return former


def _ms(seconds: float) -> float:
    return round(seconds * 1000.0, 3)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", metavar="REVISION", help="compare with the sampler of this commit")
    parser.add_argument("--vocabulary", type=int, default=151_936)
    parser.add_argument("--rows", type=int, default=200, help="of each shape and sampling")
    return parser.parse_args()


if __name__ == "__main__":
    main()
