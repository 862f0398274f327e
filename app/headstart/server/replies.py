"""Replies in OpenAI's format: models, whole answers and the parts of streamed answers."""

import secrets
import struct
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import hypot, isnan
from typing import Any, ClassVar, Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from headstart.engine.engine import Finish, FinishReason, Likelihood, Scored, Stats
from headstart.tools.calls import CallPart, CallReader

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
    """The same in the older API. `text_offset`: characters of the text before a token. Null: a prompt's first token."""

    text_offset: list[int]
    token_logprobs: list[float | None]
    tokens: list[str]
    top_logprobs: list[dict[str, float] | None]


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


EMBEDS = ("embedding",)  # the capabilities of a model that writes nothing


@dataclass(frozen=True)
class Embedding:
    """The vector of a text: numbers, or 32-bit floats in base64."""

    embedding: list[float] | str
    index: int
    object: Literal["embedding"] = "embedding"


@dataclass(frozen=True)
class EmbeddingUsage:
    """Tokens of all texts."""

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


@dataclass
class Head:
    """What the replies of several answers to one request share. `each`: answers to each prompt; `answers`: of all.

    `fingerprint` is asked once the model is loaded.
    """

    model: str
    fingerprint: Callable[[], str]
    with_usage: bool = False  # at the end of a stream
    each: int = 1
    answers: int = 1
    usages: list[Usage] = field(default_factory=list)  # of the answers that have ended
    created: int = field(default_factory=lambda: int(time.time()))
    token: str = field(default_factory=lambda: secrets.token_hex(12))

    @property
    def usage(self) -> Usage:
        """That of all; each prompt counts once."""
        return total(self.usages, self.each)


class _Form:
    """What all of OpenAI's older replies to one request begin with."""

    prefix: ClassVar[str]
    last = b"data: [DONE]\n\n"

    def __init__(self, head: Head, index: int = 0) -> None:
        self._shared, self._index = head, index
        self._head = (f"{self.prefix}-{head.token}", head.created, head.model)

    @property
    def _no_usage(self) -> UnsetType | None:
        """Of an event: null where the last event will have it."""
        return None if self._shared.with_usage else UNSET

    @property
    def _tells_usage(self) -> bool:
        """Whether this is the last event of all answers, and usage was asked for."""
        return self._shared.with_usage and len(self._shared.usages) == self._shared.answers

    def sent(self, event: object) -> bytes:
        """An event as it is sent."""
        return b"data: " + msgspec.json.encode(event) + b"\n\n"


class ChatForm(_Form):
    """Replies to a conversation: whole, or in parts, of which the first is empty."""

    prefix = "chatcmpl"

    def __init__(self, head: Head, reader: CallReader | None, index: int = 0) -> None:
        """`reader` finds the calls, where there may be some."""
        super().__init__(head, index)
        self._reader = reader

    def whole(self, said: Said, ended: FinishReason, stats: Stats) -> object:
        """The whole answer."""
        text, calls = read_whole(said.text, self._reader)
        told = [ToolCall(call.id, FunctionCall(call.name, call.arguments)) for call in calls]
        message = AnswerMessage(text if text or not told else None, tool_calls=told or UNSET)
        choice = ChatChoice(message, index=self._index, logprobs=_chat_logprobs(said), **self._ending(ended))
        self._shared.usages.append(usage_of(stats))
        return ChatCompletion(*self._head, [choice], self._shared.usage, self._shared.fingerprint())

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
        self._shared.usages.append(usage_of(stats))
        if self._tells_usage:
            yield ChatChunk(*self._head, [], self._shared.usage, self._shared.fingerprint())

    def _part(self, delta: Delta, said: Said | None = None, ended: FinishReason | None = None) -> ChatChunk:
        choice = ChunkChoice(delta, index=self._index, logprobs=_chat_logprobs(said), **self._ending(ended))
        return ChatChunk(*self._head, [choice], self._no_usage, self._shared.fingerprint())

    def _ending(self, ended: FinishReason | None) -> dict[str, Any]:
        has_called = ended is FinishReason.STOP and self._reader and self._reader.calls
        return _ending(ended) | ({"finish_reason": "tool_calls"} if has_called else {})


