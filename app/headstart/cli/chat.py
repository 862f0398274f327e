"""`headstart chat`: its flags, and the choice between one answer, a pipe and a conversation."""

import dataclasses
import json
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart import exporter, library, manifest, paths, remotes
from headstart.cli import batch, loaded, remote, report
from headstart.cli.answer import Answer, answer
from headstart.cli.batch import BatchFlags
from headstart.cli.command import INTERRUPTED, Load, argument, flag, group
from headstart.cli.conversation import (
    COMMANDS,
    Dialogue,
    Session,
    converse,
    piped_lines,
    remarks,
    typed_lines,
    whole_text,
)
from headstart.cli.options import (
    AnswerFlags,
    AnsweringFlags,
    SamplingFlags,
    Settings,
    SpeculationFlags,
    TraceFlags,
    chattable_names,
    described,
    from_flags,
    load_options,
    title,
    tracing,
    valid_text,
)
from headstart.cli.render import Screen
from headstart.engine.engine import Engine, FinishReason, LoadOptions
from headstart.errors import EngineLostError, ModelNotFoundError, SettingsError
from headstart.library import Choice

STANDARD_INPUT = "-"


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
        if self.choice:
            return self.choice.name
        assert self.load.remote
        return remotes.model_name(self.load.remote)


def _text(text: str) -> str:
    try:
        return valid_text(text)
    except ValueError:
        raise SettingsError(f"{text!r} is not valid text.") from None


@dataclass(frozen=True, kw_only=True)
class PromptFlags:
    """What is asked."""

    prompt: str | None = flag(None, "answer this and end; - reads standard input", metavar="TEXT", read=_text)
    system: str | None = flag(None, "instructions that stand before the conversation", metavar="TEXT", read=_text)


@dataclass(frozen=True, kw_only=True)
class OutputFlags:
    """What is shown."""

    json: bool = flag(
        default=False, help="with --prompt: print one object with text, token_ids, finish_reason, stats and settings"
    )
    stats: bool = flag(default=False, help="after each answer: speed and what speculation gave")
    show_origin: bool = flag(default=False, help="on a terminal: underline and colour tokens by who proposed them")
    no_color: bool = flag(default=False, help="no colours (also: NO_COLOR=1); underlines stay")


@dataclass(frozen=True, kw_only=True)
class ChatFlags:
    """The flags of `headstart chat`."""

    model: AnsweringFlags = group(AnsweringFlags)
    prompt: PromptFlags = group(PromptFlags)
    answer: Any = group(AnswerFlags)
    sampling: Any = group(SamplingFlags)
    speculation: Any = group(SpeculationFlags)
    batch: BatchFlags = group(BatchFlags, "many prompts")
    output: OutputFlags = group(OutputFlags)
    trace: TraceFlags = group(TraceFlags)

    @property
    def settings(self) -> Settings:
        """How answers are made. Raises SettingsError."""
        return from_flags(self.answer, self.sampling, self.speculation)


def run(arguments: ChatFlags, load: Load) -> int:
    """Answer once, or all of a file, or talk until the input ends. Returns the exit code."""
    if arguments.batch.batch is not None:
        return _run_batch(arguments, load)
    batch.require_no_batch(arguments.batch)
    plan = _plan(arguments)
    output = arguments.output
    screen = Screen(colour=not output.no_color, origins=output.show_origin, text=not output.json)
    if plan.load.remote:
        screen.remark(*remote.warnings(plan.load.remote))
    elif plan.choice and sys.stderr.isatty():
        screen.remark(f"Loading {title(plan.load, plan.choice)} ...")
    if plan.choice:
        screen.remark(*loaded.remarks(plan.load, arguments.model.device))
    started = time.perf_counter()
    with closing(load(plan.load)) as engine:
        if plan.stats:
            screen.remark(f"loaded in {time.perf_counter() - started:.1f} s")
        screen.remark(*loaded.who(engine))
        screen.legend()
        return _talk(plan, engine, screen) if plan.prompt is None else _answer_once(plan, engine, screen)


