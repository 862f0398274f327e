"""Replies in OpenAI's format: models, whole answers and the events of streamed answers."""

import secrets
import struct
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import hypot, isnan
from operator import mul
from typing import Any, ClassVar, Literal, Protocol

import msgspec
from msgspec import UNSET, Struct, UnsetType

from headstart.engine.engine import Finish, FinishReason, Likelihood, Scored, Stats
from headstart.tools.calls import CallPart, CallReader

Reason = Literal["stop", "length", "tool_calls"]
# An addition to OpenAI's format: "repetition", which is a length there, or, as in vLLM, the stop string.
StopReason = str | UnsetType


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
    """Probabilities in the older API.

    `text_offset` counts the characters before a token. The first token of a prompt has null for its probability.
    """

    text_offset: list[int]
    token_logprobs: list[float | None]
    tokens: list[str]
    top_logprobs: list[dict[str, float] | None]


@dataclass(frozen=True)
class Model:
    """A model that requests can name. Its context length, in tokens, has two names that clients use."""

    id: str
    created: int  # seconds since 1970
    context_length: int | None
    max_model_len: int | None
    capabilities: tuple[str, ...] = ("completion", "tools", "structured_outputs", "logprobs")
    object: Literal["model"] = "model"
    owned_by: str = "headstart"


@dataclass(frozen=True)
class ModelList:
    """The list of all models."""

    data: list[Model]
    object: Literal["list"] = "list"


@dataclass(frozen=True)
class Health:
    """Reply of a server that answers."""

    status: Literal["ok"] = "ok"


EMBEDS = ("embedding",)  # capabilities of a model for embeddings


@dataclass(frozen=True)
class Embedding:
    """The vector of a text: numbers, or 32-bit floats in base64."""

    embedding: list[float] | str
    index: int
    object: Literal["embedding"] = "embedding"


@dataclass(frozen=True)
class EmbeddingUsage:
    """Tokens of all texts of a request."""

    prompt_tokens: int
    total_tokens: int


@dataclass(frozen=True)
class Embeddings:
    """Reply to POST /v1/embeddings."""

    data: list[Embedding]
    model: str
    usage: EmbeddingUsage
    object: Literal["list"] = "list"


@dataclass(frozen=True)
class RankedDocument:
    """The text of a document."""

    text: str


@dataclass(frozen=True)
class Ranking:
    """A document, by its place in the request, and the cosine of the angle between its vector and the query's."""

    index: int
    relevance_score: float
    document: RankedDocument | UnsetType = UNSET


@dataclass(frozen=True)
class Reranked:
    """Reply to POST /v1/rerank: the best document first."""

    model: str
    results: list[Ranking]
    usage: EmbeddingUsage


@dataclass(frozen=True)
class PromptDetails:
    """Details of a prompt. `cached_tokens` were in memory from an earlier request."""

    cached_tokens: int


@dataclass(frozen=True)
class CompletionDetails:
    """Counts of guessed tokens that the model confirmed and rejected, and of tokens of thinking."""

    accepted_prediction_tokens: int
    rejected_prediction_tokens: int
    reasoning_tokens: int


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
    """The function of a call; `arguments` is a JSON object as text."""

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
    """A message of the assistant; `content` is null if it has calls and no text."""

    content: str | None
    role: Literal["assistant"] = "assistant"
    refusal: None = None
    reasoning_content: str | UnsetType = UNSET
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
    system_fingerprint: str | UnsetType  # absent in events before the model is loaded
    object: Literal["text_completion"] = "text_completion"


@dataclass(frozen=True)
class AnswerChunk:
    """An answer or a part of it."""

    text: str = ""
    thinking: str = ""  # before the text
    scored: tuple[Scored, ...] | None = None  # tokens of the text; None: the request leaves their probabilities out


class ReplyFormatter(Protocol):
    """Formatter of an answer, as one reply or as the events of a stream."""

    media_type: str  # of a stream
    last: bytes  # sent after the last event of a stream

    def complete(self, chunk: AnswerChunk, end: Finish) -> object:
        """Return the whole reply."""
        ...

    def start(self) -> Iterable[object]:
        """Return the first events, unless the client has them."""
        ...

    def wait(self) -> Iterable[object]:
        """Return events for a client that waits: the first ones, or one that adds nothing."""
        ...

    def extend(self, chunk: AnswerChunk) -> Iterable[object]:
        """Return the events of a part of the answer."""
        ...

    def finish(self, end: Finish) -> Iterable[object]:
        """Return the last events."""
        ...

    def encode(self, event: object) -> bytes:
        """Return an event as bytes of the stream."""
        ...