class TextForm(_Form):
    """Replies to a text that is continued."""

    prefix = "cmpl"

    def whole(self, said: Said, ended: FinishReason, stats: Stats) -> object:
        """The whole answer."""
        self._shared.usages.append(usage_of(stats))
        return self._part(said, ended, self._shared.usage)

    def begun(self) -> Iterable[object]:
        """The first event: nothing yet."""
        yield self._part(Said(), None, self._no_usage)

    def more(self, said: Said) -> Iterable[object]:
        """The event of a part of the answer."""
        yield self._part(said, None, self._no_usage)

    def end(self, ended: FinishReason, stats: Stats) -> Iterable[object]:
        """The last events."""
        yield self._part(Said(), ended, self._no_usage)
        self._shared.usages.append(usage_of(stats))
        if self._tells_usage:
            yield TextCompletion(*self._head, [], self._shared.usage, self._shared.fingerprint())

    def _part(self, said: Said, ended: FinishReason | None, usage: Usage | UnsetType | None) -> TextCompletion:
        choice = TextChoice(said.text, index=self._index, logprobs=_text_logprobs(said), **_ending(ended))
        return TextCompletion(*self._head, [choice], usage, self._shared.fingerprint())


@dataclass
class Block:
    """Some text of an answer, or a call where it has a name; `text` is then its arguments, as far as they have come."""

    index: int
    id: str = ""  # of the call
    name: str = ""
    text: str = ""
    scored: tuple[Scored, ...] = ()
    is_whole: bool = False


class BlockForm:
    """Replies of blocks, one after another, and named events that build them: Anthropic's, and OpenAI's newer ones."""

    last = b""

    def __init__(self, reader: CallReader | None) -> None:
        """`reader` finds the calls, where there may be some."""
        self.blocks: list[Block] = []
        self._reader = reader
        self._is_open = False  # the last block
        self._scored: tuple[Scored, ...] = ()  # those of text that is held back

    def reply(self, ended: FinishReason, stats: Stats) -> dict[str, Any]:
        """The whole answer, of its blocks."""
        raise NotImplementedError

    def opened(self, block: Block) -> Iterable[dict[str, Any]]:
        """The events of a block that begins."""
        raise NotImplementedError

    def grown(self, block: Block, said: Said) -> Iterable[dict[str, Any]]:
        """The event of what was added at the end of a block."""
        raise NotImplementedError

    def closed(self, block: Block) -> Iterable[dict[str, Any]]:
        """The events of a block that is whole, or was cut off."""
        raise NotImplementedError

    def ending(self, ended: FinishReason, stats: Stats) -> Iterable[dict[str, Any]]:
        """The last events, behind those of the last block."""
        raise NotImplementedError

    def whole(self, said: Said, ended: FinishReason, stats: Stats) -> object:
        """The whole answer."""
        for _ in (*self.more(said), *self.end(ended, stats)):
            pass
        return self.reply(ended, stats)

    def more(self, said: Said) -> Iterable[dict[str, Any]]:
        """The events of a part of the answer."""
        self._scored += said.scored or ()
        text, parts = self._reader.push(said.text) if self._reader else (said.text, [])
        yield from self._write(text)
        for part in parts:
            if part.name:
                self._scored = ()
                yield from self._open(Block(len(self.blocks), part.id, part.name))
            else:
                yield from self._grow(part.arguments)

    def end(self, ended: FinishReason, stats: Stats) -> Iterable[dict[str, Any]]:
        """The last events."""
        yield from self._write(self._reader.flush() if self._reader else "")
        yield from self._close(ended)
        yield from self.ending(ended, stats)

    def sent(self, event: object) -> bytes:
        """An event with its name."""
        data = msgspec.to_builtins(event)
        return f"event: {data['type']}\n".encode() + b"data: " + msgspec.json.encode(data) + b"\n\n"

    @property
    def has_called(self) -> bool:
        """Whether one of the blocks is a call."""
        return any(block.name for block in self.blocks)

    def _write(self, text: str) -> Iterable[dict[str, Any]]:
        if not text:
            return
        if not self._is_open or self.blocks[-1].name:
            yield from self._open(Block(len(self.blocks)))
        yield from self._grow(text)

    def _open(self, block: Block) -> Iterable[dict[str, Any]]:
        yield from self._close(FinishReason.STOP)
        self.blocks.append(block)
        self._is_open = True
        yield from self.opened(block)

    def _grow(self, text: str) -> Iterable[dict[str, Any]]:
        block, said = self.blocks[-1], Said(text, self._scored)
        block.text += text
        block.scored += self._scored
        self._scored = ()
        yield from self.grown(block, said)

    def _close(self, ended: FinishReason) -> Iterable[dict[str, Any]]:
        if self._is_open:
            self._is_open = False
            self.blocks[-1].is_whole = ended is FinishReason.STOP
            yield from self.closed(self.blocks[-1])


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


