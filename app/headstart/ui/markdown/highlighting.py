"""Colours of code, origins and found words, as layout formats that leave the document unedited."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from pygments.lexer import ExtendedRegexLexer, Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextBlock, QTextCharFormat, QTextDocument

from headstart.ui.markdown.blocks import units
from headstart.ui.markdown.document import CODE_ID, LANGUAGE
from headstart.ui.widgets.theme import Theme

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


Ranges = Callable[[int, int], Iterable[tuple[int, int, str]]]


@dataclass(frozen=True)
class _Layer:
    """[start, end) of a line in this format."""

    start: int
    end: int
    format: QTextCharFormat


class Highlighter(QSyntaxHighlighter):
    """Colours one document. `origins` gives (position, end, origin) within two positions; None hides them."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._stacks: dict[int, Stack] = {1: START}
        self._states: dict[Stack, int] = {START: 1}
        self._origins: Ranges | None = None
        self._matches: Sequence[tuple[int, int]] = ()
        self._current: int | None = None
        self.set_theme(theme)

    def set_origins(self, origins: Ranges | None) -> None:
        """Show who proposed what, or nothing."""
        if origins is None and self._origins is None:
            return
        self._origins = origins
        self.rehighlight()

    def set_matches(self, matches: Sequence[tuple[int, int]], current: int | None = None) -> None:
        """Mark found text: ranges of positions in order, and which of them is the current one."""
        before = self._matches
        if not before and not matches:
            return
        self._matches, self._current = tuple(matches), current
        for start, _ in {*before, *self._matches}:
            self.rehighlightBlock(self.document().findBlock(start))

    def highlightBlock(self, text: str) -> None:  # noqa: N802
        """Called by Qt for each line that changed."""
        block = self.currentBlock()
        language = block.blockFormat().property(LANGUAGE)
        code = self._code(block, text, language) if language else []
        over = self._overlays(block.position(), block.position() + block.length() - 1)
        for layer in _flattened(code, over) if over else code:
            self.setFormat(layer.start, layer.end - layer.start, layer.format)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours; the caller rewrites the document afterwards, which colours it."""
        self._code_formats: dict[str, QTextCharFormat | None] = {}
        self._code_colours = theme.code
        self._origin_formats = {}
        for name, mark in theme.origins.items():
            made = QTextCharFormat()
            made.setBackground(QColor(mark.background))
            made.setUnderlineStyle(mark.underline)
            made.setUnderlineColor(QColor(mark.line))
            self._origin_formats[name] = made
        self._match_format = _found(theme, theme.match)
        self._current_format = _found(theme, theme.match_current)

    # Code

    def _code(self, block: QTextBlock, text: str, language: str) -> list[_Layer]:
        source = lexer(language)
        if source is None:
            return []
        first = block.previous().blockFormat().property(CODE_ID) != block.blockFormat().property(CODE_ID)
        stack = START if first else self._stacks.get(self.previousBlockState(), START)
        parts, after = lex_line(source, text, stack)
        state = self._states.setdefault(after, len(self._states) + 1)
        self._stacks[state] = after
        self.setCurrentBlockState(state)
        shown = ((part, self._code_format(part.kind)) for part in parts)
        return [_layer(part, text, look) for part, look in shown if look]

    def _code_format(self, kind: str) -> QTextCharFormat | None:
        if kind not in self._code_formats:
            colour = _inherited(kind, self._code_colours.get)
            made = QTextCharFormat() if colour else None
            if made is not None:
                made.setForeground(QColor(colour))
                made.setFontItalic(kind.startswith("Comment"))
            self._code_formats[kind] = made
        return self._code_formats[kind]

    # Overlays

    def _overlays(self, start: int, end: int) -> list[_Layer]:
        layers = []
        for first, last, origin in self._origins(start, end) if self._origins else ():
            look = self._origin_formats.get(origin)
            if look:
                layers.append(_Layer(first - start, last - start, look))
        for index, (first, last) in enumerate(self._matches):
            if first < end and last > start:
                look = self._current_format if index == self._current else self._match_format
                layers.append(_Layer(max(0, first - start), min(end, last) - start, look))
        return layers


def _found(theme: Theme, ground: str) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setBackground(QColor(ground))
    made.setForeground(QColor(theme.text))
    return made


def _inherited(kind: str, colour: Callable[[str], str | None]) -> str | None:
    """The colour of a kind or of the nearest kind above it."""
    while kind:
        found = colour(kind)
        if found:
            return found
        kind = kind.rpartition(".")[0]
    return None


def _layer(part: Coloured, text: str, look: QTextCharFormat) -> _Layer:
    if text.isascii():
        return _Layer(part.start, min(part.start + part.length, len(text)), look)
    start = units(text[: part.start])
    return _Layer(start, start + units(text[part.start : part.start + part.length]), look)


def _flattened(below: list[_Layer], over: list[_Layer]) -> list[_Layer]:
    """Layers without overlap: where several lie on one another, the later ones win property by property."""
    waiting = sorted(enumerate([*below, *over]), key=lambda entry: entry[1].start, reverse=True)
    cuts = sorted({edge for _, layer in waiting for edge in (layer.start, layer.end)})
    flat = []
    active: list[tuple[int, _Layer]] = []
    for start, end in pairwise(cuts):
        while waiting and waiting[-1][1].start <= start:
            active.append(waiting.pop())
        active = sorted((entry for entry in active if entry[1].end > start), key=lambda entry: entry[0])
        merged = QTextCharFormat()
        for _, layer in active:
            merged.merge(layer.format)
        if active:
            flat.append(_Layer(start, end, merged))
    return flat
