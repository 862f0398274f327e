"""OpenAI's API for conversations: requests, replies and events."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from headstart.engine.engine import Call, ConversationRequest, Finish, FinishReason, Message, Tools
from headstart.server.errors import invalid
from headstart.server.requests import fields
from headstart.server.requests.bodies import (
    AnswerCount,
    AnswerRequest,
    Content,
    Name,
    OfferedTool,
    Parallel,
    TopLogprobs,
)
from headstart.server.requests.content import noted_text, noted_texts, texts_of
from headstart.server.requests.fields import Unsupported
from headstart.server.requests.history import History
from headstart.server.requests.tools import functions_of, other_kinds, tools_of
from headstart.server.requests.translation import Defaults, conversation_request, fan_out
from headstart.server.routes.replies import (
    AnswerChunk,
    OpenAIFormatter,
    Reason,
    ReplyContext,
    StopReason,
    TokenLogprob,
    Usage,
    logprobs_of,
    read_whole,
    reason_of,
    stop_reason_of,
    usage_of,
)
from headstart.tools.calls import CallPart, CallReader, whole_arguments

_GenerationPrompt = Annotated[bool, Meta(description="false: only with `continue_final_message`.")]


@dataclass(frozen=True)
class CalledFunction:
    """The function of a call; `arguments` is a JSON object as text."""

    name: Name
    arguments: str = ""


@dataclass(frozen=True)
class CalledTool:
    """A call that the assistant made."""

    function: CalledFunction
    id: str | None = None
    type: Literal["function"] = "function"


class SystemMessage(Struct, frozen=True, tag_field="role", tag="system"):
    """Instructions for the whole conversation."""

    content: Content


class DeveloperMessage(Struct, frozen=True, tag_field="role", tag="developer"):
    """Instructions for the whole conversation."""

    content: Content


class UserMessage(Struct, frozen=True, tag_field="role", tag="user"):
    """A message of the user."""

    content: Content


class AssistantMessage(Struct, frozen=True, tag_field="role", tag="assistant"):
    """An earlier answer. The last message is continued, unless it has calls."""

    content: Content | None = None
    tool_calls: list[CalledTool] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class ToolMessage(Struct, frozen=True, tag_field="role", tag="tool"):
    """The result of a call, with the call's id. Without one, results stand in the order of their calls."""

    content: Content | None
    tool_call_id: str | None = None


ChatMessage = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True)
class ChosenFunction:
    """The name of a function."""

    name: Name


@dataclass(frozen=True)
class ChosenTool:
    """The tool that an answer must call."""

    type: str = "function"
    function: ChosenFunction | None = None


@dataclass(frozen=True)
class Prediction:
    """Text that the answer may repeat. Guesses are taken from it; the answer stays the same."""

    type: Literal["content"]
    content: Content


