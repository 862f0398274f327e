"""The beginnings of calls in the text of an answer, by which calls differ from text about calls."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache

from headstart.engine.engine import without_blanks

FENCE = "```"
MAX_CALLS = 16  # in one answer
_OPENING = re.compile(r"\s*(?:```\s*(?:json)?\s*)?")
_PLAIN = re.compile(r"\w", re.ASCII)


def name_pattern(names: Iterable[str]) -> str:
    """Return a regular expression, for Python and for Rust, of the beginning of a call up to its name.

    Each name stands as JSON, with letters beyond ASCII escaped or not.
    """
    written = dict.fromkeys(json.dumps(name, ensure_ascii=ascii_) for name in names for ascii_ in (True, False))
    return rf'\s*\{{\s*"name"\s*:\s*({"|".join(map(_escaped, written))})'


def _escaped(text: str) -> str:
    return "".join(c if _PLAIN.match(c) or not c.isascii() else f"\\x{ord(c):02x}" for c in text)


@lru_cache(maxsize=64)
def head(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a call up to its arguments, with a group for the name as JSON."""
    return re.compile(rf'{name_pattern(names)}\s*,\s*"arguments"\s*:\s*(?=\S)')


def may_be_head(text: str, names: tuple[str, ...]) -> bool:
    """Return whether a text may become the head of a call of one of these tools; False for a complete head."""
    compact = without_blanks(text)
    return any(beginning.startswith(compact) for beginning in _compact_heads(names))


@lru_cache(maxsize=64)
def _compact_heads(names: tuple[str, ...]) -> list[str]:
    written = [json.dumps(name, ensure_ascii=ascii_) for name in names for ascii_ in (True, False)]
    return [f'{{"name":{name},"arguments":' for name in written]


def unmarked(text: str) -> tuple[bool, str]:
    """Return whether an answer may still begin with a fence, and the answer without that fence.

    Models that are bad at the format answer with the JSON of a call alone, or in a block of code.
    """
    match = _OPENING.match(text)
    assert match, "it may be empty"
    rest = text[match.end() :]
    begun = text.lstrip()
    is_open = any(fence.startswith(begun) for fence in (f"{FENCE}json", f"{FENCE} json")) or not rest
    return is_open, rest
