"""Pygments one line at a time: colours of code that is still being written. Pure."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pygments.lexer import ExtendedRegexLexer, Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

Stack = tuple[str, ...]
START: Stack = ("root",)
_COMMENT = "/* comment"  # our own state: these lexers match a whole comment at once, which one line cannot show them
_UNFINISHED = ("Operator", "Punctuation", "Error")  # what such a lexer makes of "/*" without its end


@dataclass(frozen=True, slots=True)
class Coloured:
    """`length` characters from `start` on are of this Pygments kind ("Literal.String")."""

    start: int
    length: int
    kind: str


@functools.lru_cache(maxsize=64)
def lexer(language: str) -> Lexer | None:
    """The lexer of a language by the name after a fence."""
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


def lex_line(source: Lexer, line: str, stack: Stack) -> tuple[list[Coloured], Stack]:
    """The coloured parts of a line that begins in the states `stack`, and the states behind it."""
    if not isinstance(source, RegexLexer) or isinstance(source, ExtendedRegexLexer):
        return _line_alone(source, line), stack
    if stack[-1] == _COMMENT:
        return _inside_comment(source, line, stack)
    run = _Run(source, line + "\n", list(stack))
    parts = list(run.parts())
    opened = _unfinished_comment(line, parts, has_own_state=tuple(run.stack) != stack)
    if opened is None:
        return parts, tuple(run.stack)
    kept, before = lex_line(source, line[:opened], stack)
    return [*kept, Coloured(opened, len(line) - opened, "Comment")], (*before, _COMMENT)


def _line_alone(source: Lexer, line: str) -> list[Coloured]:
    """For lexers (JSON) that keep no stack of states: good for all that does not cross a line."""
    return [Coloured(at, len(text), ".".join(kind)) for at, kind, text in source.get_tokens_unprocessed(line)]


def _inside_comment(source: RegexLexer, line: str, stack: Stack) -> tuple[list[Coloured], Stack]:
    end = line.find("*/") + 2
    if end < 2:
        return [Coloured(0, len(line), "Comment")], stack
    rest, after = lex_line(source, line[end:], stack[:-1])
    return [Coloured(0, end, "Comment"), *(replace(part, start=part.start + end) for part in rest)], after


def _unfinished_comment(line: str, parts: list[Coloured], has_own_state: bool) -> int | None:
    """Where a comment begins that does not end in this line, unless the lexer keeps a state for it."""
    at = line.rfind("/*")
    if at < 0 or "*/" in line[at + 2 :]:
        return None
    covering = [part for part in parts if part.start <= at < part.start + part.length]
    kinds = _UNFINISHED if has_own_state else (*_UNFINISHED, "Comment.Multiline")
    unfinished = all(part.start == at and part.kind.startswith(kinds) for part in covering)
    return at if unfinished else None


@dataclass
class _Run:
    """RegexLexer.get_tokens_unprocessed with a state stack that is ours to keep (it discards its own)."""

    source: RegexLexer
    text: str
    stack: list[str]
    at: int = 0
    rules: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.rules = self.source._tokens  # type: ignore[attr-defined] # noqa: SLF001

    def parts(self) -> Iterator[Coloured]:
        """Everything that has a kind."""
        while self.at < len(self.text):
            for match_at, action, new_state in self.rules[self.stack[-1]]:
                match = match_at(self.text, self.at)
                if match:
                    yield from self._act(match, action)
                    self.at = match.end()
                    self._enter(new_state)
                    break
            else:
                if self.text[self.at] == "\n":
                    self.stack = list(START)
                self.at += 1

    def _act(self, match: Any, action: Any) -> Iterator[Coloured]:
        if action is None:
            return
        if isinstance(action, tuple):  # a token type is a tuple of names
            yield Coloured(self.at, len(match.group()), ".".join(action))
            return
        for start, kind, value in action(self.source, match):
            yield Coloured(start, len(value), ".".join(kind))

    def _enter(self, new_state: Any) -> None:
        if isinstance(new_state, tuple):
            for state in new_state:
                self._enter_one(state)
        elif isinstance(new_state, int):
            del self.stack[max(1, len(self.stack) + new_state) :]
        elif new_state is not None:
            self._enter_one(new_state)

    def _enter_one(self, state: str) -> None:
        if state == "#pop":
            del self.stack[max(1, len(self.stack) - 1) :]
        else:
            self.stack.append(self.stack[-1] if state == "#push" else state)
