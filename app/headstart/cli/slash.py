"""The commands inside a conversation (/new, /set, ...). Knows no input device."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from headstart.cli import report
from headstart.cli.session import Session
from headstart.cli.settings import OPTIONS, named
from headstart.errors import HeadstartError, SettingsError


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
