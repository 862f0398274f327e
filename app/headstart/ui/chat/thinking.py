"""Where a model's thinking ends and its answer begins. Pure."""

import re
from dataclasses import dataclass

_NAMES = "think|thinking|thought|reasoning"
_OPEN = re.compile(rf"\s*<({_NAMES})>[ \t]*\n?")
_ALONE = re.compile(rf"^</({_NAMES})>[ \t]*$", re.M)
_TAGS = tuple(f"<{name}>" for name in _NAMES.split("|"))
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.M)


@dataclass(frozen=True)
class Parts:
    """`thought` is a range of the text or None; the answer begins at `body`. `closed`: the thinking has ended."""

    thought: tuple[int, int] | None
    body: int
    closed: bool = True


def split(text: str, growing: bool = False) -> Parts:
    """Find a thinking section at the beginning. `growing`: more text may come, so half a tag is not shown yet."""
    opened = _OPEN.match(text)
    if opened:
        return _opened(text, opened.end(), opened[1])
    if growing and text.strip() and any(tag.startswith(text.strip()) for tag in _TAGS):
        return Parts(None, len(text))
    # Some chat templates put the opening tag into the prompt, so that only the closing one is part of the answer.
    closed = _ALONE.search(text)
    if closed and len(_FENCE.findall(text[: closed.start()])) % 2 == 0:
        return Parts(_trimmed(text, 0, closed.start()), _after_space(text, closed.end()))
    return Parts(None, 0)


def _opened(text: str, start: int, name: str) -> Parts:
    end = text.find(f"</{name}>", start)
    if end < 0:
        return Parts((start, len(text)), len(text), closed=False)
    return Parts(_trimmed(text, start, end), _after_space(text, end + len(name) + 3))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    inside = text[start:end].rstrip()
    return (start, start + len(inside)) if inside.strip() else None


def _after_space(text: str, at: int) -> int:
    return at + len(text[at:]) - len(text[at:].lstrip())
