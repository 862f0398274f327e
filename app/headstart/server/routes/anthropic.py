"""Anthropic's Messages API: requests, replies and events."""

import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, structs

from headstart.engine.engine import Call, ConversationRequest, Finish, Message, Stats
from headstart.server.errors import RefusedError, invalid
from headstart.server.requests import fields
from headstart.server.requests.bodies import (
    AnswerRequest,
    ContentPart,
    Effort,
    FunctionTool,
    JsonObject,
    Name,
    Object,
    Parameters,
)
from headstart.server.requests.content import note_of, required, texts_of, unsupported_part
from headstart.server.requests.fields import Unsupported
from headstart.server.requests.history import History
from headstart.server.requests.tools import tool_of, tools_of
from headstart.server.requests.translation import USUAL_EFFORT, Defaults, conversation_request, with_effort
from headstart.server.routes.blocks import Block, BlockFormatter
from headstart.server.routes.replies import AnswerChunk
from headstart.tools.calls import CallReader, whole_arguments

# The ends of the types of calls and results, also of those of tools that Anthropic's server runs, and of thoughts.
_CALL, _RESULT, _THOUGHTS = "tool_use", "tool_result", "thinking"
_READ = {"text", "document", "search_result", "image", "audio", "video", "file"}  # or refused


@dataclass(frozen=True)
class DocumentSource:
    """The content of a document: text, or blocks."""

    type: str
    data: str | None = None
    content: "str | list[TurnBlock] | None" = None


@dataclass(frozen=True)
class TurnBlock:
    """A block of a turn or of a result: a text, a call, the result of a call, a document or a search result.

    Images and other documents are refused; in results and earlier answers, a note takes their place. Blocks of unknown
    types are ignored.
    """

    type: str
    text: str | None = None
    thinking: str | None = None
    id: str | None = None  # of a call
    tool_use_id: str | None = None  # of the call whose result this is
    name: Name | None = None
    input: JsonObject | None = None
    content: "str | list[TurnBlock] | JsonObject | None" = None
    source: str | DocumentSource | None = None
    title: str | None = None
    context: str | None = None
    url: str | None = None


@dataclass(frozen=True)
class AnthropicTurn:
    """One turn of a conversation."""

    role: Literal["user", "assistant", "system"]
    content: str | list[TurnBlock]


@dataclass(frozen=True)
class AnthropicTool:
    """A tool that an answer may call. Tools of other types than `custom` are left out: nobody can call them here."""

    name: Name | None = None
    input_schema: Parameters | None = None
    description: str | None = None
    type: str | None = None


@dataclass(frozen=True)
class ToolChoice:
    """The choice between calling no tool, any tool and one tool."""

    type: Literal["auto", "any", "tool", "none"]
    name: Name | None = None
    disable_parallel_tool_use: bool | None = None


@dataclass(frozen=True)
class OutputFormat:
    """A JSON schema that the answer follows."""

    schema: Object
    type: Literal["json_schema"] = "json_schema"


@dataclass(frozen=True)
class OutputConfig:
    """The form of the answer, and the effort of thinking."""

    format: OutputFormat | None = None
    effort: Effort | None = None


@dataclass(frozen=True)
class ThinkingConfig:
    """The choice to think: as the model does (`adaptive`, and `enabled` with a budget in tokens), or not."""

    type: Literal["enabled", "adaptive", "disabled"]
    budget_tokens: Annotated[int, Meta(ge=0)] | None = None


@dataclass(frozen=True, kw_only=True)
class MessagesRequest(AnswerRequest):
    """Body of POST /v1/messages. Fields that Anthropic's API lacks are additions."""

    unsupported: ClassVar[Unsupported] = fields.ANSWERS | fields.MESSAGES

    messages: Annotated[list[AnthropicTurn], Meta(min_length=1)]
    system: str | list[ContentPart] | None = None
    tools: list[AnthropicTool] | None = None
    tool_choice: ToolChoice | None = None
    thinking: ThinkingConfig | None = None
    mcp_servers: Annotated[list[Any], Meta(description="Left out: this server calls no tools itself.")] | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormat | None = None


