"""Anthropic's Messages API: requests, replies and events."""

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from headstart.engine.engine import Call, Finish, FinishReason, Message, Request, Stats
from headstart.server.replies import AnswerChunk, Block, BlockFormatter
from headstart.server.requests import (
    UNSUPPORTED_IN_MESSAGES,
    AnswerRequest,
    Defaults,
    FunctionTool,
    Name,
    Object,
    TextPart,
    text_of,
    to_request,
    tool_of,
    tools_of,
    with_unsupported,
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
    """Earlier thoughts, which are ignored."""

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
    """The choice between calling no tool, any tool and one tool."""

    type: Literal["auto", "any", "tool", "none"]
    name: Name | None = None
    disable_parallel_tool_use: bool | None = None


@dataclass(frozen=True)
@with_unsupported(UNSUPPORTED_IN_MESSAGES)
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


def messages_to_request(body: MessagesRequest, defaults: Defaults) -> Request:
    """Translate a request. Raises RefusedError."""
    system = (Message("system", text_of(body.system)),) if body.system else ()
    turns = tuple(message for turn in body.messages for message in _messages(turn))
    choice = body.tool_choice or ToolChoice("auto")
    offered = tuple(tool_of(FunctionTool(tool.name, tool.description, tool.input_schema)) for tool in body.tools or ())
    tools = tools_of(
        offered,
        required=choice.type in {"any", "tool"},
        only=choice.name or "" if choice.type == "tool" else "",
        parallel=choice.disable_parallel_tool_use is False,
    )
    values: dict[str, Any] = {"temperature": body.temperature, "top_p": body.top_p, "top_k": body.top_k}
    shared = AnswerRequest(model=body.model, stop=body.stop_sequences, **values)
    return to_request(shared, defaults, system + turns, body.max_tokens, None if choice.type == "none" else tools)


def _messages(turn: Turn) -> Iterable[Message]:
    """Translate a turn. Results of calls come before the other blocks of a user."""
    blocks = [TextBlock(turn.content)] if isinstance(turn.content, str) else turn.content
    for block in blocks:
        if isinstance(block, ToolResult):
            yield Message("tool", text_of(block.content or ""))
    text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    calls = tuple(Call(block.name, json.dumps(block.input)) for block in blocks if isinstance(block, ToolUse))
    if text or calls or not any(isinstance(block, ToolResult) for block in blocks):
        yield Message(turn.role, text, calls)


class MessagesFormatter(BlockFormatter):
    """Formatter of an answer as a message with blocks of text and calls, or as the events that build it."""

    def __init__(self, model: str, reader: CallReader | None) -> None:
        """`reader` finds calls; None if there cannot be any."""
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

    def reply(self, end: Finish) -> dict[str, Any]:
        content = [
            {"type": "tool_use", "id": block.id, "name": block.name, "input": _arguments(block.text)}
            if block.name
            else {"type": "text", "text": block.text}
            for block in self.blocks or [Block(0)]
        ]
        return self._message | {"content": content, **self._stop_fields(end), "usage": _usage(end.stats)}

    def start(self) -> Iterable[object]:
        yield {"type": "message_start", "message": self._message}

    def start_block(self, block: Block) -> Iterable[dict[str, Any]]:
        use = {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
        content = use if block.name else {"type": "text", "text": ""}
        yield {"type": "content_block_start", "index": block.index, "content_block": content}

    def extend_block(self, block: Block, chunk: AnswerChunk) -> Iterable[dict[str, Any]]:
        json_delta = {"type": "input_json_delta", "partial_json": chunk.text}
        delta = json_delta if block.name else {"type": "text_delta", "text": chunk.text}
        yield {"type": "content_block_delta", "index": block.index, "delta": delta}

    def end_block(self, block: Block) -> Iterable[dict[str, Any]]:
        yield {"type": "content_block_stop", "index": block.index}

    def end_reply(self, end: Finish) -> Iterable[dict[str, Any]]:
        yield {"type": "message_delta", "delta": self._stop_fields(end), "usage": _usage(end.stats)}
        yield {"type": "message_stop"}

    def _stop_fields(self, end: Finish) -> dict[str, str | None]:
        if end.reason is not FinishReason.STOP:
            return {"stop_reason": "max_tokens", "stop_sequence": None}
        if self.has_called or not end.stop_text:
            return {"stop_reason": "tool_use" if self.has_called else "end_turn", "stop_sequence": None}
        return {"stop_reason": "stop_sequence", "stop_sequence": end.stop_text}


def _arguments(text: str) -> Any:
    """Return the arguments of a call; an empty object if they were cut off."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}


def _usage(stats: Stats) -> dict[str, int]:
    return {
        "input_tokens": stats.prompt_tokens - stats.reused_tokens,
        "cache_read_input_tokens": stats.reused_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": stats.output_tokens,
    }
