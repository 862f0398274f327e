"""`headstart bench`: races plain decoding, speculation and other programs, times passes, and gives advice."""

import argparse
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from headstart import library
from headstart.cli import bench_report
from headstart.cli.command import Command, Load
from headstart.cli.harmless import harmless
from headstart.cli.measuring import add_kinds, whole_number, writable_file, write_json
from headstart.cli.model_flags import add_model_arguments, add_trace_arguments, load_options, tracing
from headstart.cli.screen import Screen
from headstart.engine.bench.prompts import MOST_PER_KIND, read_prompts
from headstart.engine.bench.race import (
    AUTO,
    EVERYTHING,
    PLAIN,
    SWEPT_LENGTHS,
    SWEPT_THRESHOLDS,
    USUAL,
    WORDS,
    Heat,
    read_contestants,
)
from headstart.engine.bench.result import Advice, BenchResult, advice, as_json
from headstart.engine.engine import LoadOptions
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from headstart.engine.bench.forward import ForwardResult, Timed
    from headstart.engine.bench.peers import PeerSource
    from headstart.engine.local import LocalEngine

NO_PEER, GENAI = "none", "openvino-genai"
_LOOKUPS = (3, 5, 10)
_FILE_WIDTH = 120  # characters, where the output is no terminal
_Sources = Callable[["LocalEngine", LoadOptions], "Sequence[PeerSource]"]


def add_speed_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench speed`."""
    race = _add_race_arguments(parser)
    race.add_argument(
        "--contestants",
        type=read_contestants,
        default=USUAL,
        metavar="NAMES",
        help=f"ways to decode, with commas between them: {WORDS} "
        f"(default: {','.join(name.replace(' ', '-') for name in USUAL)})",
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
    _add_output_arguments(parser, markdown=True)
    add_trace_arguments(parser)


def race_modes(arguments: argparse.Namespace, load: Load) -> int:
    """Race Headstart's own modes. Returns the exit code."""

    def sources(engine: "LocalEngine", options: LoadOptions) -> "Sequence[PeerSource]":
        from headstart.engine.bench.measure import genai  # noqa: PLC0415 - `headstart --help` need not wait for it

        return (genai(engine, options),) if arguments.peer == GENAI else ()

    options = dataclasses.replace(_options(arguments), tracing=tracing(arguments))
    return _race(arguments, options, load, arguments.contestants, sources)


def add_peers_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench peers`."""
    _add_race_arguments(parser)
    genai = parser.add_argument_group("OpenVINO GenAI, always there")
    genai.add_argument(
        "--genai-lengths",
        type=_lengths,
        default=SWEPT_LENGTHS,
        metavar="N,N",
        help="draft lengths to try (default: 1 to 8)",
    )
    hugging_face = parser.add_argument_group('Hugging Face transformers, of the extra "export"')
    hugging_face.add_argument(
        "--source", type=_present, metavar="PATH", help="source weights of the model: a folder, or a .gguf file"
    )
    hugging_face.add_argument(
        "--source-draft", type=_present, metavar="PATH", help="those of the draft, for assisted generation"
    )
    llama = parser.add_argument_group("llama.cpp")
    llama.add_argument("--llama-server", type=_present, metavar="PATH", help="its server's program")
    llama.add_argument("--gguf", type=_present, metavar="FILE", help="the same model in its format")
    llama.add_argument("--gguf-draft", type=_present, metavar="FILE", help="the same draft in its format")
    _add_output_arguments(parser, markdown=True)


def race_peers(arguments: argparse.Namespace, load: Load) -> int:
    """Race other programs with all their settings against plain decoding and auto. Returns the exit code."""
    if (arguments.llama_server is None) != (arguments.gguf is None):
        raise SettingsError("llama.cpp needs both: add --llama-server PATH and --gguf FILE.")

    def sources(engine: "LocalEngine", options: LoadOptions) -> "Sequence[PeerSource]":
        from headstart.engine.bench.measure import genai  # noqa: PLC0415 - as above
        from headstart.engine.bench.peers import AssistedSource, Files, LlamaSource, Sweep  # noqa: PLC0415

        return (
            genai(engine, options, Sweep(arguments.genai_lengths, SWEPT_THRESHOLDS, _LOOKUPS)),
            AssistedSource(arguments.source, arguments.source_draft),
            LlamaSource(Files(arguments.llama_server, arguments.gguf, arguments.gguf_draft)),
        )

    return _race(arguments, _options(arguments), load, (PLAIN, AUTO), sources)


def add_forward_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench forward`."""
    add_model_arguments(parser)
    _add_numbers(
        parser.add_argument_group("passes"),
        ("most-tokens", 1, 1024, "most tokens of a pass"),
        ("most-context", 1, 4096, "longest context"),
        ("repeats", 1, 5, "passes of each kind"),
    )
    _add_output_arguments(parser)


