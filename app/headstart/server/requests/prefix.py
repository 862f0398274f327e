"""Conversations of agents without what changes in their system prompt with each request.

The prefix cache knows a prompt up to its first change. What agents write anew into the front of each request would have
all of a long prompt read again, so it is read at the end, or not at all.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from msgspec import structs

from headstart.engine.engine import ConversationRequest, Message

_LEFT_OUT = re.compile(r"x-anthropic-billing-header:")  # of Claude Code: a hash, for the bill of Anthropic's server
_MAX_LINE_CHARS = 200  # of a line that is moved: a longer one is a paragraph, whose words belong together
_TIME = re.compile(
    r"(?=.*\b(?:current|today|now|local|system)(?:\b|_))(?=.*(?:date|time|now|today)).*(?<![\d:])\d{1,2}:\d\d(?!\d)",
    re.IGNORECASE,
)
_ID = re.compile(
    r".*\b(?:request|trace|correlation|message|turn|nonce)[ _-]?(?:id)?\b\W*"
    r"(?=[\w-]*\d)(?:[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|\w+_\w{16,})",
    re.IGNORECASE,
)
_FENCE = "```"


@dataclass(frozen=True)
class SteadyRequest:
    """A request whose beginning stays the same."""

    request: ConversationRequest
    moved: tuple[str, ...] = ()  # lines of the system prompt that are read at the end
    left_out: tuple[str, ...] = ()


def steady(request: ConversationRequest) -> SteadyRequest:
    """Move lines with a time of day or an id of the request from the system prompt into the last message.

    In a message of the user they come first, so that the question stays last; in the result of a call they come last.
    Lines that only a bill needs are left out.
    """
    front = list(takewhile(lambda message: message.role == "system", request.messages))
    rest = list(request.messages[len(front) :])
    can_move = bool(rest) and rest[-1].role in {"user", "tool"}
    moved, left_out = list[str](), list[str]()
    kept = [_message_without(message, moved if can_move else None, left_out) for message in front]
    if not moved and not left_out:
        return SteadyRequest(request)
    if moved:
        rest[-1] = _with_note(rest[-1], "\n".join(moved))
    messages = (*(message for message in kept if message.content), *rest)
    return SteadyRequest(structs.replace(request, messages=messages), tuple(moved), tuple(left_out))


def _message_without(message: Message, moved: list[str] | None, left_out: list[str]) -> Message:
    texts = [_text_without(text, moved, left_out) for text in message.parts or (message.content,)]
    return Message.of_parts(message.role, texts)


def _text_without(text: str, moved: list[str] | None, left_out: list[str]) -> str:
    """Return a text without the lines that move elsewhere; these are added to the lists. Code stays as it is."""
    kept, is_code = list[str](), False
    for line in text.split("\n"):
        is_code ^= line.lstrip().startswith(_FENCE)
        if _LEFT_OUT.match(line):
            left_out.append(line)
        elif moved is not None and not is_code and _changes(line):
            moved.append(line)
        else:
            kept.append(line)
    return "\n".join(kept)


def _changes(line: str) -> bool:
    is_data = line.rstrip().endswith((",", "{", "["))  # a line of JSON
    return len(line) <= _MAX_LINE_CHARS and not is_data and bool(_TIME.match(line) or _ID.match(line))


def _with_note(message: Message, note: str) -> Message:
    if message.role == "tool":
        return replace(message, content=f"{message.content}\n\n{note}")
    return Message.of_parts(message.role, [f"{note}\n", *(message.parts or (message.content,))])


def summary(lines: Sequence[str]) -> str:
    """Return the name at the beginning of the first line, for people who look at the log."""
    return re.split(r"[:\d]", lines[0].strip())[0][:60]
