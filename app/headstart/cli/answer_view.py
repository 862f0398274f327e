"""An answer on a terminal: words wrapped at its edge, Markdown and code in colour."""

import time
from itertools import pairwise
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.segment import Segment, SegmentLines
from rich.syntax import Syntax
from rich.text import Text

# HTML is shown as it is, and so are the addresses of pictures.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
_OPEN_LINES = 6  # of Markdown that is being written: a mark that closes later may change them
_MOST_DRAWN = 20  # times a second


class AnswerView:
    """Draws the last lines again as text comes; lines that later text cannot change stay as they are."""

    def __init__(self, console: Console, *, markdown: bool) -> None:
        """`markdown`: obey its marks; otherwise the text keeps its own styles."""
        self._console, self._markdown = console, markdown
        self._open, self._printed = Text(), 0  # what may still change, and how many lines of it are final already
        self._next = 0.0  # when it may be drawn again, in seconds
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._live.start()

    def write(self, text: Text) -> None:
        """More of the answer."""
        self._open.append_text(text)
        begun = time.perf_counter()
        if begun >= self._next:
            self._draw()
            now = time.perf_counter()
            self._next = now + max(1 / _MOST_DRAWN, 10 * (now - begun))  # the model needs the processor more

    def close(self) -> None:
        """The whole answer stands there, and the cursor below it."""
        self._live.update(Text())
        self._live.stop()
        self._print(self._lines(self._open)[self._printed :])

    def _draw(self) -> None:
        settled = self._settled()
        if settled:
            self._print(self._lines(self._open[:settled])[self._printed :])
            if self._markdown:
                self._print([[]])  # between two blocks
            self._open, self._printed = self._open[settled:], 0
        lines = self._lines(self._open)
        final = max(len(lines) - self._most_open(), self._printed)
        self._print(lines[self._printed : final])
        self._printed = final
        self._live.update(SegmentLines(lines[final:], new_lines=True), refresh=True)

    def _print(self, lines: list[list[Segment]]) -> None:
        if lines:
            self._console.print(SegmentLines(lines, new_lines=True), end="")

    def _lines(self, text: Text) -> list[list[Segment]]:
        if not self._markdown:
            return self._rendered(text[:-1] if text.plain.endswith("\n") else text) if text else []
        found: list[list[Segment]] = []
        for block in _blocks(text.plain):
            lines = self._rendered(_Document(block))
            filled = [number for number, line in enumerate(lines) if line] or [0]
            found += [[], *lines[filled[0] : filled[-1] + 1]]  # lists and tables bring blank lines of their own
        return found[1:]

    def _rendered(self, text: Text | Markdown) -> list[list[Segment]]:
        return [_stripped(line) for line in self._console.render_lines(text, pad=False)]

    def _settled(self) -> int:
        """Characters before the block, or the line, that is being written."""
        whole = self._open.plain[: self._open.plain.rfind("\n") + 1]
        return sum(map(len, _blocks(whole)[:-1])) if self._markdown else len(whole)

    def _most_open(self) -> int:
        """How many of the last lines may still change."""
        if not self._markdown:
            return 1
        is_table = self._open.plain.lstrip().startswith("|")  # the widths of its columns follow its longest cells
        return max(self._console.height - 2, 1) if is_table else _OPEN_LINES


def _blocks(text: str) -> list[str]:
    """Paragraphs, lists, code, ...; joined they are the text."""
    starts = [token.map[0] for token in _PARSER.parse(text) if token.map and token.level == 0 and token.nesting >= 0]
    lines = text.split("\n")
    offsets = [len("\n".join(lines[:start])) + 1 for start in starts[1:]]
    return [text[begin:end] for begin, end in pairwise([0, *offsets, len(text)])]


def _stripped(line: list[Segment]) -> list[Segment]:
    """Without blanks at its end, which nobody wants to copy."""
    while line and not line[-1].text.strip():
        line = line[:-1]
    return [*line[:-1], Segment(line[-1].text.rstrip(), line[-1].style)] if line else []


class _Code(CodeBlock):
    """Code that can be copied: no frame, no background."""

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True)


class _Document(Markdown):
    """Markdown with its line breaks, and with addresses that can be read."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = _PARSER.parse(text)
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "softbreak":  # models break lines where they mean it, as in verses
                    child.type = "hardbreak"