@dataclass(frozen=True, kw_only=True)
class CountTokensRequest(MessagesRequest):
    """Body of POST /v1/messages/count_tokens."""


@dataclass(frozen=True)
class CountedTokens:
    """Reply to POST /v1/messages/count_tokens."""

    input_tokens: int


def messages_to_request(body: MessagesRequest, defaults: Defaults) -> ConversationRequest:
    """Translate a request. Raises RefusedError."""
    system = (Message.of_parts("system", texts_of(body.system, "system")),) if body.system else ()
    history = History(system)
    for place, turn in _task_last(body.messages):
        _add_turn(history, turn, f"messages[{place}].content")
    choice = body.tool_choice or ToolChoice("auto")
    others = [tool for tool in body.tools or () if not _is_function(tool)]
    tools = tools_of(
        tuple(tool_of(_function(tool, place)) for place, tool in enumerate(body.tools or ()) if _is_function(tool)),
        required=choice.type in {"any", "tool"},
        only=required(choice.name, "tool_choice", "name") if choice.type == "tool" else "",
        parallel=choice.disable_parallel_tool_use is False,
        left_out=[name for tool in others for name in (tool.type, tool.name) if name],
    )
    config = body.output_config or OutputConfig()
    schemas = {
        "output_config": config.format.schema if config.format else None,
        "output_format": body.output_format.schema if body.output_format else None,
    }
    tools = None if choice.type == "none" else tools
    request = conversation_request(body, defaults, history.messages(), tools, schemas)
    if body.thinking is None:
        return with_effort(request, config.effort)
    if body.thinking.type == "disabled":
        return structs.replace(request, thinking=False)
    # It allows to think, and asks no model that cannot.
    asked = structs.replace(request, thinking_budget=body.thinking.budget_tokens)
    return with_effort(asked, config.effort or (USUAL_EFFORT if body.thinking.type == "enabled" else None))


def _task_last(turns: Sequence[AnthropicTurn]) -> list[tuple[int, AnthropicTurn]]:
    """Return turns with their places. Instructions that follow a turn of the user come before it.

    Claude Code sends what it may do behind what you asked, and a small model answers what comes last. Results of calls
    stay behind their calls.
    """
    placed = list(enumerate(turns))
    for at in range(1, len(placed)):
        before = placed[at - 1][1]
        if placed[at][1].role == "system" and before.role == "user" and not _has_results(before):
            placed[at - 1], placed[at] = placed[at], placed[at - 1]
    return placed


def _has_results(turn: AnthropicTurn) -> bool:
    return not isinstance(turn.content, str) and any(block.type.endswith(_RESULT) for block in turn.content)


def left_out_of_messages(body: MessagesRequest) -> list[str]:
    """Return the types of the tools and blocks of a request that are not supported."""
    blocks = [block for turn in body.messages if not isinstance(turn.content, str) for block in turn.content]
    return [
        *(tool.type or "" for tool in body.tools or () if not _is_function(tool)),
        *(["mcp_servers"] if body.mcp_servers else []),
        *(
            each.type
            for each in blocks
            if each.type not in _READ and not each.type.endswith((_CALL, _RESULT, _THOUGHTS))
        ),
    ]


def _is_function(tool: AnthropicTool) -> bool:
    return tool.type in {None, "custom"}


def _function(tool: AnthropicTool, place: int) -> FunctionTool:
    where = f"tools[{place}]"
    return FunctionTool(required(tool.name, where, "name"), tool.description, tool.input_schema)