def time_passes(arguments: argparse.Namespace, load: Load) -> int:
    """Time passes by number of tokens and by context. Returns the exit code."""
    from headstart.engine.bench.forward import CONTEXTS, TOKENS, ForwardPlan, measure_forward  # noqa: PLC0415 - as above
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    options, screen = _options(arguments), Screen()
    plan = ForwardPlan(
        load=options,
        tokens=[count for count in TOKENS if count <= arguments.most_tokens],
        contexts=[count for count in CONTEXTS if count <= arguments.most_context],
        repeats=arguments.repeats,
    )
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        assert isinstance(engine, LocalEngine), "passes need the models themselves"
        result = measure_forward(engine, plan, screen.remark)
    print(harmless(result.machine.device))
    for table in forward_tables(result):
        Console(highlight=False).print(table)
    if arguments.json:
        write_json(arguments.json, dataclasses.asdict(result))
    if arguments.plot:
        bench_report.draw_forward(result, arguments.plot)
    return 0


def forward_tables(result: "ForwardResult") -> list[Table]:
    """By number of tokens, and by context."""
    return [
        _times("tokens", {model.name: model.by_tokens for model in result.models}),
        _times("context", {model.name: model.by_context for model in result.models}),
    ]


def add_advice_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench advice`."""
    parser.add_argument("file", metavar="FILE", help="what `headstart bench speed --json FILE` wrote")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the advice to this file")


def advise(arguments: argparse.Namespace, _load: Load) -> int:
    """Say for each class of text what won a race that was written to a file. Returns the exit code."""
    given = _read_advice(Path(arguments.file).expanduser())
    shown = Table("class", "best setting", box=None, padding=(0, 1, 0, 0))
    for title in ("its speedup", "auto's"):
        shown.add_column(title, justify="right")
    for each in given:
        auto = f"{each.auto:.2f}x" if each.auto else "–"
        shown.add_row(harmless(each.kind), each.words, f"{each.speedup:.2f}x", auto)
    Console(highlight=False).print(shown)
    if arguments.json:
        write_json(arguments.json, {"advice": [dataclasses.asdict(each) for each in given]})
    return 0


COMMANDS: tuple[Command, ...] = (
    Command(
        "speed", "race plain decoding, speculation and OpenVINO GenAI on this machine", add_speed_arguments, race_modes
    ),
    Command("forward", "measure passes by number of tokens and by context", add_forward_arguments, time_passes),
    Command(
        "peers",
        "race other programs, each with all their settings, against plain and auto",
        add_peers_arguments,
        race_peers,
    ),
    Command(
        "advice", "say for each class of text what won a race that was written to a file", add_advice_arguments, advise
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench speed`, and the sub-commands."""
    add_speed_arguments(parser)
    commands = parser.add_subparsers(
        dest="benchmark", metavar="BENCHMARK", title="benchmarks", description="speed is run where none is named"
    )
    for command in COMMANDS:
        sub = commands.add_parser(
            command.name, help=command.summary, description=f"{command.summary.capitalize()}.", allow_abbrev=False
        )
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)


COMMAND = Command(
    "bench", "measure this machine: plain decoding, speculation, other programs", add_arguments, race_modes
)


def _add_race_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The flags that every race has; returns their group."""
    add_model_arguments(parser)
    race = parser.add_argument_group("race")
    _add_numbers(
        race,
        ("tokens", 2, 160, "longest answer"),
        ("prompts", 1, 3, f"prompts of each class, {MOST_PER_KIND} at most"),
        ("repeats", 1, 2, "answers of each contestant to each prompt"),
    )
    add_kinds(race)
    return race


