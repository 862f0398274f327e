"""`headstart chat`: one answer, a file of prompts, a pipe, or a conversation with commands."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from headstart import kept_prompts, library, manifest, own_folder, paths, remotes, settings_file
from headstart.chat import attachments
from headstart.chat.conversation import Attachment, Conversation, Outcome, Role, State, propose_title, turns
from headstart.chat.documents import to_markdown
from headstart.chat.json_chats import Bundle, new_chat, read_chats, to_json
from headstart.cli import batch, models, remote
from headstart.cli.batch import BatchFlags
from headstart.cli.command import INTERRUPTED, Load, argument, flag, given, group, suggestion, valid_text
from headstart.cli.editor import QUOTES, keys_kept, piped_lines, typed_lines, whole_text
from headstart.cli.options import (
    ANSWER,
    OPTIONS,
    SPECULATION,
    AnsweringFlags,
    Settings,
    chattable_names,
    chosen,
    described,
    facts,
    from_flags,
    loading_remarks,
    named,
    remember,
    sampling_flags,
    title,
)
from headstart.cli.render import Answer, Screen, answer, count, harmless, on_ctrl_c, stats_json, stats_line, stats_lines
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Call,
    Engine,
    EngineKind,
    FinishReason,
    Keep,
    LoadOptions,
    Message,
    Sampling,
    Tool,
    joined,
)
from headstart.errors import ContextOverflowError, EngineLostError, HeadstartError, ModelNotFoundError, SettingsError
from headstart.library import Choice
from headstart.pdf_text import open_pdf, pages
from headstart.tools.loop import REFUSED, Result, ToolLoop, engine_turns, offering, unknown
from headstart.tools.servers import FILE_NAME, Offer, ToolServers, effects

STANDARD_INPUT = "-"
_MOST_SHOWN = 200  # characters of a tool's result
_SYSTEM = "system_prompt"  # among the settings of a chat


def _schema(text: str) -> str:
    """A JSON schema as it is, or from its file. Raises SettingsError."""
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
    """The flags of `headstart chat`."""

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
        (), "a text or PDF file that goes before the first message (may be repeated)", short="f", metavar="FILE"
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
        help="with a prompt: print one object with text, token_ids, finish_reason, stats and settings",
        group="output",
    )
    stats: bool = flag(default=False, help="after each answer: its speed; in a chat, /stats says more")
    show_origin: bool = flag(default=False, help="on a terminal: underline and colour tokens by their origin")
    tools: bool = flag(
        default=False,
        help=f"start the MCP servers of {FILE_NAME}; the model may call their tools, and you are asked for each call",
        group="tools",
    )
    allow_tool: tuple[str, ...] = flag(
        (),
        "call this tool without asking, also as SERVER/NAME (may be repeated)",
        metavar="NAME",
        read=valid_text,
        group="tools",
    )
    no_color: bool = flag(default=False, help="no colours (also: NO_COLOR=1); underlines stay")

    @property
    def settings(self) -> Settings:
        """The settings of the answers. Raises SettingsError."""
        return from_flags(self.answer, self.sampling, self.speculation)


def run(arguments: ChatFlags, load: Load) -> int:
    """Answer one prompt, or a file of prompts, or chat until the input ends. Returns the exit code."""
    if arguments.batch.batch is not None:
        return _run_batch(arguments, load)
    batch.require_no_batch(arguments.batch)
    # Everything that can be refused is refused here, before the model takes its seconds to load.
    if arguments.json and arguments.prompt is None and not arguments.words:
        raise SettingsError("--json prints one answer: add a prompt, or --prompt - to read standard input.")
    attached = tuple(map(_attachment, arguments.file))
    system, conversation = taken_up(_kept(paths.last_chat())) if arguments.continue_ else (None, Conversation())
    settings, order = arguments.settings, _order(arguments)
    prompt = _prompt(arguments)
    screen = Screen(
        colour=not arguments.no_color,
        origins=arguments.show_origin,
        text=not arguments.json,
        markdown=not arguments.json_schema,
    )
    with ExitStack() as ending:
        if prompt is None and _is_typed():
            ending.enter_context(keys_kept())
        tools = _tools(arguments, screen)
        if tools:
            ending.enter_context(closing(tools.servers))
        engine = _loaded(order, arguments, screen, load)
        session = Session(
            engine,
            order.name,
            screen,
            settings,
            arguments.system or system,
            attached,
            conversation,
            schema=arguments.json_schema or "",
            # What a program reads is no conversation of a person.
            is_kept=(sys.stdout.isatty() or arguments.continue_) and not arguments.temporary,
            show_stats=arguments.stats,
            tools=tools,
        )
        ending.enter_context(closing(session))

        def switch(name: str) -> None:
            nonlocal order
            other = _order(replace(arguments, model=replace(arguments.model, model=name, draft=None)))
            session.engine.close()
            try:
                session.engine = _loaded(other, arguments, screen, load)
            except (HeadstartError, KeyboardInterrupt):
                session.engine = _loaded(order, arguments, screen, load)
                raise
            order, session.model = other, other.name

        session.switch = switch
        screen.legend()
        if prompt is None:
            return _talk(session)
        given = session.ask(prompt)
        if arguments.json:
            # ASCII only: a terminal shows no control character of the answer, and any encoding carries it.
            print(json.dumps(_object(session, given, order), indent=2))
        return INTERRUPTED if session.interrupted else 0


@dataclass(frozen=True)
class _Order:
    """A model to load; without a `choice` it is on another computer."""

    options: LoadOptions
    choice: Choice | None = None

    @property
    def name(self) -> str:
        """As a person names it."""
        if self.choice:
            return self.choice.name
        return remotes.model_name(self.options.remote) if self.options.remote else ""


@dataclass
class Tools:
    """The servers that run, and the tools that may be called without asking."""

    servers: ToolServers
    allowed: set[tuple[str, str]]
    may_ask: bool  # standard input holds no messages

    def run(self, call: Call, screen: Screen, cancel: CancelEvent) -> Result:
        """What the call gives. `cancel` is set where a person wants no more of the answer."""
        offer = self.servers.offer(call.name)
        if offer is None:
            return unknown(call)
        said = f"{call.name} {call.arguments}"
        if offer.key not in self.allowed and not self._is_allowed(said, offer, screen, cancel):
            return REFUSED
        screen.remark(f"Calling {said}")
        with on_ctrl_c(cancel.set):
            found = self.servers.call(offer, call.arguments, cancel)
        lines = found.text.splitlines() or [""]
        more = f" … ({count(len(lines), 'line')})" if len(lines) > 1 else ""
        screen.remark(f"{'It failed: ' if found.failed else 'It gave: '}{lines[0][:_MOST_SHOWN]}{more}")
        return found

    def _is_allowed(self, said: str, offer: Offer, screen: Screen, cancel: CancelEvent) -> bool:
        name = offer.tool.name
        if not self.may_ask:
            screen.remark(f"{said} was not called, as nobody can be asked here: allow it with --allow-tool {name}.")
            return False
        screen.remark(f"The model wants to call {said}")
        asked = harmless(f"{name} of {offer.server}")
        try:
            chosen = input(f"Call {asked}? [y]es, [a]lways in this chat, [N]o: ").strip().lower()
        except (EOFError, KeyboardInterrupt):
            cancel.set()
            return False
        if chosen in {"a", "always"}:
            self.allowed.add(offer.key)
        return chosen in {"y", "yes", "a", "always"}


def _tools(arguments: ChatFlags, screen: Screen) -> Tools | None:
    """With its servers started. Raises SettingsError."""
    if not arguments.tools:
        if arguments.allow_tool:
            raise SettingsError("--allow-tool is about tools: add --tools.")
        return None
    servers = ToolServers()
    with ExitStack() as undoing:
        undoing.callback(servers.close)
        servers.start()
        keys = {name: offer.key for offer in servers.offers for name in ("/".join(offer.key), offer.tool.name)}
        missing = [name for name in arguments.allow_tool if name not in keys]
        for fault in servers.faults:
            screen.complain(str(fault))
        if missing and not servers.faults:
            known = ", ".join(offer.tool.name for offer in servers.offers)
            raise SettingsError(f"There is no tool {missing[0]}; there are {known}.")
        undoing.pop_all()
    if servers.offers:
        offered = f"{count(len(servers.offers), 'tool')} of {', '.join(servers.names)}"
        screen.remark(f"The model may call {offered}; /tools lists them. Headstart cannot see if they use the network.")
    allowed = {keys[name] for name in arguments.allow_tool if name in keys}
    return Tools(servers, allowed, sys.stdin.isatty())


def _order(arguments: ChatFlags) -> _Order:
    if remotes.is_remote(arguments.model.model):
        return _Order(remote.load_options(arguments.model))
    choice, options = chosen(arguments.model)
    return _Order(options, choice)


def _loaded(order: _Order, arguments: ChatFlags, screen: Screen, load: Load) -> Engine:
    """The engine of a model, which is told about and remembered."""
    options = order.options
    if options.remote:
        screen.remark(*remote.warnings(options.remote))
    if order.choice:
        if sys.stderr.isatty():
            screen.remark(f"Loading {title(options, order.choice)} ...")
        screen.remark(*loading_remarks(options, arguments.model.device))
    started = time.perf_counter()
    engine = load(options)
    if arguments.stats:
        screen.remark(f"loaded in {time.perf_counter() - started:.1f} s")
    if known := facts(engine):
        screen.remark(*filter(None, (known.reason, *known.notes)))  # why it is not as a person asked for
    if order.choice:
        remember(order.choice)
    return engine


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """The flags of `headstart run`."""

    name: str = argument(
        "a model of `headstart models`, or what can be exported: a recipe, a model of the hub, a folder, a .gguf file",
        metavar="MODEL",
        offered=chattable_names,
    )
    chat: ChatFlags = group(ChatFlags)
    yes: bool = flag(default=False, help="do not ask before the exporter is set up", group="options")


def run_model(arguments: RunFlags, load: Load) -> int:
    """Chat with a model; export it first if it is not installed. Returns the exit code."""
    if arguments.chat.model.model is not None:
        raise SettingsError("`headstart run` takes one model: leave out --model.")
    model = replace(arguments.chat.model, model=_installed(arguments.name, yes=arguments.yes))
    return run(replace(arguments.chat, model=model), load)


def _installed(name: str, *, yes: bool) -> str:
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
    folder = models.exported(name, yes=yes)
    return folder.name if folder.parent == paths.models_folder() else str(folder)


def _run_batch(arguments: ChatFlags, load: Load) -> int:
    given = {
        "the prompt": bool(arguments.words),
        "--prompt": arguments.prompt is not None,
        "--file": bool(arguments.file),
        "--continue": arguments.continue_,
        "--json-schema": bool(arguments.json_schema),
        "--json": arguments.json,
        "--stats": arguments.stats,
        "--show-origin": arguments.show_origin,
        "--tools": arguments.tools,
    }
    for name in (name for name, is_given in given.items() if is_given):
        raise SettingsError(f"--batch takes prompts from a file and writes JSON to another: leave out {name}.")
    choice, options = chosen(arguments.model)
    seeded = "seed" in arguments.sampling
    defaults = batch.Defaults(arguments.settings, arguments.system, seeded)
    return batch.run(arguments.batch, choice, options, defaults, load)


def _attachment(path: Path) -> Attachment:
    """A file as text. Raises AttachmentError."""
    if not attachments.is_pdf(path):
        return attachments.read(path)
    found = Attachment(path.name, "\n\n".join(pages(path, open_pdf(path))))
    attachments.require_short(found)
    return found


def _prompt(arguments: ChatFlags) -> str | None:
    """The one question, or None if there is none. Raises SettingsError."""
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
        typed = paths.typed_lines() if session.is_kept and not _is_encrypted() else None
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
    """Whether the chats are, so that nothing readable may be kept of one in the terminal."""
    from headstart.chat import encryption  # noqa: PLC0415 - few wait for it

    return encryption.is_encrypted(paths.history_folder())


def _kept(path: Path) -> Path:
    """The last conversation. Raises SettingsError if there is none."""
    if _is_encrypted():
        raise SettingsError("Your chats are encrypted, so the terminal keeps no conversation to go on with.")
    if not path.is_file():
        raise SettingsError("There is no conversation to go on with yet.")
    return path


def taken_up(path: Path) -> tuple[str | None, Conversation]:
    """System prompt and conversation of the last chat in a file. Raises ExchangeError."""
    chat, conversation = max(read_chats(path), key=lambda bundle: bundle[0].updated)
    system = chat.settings.get(_SYSTEM)
    return system if isinstance(system, str) else None, conversation


def _object(session: "Session", given: Answer, order: _Order) -> dict[str, object]:
    model: dict[str, object] = {"model": session.model}
    options = order.options
    if order.choice:
        known = facts(session.engine)
        model = described(options, order.choice) | {
            "engine": EngineKind(known.engine) if known else EngineKind.HEADSTART
        }
    elif options.remote:
        model["url"] = options.remote.url
    last = session.conversation.last
    calls = {"calls": [asdict(call) for call in last.calls]} if session.tools and last else {}
    return {
        "text": given.text,
        **calls,
        "token_ids": given.token_ids,
        "finish_reason": given.reason,
        "stats": stats_json(given.stats),
        "settings": model | {"system": session.system} | session.settings.settled(session.own).values,
    }


@dataclass
class Session:
    """One loaded model and one conversation with it. `model` is the name shown to the user."""

    engine: Engine
    model: str
    screen: Screen
    settings: Settings
    system: str | None = None
    attachments: tuple[Attachment, ...] = ()  # which go with the next message
    conversation: Conversation = field(default_factory=Conversation)
    schema: str = ""  # that the answers keep to
    switch: Callable[[str], None] | None = None  # loads another model
    is_kept: bool = False  # for --continue
    show_stats: bool = False
    tools: Tools | None = None
    last: Answer | None = None
    failures: int = 0
    interrupted: bool = False  # Ctrl+C stopped the last answer
    finished: bool = False

    @property
    def own(self) -> Sampling | None:
        """What "auto" means for the model; None if only a server knows."""
        known = facts(self.engine)
        return known.sampling if known else None

    def close(self) -> None:
        """Give the model's memory back."""
        self.engine.close()

    def ask(self, text: str) -> Answer:
        """Another question with the files that wait for it, and its answer. Raises what the engine raises.

        The conversation keeps what came of an answer, also where it fails after the first word.
        """
        return self._answer(self.conversation.ask(text, self.attachments).begin_answer(self.model, self._told))

    def take(self, line: str) -> None:
        """One line: a command when it starts with a slash, nothing when it is blank, else a message."""
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
        """Answer the last question again; with the next seed, if sampling is on."""
        last = self.conversation.last
        if not last or last.role is not Role.ASSISTANT:
            self.screen.remark("There is no answer to regenerate yet.")
            return
        if self.settings.settled(self.own).values["temperature"] == 0:
            self.screen.remark("At temperature 0 the answer stays much the same; try /set temperature 0.8.")
        else:
            self.settings = self.settings.with_values({"seed": self.settings.sampling.seed + 1})
            self.screen.remark(f"Using seed {self.settings.sampling.seed}.")
        self._answer(self.conversation.regenerate(last.id, self.model, self._told))

    def start_anew(self, _rest: str) -> None:
        """Forget the messages; keep system prompt and settings."""
        self.conversation, self.last = Conversation(), None
        self.screen.remark("A new conversation; the settings stay.")

    def choose_model(self, rest: str) -> None:
        """Go on with another model, or list those that there are."""
        if rest and self.switch:
            self.switch(rest)
            self.screen.remark(f"{self.model} answers from now on.")
            return
        marks = {self.model: " (in use)"}
        self.screen.remark(*(f"{name}{marks.get(name, '')}" for name in chattable_names()))

    def show_model(self, _rest: str) -> None:
        """Show what the model is."""
        rows = models.described(library.find(self.model))
        self.screen.remark(*(f"{name:12}  {value}" for name, value in rows if name))

    def set_system(self, rest: str) -> None:
        """Change the system prompt, or remove it."""
        self.system = rest or None
        self.screen.remark(
            "The system prompt is set for the next answers." if rest else "The system prompt is removed."
        )

    def list_tools(self, _rest: str) -> None:
        """Show what the model may call, and what that may do."""
        if self.tools is None:
            self.screen.remark("Tools are off: start the chat with --tools.")
            return
        for offer in self.tools.servers.offers:
            asked = "allowed" if offer.key in self.tools.allowed else "asked for"
            about = " ".join(offer.tool.description.split())
            self.screen.remark(f"{offer.tool.name} ({offer.server}; {effects(offer)}; {asked}): {about}")
        for fault in self.tools.servers.faults:
            self.screen.complain(str(fault))

    def tell_stats(self, _rest: str) -> None:
        """Show the statistics of the last answer."""
        self.screen.remark(*(stats_lines(self.last.stats) if self.last else ["There is no answer yet."]))

    def set_option(self, rest: str) -> None:
        """Change one setting, or show them all."""
        if not rest:
            self.screen.remark(*(f"{option.name} {self.settings.shown(option, self.own)}" for option in OPTIONS))
            return
        name, *text = rest.split(maxsplit=1)
        option = named(name)
        self.settings = self.settings.with_values({option.field: option.parse(text[0]) if text else None})
        self.screen.remark(f"{option.name} is {self.settings.shown(option, self.own)} from the next answer on.")

    def save(self, rest: str) -> None:
        """Write the conversation to a new file."""
        if not rest:
            raise SettingsError("Name the file to write: /save FILE.")
        path = Path(rest).expanduser()
        try:
            with path.open("x", encoding="utf-8") as stream:
                stream.write(to_json([self._chat]) if path.suffix == ".json" else to_markdown(*self._chat))
        except FileExistsError:
            raise SettingsError(f"{path} exists already; choose another name.") from None
        except OSError as error:
            raise SettingsError(f"{path} cannot be written ({error.strerror}); choose another place.") from None
        self.screen.remark(f"Saved to {path}.")

    def load(self, rest: str) -> None:
        """Go on with a conversation from a file."""
        if not rest:
            raise SettingsError("Name the file to read: /load FILE.")
        (self.system, self.conversation), self.last = taken_up(Path(rest).expanduser()), None
        self.remark_length()

    def remark_length(self) -> None:
        """How much was said before."""
        self.screen.remark(f"The conversation goes on after {count(len(self.conversation.path), 'message')}.")

    @property
    def _chat(self) -> Bundle:
        """The conversation as the window has chats."""
        times = [message.created for message in self.conversation.path] or [time.time()]
        first = self.conversation.path[0].text if self.conversation.path else ""
        chat = new_chat(propose_title(first), created=times[0], updated=times[-1], settings=self._told)
        return chat, self.conversation

    @property
    def _told(self) -> dict[str, object]:
        """The settings that are kept with a chat and its answers."""
        return {_SYSTEM: self.system} if self.system else {}

    def help(self, _rest: str) -> None:
        """List the commands."""
        usages = [" ".join([command.usage, *(f"({name})" for name in command.aliases)]) for command in COMMANDS]
        width = max(map(len, usages))
        self.screen.remark(
            *(f"{usage:{width}}  {command.help}" for usage, command in zip(usages, COMMANDS, strict=True)),
            "Enter sends. Alt+Enter, or a backslash at the end of a line, starts a new line.",
            f"{QUOTES} begins a message of several lines, and {QUOTES} ends it.",
            "Ctrl+C stops an answer; Ctrl+D at the prompt quits.",
        )

    def quit(self, _rest: str) -> None:
        """End the conversation."""
        self.finished = True

    def _answer(self, begun: Conversation) -> Answer:
        """`begun` ends with an answer to be written."""
        system = (Message("system", self.system),) if self.system else ()
        said = engine_turns(turns(begun.path[:-1]))
        if len(begun.path) == 2 and self._is_kept:  # it takes the place of the last conversation
            kept_prompts.delete(kept_prompts.TERMINAL)
        request = replace(self.settings.request((*system, *said)), schema=self.schema, keep=self._on_disk)
        loop = ToolLoop(offering(request, self._offered()))
        try:
            self.last = given = self._written(loop)
        except HeadstartError:
            if loop.calls:  # what was called is told, and so is what came before
                self._finish(begun, loop, State.INTERRUPTED)
            raise
        self.interrupted = given.reason is FinishReason.CANCELLED and not given.fault
        if self.interrupted and not given.text and not loop.calls:
            self.screen.remark("Stopped before the first word; the question was taken back.")
            return given
        state = State.INTERRUPTED if given.fault else State.STOPPED if self.interrupted else State.COMPLETE
        self._finish(begun, loop, state)
        if given.fault:
            raise EngineLostError(given.fault)
        if self.screen.text:
            self.screen.remark(*remarks(given, self.settings))
        if self.show_stats:
            self.screen.remark(stats_line(given.stats))
        return given

    @property
    def _is_kept(self) -> bool:
        return self.is_kept and not _is_encrypted()

    @property
    def _on_disk(self) -> Keep | None:
        """What the model has read of a conversation stays as long as the conversation does."""
        share = settings_file.load().prompt_cache_gb if self._is_kept else 0.0
        return Keep(kept_prompts.TERMINAL, round(share * 1e9)) if share else None

    def _offered(self) -> tuple[Tool, ...]:
        if self.tools is None:
            return ()
        self.tools.servers.start(failed=False)  # one that ended is started again
        return tuple(offer.tool for offer in self.tools.servers.offers)

    def _written(self, loop: ToolLoop) -> Answer:
        """The answer with all that was written before and after its calls, counted whole."""
        given, cancel = answer(self.engine, loop, self.screen), CancelEvent()
        while given.call and self.tools:
            loop.give(given.call, self.tools.run(given.call, self.screen, cancel))
            if cancel.is_set():
                return replace(given, text=loop.text, reason=FinishReason.CANCELLED, call=None)
            further = answer(self.engine, loop, self.screen)
            stats = joined(further.stats, stats_json(given.stats))
            given = replace(further, token_ids=given.token_ids + further.token_ids, stats=stats)
        return replace(given, text=loop.text)

    def _finish(self, begun: Conversation, loop: ToolLoop, state: State) -> None:
        """Keep what came of the answer."""
        outcome = Outcome(loop.text, state, calls=loop.calls)
        self.conversation, self.attachments = begun.finish(begun.path[-1].id, outcome), ()
        self._keep()

    def _keep(self) -> None:
        """Write the conversation where --continue finds it; the answer stays if that fails."""
        if not self._is_kept:
            return
        try:
            own_folder.write(paths.last_chat(), to_json([self._chat]))
        except OSError as error:
            self.is_kept = False
            self.screen.remark(f"This conversation is not kept for --continue ({error.strerror}).")