def _add_turn(history: History, turn: AnthropicTurn, place: str) -> None:
    """Translate a turn. Results of calls come before the other blocks of a user. Raises RefusedError.

    An answer of Anthropic's own server has the results of its tools in the middle, between two messages.
    """
    blocks = [TurnBlock("text", turn.content)] if isinstance(turn.content, str) else turn.content
    is_answer, has_results = turn.role == "assistant", False
    texts, thinking, calls, ids = list[str](), "", tuple[Call, ...](), list[str | None]()
    for number, block in enumerate(blocks):
        where = f"{place}[{number}]"
        if block.type.endswith(_RESULT):
            if is_answer and (any(texts) or calls):
                history.add(Message.of_parts(turn.role, texts, calls, thinking), ids)
                texts, thinking, calls, ids = [], "", (), []
            history.add_result(_noted_text(block.content), where, block.tool_use_id, "tool_use_id")
            has_results = True
        elif block.type.endswith(_CALL):
            arguments = whole_arguments(json.dumps(required(block.input, where, "input")))
            calls += (Call(required(block.name, where, "name"), arguments),)
            ids.append(block.id)
        elif block.type == "thinking":
            thinking += block.thinking or ""
        else:
            texts.append(_noted_text([block]) if is_answer else _text_of_block(block, where))
    if any(texts) or calls or thinking or not has_results:
        history.add(Message.of_parts(turn.role, texts, calls, thinking), ids)


def _text_of_block(block: TurnBlock, place: str) -> str:
    """Return the text of a block that is neither a call nor a result. Raises RefusedError for other media."""
    source = block.source
    match block.type:
        case "text":
            return required(block.text, place, "text")
        case "search_result" | "web_search_result":
            name = source if isinstance(source, str) else block.url
            return _titled(block.title, name, _noted_text(block.content))
        case "document" if isinstance(source, DocumentSource) and source.type == "text":
            return _titled(block.title, block.context, required(source.data, f"{place}.source", "data"))
        case "document" if isinstance(source, DocumentSource) and source.type == "content":
            return _titled(block.title, block.context, _noted_text(source.content))
        case "document":
            sentence = f"Only documents of plain text are read here: leave out the file in `{place}`, or send its text."
            raise invalid(sentence, "messages", "unsupported_value")
        case "image" | "audio" | "video" | "file":
            raise unsupported_part(block.type, place)
        case _:
            return ""


def _titled(*parts: str | None) -> str:
    return "\n".join(filter(None, parts)) + "\n\n"


def _noted_text(content: str | list[TurnBlock] | JsonObject | None) -> str:
    """Return the text of a result or of an earlier answer, with notes in place of images and files."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    texts = list[str]()
    for block in content or ():
        try:
            texts.append(_text_of_block(block, ""))
        except RefusedError:
            texts.append(f"{note_of('file' if block.type == 'document' else block.type)}\n")
    return "".join(texts)


class AnswerTextBlock(Struct, frozen=True, tag_field="type", tag="text"):
    """Some text of an answer."""

    text: str


class AnswerThinkingBlock(Struct, frozen=True, tag_field="type", tag="thinking"):
    """Thinking before an answer. Nobody signs it here."""

    thinking: str
    signature: str = ""


class AnswerCallBlock(Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A call that an answer makes; `input` is an object."""

    id: str
    name: str
    input: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]


AnswerBlock = AnswerThinkingBlock | AnswerTextBlock | AnswerCallBlock
_StopReason = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use"]


@dataclass(frozen=True)
class MessageUsage:
    """Tokens of a request. `input_tokens` does not count those that were in memory."""

    input_tokens: int
    cache_read_input_tokens: int | UnsetType = UNSET
    cache_creation_input_tokens: int | UnsetType = UNSET
    output_tokens: int = 0


