"""Colours of code, origins and matches, as layout formats that do not edit the document."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from pygments.lexer import ExtendedRegexLexer, Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextBlock, QTextCharFormat, QTextDocument

from headstart.markdown.blocks import units
from headstart.ui.markdown.document import CODE_ID, LANGUAGE
from headstart.ui.widgets.theme import Theme

Stack = tuple[str, ...]
START: Stack = ("root",)
_COMMENT = "/* comment"  # our own state, as these lexers match only whole comments, not one line
_UNFINISHED_KINDS = ("Operator", "Punctuation", "Error")  # kinds of a "/*" without its end


@dataclass(frozen=True, slots=True)
class LexedPart:
    start: int
    length: int  # characters
    kind: str  # Pygments token type, such as "Literal.String"


@functools.lru_cache(maxsize=64)
def lexer(language: str) -> Lexer | None:
    """Return the lexer for the name after a fence, or None."""
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


def lex_line(source: Lexer, line: str, stack: Stack) -> tuple[list[LexedPart], Stack]:
    """Return the parts of a line that begins with the lexer states `stack`, and the states after it."""
    if not isinstance(source, RegexLexer) or isinstance(source, ExtendedRegexLexer):
        # Such a lexer (JSON) has no states: the result is right for tokens that do not cross a line.
        tokens = source.get_tokens_unprocessed(line)
        return [LexedPart(at, len(text), ".".join(kind)) for at, kind, text in tokens], stack
    if stack[-1] == _COMMENT:
        return _inside_comment(source, line, stack)
    run = _LexerRun(source, line + "\n", list(stack))
    parts = list(run.parts())
    opened = _unfinished_comment(line, parts, has_own_state=tuple(run.stack) != stack)
    if opened is None:
        return parts, tuple(run.stack)
    before, states = lex_line(source, line[:opened], stack)
    return [*before, LexedPart(opened, len(line) - opened, "Comment")], (*states, _COMMENT)


def _inside_comment(source: RegexLexer, line: str, stack: Stack) -> tuple[list[LexedPart], Stack]:
    end = line.find("*/") + 2
    if end < 2:
        return [LexedPart(0, len(line), "Comment")], stack
    rest, after = lex_line(source, line[end:], stack[:-1])
    return [LexedPart(0, end, "Comment"), *(replace(part, start=part.start + end) for part in rest)], after


def _unfinished_comment(line: str, parts: list[LexedPart], has_own_state: bool) -> int | None:
    """Return where a comment begins that does not end in this line, unless the lexer has a state for it."""
    at = line.rfind("/*")
    if at < 0 or "*/" in line[at + 2 :]:
        return None
    covering = [part for part in parts if part.start <= at < part.start + part.length]
    kinds = _UNFINISHED_KINDS if has_own_state else (*_UNFINISHED_KINDS, "Comment.Multiline")
    unfinished = all(part.start == at and part.kind.startswith(kinds) for part in covering)
    return at if unfinished else None


@dataclass
class _LexerRun:
    """RegexLexer.get_tokens_unprocessed with a state stack that can be read afterwards."""

    source: RegexLexer
    text: str
    stack: list[str]
    at: int = 0
    rules: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.rules = self.source._tokens  # type: ignore[attr-defined] # noqa: SLF001

    def parts(self) -> Iterator[LexedPart]:
        """Yield the parts of the text."""
        while self.at < len(self.text):
            for match_at, action, new_state in self.rules[self.stack[-1]]:
                match = match_at(self.text, self.at)
                if match:
                    yield from self._run_action(match, action)
                    self.at = match.end()
                    self._enter(new_state)
                    break
            else:
                if self.text[self.at] == "\n":
                    self.stack = list(START)
                self.at += 1

    def _run_action(self, match: Any, action: Any) -> Iterator[LexedPart]:
        if action is None:
            return
        if isinstance(action, tuple):  # a token type is a tuple of names
            yield LexedPart(self.at, len(match.group()), ".".join(action))
            return
        for start, kind, value in action(self.source, match):
            yield LexedPart(start, len(value), ".".join(kind))

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


OriginRanges = Callable[[int, int], Iterable[tuple[int, int, str]]]


@dataclass(frozen=True)
class _Layer:
    """A range [start, end) of a line with a format."""

    start: int
    end: int
    format: QTextCharFormat


class Highlighter(QSyntaxHighlighter):
    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._stacks: dict[int, Stack] = {1: START}
        self._states: dict[Stack, int] = {START: 1}
        self._origins: OriginRanges | None = None
        self._matches: Sequence[tuple[int, int]] = ()
        self._current: int | None = None
        self._spoken: tuple[int, int] | None = None
        self.set_theme(theme)

    def set_origins(self, origins: OriginRanges | None) -> None:
        """Show the origins, which a function yields as (start, end, origin) within two positions; None hides them."""
        if origins is None and self._origins is None:
            return
        self._origins = origins
        self.rehighlight()

    def set_matches(self, matches: Sequence[tuple[int, int]], current: int | None = None) -> None:
        """Mark sorted ranges of positions; `current` is the index of the current one."""
        before = self._matches
        if not before and not matches:
            return
        self._matches, self._current = tuple(matches), current
        for start, _ in {*before, *self._matches}:
            self.rehighlightBlock(self.document().findBlock(start))

    def set_spoken(self, place: tuple[int, int] | None) -> None:
        """Mark the range of positions that is read aloud."""
        before, self._spoken = self._spoken, place
        for start, end in filter(None, {before, place}):
            block = self.document().findBlock(start)
            while block.isValid() and block.position() < end:
                self.rehighlightBlock(block)
                block = block.next()

    def highlightBlock(self, text: str) -> None:
        """Format a line that has changed."""
        block = self.currentBlock()
        language = block.blockFormat().property(LANGUAGE)
        code = self._code_layers(block, text, language) if language else []
        over = self._overlay_layers(block.position(), block.position() + block.length() - 1)
        for layer in _merge_layers(code, over) if over else code:
            self.setFormat(layer.start, layer.end - layer.start, layer.format)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours. They show when the caller rewrites the document."""
        self._code_formats: dict[str, QTextCharFormat | None] = {}
        self._code_colours = theme.code
        self._origin_formats = {}
        for name, mark in theme.origins.items():
            fmt = QTextCharFormat()
            fmt.setBackground(QColor(mark.background))
            fmt.setUnderlineStyle(mark.underline)
            fmt.setUnderlineColor(QColor(mark.line))
            self._origin_formats[name] = fmt
        self._match_format = _match_format_of(theme, theme.match)
        self._current_format = _match_format_of(theme, theme.match_current)

    # Code

    def _code_layers(self, block: QTextBlock, text: str, language: str) -> list[_Layer]:
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
        return [_layer(part, text, fmt) for part, fmt in shown if fmt]

    def _code_format(self, kind: str) -> QTextCharFormat | None:
        if kind not in self._code_formats:
            colour = _inherited_colour(kind, self._code_colours.get)
            fmt = QTextCharFormat() if colour else None
            if fmt is not None:
                fmt.setForeground(QColor(colour))
                fmt.setFontItalic(kind.startswith("Comment"))
            self._code_formats[kind] = fmt
        return self._code_formats[kind]

    # Overlays

    def _overlay_layers(self, start: int, end: int) -> list[_Layer]:
        layers = []
        for first, last, origin in self._origins(start, end) if self._origins else ():
            fmt = self._origin_formats.get(origin)
            if fmt:
                layers.append(_Layer(first - start, last - start, fmt))
        for index, (first, last) in enumerate(self._matches):
            if first < end and last > start:
                fmt = self._current_format if index == self._current else self._match_format
                layers.append(_Layer(max(0, first - start), min(end, last) - start, fmt))
        if self._spoken and self._spoken[0] < end and self._spoken[1] > start:
            first, last = self._spoken
            layers.append(_Layer(max(0, first - start), min(end, last) - start, self._current_format))
        return layers


