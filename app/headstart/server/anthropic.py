"""Anthropic's Messages API: its requests, as far as they can be answered here, and its replies."""

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from headstart.engine.engine import Call, FinishReason, Message, Request, Stats
from headstart.server.replies import Block, BlockForm, Said
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
from headstart.tools.calls import CallReader


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


TurnBlock = TextBlock | ToolUse | ToolResult | Thinking


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation."""

    role: Literal["user", "assistant", "system"]
    content: str | list[TurnBlock]


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
    max_tokens: Annotated[int, Meta(ge=0, le=2**31 - 1)]
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
    shared = AnswerRequest(model=asked.model, stop=asked.stop_sequences, **values)
    called = None if choice.type == "none" else tools
    return order_of(shared, defaults, system + turns, asked.max_tokens, called)


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


class MessagesForm(BlockForm):
    """Replies to one request: a message with blocks of text and calls, or events that build it."""

    def __init__(self, model: str, reader: CallReader | None) -> None:
        """`reader` finds the calls, where there may be some."""
        super().__init__(reader)
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

    def reply(self, ended: FinishReason, stats: Stats) -> dict[str, Any]:
        """The whole message."""
        content = [
            {"type": "tool_use", "id": block.id, "name": block.name, "input": _object(block.text)}
            if block.name
            else {"type": "text", "text": block.text}
            for block in self.blocks or [Block(0)]
        ]
        return self._message | {"content": content, "stop_reason": self._reason(ended), "usage": _usage(stats)}

    def begun(self) -> Iterable[object]:
        """The first event."""
        yield {"type": "message_start", "message": self._message}

    def opened(self, block: Block) -> Iterable[dict[str, Any]]:
        """A block begins."""
        use = {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
        content = use if block.name else {"type": "text", "text": ""}
        yield {"type": "content_block_start", "index": block.index, "content_block": content}

    def grown(self, block: Block, said: Said) -> Iterable[dict[str, Any]]:
        """More of it."""
        json_delta = {"type": "input_json_delta", "partial_json": said.text}
        delta = json_delta if block.name else {"type": "text_delta", "text": said.text}
        yield {"type": "content_block_delta", "index": block.index, "delta": delta}

    def closed(self, block: Block) -> Iterable[dict[str, Any]]:
        """It ends."""
        yield {"type": "content_block_stop", "index": block.index}

    def ending(self, ended: FinishReason, stats: Stats) -> Iterable[dict[str, Any]]:
        """The message ends."""
        delta = {"stop_reason": self._reason(ended), "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": _usage(stats)}
        yield {"type": "message_stop"}

    def _reason(self, ended: FinishReason) -> str:
        if ended is not FinishReason.STOP:
            return "max_tokens"
        return "tool_use" if self.has_called else "end_turn"


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