@dataclass
class ReplyContext:
    """Values that the replies of several answers to one request share."""

    model: str
    fingerprint: Callable[[], str]  # called once the model is loaded
    with_usage: bool = False  # send the usage at the end of a stream
    answers_per_prompt: int = 1
    answers: int = 1  # to all prompts
    usages: list[Usage] = field(default_factory=list)  # of the answers that have ended
    created: int = field(default_factory=lambda: int(time.time()))
    token: str = field(default_factory=lambda: secrets.token_hex(12))

    @property
    def usage(self) -> Usage:
        """The usage of all answers; each prompt counts once."""
        return total_usage(self.usages, self.answers_per_prompt)


EVENTS = "text/event-stream; charset=utf-8"


class OpenAIFormatter:
    """The common part of OpenAI's older formats."""

    media_type = EVENTS
    prefix: ClassVar[str]
    last = b"data: [DONE]\n\n"

    def __init__(self, context: ReplyContext, index: int = 0) -> None:
        self._context, self._index = context, index
        self._has_started = False
        self._header = (f"{self.prefix}-{context.token}", context.created, context.model)

    @property
    def _empty_usage(self) -> UnsetType | None:
        """The usage in an event before the last: null if the last event will have it, and absent otherwise."""
        return None if self._context.with_usage else UNSET

    @property
    def _has_final_usage(self) -> bool:
        """True at the end of the last answer, if the request asks for the usage."""
        return self._context.with_usage and len(self._context.usages) == self._context.answers

    def encode(self, event: object) -> bytes:
        return b"data: " + msgspec.json.encode(event) + b"\n\n"


class ChatFormatter(OpenAIFormatter):
    """Formatter of an answer to a conversation. The first event of a stream is empty."""

    prefix = "chatcmpl"

    def __init__(self, context: ReplyContext, reader: CallReader | None, index: int = 0) -> None:
        """`reader` finds calls; None if there cannot be any."""
        super().__init__(context, index)
        self._reader = reader

    def complete(self, chunk: AnswerChunk, end: Finish) -> object:
        text, calls = read_whole(chunk.text, self._reader)
        tool_calls = [ToolCall(call.id, FunctionCall(call.name, call.arguments)) for call in calls]
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


class TextFormatter(OpenAIFormatter):
    """Formatter of a continued text."""

    prefix = "cmpl"

    def complete(self, chunk: AnswerChunk, end: Finish) -> object:
        self._context.usages.append(usage_of(end.stats))
        return self._part(chunk, end, self._context.usage)

    def start(self) -> Iterable[object]:
        if not self._has_started:
            self._has_started = True
            yield self._part(AnswerChunk(), None, self._empty_usage)

    def wait(self) -> Iterable[object]:
        self._has_started = True
        yield TextCompletion(*self._header, [TextChoice("", index=self._index)], self._empty_usage, UNSET)

    def extend(self, chunk: AnswerChunk) -> Iterable[object]:
        yield self._part(chunk, None, self._empty_usage)

    def finish(self, end: Finish) -> Iterable[object]:
        yield self._part(AnswerChunk(), end, self._empty_usage)
        self._context.usages.append(usage_of(end.stats))
        if self._has_final_usage:
            yield TextCompletion(*self._header, [], self._context.usage, self._context.fingerprint())

    def _part(self, chunk: AnswerChunk, end: Finish | None, usage: Usage | UnsetType | None) -> TextCompletion:
        choice = TextChoice(chunk.text, reason_of(end), self._index, _text_logprobs(chunk), stop_reason_of(end))
        return TextCompletion(*self._header, [choice], usage, self._context.fingerprint())


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


def read_whole(text: str, reader: CallReader | None) -> tuple[str, list[CallPart]]:
    """Return the text of a whole answer and its calls, without one that was cut off."""
    if reader is None:
        return text, []
    text, parts = reader.push(text)
    rest, more = reader.finish()
    calls = list[CallPart]()
    for part in parts + more:
        if part.name:
            calls.append(part)
        else:
            calls[-1] = replace(calls[-1], arguments=calls[-1].arguments + part.arguments)
    return text + rest, calls[: reader.whole_calls]


def _delta(part: CallPart) -> CallDelta:
    if part.name:
        return CallDelta(part.index, FunctionDelta("", part.name), part.id, "function")
    return CallDelta(part.index, FunctionDelta(part.arguments))


def embeddings_of(finish: Finish, model: str, dimensions: int | None, *, as_base64: bool) -> Embeddings:
    """Return the reply with the embeddings of a request.

    If `dimensions` is given, the vectors are cut to it and scaled back to the length 1.
    """
    vectors = [_shorten(vector, dimensions) if dimensions else vector for vector in finish.vectors]
    data = [
        Embedding(b64encode(vector).decode() if as_base64 else _floats(vector), index)
        for index, vector in enumerate(vectors)
    ]
    tokens = finish.stats.prompt_tokens
    return Embeddings(data, model, EmbeddingUsage(tokens, tokens))


