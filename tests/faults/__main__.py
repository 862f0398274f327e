"""`python -m tests.faults --rounds 200 --model FOLDER`: the long version, and a table of what was lost.

In pieces: `--minutes 8 --json FILE` again and again, each with the next seed; the file and the table have their sum.
"""

import argparse
import itertools
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.faults import damage, kills
from tests.faults.kills import Where
from tests.faults.table import Result, Row, Try, markdown, read, write

_NICE = 5
_KEPT = "every question and all text older than a second is there"
_SAME_CHAT = f"{_KEPT}; the same chat opens"
_NEXT_COMES = "all text shown is there; the next answer comes"


@dataclass(frozen=True)
class Kind:
    """A fault, and how often it comes in a hundred rounds."""

    name: str
    promise: str
    share: int
    attempt: Try


def main(words: Sequence[str] | None = None) -> int:
    """0 when nothing was lost."""
    arguments = _parser().parse_args(words)
    earlier = read(arguments.json) if arguments.json else Result()
    for file in arguments.add:
        earlier = earlier.with_result(read(file))
    arguments.seed = arguments.seed or max(earlier.seeds, default=0) + 1
    os.nice(_NICE)
    logging.disable()  # of what is told thousands of times
    with ExitStack() as ending:
        root = arguments.folder or Path(ending.enter_context(_temporary()))
        os.environ["HEADSTART_HOME"] = str(root / "files")
        os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
        faults = _run(_kinds(root, arguments), arguments, earlier)
    print(f"\nseed {arguments.seed}", *faults, sep="\n")
    return 1 if faults else 0


def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="headstart-faults-")


def _run(kinds: list[Kind], arguments: argparse.Namespace, earlier: Result) -> list[str]:
    """The new losses. Kinds take turns, so that an early end has tried all; what was found is kept after each round."""
    rows = {kind.name: Row(kind.name, kind.promise) for kind in kinds}
    order = [kind for kind in kinds for _ in range(kind.share)]
    Random(arguments.seed).shuffle(order)
    started, result = time.monotonic(), earlier
    if arguments.json and arguments.add:
        write(arguments.json, result)
    for number, kind in zip(range(arguments.rounds), itertools.cycle(order), strict=False):
        if time.monotonic() - started > 60.0 * arguments.minutes:
            break
        rows[kind.name].add(kind.attempt, arguments.seed * 100_000 + number)
        result = earlier.with_piece(arguments.seed, time.monotonic() - started, rows.values())
        if arguments.json:
            write(arguments.json, result)
    print(markdown(result.rows))
    return [fault for row in rows.values() for fault in row.faults]


def _kinds(root: Path, arguments: argparse.Namespace) -> list[Kind]:
    kinds = _all_kinds(root, arguments)
    return [kind for kind in kinds if re.search(arguments.only, kind.name)]


def _all_kinds(root: Path, arguments: argparse.Namespace) -> list[Kind]:
    kinds = _of_toy(Where(_home(root / "toy")))
    if arguments.model:
        real = root / "real"  # where a folder was given, a piece goes on in the profile of the last
        real.mkdir(parents=True, exist_ok=True)
        kinds += _of_model(Where(real, pace=""), arguments.model)
    if arguments.source:
        kinds.append(_of_export(_home(root / "exports"), arguments.source))
    return kinds + _of_files(root / "files")


def _of_toy(where: Where) -> list[Kind]:
    return [
        Kind("window killed, toy engine", _SAME_CHAT, 14, _in(kills.kill_window, where)),
        Kind("engine killed, toy engine", _NEXT_COMES, 7, _in(kills.kill_engine, where)),
        Kind("engine hangs, toy engine", f"a sentence; {_NEXT_COMES}", 4, _in(kills.hang_engine, where)),
        Kind("window and engine stopped and resumed", "the answer goes on", 5, _in(kills.stop_for_a_while, where)),
        Kind("two windows at once", f"one stays; {_KEPT}", 5, _in(kills.start_twice, where)),
    ]


def _of_model(where: Where, model: Path) -> list[Kind]:
    (where.home / "models").mkdir(exist_ok=True)
    link = where.home / "models" / model.name
    if not link.is_symlink():
        link.symlink_to(model.resolve())
    return [
        Kind("window killed, real model", _SAME_CHAT, 14, _in(kills.kill_window, where)),
        Kind("engine killed, real model", _NEXT_COMES, 5, _in(kills.kill_engine, where)),
        Kind(
            "engine without memory, real model", "a sentence; the next answer comes", 2, _in(kills.starve_engine, where)
        ),
        Kind("engine hangs, real model", f"a sentence; {_NEXT_COMES}", 1, _in(kills.hang_engine, where)),
    ]


def _of_export(home: Path, source: Path) -> Kind:
    return Kind("export killed", "a whole model or none", 3, lambda chance: kills.kill_export(source, home, chance))


def _of_files(home: Path) -> list[Kind]:
    _home(home)
    told = "it is told or mended; what is written next is read again"
    return [
        Kind(
            "taking in a model killed", "a whole model or none, and nothing beside it", 3, _at(kills.kill_intake, home)
        ),
        Kind("file cut short, zeroed or garbage", told, 20, _at(damage.tear_file, home)),
        Kind(
            "newest changes never reached the disk",
            "all older changes are there",
            8,
            _at(damage.tear_log_of_changes, home),
        ),
        Kind("no room for a file", "the old file stays; the next write succeeds", 10, _at(damage.fill_disk, home)),
        Kind("no room for a message", "a sentence; all others are there", 6, _at(damage.fill_disk_while_saving, home)),
        Kind("no room for an exported chat", "the old file stays", 3, _at(damage.fill_disk_while_exporting, home)),
        Kind("clock jumps by up to ten years", "order, lists and backups as ever", 5, _at(damage.jump_clock, home)),
    ]


def _in(attempt: Callable[[Where, Random], None], where: Where) -> Try:
    return lambda chance: attempt(where, chance)


def _at(attempt: Callable[[Path, Random], None], home: Path) -> Try:
    return lambda chance: attempt(home, chance)


def _home(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=60.0, help="end after so many, whatever was tried by then")
    parser.add_argument("--seed", type=int, default=0, help="default: the next one of the file of --json, or 1")
    parser.add_argument("--only", default="", help="kinds whose name this regular expression finds")
    parser.add_argument("--model", type=Path, help="a model folder, for rounds with a real engine")
    parser.add_argument("--source", type=Path, help="a small Hugging Face folder, for rounds that kill its export")
    parser.add_argument("--folder", type=Path, help="work here, and leave it for the next piece")
    parser.add_argument("--json", type=Path, help="add what was found to this file")
    parser.add_argument("--add", type=Path, nargs="*", default=[], help="results of other runs; see --rounds 0")
    return parser


if __name__ == "__main__":
    sys.exit(main())
