"""The text of one message while it grows: thinking, answer and origins. Pure: knows nothing of Qt."""

from collections.abc import Iterable
from dataclasses import replace

from headstart.ui.chat import thinking
from headstart.ui.chat.attached_blocks import Attached, attached_blocks
from headstart.ui.chat.message import MessageContent, OriginRun
from headstart.ui.chat.origins import Origins
from headstart.ui.chat.thinking import Parts
from headstart.ui.markdown import markdown
from headstart.ui.markdown.blocks import Block
from headstart.ui.markdown.markdown import MarkdownStream

_MOST_SHOWN = 20_000  # characters of a file; nobody reads further here, and a whole book would take seconds to show


class MessageSource:
    """Keeps the blocks of a message equal to its text."""

    def __init__(self, content: MessageContent) -> None:
        self._content = content
        self._text = content.text
        self.origins = Origins(content.origins)
        self.parts = self._split(growing=False)
        self._around: tuple[int, int] | None = None  # file and offset that a person looks at
        self._stream: MarkdownStream | None = None
        start = self.parts.body
        self.blocks: list[Block] = (
            markdown.parse(self._text[start:], start)
            if content.role == "assistant"
            else markdown.parse_literal(self._text)
        )

    @property
    def text(self) -> str:
        """Everything so far, thinking included."""
        return self._text

    def content(self) -> MessageContent:
        """The message with the text and origins of now."""
        return replace(self._content, text=self._text, origins=self.origins.runs)

    def describe(self, content: MessageContent) -> None:
        """Take over everything of `content` but its text and origins."""
        self._content = content

    def thought(self) -> str:
        """The thinking section."""
        start, end = self.parts.thought or (0, 0)
        return self._text[start:end]

    def folded(self) -> tuple[str, list[Block]]:
        """What a person may unfold, and its blocks: the thinking section, or the files that go with a question."""
        if self.parts.thought:
            return self._text, markdown.parse(self.thought(), self.parts.thought[0])
        shown = self._shown_files()
        return shown.source, shown.blocks

    def look_at_file(self, file: int, start: int, end: int) -> bool:
        """Have `folded` show a place in a file; whether that makes it another text."""
        if self._shown_files().place(file, start, end):
            return False
        self._around = (file, start)
        return True

    def place_in_file(self, file: int, start: int, end: int) -> tuple[int, int] | None:
        """Where a range of a file's text is in the text of `folded`; None if that does not show it."""
        return None if self.parts.thought else self._shown_files().place(file, start, end)

    def _shown_files(self) -> Attached:
        return attached_blocks(self._content.attached, _MOST_SHOWN, self._around)

    def append(self, text: str, runs: Iterable[OriginRun]) -> int:
        """Add text; returns the index of the first block that changed."""
        self._text += text
        for run in runs:
            self.origins.add(run)
        before, self.parts = self.parts, self._split(growing=True)
        if self._stream is None or before.body != self.parts.body:
            self._stream = MarkdownStream(self.parts.body)
            self._stream.append(self._text[self.parts.body :])
            self.blocks = self._stream.blocks
            return 0
        return self._stream.append(text) if not self._inside_thought() else len(self.blocks)

    def finish(self) -> int:
        """The text is complete; returns the index of the first block that changed."""
        before, self.parts = self.parts, self._split(growing=False)
        if self._stream is None or before.body != self.parts.body:
            self._stream = MarkdownStream(self.parts.body)
            self._stream.append(self._text[self.parts.body :])
            self.blocks = self._stream.blocks
            self._stream.finish()
            return 0
        return self._stream.finish()

    def _inside_thought(self) -> bool:
        return self.parts.thought is not None and not self.parts.closed

    def _split(self, growing: bool) -> Parts:
        return thinking.split(self._text, growing) if self._content.role == "assistant" else Parts(None, 0)