def reranked(embeddings: Embeddings, texts: Sequence[str], limit: int | None, *, with_texts: bool) -> Reranked:
    """Rank texts by the embeddings of a query and of each text, all of them numbers; return `limit` of them."""
    query, *vectors = [each.embedding for each in embeddings.data if not isinstance(each.embedding, str)]
    results = [
        Ranking(index, _cosine(query, vector), RankedDocument(text) if with_texts else UNSET)
        for index, (vector, text) in enumerate(zip(vectors, texts, strict=True))
    ]
    results.sort(key=lambda each: -each.relevance_score)
    return Reranked(embeddings.model, results[:limit], embeddings.usage)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(map(mul, one, other))) / (hypot(*one) * hypot(*other) or 1.0)


def _shorten(vector: bytes, dimensions: int) -> bytes:
    numbers = _floats(vector)[:dimensions]
    length = hypot(*numbers) or 1.0
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


def _floats(vector: bytes) -> list[float]:
    return [number for (number,) in struct.iter_unpack("<f", vector)]


def usage_of(stats: Stats) -> Usage:
    """Translate the engine's statistics into OpenAI's format."""
    return Usage(
        stats.prompt_tokens,
        stats.output_tokens,
        stats.prompt_tokens + stats.output_tokens,
        PromptDetails(stats.reused_tokens),
        CompletionDetails(stats.accepted, stats.drafted - stats.accepted, stats.thinking_tokens),
    )


def total_usage(usages: Sequence[Usage], answers_per_prompt: int) -> Usage:
    """Return the sum over several answers; `answers_per_prompt` in a row have the same prompt."""
    prompt = sum(usage.prompt_tokens for usage in usages[::answers_per_prompt])
    cached = sum(usage.prompt_tokens_details.cached_tokens for usage in usages[::answers_per_prompt])
    details = [usage.completion_tokens_details for usage in usages]
    accepted = sum(detail.accepted_prediction_tokens for detail in details)
    rejected = sum(detail.rejected_prediction_tokens for detail in details)
    thinking = sum(detail.reasoning_tokens for detail in details)
    written = sum(usage.completion_tokens for usage in usages)
    completion = CompletionDetails(accepted, rejected, thinking)
    return Usage(prompt, written, prompt + written, PromptDetails(cached), completion)


def merge_replies(replies: Sequence[Any]) -> object:
    """Join the replies of several answers: the choices of all, and the usage of the last, which counts all."""
    if len(replies) == 1:
        return replies[0]
    choices = [choice for reply in replies for choice in reply.choices]
    return replace(replies[-1], choices=choices)


def reason_of(end: Finish | None) -> Literal["stop", "length"] | None:
    """Return OpenAI's reason for the end of an answer: `length` for every limit; None if it goes on."""
    if end is None:
        return None
    return "stop" if end.reason is FinishReason.STOP else "length"


def stop_reason_of(end: Finish | None) -> StopReason:
    """Return what OpenAI has no word for: the repetition, or the stop string, that ended an answer."""
    if end is None:
        return UNSET
    return "repetition" if end.reason is FinishReason.REPETITION else end.stop_text or UNSET


def _chat_logprobs(chunk: AnswerChunk | None) -> ChatLogprobs | None:
    return None if chunk is None or chunk.scored is None else ChatLogprobs(logprobs_of(chunk.scored))


def logprobs_of(scored: Iterable[Scored]) -> list[TokenLogprob]:
    """Translate tokens and their probabilities into OpenAI's format."""
    return [
        TokenLogprob(*_logprob_fields(token.token), [Logprob(*_logprob_fields(other)) for other in token.likeliest])
        for token in scored
    ]


def _text_logprobs(chunk: AnswerChunk) -> TextLogprobs | None:
    if chunk.scored is None:
        return None
    return TextLogprobs(
        [token.start for token in chunk.scored],
        [None if isnan(token.token.logprob) else token.token.logprob for token in chunk.scored],
        [_token_name(token.token) for token in chunk.scored],
        [
            None
            if isnan(token.token.logprob)
            else {_token_name(other): other.logprob for other in (*token.likeliest, token.token)}
            for token in chunk.scored
        ],
    )


def _logprob_fields(likelihood: Likelihood) -> tuple[str, float, list[int]]:
    return token_text(likelihood, ""), likelihood.logprob, list(likelihood.spelling)


def _token_name(likelihood: Likelihood) -> str:
    """Return the text of a token. The older API has no field for bytes, so bytes get a mark in the text."""
    return token_text(likelihood, "bytes:")


def token_text(likelihood: Likelihood, mark: str) -> str:
    try:
        return bytes(likelihood.spelling).decode()
    except UnicodeDecodeError:
        return mark + "".join(f"\\x{byte:02x}" for byte in likelihood.spelling)
