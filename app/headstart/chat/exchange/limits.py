"""How much an imported file may hold, and the small checks both formats share. Knows neither format."""

import time
import uuid
from collections.abc import Mapping
from typing import Any

from headstart.chat.conversation import Conversation
from headstart.chat.record import Chat
from headstart.chat.unicode import storable

Bundle = tuple[Chat, Conversation]

MOST_BYTES = 256 * 2**20  # about as large as the exports of years of daily use
MOST_CHATS = 100_000
MOST_MESSAGES = 50_000  # in one chat
MOST_CHARACTERS = 4_000_000  # in one text
LONGEST_TITLE = 500


class Malformed(Exception):  # noqa: N818  not for people: `headstart.chat.exchange.reading` makes a sentence of it
    """What is wrong with a file, as the part of a sentence."""


def new_chat(title: str, *, created: float, updated: float, **others: Any) -> Chat:
    """A chat with an id of its own, so that what is imported twice is there twice and replaces nothing."""
    return Chat(uuid.uuid4().hex, one_line(title)[:LONGEST_TITLE], created, updated, **others)


def long_text(value: object) -> str:
    """A text, not too long and without what no file can hold."""
    if not isinstance(value, str):
        raise Malformed(f"{str(value)[:40]!r} stands where a text should")
    if len(value) > MOST_CHARACTERS:
        raise Malformed(f"a text in it has more than {MOST_CHARACTERS:,} characters")
    return storable(value)


def text_at(entry: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """A text by its name in a table."""
    value = entry.get(name, default)
    if value is None:
        raise Malformed(f"{name} is missing")
    return long_text(value)


def one_line(text: str) -> str:
    """Without line breaks."""
    return " ".join(text.splitlines()).strip()


def require_few(count: int, most: int, what: str) -> None:
    """Raises Malformed above `most`."""
    if count > most:
        raise Malformed(f"it has {count:,} {what} and at most {most:,} are read")


def now() -> float:
    """Seconds since 1970, to the millisecond."""
    return round(time.time(), 3)
