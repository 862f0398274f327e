"""The figures of a race as tables, sentences and pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from headstart.cli.options import writable_file
from headstart.cli.render import harmless
from headstart.engine.bench.race import AUTO, PLAIN
from headstart.engine.bench.result import BenchResult, PromptResult, Standing
from headstart.engine.bench.stats import Interval, Spread
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from headstart.engine.bench.forward import ForwardResult


MEAN = "mean"
_NOTHING = "–"
_MOST_COLUMNS = 8  # contestants that a table of prompts has room for
_FORMATS = (".svg", ".png")
_DPI = 150
_INCHES_A_BAR = 0.16


def header(result: BenchResult) -> list[str]:
    """The columns: what is asked, plain decoding in milliseconds, everyone else as a speedup over it."""
    return ["prompt", f"{PLAIN} ms/token", *_others(result)]


def rows(result: BenchResult) -> list[list[str]]:
    """A row for each prompt, for each class and for all."""
    lines = [_prompt_row(prompt, _others(result)) for prompt in result.prompts]
    for kind in dict.fromkeys(prompt.kind for prompt in result.prompts):
        means = [result.standings[name].by_kind[kind] for name in _others(result)]
        lines.append([f"{kind} {MEAN}", "", *map(_ratio, means)])
    return [*lines, [f"all {MEAN}", "", *(_ratio(result.standings[name].overall) for name in _others(result))]]


def ranking(result: BenchResult) -> list[list[str]]:
    """A row for each contestant, the columns first: how its speedups scatter, also with the time to first token."""
    columns = ["", "mean (95 %)", "5th percentile", "worst", "mean with TTFT", "worst with TTFT"]
    lines = [columns]
    for name, standing in result.standings.items():
        lines.append(
            [
                name,
                _mean(standing),
                _ratio(standing.fifth_percentile),
                _ratio(standing.across.low if standing.across else None),
                _ratio(standing.total_overall),
                _ratio(standing.total_across.low if standing.total_across else None),
            ]
        )
    return lines


def remarks(result: BenchResult) -> list[str]:
    """What the tables do not show."""
    against = [*_versus(result), *_hindsight(result)]
    return [_setting(result), *against, *_overhead(result), *_memory(result), _texts(result), *result.skipped]


def sheets(result: BenchResult) -> list[list[list[str]]]:
    """The tables as cells, columns first: by prompt, unless there are too many contestants, and the ranking."""
    by_prompt = [header(result), *rows(result)]
    return [*([by_prompt] if len(result.standings) <= _MOST_COLUMNS else []), ranking(result)]


def markdown(result: BenchResult) -> str:
    """Tables and sentences, ready to be pasted."""
    lines = [line for sheet in sheets(result) for line in (*_markdown(sheet), "")]
    return "\n".join([*lines, *(f"- {harmless(remark)}" for remark in remarks(result))])


def tables(result: BenchResult) -> list[Table]:
    """The same for a terminal."""
    return [_table(sheet) for sheet in sheets(result)]


def _markdown(sheet: Sequence[Sequence[str]]) -> list[str]:
    columns, *lines = sheet
    ruler = ["---", *["---:"] * (len(columns) - 1)]
    return [f"| {' | '.join(harmless(cell) for cell in line)} |" for line in (columns, ruler, *lines)]


def _table(sheet: Sequence[Sequence[str]]) -> Table:
    (name, *figures), *lines = sheet
    shown = Table(name, box=None, padding=(0, 1, 0, 0))
    for column in figures:
        shown.add_column(column, justify="right", overflow="fold")
    for line in lines:
        shown.add_row(*(cell.replace(" (", "\n(") for cell in line))
    return shown


def _others(result: BenchResult) -> Sequence[str]:
    return [name for name in result.standings if name != PLAIN]


def _prompt_row(prompt: PromptResult, names: Sequence[str]) -> list[str]:
    plain = [ms for ms in prompt.scores[PLAIN].ms_per_token if ms is not None]
    speed = f"{sum(plain) / len(plain):.1f}" if plain else _NOTHING
    speedups = [prompt.scores[name].speedup for name in names]
    if len(prompt.scores[PLAIN].ms_per_token) == 1:  # one repeat has no spread
        return [prompt.id, speed, *(_ratio(value.median if value else None) for value in speedups)]
    return [prompt.id, speed, *map(_spread, speedups)]


def _ratio(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.2f}x"


def _spread(value: Spread | None) -> str:
    if value is None:
        return _NOTHING
    return f"{value.median:.2f}x ({value.low:.2f}–{value.high:.2f})"


def _setting(result: BenchResult) -> str:
    setting, machine = result.setting, result.machine
    hint = setting.target_properties.get("INFERENCE_PRECISION_HINT", "default")
    return (
        f"{setting.target} with draft {setting.draft or 'none'}, {hint}, at most {setting.tokens} tokens, "
        f"on {machine.device} with {machine.cores} cores, OpenVINO {machine.openvino.partition('-')[0]}. "
        f"Speedup over plain decoding in the same repeat; {_repeats(setting.repeats)}means are geometric."
    )


def _repeats(count: int) -> str:
    return f"median of {count} and their range; " if count > 1 else ""


def _versus(result: BenchResult) -> list[str]:
    versus = result.auto_vs_best_static_peer
    if versus is None:
        return []
    across = f"{versus.across.low:.2f} to {versus.across.high:.2f} over the prompts"
    return [f"{AUTO} against {versus.peer}, the peer's best static setting: {versus.ratio:.2f}x ({across})."]


def _hindsight(result: BenchResult) -> list[str]:
    return [
        f"{AUTO} against the best setting of {found.peer} for each prompt: {found.ratio:.2f}x"
        f"{_interval(found.interval)}, {found.across.low:.2f} to {found.across.high:.2f} over the prompts."
        for found in result.auto_vs_hindsight
    ]


def _mean(standing: Standing) -> str:
    return f"{_ratio(standing.overall)}{_interval(standing.interval)}"


def _interval(interval: Interval | None) -> str:
    return f" ({interval.low:.2f}–{interval.high:.2f})" if interval else ""


def _overhead(result: BenchResult) -> list[str]:
    auto = result.standings.get(AUTO)
    share = auto.overhead_share if auto else None
    return [] if share is None else [f"Time outside the models with {AUTO}: {share:.1%} of decoding."]


def _memory(result: BenchResult) -> list[str]:
    memory = result.memory
    if memory.peak_rss is None or memory.beyond is None:
        return []
    return [
        f"Peak memory of Headstart itself: {memory.peak_rss / 2**20:.0f} MiB; weights {memory.weights / 2**20:.0f}, "
        f"keys and values {memory.kv / 2**20:.0f}, everything else {memory.beyond / 2**20:.0f}."
    ]


def _texts(result: BenchResult) -> str:
    scores = [(name, score) for prompt in result.prompts for name, score in prompt.scores.items() if name != PLAIN]
    differing = [name for name, score in scores if not score.equals_plain]
    if not differing:
        return "Everyone wrote the same texts as plain decoding."
    counts = ", ".join(f"{name}: {differing.count(name)}" for name in dict.fromkeys(differing))
    return f"Texts that differ from plain decoding's, of {len(result.prompts)} each ({counts})."


def draw_speed(result: BenchResult, file: Path) -> None:
    """Bars of every contestant's speedup over plain decoding, by class."""
    names = [name for name in result.standings if name != PLAIN]
    kinds = list(dict.fromkeys(prompt.kind for prompt in result.prompts))
    colours = _colours()
    figure, axes = _figure(max(6.0, 1.5 + _INCHES_A_BAR * len(names) * len(kinds)), 4.0)
    width = 0.8 / max(len(names), 1)
    for place, name in enumerate(names):
        heights = [result.standings[name].by_kind[kind] or 0.0 for kind in kinds]
        axes.bar(
            [index + place * width for index in range(len(kinds))],
            heights,
            width,
            label=name,
            color=colours[place % len(colours)],
        )
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xticks([index + 0.4 - width / 2 for index in range(len(kinds))], kinds)
    axes.set_ylabel("speedup over plain decoding")
    axes.set_title(f"{result.setting.target}, draft {result.setting.draft or 'none'}\n{result.machine.device}")
    figure.legend(loc="outside right center", fontsize="small", frameon=False)
    _save(figure, file)