def _add_numbers(group: argparse._ArgumentGroup, *numbers: tuple[str, int, int, str]) -> None:
    for name, least, default, words in numbers:
        group.add_argument(
            f"--{name}",
            type=whole_number(name, least),
            default=default,
            metavar="N",
            help=f"{words} (default: {default})",
        )


def _add_output_arguments(parser: argparse.ArgumentParser, *, markdown: bool = False) -> None:
    output = parser.add_argument_group("output")
    output.add_argument("--json", type=writable_file, metavar="FILE", help="write every figure to this file")
    if markdown:
        output.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    output.add_argument(
        "--plot", type=bench_report.picture, metavar="FILE", help="draw the figures to this .svg or .png file"
    )


def _options(arguments: argparse.Namespace) -> LoadOptions:
    return load_options(arguments, library.choose(arguments.model, arguments.draft))


def _race(
    arguments: argparse.Namespace, options: LoadOptions, load: Load, contestants: tuple[str, ...], sources: _Sources
) -> int:
    """Load, race, print the tables, write the files."""
    from headstart.engine.bench.measure import BenchPlan, Progress, measure  # noqa: PLC0415 - as above
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    screen = Screen()
    prompts = read_prompts(arguments.prompts, arguments.classes)
    plan = BenchPlan(options, prompts, arguments.tokens, arguments.repeats, contestants)
    progress = Progress(screen.remark, lambda heat: screen.remark(_told(heat)))
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        assert isinstance(engine, LocalEngine), "a race needs the models themselves"
        result = measure(engine, plan, sources(engine, options), progress)
    _show(result, markdown=arguments.markdown)
    if arguments.json:
        write_json(arguments.json, as_json(result))
    if arguments.plot:
        bench_report.draw_speed(result, arguments.plot)
    return 0


def _told(heat: Heat) -> str:
    """A heat in a line of progress."""
    speed = heat.run.ms_per_token
    figure = "too short for a speed" if speed is None else f"{speed:.1f} ms/token"
    return f"{heat.prompt.id}, repeat {heat.repeat + 1}, {heat.contestant}: {figure}, {len(heat.run.tokens)} tokens"


def _show(result: BenchResult, *, markdown: bool) -> None:
    if markdown:
        print(bench_report.markdown(result))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    for table in bench_report.tables(result):
        console.print(table)
        console.print()
    for line in bench_report.remarks(result):
        console.print(line, markup=False, soft_wrap=True)


def _times(title: str, times: Mapping[str, "Mapping[int, Timed]"]) -> Table:
    shown = Table(title, *(f"{name}, ms" for name in times), box=None, padding=(0, 1, 0, 0))
    for count in sorted({count for each in times.values() for count in each}):
        shown.add_row(str(count), *(f"{each[count].median:.1f}" if count in each else "–" for each in times.values()))
    return shown


def _read_advice(path: Path) -> tuple[Advice, ...]:
    try:
        return advice(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}).") from None
    except (KeyError, TypeError, AttributeError, ValueError):
        raise SettingsError(f"{path} is no result of `headstart bench speed --json FILE`.") from None


def _peer(text: str) -> str:
    if text not in {GENAI, NO_PEER}:
        raise SettingsError(f"peer must be {GENAI} or {NO_PEER}, not {text!r}.")
    return text


def _lengths(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() and int(part) >= 1 for part in parts):
        raise SettingsError(f"genai-lengths must be whole numbers above 0 with commas between them, not {text!r}.")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _present(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.exists():
        raise SettingsError(f"There is no {text}; name a file or folder that exists.")
    return path
