"""`headstart chat`: its flags, and the choice between one answer, a pipe and a conversation."""

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from headstart import library, paths, remotes
from headstart.engine import selection
from headstart.engine.engine import (
    USUAL_DEVICE,
    Engine,
    EngineKind,
    FinishReason,
    KvPrecision,
    LoadOptions,
    Numerics,
    Open,
    Tracing,
)
from headstart.errors import EngineLostError, SettingsError
from headstart.library import Choice
from headstart.terminal import batch, elsewhere, loaded, report, settings
from headstart.terminal.answer import Answer, answer
from headstart.terminal.batch_input import Defaults
from headstart.terminal.command import Command, Load
from headstart.terminal.dialogue import Dialogue
from headstart.terminal.measuring import whole_number, writable_file
from headstart.terminal.prompt import piped_lines, typed_lines, whole_text
from headstart.terminal.screen import Screen
from headstart.terminal.session import Session, remarks
from headstart.terminal.settings import Settings
from headstart.terminal.slash import COMMANDS, converse

STANDARD_INPUT = "-"
INTERRUPTED = 130  # what shells report after Ctrl+C
AUTOMATIC = ""  # of --device: as it was tuned
Choices = TypeVar("Choices", bound=StrEnum)


@dataclass(frozen=True)
class Plan:
    """A command line that was read, checked and found possible; nothing is loaded yet."""

    choice: Choice | None  # None: a model on another computer, which `load` names
    load: LoadOptions
    settings: Settings
    dialogue: Dialogue
    prompt: str | None  # None: a conversation
    json: bool
    stats: bool

    @property
    def name(self) -> str:
        """Of the model, as it is chosen."""
        return self.choice.name if self.choice else elsewhere.name(self.load)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart chat`."""
    model = add_model_arguments(parser)
    add_engine_argument(model)
    words = parser.add_argument_group("words")
    words.add_argument("--prompt", metavar="TEXT", type=_text, help="answer this and end; - reads standard input")
    words.add_argument("--system", metavar="TEXT", type=_text, help="instructions that stand before the conversation")
    settings.add_options(parser)
    batch.add_arguments(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--json",
        action="store_true",
        help="with --prompt: print one object with text, token_ids, finish_reason, stats and settings",
    )
    output.add_argument("--stats", action="store_true", help="after each answer: speed and what speculation gave")
    output.add_argument(
        "--show-origin",
        action="store_true",
        help="on a terminal: underline and colour tokens by who proposed them",
    )
    add_trace_arguments(parser)
    output.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR=1); underlines stay")


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
        type=_one_of("numerics", Numerics),
        metavar="fast|exact",
        default=Numerics.FAST,
        help="fast: the quickest arithmetic, near-ties may fall differently when speculating; exact: the same text "
        "with and without speculation, at lower speed (default: fast)",
    )
    model.add_argument(
        "--draft-device", metavar="NAME", help="where the draft model runs (default: where the target does)"
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
        type=_one_of("kv-precision", KvPrecision),
        metavar="auto|u8|f16",
        default=KvPrecision.AUTO,
        help="how keys and values are kept: u8 takes 0.6 of their memory, and the answer may change (default: auto, "
        "16 bits)",
    )


def add_engine_argument(model: argparse._ArgumentGroup) -> None:
    """The flag that names the engine, for commands that only need answers."""
    model.add_argument(
        "--engine",
        type=_one_of("engine", EngineKind),
        metavar="auto|headstart|genai",
        default=EngineKind.AUTO,
        help="who runs the model: Headstart's own engine or OpenVINO GenAI (default: auto, its own on a CPU and on a "
        "GPU where a check passes; OpenVINO GenAI on an NPU and with an EAGLE-3 head)",
    )


def add_trace_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags that write down every round; `tracing` reads them. They are for who tunes, not for who chats."""
    trace = parser.add_argument_group("trace")
    file = "write every round to this file as JSON lines, without text"
    depth = "with --trace: draft N tokens in every round and write token ids, for `headstart bench replay`"
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
    )
    return selection.settled(options)


def run(arguments: argparse.Namespace, load: Load) -> int:
    """Answer once, or all of a file, or talk until the input ends. Returns the exit code."""
    if arguments.batch is not None:
        return batch.run(_batch_order(arguments), load)
    batch.require_no_batch(arguments)
    plan = _plan(arguments)
    screen = Screen(colour=not arguments.no_color, origins=arguments.show_origin, text=not plan.json)
    if plan.load.remote:
        screen.remark(*elsewhere.warnings(plan.load.remote))
    elif sys.stderr.isatty():
        screen.remark(f"Loading {_title(plan)} ...")
    if plan.choice:
        screen.remark(*loaded.remarks(plan.load, arguments.device))
    started = time.perf_counter()
    with closing(load(plan.load)) as engine:
        if plan.stats:
            screen.remark(f"loaded in {time.perf_counter() - started:.1f} s")
        screen.remark(*loaded.who(engine))
        screen.legend()
        return _talk(plan, engine, screen) if plan.prompt is None else _answer_once(plan, engine, screen)


COMMAND = Command("chat", "talk with a model, or get one answer", add_arguments, run, apart=True)


def _plan(arguments: argparse.Namespace) -> Plan:
    """Everything that can be refused is refused here, before the model takes its seconds to load."""
    if arguments.json and arguments.prompt is None:
        raise SettingsError("--json prints one answer: add --prompt TEXT, or --prompt - to read standard input.")
    wanted = settings.from_arguments(arguments)
    choice, load = _chosen(arguments)
    return Plan(
        choice=choice,
        load=load,
        settings=wanted,
        dialogue=Dialogue(arguments.system),
        prompt=_prompt(arguments.prompt),
        json=arguments.json,
        stats=arguments.stats,
    )


def _chosen(arguments: argparse.Namespace) -> tuple[Choice | None, LoadOptions]:
    if remotes.is_remote(arguments.model):
        return None, elsewhere.load_options(arguments)
    choice = library.choose(arguments.model, arguments.draft)
    return choice, dataclasses.replace(load_options(arguments, choice), tracing=tracing(arguments))


def _batch_order(arguments: argparse.Namespace) -> batch.Order:
    batch.require_no_dialogue(arguments)
    defaults = Defaults(settings.from_arguments(arguments), arguments.system, "seed" in arguments)
    output = batch.output_of(arguments)
    choice = library.choose(arguments.model, arguments.draft)
    load = dataclasses.replace(load_options(arguments, choice), tracing=tracing(arguments))
    return batch.Order(arguments.batch, output, batch.wish_of(arguments, load=load), defaults, _loaded(choice, load))


def _prompt(given: str | None) -> str | None:
    text = whole_text(sys.stdin) if given == STANDARD_INPUT else given
    if text is not None and not text.strip():
        raise SettingsError("The prompt is empty.")
    return text


def _answer_once(plan: Plan, engine: Engine, screen: Screen) -> int:
    assert plan.prompt is not None
    given = answer(engine, plan.settings.request(plan.dialogue.asked(plan.prompt).messages), screen)
    if given.fault:
        raise EngineLostError(given.fault)
    if plan.json:
        # ASCII only: a terminal shows no control character of the answer, and any encoding carries it.
        print(json.dumps(_object(plan, given, loaded.kind(engine)), indent=2))
    else:
        screen.remark(*remarks(given, plan.settings))
    if plan.stats:
        screen.remark(*report.lines(given.stats))
    return INTERRUPTED if given.reason is FinishReason.CANCELLED else 0


def _talk(plan: Plan, engine: Engine, screen: Screen) -> int:
    session = Session(engine, plan.name, screen, plan.settings, plan.dialogue, plan.stats)
    if sys.stdin.isatty() and sys.stdout.isatty():
        screen.remark("Ask away. /help lists the commands, Ctrl+D quits.")
        names = [command.name for command in COMMANDS]
        converse(session, typed_lines(paths.data_folder() / "chat-history", names))
        return 0
    for line in piped_lines(sys.stdin):
        converse(session, [line])
        if session.interrupted:
            return INTERRUPTED
        if session.finished:
            break
    return 1 if session.failures else 0


def _title(plan: Plan) -> str:
    assert plan.choice, "nothing is loaded from another computer"
    name = draft_name(plan.load, plan.choice)
    return f"{plan.choice.target.name}{f' with draft {name}' if name else ''} on {plan.load.device}"


def draft_name(options: LoadOptions, choice: Choice) -> str | None:
    """The draft that is loaded: tuning may have found none better, or another one."""
    if options.draft is None:
        return None
    return choice.draft.name if choice.draft and choice.draft.folder == options.draft else options.draft.name


def _object(plan: Plan, given: Answer, engine: EngineKind) -> dict[str, object]:
    here = plan.choice and {**_loaded(plan.choice, plan.load), "engine": engine}
    models = here or elsewhere.described(plan.load)
    models |= {"system": plan.dialogue.system}
    return {
        "text": given.text,
        "token_ids": given.token_ids,
        "finish_reason": given.reason,
        "stats": report.as_json(given.stats),
        "settings": models | dataclasses.asdict(plan.settings),
    }


def _loaded(choice: Choice, load: LoadOptions) -> dict[str, object]:
    return {
        "model": choice.target.name,
        "draft": draft_name(load, choice),
        "device": load.device,
        "numerics": load.numerics,
        "context": load.context,
    }


def _text(text: str) -> str:
    try:
        return settings.valid_text(text)
    except ValueError:
        raise SettingsError(f"{text!r} is not valid text.") from None


def _one_of(name: str, choices: type[Choices]) -> Callable[[str], Choices]:
    """Reads one of a few words."""
    *words, last = choices

    def read(text: str) -> Choices:
        try:
            return choices(text)
        except ValueError:
            raise SettingsError(f"{name} must be {', '.join(words)} or {last}, not {text!r}.") from None

    return read


def _context(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise SettingsError(f"context must be a whole number of tokens above 0, not {text!r}.")
    return int(text)
