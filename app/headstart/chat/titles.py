"""A title for a chat from its first message. Knows nothing of chats."""

import re
import unicodedata

LONGEST = 48  # columns; a Chinese character takes two
_LEAD = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,9}[.)]\s+)+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"\*\*|__|~~|`+")


def propose_title(text: str) -> str:
    """The first line that says something, without Markdown and cut at a word; empty if no line does."""
    lines = (_plain(line) for line in text.splitlines() if not line.lstrip().startswith(("```", "~~~")))
    return next((_cut(line) for line in lines if any(character.isalnum() for character in line)), "")


def _plain(line: str) -> str:
    words = _MARKS.sub("", _LINK.sub(r"\1", _LEAD.sub("", line)))
    shown = "".join(character if character.isprintable() else " " for character in words)
    return " ".join(shown.split())


def _cut(line: str) -> str:
    if _columns(line) <= LONGEST:
        return line
    end, columns = 0, 1  # one column is for the ellipsis
    while columns + _columns(line[end]) <= LONGEST:
        columns += _columns(line[end])
        end += 1
    space = line.rfind(" ", 0, end + 1)
    return line[: space if space > end // 2 else end].rstrip(" ,;:.-") + "…"


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
