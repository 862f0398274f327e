"""OpenAI's Responses API: requests, replies and events. Nothing is stored."""

import itertools
import json
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta, Struct, structs

from headstart.engine.engine import Call, ConversationRequest, Finish, Message, Stats, Tools
from headstart.server.errors import invalid
from headstart.server.requests import fields
from headstart.server.requests.bodies import (
    AnswerRequest,
    Content,
    ContentPart,
    Effort,
    FlatSchema,
    FunctionTool,
    JsonObject,
    JsonObjectFormat,
    Name,
    Parallel,
    Parameters,
    TextFormat,
    TopLogprobs,
)
from headstart.server.requests.constraint import schema_of
from headstart.server.requests.content import noted_text, noted_texts, required, texts_of
from headstart.server.requests.fields import Unsupported
from headstart.server.requests.history import History
from headstart.server.requests.tools import FUNCTION, tool_of, tools_of
from headstart.server.requests.translation import Defaults, conversation_request, with_effort
from headstart.server.routes.blocks import Block, BlockFormatter
from headstart.server.routes.replies import AnswerChunk, TokenLogprob, logprobs_of
from headstart.tools.calls import CallReader, whole_arguments

_WITH_LOGPROBS = "message.output_text.logprobs"
# Calls that a client answers, and their results. Other items hold no text that a model could read.
_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_call"}
_CALLS |= {"computer_call"}
_OUTPUTS = {f"{call}_output" for call in _CALLS}


@dataclass(frozen=True)
class Item:
    """A message, thinking, a call or the result of a call. Items of other types are ignored."""

    type: str = "message"
    role: Literal["user", "assistant", "system", "developer"] | None = None
    content: Content | None = None
    name: Name | None = None
    id: str | None = None
    call_id: str | None = None
    arguments: str | JsonObject | None = None
    input: str | None = None  # of a tool that takes a text
    action: JsonObject | None = None  # of a shell or a computer
    operation: JsonObject | None = None  # of a patch
    output: Any = None
    status: str | None = None  # the result of a patch


@dataclass(frozen=True)
class FlatTool:
    """A tool that an answer may call. Tools of other types than `function` are left out: nobody can call them here."""

    type: str = FUNCTION
    name: Name | None = None
    description: str | None = None
    parameters: Parameters | None = None
    strict: bool | None = None


@dataclass(frozen=True)
class FlatChoice:
    """The tool that an answer must call."""

    type: str = FUNCTION
    name: Name | None = None


FlatToolChoice = Literal["none", "auto", "required"] | FlatChoice


@dataclass(frozen=True)
class TextConfig:
    """The form of an answer."""

    format: TextFormat | JsonObjectFormat | FlatSchema | None = None


@dataclass(frozen=True)
class Reasoning:
    """The effort of thinking."""

    effort: Effort | None = None


@dataclass(frozen=True, kw_only=True)
class ResponsesRequest(AnswerRequest):
    """Body of POST /v1/responses."""

    unsupported: ClassVar[Unsupported] = fields.ANSWERS | fields.RESPONSES

    input: str | Annotated[list[Item], Meta(min_length=1)]
    instructions: Annotated[str, Meta(description="Instructions for the whole conversation.")] | None = None
    text: TextConfig | None = None
    reasoning: Reasoning | None = None
    tools: list[FlatTool] | None = None
    tool_choice: FlatToolChoice | None = None
    parallel_tool_calls: Parallel | None = None
    include: Annotated[list[str], Meta(description=f"`{_WITH_LOGPROBS}` asks for `logprobs`.")] | None = None
    top_logprobs: TopLogprobs | None = None
    metadata: Annotated[dict[str, str], Meta(description="Stands in the reply.")] | None = None


@dataclass(frozen=True)
class InputTokens:
    """Reply to POST /v1/responses/input_tokens."""

    input_tokens: int
    object: Literal["response.input_tokens"] = "response.input_tokens"


def responses_to_request(body: ResponsesRequest, defaults: Defaults) -> ConversationRequest:
    """Translate a request. Raises RefusedError."""
    messages = [Message("user", body.input)] if isinstance(body.input, str) else _messages(body.input)
    system = [Message("system", body.instructions)] if body.instructions else []
    format_ = body.text.format if body.text else None
    schemas = {"text": schema_of(format_)}
    request = conversation_request(body, defaults, (*system, *messages), _tools(body), schemas)
    with_logprobs = body.top_logprobs is not None or _WITH_LOGPROBS in (body.include or ())
    request = structs.replace(request, top_logprobs=(body.top_logprobs or 0) if with_logprobs else None)
    return with_effort(request, body.reasoning.effort) if body.reasoning else request


