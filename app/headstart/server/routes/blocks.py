"""Answers as blocks, one after another, for the APIs that have them."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from headstart.engine.engine import Finish, FinishReason, Scored
from headstart.server.routes.replies import EVENTS, AnswerChunk
from headstart.tools.calls import CallPart, CallReader


@dataclass
class Block:
    """Thinking, a text or a call in an answer."""

    index: int
    id: str = ""  # of a call
    name: str = ""  # of the function, if this is a call
    text: str = ""  # of a call: its arguments so far
    scored: tuple[Scored, ...] = ()
    is_whole: bool = False  # it was not cut off
    is_thinking: bool = False


class BlockFormatter:
    """Formatter of an answer as blocks, one after another: the base of Anthropic's format and of OpenAI's newer one."""

    media_type = EVENTS
    last = b""

    def __init__(self, reader: CallReader | None) -> None:
        """`reader` finds calls; None if there cannot be any."""
        self.blocks: list[Block] = []
        self._reader = reader
        self._has_started = False
        self._is_block_open = False  # the last one
        self._scored: tuple[Scored, ...] = ()  # tokens of text that the reader holds back

    def reply(self, end: Finish) -> object:
        """Return the whole reply, made of `blocks`."""
        raise NotImplementedError

    def first_events(self) -> Iterable[object]:
        raise NotImplementedError

    def ping(self) -> Iterable[object]:
        """Return an event that adds nothing."""
        raise NotImplementedError

    def start_block(self, block: Block) -> Iterable[object]:
        """Return the events of a block that begins."""
        raise NotImplementedError

    def extend_block(self, block: Block, chunk: AnswerChunk) -> Iterable[object]:
        """Return the events of text that was added at the end of a block."""
        raise NotImplementedError

    def end_block(self, block: Block) -> Iterable[object]:
        """Return the events of a block that is whole, or was cut off."""
        raise NotImplementedError

    def end_reply(self, end: Finish) -> Iterable[object]:
        """Return the events after the last block."""
        raise NotImplementedError

    def complete(self, chunk: AnswerChunk, end: Finish) -> object:
        for _ in (*self.extend(chunk), *self.finish(end)):
            pass
        return self.reply(end)

    def start(self) -> Iterable[object]:
        if not self._has_started:
            self._has_started = True
            yield from self.first_events()

    def wait(self) -> Iterable[object]:
        return [*self.start()] or self.ping()

    def extend(self, chunk: AnswerChunk) -> Iterable[object]:
        yield from self._write(chunk.thinking, is_thinking=True)
        self._scored += chunk.scored or ()
        yield from self._add(*(self._reader.push(chunk.text) if self._reader else (chunk.text, [])))

    def _add(self, text: str, parts: Iterable[CallPart]) -> Iterable[object]:
        yield from self._write(text)
        for part in parts:
            if part.name:
                self._scored = ()
                yield from self._open_block(Block(len(self.blocks), part.id, part.name))
            else:
                yield from self._extend(part.arguments)

    def finish(self, end: Finish) -> Iterable[object]:
        yield from self._add(*(self._reader.finish() if self._reader else ("", [])))
        is_whole = end.reason is FinishReason.STOP
        if self.blocks and self.blocks[-1].name and self._reader:
            is_whole = not self._reader.is_open
        yield from self._close_block(is_whole=is_whole)
        yield from self.end_reply(end)

    def encode(self, event: object) -> bytes:
        """Return an event with its name as bytes of the stream."""
        tag = event.__struct_config__.tag if isinstance(event, Struct) else "error"
        return f"event: {tag}\ndata: ".encode() + msgspec.json.encode(event) + b"\n\n"

    @property
    def has_called(self) -> bool:
        return any(block.name and block.is_whole for block in self.blocks)

    def is_complete(self, end: Finish) -> bool:
        """Return whether the model ended the answer, and not inside a call."""
        return end.reason is FinishReason.STOP and all(block.is_whole for block in self.blocks if block.name)

    def _write(self, text: str, *, is_thinking: bool = False) -> Iterable[object]:
        if not text:
            return
        if not self._is_block_open or self.blocks[-1].name or self.blocks[-1].is_thinking != is_thinking:
            yield from self._open_block(Block(len(self.blocks), is_thinking=is_thinking))
        yield from self._extend(text)

    def _open_block(self, block: Block) -> Iterable[object]:
        yield from self._close_block(is_whole=True)
        self.blocks.append(block)
        self._is_block_open = True
        yield from self.start_block(block)

    def _extend(self, text: str) -> Iterable[object]:
        block, chunk = self.blocks[-1], AnswerChunk(text, scored=self._scored)
        block.text += text
        block.scored += self._scored
        self._scored = ()
        yield from self.extend_block(block, chunk)

    def _close_block(self, *, is_whole: bool) -> Iterable[object]:
        if self._is_block_open:
            self._is_block_open = False
            self.blocks[-1].is_whole = is_whole
            yield from self.end_block(self.blocks[-1])