@dataclass(frozen=True)
class MessagesReply:
    """Reply to POST /v1/messages. `stop_reason` is null in the first event of a stream."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[AnswerBlock]
    stop_reason: _StopReason | None
    stop_sequence: str | None
    usage: MessageUsage


class MessageStart(Struct, frozen=True, tag_field="type", tag="message_start"):
    """The first event, which has the message without content."""

    message: MessagesReply


class Ping(Struct, frozen=True, tag_field="type", tag="ping"):
    """An event that adds nothing."""


class BlockStart(Struct, frozen=True, tag_field="type", tag="content_block_start"):
    """The beginning of a block, which is empty."""

    index: int
    content_block: AnswerBlock


class TextDelta(Struct, frozen=True, tag_field="type", tag="text_delta"):
    """More of a text."""

    text: str


class ThinkingDelta(Struct, frozen=True, tag_field="type", tag="thinking_delta"):
    """More of the thinking."""

    thinking: str


class InputDelta(Struct, frozen=True, tag_field="type", tag="input_json_delta"):
    """More of the arguments of a call, as text."""

    partial_json: str


class BlockDelta(Struct, frozen=True, tag_field="type", tag="content_block_delta"):
    """An addition to a block."""

    index: int
    delta: TextDelta | ThinkingDelta | InputDelta


class BlockStop(Struct, frozen=True, tag_field="type", tag="content_block_stop"):
    """The end of a block."""

    index: int


@dataclass(frozen=True)
class AnswerStop:
    """The reason why an answer ended."""

    stop_reason: _StopReason
    stop_sequence: str | None = None


class MessageDelta(Struct, frozen=True, tag_field="type", tag="message_delta"):
    """The end of an answer, and its tokens."""

    delta: AnswerStop
    usage: MessageUsage


class MessageStop(Struct, frozen=True, tag_field="type", tag="message_stop"):
    """The last event."""


MessageEvent = MessageStart | Ping | BlockStart | BlockDelta | BlockStop | MessageDelta | MessageStop


class MessagesFormatter(BlockFormatter):
    """Formatter of an answer as a message with blocks of text and calls, or as the events that build it."""

    def __init__(self, model: str, reader: CallReader | None) -> None:
        """`reader` finds calls; None if there cannot be any."""
        super().__init__(reader)
        id_, usage = f"msg_{secrets.token_hex(12)}", MessageUsage(0)
        self._message = MessagesReply(id_, "message", "assistant", model, [], None, None, usage)

    def reply(self, end: Finish) -> MessagesReply:
        blocks = [block for block in self.blocks if block.is_whole or not block.name] or [Block(0)]
        content, stop = [_block(block, block.text) for block in blocks], self._stop(end)
        return replace(
            self._message,
            content=content,
            stop_reason=stop.stop_reason,
            stop_sequence=stop.stop_sequence,
            usage=_usage(end.stats),
        )

    def first_events(self) -> Iterable[MessageEvent]:
        yield MessageStart(self._message)
        yield Ping()

    def ping(self) -> Iterable[MessageEvent]:
        yield Ping()

    def start_block(self, block: Block) -> Iterable[MessageEvent]:
        yield BlockStart(block.index, _block(block, ""))

    def extend_block(self, block: Block, chunk: AnswerChunk) -> Iterable[MessageEvent]:
        if block.name:
            yield BlockDelta(block.index, InputDelta(chunk.text))
        else:
            yield BlockDelta(block.index, (ThinkingDelta if block.is_thinking else TextDelta)(chunk.text))

    def end_block(self, block: Block) -> Iterable[MessageEvent]:
        yield BlockStop(block.index)

    def end_reply(self, end: Finish) -> Iterable[MessageEvent]:
        yield MessageDelta(self._stop(end), _usage(end.stats))
        yield MessageStop()

    def _stop(self, end: Finish) -> AnswerStop:
        if not self.is_complete(end):
            return AnswerStop("max_tokens")
        if self.has_called:
            return AnswerStop("tool_use")
        return AnswerStop("stop_sequence", end.stop_text) if end.stop_text else AnswerStop("end_turn")


def _block(block: Block, text: str) -> AnswerBlock:
    """Return a block with this text, or with these arguments; an empty text is no arguments."""
    if block.name:
        return AnswerCallBlock(block.id, block.name, Raw(text.encode() or b"{}"))
    return AnswerThinkingBlock(text) if block.is_thinking else AnswerTextBlock(text)


def _usage(stats: Stats) -> MessageUsage:
    return MessageUsage(stats.prompt_tokens - stats.reused_tokens, stats.reused_tokens, 0, stats.output_tokens)
