"""`headstart bench peers`: Headstart against other programs with all their settings, on the same prompts in one run."""

import argparse
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from headstart import library
from headstart.engine.bench.contestants import AUTO, PLAIN, SWEPT_LENGTHS, SWEPT_THRESHOLDS
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.engine import Engine, LoadOptions
from headstart.errors import SettingsError
from headstart.terminal.bench_speed import add_output_arguments, add_race_arguments, give, told
from headstart.terminal.command import Command, Load
from headstart.terminal.model_flags import load_options
from headstart.terminal.screen import Screen

if TYPE_CHECKING:
    from headstart.engine.bench.peers import PeerSource
    from headstart.engine.bench.result import BenchResult
    from headstart.engine.local import LocalEngine

_LOOKUPS = (3, 5, 10)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench peers`."""
    add_race_arguments(parser)
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
    add_output_arguments(parser)


def run(arguments: argparse.Namespace, load: Load) -> int:
    """Race, print the table, write the files. Returns the exit code."""
    if (arguments.llama_server is None) != (arguments.gguf is None):
        raise SettingsError("llama.cpp needs both: add --llama-server PATH and --gguf FILE.")
    options = load_options(arguments, library.choose(arguments.model, arguments.draft))
    screen = Screen()
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        result = _measure(arguments, options, engine, screen)
    give(result, arguments)
    return 0


COMMAND = Command(
    "peers", "race other programs, each with all its settings, against plain and auto", add_arguments, run
)


def _measure(arguments: argparse.Namespace, options: LoadOptions, engine: Engine, screen: Screen) -> "BenchResult":
    # Imported here: `headstart --help` need not wait for the engine.
    from headstart.engine.bench.measure import BenchPlan, Progress, contest  # noqa: PLC0415
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    assert isinstance(engine, LocalEngine), "a race needs the models themselves"
    plan = BenchPlan(
        load=options,
        prompts=read_prompts(arguments.prompts, arguments.classes),
        tokens=arguments.tokens,
        repeats=arguments.repeats,
        with_peer=True,
        contestants=(PLAIN, AUTO),
    )
    progress = Progress(screen.remark, lambda heat: screen.remark(told(heat)))
    return contest(engine, plan, _sources(arguments, options, engine), progress)


def _sources(arguments: argparse.Namespace, options: LoadOptions, engine: "LocalEngine") -> "list[PeerSource]":
    from headstart.engine.bench.assisted_peer import AssistedSource  # noqa: PLC0415 - as above
    from headstart.engine.bench.genai_peer import Sweep  # noqa: PLC0415
    from headstart.engine.bench.llama_peer import Files, LlamaSource  # noqa: PLC0415
    from headstart.engine.bench.measure import genai  # noqa: PLC0415

    sources: list[PeerSource] = [
        genai(engine, options, Sweep(arguments.genai_lengths, SWEPT_THRESHOLDS, _LOOKUPS)),
        AssistedSource(arguments.source, arguments.source_draft),
    ]
    files = Files(arguments.llama_server, arguments.gguf, arguments.gguf_draft)
    return [*sources, LlamaSource(files)]


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