def remarks(given: Answer, settings: Settings) -> list[str]:
    """Sentences about how the answer ended; mostly none."""
    if given.reason is FinishReason.LENGTH:
        return [f"The answer reached its longest length, max-new-tokens {settings.answer.max_new_tokens}."]
    if given.reason is FinishReason.CONTEXT:
        return [f"The context of {given.stats.context_length} tokens is full, so the answer ends here."]
    if given.reason is FinishReason.CANCELLED:
        return ["Stopped."]
    if given.reason is FinishReason.REPETITION:
        return [
            f"The model repeats itself; stopped after {count(given.stats.repeats, 'repeat')}. Try again with a higher "
            "temperature, or with stop-on-repetition no to let it go on."
        ]
    if given.reason is FinishReason.CONTENT_FILTER:
        return ["The content filter of the server withholds the rest of the answer."]
    return [] if given.text else ["The model ended its answer without a word."]


def converse(session: Session, lines: Iterable[str]) -> None:
    """Take messages and commands until they end, or until /quit. Errors are shown, and the conversation goes on."""
    for line in lines:
        try:
            session.take(line)
        except ContextOverflowError as error:
            session.failures += 1
            session.screen.complain(f"{error} /new starts a fresh conversation.")
        except HeadstartError as error:
            session.failures += 1
            session.screen.complain(str(error))
        except KeyboardInterrupt:
            session.interrupted = True
            session.screen.end_answer()
        if session.finished:
            return


