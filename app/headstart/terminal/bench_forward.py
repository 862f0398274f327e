"""`headstart bench forward`: what a pass costs, as a table, a file and a picture. Measures nothing itself."""

import argparse
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from headstart import library
from headstart.engine.engine import Engine, LoadOptions
from headstart.terminal import bench_plot
from headstart.terminal.command import Command, Load
from headstart.terminal.harmless import harmless
from headstart.terminal.measuring import whole_number, writable_file, write_json
from headstart.terminal.model_flags import add_model_arguments, load_options
from headstart.terminal.screen import Screen

if TYPE_CHECKING:
    from headstart.engine.bench.forward import ForwardResult, Timed

_DEFAULT_MOST, _DEFAULT_CONTEXT = 1024, 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench forward`."""
    add_model_arguments(parser)
    work = parser.add_argument_group("passes")
    for name, default, words in (
        ("most-tokens", _DEFAULT_MOST, "most tokens of a pass"),
        ("most-context", _DEFAULT_CONTEXT, "longest context"),
        ("repeats", 5, "passes of each kind"),
    ):
        work.add_argument(
            f"--{name}", type=whole_number(name, 1), default=default, metavar="N", help=f"{words} (default: {default})"
        )
    output = parser.add_argument_group("output")
    output.add_argument("--json", type=writable_file, metavar="FILE", help="write every figure to this file")
    bench_plot.add_argument(output)


def run(arguments: argparse.Namespace, load: Load) -> int:
    """Measure, print the tables, write the files. Returns the exit code."""
    from headstart.engine.bench.forward import as_json  # noqa: PLC0415 - `headstart --help` need not wait for it

    options = load_options(arguments, library.choose(arguments.model, arguments.draft))
    screen = Screen()
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        result = _measure(arguments, options, engine, screen)
    print(harmless(result.machine.device))
    for table in tables(result):
        Console(highlight=False).print(table)
    if arguments.json:
        write_json(arguments.json, as_json(result))
    if arguments.plot:
        bench_plot.draw_forward(result, arguments.plot)
    return 0


COMMAND = Command("forward", "measure passes by number of tokens and by context", add_arguments, run)


def tables(result: "ForwardResult") -> list[Table]:
    """By number of tokens, and by context."""
    return [
        _table("tokens", {model.name: model.by_tokens for model in result.models}),
        _table("context", {model.name: model.by_context for model in result.models}),
    ]


def _table(title: str, times: Mapping[str, "Mapping[int, Timed]"]) -> Table:
    shown = Table(title, *(f"{name}, ms" for name in times), box=None, padding=(0, 1, 0, 0))
    for count in sorted({count for each in times.values() for count in each}):
        shown.add_row(str(count), *(f"{each[count].median:.1f}" if count in each else "–" for each in times.values()))
    return shown


def _measure(arguments: argparse.Namespace, options: LoadOptions, engine: Engine, screen: Screen) -> "ForwardResult":
    from headstart.engine.bench.forward import CONTEXTS, TOKENS, ForwardPlan, measure_forward  # noqa: PLC0415 - as above
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    assert isinstance(engine, LocalEngine), "passes need the models themselves"
    plan = ForwardPlan(
        load=options,
        tokens=[count for count in TOKENS if count <= arguments.most_tokens],
        contexts=[count for count in CONTEXTS if count <= arguments.most_context],
        repeats=arguments.repeats,
    )
    return measure_forward(engine, plan, screen.remark)
