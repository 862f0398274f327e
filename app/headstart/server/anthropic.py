"""Anthropic's Messages API: its requests, as far as they can be answered here, and its replies."""

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from headstart.engine.engine import Call, FinishReason, Message, Request, Stats
from headstart.server.calls import CallReader
from headstart.server.refusal import FaultBody
from headstart.server.replies import Said, read_whole
from headstart.server.requests import (
    AnswerRequest,
    Defaults,
    FunctionTool,
    Name,
    NoObject,
    Object,
    TextPart,
    order_of,
    text_of,
    tool_of,
    tools_of,
)


class TextBlock(Struct, frozen=True, tag_field="type", tag="text"):
    """Some text."""

    text: str


class ToolUse(Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A call that the assistant made."""

    id: str
    name: Name
    input: dict[str, Any]


class ToolResult(Struct, frozen=True, tag_field="type", tag="tool_result"):
    """The result of a call."""

    tool_use_id: str
    content: str | list[TextPart] | None = None
    is_error: bool | None = None


class Thinking(Struct, frozen=True, tag_field="type", tag="thinking"):
    """Earlier thoughts, which are left out."""

    thinking: str = ""


Block = TextBlock | ToolUse | ToolResult | Thinking


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation."""

    role: Literal["user", "assistant", "system"]
    content: str | list[Block]


@dataclass(frozen=True)
class Tool:
    """A tool that an answer may call."""

    name: Name
    input_schema: Object
    description: str | None = None
    type: Literal["custom"] | None = None


@dataclass(frozen=True)
class ToolChoice:
    """Whether an answer calls, and what."""

    type: Literal["auto", "any", "tool", "none"]
    name: Name | None = None
    disable_parallel_tool_use: bool | None = None


@dataclass(frozen=True)
class MessagesRequest:
    """Body of POST /v1/messages."""

    model: str
    max_tokens: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    messages: Annotated[list[Turn], Meta(min_length=1)]
    system: str | list[TextPart] | None = None
    stream: bool | None = None
    stop_sequences: list[Annotated[str, Meta(min_length=1)]] | None = None
    temperature: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    output_format: NoObject | None = None
    output_config: NoObject | None = None


def messages_order(asked: MessagesRequest, defaults: Defaults) -> Request:
    """The engine's request. Raises RefusedError."""
    system = (Message("system", text_of(asked.system)),) if asked.system else ()
    turns = tuple(message for turn in asked.messages for message in _messages(turn))
    choice = asked.tool_choice or ToolChoice("auto")
    offered = tuple(tool_of(FunctionTool(each.name, each.description, each.input_schema)) for each in asked.tools or ())
    tools = tools_of(
        offered,
        required=choice.type in {"any", "tool"},
        only=choice.name or "" if choice.type == "tool" else "",
        parallel=choice.disable_parallel_tool_use is False,
    )
    values: dict[str, Any] = {"temperature": asked.temperature, "top_p": asked.top_p, "top_k": asked.top_k}
    order = order_of(
        AnswerRequest(model=asked.model, stop=asked.stop_sequences, **values),
        defaults,
        system + turns,
        asked.max_tokens,
    )
    return replace(order, tools=None if choice.type == "none" else tools)


def _messages(turn: Turn) -> Iterable[Message]:
    """Results come before what else a user says."""
    blocks = [TextBlock(turn.content)] if isinstance(turn.content, str) else turn.content
    for block in blocks:
        if isinstance(block, ToolResult):
            yield Message("tool", text_of(block.content or ""))
    text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    calls = tuple(Call(block.name, json.dumps(block.input)) for block in blocks if isinstance(block, ToolUse))
    if text or calls or not any(isinstance(block, ToolResult) for block in blocks):
        yield Message(turn.role, text, calls)


class MessagesForm:
    """Replies to one request: a message with blocks of text and calls, or events that build it."""

    last = b""

    def __init__(self, model: str, reader: CallReader | None) -> None:
        """`reader` finds the calls, where there may be some."""
        self._reader = reader
        self._message = {
            "id": f"msg_{secrets.token_hex(12)}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": list[Any](),
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        self._index = -1  # of the block that is open
        self._open = ""  # its kind

    def whole(self, said: Said, ended: FinishReason, stats: Stats) -> object:
        """The whole answer."""
        text, calls = read_whole(said.text, self._reader)
        blocks: list[Any] = [{"type": "text", "text": text}] if text or not calls else []
        blocks += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call.arguments)} for call in calls
        ]
        return self._message | {"content": blocks, "stop_reason": self._reason(ended), "usage": _usage(stats)}

    def begun(self) -> Iterable[object]:
        """The first event."""
        yield {"type": "message_start", "message": self._message}

    def more(self, said: Said) -> Iterable[object]:
        """The events of a part of the answer."""
        text, parts = self._reader.push(said.text) if self._reader else (said.text, [])
        if text:
            yield from self._text(text)
        for part in parts:
            if part.name:
                block = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
                yield from self._begin("tool_use", block)
            else:
                yield self._delta({"type": "input_json_delta", "partial_json": part.arguments})

    def end(self, ended: FinishReason, stats: Stats) -> Iterable[object]:
        """The last events."""
        rest = self._reader.flush() if self._reader else ""
        if rest:
            yield from self._text(rest)
        yield from self._close()
        delta = {"stop_reason": self._reason(ended), "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": _usage(stats)}
        yield {"type": "message_stop"}

    def sent(self, event: object) -> bytes:
        """An event with its name."""
        name = "error" if isinstance(event, FaultBody) else event["type"] if isinstance(event, dict) else ""
        return f"event: {name}\n".encode() + b"data: " + msgspec.json.encode(event) + b"\n\n"

    def _text(self, text: str) -> Iterable[object]:
        if self._open != "text":
            yield from self._begin("text", {"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": text})

    def _begin(self, kind: str, block: object) -> Iterable[object]:
        yield from self._close()
        self._index, self._open = self._index + 1, kind
        yield {"type": "content_block_start", "index": self._index, "content_block": block}

    def _delta(self, delta: object) -> object:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _close(self) -> Iterable[object]:
        if self._open:
            self._open = ""
            yield {"type": "content_block_stop", "index": self._index}

    def _reason(self, ended: FinishReason) -> str:
        if ended is not FinishReason.STOP:
            return "max_tokens"
        return "tool_use" if self._reader and self._reader.calls else "end_turn"


def _object(arguments: str) -> Any:
    """The arguments of a call; what was cut off is none."""
    try:
        return msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return {}


def _usage(stats: Stats) -> dict[str, int]:
    return {
        "input_tokens": stats.prompt_tokens - stats.reused_tokens,
        "cache_read_input_tokens": stats.reused_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": stats.output_tokens,
    }
