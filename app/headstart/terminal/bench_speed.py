"""`headstart bench speed`: its flags, its progress and where its figures go."""

import argparse
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from rich.console import Console

from headstart import library
from headstart.engine.bench.contestants import EVERYTHING, USUAL, WORDS, read_contestants
from headstart.engine.bench.prompts import MOST_PER_KIND, read_prompts
from headstart.engine.bench.race import Heat
from headstart.engine.bench.result import BenchResult, as_json
from headstart.engine.engine import Engine, LoadOptions
from headstart.errors import SettingsError
from headstart.terminal import bench_plot, bench_table
from headstart.terminal.command import Command, Load
from headstart.terminal.measuring import add_kinds, whole_number, writable_file, write_json
from headstart.terminal.model_flags import add_model_arguments, add_trace_arguments, load_options, tracing
from headstart.terminal.screen import Screen

NO_PEER, GENAI = "none", "openvino-genai"
_FILE_WIDTH = 120  # characters, where the output is no terminal

_NUMBERS = (  # name, least, default, help
    ("tokens", 2, 160, "longest answer"),
    ("prompts", 1, 3, f"prompts of each class, {MOST_PER_KIND} at most"),
    ("repeats", 1, 2, "answers of each contestant to each prompt"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench speed`."""
    race = add_race_arguments(parser)
    race.add_argument(
        "--contestants",
        type=read_contestants,
        default=USUAL,
        metavar="NAMES",
        help=f"ways to decode, with commas between them: {WORDS} (default: {_listed(USUAL)})",
    )
    race.add_argument(
        "--sweep",
        action="store_const",
        const=EVERYTHING,
        dest="contestants",
        help="race all of them: fixed lengths 1 to 8, thresholds 0.2 to 0.8, n-grams alone, the draft alone",
    )
    race.add_argument(
        "--peer",
        type=_peer,
        default=GENAI,
        metavar=f"{GENAI}|{NO_PEER}",
        help=f"race against OpenVINO GenAI with the same models, loaded a second time (default: {GENAI})",
    )
    add_output_arguments(parser)
    add_trace_arguments(parser)


def add_race_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The flags that every race has; returns their group."""
    add_model_arguments(parser)
    race = parser.add_argument_group("race")
    for name, least, default, words in _NUMBERS:
        race.add_argument(
            f"--{name}",
            type=whole_number(name, least),
            default=default,
            metavar="N",
            help=f"{words} (default: {default})",
        )
    add_kinds(race)
    return race


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the figures go."""
    output = parser.add_argument_group("output")
    output.add_argument("--json", type=writable_file, metavar="FILE", help="write every figure to this file")
    output.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    bench_plot.add_argument(output)


def run(arguments: argparse.Namespace, load: Load) -> int:
    """Race, print the table, write the files. Returns the exit code."""
    options = load_options(arguments, library.choose(arguments.model, arguments.draft))
    options = replace(options, tracing=tracing(arguments))
    screen = Screen()
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        result = _measure(arguments, options, engine, screen)
    give(result, arguments)
    return 0


COMMAND = Command("speed", "race plain decoding, speculation and OpenVINO GenAI on this machine", add_arguments, run)


def give(result: BenchResult, arguments: argparse.Namespace) -> None:
    """Print the table and write the files that were asked for."""
    show(result, markdown=arguments.markdown)
    if arguments.json:
        write_json(arguments.json, as_json(result))
    if arguments.plot:
        bench_plot.draw_speed(result, arguments.plot)


def show(result: BenchResult, *, markdown: bool) -> None:
    """The tables and what they do not show."""
    if markdown:
        print(bench_table.markdown(result))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    for table in bench_table.tables(result):
        console.print(table)
        console.print()
    for line in bench_table.remarks(result):
        console.print(line, markup=False, soft_wrap=True)


def told(heat: Heat) -> str:
    """A heat in a line of progress."""
    speed = heat.run.ms_per_token
    figure = "too short for a speed" if speed is None else f"{speed:.1f} ms/token"
    return f"{heat.prompt.id}, repeat {heat.repeat + 1}, {heat.contestant}: {figure}, {len(heat.run.tokens)} tokens"


def _measure(arguments: argparse.Namespace, options: LoadOptions, engine: Engine, screen: Screen) -> BenchResult:
    # Imported here: `headstart --help` need not wait for the engine.
    from headstart.engine.bench.measure import BenchPlan, Progress, measure  # noqa: PLC0415
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    assert isinstance(engine, LocalEngine), "a race needs the models themselves"
    plan = BenchPlan(
        load=options,
        prompts=read_prompts(arguments.prompts, arguments.classes),
        tokens=arguments.tokens,
        repeats=arguments.repeats,
        with_peer=arguments.peer == GENAI,
        contestants=arguments.contestants,
    )
    return measure(engine, plan, Progress(screen.remark, lambda heat: screen.remark(told(heat))))


def _peer(text: str) -> str:
    if text not in {GENAI, NO_PEER}:
        raise SettingsError(f"peer must be {GENAI} or {NO_PEER}, not {text!r}.")
    return text


def _listed(names: Sequence[str]) -> str:
    return ",".join(name.replace(" ", "-") for name in names)
