"""Where messages come from: an editor on a terminal, or a pipe."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headstart import own_folder
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

CONTINUED, QUOTES = "\\", '"""'


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
    """The whole text of a pipe."""
    return "".join(_decoded(stream))


def typed_lines(history: Path | None, commands: Sequence[str]) -> Iterator[str]:
    """Messages typed into an editor; `history` is the file for them, if any. Ctrl+C clears a line, Ctrl+D ends."""
    from prompt_toolkit import PromptSession  # noqa: PLC0415
    from prompt_toolkit.completion import WordCompleter  # noqa: PLC0415

    session: PromptSession[str] = PromptSession(
        history=history_file(history),
        completer=WordCompleter(list(commands), sentence=True),
        complete_while_typing=False,
        multiline=True,
        prompt_continuation="  ",
        key_bindings=_keys(),
    )
    while True:
        try:
            yield _unquoted(session.prompt("> "))
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _unquoted(text: str) -> str:
    """What stands between triple quotes is a message, whatever it begins with."""
    inner = text.strip()
    if not inner.startswith(QUOTES):
        return text
    inner = inner.removeprefix(QUOTES).removesuffix(QUOTES).strip("\n")
    return f" {inner}" if inner.startswith("/") else inner


@contextlib.contextmanager
def keys_kept() -> Iterator[None]:
    """What is typed while a model works is not shown there: it waits for the editor. Ctrl+C interrupts as before."""
    if sys.platform == "win32":  # which shows nothing that nobody reads
        yield
        return
    import termios  # noqa: PLC0415 - not there on Windows

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    raw = termios.tcgetattr(terminal)
    raw[0] &= ~termios.ICRNL  # Enter stays what the editor takes for Enter
    raw[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(terminal, termios.TCSANOW, raw)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


def _decoded(stream: Iterable[str]) -> Iterator[str]:
    try:
        yield from stream
    except UnicodeDecodeError as error:
        raise SettingsError(f"Standard input is no text in {error.encoding}; convert it first.") from None


def history_file(path: Path | None) -> "History":
    """A file that only its owner can read; memory if there is no file, or it cannot be written."""
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
        """A full disk does not end the conversation."""

        def store_string(self, string: str) -> None:
            with contextlib.suppress(OSError):
                super().store_string(string)

    return Kept(path)


def _keys() -> "KeyBindings":
    """Enter sends, unless a backslash is before the cursor or triple quotes are open; Alt+Enter starts a new line."""
    from prompt_toolkit.key_binding import KeyBindings  # noqa: PLC0415

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: "KeyPressEvent") -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith(CONTINUED):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        elif buffer.text.lstrip().startswith(QUOTES) and buffer.text.count(QUOTES) == 1:
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: "KeyPressEvent") -> None:
        event.current_buffer.newline(copy_margin=False)

    return keys
