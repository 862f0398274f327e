"""`headstart bench`: races between ways to decode."""

import json
import statistics
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from headstart.cli.command import Command, CommandGroup, LazyCommand, Load, flag, group, load_apart
from headstart.cli.options import FiguresFlags, ModelFlags, select_model, write_json
from headstart.cli.render import Screen, harmless
from headstart.engine.bench.prompts import MAX_PER_KIND, USUAL_KINDS, read_kinds
from headstart.engine.bench.race import (
    AGAIN,
    AUTO,
    EVERYTHING,
    PLAIN,
    USUAL,
    WORDS,
    read_contestants,
)
from headstart.engine.bench.result import (
    ALL,
    MIN_RATIO,
    BenchResult,
    Interval,
    Promise,
    Spread,
    Standing,
    Summary,
)
from headstart.engine.engine import Engine, LoadOptions
from headstart.engine.kernels.library import Isa, use_isa
from headstart.engine.process.client import EngineClient
from headstart.engine.protocol import BenchHeat, BenchReport, BenchSize, BenchSoFar, BenchStage
from headstart.engine.wire import from_data
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from headstart.engine.hardware.devices import Machine

_FILE_WIDTH = 120  # width if the output is not a terminal
_NO_VALUE = "–"


class PeerName(StrEnum):
    """A program that takes part by default."""

    GENAI = "openvino-genai"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class RaceFlags:
    tokens: int = flag(160, "longest answer", low=2)
    prompts: int = flag(3, f"prompts of each class, {MAX_PER_KIND} at most", low=1)
    repeats: int = flag(3, "answers of each contestant to each prompt", low=1)
    classes: tuple[str, ...] = flag(
        USUAL_KINDS,
        f"classes of prompts, with commas between them, or all (default: {','.join(USUAL_KINDS)})",
        metavar="NAMES",
        read=read_kinds,
        is_list=True,
    )
    isa: Isa | None = flag(None, "compute with this instruction set, not with the processor's best")

    def use_isa(self) -> None:
        """Let all that is loaded from now on use the instruction set. Raises SettingsError."""
        if self.isa:
            use_isa(self.isa)


@dataclass(frozen=True, kw_only=True)
class ContestFlags(RaceFlags):
    contestants: tuple[str, ...] = flag(
        USUAL,
        f"ways to decode, with commas between them: {WORDS} "
        f"(default: {','.join(name.replace(' ', '-') for name in USUAL)})",
        metavar="NAMES",
        read=read_contestants,
        is_list=True,
    )
    sweep: bool = flag(
        default=False,
        help="race all of them: fixed lengths 1 to 8, thresholds 0.2 to 0.8, and n-grams, the draft and the head alone",
    )
    peer: PeerName = flag(
        PeerName.GENAI,
        "race against OpenVINO GenAI with the same models, loaded a second time",
    )


@dataclass(frozen=True, kw_only=True)
class TableFlags(FiguresFlags):
    """The file of the figures and the format of the table."""

    markdown: bool = flag(default=False, help="print the table as Markdown")


@dataclass(frozen=True, kw_only=True)
class OutputFlags(TableFlags):
    resume: bool = flag(default=False, help="go on with the race in --json FILE, which has each prompt once it is done")


@dataclass(frozen=True, kw_only=True)
class SpeedFlags:
    model: ModelFlags = group(ModelFlags)
    race: ContestFlags = group(ContestFlags)
    output: OutputFlags = group(OutputFlags)


def race_modes(arguments: SpeedFlags, load: Load) -> int:
    """Race Headstart's own modes. Return the exit code."""
    race, output, screen = arguments.race, arguments.output, Screen()
    race.use_isa()
    options = select_model(arguments.model).options
    contestants = EVERYTHING if race.sweep else race.contestants
    size = BenchSize(
        race.prompts,
        race.tokens,
        race.repeats,
        race.peer is PeerName.GENAI,
        race.classes,
        # Plain decoding runs again at the end of a turn, as far from its first run as any contestant.
        contestants=tuple(dict.fromkeys((*contestants, AGAIN))),
    )
    before = earlier_result(output)

    def report(progress: BenchReport) -> None:
        match progress:
            case BenchStage(_, sentence):
                screen.remark(sentence)
            case BenchHeat():
                screen.remark(heat_line(progress))
            case BenchSoFar(_, figures):
                save(output.json, figures)

    screen.remark("loading the models")
    with closing(load(options)) as engine:
        assert isinstance(engine, EngineClient), "a race runs in the engine's process"
        figures = engine.bench(size, report, before)
    result: BenchResult = from_data(BenchResult, figures)
    show(sheets(result), remarks(result), markdown=output.markdown)
    if output.json:
        write_json(output.json, figures)
    return 0


