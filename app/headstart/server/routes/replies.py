"""Parts that the replies of several APIs share: usage, probabilities, formatters and lists of models."""

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType

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
class ListedModel:
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

    data: list[ListedModel]
    object: Literal["list"] = "list"


@dataclass(frozen=True)
class Health:
    """Reply of a server that answers."""

    status: Literal["ok"] = "ok"


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

    def start(self) -> Iterable[object]:
        """Return the first events, unless the client has them."""

    def wait(self) -> Iterable[object]:
        """Return events for a client that waits: the first ones, or one that adds nothing."""

    def extend(self, chunk: AnswerChunk) -> Iterable[object]:
        """Return the events of a part of the answer."""

    def finish(self, end: Finish) -> Iterable[object]:
        """Return the last events."""

    def encode(self, event: object) -> bytes:
        """Return an event as bytes of the stream."""


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


def logprobs_of(scored: Iterable[Scored]) -> list[TokenLogprob]:
    """Translate tokens and their probabilities into OpenAI's format."""
    return [
        TokenLogprob(*_logprob_fields(token.token), [Logprob(*_logprob_fields(other)) for other in token.top_logprobs])
        for token in scored
    ]


def _logprob_fields(likelihood: Likelihood) -> tuple[str, float, list[int]]:
    return token_text(likelihood, ""), likelihood.logprob, list(likelihood.spelling)


def token_text(likelihood: Likelihood, mark: str) -> str:
    try:
        return bytes(likelihood.spelling).decode()
    except UnicodeDecodeError:
        return mark + "".join(f"\\x{byte:02x}" for byte in likelihood.spelling)
