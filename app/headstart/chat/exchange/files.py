"""How much an imported file may hold, the checks that both formats share, and an exported file written whole."""

import os
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart.chat.conversation import Chat, Conversation, storable
from headstart.errors import ExchangeError, HeadstartError

Bundle = tuple[Chat, Conversation]

MOST_BYTES = 256 * 2**20  # about as large as the exports of years of daily use
MOST_CHATS = 100_000
MOST_MESSAGES = 50_000  # in one chat
MOST_CHARACTERS = 4_000_000  # in one text
LONGEST_TITLE = 500


class MalformedError(HeadstartError):
    """What is wrong with a file, as the part of a sentence."""


def new_chat(title: str, *, created: float, updated: float, **others: Any) -> Chat:
    """A chat with an id of its own, so that what is imported twice is there twice and replaces nothing."""
    return Chat(uuid.uuid4().hex, one_line(title)[:LONGEST_TITLE], created, updated, **others)


def long_text(value: object) -> str:
    """A text, not too long and without what no file can hold."""
    if not isinstance(value, str):
        raise MalformedError("{value!r} stands where a text should", value=str(value)[:40])
    if len(value) > MOST_CHARACTERS:
        raise MalformedError(
            "a text in it has more than {most_characters:,} characters", most_characters=MOST_CHARACTERS
        )
    return storable(value)


def text_at(entry: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """A text by its name in a table."""
    value = entry.get(name, default)
    if value is None:
        raise MalformedError("{name} is missing", name=name)
    return long_text(value)


def one_line(text: str) -> str:
    """Without line breaks."""
    return " ".join(text.splitlines()).strip()


def require_few(count: int, most: int, what: str) -> None:
    """Raises MalformedError above `most`."""
    if count > most:
        raise MalformedError("it has {count:,} {what} and at most {most:,} are read", count=count, what=what, most=most)


def now() -> float:
    """Seconds since 1970, to the millisecond."""
    return round(time.time(), 3)


def write_export(path: Path, content: str | bytes) -> None:
    """Put content into a file that its owner alone can read, in the place of an older one. Raises ExchangeError."""
    data = content if isinstance(content, bytes) else content.encode(errors="replace")
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".export-")  # with mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise ExchangeError(
            "{path} cannot be written ({strerror}); choose another folder or make room there.",
            path=path,
            strerror=error.strerror,
        ) from error
