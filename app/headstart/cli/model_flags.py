"""The flags that say what is loaded, and where: `headstart chat` shares them with what serves and measures."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headstart import library, remotes
from headstart.cli.command import flag
from headstart.cli.measuring import writable_file
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


def installed_names() -> Iterable[str]:
    """What a shell may complete the name of a model to."""
    return [entry.name for entry in library.installed()]


def chattable_names() -> Iterable[str]:
    """The same, with the servers on other computers."""
    return [*installed_names(), *(remotes.model_name(server) for server in remotes.configured())]


def _context(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise SettingsError(f"context must be a whole number of tokens above 0, not {text!r}.")
    return int(text)


@dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """What is loaded, and where; `load_options` reads them."""

    model: str | None = flag(
        None,
        "a model or pair of `headstart models`, its folder, or remote:NAME[/MODEL] of `headstart remote list` "
        "(default: the only one installed)",
        metavar="NAME",
        offered=chattable_names,
    )
    draft: str | None = flag(
        None,
        "another draft model with the same vocabulary; none: no draft",
        metavar="NAME",
        offered=lambda: [*installed_names(), library.NO_DRAFT],
    )
    device: str = flag(
        AUTOMATIC,
        "CPU, GPU, GPU.1, NPU, ..., or AUTO for the best here (default: what `headstart tune` found, or else CPU)",
        metavar="NAME",
    )
    numerics: Numerics = flag(
        Numerics.FAST,
        "fast: the quickest arithmetic, whose rounding depends on how many tokens are read at once, so the same "
        "greedy or seeded request may get another answer when it is asked again; exact: the same text each time, with "
        "and without speculation, at lower speed (default: fast)",
        metavar="fast|exact",
    )
    draft_device: str | None = flag(None, "where the draft model runs (default: where the target does)", metavar="NAME")
    precision: Precision = flag(
        Precision.AUTO,
        "what the model computes in; one that gives wrong results on this device is refused (default: auto, the "
        "fastest that a trial found right here, or else f32)",
        metavar="auto|f32|bf16|f16",
    )
    context: int | None = flag(
        None,
        "tokens of room for prompt and answer (default: what the model allows, at most 8192)",
        metavar="N",
        read=_context,
    )
    ignore_memory: bool = flag(default=False, help="load although the memory seems too small")
    kv_precision: KvPrecision = flag(
        KvPrecision.AUTO,
        "how keys and values are kept: u8 takes 0.6 of their memory, and the answer may change (default: auto, "
        "16 bits)",
        metavar="auto|u8|f16",
    )

    @property
    def wanted_engine(self) -> EngineKind:
        """What measures needs the models themselves."""
        return EngineKind.HEADSTART


@dataclass(frozen=True, kw_only=True)
class AnsweringFlags(ModelFlags):
    """The same where only answers are needed, whoever gives them."""

    engine: EngineKind = flag(
        EngineKind.AUTO,
        "who runs the model: Headstart's own engine or OpenVINO GenAI (default: auto, its own on a CPU and on a "
        "GPU where a check passes; OpenVINO GenAI on an NPU and with an EAGLE-3 head)",
        metavar="auto|headstart|genai",
    )

    @property
    def wanted_engine(self) -> EngineKind:
        """As asked."""
        return self.engine


@dataclass(frozen=True, kw_only=True)
class TraceFlags:
    """Every round in a file: for who tunes, not for who chats. `tracing` reads them."""

    trace: Path | None = flag(
        None, "write every round to this file as JSON lines, without text", metavar="FILE", read=writable_file
    )
    trace_depth: int | None = flag(
        None,
        "with --trace: draft N tokens in every round and write token ids, for `bench/research/replay.py`",
        metavar="N",
    )


def tracing(flags: TraceFlags) -> Tracing | None:
    """What the flags ask for. Raises SettingsError."""
    if flags.trace is None and flags.trace_depth is not None:
        raise SettingsError("--trace-depth needs a file to record to: add --trace FILE.")
    return Tracing(flags.trace, flags.trace_depth) if flags.trace else None


def load_options(flags: ModelFlags, choice: Choice) -> LoadOptions:
    """What the flags say, for the models that were chosen; what it leaves open is as it was tuned."""
    left_open = {
        Open.DRAFT: flags.draft is None,
        Open.DEVICE: flags.device == AUTOMATIC,
        Open.DRAFT_DEVICE: flags.draft_device is None,
        Open.PROPERTIES: True,
    }
    options = LoadOptions(
        choice.target.folder,
        choice.draft.folder if choice.draft else None,
        device=USUAL_DEVICE if left_open[Open.DEVICE] else flags.device,
        numerics=flags.numerics,
        context=flags.context,
        draft_device=flags.draft_device,
        ignore_memory=flags.ignore_memory,
        open=tuple(name for name, is_open in left_open.items() if is_open),
        engine=flags.wanted_engine,
        kv_precision=flags.kv_precision,
        precision=flags.precision,
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
