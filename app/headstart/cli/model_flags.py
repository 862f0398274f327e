"""The flags that say what is loaded, and where: `headstart chat` shares them with what serves and measures."""

import argparse
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from headstart.cli.measuring import whole_number, writable_file
from headstart.engine import selection
from headstart.engine.engine import (
    USUAL_DEVICE,
    EngineKind,
    KvPrecision,
    LoadOptions,
    Numerics,
    Open,
    Precision,
    Tracing,
)
from headstart.errors import SettingsError
from headstart.library import Choice

AUTOMATIC = ""  # of --device: as it was tuned
_Choices = TypeVar("_Choices", bound=StrEnum)


def add_model_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The flags that decide what is loaded, and where; `load_options` reads them. Returns their group."""
    parser.set_defaults(engine=EngineKind.HEADSTART)  # what measures needs the models themselves
    model = parser.add_argument_group("model")
    model.add_argument(
        "--model",
        metavar="NAME",
        help="a model or pair of `headstart models`, its folder, or remote:NAME[/MODEL] of `headstart remote list` "
        "(default: the only one installed)",
    )
    model.add_argument("--draft", metavar="NAME", help="another draft model with the same vocabulary; none: no draft")
    device = "CPU, GPU, GPU.1, NPU, ..., or AUTO for the best here (default: what `headstart tune` found, or else CPU)"
    model.add_argument("--device", metavar="NAME", default=AUTOMATIC, help=device)
    model.add_argument(
        "--numerics",
        type=one_of("numerics", Numerics),
        metavar="fast|exact",
        default=Numerics.FAST,
        help="fast: the quickest arithmetic, whose rounding depends on how many tokens are read at once, so the same "
        "greedy or seeded request may get another answer when it is asked again; exact: the same text each time, with "
        "and without speculation, at lower speed (default: fast)",
    )
    model.add_argument(
        "--draft-device", metavar="NAME", help="where the draft model runs (default: where the target does)"
    )
    model.add_argument(
        "--precision",
        type=one_of("precision", Precision),
        metavar="auto|f32|bf16|f16",
        default=Precision.AUTO,
        help="what the model computes in; one that gives wrong results on this device is refused (default: auto, the "
        "fastest that a trial found right here, or else f32)",
    )
    _add_memory_arguments(model)
    return model


def _add_memory_arguments(model: argparse._ArgumentGroup) -> None:
    model.add_argument(
        "--context",
        type=_context,
        metavar="N",
        help="tokens of room for prompt and answer (default: what the model allows, at most 8192)",
    )
    model.add_argument("--ignore-memory", action="store_true", help="load although the memory seems too small")
    model.add_argument(
        "--kv-precision",
        type=one_of("kv-precision", KvPrecision),
        metavar="auto|u8|f16",
        default=KvPrecision.AUTO,
        help="how keys and values are kept: u8 takes 0.6 of their memory, and the answer may change (default: auto, "
        "16 bits)",
    )


def add_engine_argument(model: argparse._ArgumentGroup) -> None:
    """The flag that names the engine, for commands that only need answers."""
    model.add_argument(
        "--engine",
        type=one_of("engine", EngineKind),
        metavar="auto|headstart|genai",
        default=EngineKind.AUTO,
        help="who runs the model: Headstart's own engine or OpenVINO GenAI (default: auto, its own on a CPU and on a "
        "GPU where a check passes; OpenVINO GenAI on an NPU and with an EAGLE-3 head)",
    )


def add_trace_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags that write down every round; `tracing` reads them. They are for who tunes, not for who chats."""
    trace = parser.add_argument_group("trace")
    file = "write every round to this file as JSON lines, without text"
    depth = "with --trace: draft N tokens in every round and write token ids, for `bench/research/replay.py`"
    trace.add_argument("--trace", metavar="FILE", type=writable_file, help=file)
    trace.add_argument(
        "--trace-depth",
        metavar="N",
        type=whole_number("trace-depth", 1),
        help=depth,
    )


def tracing(arguments: argparse.Namespace) -> Tracing | None:
    """What `add_trace_arguments` read. Raises SettingsError."""
    if arguments.trace is None and arguments.trace_depth is not None:
        raise SettingsError("--trace-depth needs a file to record to: add --trace FILE.")
    return Tracing(arguments.trace, arguments.trace_depth) if arguments.trace else None


def load_options(arguments: argparse.Namespace, choice: Choice) -> LoadOptions:
    """What `add_model_arguments` read, for the models that were chosen; what it leaves open is as it was tuned."""
    left_open = {
        Open.DRAFT: arguments.draft is None,
        Open.DEVICE: arguments.device == AUTOMATIC,
        Open.DRAFT_DEVICE: arguments.draft_device is None,
        Open.PROPERTIES: True,
    }
    options = LoadOptions(
        choice.target.folder,
        choice.draft.folder if choice.draft else None,
        device=USUAL_DEVICE if left_open[Open.DEVICE] else arguments.device,
        numerics=arguments.numerics,
        context=arguments.context,
        draft_device=arguments.draft_device,
        ignore_memory=arguments.ignore_memory,
        open=tuple(name for name, is_open in left_open.items() if is_open),
        engine=arguments.engine,
        kv_precision=arguments.kv_precision,
        precision=arguments.precision,
    )
    return selection.settled(options)


def draft_name(options: LoadOptions, choice: Choice) -> str | None:
    """The draft that is loaded: tuning may have found none better, or another one."""
    if options.draft is None:
        return None
    return choice.draft.name if choice.draft and choice.draft.folder == options.draft else options.draft.name


def described(options: LoadOptions, choice: Choice) -> dict[str, object]:
    """What is said of the models beside an answer in JSON."""
    return {
        "model": choice.target.name,
        "draft": draft_name(options, choice),
        "device": options.device,
        "numerics": options.numerics,
        "context": options.context,
    }


def title(options: LoadOptions, choice: Choice) -> str:
    """What is loaded and where, as a person is told."""
    draft = draft_name(options, choice)
    return f"{choice.target.name}{f' with draft {draft}' if draft else ''} on {options.device}"


def one_of(name: str, choices: type[_Choices]) -> Callable[[str], _Choices]:
    """Reads one of a few words."""
    *words, last = choices

    def read(text: str) -> _Choices:
        try:
            return choices(text)
        except ValueError:
            raise SettingsError(f"{name} must be {', '.join(words)} or {last}, not {text!r}.") from None

    return read


def _context(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise SettingsError(f"context must be a whole number of tokens above 0, not {text!r}.")
    return int(text)
