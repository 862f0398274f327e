"""Blocks of Markdown as HTML that fetches and runs nothing: pictures are links, and tags of the text are text."""

import html
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from itertools import groupby

from headstart.markdown.blocks import Block, Code, Nesting, Paragraph, Rule, Span, Style, TableBlock
from headstart.markdown.mathml import strip_delimiters, to_mathml

# For to_html's output; wide tables, code and formulas scroll in themselves.
STYLE = """
pre, table, .formula { overflow-x: auto; max-width: 100%; }
pre { padding: .7rem; border: 1px solid #8888; border-radius: .4rem; }
table { display: block; width: fit-content; border-collapse: collapse; }
td, th { border: 1px solid #8888; padding: .2rem .6rem; text-align: left; }
.center { text-align: center; }
.right { text-align: right; }
blockquote { margin: 1rem 0; padding-left: 1rem; border-left: 3px solid #8888; }
li > p { margin: .4rem 0; }
.bare { list-style: none; }
.formula { overflow-y: hidden; padding: .3rem 0; text-align: center; }
mtd[columnalign=left] { text-align: left; }
mtd[columnalign=right] { text-align: right; }
menclose[notation=box] { border: 1px solid; padding: .2em; }
"""
_ELEMENTS = {Style.BOLD: "strong", Style.ITALIC: "em", Style.STRIKE: "s", Style.CODE: "code"}
_UNSAFE = {"href", "style", "class", "id"}  # attributes of formulas that LaTeX can set to anything
_HEADING_SHIFT = 2  # a page has a title and the names of the speakers above


def to_html(blocks: Iterable[Block]) -> str:
    """Return blocks as HTML without a page around it."""
    writer = _HtmlWriter()
    for block in blocks:
        writer.add(block)
    writer.close(0)
    return "".join(writer.parts)


class _HtmlWriter:
    """A writer of blocks, which stand side by side, into quotes and lists, which lie in each other."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._open: list[tuple[str, int]] = []  # element and, of a list, its number

    def add(self, block: Block) -> None:
        """Write one block, and close and open the quotes and lists around it."""
        item = block.item if isinstance(block, Paragraph) else None
        around = _around(block.place)
        same = 0
        while same < min(len(around), len(self._open)) and (self._open[same][0] == "blockquote") == around[same]:
            same += 1
        last = max((at for at, is_quote in enumerate(around) if not is_quote), default=0)
        if item and same > last and self._open[last][1] == item.list:
            self.close(last + 1)
            self.parts.append("</li>")
            self.parts.append(_item_start(block))
        else:
            self.close(min(same, last) if item else same)
        for at in range(len(self._open), len(around)):
            self._begin(block, is_quote=around[at], begins_item=item is not None and at == last)
        self.parts.append(_element(block, is_item=item is not None))

    def close(self, depth: int) -> None:
        """Close all but the outermost `depth` quotes and lists."""
        while len(self._open) > depth:
            name, _ = self._open.pop()
            self.parts.append("</blockquote>" if name == "blockquote" else f"</li></{name}>")

    def _begin(self, block: Block, *, is_quote: bool, begins_item: bool) -> None:
        item = block.item if isinstance(block, Paragraph) and begins_item else None
        if is_quote:
            name, start = "blockquote", "<blockquote>"
        elif item and item.number is not None:
            name, start = "ol", "<ol>" if item.number == 1 else f'<ol start="{item.number}">'
        else:
            name, start = "ul", "<ul>"
        self._open.append((name, item.list if item else -1))
        self.parts.append(start if is_quote else start + _item_start(block))


def _around(place: Nesting) -> list[bool]:
    """Return for each quote and list around a block, outermost first, whether it is a quote."""
    outer = place.outer if place.quotes else place.lists
    return [False] * outer + [True] * place.quotes + [False] * (place.lists - outer)


def _item_start(block: Block) -> str:
    """Return the tag of a list item, without a bullet if it has a check box or the block begins no item."""
    item = block.item if isinstance(block, Paragraph) else None
    if item is None:
        return '<li class="bare">'
    return "<li>" if item.checked is None else f'<li class="bare">{"☑" if item.checked else "☐"} '


def _element(block: Block, *, is_item: bool) -> str:
    match block:
        case Paragraph():
            text = _spans(block.spans, display=block.display)
            if block.display:
                return f'<div class="formula">{text}</div>'
            if block.heading:
                level = min(block.heading + _HEADING_SHIFT, 6)
                return f"<h{level}>{text}</h{level}>"
            return text if is_item else f"<p>{text}</p>"
        case Code():
            language = f' class="language-{html.escape(block.language)}"' if block.language else ""
            return f"<pre><code{language}>{html.escape(block.text)}\n</code></pre>"
        case TableBlock():
            head, *rows = block.rows
            body = "".join(_row(row, block.aligns, "td") for row in rows)
            return f"<table><thead>{_row(head, block.aligns, 'th')}</thead><tbody>{body}</tbody></table>"
        case Rule():
            return "<hr>"


def _row(cells: Iterable[Iterable[Span]], aligns: Iterable[str], element: str) -> str:
    shapes = (f' class="{align}"' if align in ("center", "right") else "" for align in aligns)
    texts = (f"<{element}{shape}>{_spans(cell)}</{element}>" for cell, shape in zip(cells, shapes, strict=True))
    return f"<tr>{''.join(texts)}</tr>"


def _spans(spans: Iterable[Span], *, display: bool = False) -> str:
    parts = []
    for (address, title), linked in groupby(spans, key=lambda span: (span.address, span.title)):
        text = "".join(_span(span, display=display) for span in linked)
        if address:
            hint = f' title="{html.escape(title)}"' if title else ""
            text = f'<a href="{html.escape(address)}"{hint}>{text}</a>'
        parts.append(text)
    return "".join(parts)


def _span(span: Span, *, display: bool) -> str:
    text = html.escape(span.text, quote=False).replace("\n", "<br>")
    if span.style & Style.MATH:
        text = _formula(span.text, display=display) or f"<code>{text}</code>"
    for style, element in _ELEMENTS.items():
        if span.style & style:
            text = f"<{element}>{text}</{element}>"
    return text


def _formula(written: str, *, display: bool) -> str:
    """Return a formula (with delimiters) as MathML; empty if it cannot be typeset."""
    element = to_mathml(strip_delimiters(written), display=display)
    if element is None:
        return ""
    for node in element.iter():
        node.attrib = {name: value for name, value in node.attrib.items() if name not in _UNSAFE}
    return ET.tostring(element, encoding="unicode", short_empty_elements=False)
