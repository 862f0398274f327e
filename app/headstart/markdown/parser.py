"""The Markdown parser, for a whole text or one that grows."""

import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar, Literal

from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from headstart.markdown.blocks import Block, Code, ListItem, Nesting, Paragraph, Rule, Span, Style, TableBlock

_CJK = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uac00-\ud7af\uff00-\uffef\u2018-\u201d\U00020000-\U0003ffff]")
# A dollar sign is money or a variable of a shell unless both signs touch the text and neither a digit nor a letter
# follows, but for Chinese and the like (pandoc's rule and more). Three letters and a slash begin a path; $2M$ is money.
_FORMULA = re.compile(
    r"\$\$.{1,4000}?\$\$|\\\[.{1,4000}?\\\]|\\\(.{1,4000}?\\\)"
    rf"|\$(?![\s$]|[A-Za-z_]\w{{2,}}/|\d[\d.,]*[KMB]\$)(?:\\.|[^$\\]){{1,1000}}?(?<!\s)\$(?=[^\w${{]|{_CJK.pattern}|\Z)",
    re.S,
)
_BREAK = re.compile(r"<br\s*/?>", re.I)
_BARE_LINK = re.compile(r"https?://[^\s<>\"'`\u3000-\u303f\uff01-\uff5e]+", re.I)
_NAME_BEFORE_HOST = re.compile(r"https?:[^?#]*?//[^/?#]*@", re.I)
_SAFE = ("http://", "https://", "mailto:")
_FOOTNOTE = re.compile(r"\[\^([\w-]{1,20})\]:?")
_SUPERSCRIPTS = str.maketrans("0123456789abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
_TAG = re.compile(r"<(/?)(b|strong|i|em|s|del)>", re.I)
_TAG_STYLES = {"b": "strong", "i": "em", "del": "s"}
_STYLES = {"strong": Style.BOLD, "em": Style.ITALIC, "s": Style.STRIKE}


@dataclass(frozen=True)
class Content:
    """The text of one block as the parser sees it, and its place in the source."""

    text: str
    runs: tuple[tuple[int, int], ...]  # (offset in text, offset in source), the first at 0, then at each jump
    source: str

    def tail(self, offset: int) -> "Content":
        """Return the content without its first `offset` characters."""
        rest = tuple((at - offset, place) for at, place in self.runs if at > offset)
        return Content(self.text[offset:], ((0, self.place(offset)), *rest), self.source)

    def place(self, offset: int) -> int:
        """Return the source offset of a text offset."""
        at, place = self.runs[max(0, bisect_right(self.runs, (offset, len(self.source))) - 1)]
        return place + offset - at

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Split [start, end) at the jumps of `runs` and around line breaks."""
        breaks = _line_breaks(self.text, start, end)
        cuts = {at for at, _ in self.runs} | {at + side for at in breaks for side in (0, 1)}
        yield from pairwise([start, *sorted(cut for cut in cuts if start < cut < end), end])


class _OffsetState(StateInline):
    """An inline state that records the offset of each token and treats CJK beside an emphasis sign as punctuation."""

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
        if ttype == "text" and before.meta.get("pushed") == self.pos:  # further signs, or an autolink's text
            token.meta["at"] = before.meta["at"] + (len(before.content) if before.type == "text" else 1)
        return token

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803
        delimiters = super().scanDelims(start, canSplitWord)
        end = start + delimiters.length
        before = self.src[start - 1] if start else " "
        after = self.src[end] if end < len(self.src) else " "
        if not (_CJK.match(before) or _CJK.match(after)):
            return delimiters
        if self.src[start] != "_":
            return Scanned(not after.isspace(), not before.isspace(), delimiters.length)
        # A name such as 数据_2024_版 or 用户_id keeps its signs.
        opens = bool(_CJK.match(before) and _CJK.match(after))
        closes = bool(_CJK.match(after)) and not before.isspace()
        return Scanned(delimiters.can_open or opens, delimiters.can_close or closes, delimiters.length)


class OffsetInline(ParserInline):
    """The inline parser, extended by offsets, formulas, footnotes and a few HTML tags."""

    def __init__(self) -> None:
        super().__init__()
        self.ruler.before("escape", "formula", _formula)
        self.ruler.before("autolink", "line_break", _line_break)
        self.ruler.before("autolink", "tag", _tag)
        self.ruler.before("link", "footnote", _footnote)
        # Joined fragments would lose their offsets.
        self.ruler2.disable("fragments_join")

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """Parse `src` into tokens, each with its offset in `meta["at"]`."""
        state = _OffsetState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def to_spans(tokens: Sequence[Token], content: Content) -> tuple[Span, ...]:
    """Convert the inline tokens of one block to spans."""
    style, address, title = Style.PLAIN, "", ""
    spans: list[Span] = []
    for token in tokens:
        if token.type == "link_open":
            address, title = safe_address(str(token.attrs["href"])), str(token.attrs.get("title", ""))
        elif token.type == "link_close":
            address = title = ""
        elif token.type == "tag":
            tag_style = _STYLES[token.content]
            style = style & ~tag_style if token.markup else style | tag_style
        elif token.tag in _STYLES:
            style = style | _STYLES[token.tag] if token.nesting > 0 else style & ~_STYLES[token.tag]
        else:
            spans += (_with_style(span, style, address, title) for span in _token_spans(token, content))
    return tuple(with_links(_merge(spans)))


def _with_style(span: Span, style: Style, address: str, title: str) -> Span:
    if not (style or address or title):
        return span
    return replace(span, style=span.style | style, address=span.address or address, title=title)


def safe_address(address: str) -> str:
    """Return an address that a browser may open, else "": a user name before the host can be mistaken for the host."""
    if not address.lower().startswith(_SAFE) or _NAME_BEFORE_HOST.match(address):
        return ""
    return address if address.isascii() else str(normalizeLink(address))  # escapes characters that reorder text


def with_links(spans: Sequence[Span]) -> Iterator[Span]:
    """Turn addresses in running text into links."""
    for span in spans:
        if span.address or span.style & (Style.CODE | Style.MATH | Style.IMAGE) or not span.exact:
            yield span
        else:
            yield from _split_links(span)


def _split_links(span: Span) -> Iterator[Span]:
    done = 0
    for match in _BARE_LINK.finditer(span.text):
        address = _strip_punctuation(match.group())
        end = match.start() + len(address)
        yield from _slice(span, done, match.start())
        yield replace(next(_slice(span, match.start(), end)), address=safe_address(address))
        done = end
    yield from _slice(span, done, len(span.text))


def _slice(span: Span, start: int, end: int) -> Iterator[Span]:
    if end > start:
        yield replace(span, text=span.text[start:end], start=span.start + start, end=span.start + end)


def _strip_punctuation(address: str) -> str:
    """Remove the full stop or bracket that belongs to the sentence around the address."""
    while address[-1] in ".,;:!?*_~" or (address[-1] in ")]" and address.count("(") < address.count(")")):
        address = address[:-1]
    return address


def _token_spans(token: Token, content: Content) -> Iterator[Span]:
    at: int = token.meta.get("at", 0)
    match token.type:
        case "text":
            yield from _text_spans(token.content, at, content)
        case "softbreak" | "hardbreak":
            yield from _make_span("\n", (at, at + 1), content, Style.PLAIN)
        case "code_inline":
            start = at + len(token.markup)
            yield from _text_spans(
                token.content, content.text.index(token.content.split(" ")[0], start), content, Style.CODE
            )
        case "text_special":
            yield from _make_span(token.content, (at, at + len(token.markup)), content, Style.PLAIN)
        case "footnote":
            yield from _make_span(token.content, (at, token.meta["end"]), content, Style.PLAIN)
        case "formula":
            yield from _make_span(token.content, (at, token.meta["end"]), content, Style.MATH)
        case "image":
            shown = _make_span(token.content or str(token.attrs["src"]), (at, at + 1), content, Style.IMAGE)
            yield from (replace(span, address=safe_address(str(token.attrs["src"]))) for span in shown)


def _text_spans(text: str, at: int, content: Content, style: Style = Style.PLAIN) -> Iterator[Span]:
    """Yield spans for text that stands at offset `at` of the content."""
    for start, end in content.pieces(at, at + len(text)):
        yield from _make_span(text[start - at : end - at], (start, end), content, style)


def _make_span(text: str, where: tuple[int, int], content: Content, style: Style) -> Iterator[Span]:
    start = content.place(where[0])
    end = content.place(where[1] - 1) + 1
    if text:
        yield Span(text, start, end, exact=content.source[start:end] == text, style=style)


def _merge(spans: Sequence[Span]) -> list[Span]:
    """Merge spans of the same appearance that are adjacent in the source, too."""
    merged: list[Span] = []
    for span in spans:
        last = merged[-1] if merged else None
        is_adjacent = last and last.exact and span.exact and last.end == span.start
        if last and is_adjacent and _appearance(last) == _appearance(span) and not span.style & Style.MATH:
            merged[-1] = replace(last, text=last.text + span.text, end=span.end)
        else:
            merged.append(span)
    return merged


def _appearance(span: Span) -> tuple[Style, str, str]:
    return span.style, span.address, span.title


def _line_breaks(text: str, start: int, end: int) -> Iterator[int]:
    at = text.find("\n", start, end)
    while at >= 0:
        yield at
        at = text.find("\n", at + 1, end)


def _formula(state: StateInline, silent: bool) -> bool:
    sign = state.src[state.pos]
    before = state.src[state.pos - 1] if state.pos else " "
    if sign not in "$\\" or (sign == "$" and before.isalnum() and not _CJK.match(before)):
        return False
    match = _FORMULA.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content = match.group()
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


def _tag(state: StateInline, silent: bool) -> bool:
    """Parse an HTML tag that only styles text, if its counterpart follows or precedes."""
    match = _TAG.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    closes, name = match.groups()
    around = state.src[: state.pos] if closes else state.src[match.end() :]
    if f"<{'' if closes else '/'}{name.lower()}>" not in around.lower():
        return False
    if not silent:
        token = state.push("tag", "", 0)
        token.content, token.markup = _TAG_STYLES.get(name.lower(), name.lower()), closes
    state.pos = match.end()
    return True


def _footnote(state: StateInline, silent: bool) -> bool:
    """Parse [^1], shown as a superscript, and [^1]: at the beginning of a note."""
    match = _FOOTNOTE.match(state.src, state.pos, state.posMax)
    begins_line = not state.pos or state.src[state.pos - 1] == "\n"
    if not match:
        return False
    end = match.end() if begins_line else match.end(1) + 1
    if not silent:
        token = state.push("footnote", "", 0)
        token.content = match[1].translate(_SUPERSCRIPTS)
        token.meta["end"] = end
    state.pos = end
    return True


_DISPLAY = {"$$": "$$", "\\[": "\\]"}


@functools.cache
def parser() -> MarkdownIt:
    """Return the shared block parser; `parser().inline` parses the text within blocks."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.inline = OffsetInline()
    markdown.core.ruler.enableOnly(["normalize", "block"])
    markdown.block.ruler.before(
        "fence", "display_formula", _display_formula, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    return markdown


def _display_formula(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    r"""Parse lines from one that begins with $$ or \[ to one that ends with its counterpart, without empty lines."""
    first = state.bMarks[start] + state.tShift[start]
    closing = _DISPLAY.get(state.src[first : first + 2])
    if closing is None or state.is_code_block(start):
        return False
    for line in range(start, end):
        begin = first + 2 if line == start else state.bMarks[line]
        text = state.src[begin : state.eMarks[line]].rstrip()
        # A line with less indentation than the item ends it, as with a fence.
        is_outside = state.sCount[line] < (0 if silent else state.blkIndent)
        if (line > start and state.isEmpty(line)) or is_outside:
            return False
        if text.endswith(closing):
            return silent or _push_formula(state, start, line)
    return False


def _push_formula(state: StateBlock, start: int, last: int) -> bool:
    token = state.push("display_formula", "", 0)
    token.content = state.getLines(start, last + 1, state.blkIndent, False).strip()  # noqa: FBT003
    token.map = [start, last + 1]
    state.line = last + 1
    return True


def _below_formulas(source: str, lines: Sequence[int]) -> set[int]:
    """Return the lines that may become part of a formula above them: no empty line or mark lies between."""
    below: set[int] = set()
    if not any(opening in source for opening in _DISPLAY):
        return below
    is_open = False
    for number, (start, end) in enumerate(pairwise(lines)):
        text = source[start:end].strip()
        if is_open and text:
            below.add(number)
        is_open = bool(text) and (is_open or text.startswith(tuple(_DISPLAY)))
    return below


_LINE_END = re.compile(r"\r\n?|\n")
_REPLACED = re.compile(r"[\r\0]")  # characters that the parser replaces
_DELIMITERS = re.compile(r"[|:\- \t]*")  # possibly the delimiter row of a table
_HASHES = re.compile(r"#{1,6}(?=[ \t]|$)")
_TASK = re.compile(r"\[([ xX])\][ \t]+")
_FENCE_OPEN = re.compile(r"(`{3,}|~{3,})[^`|\n]*\n")  # with a bar it may become the head of a table
_LITERAL_FENCE = re.compile(r"^(?P<mark>`{3,})(?P<info>[^`\n]*)\n(?P<code>.*?)(?:^(?P=mark)`*[ \t]*$|\Z)", re.M | re.S)
_TYPED_PARAGRAPH = re.compile(r"[ \t]*\S.*?(?=[ \t]*\n[ \t]*\n|\s*\Z)", re.S)


@dataclass(frozen=True)
class _OpenList:
    """A top-level list that the next item would continue."""

    id: int
    kind: tuple[str, str]
    number: int


@dataclass(frozen=True)
class _Checkpoint:
    """The place in the source from which blocks may still change."""

    offset: int
    blocks: int  # before it
    open_list: _OpenList | None = None  # around it


@dataclass
class _List:
    id: int
    kind: tuple[str, str]
    number: int
    pending: ListItem | None = None


def parse(source: str, base: int = 0) -> list[Block]:
    """Parse `source` into blocks, whose offsets count from `base`."""
    return _BlockParser(source, base, None).blocks


def parse_literal(source: str) -> list[Block]:
    """Parse typed text: everything is literal except fenced code and addresses."""
    blocks: list[Block] = []
    done = 0
    for match in _LITERAL_FENCE.finditer(source):
        blocks += _typed_blocks(source, done, match.start())
        code = match["code"].removesuffix("\n")
        blocks.append(Code(code, _language(match["info"]), ((0, match.start("code")),)))
        done = match.end()
    return blocks + _typed_blocks(source, done, len(source))


def _complete_lines(code: str) -> str:
    """Return code as the parser reads it at the end of the text: it drops a last line of blanks."""
    before, _, last = code.rpartition("\n")
    return code if last.strip(" \t") else before


class MarkdownStream:
    """Markdown that grows at its end. After `finish`, the blocks equal those of the whole text."""

    def __init__(self) -> None:
        self.source = ""
        self.blocks: list[Block] = []
        self._checkpoint = _Checkpoint(0, 0)
        self._fence: str | None = None  # marker of the open fence that begins at the checkpoint

    def append(self, text: str) -> int:
        """Append text and return the index of the first block that changed."""
        self.source += text
        if self._fence and self._extend_fence(text):
            return len(self.blocks) - 1
        start = self._checkpoint
        tail = _BlockParser(self.source[start.offset :], start.offset, start.open_list)
        first = self._replace(tail.blocks, start.blocks)
        self._checkpoint = replace(
            tail.checkpoint, offset=start.offset + tail.checkpoint.offset, blocks=start.blocks + tail.checkpoint.blocks
        )
        self._fence = self._open_fence()
        return first

    def finish(self) -> int:
        """Parse everything again and return the index of the first block that changed."""
        self._fence = None
        return self._replace(parse(self.source), 0)

    def _replace(self, new: list[Block], at: int) -> int:
        old = self.blocks[at:]
        same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        self.blocks[at + same :] = new[same:]
        return at + same

    def _open_fence(self) -> str | None:
        """Return the marker of the open fence, if further text can simply be appended to its code."""
        match = _FENCE_OPEN.match(self.source, self._checkpoint.offset)
        last = self.blocks[-1] if self.blocks else None
        if not match or _REPLACED.search(self.source) or not isinstance(last, Code) or last.place != Nesting():
            return None
        if len(self.blocks) != self._checkpoint.blocks + 1 or last.runs != ((0, match.end()),):
            return None
        return match[1] if last.text == _complete_lines(self.source[match.end() :]) else None

    def _extend_fence(self, text: str) -> bool:
        assert self._fence is not None
        line = self.source.rfind("\n", 0, len(self.source) - len(text)) + 1
        if _REPLACED.search(text) or re.search(rf"^ {{0,3}}{self._fence[0]}", self.source[line:], re.M):
            return False
        code = self.blocks[-1]
        assert isinstance(code, Code)
        self.blocks[-1] = replace(code, text=_complete_lines(self.source[code.runs[0][1] :]))
        return True


@dataclass
class _BlockParser:
    """A pass over the block tokens of `source`."""

    source: str
    base: int  # offset of `source` in the message
    open_list: _OpenList | None
    blocks: list[Block] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.checkpoint = _Checkpoint(0, 0, self.open_list)
        self._lines = [0, *(match.end() for match in _LINE_END.finditer(self.source)), len(self.source)]
        self._below_formulas = _below_formulas(self.source, self._lines)
        self._quotes = self._outer = 0
        self._lists: list[_List] = []
        self._heading = 0
        self._rows: list[list[tuple[Span, ...]]] | None = None
        self._aligns: list[str] = []
        self._column = 0
        self._env: dict[str, object] = {}
        for token in parser().parse(self.source, self._env):
            self._handle_token(token)

    def _handle_token(self, token: Token) -> None:
        if token.level == 0 and token.nesting >= 0:
            self._move_checkpoint(token)
        handle = self._HANDLERS.get(token.type)
        if handle:
            handle(self, token)

    def _move_checkpoint(self, token: Token) -> None:
        """Move the checkpoint to a top-level block: blocks before it cannot change, but a list can continue."""
        assert token.map
        if self._is_settled(token):
            self.checkpoint = _Checkpoint(self._lines[token.map[0]], len(self.blocks), self.open_list)
        if token.type not in {"bullet_list_open", "ordered_list_open"}:
            self.open_list = None

    def _is_settled(self, token: Token) -> bool:
        """Return whether a block begins here whatever text follows: "#" may become "#1" and continue the block before.

        A paragraph always begins a block, unless it may be the delimiter row that makes the line above a table's head.
        """
        assert token.map
        first, end = token.map
        if first in self._below_formulas:
            return False
        line = self.source[self._lines[first] : self._lines[first + 1]]
        if token.type == "paragraph_open" and not _DELIMITERS.fullmatch(line):
            return True
        last = {"table_open": first + 1, "display_formula": end - 1}.get(token.type, first)
        return self._lines[last + 1] < len(self.source) or self.source.endswith("\n")

    @property
    def _place(self) -> Nesting:
        return Nesting(self._quotes, len(self._lists), self._outer if self._quotes else 0)

    def _open_quote(self, _handle_token: Token) -> None:
        if not self._quotes:
            self._outer = len(self._lists)
        self._quotes += 1

    def _close_quote(self, _handle_token: Token) -> None:
        self._quotes -= 1

    def _start_list(self, token: Token) -> None:
        assert token.map
        if self._lists and self._lists[-1].pending:
            self._add_empty_item()
        kind = (token.type, token.markup)
        new = _List(self.base + self._lines[token.map[0]], kind, int(token.attrs.get("start", 1)))
        before = self.open_list
        if token.level == 0 and before and before.kind == kind:
            new.id, new.number = before.id, before.number
        self._lists.append(new)

    def _end_list(self, token: Token) -> None:
        last = self._lists.pop()
        if token.level == 0:
            self.open_list = _OpenList(last.id, last.kind, last.number)

    def _start_item(self, token: Token) -> None:
        assert token.map
        inner = self._lists[-1]
        if token.level == 1 and len(self._lists) == 1 and not self._quotes and self._is_settled(token):
            offset = self._lines[token.map[0]]
            self.checkpoint = _Checkpoint(offset, len(self.blocks), _OpenList(inner.id, inner.kind, inner.number))
        ordered = inner.kind[0] == "ordered_list_open"
        inner.pending = ListItem(inner.id, inner.number if ordered else None)
        inner.number += 1

    def _end_item(self, _handle_token: Token) -> None:
        if self._lists[-1].pending:
            self._add_empty_item()

    def _add_empty_item(self) -> None:
        """Add an item that does not begin with text: its bullet stands alone."""
        self.blocks.append(Paragraph((), self._place, item=self._pop_item()))

    def _pop_item(self) -> ListItem | None:
        if not self._lists:
            return None
        item, self._lists[-1].pending = self._lists[-1].pending, None
        return item

    def _start_heading(self, token: Token) -> None:
        self._heading = int(token.tag[1])

    def _end_heading(self, _handle_token: Token) -> None:
        self._heading = 0

    def _inline(self, token: Token) -> None:
        if self._rows is not None:
            self._cell(token)
            return
        content = self._content(token)
        item = self._pop_item()
        task = _TASK.match(content.text) if item else None
        if item and task:
            item = replace(item, checked=task[1] != " ")
            content = content.tail(task.end())
        self.blocks.append(Paragraph(self._spans(content), self._place, self._heading, item))

    def _spans(self, content: Content) -> tuple[Span, ...]:
        tokens: list[Token] = []
        parser().inline.parse(content.text, parser(), self._env, tokens)
        spans = to_spans(tokens, content)
        if not self.base:
            return spans
        return tuple(replace(span, start=span.start + self.base, end=span.end + self.base) for span in spans)

    def _content(self, token: Token) -> Content:
        """Map each line of a block's text to the end of its source line: the beginning is markup."""
        assert token.map
        runs, offset = [], 0
        for index, text in enumerate(token.content.split("\n")):
            start, end = self._lines[token.map[0] + index], self._lines[token.map[0] + index + 1]
            runs.append((offset, start + self._indent(self.source[start:end], text)))
            offset += len(text) + 1
        return Content(token.content, tuple(runs), self.source)

    def _indent(self, line: str, text: str) -> int:
        if self._heading and (hashes := _HASHES.search(line)):
            return max(0, line.find(text, hashes.end()))
        return max(0, len(line.rstrip()) - len(text.rstrip()))

    def _code(self, token: Token) -> None:
        assert token.map
        if self._lists and self._lists[-1].pending:
            self._add_empty_item()
        text = token.content.removesuffix("\n")
        first = token.map[0] + (token.type == "fence")
        runs: list[tuple[int, int]] = []
        offset = 0
        for index, part in enumerate(text.split("\n")):
            start = self._lines[min(first + index, len(self._lines) - 1)]
            end = self._lines[min(first + index + 1, len(self._lines) - 1)]
            line = _LINE_END.sub("", self.source[start:end]) if text else ""  # empty code has no line
            place = start + max(0, len(line) - len(part)) + self.base
            if not runs or place - offset != runs[-1][1] - runs[-1][0]:
                runs.append((offset, place))
            offset += len(part) + 1
        self.blocks.append(Code(text, _language(token.info), tuple(runs), self._place))

    def _formula(self, token: Token) -> None:
        assert token.map
        start, end = self.base + self._lines[token.map[0]], self.base + self._lines[token.map[1]]
        span = Span(token.content, start, end, exact=False, style=Style.MATH)
        self.blocks.append(Paragraph((span,), self._place, item=self._pop_item(), display=True))

    def _rule(self, _handle_token: Token) -> None:
        self.blocks.append(Rule(self._place))

    def _start_table(self, _handle_token: Token) -> None:
        self._rows, self._aligns = [], []

    def _start_row(self, _handle_token: Token) -> None:
        assert self._rows is not None
        self._rows.append([])
        self._column = 0

    def _start_head_cell(self, token: Token) -> None:
        self._aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))

    def _cell(self, token: Token) -> None:
        assert token.map
        assert self._rows is not None
        start, end = self._lines[token.map[0]], self._lines[token.map[0] + 1]
        line = self.source[start:end]
        text = token.content.replace("|", "\\|")
        offset = max(0, line.find(text, self._column))
        bar = line.find("|", offset + len(text))
        self._column = bar + 1 if bar >= 0 else len(line)
        bars = [index for index, sign in enumerate(token.content) if sign == "|"]
        runs = ((0, start + offset), *((index, start + offset + index + n + 1) for n, index in enumerate(bars)))
        self._rows[-1].append(self._spans(Content(token.content, runs, self.source)) if token.content else ())

    def _end_table(self, _handle_token: Token) -> None:
        assert self._rows is not None
        if self._lists and self._lists[-1].pending:
            self._add_empty_item()
        rows = tuple(tuple(row) for row in self._rows)
        self.blocks.append(TableBlock(rows, tuple(self._aligns), self._place))
        self._rows = None

    _HANDLERS: ClassVar[Mapping[str, Callable[["_BlockParser", Token], None]]] = {
        "blockquote_open": _open_quote,
        "blockquote_close": _close_quote,
        "bullet_list_open": _start_list,
        "ordered_list_open": _start_list,
        "bullet_list_close": _end_list,
        "ordered_list_close": _end_list,
        "list_item_open": _start_item,
        "list_item_close": _end_item,
        "heading_open": _start_heading,
        "heading_close": _end_heading,
        "inline": _inline,
        "fence": _code,
        "code_block": _code,
        "display_formula": _formula,
        "hr": _rule,
        "table_open": _start_table,
        "tr_open": _start_row,
        "th_open": _start_head_cell,
        "table_close": _end_table,
    }


def _language(info: str) -> str:
    words = info.strip().split()
    return words[0].strip("{}.").lower() if words else ""


def _typed_blocks(source: str, start: int, end: int) -> list[Block]:
    blocks: list[Block] = []
    for match in _TYPED_PARAGRAPH.finditer(source[start:end]):
        span = Span(match.group(), start + match.start(), start + match.end())
        blocks.append(Paragraph(tuple(with_links([span]))))
    return blocks
