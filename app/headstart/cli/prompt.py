"""Where a conversation's lines come from: an editor on a terminal, or a pipe. Knows nothing of what they mean."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headstart import own_folder
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

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
