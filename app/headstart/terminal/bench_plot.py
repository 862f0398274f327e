"""Pictures of benchmarks for people, by matplotlib, which is asked for only when a picture is. Measures nothing."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstart.engine.bench.contestants import PLAIN
from headstart.engine.bench.result import BenchResult
from headstart.errors import SettingsError
from headstart.terminal.measuring import writable_file

if TYPE_CHECKING:
    from headstart.engine.bench.forward import ForwardResult

_FORMATS = (".svg", ".png")
_DPI = 150
_INCHES_A_BAR = 0.16


def add_argument(group: argparse._ArgumentGroup) -> None:
    """The flag that asks for a picture; read as `plot`."""
    group.add_argument("--plot", type=_picture, metavar="FILE", help="draw the figures to this .svg or .png file")


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


def _picture(text: str) -> Path:
    """Refused now rather than after minutes of measuring."""
    path = writable_file(text)
    if path.suffix.lower() not in _FORMATS:
        raise SettingsError(f"plot must end in .svg or .png, not {text!r}.")
    try:
        import matplotlib as _  # noqa: F401, ICN001, PLC0415 - only whether it is there
    except ImportError:
        raise SettingsError('Pictures need matplotlib: install headstart with the extra "plots".') from None
    return path
