"""`headstart bench`: races and timed passes."""

import dataclasses
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from headstart.cli.command import Command, Group, LazyCommand, Load, flag, group, load_measured
from headstart.cli.options import (
    FiguresFlags,
    ModelFlags,
    select_model,
    write_json,
)
from headstart.cli.render import Screen, harmless
from headstart.engine.bench.prompts import MAX_PER_KIND, USUAL_KINDS, read_kinds, read_prompts
from headstart.engine.bench.race import (
    AGAIN,
    AUTO,
    EVERYTHING,
    PLAIN,
    USUAL,
    WORDS,
    Heat,
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
    as_json,
)
from headstart.engine.engine import LoadOptions
from headstart.engine.wire import from_data
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from headstart.engine.bench.genai_peer import PeerSource
    from headstart.engine.bench.measure import Timed
    from headstart.engine.devices import Machine
    from headstart.engine.local import LocalEngine

_PROGRAMS = {  # of a checkout, for what were sub-commands
    "peers": "python app/bench/peers.py",
    "prompt": "python app/bench/first_token.py",
    "advice": "python app/bench/advice.py",
}
_FILE_WIDTH = 120  # characters, where the output is no terminal
_NOTHING = "–"
_Sources = Callable[["LocalEngine", LoadOptions], "Sequence[PeerSource]"]


class PeerName(StrEnum):
    """Another program that takes part without being named."""

    GENAI = "openvino-genai"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class RaceFlags:
    """The size of a race."""

    tokens: int = flag(160, "longest answer (default: 160)", minimum=2)
    prompts: int = flag(3, f"prompts of each class, {MAX_PER_KIND} at most (default: 3)")
    repeats: int = flag(3, "answers of each contestant to each prompt (default: 3)")
    classes: tuple[str, ...] = flag(
        USUAL_KINDS,
        f"classes of prompts, with commas between them, or all (default: {','.join(USUAL_KINDS)})",
        metavar="NAMES",
        read=read_kinds,
        is_list=True,
    )


@dataclass(frozen=True, kw_only=True)
class ContestFlags(RaceFlags):
    """The contestants."""

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
        help="race all of them: fixed lengths 1 to 8, thresholds 0.2 to 0.8, n-grams alone, the draft alone",
    )
    peer: PeerName = flag(
        PeerName.GENAI,
        f"race against OpenVINO GenAI with the same models, loaded a second time (default: {PeerName.GENAI})",
    )


@dataclass(frozen=True, kw_only=True)
class TableFlags(FiguresFlags):
    """Where the figures go, and the format of the table."""

    markdown: bool = flag(default=False, help="print the table as Markdown")


@dataclass(frozen=True, kw_only=True)
class OutputFlags(TableFlags):
    """The same for a race."""

    resume: bool = flag(default=False, help="go on with the race in --json FILE, which has each prompt once it is done")


@dataclass(frozen=True, kw_only=True)
class SpeedFlags:
    """The flags of `headstart bench speed`."""

    model: ModelFlags = group(ModelFlags)
    race: ContestFlags = group(ContestFlags)
    output: OutputFlags = group(OutputFlags)


def race_modes(arguments: SpeedFlags, load: Load) -> int:
    """Race Headstart's own modes. Returns the exit code."""

    def sources(engine: "LocalEngine", options: LoadOptions) -> "Sequence[PeerSource]":
        from headstart.engine.bench.measure import genai  # noqa: PLC0415 - `headstart --help` need not wait for it

        return (genai(engine, options),) if arguments.race.peer is PeerName.GENAI else ()

    options = select_model(arguments.model).options
    contestants = EVERYTHING if arguments.race.sweep else arguments.race.contestants
    return run_race(arguments.race, arguments.output, options, load, contestants, sources)


@dataclass(frozen=True, kw_only=True)
class ForwardFlags:
    """The flags of `headstart dev forward`."""

    model: ModelFlags = group(ModelFlags)
    most_tokens: int = flag(1024, "most tokens of a pass (default: 1024)", group="passes")
    most_context: int = flag(4096, "longest context (default: 4096)")
    repeats: int = flag(5, "passes of each kind (default: 5)")
    output: FiguresFlags = group(FiguresFlags)


