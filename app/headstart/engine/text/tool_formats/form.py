"""The form that every file of a family describes, and readers of its parts."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from headstart.engine.engine import Call, Tool

_CUT_OFF = re.compile(r"[\\\w+.-]{0,8}\s*")  # a number, a word or an escape that may go on
_BLANKS = re.compile(r"\s*")


class UnfinishedError(Exception):
    """The text ends where a call may continue."""


class NoCallError(Exception):
    """The text is no call."""


@dataclass(frozen=True)
class Found:
    calls: tuple[Call, ...]
    end: int  # characters that they take
    is_last: bool = False  # nothing may follow


@dataclass(frozen=True)
class CallFormat:
    """The form of calls of one family of models.

    `read` reads calls at the beginning of a text that starts with one of the marks; no calls: a part that is left out.
    It raises UnfinishedError or NoCallError.
    """

    family: str
    marks: tuple[str, ...]  # one of them begins a call
    read: Callable[[str, Sequence[Tool]], Found]
    inner: tuple[str, ...] = ()  # more marks within a call; a tokenizer may have them as control tokens
    bare: str = ""  # begins an answer that is calls and nothing else


def expect(text: str, at: int, *literals: str) -> int:
    """Skip literals that follow each other, with blanks before each, and return the place behind them."""
    for literal in literals:
        _, at = expect_one(text, at, (literal,))
    return at


def expect_one(text: str, at: int, literals: Sequence[str]) -> tuple[str, int]:
    """Return which literal stands at a place, after blanks, and the place behind it."""
    at = skip_blanks(text, at)
    for literal in literals:
        if text.startswith(literal, at):
            return literal, at + len(literal)
    if any(literal.startswith(text[at:]) for literal in literals):
        raise UnfinishedError
    raise NoCallError


def read_until(text: str, at: int, end: str) -> tuple[str, int]:
    """Return the text up to `end`, and the place behind that."""
    found = text.find(end, at)
    if found < 0:
        raise UnfinishedError
    return text[at:found], found + len(end)


def skip_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    assert match, "it may be empty"
    return match.end()


def read_name(text: str, at: int, tools: Sequence[Tool], *, behind: str) -> tuple[str, int]:
    """Return the name of a tool that stands at a place before the text `behind`, and the place behind both."""
    written, end = expect_one(text, at, [tool.name + behind for tool in tools])
    return written.removesuffix(behind), end


def read_quoted_name(text: str, at: int, tools: Sequence[Tool]) -> tuple[str, int]:
    """Return the name of a tool that stands at a place as JSON, and the place behind it."""
    written, end = expect_one(
        text, at, [json.dumps(tool.name, ensure_ascii=ascii_) for tool in tools for ascii_ in (True, False)]
    )
    return str(json.loads(written)), end


def read_object(text: str, at: int) -> tuple[dict[str, Any], int]:
    """Return the JSON object that stands at a place, and the place behind it."""
    at = expect(text, at, "{") - 1
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated") or _CUT_OFF.fullmatch(text, error.pos):
            raise UnfinishedError from None
        raise NoCallError from None
    except RecursionError:
        raise NoCallError from None
    return value, end


def call_of(name: str, arguments: dict[str, Any]) -> Call:
    return Call(name, json.dumps(arguments, ensure_ascii=False))


def _refuse(_: str) -> NoReturn:
    raise NoCallError  # NaN and Infinity are not JSON


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)