@dataclass(frozen=True)
class Slash:
    """One command; `run` gets the text after its name."""

    usage: str
    help: str
    run: Callable[[Session, str], None]
    aliases: tuple[str, ...] = ()  # other words for it

    @property
    def names(self) -> tuple[str, ...]:
        """The words to type, with the slash."""
        return (self.usage.split()[0], *self.aliases)


COMMANDS = (
    Slash("/new", "forget this conversation and start a fresh one", Session.start_anew, ("/clear",)),
    Slash("/model NAME", "go on with another model; alone: list them", Session.choose_model),
    Slash("/show", "what the model is", Session.show_model),
    Slash("/system TEXT", "set the system prompt; without TEXT remove it", Session.set_system),
    Slash("/stats", "speed and speculation of the last answer", Session.tell_stats),
    Slash(
        "/set KEY VALUE", "change a setting; without VALUE back to its default; alone: list them", Session.set_option
    ),
    Slash("/tools", "the tools that the model may call", Session.list_tools),
    Slash("/regenerate", "answer the last question again", Session.regenerate),
    Slash("/save FILE", "write the conversation to a new file: JSON if it ends in .json, or Markdown", Session.save),
    Slash("/load FILE", "go on with a conversation that was saved as JSON", Session.load),
    Slash("/help", "this list", Session.help, ("/?",)),
    Slash("/quit", "leave", Session.quit, ("/bye", "/exit")),
)


def command_names() -> list[str]:
    """Every word for a command."""
    return [name for command in COMMANDS for name in command.names]