def _messages(items: Iterable[Item]) -> Sequence[Message]:
    """Translate the items of a conversation. A call belongs to the answer before it. Raises RefusedError."""
    history, answer, ids = History(), Message("assistant", ""), list[str | None]()
    for number, item in enumerate(items):
        place = f"input[{number}]"
        is_call = item.type in _CALLS
        continues = is_call or (item.type == "message" and item.role == "assistant" and _is_thinking(answer))
        if not continues and _is_read(item):
            _add_answer(history, answer, ids)
            answer, ids = Message("assistant", ""), []
        match item:
            case Item("reasoning", content=content):
                answer = replace(answer, thinking=noted_text(content or ""))
            case Item("message", role="assistant", content=content) if content is not None:
                answer = Message.of_parts("assistant", noted_texts(content), thinking=answer.thinking)
            case Item("message", role=str(role), content=content) if content is not None:
                texts = texts_of(content, f"{place}.content")
                history.add(Message.of_parts("system" if role == "developer" else role, texts))
            case Item() if is_call:
                answer = replace(answer, calls=(*answer.calls, _call(item, place)))
                ids.append(item.call_id or item.id)
                if item.output is not None:  # of a tool that OpenAI's server called
                    _add_answer(history, answer, ids)
                    answer = Message("assistant", "")
                    history.add_result(_output(item.output), place, ids[-1], "id", item.name)
                    ids = []
            case Item(type_) if type_ in _OUTPUTS and (item.output is not None or item.status is not None):
                result = _output(item.status if item.output is None else item.output)
                history.add_result(result, place, item.call_id or item.id, "call_id")
            case Item("item_reference"):
                sentence = f"Nothing is stored here: send the item that `{place}`, an item_reference, stands for."
                raise invalid(sentence, "input", "unsupported_value")
            case Item("message" | "function_call_output"):
                needed = "`role` and `content`" if item.type == "message" else "`output`"
                raise invalid(f"`{place}` is a {item.type}: it needs {needed}.", "input")
    _add_answer(history, answer, ids)
    return history.messages()


def _is_read(item: Item) -> bool:
    return item.type in {"message", "reasoning", *_CALLS, *_OUTPUTS}


def _add_answer(history: History, answer: Message, ids: Sequence[str | None]) -> None:
    if answer.content or answer.calls or answer.thinking:
        history.add(answer, ids)


def _is_thinking(answer: Message) -> bool:
    """Return whether this is nothing, or thinking whose answer is yet to come."""
    return not answer.content and not answer.calls


def _call(item: Item, place: str) -> Call:
    """Translate a call, also of a tool that is no function. Raises RefusedError."""
    if item.type == "function_call":
        if item.name is None:
            raise invalid(f"`{place}` is a function_call: it needs `name`.", "input")
        text = json.dumps(item.arguments) if isinstance(item.arguments, dict) else item.arguments or ""
        return Call(item.name, whole_arguments(text))
    given_text = {"input": item.arguments if item.input is None else item.input}
    arguments = next(value for value in (item.action, item.operation, given_text) if value is not None)
    return Call(item.name or item.type.removesuffix("_call"), whole_arguments(json.dumps(arguments)))


def _output(output: Any) -> str:
    """Return the text of a result, with notes in place of images and files."""
    if isinstance(output, str):
        return output
    try:
        return noted_text(msgspec.convert(output if isinstance(output, list) else [output], list[ContentPart]))
    except msgspec.ValidationError:
        return json.dumps(output, ensure_ascii=False)


def left_out_of_responses(body: ResponsesRequest) -> list[str]:
    """Return the types of the tools and items of a request that are not supported."""
    items = [] if isinstance(body.input, str) else body.input
    tools = [tool.type for tool in body.tools or () if tool.type != FUNCTION]
    return [*tools, *(item.type for item in items if not _is_read(item))]


def _functions(body: ResponsesRequest) -> list[FunctionTool]:
    """Return the tools that an answer may call. Raises RefusedError."""
    return [
        FunctionTool(required(tool.name, f"tools[{place}]", "name"), tool.description, tool.parameters, tool.strict)
        for place, tool in enumerate(body.tools or ())
        if tool.type == FUNCTION
    ]


def _tools(body: ResponsesRequest) -> Tools | None:
    choice = body.tool_choice
    others = [tool for tool in body.tools or () if tool.type != FUNCTION]
    tools = tools_of(
        tuple(map(tool_of, _functions(body))),
        required=choice == "required",
        only=(choice.name or choice.type) if isinstance(choice, FlatChoice) else "",
        parallel=bool(body.parallel_tool_calls),
        left_out=[name for tool in others for name in (tool.type, tool.name) if name],
    )
    return None if choice == "none" else tools


Status = Literal["in_progress", "completed", "incomplete"]
EmptyList = Annotated[list[Any], Meta(max_length=0)]


