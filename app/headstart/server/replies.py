"""Replies in OpenAI's format: models, whole answers and the parts of streamed answers."""

import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from headstart.engine.engine import FinishReason, Likelihood, Scored, Stats
from headstart.server.calls import CallPart, CallReader

Reason = Literal["stop", "length", "tool_calls"]
StopReason = Literal["repetition"] | UnsetType  # an addition to OpenAI's format, which calls this a length


@dataclass(frozen=True)
class Logprob:
    r"""A token. If its bytes alone are not valid text, `token` shows them as \xf0\x9f; `bytes` always has them."""

    token: str
    logprob: float
    bytes: list[int]


@dataclass(frozen=True)
class TokenLogprob(Logprob):
    """A token of the answer, and the likeliest tokens in its place."""

    top_logprobs: list[Logprob]


@dataclass(frozen=True)
class ChatLogprobs:
    """The model's own probabilities, before temperature, penalties, top_p and other filters."""

    content: list[TokenLogprob]
    refusal: None = None


@dataclass(frozen=True)
class TextLogprobs:
    """The same in the older API. `text_offset`: characters of the answer before a token."""

    text_offset: list[int]
    token_logprobs: list[float]
    tokens: list[str]
    top_logprobs: list[dict[str, float]]


@dataclass(frozen=True)
class Model:
    """A model that requests can name. Its context is in tokens, under the names that clients look for."""

    id: str
    created: int  # seconds since 1970
    context_length: int | None
    max_model_len: int | None
    capabilities: tuple[str, ...] = ("completion", "tools", "structured_outputs", "logprobs")
    object: Literal["model"] = "model"
    owned_by: str = "headstart"


@dataclass(frozen=True)
class ModelList:
    """All models."""

    data: list[Model]
    object: Literal["list"] = "list"


@dataclass(frozen=True)
class PromptDetails:
    """`cached_tokens`: tokens of the prompt that were in memory from an earlier request."""

    cached_tokens: int


@dataclass(frozen=True)
class CompletionDetails:
    """Guessed tokens that the model confirmed, and those that it rejected."""

    accepted_prediction_tokens: int
    rejected_prediction_tokens: int


@dataclass(frozen=True)
class Usage:
    """Tokens of a request. `completion_tokens` does not count rejected guesses."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


@dataclass(frozen=True)
class FunctionCall:
    """What is called; `arguments` is a JSON object as text."""

    name: str
    arguments: str


@dataclass(frozen=True)
class ToolCall:
    """A call that the answer makes."""

    id: str
    function: FunctionCall
    type: Literal["function"] = "function"


@dataclass(frozen=True)
class AnswerMessage:
    """The turn of the assistant; `content` is null where it only calls."""

    content: str | None
    role: Literal["assistant"] = "assistant"
    refusal: None = None
    tool_calls: list[ToolCall] | UnsetType = UNSET


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
    """More of the arguments; the name comes first."""

    arguments: str
    name: str | UnsetType = UNSET


@dataclass(frozen=True)
class CallDelta:
    """A part of a call; the first has its id."""

    index: int
    function: FunctionDelta
    id: str | UnsetType = UNSET
    type: Literal["function"] | UnsetType = UNSET


@dataclass(frozen=True)
class Delta:
    """What a part of a streamed answer adds."""

    role: Literal["assistant"] | UnsetType = UNSET
    content: str | UnsetType = UNSET
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
    system_fingerprint: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"


@dataclass(frozen=True)
class TextChoice:
    """A continued text, or a part of it."""

    text: str
    finish_reason: Reason | None = None
    index: int = 0
    logprobs: TextLogprobs | None = None
    stop_reason: StopReason = UNSET


@dataclass(frozen=True)
class TextCompletion:
    """Reply to POST /v1/completions, or an event of it."""

    id: str
    created: int
    model: str
    choices: list[TextChoice]
    usage: Usage | UnsetType | None
    system_fingerprint: str
    object: Literal["text_completion"] = "text_completion"


@dataclass(frozen=True)
class Said:
    """An answer or a part of it, with its tokens where they were asked for."""

    text: str = ""
    scored: tuple[Scored, ...] | None = None


class Form(Protocol):
    """The replies to one request: one whole, or the events of a stream; `last` is sent behind them."""

    last: bytes

    def whole(self, said: Said, ended: FinishReason, stats: Stats) -> object:
        """The whole answer."""
        ...

    def begun(self) -> Iterable[object]:
        """The first events."""
        ...

    def more(self, said: Said) -> Iterable[object]:
        """The events of a part of the answer."""
        ...

    def end(self, ended: FinishReason, stats: Stats) -> Iterable[object]:
        """The last events."""
        ...

    def sent(self, event: object) -> bytes:
        """An event as it is sent."""
        ...


class _Form:
    """What all of OpenAI's older replies to one request begin with."""

    prefix: ClassVar[str]
    last = b"data: [DONE]\n\n"

    def __init__(self, model: str, fingerprint: str, *, with_usage: bool = False) -> None:
        self._head = (f"{self.prefix}-{secrets.token_hex(12)}", int(time.time()), model)
        self._fingerprint = fingerprint
        self._with_usage = with_usage

    @property
    def _no_usage(self) -> UnsetType | None:
        """Of an event: null where the last event will have it."""
        return None if self._with_usage else UNSET

    def sent(self, event: object) -> bytes:
        """An event as it is sent."""
        return b"data: " + msgspec.json.encode(event) + b"\n\n"