def _load_measured(options: LoadOptions) -> Engine:
    """Load an engine in the fastest precision. The first time, all precisions are measured."""
    from headstart.engine.loading.loading import measure_all
    from headstart.engine.loading.validation import Trial
    from headstart.engine.opening import resolve

    measure_all(resolve(options), Trial())
    return load_apart(options)


def commands() -> CommandGroup:
    """Return `headstart bench` with its sub-commands."""
    race = "Race plain decoding, speculation and OpenVINO GenAI on this machine; the default of `headstart bench`"
    speed = LazyCommand(race, lambda: Command(race_modes, _load_measured))
    return CommandGroup({"speed": speed}, race_modes, _load_measured)


def earlier_result(output: OutputFlags) -> BenchResult | None:
    """Return the result of the race that --resume continues; None if it begins again. Raises SettingsError."""
    if output.resume and output.json is None:
        raise SettingsError("--resume needs the file of the race that was cut off: add --json FILE.")
    return read_result(output.json) if output.resume and output.json and output.json.exists() else None


def save(file: Path | None, data: Mapping[str, object]) -> None:
    """Write the results so far."""
    if file and (file.is_file() or not file.exists()):  # a pipe gets the final figures only
        write_json(file, data)


def heat_line(heat: BenchHeat) -> str:
    """Return a line of progress for one answer."""
    speed = "too short for a speed" if heat.ms_per_token is None else f"{heat.ms_per_token:.1f} ms/token"
    return f"{heat.prompt}, repeat {heat.repeat + 1}, {heat.contestant}: {speed}, {heat.tokens} tokens"


def show(tables: Sequence[list[list[str]]], sentences: Sequence[str], *, markdown: bool) -> None:
    """Print tables with the sentences below them. The first line of a table holds the titles of its columns."""
    if markdown:
        for sheet in tables:
            columns, *lines = sheet
            ruler = ["---", *["---:"] * (len(columns) - 1)]
            print(
                *(f"| {' | '.join(harmless(cell) for cell in line)} |" for line in (columns, ruler, *lines)), sep="\n"
            )
            print()
        print("\n".join(f"- {harmless(sentence)}" for sentence in sentences))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    for (name, *figures), *lines in tables:
        table = Table(name, box=None, padding=(0, 1, 0, 0))
        for column in figures:
            table.add_column(column.replace(" with", "\nwith"), justify="right", overflow="fold")
        for line in lines:
            table.add_row(*(cell.replace(" (", "\n(") for cell in line))
        console.print(table)
        console.print()
    for sentence in sentences:
        console.print(sentence, markup=False, soft_wrap=True)


def read_result(path: Path) -> BenchResult:
    """Read the file of a race. Raises SettingsError."""
    try:
        result: BenchResult = from_data(BenchResult, json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}).") from None
    except ValueError:
        raise SettingsError(f"{path} is no result of `headstart bench speed --json FILE`.") from None
    return result


def sheets(result: BenchResult) -> list[list[list[str]]]:
    """Return the tables as cells, titles first: auto by class, all contestants, auto against the peers by class."""
    figures = ["mean (95 %)", "5th percentile", "worst prompt"]
    figures += [f"{title} with TTFT" for title in figures]
    tables = []
    if auto := result.standings.get(AUTO):
        tables.append([[AUTO, *figures], *(_row(kind, auto, kind) for kind in _with_all_last(auto.decoding))])
    others = {name: standing for name, standing in result.standings.items() if name != PLAIN}
    tables.append([["", *figures], *(_row(name, standing, ALL) for name, standing in others.items())])
    if energy := {name: joules for name in result.standings if (joules := _joules(result, name))}:
        tables.append([["", "joules a token"], *([name, f"{joules:.2f}"] for name, joules in energy.items())])
    if peers := result.hindsight:
        titles = [f"{peer.peer}{more}" for more in ("", " with TTFT") for peer in peers]
        rows = [
            [kind, *(_mean(times[kind]) for times in (*(p.decoding for p in peers), *(p.total for p in peers)))]
            for kind in _with_all_last(peers[0].decoding)
        ]
        tables.append([["auto against the best of", *titles], *rows])
    return tables


def _joules(result: BenchResult, name: str) -> float | None:
    """Return a contestant's mean joules a token over all prompts; None if the machine does not measure energy."""
    found = [prompt.scores[name].joules_per_token or () for prompt in result.prompts]
    each = [joules for times in found for joules in times if joules is not None]
    return statistics.fmean(each) if each else None


def _with_all_last(kinds: Mapping[str, Summary]) -> list[str]:
    return [*(kind for kind in kinds if kind != ALL), ALL]


