"""`python -m tests.faults --rounds 200 --model FOLDER`: many rounds of every fault, and what was lost."""

import argparse
import itertools
import logging
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random

from headstart.errors import HeadstartError
from tests.faults import damage, kills
from tests.faults.kills import Where
from tests.faults.profile import Lost

Attempt = Callable[[Random], None]

# How often each comes in about a hundred rounds.
_OF_TOY = {
    kills.kill_window: 14,
    kills.kill_editor: 5,
    kills.kill_engine: 7,
    kills.hang_engine: 4,
    kills.stop_for_a_while: 5,
    kills.start_twice: 5,
}
_OF_MODEL = {kills.kill_window: 14, kills.kill_engine: 5, kills.starve_engine: 2, kills.hang_engine: 1}
_OF_FILES = {
    kills.kill_intake: 3,
    kills.kill_keeper: 5,
    damage.tear_file: 20,
    damage.tear_log_of_changes: 8,
    damage.fill_disk: 10,
    damage.fill_disk_while_saving: 6,
    damage.fill_disk_while_exporting: 3,
    damage.fill_disk_while_keeping: 3,
    damage.delete_while_keeping: 3,
    damage.jump_clock: 5,
}
_EXPORTS = 3


def run(shares: Mapping[str, tuple[Attempt, int]], rounds: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Return how often each fault was tried, and what was lost; the seed of a loss finds it again."""
    order = [name for name, (_, share) in shares.items() for _ in range(share)]
    Random(seed).shuffle(order)
    tried, lost = Counter[str](), []
    for number, name in zip(range(rounds), itertools.cycle(order), strict=False):
        tried[name] += 1
        try:
            shares[name][0](Random(seed * 100_000 + number))
        except (Lost, HeadstartError, OSError, AssertionError) as error:
            lost.append(f"{name}, seed {seed * 100_000 + number}: {type(error).__name__}: {error}")
    return tried, lost


def main() -> int:
    """Run all rounds. Return 0 if nothing was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="kinds in whose name this stands")
    parser.add_argument("--model", type=Path, help="a model folder, for rounds with a real engine")
    parser.add_argument("--source", type=Path, help="a small Hugging Face folder, for rounds that kill its export")
    given = parser.parse_args()
    os.nice(5)
    logging.disable()  # of what is told thousands of times
    with tempfile.TemporaryDirectory(prefix="headstart-faults-") as folder:
        os.environ["HEADSTART_HOME"] = str(Path(folder) / "files")
        os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
        shares = {name: each for name, each in _shares(Path(folder), given).items() if given.only in name}
        tried, lost = run(shares, given.rounds, given.seed)
    print(*(f"{name}: {count} tried" for name, count in tried.items()), f"{len(lost)} lost", *lost, sep="\n")
    return 1 if lost else 0


def _shares(root: Path, given: argparse.Namespace) -> dict[str, tuple[Attempt, int]]:
    toy, real = Where(root / "toy"), Where(root / "real", pace="")
    for folder in (toy.home, real.home / "models", root / "files", root / "exports"):
        folder.mkdir(parents=True)
    found: dict[str, tuple[Attempt, int]] = {}
    for kill, share in _OF_TOY.items():
        found[f"{kill.__name__}, toy engine"] = partial(kill, toy), share
    if given.model:
        (real.home / "models" / given.model.name).symlink_to(given.model.resolve())
        for kill, share in _OF_MODEL.items():
            found[f"{kill.__name__}, real model"] = partial(kill, real), share
    if given.source:
        found["kill_export"] = partial(kills.kill_export, given.source, root / "exports"), _EXPORTS
    for harm, share in _OF_FILES.items():
        found[harm.__name__] = partial(harm, root / "files"), share
    return found


if __name__ == "__main__":
    sys.exit(main())
