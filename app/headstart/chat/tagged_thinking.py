"""Thinking between tags at the beginning of a text, where earlier versions stored it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from headstart.chat.conversation import ChatMessage, Role, Run

_NAMES = "think|thinking|thought|reasoning"
_OPEN = re.compile(rf"\s*<({_NAMES})>[ \t]*\n?")
_CLOSING = re.compile(rf"^</({_NAMES})>[ \t]*$", re.M)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.M)
_ROUNDS = "round_list"  # of the statistics: [[characters, ...], ...]


def separated(message: ChatMessage) -> ChatMessage:
    """Move the thinking at the beginning of an answer's text into its own field. Other messages stay as they are."""
    start, end, body = _section(message.text) if message.role is Role.ASSISTANT else (0, 0, 0)
    if not body:
        return message
    thinking, text = message.text[start:end].rstrip(), message.text[body:].lstrip()
    cut = len(message.text) - len(text)
    rounds = message.stats.get(_ROUNDS)
    stats = {**message.stats, _ROUNDS: _without(rounds, cut)} if isinstance(rounds, list) else message.stats
    return replace(
        message,
        text=text,
        thinking=thinking,
        origins=tuple(Run(*run) for run in _without(message.origins, cut)),
        stats=stats,
        calls=tuple(replace(call, at=max(call.at - cut, 0), thought_at=len(thinking)) for call in message.calls),
    )


def _section(text: str) -> tuple[int, int, int]:
    """Return where a section begins and ends, and the end of its tags; zeros if there is none."""
    opening = _OPEN.match(text)
    if opening:
        end = text.find(f"</{opening[1]}>", opening.end())
        return (opening.end(), end, end + len(opening[1]) + 3) if end >= 0 else (opening.end(), len(text), len(text))
    # Some chat templates put the opening tag into the prompt, so the answer has only the closing one.
    closing = _CLOSING.search(text)
    if closing and len(_FENCE.findall(text[: closing.start()])) % 2 == 0:
        return 0, closing.start(), closing.end()
    return 0, 0, 0


def _without(runs: Iterable[Sequence[Any]], characters: int) -> list[list[Any]]:
    """Return runs [length, ...] without the first `characters` of their text."""
    rest: list[list[Any]] = []
    for length, *others in runs:
        cut = min(length, characters)
        characters -= cut
        if length > cut:
            rest.append([length - cut, *others])
    return rest