def _row(title: str, standing: Standing, kind: str) -> list[str]:
    cells = [title]
    for summary in (standing.decoding[kind], standing.total[kind]):
        ratio = summary.worst_ratio
        worst = f"{ratio_text(ratio.median)}{interval_text(ratio)}" if ratio else _NO_VALUE
        worst = f"{worst} {summary.worst}" if summary.worst else worst
        cells += [_mean(summary), ratio_text(summary.fifth_percentile), worst]
    return cells


def _mean(summary: Summary) -> str:
    return f"{ratio_text(summary.mean)}{interval_text(summary.interval)}"


def _promise_remarks(promise: Promise) -> list[str]:
    """Return sentences about the noise, and about whether auto was never slower."""
    lines = []
    if promise.noise and promise.noise_decoding:
        lines.append(
            f"Noise: 95 % of the times of plain decoding are {_range(promise.noise)} times those of plain decoding "
            f"again with the time to first token, {_range(promise.noise_decoding)} times without it."
        )
    limit = f"below {MIN_RATIO}x outside the noise, time to first token included"
    if promise.kept is None:
        slow = _prompt_list(promise, is_noise=None)
        verdict = f"cannot be judged: too few answers tell slowness from noise on {slow}; use --repeats 3 or more."
    elif promise.kept:
        verdict = f"held: no prompt was {limit}."
    else:
        verdict = f"did not hold: {_prompt_list(promise, is_noise=False)} was {limit}."
    lines.append(f'The promise "never slower" {verdict}')
    if promise.limit is not None:
        threshold = min(MIN_RATIO, promise.limit)
        lines.append(f"This noise hides a loss unless every repeat is below {threshold:.2f}x.")
    if noisy := _prompt_list(promise, is_noise=True):
        lines.append(f"The noise explains what else was below {MIN_RATIO}x: {noisy}.")
    return lines


def _prompt_list(promise: Promise, *, is_noise: bool | None) -> str:
    slower = [prompt for prompt in promise.slower if prompt.is_noise is is_noise]
    return ", ".join(
        f"{prompt.prompt} {ratio_text(prompt.speedup.median)}{interval_text(prompt.speedup)}" for prompt in slower
    )


def _range(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"


def remarks(result: BenchResult) -> list[str]:
    """Return the sentences below the tables."""
    setting, machine, memory = result.setting, result.machine, result.memory
    repeats = f"median of {setting.repeats} and their range; " if setting.repeats > 1 else ""
    lines = [
        f"{setting.target} with draft {setting.draft or 'none'}, {precision_text(setting.target_properties)}, "
        f"at most {setting.tokens} tokens, {machine_text(machine)}. "
        f"Speedup over plain decoding in the same repeat; {repeats}means are geometric."
    ]
    if plain := [ms for prompt in result.prompts for ms in prompt.scores[PLAIN].ms_per_token if ms is not None]:
        lines.append(f"Plain decoding: {statistics.median(plain):.1f} ms a token.")
    if result.promise:
        lines += _promise_remarks(result.promise)
    auto = result.standings.get(AUTO)
    if auto and auto.overhead_share is not None:
        lines.append(f"Time outside the models with {AUTO}: {auto.overhead_share:.1%} of decoding.")
    if memory.peak_rss is not None and memory.overhead is not None:
        lines.append(
            f"Peak memory of Headstart itself: {memory.peak_rss / 2**20:.0f} MiB; weights "
            f"{memory.weights / 2**20:.0f}, keys and values {memory.kv / 2**20:.0f}, everything else "
            f"{memory.overhead / 2**20:.0f}."
        )
    return [*lines, _text_differences(result), *result.skipped]


def precision_text(properties: Mapping[str, str]) -> str:
    """Return the precision in which OpenVINO computes."""
    return properties.get("INFERENCE_PRECISION_HINT", "default")


def machine_text(machine: "Machine") -> str:
    """Return the end of a sentence that says where something was measured."""
    return f"on {machine.device} with {machine.cores} cores, OpenVINO {machine.openvino.partition('-')[0]}"


def ratio_text(value: float | None) -> str:
    """Return a ratio as the tables show it."""
    return _NO_VALUE if value is None else f"{value:.2f}x"


def interval_text(interval: Interval | Spread | None) -> str:
    """Return an interval as it follows a mean; empty for None."""
    return f" ({interval.low:.2f}–{interval.high:.2f})" if interval else ""


def _text_differences(result: BenchResult) -> str:
    scores = [(name, score) for prompt in result.prompts for name, score in prompt.scores.items() if name != PLAIN]
    differing = [name for name, score in scores if not score.equals_plain]
    if not differing:
        return "Everyone wrote the same texts as plain decoding."
    counts = ", ".join(f"{name}: {differing.count(name)}" for name in dict.fromkeys(differing))
    return f"Texts that differ from plain decoding's, of {len(result.prompts)} each ({counts})."
