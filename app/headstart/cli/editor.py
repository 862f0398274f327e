"""The sources of messages: an editor on a terminal, or a pipe."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headstart import private_files
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

CONTINUATION, QUOTES = "\\", '"""'


def piped_lines(stream: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a pipe as messages. A backslash at the end of a line joins it with the next one."""
    message = ""
    for raw in _decode(stream):
        line = raw.rstrip("\r\n")
        if line.endswith(CONTINUATION):
            message += line.removesuffix(CONTINUATION) + "\n"
        else:
            yield message + line
            message = ""
    if message:
        yield message


def whole_text(stream: Iterable[str]) -> str:
    """Return the whole text of a pipe. Raises SettingsError if it cannot be decoded."""
    return "".join(_decode(stream))


def typed_lines(history: Path | None, commands: Sequence[str]) -> Iterator[str]:
    """Yield messages typed into an editor; `history` is the file for them. Ctrl+C clears a line, Ctrl+D ends."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter

    session: PromptSession[str] = PromptSession(
        history=history_file(history),
        completer=WordCompleter(list(commands), sentence=True),
        complete_while_typing=False,
        multiline=True,
        prompt_continuation="  ",
        key_bindings=_key_bindings(),
    )
    while True:
        try:
            yield _unquote(session.prompt("> "))
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _unquote(text: str) -> str:
    """Return the text between triple quotes, which is a message even if it begins with a slash."""
    inner = text.strip()
    if not inner.startswith(QUOTES):
        return text
    inner = inner.removeprefix(QUOTES).removesuffix(QUOTES).strip("\n")
    return f" {inner}" if inner.startswith("/") else inner


@contextlib.contextmanager
def hide_early_keys() -> Iterator[None]:
    """Context manager that hides keys typed while a model works, and leaves them for the editor.

    Ctrl+C interrupts as before.
    """
    if sys.platform == "win32":  # Windows does not show them
        yield
        return
    import termios

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    raw = termios.tcgetattr(terminal)
    raw[0] &= ~termios.ICRNL  # the editor expects an unchanged Enter
    raw[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(terminal, termios.TCSANOW, raw)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


def _decode(stream: Iterable[str]) -> Iterator[str]:
    try:
        yield from stream
    except UnicodeDecodeError as error:
        raise SettingsError(f"Standard input is no text in {error.encoding}; convert it first.") from None


def history_file(path: Path | None) -> "History":
    """Return a history in a file that only its owner can read.

    It is in memory if `path` is None, or the file cannot be written.
    """
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    if path is None:
        return InMemoryHistory()
    try:
        private_files.make(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()

    class SafeHistory(FileHistory):
        """A history that goes on when the disk is full."""

        def store_string(self, string: str) -> None:
            with contextlib.suppress(OSError):
                super().store_string(string)

    return SafeHistory(path)


def _key_bindings() -> "KeyBindings":
    """Return the keys: Enter sends, and Alt+Enter starts a new line.

    Enter starts a new line, too, after a backslash or in open triple quotes.
    """
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: "KeyPressEvent") -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith(CONTINUATION):
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