class OutputText(Struct, frozen=True, tag_field="type", tag="output_text"):
    """Some text of an answer."""

    text: str
    annotations: EmptyList
    logprobs: list[TokenLogprob]


class ReasoningText(Struct, frozen=True, tag_field="type", tag="reasoning_text"):
    """Some thinking."""

    text: str


class MessageItem(Struct, frozen=True, tag_field="type", tag="message"):
    """A message of an answer."""

    id: str
    role: Literal["assistant"]
    content: list[OutputText]
    status: Status


class ReasoningItem(Struct, frozen=True, tag_field="type", tag="reasoning"):
    """Thinking before an answer."""

    id: str
    summary: EmptyList
    content: list[ReasoningText]
    status: Status


class CallItem(Struct, frozen=True, tag_field="type", tag="function_call"):
    """A call that an answer makes; `arguments` is a JSON object as text."""

    id: str
    call_id: str
    name: str
    arguments: str
    status: Status


AnswerItem = ReasoningItem | MessageItem | CallItem


@dataclass(frozen=True)
class IncompleteDetails:
    """The reason why an answer is not complete."""

    reason: Literal["max_output_tokens"] = "max_output_tokens"


@dataclass(frozen=True)
class InputDetails:
    """Details of a prompt. `cached_tokens` were in memory from an earlier request."""

    cached_tokens: int
    cache_write_tokens: int = 0


@dataclass(frozen=True)
class OutputDetails:
    """Details of an answer."""

    reasoning_tokens: int


@dataclass(frozen=True)
class ResponseUsage:
    """Tokens of a request."""

    input_tokens: int
    input_tokens_details: InputDetails
    output_tokens: int
    output_tokens_details: OutputDetails
    total_tokens: int


@dataclass(frozen=True, kw_only=True)
class ResponseObject:
    """Reply to POST /v1/responses, which has the fields of the request that shaped it."""

    model: str
    instructions: str | None
    temperature: float | None
    top_p: float | None
    metadata: dict[str, str] | None
    id: str
    object: Literal["response"] = "response"
    created_at: int  # seconds since 1970
    status: Status = "in_progress"
    error: None = None
    incomplete_details: IncompleteDetails | None = None
    output: list[AnswerItem] = field(default_factory=list)
    usage: ResponseUsage | None = None
    store: Literal[False] = False
    background: Literal[False] = False
    previous_response_id: None = None
    max_output_tokens: int
    text: TextConfig
    tools: list[FlatTool]
    tool_choice: FlatToolChoice
    parallel_tool_calls: bool
    truncation: Literal["disabled"] = "disabled"


class ResponseEvent(Struct, frozen=True, kw_only=True, tag_field="type"):
    """An event of a streamed response; `sequence_number` counts them."""

    sequence_number: int = 0


class _ItemEvent(ResponseEvent, frozen=True):
    item_id: str
    output_index: int


class _ContentEvent(_ItemEvent, frozen=True):
    content_index: int


class ResponseCreated(ResponseEvent, frozen=True, tag="response.created"):
    """The first event."""

    response: ResponseObject


class ResponseInProgress(ResponseEvent, frozen=True, tag="response.in_progress"):
    """An event that adds nothing."""

    response: ResponseObject


class ResponseCompleted(ResponseEvent, frozen=True, tag="response.completed"):
    """The last event of a whole answer."""

    response: ResponseObject


class ResponseIncomplete(ResponseEvent, frozen=True, tag="response.incomplete"):
    """The last event of an answer that was cut off."""

    response: ResponseObject


class ItemAdded(ResponseEvent, frozen=True, tag="response.output_item.added"):
    """The beginning of an item."""

    output_index: int
    item: AnswerItem


class ItemDone(ResponseEvent, frozen=True, tag="response.output_item.done"):
    """The end of an item."""

    output_index: int
    item: AnswerItem


class PartAdded(_ContentEvent, frozen=True, tag="response.content_part.added"):
    """The beginning of the text of a message."""

    part: OutputText


class PartDone(_ContentEvent, frozen=True, tag="response.content_part.done"):
    """The end of the text of a message."""

    part: OutputText


class OutputTextDelta(_ContentEvent, frozen=True, tag="response.output_text.delta"):
    """More text."""

    delta: str
    logprobs: list[TokenLogprob]


class OutputTextDone(_ContentEvent, frozen=True, tag="response.output_text.done"):
    """The whole text."""

    text: str
    logprobs: list[TokenLogprob]


class ReasoningDelta(_ContentEvent, frozen=True, tag="response.reasoning_text.delta"):
    """More thinking."""

    delta: str


class ReasoningDone(_ContentEvent, frozen=True, tag="response.reasoning_text.done"):
    """The whole thinking."""

    text: str


class ArgumentsDelta(_ItemEvent, frozen=True, tag="response.function_call_arguments.delta"):
    """More of the arguments of a call."""

    delta: str