def embeddings_of(finish: Finish, model: str, dimensions: int | None, *, as_base64: bool) -> Embeddings:
    """The reply with the vectors of a request, cut to `dimensions` and brought back to the length 1 where asked for."""
    vectors = [_cut(vector, dimensions) if dimensions else vector for vector in finish.vectors]
    data = [
        Embedding(b64encode(vector).decode() if as_base64 else _numbers(vector), index)
        for index, vector in enumerate(vectors)
    ]
    tokens = finish.stats.prompt_tokens
    return Embeddings(data, model, EmbeddingUsage(tokens, tokens))


def _cut(vector: bytes, dimensions: int) -> bytes:
    kept = _numbers(vector)[:dimensions]
    length = hypot(*kept) or 1.0
    return struct.pack(f"<{len(kept)}f", *(number / length for number in kept))


def _numbers(vector: bytes) -> list[float]:
    return [number for (number,) in struct.iter_unpack("<f", vector)]


def usage_of(stats: Stats) -> Usage:
    """The engine's figures in OpenAI's format."""
    return Usage(
        stats.prompt_tokens,
        stats.output_tokens,
        stats.prompt_tokens + stats.output_tokens,
        PromptDetails(stats.reused_tokens),
        CompletionDetails(stats.accepted, stats.drafted - stats.accepted),
    )


def total(usages: Sequence[Usage], each: int) -> Usage:
    """The sum over several answers, of which `each` in a row have the same prompt."""
    prompt = sum(usage.prompt_tokens for usage in usages[::each])
    cached = sum(usage.prompt_tokens_details.cached_tokens for usage in usages[::each])
    details = [usage.completion_tokens_details for usage in usages]
    accepted = sum(detail.accepted_prediction_tokens for detail in details)
    rejected = sum(detail.rejected_prediction_tokens for detail in details)
    written = sum(usage.completion_tokens for usage in usages)
    return Usage(prompt, written, prompt + written, PromptDetails(cached), CompletionDetails(accepted, rejected))


def joined(replies: Sequence[Any]) -> object:
    """One reply of those of several answers: the choices of all, and the usage of the last, which is that of all."""
    if len(replies) == 1:
        return replies[0]
    choices = [choice for reply in replies for choice in reply.choices]
    return replace(replies[-1], choices=choices)


def _ending(ended: FinishReason | None) -> dict[str, Any]:
    """Why an answer ended, in OpenAI's words: every limit is a length. OpenAI has no word for a repetition."""
    return {
        "finish_reason": ended and ("stop" if ended is FinishReason.STOP else "length"),
        "stop_reason": "repetition" if ended is FinishReason.REPETITION else UNSET,
    }


def _chat_logprobs(said: Said | None) -> ChatLogprobs | None:
    return None if said is None or said.scored is None else ChatLogprobs(logprobs_of(said.scored))


def logprobs_of(scored: Iterable[Scored]) -> list[TokenLogprob]:
    """Tokens in OpenAI's format."""
    return [TokenLogprob(*_told(each.token), [Logprob(*_told(other)) for other in each.likeliest]) for each in scored]


def _text_logprobs(said: Said) -> TextLogprobs | None:
    if said.scored is None:
        return None
    return TextLogprobs(
        [each.start for each in said.scored],
        [None if isnan(each.token.logprob) else each.token.logprob for each in said.scored],
        [_named(each.token) for each in said.scored],
        [
            None
            if isnan(each.token.logprob)
            else {_named(other): other.logprob for other in (*each.likeliest, each.token)}
            for each in said.scored
        ],
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
