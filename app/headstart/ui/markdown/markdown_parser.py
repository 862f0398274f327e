"""The parser of Markdown: CommonMark with tables, struck text and formulas on lines of their own. Knows no blocks."""

import functools

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from headstart.ui.markdown.markdown_inline import OffsetInline

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