def _match_format_of(theme: Theme, ground: str) -> QTextCharFormat:
    fmt = QTextCharFormat()
    fmt.setBackground(QColor(ground))
    fmt.setForeground(QColor(theme.text))
    return fmt


def _inherited_colour(kind: str, colour: Callable[[str], str | None]) -> str | None:
    """Return the colour of a kind or of its nearest parent."""
    while kind:
        if value := colour(kind):
            return value
        kind = kind.rpartition(".")[0]
    return None


def _layer(part: LexedPart, text: str, fmt: QTextCharFormat) -> _Layer:
    if text.isascii():
        return _Layer(part.start, min(part.start + part.length, len(text)), fmt)
    start = units(text[: part.start])
    return _Layer(start, start + units(text[part.start : part.start + part.length]), fmt)


def _merge_layers(below: list[_Layer], over: list[_Layer]) -> list[_Layer]:
    """Split layers so that none overlap; where they did, later ones win property by property."""
    pending = sorted(enumerate([*below, *over]), key=lambda entry: entry[1].start, reverse=True)
    cuts = sorted({edge for _, layer in pending for edge in (layer.start, layer.end)})
    flat = []
    active: list[tuple[int, _Layer]] = []
    for start, end in pairwise(cuts):
        while pending and pending[-1][1].start <= start:
            active.append(pending.pop())
        active = sorted((entry for entry in active if entry[1].end > start), key=lambda entry: entry[0])
        merged = QTextCharFormat()
        for _, layer in active:
            merged.merge(layer.format)
        if active:
            flat.append(_Layer(start, end, merged))
    return flat
