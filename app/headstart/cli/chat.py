"""`headstart chat`: one answer, a file of prompts, a pipe, or a conversation with commands."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs

from headstart import paths, private_files, remotes, settings
from headstart.chat.conversation import AnswerOutcome, Attachment, Conversation, Role, State, propose_title, turns
from headstart.chat.documents import to_markdown
from headstart.chat.files import attachments
from headstart.chat.imports.files import read_chats
from headstart.chat.json_chats import Bundle, new_chat, to_json
from headstart.cli import batch, models
from headstart.cli.batch import BatchFlags
from headstart.cli.checks.model_check import BackgroundModelCheck
from headstart.cli.command import INTERRUPTED, Load, argument, flag, given, group, suggestion
from headstart.cli.editor import QUOTES, hide_early_keys, piped_lines, typed_lines, whole_text
from headstart.cli.options import (
    ANSWER,
    OPTIONS,
    SPECULATION,
    AnsweringFlags,
    ModelSelection,
    RequestSettings,
    chattable_names,
    find_setting,
    from_flags,
    model_info,
    sampling_flags,
    select_model,
    set_last_used,
)
from headstart.cli.recognition import find_recognize
from headstart.cli.remote import RemoteSelection, select_remote_model
from headstart.cli.render import Screen, WrittenAnswer, answer, count, show_reading, stats_line, stats_lines
from headstart.cli.tools import ChatTools, open_tools, show_log, show_skills, show_undo
from headstart.cli.transcription import find_transcribe
from headstart.engine import prompt_cache_files
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Engine, EngineKind, FinishReason, Keep, Message, Sampling, ThinkingSupport
from headstart.engine.stats import figures, merge_stats
from headstart.engine.text import generation_config
from headstart.errors import ContextOverflowError, EngineLostError, HeadstartError, SettingsError
from headstart.library import library
from headstart.parameters import valid_text
from headstart.tools.loop import MAX_CALLS, ToolLoop, engine_turns, offering
from headstart.tools.servers import FILE_NAME

if TYPE_CHECKING:
    from headstart.workspace.tools import Workspace

STANDARD_INPUT = "-"
_Value = TypeVar("_Value")
_WITH_STATS = "--stats "
_SYSTEM_PROMPT = "system_prompt"  # key in the settings of a chat


def _schema(text: str) -> str:
    """Return a JSON schema, given itself or as its file. Raises SettingsError."""
    try:
        schema = text if text.lstrip().startswith("{") else Path(text).expanduser().read_text(encoding="utf-8")
        if not isinstance(json.loads(schema), dict):
            raise SettingsError(f"{text} is no JSON schema: it must be an object.")
    except OSError as error:
        raise SettingsError(f"{text} cannot be read ({error.strerror}); name a file with a JSON schema.") from None
    except ValueError as error:
        raise SettingsError(f"{text} is invalid JSON: {error}.") from None
    return schema


@dataclass(frozen=True, kw_only=True)
class ChatFlags:
    model: AnsweringFlags = group(AnsweringFlags)
    words: tuple[str, ...] = argument(
        "answer this and end; what is piped in goes before it; without a prompt, chat",
        (),
        metavar="[PROMPT]",
        read=valid_text,
    )
    prompt: str | None = flag(
        None,
        "answer this and end, whatever is piped in; - takes what is piped in as the prompt",
        metavar="TEXT",
        read=valid_text,
        group="prompt",
    )
    file: tuple[Path, ...] = flag(
        (),
        "a text, document, picture or recording that goes before the first message (may be repeated)",
        short="f",
        metavar="FILE",
    )
    system: str | None = flag(None, "instructions before the conversation", short="s", metavar="TEXT", read=valid_text)
    continue_: bool = flag(default=False, help="go on with the last conversation of the terminal", short="c")
    temporary: bool = flag(
        default=False, help="keep neither the conversation for --continue nor what you type for the arrow keys"
    )
    json_schema: str | None = flag(
        None, "the answer is JSON that keeps to this schema: a file, or the schema itself", metavar="FILE", read=_schema
    )
    answer: dict[str, Any] = given(ANSWER)
    sampling: dict[str, Any] = given(sampling_flags())
    speculation: dict[str, Any] = given(SPECULATION)
    batch: BatchFlags = group(BatchFlags, "many prompts")
    json: bool = flag(
        default=False,
        help="with a prompt: print one object with thinking, text, token_ids, finish_reason, stats and settings",
        group="output",
    )
    stats: bool = flag(default=False, help="after each answer: its speed; in a chat, /stats says more")
    show_origin: bool = flag(default=False, help="on a terminal: underline and colour tokens by their origin")
    show_thinking: bool | None = flag(
        default=None, help="show how the model thinks, on standard error (default: on a terminal)"
    )
    tools: bool = flag(
        default=False,
        help=f"start the MCP servers of {FILE_NAME}; the model may call their tools, and you are asked for each call",
        group="tools",
    )
    folder: Path | None = flag(
        None,
        "let the model work on this folder: you see each change and command first, and /undo takes an answer back",
        metavar="DIR",
        group="tools",
    )
    allow_tool: tuple[str, ...] = flag(
        (),
        "call this tool without asking, also as SERVER/NAME; folder/read and folder/edit are about --folder (may be "
        "repeated)",
        metavar="NAME",
        read=valid_text,
        group="tools",
    )
    no_color: bool = flag(default=False, help="no colours (also: NO_COLOR=1); underlines stay")

    @property
    def settings(self) -> RequestSettings:
        """Return the settings of the answers. Raises SettingsError."""
        return from_flags(self.answer, self.sampling, self.speculation)


def run(arguments: ChatFlags, load: Load) -> int:
    """Answer one prompt, or a file of prompts, or chat until the input ends. Return the exit code."""
    if arguments.batch.batch is not None:
        return _run_batch(arguments, arguments.batch.batch, load)
    if arguments.batch.output is not None:
        raise SettingsError("--output needs --batch FILE.")
    # Everything that can be refused is refused here, before the model takes seconds to load.
    if arguments.json and arguments.prompt is None and not arguments.words:
        raise SettingsError("--json prints one answer: add a prompt, or --prompt - to read standard input.")
    attached = tuple(map(_attach, arguments.file))
    system, conversation = read_last_chat(_last_chat()) if arguments.continue_ else (None, Conversation())
    screen = Screen(
        colour=not arguments.no_color,
        origins=arguments.show_origin,
        text=not arguments.json,
        markdown=not arguments.json_schema,
        thinking=arguments.show_thinking,
    )
    settings = arguments.settings
    loader = _EngineLoader(arguments, screen, load)
    prompt = _prompt(arguments)
    with ExitStack() as stack:
        if prompt is None and _is_typed():
            stack.enter_context(hide_early_keys())
        tools = open_tools(screen, servers=arguments.tools, folder=arguments.folder, allowed=arguments.allow_tool)
        if tools:
            stack.enter_context(closing(tools))
        session = Session(
            loader.open(loader.selection),
            loader.selection.name,
            screen,
            settings,
            arguments.system or system,
            attached,
            conversation,
            schema=arguments.json_schema or "",
            # Output for a program is no conversation to go on with.
            is_saved=(sys.stdout.isatty() or arguments.continue_) and not arguments.temporary,
            show_stats=arguments.stats,
            tools=tools,
            check=BackgroundModelCheck(loader.selection.name, screen),
        )
        stack.enter_context(closing(session))
        session.switch = partial(loader.switch, session)
        screen.legend()
        if prompt is None:
            return _talk(session)
        result = session.ask(prompt)
        if arguments.json:
            # ASCII only: a terminal shows no control character of the answer, and any encoding carries it.
            print(json.dumps(_answer_json(session, result, loader.selection), indent=2))
        return INTERRUPTED if session.interrupted else 0


class _EngineLoader:
    """Selects and loads the models of a chat, and reports about them."""

    def __init__(self, flags: ChatFlags, screen: Screen, load: Load) -> None:
        """Select the model of the flags. Raises what selecting raises."""
        self.flags, self.screen, self.load = flags, screen, load
        self.selection = self.select()

    def select(self, name: str | None = None) -> ModelSelection | RemoteSelection:
        """Return the model of the flags, or the one with this name and its own draft."""
        flags = self.flags.model if name is None else replace(self.flags.model, model=name, draft=None)
        return select_remote_model(flags) if remotes.is_remote(flags.model) else select_model(flags)

    def open(self, selection: ModelSelection | RemoteSelection) -> Engine:
        """Load a model, and make it the default of later commands."""
        if isinstance(selection, ModelSelection) and sys.stderr.isatty():
            self.screen.remark(f"Loading {selection.title} ...")
        self.screen.remark(*selection.remarks)
        started = time.perf_counter()
        engine = self.load(selection.options)
        loaded = model_info(engine)
        time_text = f"loaded in {time.perf_counter() - started:.1f} s" if self.flags.stats else ""
        reasons = (loaded.reason, *loaded.notes) if loaded else ()  # why the model is not loaded as you chose
        self.screen.remark(*filter(None, (time_text, *reasons)))
        set_last_used(selection.name)
        return engine

    def switch(self, session: "Session", name: str) -> None:
        """Let a session go on with another model, or with the same one if that does not load."""
        other = self.select(name)
        session.engine.close()
        try:
            session.engine = self.open(other)
        except (HeadstartError, KeyboardInterrupt):
            session.engine = self.open(self.selection)
            raise
        self.selection, session.model = other, other.name
        session.check.close()
        session.check = BackgroundModelCheck(other.name, self.screen)


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    name: str = argument(
        "a model of `headstart models`, or what can be exported: a recipe, a model of the hub, a folder, a .gguf file",
        metavar="MODEL",
        completions=chattable_names,
    )
    chat: ChatFlags = group(ChatFlags)
    weights: str | None = flag(
        None,
        "precision of a model that has to be exported: gguf (as in its GGUF file), int8 (precise), int4 (fast), "
        "int8-sym or fp16 (default: the recipe's precise one, or int4 where only that fits into the memory)",
        metavar="PRECISION",
        group="options",
    )
    yes: bool = flag(default=False, help="do not ask before the exporter is set up", group="options")


def run_model(arguments: RunFlags, load: Load) -> int:
    """Chat with a model; export it first if it is not installed. Return the exit code."""
    if arguments.chat.model.model is not None:
        raise SettingsError("`headstart run` takes one model: leave out --model.")
    name = arguments.name
    if not remotes.is_remote(name):
        name = models.find_or_export(name, arguments.weights, yes=arguments.yes)
    elif arguments.weights is not None:
        raise SettingsError("--weights is about models of this computer: leave it out.")
    return run(replace(arguments.chat, model=replace(arguments.chat.model, model=name)), load)


def _attach(file: Path) -> Attachment:
    with show_reading(file.name) as on_part:
        return attachments.attach(file, on_part, find_recognize(), find_transcribe())


def _run_batch(arguments: ChatFlags, file: Path, load: Load) -> int:
    used = {
        "the prompt": bool(arguments.words),
        "--prompt": arguments.prompt is not None,
        "--file": bool(arguments.file),
        "--continue": arguments.continue_,
        "--json-schema": bool(arguments.json_schema),
        "--json": arguments.json,
        "--stats": arguments.stats,
        "--show-origin": arguments.show_origin,
        "--show-thinking": arguments.show_thinking is not None,
        "--tools": arguments.tools,
        "--folder": arguments.folder is not None,
    }
    if name := next((name for name, is_used in used.items() if is_used), None):
        raise SettingsError(f"--batch takes prompts from a file and writes JSON to another: leave out {name}.")
    selection = select_model(arguments.model)
    own = generation_config.read(selection.options.target)
    defaults = batch.LineDefaults(arguments.settings, arguments.system, own)
    return batch.run(file, arguments.batch.output, selection, defaults, load)


def _prompt(arguments: ChatFlags) -> str | None:
    """Return the prompt of the command line; None if there is none. Raises SettingsError."""
    text = arguments.prompt
    if arguments.words:
        if text is not None:
            raise SettingsError("There are two prompts: leave out --prompt, or the words without an option.")
        is_piped = sys.stdin is not None and not sys.stdin.isatty()
        piped = whole_text(sys.stdin).strip("\n") if is_piped else ""
        text = "\n\n".join(filter(str.strip, (piped, " ".join(arguments.words))))
    elif text == STANDARD_INPUT:
        text = whole_text(sys.stdin)
    if text is not None and not text.strip():
        raise SettingsError("The prompt is empty.")
    return text


def _is_typed() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _talk(session: "Session") -> int:
    if _is_typed():
        if session.conversation.path:
            session.remark_length()
        session.screen.remark("Type a message. /help lists the commands, Ctrl+D quits.")
        typed = paths.typed_lines() if session.is_saved and not _is_encrypted() else None
        converse(session, typed_lines(typed, command_names()))
        return 0
    for line in piped_lines(sys.stdin):
        converse(session, [line])
        if session.interrupted:
            return INTERRUPTED
        if session.finished:
            break
    return 1 if session.failures else 0


def _is_encrypted() -> bool:
    """Return whether the chats are encrypted, so that no readable conversation may be saved."""
    from headstart.chat.history import encryption

    return encryption.is_encrypted(paths.history_folder())


def _last_chat() -> Path:
    """Return the file of the last conversation. Raises SettingsError if there is none."""
    if _is_encrypted():
        raise SettingsError("Your chats are encrypted, so the terminal keeps no conversation to go on with.")
    path = paths.last_chat()
    if not path.is_file():
        raise SettingsError("There is no conversation to go on with yet.")
    return path


def read_last_chat(path: Path) -> tuple[str | None, Conversation]:
    """Return the system prompt and the conversation of the last chat in a file. Raises ExchangeError."""
    chat, conversation = max(read_chats(path), key=lambda bundle: bundle[0].updated)
    system = chat.settings.get(_SYSTEM_PROMPT)
    return system if isinstance(system, str) else None, conversation


def _answer_json(
    session: "Session", result: WrittenAnswer, selection: ModelSelection | RemoteSelection
) -> dict[str, object]:
    model = selection.facts
    if isinstance(selection, ModelSelection):
        loaded = model_info(session.engine)
        model["engine"] = EngineKind(loaded.engine) if loaded else EngineKind.HEADSTART
    last = session.conversation.last
    calls = {"calls": [asdict(call) for call in last.calls]} if session.tools and last else {}
    return {
        "thinking": result.thinking,
        "text": result.text,
        **calls,
        "token_ids": result.token_ids,
        "finish_reason": result.reason,
        "stats": figures(result.stats),
        "settings": model | {"system": session.system} | session.settings.with_model_defaults(session.own).values,
    }


@dataclass
class Session:
    """A conversation with a loaded model."""

    engine: Engine
    model: str  # the name on the screen
    screen: Screen
    settings: RequestSettings
    system: str | None = None
    attachments: tuple[Attachment, ...] = ()  # go with the next message
    conversation: Conversation = field(default_factory=Conversation)
    schema: str = ""  # which the answers follow
    switch: Callable[[str], None] | None = None  # loads another model
    is_saved: bool = False  # for --continue
    show_stats: bool = False
    tools: ChatTools | None = None
    check: BackgroundModelCheck = field(default_factory=BackgroundModelCheck)
    last: WrittenAnswer | None = None
    failures: int = 0
    interrupted: bool = False  # Ctrl+C stopped the last answer
    finished: bool = False

    @property
    def own(self) -> Sampling | None:
        """The values of "auto" for the model; None if only a server knows them."""
        known = model_info(self.engine)
        return known.sampling if known else None

    def close(self) -> None:
        self.check.close()
        self.engine.close()

    def ask(self, text: str) -> WrittenAnswer:
        """Send a question with the attached files, and return the answer. Raises what the engine raises.

        An answer that fails after the first word stays in the conversation.
        """
        return self._answer(
            self.conversation.ask(text, self.attachments).begin_answer(self.model, self._saved_settings)
        )

    def handle(self, line: str) -> None:
        """Handle a line: a command if it starts with a slash, else a message. Blank lines do nothing."""
        if not line.startswith("/"):
            if line.strip():
                self.ask(line.strip("\n"))
            return
        name, *rest = line.split(maxsplit=1)
        for command in COMMANDS:
            if name in command.names:
                command.run(self, "".join(rest).strip())
                return
        raise SettingsError(
            f"There is no command {name}.{suggestion(name, command_names())} /help lists them. To send a message that "
            "starts with a slash, put a space before it."
        )

    def regenerate(self, _rest: str) -> None:
        """Answer the last question again. If sampling is on, use the next seed."""
        last = self.conversation.last
        if not last or last.role is not Role.ASSISTANT:
            self.screen.remark("There is no answer to regenerate yet.")
            return
        if self.settings.with_model_defaults(self.own).values["temperature"] == 0:
            self.screen.remark("At temperature 0 the answer stays much the same; try /set temperature 0.8.")
        else:
            self.settings = self.settings.with_values({"seed": self.settings.sampling.seed + 1})
            self.screen.remark(f"Using seed {self.settings.sampling.seed}.")
        self._answer(self.conversation.regenerate(last.id, self.model, self._saved_settings))

    def go_on(self, _rest: str) -> None:
        """Continue the last answer, or its thinking, where it ended."""
        last = self.conversation.last
        if not last or last.role is not Role.ASSISTANT:
            self.screen.remark("There is no answer to continue yet.")
            return
        self._answer(self.conversation.resume(last.id))

    def start_new(self, _rest: str) -> None:
        self.conversation, self.last = Conversation(), None
        self.screen.remark("A new conversation; the settings stay.")

    def choose_model(self, rest: str) -> None:
        if rest and self.switch:
            self.switch(rest)
            self.screen.remark(f"{self.model} answers from now on.")
            return
        marks = {self.model: " (in use)"}
        self.screen.remark(*(f"{name}{marks.get(name, '')}" for name in chattable_names()))

    def show_model(self, _rest: str) -> None:
        rows = models.fact_rows(library.find(self.model))
        known = model_info(self.engine)
        if known and known.thinking:
            rows.append(("thinking", _thinking(known.thinking)))
        self.screen.remark(*(f"{name:12}  {value}" for name, value in rows if name))

    def set_system(self, rest: str) -> None:
        self.system = rest or None
        self.screen.remark(
            "The system prompt is set for the next answers." if rest else "The system prompt is removed."
        )

    def list_tools(self, _rest: str) -> None:
        self._require(self.tools, "Tools are off: start the chat with --tools or --folder.").show(self.screen)

    def undo(self, _rest: str) -> None:
        show_undo(self._workspace, self.screen)

    def list_log(self, _rest: str) -> None:
        show_log(self._workspace, self.screen)

    def switch_skill(self, rest: str) -> None:
        if rest:
            skills = self._workspace.skills
            skills.switch(rest, on=rest not in {skill.name for skill in skills.on})
        show_skills(self._workspace, self.screen)

    @property
    def _workspace(self) -> "Workspace":
        """The folder that the model works on. Raises SettingsError without one."""
        workspace = self.tools.workspace if self.tools else None
        return self._require(workspace, "There is no working folder: start the chat with --folder DIR.")

    def _require(self, value: _Value | None, fault: str) -> _Value:
        if value is None:
            raise SettingsError(fault)
        return value

    def print_stats(self, _rest: str) -> None:
        known = model_info(self.engine)
        lines = stats_lines(self.last.stats) if self.last else ["There is no answer yet."]
        self.screen.remark(*lines, *(known.notes if known else ()))

    def set_option(self, rest: str) -> None:
        if not rest:
            self.screen.remark(*(f"{option.flag} {self.settings.format_value(option, self.own)}" for option in OPTIONS))
            return
        name, *text = rest.split(maxsplit=1)
        option = find_setting(name)
        value = option.parse(text[0]) if text else None
        if text and option.is_repeatable:
            value = (value,)
        self.settings = self.settings.with_values({option.name: value})
        self.screen.remark(f"{option.flag} is {self.settings.format_value(option, self.own)} from the next answer on.")

    def save(self, rest: str) -> None:
        """Write the conversation to a new file; `--stats` adds the statistics of the answers to Markdown."""
        name = rest.removeprefix(_WITH_STATS).strip()
        if not name:
            raise SettingsError("Name the file to write: /save FILE.")
        path, with_remarks = Path(name).expanduser(), rest.startswith(_WITH_STATS)
        text = to_json([self._chat]) if path.suffix == ".json" else to_markdown(*self._chat, with_remarks=with_remarks)
        try:
            with path.open("x", encoding="utf-8") as stream:
                stream.write(text)
        except FileExistsError:
            raise SettingsError(f"{path} exists already; choose another name.") from None
        except OSError as error:
            raise SettingsError(f"{path} cannot be written ({error.strerror}); choose another place.") from None
        self.screen.remark(f"Saved to {path}.")

    def load(self, rest: str) -> None:
        """Go on with a conversation from a file."""
        if not rest:
            raise SettingsError("Name the file to read: /load FILE.")
        (self.system, self.conversation), self.last = read_last_chat(Path(rest).expanduser()), None
        self.remark_length()

    def remark_length(self) -> None:
        """Say how long the conversation is."""
        self.screen.remark(f"The conversation goes on after {count(len(self.conversation.path), 'message')}.")

    @property
    def _chat(self) -> Bundle:
        """The conversation in the form of the window's chats."""
        times = [message.created for message in self.conversation.path] or [time.time()]
        first = self.conversation.path[0].text if self.conversation.path else ""
        chat = new_chat(propose_title(first), created=times[0], updated=times[-1], settings=self._saved_settings)
        return chat, self.conversation

    @property
    def _saved_settings(self) -> dict[str, object]:
        """The settings that are saved with a chat and its answers."""
        return {_SYSTEM_PROMPT: self.system} if self.system else {}

    def help(self, _rest: str) -> None:
        usages = [" ".join([command.usage, *(f"({name})" for name in command.aliases)]) for command in COMMANDS]
        width = max(map(len, usages))
        self.screen.remark(
            *(f"{usage:{width}}  {command.help}" for usage, command in zip(usages, COMMANDS, strict=True)),
            "Enter sends. Alt+Enter, or a backslash at the end of a line, starts a new line.",
            f"{QUOTES} begins a message of several lines, and {QUOTES} ends it.",
            "Ctrl+C stops an answer; Ctrl+D at the prompt quits.",
        )

    def quit(self, _rest: str) -> None:
        self.finished = True

    def _answer(self, conversation: Conversation) -> WrittenAnswer:
        """Write the answer at the end of `conversation`, which is empty or has a beginning.

        Raises what the engine raises.
        """
        system = (Message("system", self.system),) if self.system else ()
        history, begun = engine_turns(turns(conversation.path)), conversation.path[-1]
        is_new = len(conversation.path) == 2 and not (begun.text or begun.thinking or begun.calls)
        if is_new and self._is_saved:  # it replaces the last conversation
            prompt_cache_files.delete(prompt_cache_files.TERMINAL)
        request = structs.replace(
            self.settings.request((*system, *history)), schema=self.schema, keep=self._keep_on_disk
        )
        tools, max_calls = self.tools.begin_answer() if self.tools else ((), MAX_CALLS)
        loop = ToolLoop(offering(request, tools), begun.text, begun.calls, begun.thinking, max_calls)
        state = State.STOPPED
        try:
            self.last = result = self._write_answer(loop)
            self.interrupted = result.reason is FinishReason.CANCELLED and not result.fault
            state = State.INTERRUPTED if result.fault else State.STOPPED if self.interrupted else State.COMPLETE
        except HeadstartError:
            state = State.INTERRUPTED
            raise
        finally:  # also when Ctrl+C comes between the parts of the answer
            has_grown = (loop.text, loop.calls, loop.thinking) != (begun.text, begun.calls, begun.thinking)
            if has_grown or state is State.COMPLETE:
                self._finish(conversation, loop, state)
        if self.interrupted and not has_grown:
            is_asked = len(conversation.path) > len(self.conversation.path)
            kept = "the question was taken back" if is_asked else "the answer before it stays"
            self.screen.remark(f"Stopped before the first word; {kept}.")
            return result
        if result.fault:
            raise EngineLostError(result.fault)
        if self.screen.text:
            self.screen.remark(*finish_remarks(result, self.settings))
        if self.show_stats:
            self.screen.remark(stats_line(result.stats))
        return result

    @property
    def _is_saved(self) -> bool:
        return self.is_saved and not _is_encrypted()

    @property
    def _keep_on_disk(self) -> Keep | None:
        """The place on disk for the state of the prompt, which stays as long as the conversation; None if it is off."""
        share = settings.load().prompt_cache_gb if self._is_saved else 0.0
        return Keep(prompt_cache_files.TERMINAL, round(share * 1e9)) if share else None

    def _write_answer(self, loop: ToolLoop) -> WrittenAnswer:
        """Write an answer with its calls, and return it with the statistics of all of its parts."""
        result, cancel = answer(self.engine, loop, self.screen), CancelEvent()
        while result.call and self.tools:
            loop.give(result.call, self.tools.run(result.call, self.screen, cancel))
            if cancel.is_set():
                result = replace(result, reason=FinishReason.CANCELLED, call=None)
                break
            next_part = answer(self.engine, loop, self.screen)
            stats = merge_stats(next_part.stats, figures(result.stats))
            result = replace(next_part, token_ids=result.token_ids + next_part.token_ids, stats=stats)
        if self.tools and self.tools.has_changes:
            self.screen.remark("The folder was changed; /undo takes back what this answer did.")
        return replace(result, text=loop.text, thinking=loop.thinking)

    def _finish(self, conversation: Conversation, loop: ToolLoop, state: State) -> None:
        """Put the answer into the conversation, and save it."""
        outcome = AnswerOutcome(loop.text, state, calls=loop.calls, thinking=loop.thinking)
        sent = [file for message in conversation.path for file in message.attachments]
        waiting = tuple(file for file in self.attachments if file not in sent)
        self.conversation, self.attachments = conversation.finish(conversation.path[-1].id, outcome), waiting
        self._save_last_chat()

    def _save_last_chat(self) -> None:
        """Write the conversation for --continue. If that fails, the chat goes on."""
        if not self._is_saved:
            return
        try:
            private_files.write(paths.last_chat(), to_json([self._chat]))
        except OSError as error:
            self.is_saved = False
            self.screen.remark(f"This conversation is not kept for --continue ({error.strerror}).")