@dataclass(frozen=True, kw_only=True)
class RunFlags(ChatFlags):
    """The flags of `headstart run`."""

    name: str = argument(
        "a model of `headstart models`, or what can be exported: a recipe, a model of the hub, a folder, a .gguf file",
        metavar="MODEL",
        offered=chattable_names,
    )


def run_model(arguments: RunFlags, load: Load) -> int:
    """Chat with a model, which is exported first where it is not installed. Returns the exit code."""
    if arguments.model.model is not None:
        raise SettingsError("`headstart run` takes one model: leave out --model.")
    model = dataclasses.replace(arguments.model, model=_installed(arguments.name))
    return run(dataclasses.replace(arguments, model=model), load)


def _installed(name: str) -> str:
    """The name of a model, or its folder, once it is on this computer."""
    if remotes.is_remote(name):
        return name
    path = Path(name).expanduser()
    is_source = path.exists() and not (path / manifest.FILE_NAME).is_file()
    if not is_source or name in {entry.name for entry in library.installed()}:
        try:
            return library.find(name).name
        except ModelNotFoundError:
            pass
    folder = exporter.export(name)
    return folder.name if folder.parent == paths.models_folder() else str(folder)


def _run_batch(arguments: ChatFlags, load: Load) -> int:
    given = {
        "--prompt": arguments.prompt.prompt is not None,
        "--json": arguments.output.json,
        "--stats": arguments.output.stats,
        "--show-origin": arguments.output.show_origin,
    }
    for name in (name for name, is_given in given.items() if is_given):
        raise SettingsError(f"--batch takes prompts from a file and writes JSON to another: leave out {name}.")
    choice, options = _local(arguments)
    seeded = arguments.sampling.seed is not None
    common = batch.Common(choice, options, arguments.settings, arguments.prompt.system, seeded)
    return batch.run(arguments.batch, common, load)


def _plan(arguments: ChatFlags) -> Plan:
    """Everything that can be refused is refused here, before the model takes its seconds to load."""
    if arguments.output.json and arguments.prompt.prompt is None:
        raise SettingsError("--json prints one answer: add --prompt TEXT, or --prompt - to read standard input.")
    wanted = arguments.settings
    choice, load = _chosen(arguments)
    return Plan(
        choice=choice,
        load=load,
        settings=wanted,
        dialogue=Dialogue(arguments.prompt.system),
        prompt=_prompt(arguments.prompt.prompt),
        json=arguments.output.json,
        stats=arguments.output.stats,
    )


def _chosen(arguments: ChatFlags) -> tuple[Choice | None, LoadOptions]:
    if remotes.is_remote(arguments.model.model):
        return None, remote.load_options(arguments.model, arguments.trace)
    return _local(arguments)


def _local(arguments: ChatFlags) -> tuple[Choice, LoadOptions]:
    choice = library.choose(arguments.model.model, arguments.model.draft)
    options = load_options(arguments.model, choice)
    return choice, dataclasses.replace(options, tracing=tracing(arguments.trace))


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
        print(json.dumps(_object(plan, given, engine), indent=2))
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
        converse(session, typed_lines(_kept_lines(), names))
        return 0
    for line in piped_lines(sys.stdin):
        converse(session, [line])
        if session.interrupted:
            return INTERRUPTED
        if session.finished:
            break
    return 1 if session.failures else 0


def _kept_lines() -> Path | None:
    """Where typed lines may be kept: nowhere, for a person who encrypts the chats."""
    from headstart.chat import encryption  # noqa: PLC0415 - only who talks waits for it

    return None if encryption.is_encrypted(paths.history_folder()) else paths.typed_lines()


def _object(plan: Plan, given: Answer, engine: Engine) -> dict[str, object]:
    models: dict[str, object] = {"model": plan.name}
    if plan.choice:
        models = {**described(plan.load, plan.choice), "engine": loaded.kind(engine)}
    elif plan.load.remote:
        models["url"] = plan.load.remote.url
    models |= {"system": plan.dialogue.system}
    return {
        "text": given.text,
        "token_ids": given.token_ids,
        "finish_reason": given.reason,
        "stats": report.as_json(given.stats),
        "settings": models | plan.settings.settled(loaded.sampling(engine)).values,
    }