class ArgumentsDone(_ItemEvent, frozen=True, tag="response.function_call_arguments.done"):
    """The whole call."""

    name: str
    arguments: str


class ResponsesFormatter(BlockFormatter):
    """Formatter of an answer as a response with items of text and calls, or as the events that build it."""

    def __init__(self, body: ResponsesRequest, request: ConversationRequest, reader: CallReader | None) -> None:
        """`request` is the translation of `body`; `reader` finds calls, None if there cannot be any."""
        super().__init__(reader)
        self._numbers = itertools.count()
        self._id = secrets.token_hex(12)
        self._response = ResponseObject(
            model=body.model or "",
            instructions=body.instructions,
            metadata=body.metadata,
            id=f"resp_{self._id}",
            created_at=int(time.time()),
            max_output_tokens=request.max_new_tokens,
            text=body.text or TextConfig(TextFormat()),
            tools=[tool for tool in body.tools or () if tool.type == FUNCTION],
            tool_choice=body.tool_choice or "auto",
            parallel_tool_calls=bool(body.parallel_tool_calls),
            **{name: getattr(body, name) for name in ("temperature", "top_p")},
        )

    def reply(self, end: Finish) -> ResponseObject:
        is_whole = self.is_complete(end)
        return replace(
            self._response,
            status=_status(is_whole=is_whole),
            incomplete_details=None if is_whole else IncompleteDetails(),
            output=[self._item(block, _status(is_whole=block.is_whole)) for block in self.blocks],
            usage=_usage(end.stats),
        )

    def first_events(self) -> Iterable[ResponseEvent]:
        yield ResponseCreated(self._response)
        yield from self.ping()

    def ping(self) -> Iterable[ResponseEvent]:
        yield ResponseInProgress(self._response)

    def start_block(self, block: Block) -> Iterable[ResponseEvent]:
        item = self._item(block, "in_progress")
        if isinstance(item, MessageItem):
            yield ItemAdded(block.index, structs.replace(item, content=[]))
            yield PartAdded(item.id, block.index, 0, _part(block))
        else:
            yield ItemAdded(block.index, item)

    def extend_block(self, block: Block, chunk: AnswerChunk) -> Iterable[ResponseEvent]:
        item_id = self._item_id(block)
        if block.name:
            yield ArgumentsDelta(item_id, block.index, chunk.text)
        elif block.is_thinking:
            yield ReasoningDelta(item_id, block.index, 0, chunk.text)
        else:
            yield OutputTextDelta(item_id, block.index, 0, chunk.text, logprobs_of(chunk.scored or ()))

    def end_block(self, block: Block) -> Iterable[ResponseEvent]:
        item = self._item(block, _status(is_whole=block.is_whole))
        match item:
            case CallItem() if block.is_whole:
                yield ArgumentsDone(item.id, block.index, block.name, block.text)
            case ReasoningItem():
                yield ReasoningDone(item.id, block.index, 0, block.text)
            case MessageItem(content=[part]):
                yield OutputTextDone(item.id, block.index, 0, part.text, part.logprobs)
                yield PartDone(item.id, block.index, 0, part)
        yield ItemDone(block.index, item)

    def end_reply(self, end: Finish) -> Iterable[ResponseEvent]:
        yield (ResponseCompleted if self.is_complete(end) else ResponseIncomplete)(self.reply(end))

    def encode(self, event: object) -> bytes:
        """Return an event with its name and number as bytes of the stream."""
        number = next(self._numbers)
        if isinstance(event, ResponseEvent):
            return super().encode(structs.replace(event, sequence_number=number))
        return super().encode(msgspec.to_builtins(event) | {"sequence_number": number})  # a refusal

    def _item(self, block: Block, status: Status) -> AnswerItem:
        id_ = self._item_id(block)
        if block.name:
            return CallItem(id_, block.id, block.name, block.text, status)
        if block.is_thinking:
            return ReasoningItem(id_, [], [ReasoningText(block.text)] if block.text else [], status)
        return MessageItem(id_, "assistant", [_part(block)], status)

    def _item_id(self, block: Block) -> str:
        return f"{'fc' if block.name else 'rs' if block.is_thinking else 'msg'}_{self._id}_{block.index}"


def _part(block: Block) -> OutputText:
    return OutputText(block.text, [], logprobs_of(block.scored))


def _status(*, is_whole: bool) -> Status:
    return "completed" if is_whole else "incomplete"


def _usage(stats: Stats) -> ResponseUsage:
    return ResponseUsage(
        stats.prompt_tokens,
        InputDetails(stats.reused_tokens),
        stats.output_tokens,
        OutputDetails(stats.thinking_tokens),
        stats.prompt_tokens + stats.output_tokens,
    )
