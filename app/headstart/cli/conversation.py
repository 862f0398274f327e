"""A conversation in a terminal: its turns, its lines of input and the commands inside it."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from headstart import own_folder
from headstart.cli import loaded, report
from headstart.cli.answer import Answer, answer
from headstart.cli.options import OPTIONS, Settings, named
from headstart.cli.render import Screen, count
from headstart.engine.engine import Engine, FinishReason, Message, Sampling
from headstart.errors import ContextOverflowError, EngineLostError, HeadstartError, SettingsError

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent


@dataclass(frozen=True)
class Dialogue:
    """A system prompt and turns that alternate user, assistant, user, ..."""

    system: str | None = None
    turns: tuple[Message, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """What a request carries."""
        system = (Message("system", self.system),) if self.system else ()
        return system + self.turns

    def asked(self, text: str) -> "Dialogue":
        """With a question at the end."""
        return replace(self, turns=(*self.turns, Message("user", text)))

    def answered(self, text: str) -> "Dialogue":
        """With an answer at the end."""
        return replace(self, turns=(*self.turns, Message("assistant", text)))

    def before_last_answer(self) -> "Dialogue | None":
        """Up to the last question, or None when nothing was answered yet."""
        return replace(self, turns=self.turns[:-1]) if self.turns else None

    def markdown(self, model: str) -> str:
        """The conversation as a Markdown document."""
        names = {"system": "System", "user": "You", "assistant": model}
        parts = [f"## {names[message.role]}\n\n{message.content.strip()}\n" for message in self.messages]
        return "\n".join([f"# Conversation with {model}\n", *parts])


FRESH_START = "/new starts a fresh conversation."


@dataclass
class Session:
    """One loaded model and one conversation with it. `model` is the name shown to the user."""

    engine: Engine
    model: str
    screen: Screen
    settings: Settings
    dialogue: Dialogue
    show_stats: bool = False
    last: Answer | None = None
    failures: int = 0
    interrupted: bool = False  # Ctrl+C stopped the last answer
    finished: bool = False

    @property
    def own(self) -> Sampling | None:
        """What "auto" means for the model; None where only a server knows."""
        return loaded.sampling(self.engine)

    def ask(self, text: str) -> None:
        """Answer a message. Raises what the engine raises; the conversation is then as it was before.

        Where the engine was lost in the middle of an answer, the conversation has what came of it.
        """
        self._answer(self.dialogue.asked(text))

    def regenerate(self) -> None:
        """Answer the last question again; with the next seed where sampling makes that another answer."""
        question = self.dialogue.before_last_answer()
        if question is None:
            self.screen.remark("There is no answer yet to make again.")
            return
        if self.settings.settled(self.own).values["temperature"] == 0:
            self.screen.remark("At temperature 0 another try says much the same; try /set temperature 0.8.")
        else:
            self.settings = self.settings.with_values({"seed": self.settings.sampling.seed + 1})
            self.screen.remark(f"Using seed {self.settings.sampling.seed}.")
        self._answer(question)

    def start_anew(self) -> None:
        """Forget the turns; system prompt and settings stay."""
        self.dialogue = Dialogue(self.dialogue.system)
        self.last = None

    def _answer(self, question: Dialogue) -> None:
        try:
            self.last = answer(self.engine, self.settings.request(question.messages), self.screen)
        except ContextOverflowError as error:
            raise ContextOverflowError(f"{error} {FRESH_START}") from None
        if self.last.fault:
            self.dialogue = question.answered(self.last.text)
            raise EngineLostError(self.last.fault)
        self.interrupted = self.last.reason is FinishReason.CANCELLED
        if self.interrupted and not self.last.text:
            self.screen.remark("Stopped before the first word; the question was taken back.")
            return
        self.dialogue = question.answered(self.last.text)
        self.screen.remark(*remarks(self.last, self.settings))
        if self.show_stats:
            self.screen.remark(*report.lines(self.last.stats))


def remarks(given: Answer, settings: Settings) -> list[str]:
    """What the reader should know about how the answer ended."""
    if given.reason is FinishReason.LENGTH:
        return [f"The answer reached its longest length, max-new-tokens {settings.max_new_tokens}."]
    if given.reason is FinishReason.CONTEXT:
        return [f"The context of {given.stats.context_length} tokens is full, so the answer ends here."]
    if given.reason is FinishReason.CANCELLED:
        return ["Stopped."]
    if given.reason is FinishReason.REPETITION:
        return [
            f"The model repeats itself; stopped after {count(given.stats.repeats, 'repeat')}. Try again with a higher "
            "temperature, or with stop-on-repetition no to let it go on."
        ]
    return [] if given.text else ["The model ended its answer without a word."]


@dataclass(frozen=True)
class Slash:
    """One command; `run` gets what follows its name."""

    usage: str
    help: str
    run: Callable[[Session, str], None]

    @property
    def name(self) -> str:
        """What the user types, with the slash."""
        return self.usage.split()[0]


def converse(session: Session, lines: Iterable[str]) -> None:
    """Take messages and commands until they end or one of them is /quit. Errors are said, and the talk goes on."""
    for line in lines:
        try:
            take(session, line)
        except HeadstartError as error:
            session.failures += 1
            session.screen.complain(str(error))
        except KeyboardInterrupt:
            session.interrupted = True
            session.screen.end_answer()
        if session.finished:
            return


def take(session: Session, line: str) -> None:
    """One line: a command when it starts with a slash, nothing when it is blank, else a message."""
    if line.startswith("/"):
        _obey(session, line)
    elif line.strip():
        session.ask(line.strip("\n"))


def _obey(session: Session, line: str) -> None:
    name, *rest = line.split(maxsplit=1)
    for command in COMMANDS:
        if command.name == name:
            command.run(session, "".join(rest).strip())
            return
    raise SettingsError(
        f"There is no command {name}; /help lists them. To send a message that starts with a slash, "
        "put a space before it."
    )


def _new(session: Session, _rest: str) -> None:
    session.start_anew()
    session.screen.remark("A fresh conversation; the settings stay.")


def _system(session: Session, rest: str) -> None:
    session.dialogue = replace(session.dialogue, system=rest or None)
    session.screen.remark("The system prompt is set for the answers to come." if rest else "No system prompt any more.")


def _stats(session: Session, _rest: str) -> None:
    if session.last is None:
        session.screen.remark("There is no answer yet.")
    else:
        session.screen.remark(*report.lines(session.last.stats))


def _set(session: Session, rest: str) -> None:
    if not rest:
        session.screen.remark(*(f"{option.name} {option.shown(session.settings, session.own)}" for option in OPTIONS))
        return
    name, *text = rest.split(maxsplit=1)
    option = named(name)
    session.settings = session.settings.changed(option, "".join(text))
    session.screen.remark(f"{option.name} is {option.shown(session.settings, session.own)} from the next answer on.")


def _regenerate(session: Session, _rest: str) -> None:
    session.regenerate()


def _save(session: Session, rest: str) -> None:
    if not rest:
        raise SettingsError("Name the file to write: /save FILE.")
    path = Path(rest).expanduser()
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(session.dialogue.markdown(session.model))
    except FileExistsError:
        raise SettingsError(f"{path} exists already; choose another name.") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be written ({error.strerror}); choose another place.") from None
    session.screen.remark(f"Saved to {path}.")


def _help(session: Session, _rest: str) -> None:
    width = max(len(command.usage) for command in COMMANDS)
    session.screen.remark(
        *(f"{command.usage:{width}}  {command.help}" for command in COMMANDS),
        "Enter sends. Alt+Enter, or a backslash at the end of a line, starts a new line.",
        "Ctrl+C stops an answer; Ctrl+D at the prompt quits.",
    )


def _quit(session: Session, _rest: str) -> None:
    session.finished = True


COMMANDS = (
    Slash("/new", "forget this conversation and start a fresh one", _new),
    Slash("/system TEXT", "set the system prompt; without TEXT remove it", _system),
    Slash("/stats", "speed and speculation of the last answer", _stats),
    Slash("/set KEY VALUE", "change a setting; without VALUE back to its default; alone: list them", _set),
    Slash("/regenerate", "answer the last question again", _regenerate),
    Slash("/save FILE", "write the conversation to a Markdown file", _save),
    Slash("/help", "this list", _help),
    Slash("/quit", "leave", _quit),
)


CONTINUED = "\\"


def piped_lines(stream: Iterable[str]) -> Iterator[str]:
    """Each line of a pipe is a message; a trailing backslash joins it with the next one."""
    begun = ""
    for raw in _decoded(stream):
        line = raw.rstrip("\r\n")
        if line.endswith(CONTINUED):
            begun += line.removesuffix(CONTINUED) + "\n"
        else:
            yield begun + line
            begun = ""
    if begun:
        yield begun


def whole_text(stream: Iterable[str]) -> str:
    """All that a pipe says."""
    return "".join(_decoded(stream))


def typed_lines(history: Path | None, commands: Sequence[str]) -> Iterator[str]:
    """Messages typed into an editor with history, kept if a file is named; Ctrl+C clears a line, Ctrl+D is the end."""
    from prompt_toolkit import PromptSession  # noqa: PLC0415
    from prompt_toolkit.completion import WordCompleter  # noqa: PLC0415

    session: PromptSession[str] = PromptSession(
        history=_history(history),
        completer=WordCompleter(list(commands), sentence=True),
        complete_while_typing=False,
        multiline=True,
        prompt_continuation="  ",
        key_bindings=_keys(),
    )
    while True:
        try:
            yield session.prompt("> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _decoded(stream: Iterable[str]) -> Iterator[str]:
    try:
        yield from stream
    except UnicodeDecodeError as error:
        raise SettingsError(f"Standard input is no text in {error.encoding}; convert it first.") from None


def _history(path: Path | None) -> "History":
    """A file that only its owner can read; memory where none is wanted or none can be written."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory  # noqa: PLC0415

    if path is None:
        return InMemoryHistory()
    try:
        own_folder.make(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()

    class Kept(FileHistory):
        """A disk that becomes full ends no conversation."""

        def store_string(self, string: str) -> None:
            with contextlib.suppress(OSError):
                super().store_string(string)

    return Kept(path)


def _keys() -> "KeyBindings":
    """Enter sends, unless the text before the cursor ends with a backslash; Alt+Enter starts a new line."""
    from prompt_toolkit.key_binding import KeyBindings  # noqa: PLC0415

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: "KeyPressEvent") -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith(CONTINUED):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: "KeyPressEvent") -> None:
        event.current_buffer.newline(copy_margin=False)

    return keys
