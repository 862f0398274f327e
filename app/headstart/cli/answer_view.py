"""An answer on a terminal: wrapped words, with Markdown and code in colour."""

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

# HTML and the addresses of pictures are shown as text.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
_OPEN_LINES = 6  # last lines of unfinished Markdown; a mark that closes later may change them
_MAX_DRAWS_PER_SECOND = 20


class AnswerView:
    """A view that draws the last lines again as text comes; lines that later text cannot change stay as they are."""

    def __init__(self, console: Console, *, markdown: bool) -> None:
        """`markdown` renders the text as Markdown; otherwise the text keeps its own styles."""
        self._console, self._markdown = console, markdown
        self._pending, self._num_printed = Text(), 0  # may still change; its first lines may be printed
        self._next_draw = 0.0  # time at which it may be drawn again, in seconds
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._live.start()

    def write(self, text: Text) -> None:
        self._pending.append_text(text)
        started = time.perf_counter()
        if started >= self._next_draw:
            self._draw()
            now = time.perf_counter()
            # Drawing takes at most a tenth of the time, because the model needs the processor.
            self._next_draw = now + max(1 / _MAX_DRAWS_PER_SECOND, 10 * (now - started))

    def close(self) -> None:
        """Print the rest of the answer, and leave the cursor below it."""
        self._live.update(Text())
        self._live.stop()
        self._print(self._lines(self._pending)[self._num_printed :])

    def _draw(self) -> None:
        final_length = self._final_length()
        if final_length:
            self._print(self._lines(self._pending[:final_length])[self._num_printed :])
            if self._markdown:
                self._print([[]])  # between two blocks
            self._pending, self._num_printed = self._pending[final_length:], 0
        lines = self._lines(self._pending)
        final = max(len(lines) - self._max_open_lines(), self._num_printed)
        self._print(lines[self._num_printed : final])
        self._num_printed = final
        self._live.update(SegmentLines(lines[final:], new_lines=True), refresh=True)

    def _print(self, lines: list[list[Segment]]) -> None:
        if lines:
            self._console.print(SegmentLines(lines, new_lines=True), end="")

    def _lines(self, text: Text) -> list[list[Segment]]:
        if not self._markdown:
            return self._render(text[:-1] if text.plain.endswith("\n") else text) if text else []
        lines: list[list[Segment]] = []
        for block in _blocks(text.plain):
            block_lines = self._render(_Document(block))
            filled = [number for number, line in enumerate(block_lines) if line] or [0]
            lines += [[], *block_lines[filled[0] : filled[-1] + 1]]  # lists and tables bring their own blank lines
        return lines[1:]

    def _render(self, text: Text | Markdown) -> list[list[Segment]]:
        return [_strip_end(line) for line in self._console.render_lines(text, pad=False)]

    def _final_length(self) -> int:
        """Return the number of characters before the block or the line that is being written."""
        whole = self._pending.plain[: self._pending.plain.rfind("\n") + 1]
        return sum(map(len, _blocks(whole)[:-1])) if self._markdown else len(whole)

    def _max_open_lines(self) -> int:
        """Return the maximum number of last lines that may still change."""
        if not self._markdown:
            return 1
        is_table = self._pending.plain.lstrip().startswith("|")  # the widths of its columns follow its longest cells
        return max(self._console.height - 2, 1) if is_table else _OPEN_LINES


def _blocks(text: str) -> list[str]:
    """Return the blocks of a Markdown text: paragraphs, lists, code and so on. Joined, they are the text."""
    starts = [token.map[0] for token in _PARSER.parse(text) if token.map and token.level == 0 and token.nesting >= 0]
    lines = text.split("\n")
    offsets = [len("\n".join(lines[:start])) + 1 for start in starts[1:]]
    return [text[begin:end] for begin, end in pairwise([0, *offsets, len(text)])]


def _strip_end(line: list[Segment]) -> list[Segment]:
    """Delete spaces at the end of a line, which would be copied with the text."""
    while line and not line[-1].text.strip():
        line = line[:-1]
    return [*line[:-1], Segment(line[-1].text.rstrip(), line[-1].style)] if line else []


class _Code(CodeBlock):
    """Code without a frame or a background, so that it can be copied."""

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True)


class _Document(Markdown):
    """Markdown that keeps line breaks and shows the addresses of links."""

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
                if child.type == "softbreak":  # models break lines on purpose, as in verses
                    child.type = "hardbreak"
