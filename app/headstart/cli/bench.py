"""`headstart bench`: races, timed passes and advice."""

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

from headstart import library
from headstart import manifest as manifests
from headstart.cli.command import Command, Group, LazyCommand, Load, argument, flag, group, load_measured
from headstart.cli.options import (
    FiguresFlags,
    ModelFlags,
    TraceFlags,
    installed_names,
    select_model,
    tracing,
    writable_file,
    write_json,
)
from headstart.cli.render import Screen, harmless
from headstart.engine.bench.prompts import LENGTHS, MAX_PER_KIND, MIN_LENGTH, USUAL_KINDS, read_kinds, read_prompts
from headstart.engine.bench.race import (
    AGAIN,
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
from headstart.engine.bench.result import (
    ALL,
    MIN_RATIO,
    BenchResult,
    Interval,
    Promise,
    Spread,
    Standing,
    Summary,
    advice,
    as_json,
)
from headstart.engine.engine import LoadOptions
from headstart.engine.wire import from_data, to_data
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from headstart.engine.bench.first_token import FirstToken, FirstTokenResult
    from headstart.engine.bench.measure import Timed
    from headstart.engine.bench.peers import ChatPeer, PeerSource
    from headstart.engine.devices import Machine
    from headstart.engine.local import LocalEngine

_LOOKUPS = (3, 5, 10)
_FILE_WIDTH = 120  # width if the output is no terminal
_NO_VALUE = "–"
_Sources = Callable[["LocalEngine", LoadOptions], "Sequence[PeerSource]"]


class Peer(StrEnum):
    """A program that takes part by default."""

    GENAI = "openvino-genai"
    NONE = "none"


def _lengths(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() and int(part) >= 1 for part in parts):
        raise SettingsError(f"lengths must be whole numbers above 0 with commas between them, not {text!r}.")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _prompt_lengths(text: str) -> tuple[int, ...]:
    lengths = _lengths(text)
    if min(lengths) < MIN_LENGTH:
        raise SettingsError(f"lengths of prompts must be {MIN_LENGTH} tokens or more, not {min(lengths)}.")
    return lengths


def _existing_path(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.exists():
        raise SettingsError(f"There is no {text}; name a file or folder that exists.")
    return path


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
    """The contestants of a race."""

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
    peer: Peer = flag(
        Peer.GENAI, f"race against OpenVINO GenAI with the same models, loaded a second time (default: {Peer.GENAI})"
    )


@dataclass(frozen=True, kw_only=True)
class TableFlags(FiguresFlags):
    """The file of the figures and the format of the table."""

    markdown: bool = flag(default=False, help="print the table as Markdown")


@dataclass(frozen=True, kw_only=True)
class OutputFlags(TableFlags):
    """The output of a race."""

    resume: bool = flag(default=False, help="go on with the race in --json FILE, which has each prompt once it is done")


@dataclass(frozen=True, kw_only=True)
class SpeedFlags:
    """The flags of `headstart bench speed`."""

    model: ModelFlags = group(ModelFlags)
    race: ContestFlags = group(ContestFlags)
    output: OutputFlags = group(OutputFlags)
    trace: TraceFlags = group(TraceFlags)


def race_modes(arguments: SpeedFlags, load: Load) -> int:
    """Race Headstart's own modes. Return the exit code."""

    def sources(engine: "LocalEngine", options: LoadOptions) -> "Sequence[PeerSource]":
        from headstart.engine.bench.measure import genai  # noqa: PLC0415 - `headstart --help` need not wait for it

        return (genai(engine, options),) if arguments.race.peer is Peer.GENAI else ()

    options = select_model(arguments.model, tracing(arguments.trace)).options
    contestants = EVERYTHING if arguments.race.sweep else arguments.race.contestants
    return _race(arguments, options, load, contestants, sources)


@dataclass(frozen=True, kw_only=True)
class LlamaFlags:
    """llama.cpp, which has to be installed."""

    llama_server: Path | None = flag(None, "path of its server", metavar="PATH", read=_existing_path)
    gguf: Path | None = flag(None, "the same model in its format", metavar="FILE", read=_existing_path)

    @property
    def paths(self) -> tuple[Path, Path] | None:
        """Return the paths of the server and the model; None if neither was given. Raises SettingsError."""
        if self.llama_server and self.gguf:
            return self.llama_server, self.gguf
        if self.llama_server or self.gguf:
            raise SettingsError("llama.cpp needs both: add --llama-server PATH and --gguf FILE.")
        return None


@dataclass(frozen=True, kw_only=True)
class PeersFlags:
    """The flags of `headstart bench peers`."""

    model: ModelFlags = group(ModelFlags)
    race: RaceFlags = group(RaceFlags)
    genai_lengths: tuple[int, ...] = flag(
        SWEPT_LENGTHS,
        "draft lengths to try (default: 1 to 8)",
        metavar="N,N",
        read=_lengths,
        is_list=True,
        group="OpenVINO GenAI, always available",
    )
    eagle: str | None = flag(
        None, "an installed EAGLE-3 head, if not the model's own", metavar="NAME", completions=installed_names
    )
    source: Path | None = flag(
        None,
        "source weights of the model: a folder, or a .gguf file",
        metavar="PATH",
        read=_existing_path,
        group='Hugging Face transformers, of the extra "export"',
    )
    source_draft: Path | None = flag(
        None, "those of the draft, for assisted generation", metavar="PATH", read=_existing_path
    )
    llama: LlamaFlags = group(LlamaFlags, "llama.cpp")
    gguf_draft: Path | None = flag(
        None, "the same draft in its format", metavar="FILE", read=_existing_path, group="llama.cpp"
    )
    output: OutputFlags = group(OutputFlags)


def race_peers(arguments: PeersFlags, load: Load) -> int:
    """Race other programs, with all their settings, against plain decoding and auto. Return the exit code."""
    server, gguf = arguments.llama.paths or (None, None)
    selection = select_model(arguments.model)
    assert selection.choice, "it is on this computer"
    target = selection.choice.target
    head = manifests.head_folder(target.folder)
    if head and manifests.read_model(head).is_hydra:  # OpenVINO GenAI runs no Hydra head
        head = None
    if arguments.eagle is not None:
        head = _head_folder(arguments.eagle, target)

    def sources(engine: "LocalEngine", options: LoadOptions) -> "Sequence[PeerSource]":
        from headstart.engine.bench.measure import genai  # noqa: PLC0415 - as above
        from headstart.engine.bench.peers import AssistedSource, EagleSource, LlamaSource  # noqa: PLC0415

        with_models = genai(engine, options, arguments.genai_lengths, SWEPT_THRESHOLDS, _LOOKUPS)
        return (
            with_models,
            EagleSource(with_models.target, head, arguments.genai_lengths),
            AssistedSource(arguments.source, arguments.source_draft),
            LlamaSource(server, gguf, arguments.gguf_draft),
        )

    return _race(arguments, selection.options, load, (PLAIN, AUTO), sources)


def _head_folder(name: str, target: library.Model) -> Path:
    """Return the folder of an installed EAGLE-3 head, or of the head in a pair. Raises SettingsError otherwise."""
    entry = library.find(name)
    head = entry.draft if isinstance(entry, library.Pair) else entry
    if not head.manifest.is_eagle:
        raise SettingsError(f"{name} is no EAGLE-3 head; leave out --eagle, or name one of `headstart models`.")
    library.require_same_vocabulary(target, head)
    return head.folder


@dataclass(frozen=True, kw_only=True)
class FirstTokenFlags:
    """The flags of `headstart bench prompt`."""

    model: ModelFlags = group(ModelFlags)
    lengths: tuple[int, ...] = flag(
        LENGTHS,
        f"tokens of the prompts, with commas between them (default: {','.join(map(str, LENGTHS))})",
        metavar="N,N",
        read=_prompt_lengths,
        is_list=True,
        group="prompts",
    )
    repeats: int = flag(3, "times that each is read (default: 3)")
    peer: Peer = flag(
        Peer.GENAI,
        f"compare with OpenVINO GenAI and its prefix cache, loaded a second time (default: {Peer.GENAI})",
        group="others",
    )
    llama: LlamaFlags = group(LlamaFlags, "llama.cpp")
    output: TableFlags = group(TableFlags)


def time_first_tokens(arguments: FirstTokenFlags, load: Load) -> int:
    """Time first tokens by length and by what was read before. Return the exit code."""
    from headstart.engine.bench.first_token import FirstTokenPlan, measure_first_token  # noqa: PLC0415 - as above
    from headstart.engine.bench.measure import genai  # noqa: PLC0415
    from headstart.engine.bench.peers import GenaiChats, LlamaChats  # noqa: PLC0415
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    llama, file = arguments.llama.paths, arguments.output.json
    options, screen = select_model(arguments.model).options, Screen()
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        assert isinstance(engine, LocalEngine), "only Headstart's own engine keeps what it has read"
        peers: list[ChatPeer] = []
        if arguments.peer is Peer.GENAI:
            peers.append(GenaiChats(genai(engine, options).target))
        if llama:
            peers.append(LlamaChats(*llama))
        plan = FirstTokenPlan(options, arguments.lengths, arguments.repeats, peers)
        result = measure_first_token(engine, plan, screen.remark, lambda result: _save(file, to_data(result)))
    _show([first_token_sheet(result)], first_token_remarks(result), markdown=arguments.output.markdown)
    if file:
        write_json(file, to_data(result))
    return 0


def first_token_sheet(result: "FirstTokenResult") -> list[list[str]]:
    """Return a table with a line for each program at each length, and a column for each situation."""
    lines = [
        [f"{length}, {name}", *map(_first_token, situations.values())]
        for length, programs in result.by_length.items()
        for name, situations in programs.items()
    ]
    situations = next(iter(next(iter(result.by_length.values())).values()))
    return [["tokens of the prompt", *situations], *lines]


def _first_token(first: "FirstToken") -> str:
    ratio = f" {_ratio(first.ratio.mean)}{_interval(first.ratio.interval)}" if first.ratio else ""
    return f"{first.median:.0f} ms{ratio}"


def first_token_remarks(result: "FirstTokenResult") -> list[str]:
    """Return the sentences below the table."""
    names = {name for programs in result.by_length.values() for name in programs}
    repeats = f" Medians of {result.repeats} repeats." if result.repeats > 1 else ""
    lines = [
        f"{result.target} with draft {result.draft or 'none'}, {_precision(result.target_properties)}, "
        f"{_machine_text(result.machine)}.{repeats}"
    ]
    if len(names) > 1:
        lines.append(
            "The figures with \"x\" are Headstart's time in multiples of the other program's, and the range of 95 %. "
            "Other programs read no file ahead: there the time is their cold one."
        )
    return [*lines, *result.skipped]


@dataclass(frozen=True, kw_only=True)
class ForwardFlags:
    """The flags of `headstart dev forward`."""

    model: ModelFlags = group(ModelFlags)
    most_tokens: int = flag(1024, "most tokens of a pass (default: 1024)", group="passes")
    most_context: int = flag(4096, "longest context (default: 4096)")
    repeats: int = flag(5, "passes of each kind (default: 5)")
    output: FiguresFlags = group(FiguresFlags)


def time_passes(arguments: ForwardFlags, load: Load) -> int:
    """Time passes by number of tokens and by context. Return the exit code."""
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


@dataclass(frozen=True, kw_only=True)
class AdviceFlags:
    """The flags of `headstart bench advice`."""

    file: str = argument("what `headstart bench speed --json FILE` wrote", metavar="FILE")
    json: Path | None = flag(None, "write the advice to this file", metavar="FILE", read=writable_file)


def advise(arguments: AdviceFlags, _load: Load) -> int:
    """Show the best setting for each class of text, from a file of results. Return the exit code."""
    rows = advice(_read_result(Path(arguments.file).expanduser()))
    table = Table("class", "best setting", box=None, padding=(0, 1, 0, 0))
    for title in ("its speedup", "auto's"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(harmless(row.kind), row.words, _ratio(row.speedup), _ratio(row.auto))
    Console(highlight=False).print(table)
    if arguments.json:
        write_json(arguments.json, {"advice": [dataclasses.asdict(row) for row in rows]})
    return 0


def commands() -> Group:
    """Return `headstart bench` with its sub-commands."""
    race = "Race plain decoding, speculation and OpenVINO GenAI on this machine; the default of `headstart bench`"
    peers = "Race other programs, each with all their settings, against plain and auto"
    first = "Time the first token by length of the prompt, cold and where the chat was read before"
    advice = "Show the best setting for each class of text, from the file of a race"
    return Group(
        {
            "speed": LazyCommand(race, lambda: Command(race_modes, load_measured)),
            "peers": LazyCommand(peers, lambda: Command(race_peers, load_measured)),
            "prompt": LazyCommand(first, lambda: Command(time_first_tokens, load_measured)),
            "advice": LazyCommand(advice, lambda: Command(advise)),
        },
        race_modes,
        load_measured,
        moved={"forward": "headstart dev forward"},
    )


def _race(
    arguments: SpeedFlags | PeersFlags,
    options: LoadOptions,
    load: Load,
    contestants: tuple[str, ...],
    sources: _Sources,
) -> int:
    """Load the models, race, print the tables and write the files. Return the exit code."""
    from headstart.engine.bench.measure import BenchPlan, Progress, measure  # noqa: PLC0415 - as above
    from headstart.engine.local import LocalEngine  # noqa: PLC0415

    screen, race, output = Screen(), arguments.race, arguments.output
    file = output.json
    if output.resume and file is None:
        raise SettingsError("--resume needs the file of the race that was cut off: add --json FILE.")
    before = _read_result(file) if output.resume and file and file.exists() else None
    prompts = read_prompts(race.prompts, race.classes)
    # Plain decoding runs again at the end of each round, as far from the first time as the other contestants.
    contestants = tuple(dict.fromkeys((*contestants, AGAIN)))
    plan = BenchPlan(options, prompts, race.tokens, race.repeats, contestants, before)

    progress = Progress(
        screen.remark, lambda heat: screen.remark(_heat_line(heat)), result=lambda result: _save(file, as_json(result))
    )
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        assert isinstance(engine, LocalEngine), "a race needs the models themselves"
        result = measure(engine, plan, sources(engine, options), progress)
    _show(sheets(result), remarks(result), markdown=output.markdown)
    if file:
        write_json(file, as_json(result))
    return 0


def _save(file: Path | None, data: Mapping[str, object]) -> None:
    """Write the figures so far."""
    if file and (file.is_file() or not file.exists()):  # a pipe gets the final figures only
        write_json(file, data)


def _heat_line(heat: Heat) -> str:
    """Return a line of progress for one run."""
    speed = heat.run.ms_per_token
    figure = "too short for a speed" if speed is None else f"{speed:.1f} ms/token"
    return f"{heat.prompt.id}, repeat {heat.repeat + 1}, {heat.contestant}: {figure}, {len(heat.run.tokens)} tokens"


def _show(tables: Sequence[list[list[str]]], sentences: Sequence[str], *, markdown: bool) -> None:
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


def _times(title: str, times: Mapping[str, "Mapping[int, Timed]"]) -> Table:
    table = Table(title, *(f"{name}, ms" for name in times), box=None, padding=(0, 1, 0, 0))
    for count in sorted({count for each in times.values() for count in each}):
        table.add_row(str(count), *(f"{each[count].median:.1f}" if count in each else "–" for each in times.values()))
    return table


def _read_result(path: Path) -> BenchResult:
    try:
        result: BenchResult = from_data(BenchResult, json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}).") from None
    except ValueError:
        raise SettingsError(f"{path} is no result of `headstart bench speed --json FILE`.") from None
    return result


def sheets(result: BenchResult) -> list[list[list[str]]]:
    """Return the tables as cells, columns first: auto by class, all contestants, auto against the peers by class."""
    figures = ["mean (95 %)", "5th percentile", "worst prompt"]
    figures += [f"{title} with TTFT" for title in figures]
    tables = []
    if auto := result.standings.get(AUTO):
        tables.append([[AUTO, *figures], *(_row(kind, auto, kind) for kind in _with_all_last(auto.decoding))])
    others = {name: standing for name, standing in result.standings.items() if name != PLAIN}
    tables.append([["", *figures], *(_row(name, standing, ALL) for name, standing in others.items())])
    if peers := result.hindsight:
        titles = [f"{peer.peer}{more}" for more in ("", " with TTFT") for peer in peers]
        rows = [
            [kind, *(_mean(each[kind]) for each in (*(p.decoding for p in peers), *(p.total for p in peers)))]
            for kind in _with_all_last(peers[0].decoding)
        ]
        tables.append([["auto against the best of", *titles], *rows])
    return tables


def _with_all_last(kinds: Mapping[str, Summary]) -> list[str]:
    return [*(kind for kind in kinds if kind != ALL), ALL]


def _row(title: str, standing: Standing, kind: str) -> list[str]:
    cells = [title]
    for summary in (standing.decoding[kind], standing.total[kind]):
        ratio = summary.worst_ratio
        worst = f"{_ratio(ratio.median)}{_interval(ratio)}" if ratio else _NO_VALUE
        worst = f"{worst} {summary.worst}" if summary.worst else worst
        cells += [_mean(summary), _ratio(summary.fifth_percentile), worst]
    return cells


def _mean(summary: Summary) -> str:
    return f"{_ratio(summary.mean)}{_interval(summary.interval)}"


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
    prompts = [each for each in promise.slower if each.is_noise is is_noise]
    return ", ".join(f"{each.prompt} {_ratio(each.speedup.median)}{_interval(each.speedup)}" for each in prompts)


def _range(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"


def remarks(result: BenchResult) -> list[str]:
    """Return the sentences below the tables."""
    setting, machine, memory = result.setting, result.machine, result.memory
    repeats = f"median of {setting.repeats} and their range; " if setting.repeats > 1 else ""
    lines = [
        f"{setting.target} with draft {setting.draft or 'none'}, {_precision(setting.target_properties)}, "
        f"at most {setting.tokens} tokens, {_machine_text(machine)}. "
        f"Speedup over plain decoding in the same repeat; {repeats}means are geometric."
    ]
    if plain := [ms for prompt in result.prompts for ms in prompt.scores[PLAIN].ms_per_token if ms is not None]:
        lines.append(f"Plain decoding: {statistics.median(plain):.1f} ms a token.")
    if result.promise:
        lines += _promise_remarks(result.promise)
    auto = result.standings.get(AUTO)
    if auto and auto.overhead_share is not None:
        lines.append(f"Time outside the models with {AUTO}: {auto.overhead_share:.1%} of decoding.")
    if memory.peak_rss is not None and memory.beyond is not None:
        lines.append(
            f"Peak memory of Headstart itself: {memory.peak_rss / 2**20:.0f} MiB; weights "
            f"{memory.weights / 2**20:.0f}, keys and values {memory.kv / 2**20:.0f}, everything else "
            f"{memory.beyond / 2**20:.0f}."
        )
    return [*lines, _text_differences(result), *result.skipped]


def _precision(properties: Mapping[str, str]) -> str:
    return properties.get("INFERENCE_PRECISION_HINT", "default")


def _machine_text(machine: "Machine") -> str:
    return f"on {machine.device} with {machine.cores} cores, OpenVINO {machine.openvino.partition('-')[0]}"


def _ratio(value: float | None) -> str:
    return _NO_VALUE if value is None else f"{value:.2f}x"


def _interval(interval: Interval | Spread | None) -> str:
    return f" ({interval.low:.2f}–{interval.high:.2f})" if interval else ""


def _text_differences(result: BenchResult) -> str:
    scores = [(name, score) for prompt in result.prompts for name, score in prompt.scores.items() if name != PLAIN]
    differing = [name for name, score in scores if not score.equals_plain]
    if not differing:
        return "Everyone wrote the same texts as plain decoding."
    counts = ", ".join(f"{name}: {differing.count(name)}" for name in dict.fromkeys(differing))
    return f"Texts that differ from plain decoding's, of {len(result.prompts)} each ({counts})."
