"""`headstart bench batch`: from how many prompts at once batches win, as a table and a file. Measures nothing."""

import argparse
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from headstart import library
from headstart.engine.batch_choice import SIZES
from headstart.engine.bench.prompts import KINDS, MOST_PER_KIND, BenchPrompt, read_prompts
from headstart.engine.engine import LoadOptions, Numerics
from headstart.errors import SettingsError
from headstart.library import Choice
from headstart.terminal.command import Command, Load
from headstart.terminal.harmless import harmless
from headstart.terminal.measuring import whole_number, writable_file, write_json
from headstart.terminal.model_flags import add_model_arguments, draft_name, load_options
from headstart.terminal.screen import Screen

if TYPE_CHECKING:
    from headstart.engine.bench.batch import BatchResult

_PROMPTS, _TOKENS = 16, 64
_MOST_AT_ONCE = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench batch`."""
    add_model_arguments(parser)
    work = parser.add_argument_group("batches")
    for name, least, default, words in (
        ("prompts", 1, _PROMPTS, f"prompts, of all classes in turn, {len(KINDS) * MOST_PER_KIND} at most"),
        ("tokens", 2, _TOKENS, "longest answer"),
        ("repeats", 1, 1, "how often everyone answers all of them, every other time in the opposite order"),
    ):
        work.add_argument(
            f"--{name}",
            type=whole_number(name, least),
            default=default,
            metavar="N",
            help=f"{words} (default: {default})",
        )
    work.add_argument(
        "--sizes",
        type=_sizes,
        default=SIZES,
        metavar="N,N",
        help=f"how many answers OpenVINO GenAI writes at once (default: {','.join(map(str, SIZES))})",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--json", type=writable_file, metavar="FILE", help="write every figure to this file")


def run(arguments: argparse.Namespace, load: Load) -> int:
    """Measure, print the table, write the file, and keep what `headstart chat --batch` decides by."""
    from headstart.engine.batch_figures import keep_figures  # noqa: PLC0415 - `headstart --help` need not wait for it
    from headstart.engine.bench.batch import as_json  # noqa: PLC0415

    if arguments.numerics is Numerics.EXACT:
        raise SettingsError("Batches of OpenVINO GenAI round as the fast numerics do: leave out --numerics exact.")
    choice = library.choose(arguments.model, arguments.draft)
    options = load_options(arguments, choice)
    result = _measure(arguments, options, choice, load)
    keep_figures(options, result.figures)
    Console(highlight=False).print(table(result))
    for line in lines(result):
        print(harmless(line))
    if arguments.json:
        write_json(arguments.json, as_json(result))
    return 0


COMMAND = Command(
    "batch", "measure from how many prompts at once OpenVINO GenAI's batches are faster", add_arguments, run
)


def table(result: "BatchResult") -> Table:
    """Our own engine first, then GenAI by answers at once."""
    shown = Table(box=None, padding=(0, 1, 0, 0))
    shown.add_column("engine")
    for heading in ("at once", "answers/min", "tokens/s", "against own"):
        shown.add_column(heading, justify="right")
    own = result.own
    for name, size, pace in [("own", 1, own), *(("genai", size, pace) for size, pace in result.genai.items())]:
        ratio = pace.tokens_per_second / own.tokens_per_second
        rates = (f"{pace.answers_per_second * 60:.1f}", f"{pace.tokens_per_second:.1f}", f"{ratio:.2f}x")
        shown.add_row(name, str(size), *rates)
    return shown


def lines(result: "BatchResult") -> list[str]:
    """What was measured, and from where batches win."""
    first = result.figures.wins_from
    draft = f"with draft {result.draft}" if result.draft else "without a draft"
    return [
        f"{result.prompts} prompts, at most {result.longest} tokens each, on {result.machine.device} with "
        f"{result.machine.cores} cores; own is {result.target} {draft}, one answer after another.",
        f"OpenVINO GenAI is faster from {first} at once."
        if first
        else "OpenVINO GenAI is faster at no number that was measured.",
    ]


def _measure(arguments: argparse.Namespace, options: LoadOptions, choice: Choice, load: Load) -> "BatchResult":
    from headstart.engine.bench.batch import BatchPlan, Openers, Watch, measure_batches  # noqa: PLC0415 - as above
    from headstart.engine.genai_batch import GenaiBatcher  # noqa: PLC0415

    plan = BatchPlan(options, _prompts(arguments.prompts), arguments.tokens, arguments.sizes, arguments.repeats)
    longest = max(len(prompt.text.encode()) for prompt in plan.prompts) + plan.tokens  # a token has a byte at least
    openers = Openers(own=lambda: load(options), genai=lambda size: GenaiBatcher(options, size, longest))
    names = (choice.target.name, draft_name(options, choice))
    return measure_batches(plan, openers, Watch(Screen().remark), names)


def _prompts(count: int) -> tuple[BenchPrompt, ...]:
    return read_prompts(MOST_PER_KIND, KINDS)[:count]


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() and 1 <= int(part) <= _MOST_AT_ONCE for part in parts):
        raise SettingsError(f"sizes must be whole numbers from 1 to {_MOST_AT_ONCE} with commas, not {text!r}.")
    return tuple(sorted({int(part) for part in parts}))
