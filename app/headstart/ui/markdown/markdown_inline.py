"""Markdown inside a block: spans with exact source offsets, CJK emphasis, formulas, safe links."""

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from headstart.ui.markdown.blocks import Span, Style
from headstart.ui.markdown.mathematics import readable

_CJK = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uac00-\ud7af\uff00-\uffef\u2018-\u201d\U00020000-\U0003ffff]")
# A dollar sign is a sum of money unless the text hugs both signs and no digit follows (pandoc's rule).
_FORMULA = re.compile(
    r"\$\$(?P<a>.{1,4000}?)\$\$|\\\[(?P<b>.{1,4000}?)\\\]|\\\((?P<c>.{1,4000}?)\\\)"
    r"|\$(?![\s$])(?P<d>(?:\\.|[^$\\]){1,1000}?)(?<!\s)\$(?![\d$])",
    re.S,
)
_BREAK = re.compile(r"<br\s*/?>", re.I)
_BARE_LINK = re.compile(r"https?://[^\s<>\"'`\u3000-\u303f\uff01-\uff5e]+", re.I)
_NAME_BEFORE_HOST = re.compile(r"https?:[^?#]*?//[^/?#]*@", re.I)
_SAFE = ("http://", "https://", "mailto:")
_STYLES = {"strong": Style.BOLD, "em": Style.ITALIC, "s": Style.STRIKE}


@dataclass(frozen=True)
class Content:
    """The text of one block as the parser sees it and where it stands in the source.

    `runs` are (offset in text, offset in source), the first at 0, one wherever the two stop running in parallel.
    """

    text: str
    runs: tuple[tuple[int, int], ...]
    source: str

    def tail(self, offset: int) -> "Content":
        """Without the first `offset` characters."""
        rest = tuple((at - offset, place) for at, place in self.runs if at > offset)
        return Content(self.text[offset:], ((0, self.place(offset)), *rest), self.source)

    def place(self, offset: int) -> int:
        """Source offset of a text offset."""
        at, place = self.runs[max(0, bisect_right(self.runs, (offset, len(self.source))) - 1)]
        return place + offset - at

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """[start, end) cut where text and source part, and around line breaks."""
        cuts = {at for at, _ in self.runs} | {at + side for at in _breaks(self.text, start, end) for side in (0, 1)}
        yield from pairwise([start, *sorted(cut for cut in cuts if start < cut < end), end])


class _OffsetState(StateInline):
    """Notes at which offset each token begins; treats a CJK neighbour of an emphasis sign like punctuation."""

    _pending_at = 0

    def append_pending(self, text: str) -> None:
        if not self.pending:
            self._pending_at = self.pos
        super().append_pending(text)

    def pushPending(self) -> Token:  # noqa: N802
        token = super().pushPending()
        token.meta["at"] = self._pending_at
        return token

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        token = super().push(ttype, tag, nesting)
        before = self.tokens[-2] if len(self.tokens) > 1 else token
        token.meta["at"] = token.meta["pushed"] = self.pos
        if ttype == "text" and before.meta.get("pushed") == self.pos:  # one of several signs, or an autolink's text
            token.meta["at"] = before.meta["at"] + (len(before.content) if before.type == "text" else 1)
        return token

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803
        found = super().scanDelims(start, canSplitWord)
        end = start + found.length
        before = self.src[start - 1] if start else " "
        after = self.src[end] if end < len(self.src) else " "
        if self.src[start] in "*~" and (_CJK.match(before) or _CJK.match(after)):
            return Scanned(not after.isspace(), not before.isspace(), found.length)
        return found


class OffsetInline(ParserInline):
    """The inline parser with offsets, formulas and line breaks written as <br>."""

    def __init__(self) -> None:
        super().__init__()
        self.ruler.before("escape", "formula", _formula)
        self.ruler.before("autolink", "line_break", _line_break)
        # Joined fragments would lose their offsets.
        self.ruler2.disable("fragments_join")

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """Tokens of `src`, each with `meta["at"]`."""
        state = _OffsetState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def to_spans(tokens: Sequence[Token], content: Content) -> tuple[Span, ...]:
    """The spans of one block's inline tokens."""
    style, address, title = Style.PLAIN, "", ""
    found: list[Span] = []
    for token in tokens:
        if token.type == "link_open":
            address, title = safe_address(str(token.attrs["href"])), str(token.attrs.get("title", ""))
        elif token.type == "link_close":
            address = title = ""
        elif token.tag in _STYLES:
            style = style | _STYLES[token.tag] if token.nesting > 0 else style & ~_STYLES[token.tag]
        else:
            found += (_within(span, style, address, title) for span in _of_token(token, content))
    return tuple(linked(_joined(found)))


def _within(span: Span, style: Style, address: str, title: str) -> Span:
    if not (style or address or title):
        return span
    return replace(span, style=span.style | style, address=span.address or address, title=title)


def safe_address(address: str) -> str:
    """`address` if a browser may be asked to open it, else nothing: a name before the host passes for a host."""
    if not address.lower().startswith(_SAFE) or _NAME_BEFORE_HOST.match(address):
        return ""
    return address if address.isascii() else str(normalizeLink(address))  # what turns text around shows as its code


