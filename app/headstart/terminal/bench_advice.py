"""`headstart bench advice`: for each class of text what won a race that was written to a file. Loads no model."""

import argparse
import dataclasses
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from headstart.engine.bench.advice import Advice, advice
from headstart.errors import SettingsError
from headstart.terminal.command import Command, Load
from headstart.terminal.harmless import harmless
from headstart.terminal.measuring import writable_file, write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench advice`."""
    parser.add_argument("file", metavar="FILE", help="what `headstart bench speed --json FILE` wrote")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the advice to this file")


def run(arguments: argparse.Namespace, _load: Load) -> int:
    """Read, judge, print. Returns the exit code."""
    given = _read(Path(arguments.file).expanduser())
    Console(highlight=False).print(table(given))
    if arguments.json:
        write_json(arguments.json, {"advice": [dataclasses.asdict(each) for each in given]})
    return 0


COMMAND = Command("advice", "say for each class of text what won a race that was written to a file", add_arguments, run)


def table(given: tuple[Advice, ...]) -> Table:
    """A row for each class."""
    shown = Table("class", "best setting", box=None, padding=(0, 1, 0, 0))
    for title in ("its speedup", "auto's"):
        shown.add_column(title, justify="right")
    for each in given:
        auto = f"{each.auto:.2f}x" if each.auto else "–"
        shown.add_row(harmless(each.kind), each.words, f"{each.speedup:.2f}x", auto)
    return shown


def _read(path: Path) -> tuple[Advice, ...]:
    try:
        return advice(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}).") from None
    except (KeyError, TypeError, AttributeError, ValueError):
        raise SettingsError(f"{path} is no result of `headstart bench speed --json FILE`.") from None