@dataclass(frozen=True, kw_only=True)
class ChatRequest(AnswerRequest):
    """Body of POST /v1/chat/completions."""

    unsupported: ClassVar[Unsupported] = fields.ANSWERS | fields.CHATS

    messages: Annotated[list[ChatMessage], Meta(min_length=1, description="The conversation.")]
    n: AnswerCount | None = None
    tools: list[OfferedTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenTool | None = None
    parallel_tool_calls: Parallel | None = None
    logprobs: bool | TopLogprobs | None = None
    top_logprobs: TopLogprobs | None = None
    add_generation_prompt: _GenerationPrompt | None = None
    continue_final_message: Annotated[bool, Meta(description="Only where an answer stands last.")] | None = None
    prediction: Prediction | None = None


def chat_to_requests(body: ChatRequest, defaults: Defaults) -> list[ConversationRequest]:
    """Translate a request for answers to a conversation: one engine request for each answer. Raises RefusedError."""
    _check_continuation(body)
    messages, top_logprobs = messages_of(body.messages), _num_logprobs(body)
    prediction = "".join(texts_of(body.prediction.content, "prediction.content")) if body.prediction else ""
    request = conversation_request(body, defaults, messages, _tools(body))
    return fan_out(structs.replace(request, prediction=prediction, top_logprobs=top_logprobs), body.n)


def _check_continuation(body: ChatRequest) -> None:
    """Raise RefusedError if the request wants an answer continued that is not, or the other way round."""
    last = body.messages[-1]
    continues = len(body.messages) > 1 and isinstance(last, AssistantMessage) and not last.tool_calls
    if body.continue_final_message not in {None, continues}:
        sentence = "An answer that stands last is continued, and no other message: leave out `continue_final_message`."
        raise invalid(sentence, "continue_final_message", "unsupported_value")
    if body.add_generation_prompt is False and not continues:
        sentence = "A new answer needs its beginning from the chat template: leave out `add_generation_prompt`."
        raise invalid(sentence, "add_generation_prompt", "unsupported_value")


def _num_logprobs(body: ChatRequest) -> int | None:
    """Return how many of the likeliest tokens to tell. Some clients send their number as `logprobs`."""
    if body.logprobs is None or (body.logprobs and body.top_logprobs is not None):
        return body.top_logprobs
    if not body.logprobs:
        return None
    return 0 if body.logprobs is True else body.logprobs


def messages_of(turns: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Translate a conversation into the engine's messages. Raises RefusedError."""
    history = History()
    for number, turn in enumerate(turns):
        place = f"messages[{number}]"
        match turn:
            case ToolMessage():
                result = noted_text(turn.content or "")
                history.add_result(result, place, turn.tool_call_id, "tool_call_id")
            case AssistantMessage():
                history.add(_answer(turn), [call.id for call in turn.tool_calls or ()])
            case _:
                texts = texts_of(turn.content, f"{place}.content")
                history.add(Message.of_parts("user" if isinstance(turn, UserMessage) else "system", texts))
    return history.messages()


def _answer(turn: AssistantMessage) -> Message:
    texts = noted_texts(turn.content or turn.refusal or "")
    functions = [call.function for call in turn.tool_calls or ()]
    calls = tuple(Call(function.name, whole_arguments(function.arguments)) for function in functions)
    return Message.of_parts("assistant", texts, calls, turn.reasoning_content or turn.reasoning or "")


def _tools(body: ChatRequest) -> Tools | None:
    choice = body.tool_choice
    offered = functions_of(body.tools or ())
    if choice == "none":
        return None
    only = (choice.function.name if choice.function else choice.type) if isinstance(choice, ChosenTool) else ""
    return tools_of(
        offered,
        required=choice == "required",
        only=only,
        parallel=bool(body.parallel_tool_calls),
        left_out=other_kinds(body.tools or ()),
    )


@dataclass(frozen=True)
class ChatLogprobs:
    """The model's own probabilities, before temperature, penalties, top_p and other filters."""

    content: list[TokenLogprob]
    refusal: None = None


@dataclass(frozen=True)
class FunctionCall:
    """The function of a call; `arguments` is a JSON object as text."""

    name: str
    arguments: str


@dataclass(frozen=True)
class MessageToolCall:
    """A call that the answer makes."""

    id: str
    function: FunctionCall
    type: Literal["function"] = "function"


@dataclass(frozen=True)
class AnswerMessage:
    """A message of the assistant; `content` is null if it has calls and no text."""

    content: str | None
    role: Literal["assistant"] = "assistant"
    refusal: None = None
    reasoning_content: str | UnsetType = UNSET
    tool_calls: list[MessageToolCall] | UnsetType = UNSET


@dataclass(frozen=True)
class ChatChoice:
    """The answer to a conversation."""

    message: AnswerMessage
    finish_reason: Reason
    index: int = 0
    logprobs: ChatLogprobs | None = None
    stop_reason: StopReason = UNSET


@dataclass(frozen=True)
class ChatCompletion:
    """Reply to POST /v1/chat/completions."""

    id: str
    created: int
    model: str
    choices: list[ChatChoice]
    usage: Usage
    system_fingerprint: str
    object: Literal["chat.completion"] = "chat.completion"


@dataclass(frozen=True)
class FunctionDelta:
    """A part of the arguments; only the first part has the name."""

    arguments: str
    name: str | UnsetType = UNSET


@dataclass(frozen=True)
class CallDelta:
    """A part of a call; only the first part has the id."""

    index: int
    function: FunctionDelta
    id: str | UnsetType = UNSET
    type: Literal["function"] | UnsetType = UNSET


@dataclass(frozen=True)
class Delta:
    """The addition of one event to a streamed answer."""

    role: Literal["assistant"] | UnsetType = UNSET
    content: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    tool_calls: list[CallDelta] | UnsetType = UNSET


@dataclass(frozen=True)
class ChunkChoice:
    """A part of the answer to a conversation."""

    delta: Delta
    finish_reason: Reason | None = None
    index: int = 0
    logprobs: ChatLogprobs | None = None
    stop_reason: StopReason = UNSET


@dataclass(frozen=True)
class ChatChunk:
    """An event of a streamed answer to a conversation. The last event has `usage`, if it was asked for."""

    id: str
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: Usage | UnsetType | None
    system_fingerprint: str | UnsetType
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"


class ChatFormatter(OpenAIFormatter):
    """Formatter of an answer to a conversation. The first event of a stream is empty."""

    prefix = "chatcmpl"

    def __init__(self, context: ReplyContext, reader: CallReader | None, index: int = 0) -> None:
        """`reader` finds calls; None if there cannot be any."""
        super().__init__(context, index)
        self._reader = reader

    def complete(self, chunk: AnswerChunk, end: Finish) -> object:
        text, calls = read_whole(chunk.text, self._reader)
        tool_calls = [MessageToolCall(call.id, FunctionCall(call.name, call.arguments)) for call in calls]
        message = AnswerMessage(
            text if text or not tool_calls else None,
            reasoning_content=chunk.thinking or UNSET,
            tool_calls=tool_calls or UNSET,
        )
        choice = ChatChoice(
            message, self._reason(end) or "stop", self._index, _chat_logprobs(chunk), stop_reason_of(end)
        )
        self._context.usages.append(usage_of(end.stats))
        return ChatCompletion(*self._header, [choice], self._context.usage, self._context.fingerprint())

    def start(self) -> Iterable[object]:
        if not self._has_started:
            self._has_started = True
            yield self._part(Delta(role="assistant", content=""))

    def wait(self) -> Iterable[object]:
        delta = Delta(content="") if self._has_started else Delta(role="assistant", content="")
        self._has_started = True
        # The fingerprint is known once the model is loaded.
        yield ChatChunk(*self._header, [ChunkChoice(delta, index=self._index)], self._empty_usage, UNSET)

    def extend(self, chunk: AnswerChunk) -> Iterable[object]:
        if chunk.thinking:
            yield self._part(Delta(reasoning_content=chunk.thinking))
        text, parts = self._reader.push(chunk.text) if self._reader else (chunk.text, [])
        if text or chunk.scored:
            yield self._part(Delta(content=text), chunk)
        for part in parts:
            yield self._part(Delta(tool_calls=[_delta(part)]))

    def finish(self, end: Finish) -> Iterable[object]:
        rest, parts = self._reader.finish() if self._reader else ("", [])
        if rest:
            yield self._part(Delta(content=rest))
        for part in parts:
            yield self._part(Delta(tool_calls=[_delta(part)]))
        yield self._part(Delta(), None, end)
        self._context.usages.append(usage_of(end.stats))
        if self._has_final_usage:
            yield ChatChunk(*self._header, [], self._context.usage, self._context.fingerprint())

    def _part(self, delta: Delta, chunk: AnswerChunk | None = None, end: Finish | None = None) -> ChatChunk:
        choice = ChunkChoice(delta, self._reason(end), self._index, _chat_logprobs(chunk), stop_reason_of(end))
        return ChatChunk(*self._header, [choice], self._empty_usage, self._context.fingerprint())

    def _reason(self, end: Finish | None) -> Reason | None:
        if end is None or end.reason is not FinishReason.STOP or self._reader is None or not self._reader.calls:
            return reason_of(end)
        return "length" if self._reader.is_open else "tool_calls"


def _delta(part: CallPart) -> CallDelta:
    if part.name:
        return CallDelta(part.index, FunctionDelta("", part.name), part.id, "function")
    return CallDelta(part.index, FunctionDelta(part.arguments))


def _chat_logprobs(chunk: AnswerChunk | None) -> ChatLogprobs | None:
    return None if chunk is None or chunk.scored is None else ChatLogprobs(logprobs_of(chunk.scored))