def linked(found: Sequence[Span]) -> Iterator[Span]:
    """Spans with addresses written out in running text made into links."""
    for span in found:
        if span.address or span.style & (Style.CODE | Style.MATH | Style.IMAGE) or not span.exact:
            yield span
        else:
            yield from _cut_links(span)


def _cut_links(span: Span) -> Iterator[Span]:
    done = 0
    for match in _BARE_LINK.finditer(span.text):
        address = _without_closing_signs(match.group())
        end = match.start() + len(address)
        yield from _part(span, done, match.start())
        yield replace(next(_part(span, match.start(), end)), address=safe_address(address))
        done = end
    yield from _part(span, done, len(span.text))


def _part(span: Span, start: int, end: int) -> Iterator[Span]:
    if end > start:
        yield replace(span, text=span.text[start:end], start=span.start + start, end=span.start + end)


def _without_closing_signs(address: str) -> str:
    """Without the full stop or bracket that belongs to the sentence around it."""
    while address[-1] in ".,;:!?*_~" or (address[-1] in ")]" and address.count("(") < address.count(")")):
        address = address[:-1]
    return address


def _of_token(token: Token, content: Content) -> Iterator[Span]:
    at: int = token.meta.get("at", 0)
    match token.type:
        case "text":
            yield from _text(token.content, at, content)
        case "softbreak" | "hardbreak":
            yield from _standing_for("\n", (at, at + 1), content, Style.PLAIN)
        case "code_inline":
            start = at + len(token.markup)
            yield from _text(token.content, content.text.index(token.content.split(" ")[0], start), content, Style.CODE)
        case "text_special":
            yield from _standing_for(token.content, (at, at + len(token.markup)), content, Style.PLAIN)
        case "formula":
            yield from _standing_for(readable(token.content), (at, token.meta["end"]), content, Style.MATH)
        case "image":
            shown = _standing_for(token.content or str(token.attrs["src"]), (at, at + 1), content, Style.IMAGE)
            yield from (replace(span, address=safe_address(str(token.attrs["src"]))) for span in shown)


def _text(text: str, at: int, content: Content, style: Style = Style.PLAIN) -> Iterator[Span]:
    """Spans for text that stands at offset `at` of the content, as it is but for line breaks."""
    for start, end in content.pieces(at, at + len(text)):
        yield from _standing_for(text[start - at : end - at], (start, end), content, style)


def _standing_for(text: str, where: tuple[int, int], content: Content, style: Style) -> Iterator[Span]:
    start = content.place(where[0])
    end = content.place(where[1] - 1) + 1
    if text:
        yield Span(text, start, end, exact=content.source[start:end] == text, style=style)


def _joined(found: Sequence[Span]) -> list[Span]:
    """Neighbours of one look that are neighbours in the source as one span."""
    joined: list[Span] = []
    for span in found:
        last = joined[-1] if joined else None
        if last and last.exact and span.exact and last.end == span.start and _look(last) == _look(span):
            joined[-1] = replace(last, text=last.text + span.text, end=span.end)
        else:
            joined.append(span)
    return joined


def _look(span: Span) -> tuple[Style, str, str]:
    return span.style, span.address, span.title


def _breaks(text: str, start: int, end: int) -> Iterator[int]:
    at = text.find("\n", start, end)
    while at >= 0:
        yield at
        at = text.find("\n", at + 1, end)


def _formula(state: StateInline, silent: bool) -> bool:
    sign = state.src[state.pos]
    if sign not in "$\\" or (sign == "$" and state.pos and state.src[state.pos - 1].isalnum()):
        return False
    match = _FORMULA.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content = next(group for group in match.groups() if group is not None)
        token.meta["end"] = match.end()
    state.pos = match.end()
    return True


def _line_break(state: StateInline, silent: bool) -> bool:
    match = _BREAK.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = match.end()
    return True


_DISPLAY = {"$$": "$$", "\\[": "\\]"}


@functools.cache
def parser() -> MarkdownIt:
    """The one there is. Inline text is left to `parser().inline`."""
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.inline = OffsetInline()
    made.core.ruler.enableOnly(["normalize", "block"])
    made.block.ruler.before(
        "fence", "display_formula", _display_formula, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    return made


def _display_formula(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    r"""Lines from one that begins with $$ or \[ to one that ends with its counterpart, no empty line between."""
    first = state.bMarks[start] + state.tShift[start]
    closing = _DISPLAY.get(state.src[first : first + 2])
    if closing is None or state.is_code_block(start):
        return False
    for line in range(start, end):
        begin = first + 2 if line == start else state.bMarks[line]
        text = state.src[begin : state.eMarks[line]].rstrip()
        if (line > start and state.isEmpty(line)) or state.sCount[line] < state.blkIndent:
            return False
        if text.endswith(closing):
            return silent or _push_formula(state, start, line)
    return False


def _push_formula(state: StateBlock, start: int, last: int) -> bool:
    token = state.push("display_formula", "", 0)
    token.content = state.getLines(start, last + 1, state.blkIndent, False).strip()[2:-2]  # noqa: FBT003
    token.map = [start, last + 1]
    state.line = last + 1
    return True
