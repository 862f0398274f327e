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
    from headstart.engine.bench.forward import ForwardResult, ModelForward

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
    for line in lines(result):
        print(harmless(line))
    for table in tables(result):
        Console(highlight=False).print(table)
    if arguments.json:
        write_json(arguments.json, as_json(result))
    if arguments.plot:
        bench_plot.draw_forward(result, arguments.plot)
    return 0


COMMAND = Command(
    "forward", "measure passes by number of tokens and by context, beside the memory's limit", add_arguments, run
)


def lines(result: "ForwardResult") -> list[str]:
    """What the tables rest on."""
    bandwidth = result.bandwidth
    slowest, fastest = min(bandwidth.reads) / 1e9, bandwidth.read / 1e9
    shown = [
        f"{result.machine.device}, {bandwidth.threads} threads: the memory gives {slowest:.1f} to {fastest:.1f} GB/s "
        f"to readers, {bandwidth.copy / 1e9:.1f} GB/s to copies; the limit is reckoned with the most."
    ]
    for model in result.models:
        shown.append(f"{model.name} ({model.role}): every step reads {model.step_bytes / 2**20:.0f} MiB of weights.")
        share = model.share_of_limit
        if share:
            first = min(share)
            shown.append(f"  a step behind {first} tokens runs at {share[first]:.0%} of what the memory allows.")
    return shown


def tables(result: "ForwardResult") -> list[Table]:
    """By number of tokens, and by context."""
    names = [model.name for model in result.models]
    tokens = Table("tokens", *(f"{name}, ms" for name in names), box=None, padding=(0, 1, 0, 0))
    for count in _all({model.name: model.by_tokens for model in result.models}):
        tokens.add_row(str(count), *(_ms(model, count) for model in result.models))
    context = Table("context", *(f"{name}, ms (limit)" for name in names), box=None, padding=(0, 1, 0, 0))
    for count in _all({model.name: model.by_context for model in result.models}):
        context.add_row(str(count), *(_step(model, count) for model in result.models))
    return [tokens, context]


def _all(maps: Mapping[str, Mapping[int, object]]) -> list[int]:
    return sorted({count for each in maps.values() for count in each})


def _ms(model: "ModelForward", count: int) -> str:
    return f"{model.by_tokens[count].median:.1f}" if count in model.by_tokens else "–"


def _step(model: "ModelForward", count: int) -> str:
    if count not in model.by_context:
        return "–"
    return f"{model.by_context[count].median:.1f} ({model.limit_ms[count]:.1f})"


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