class ChatForm(_Form):
    """Replies to a conversation: whole, or in parts, of which the first is empty."""

    prefix = "chatcmpl"

    def __init__(self, model: str, fingerprint: str, reader: CallReader | None, *, with_usage: bool = False) -> None:
        """`reader` finds the calls, where there may be some."""
        super().__init__(model, fingerprint, with_usage=with_usage)
        self._reader = reader

    def whole(self, said: Said, ended: FinishReason, stats: Stats) -> object:
        """The whole answer."""
        text, calls = read_whole(said.text, self._reader)
        told = [ToolCall(call.id, FunctionCall(call.name, call.arguments)) for call in calls]
        message = AnswerMessage(text if text or not told else None, tool_calls=told or UNSET)
        choice = ChatChoice(message, logprobs=_chat_logprobs(said), **self._ending(ended))
        return ChatCompletion(*self._head, [choice], usage_of(stats), self._fingerprint)

    def begun(self) -> Iterable[object]:
        """The first event."""
        yield self._part(Delta(role="assistant", content=""))

    def more(self, said: Said) -> Iterable[object]:
        """The events of a part of the answer."""
        text, parts = self._reader.push(said.text) if self._reader else (said.text, [])
        if text or said.scored:
            yield self._part(Delta(content=text), said)
        for part in parts:
            yield self._part(Delta(tool_calls=[_delta(part)]))

    def end(self, ended: FinishReason, stats: Stats) -> Iterable[object]:
        """The last events."""
        rest = self._reader.flush() if self._reader else ""
        if rest:
            yield self._part(Delta(content=rest))
        yield self._part(Delta(), None, ended)
        if self._with_usage:
            yield ChatChunk(*self._head, [], usage_of(stats), self._fingerprint)

    def _part(self, delta: Delta, said: Said | None = None, ended: FinishReason | None = None) -> ChatChunk:
        choice = ChunkChoice(delta, logprobs=_chat_logprobs(said), **self._ending(ended))
        return ChatChunk(*self._head, [choice], self._no_usage, self._fingerprint)

    def _ending(self, ended: FinishReason | None) -> dict[str, Any]:
        has_called = ended is FinishReason.STOP and self._reader and self._reader.calls
        return _ending(ended) | ({"finish_reason": "tool_calls"} if has_called else {})


class TextForm(_Form):
    """Replies to a text that is continued."""

    prefix = "cmpl"

    def whole(self, said: Said, ended: FinishReason, stats: Stats) -> object:
        """The whole answer."""
        return self._part(said, ended, usage_of(stats))

    def begun(self) -> Iterable[object]:
        """The first event: nothing yet."""
        yield self._part(Said(), None, self._no_usage)

    def more(self, said: Said) -> Iterable[object]:
        """The event of a part of the answer."""
        yield self._part(said, None, self._no_usage)

    def end(self, ended: FinishReason, stats: Stats) -> Iterable[object]:
        """The last events."""
        yield self._part(Said(), ended, self._no_usage)
        if self._with_usage:
            yield TextCompletion(*self._head, [], usage_of(stats), self._fingerprint)

    def _part(self, said: Said, ended: FinishReason | None, usage: Usage | UnsetType | None) -> TextCompletion:
        choice = TextChoice(said.text, logprobs=_text_logprobs(said), **_ending(ended))
        return TextCompletion(*self._head, [choice], usage, self._fingerprint)


def read_whole(text: str, reader: CallReader | None) -> tuple[str, list[CallPart]]:
    """The text of a whole answer, and its calls."""
    if reader is None:
        return text, []
    said, parts = reader.push(text)
    calls = list[CallPart]()
    for part in parts:
        if part.name:
            calls.append(part)
        else:
            calls[-1] = replace(calls[-1], arguments=calls[-1].arguments + part.arguments)
    return said + reader.flush(), calls


def _delta(part: CallPart) -> CallDelta:
    if part.name:
        return CallDelta(part.index, FunctionDelta("", part.name), part.id, "function")
    return CallDelta(part.index, FunctionDelta(part.arguments))


def usage_of(stats: Stats) -> Usage:
    """The engine's figures in OpenAI's format."""
    return Usage(
        stats.prompt_tokens,
        stats.output_tokens,
        stats.prompt_tokens + stats.output_tokens,
        PromptDetails(stats.reused_tokens),
        CompletionDetails(stats.accepted, stats.drafted - stats.accepted),
    )


def _ending(ended: FinishReason | None) -> dict[str, Any]:
    """Why an answer ended, in OpenAI's words: every limit is a length. OpenAI has no word for a repetition."""
    return {
        "finish_reason": ended and ("stop" if ended is FinishReason.STOP else "length"),
        "stop_reason": "repetition" if ended is FinishReason.REPETITION else UNSET,
    }


def _chat_logprobs(said: Said | None) -> ChatLogprobs | None:
    if said is None or said.scored is None:
        return None
    return ChatLogprobs(
        [TokenLogprob(*_told(each.token), [Logprob(*_told(other)) for other in each.likeliest]) for each in said.scored]
    )


def _text_logprobs(said: Said) -> TextLogprobs | None:
    if said.scored is None:
        return None
    return TextLogprobs(
        [each.start for each in said.scored],
        [each.token.logprob for each in said.scored],
        [_named(each.token) for each in said.scored],
        [{_named(other): other.logprob for other in (*each.likeliest, each.token)} for each in said.scored],
    )


def _told(likelihood: Likelihood) -> tuple[str, float, list[int]]:
    return _text(likelihood, ""), likelihood.logprob, list(likelihood.spelling)


def _named(likelihood: Likelihood) -> str:
    """OpenAI's older API has no field for bytes, so it marks them in the text."""
    return _text(likelihood, "bytes:")


def _text(likelihood: Likelihood, mark: str) -> str:
    try:
        return bytes(likelihood.spelling).decode()
    except UnicodeDecodeError:
        return mark + "".join(f"\\x{byte:02x}" for byte in likelihood.spelling)