def time_passes(arguments: ForwardFlags, load: Load) -> int:
    """Time passes by number of tokens and by context. Returns the exit code."""
    from headstart.engine.bench.measure import CONTEXTS, TOKENS, ForwardPlan, measure_forward  # noqa: PLC0415 - as above
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    options, screen = select_model(arguments.model).options, Screen()
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
    by_tokens = {model.name: model.by_tokens for model in result.models}
    by_context = {model.name: model.by_context for model in result.models}
    for table in (_times("tokens", by_tokens), _times("context", by_context)):
        Console(highlight=False).print(table)
    if arguments.output.json:
        write_json(arguments.output.json, dataclasses.asdict(result))
    return 0


def commands() -> Group:
    """`headstart bench` and its sub-commands."""
    race = "Race plain decoding, speculation and OpenVINO GenAI on this machine; the default of `headstart bench`"
    return Group(
        {
            "speed": LazyCommand(race, lambda: Command(race_modes, load_measured)),
        },
        race_modes,
        load_measured,
        moved={"forward": "headstart dev forward", **_PROGRAMS},
    )


def run_race(
    race: RaceFlags,
    output: OutputFlags,
    options: LoadOptions,
    load: Load,
    contestants: tuple[str, ...],
    sources: _Sources,
) -> int:
    """Load, race, print the tables, write the files."""
    from headstart.engine.bench.measure import BenchPlan, Progress, measure  # noqa: PLC0415 - as above
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    screen, file = Screen(), output.json
    if output.resume and file is None:
        raise SettingsError("--resume needs the file of the race that was cut off: add --json FILE.")
    before = read_result(file) if output.resume and file and file.exists() else None
    prompts = read_prompts(race.prompts, race.classes)
    contestants = tuple(dict.fromkeys((*contestants, AGAIN)))  # at the other end of a turn: as far as anyone from plain
    plan = BenchPlan(options, prompts, race.tokens, race.repeats, contestants, before)

    progress = Progress(
        screen.remark, lambda heat: screen.remark(_told(heat)), result=lambda found: keep(file, as_json(found))
    )
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        assert isinstance(engine, LocalEngine), "a race needs the models themselves"
        result = measure(engine, plan, sources(engine, options), progress)
    show(sheets(result), remarks(result), markdown=output.markdown)
    if file:
        write_json(file, as_json(result))
    return 0


def keep(file: Path | None, data: Mapping[str, object]) -> None:
    """Write what there is so far."""
    if file and (file.is_file() or not file.exists()):  # a pipe gets the end alone
        write_json(file, data)


def _told(heat: Heat) -> str:
    """One heat as a line of progress."""
    speed = heat.run.ms_per_token
    figure = "too short for a speed" if speed is None else f"{speed:.1f} ms/token"
    return f"{heat.prompt.id}, repeat {heat.repeat + 1}, {heat.contestant}: {figure}, {len(heat.run.tokens)} tokens"


def show(tables: Sequence[list[list[str]]], sentences: Sequence[str], *, markdown: bool) -> None:
    """Print tables, whose first line is the head, and sentences below them."""
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
        shown = Table(name, box=None, padding=(0, 1, 0, 0))
        for column in figures:
            shown.add_column(column.replace(" with", "\nwith"), justify="right", overflow="fold")
        for line in lines:
            shown.add_row(*(cell.replace(" (", "\n(") for cell in line))
        console.print(shown)
        console.print()
    for sentence in sentences:
        console.print(sentence, markup=False, soft_wrap=True)


def _times(title: str, times: Mapping[str, "Mapping[int, Timed]"]) -> Table:
    shown = Table(title, *(f"{name}, ms" for name in times), box=None, padding=(0, 1, 0, 0))
    for count in sorted({count for each in times.values() for count in each}):
        shown.add_row(str(count), *(f"{each[count].median:.1f}" if count in each else "–" for each in times.values()))
    return shown


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
    """The tables as cells, columns first: auto by class, all contestants, and auto against the peers by class."""
    figures = ["mean (95 %)", "5th percentile", "worst prompt"]
    figures += [f"{title} with TTFT" for title in figures]
    tables = []
    if auto := result.standings.get(AUTO):
        tables.append([[AUTO, *figures], *(_row(kind, auto, kind) for kind in _last_all(auto.decoding))])
    others = {name: standing for name, standing in result.standings.items() if name != PLAIN}
    tables.append([["", *figures], *(_row(name, standing, ALL) for name, standing in others.items())])
    if peers := result.hindsight:
        titles = [f"{peer.peer}{more}" for more in ("", " with TTFT") for peer in peers]
        rows = [
            [kind, *(_mean(each[kind]) for each in (*(p.decoding for p in peers), *(p.total for p in peers)))]
            for kind in _last_all(peers[0].decoding)
        ]
        tables.append([["auto against the best of", *titles], *rows])
    return tables


