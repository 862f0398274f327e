"""`headstart chat`: its flags, and the choice between one answer, a pipe and a conversation."""

import argparse
import dataclasses
import json
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from headstart import library, paths, remotes
from headstart.cli import batch, loaded, remote, report, settings
from headstart.cli.answer import Answer, answer
from headstart.cli.command import INTERRUPTED, Command, Load
from headstart.cli.dialogue import Dialogue
from headstart.cli.model_flags import (
    add_engine_argument,
    add_model_arguments,
    add_trace_arguments,
    described,
    load_options,
    title,
    tracing,
)
from headstart.cli.prompt import piped_lines, typed_lines, whole_text
from headstart.cli.screen import Screen
from headstart.cli.session import Session, remarks
from headstart.cli.settings import Settings
from headstart.cli.slash import COMMANDS, converse
from headstart.engine.engine import Engine, FinishReason, LoadOptions
from headstart.errors import EngineLostError, SettingsError
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


def run(arguments: argparse.Namespace, load: Load) -> int:
    """Answer once, or all of a file, or talk until the input ends. Returns the exit code."""
    if arguments.batch is not None:
        return batch.run(arguments, load)
    batch.require_no_batch(arguments)
    plan = _plan(arguments)
    screen = Screen(colour=not arguments.no_color, origins=arguments.show_origin, text=not plan.json)
    if plan.load.remote:
        screen.remark(*remote.warnings(plan.load.remote))
    elif plan.choice and sys.stderr.isatty():
        screen.remark(f"Loading {title(plan.load, plan.choice)} ...")
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
        return None, remote.load_options(arguments)
    choice = library.choose(arguments.model, arguments.draft)
    return choice, dataclasses.replace(load_options(arguments, choice), tracing=tracing(arguments))


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
        "settings": models | dataclasses.asdict(plan.settings.settled(loaded.sampling(engine))),
    }


def _text(text: str) -> str:
    try:
        return settings.valid_text(text)
    except ValueError:
        raise SettingsError(f"{text!r} is not valid text.") from None