def draw_forward(result: "ForwardResult", file: Path) -> None:
    """Milliseconds by tokens of a pass, and by context."""
    figure, axes = _figure(10.0, 4.0, columns=2)
    for model in result.models:
        counts = list(model.by_tokens)
        axes[0].plot(counts, [model.by_tokens[count].median for count in counts], marker="o", label=model.name)
        contexts = list(model.by_context)
        steps = [model.by_context[context].median for context in contexts]
        axes[1].plot(contexts, steps, marker="o", label=model.name)
    for each, title in zip(axes, ("tokens of a pass", "tokens in the cache, one token a pass"), strict=True):
        each.set_xscale("log", base=2)
        each.set_xlabel(title)
        each.set_ylabel("milliseconds")
        each.legend(fontsize="small", frameon=False)
    axes[0].set_yscale("log")
    axes[1].set_ylim(bottom=0)
    for axis in (axes[0].xaxis, axes[0].yaxis, axes[1].xaxis):
        axis.set_major_formatter("{x:g}")
    axes[0].yaxis.set_minor_formatter("{x:g}")
    figure.suptitle(result.machine.device)
    _save(figure, file)


def _colours() -> Sequence[tuple[float, float, float, float]]:
    """Twenty that can be told apart."""
    from matplotlib import colormaps  # noqa: PLC0415 - of the extra "plots"

    return [colormaps["tab20"](place) for place in range(20)]


def _figure(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415 - of the extra "plots"

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns)
    for each in axes if columns > 1 else [axes]:
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Any, file: Path) -> None:
    try:
        figure.savefig(file, dpi=_DPI)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written ({error.strerror}); choose another place.") from None


def picture(text: str) -> Path:
    """The path of a picture, refused now rather than after minutes of measuring."""
    path = writable_file(text)
    if path.suffix.lower() not in _FORMATS:
        raise SettingsError(f"plot must end in .svg or .png, not {text!r}.")
    try:
        import matplotlib as _  # noqa: F401, ICN001, PLC0415 - only whether it is there
    except ImportError:
        raise SettingsError('Pictures need matplotlib: install headstart with the extra "plots".') from None
    return path