def _last_all(kinds: Mapping[str, Summary]) -> list[str]:
    return [*(kind for kind in kinds if kind != ALL), ALL]


def _row(title: str, standing: Standing, kind: str) -> list[str]:
    cells = [title]
    for found in (standing.decoding[kind], standing.total[kind]):
        worst = (
            f"{ratio_text(found.worst_ratio.median)}{interval_text(found.worst_ratio)}"
            if found.worst_ratio
            else _NOTHING
        )
        cells += [_mean(found), ratio_text(found.fifth_percentile), f"{worst} {found.worst}" if found.worst else worst]
    return cells


def _mean(found: Summary) -> str:
    return f"{ratio_text(found.mean)}{interval_text(found.interval)}"


def _verdict(promise: Promise) -> list[str]:
    """Sentences about the noise and whether auto was never slower."""
    lines = []
    if promise.noise and promise.noise_decoding:
        lines.append(
            f"Noise: 95 % of the times of plain decoding are {_range(promise.noise)} times those of plain decoding "
            f"again with the time to first token, {_range(promise.noise_decoding)} times without it."
        )
    limit = f"below {MIN_RATIO}x outside the noise, time to first token included"
    if promise.kept is None:
        slow = _listed(promise, is_noise=None)
        said = f"cannot be judged: too few answers tell slowness from noise on {slow}; use --repeats 3 or more."
    elif promise.kept:
        said = f"held: no prompt was {limit}."
    else:
        said = f"did not hold: {_listed(promise, is_noise=False)} was {limit}."
    lines.append(f'The promise "never slower" {said}')
    if promise.limit is not None:
        threshold = min(MIN_RATIO, promise.limit)
        lines.append(f"This noise hides a loss unless every repeat is below {threshold:.2f}x.")
    if noisy := _listed(promise, is_noise=True):
        lines.append(f"The noise explains what else was below {MIN_RATIO}x: {noisy}.")
    return lines


def _listed(promise: Promise, *, is_noise: bool | None) -> str:
    found = [each for each in promise.slower if each.is_noise is is_noise]
    return ", ".join(f"{each.prompt} {ratio_text(each.speedup.median)}{interval_text(each.speedup)}" for each in found)


def _range(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"


def remarks(result: BenchResult) -> list[str]:
    """Sentences below the tables."""
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
        lines += _verdict(result.promise)
    auto = result.standings.get(AUTO)
    if auto and auto.overhead_share is not None:
        lines.append(f"Time outside the models with {AUTO}: {auto.overhead_share:.1%} of decoding.")
    if memory.peak_rss is not None and memory.beyond is not None:
        lines.append(
            f"Peak memory of Headstart itself: {memory.peak_rss / 2**20:.0f} MiB; weights "
            f"{memory.weights / 2**20:.0f}, keys and values {memory.kv / 2**20:.0f}, everything else "
            f"{memory.beyond / 2**20:.0f}."
        )
    return [*lines, _texts(result), *result.skipped]


def precision_text(properties: Mapping[str, str]) -> str:
    """Return the precision in which OpenVINO computes."""
    return properties.get("INFERENCE_PRECISION_HINT", "default")


def machine_text(machine: "Machine") -> str:
    """Return the end of a sentence that says where something was measured."""
    return f"on {machine.device} with {machine.cores} cores, OpenVINO {machine.openvino.partition('-')[0]}"


def ratio_text(value: float | None) -> str:
    """Return a ratio as the tables show it."""
    return _NOTHING if value is None else f"{value:.2f}x"


def interval_text(interval: Interval | Spread | None) -> str:
    """Return an interval as it stands behind a mean; empty without one."""
    return f" ({interval.low:.2f}–{interval.high:.2f})" if interval else ""


def _texts(result: BenchResult) -> str:
    scores = [(name, score) for prompt in result.prompts for name, score in prompt.scores.items() if name != PLAIN]
    differing = [name for name, score in scores if not score.equals_plain]
    if not differing:
        return "Everyone wrote the same texts as plain decoding."
    counts = ", ".join(f"{name}: {differing.count(name)}" for name in dict.fromkeys(differing))
    return f"Texts that differ from plain decoding's, of {len(result.prompts)} each ({counts})."