def finish_remarks(result: WrittenAnswer, settings: RequestSettings) -> list[str]:
    """Return sentences about the end of an answer; in most cases none."""
    if result.reason is FinishReason.LENGTH and result.thinking and not result.text:
        return [
            "The model was still thinking when its answer reached the longest length, max-new-tokens "
            f"{settings.answer.max_new_tokens}; raise it, or limit thinking with think-budget."
        ]
    if result.reason is FinishReason.LENGTH:
        return [f"The answer reached its longest length, max-new-tokens {settings.answer.max_new_tokens}."]
    if result.reason is FinishReason.CONTEXT:
        return [f"The context of {result.stats.context_length} tokens is full, so the answer ends here."]
    if result.reason is FinishReason.CANCELLED:
        return ["Stopped."]
    if result.reason is FinishReason.REPETITION:
        return [
            f"The model repeats itself; stopped after {count(result.stats.repeats, 'repeat')}. Try again with a higher "
            "temperature, or with stop-on-repetition no to let it go on."
        ]
    if result.reason is FinishReason.CONTENT_FILTER:
        return ["The content filter of the server withholds the rest of the answer."]
    return [] if result.text else ["The model ended its answer without a word."]


def _thinking(support: ThinkingSupport) -> str:
    """Say whether a model thinks, and what decides it."""
    habit = "before each answer" if support.by_default else "only if it is asked to"
    names = ["think"] * support.can_switch + ["think-effort"] * support.takes_effort + ["think-budget"]
    return f"{habit}; /set changes {', '.join(names)}"


def converse(session: Session, lines: Iterable[str]) -> None:
    """Handle messages and commands until they end, or until /quit. An error is shown, and the conversation goes on."""
    for line in lines:
        try:
            _handle(session, line)
        except KeyboardInterrupt:
            session.interrupted = True
            session.screen.end_answer()
        if session.finished:
            return


def _handle(session: Session, line: str) -> None:
    """Handle a line, and show an error. The conversation is finished if its model must not be used."""
    try:
        session.handle(line)
    except ContextOverflowError as error:
        session.failures += 1
        session.screen.complain(f"{error} /new starts a fresh conversation.")
    except HeadstartError as error:
        session.failures += 1
        session.screen.complain(str(error))
    if session.last and (fault := session.check.go_on()):
        session.failures += 1
        session.finished = True
        session.screen.complain(fault)


@dataclass(frozen=True)
class SlashCommand:
    """A command of the conversation; `run` gets the text after its name."""

    usage: str
    help: str
    run: Callable[[Session, str], None]
    aliases: tuple[str, ...] = ()  # other names

    @property
    def names(self) -> tuple[str, ...]:
        """The words to type, with the slash."""
        return (self.usage.split()[0], *self.aliases)


COMMANDS = (
    SlashCommand("/new", "forget this conversation and start a fresh one", Session.start_new, ("/clear",)),
    SlashCommand("/model NAME", "go on with another model; alone: list them", Session.choose_model),
    SlashCommand("/show", "what the model is", Session.show_model),
    SlashCommand("/system TEXT", "set the system prompt; without TEXT remove it", Session.set_system),
    SlashCommand("/stats", "speed and speculation of the last answer", Session.print_stats),
    SlashCommand(
        "/set KEY VALUE", "change a setting; without VALUE back to its default; alone: list them", Session.set_option
    ),
    SlashCommand("/tools", "the tools that the model may call", Session.list_tools),
    SlashCommand("/undo", "take back what the last answer changed in the folder of --folder", Session.undo),
    SlashCommand("/log", "what was done in that folder", Session.list_log),
    SlashCommand("/skills NAME", "switch a skill on or off; alone: list them", Session.switch_skill),
    SlashCommand("/continue", "go on with the last answer where it ended", Session.go_on),
    SlashCommand("/regenerate", "answer the last question again", Session.regenerate),
    SlashCommand(
        "/save [--stats] FILE",
        "write the conversation to a new file: JSON if it ends in .json, or Markdown, with its settings and figures",
        Session.save,
    ),
    SlashCommand("/load FILE", "go on with a conversation that was saved as JSON", Session.load),
    SlashCommand("/help", "this list", Session.help, ("/?",)),
    SlashCommand("/quit", "leave", Session.quit, ("/bye", "/exit")),
)


def command_names() -> list[str]:
    """Return the names and aliases of all commands."""
    return [name for command in COMMANDS for name in command.names]
