"""Replies in OpenAI's format: models, whole answers and the parts of streamed answers."""

import secrets
import time
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from msgspec import UNSET, UnsetType

from headstart.engine.engine import FinishReason, Likelihood, Scored, Stats

Reason = Literal["stop", "length"]
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
    """The served model."""

    id: str
    created: int  # seconds since 1970
    object: Literal["model"] = "model"
    owned_by: str = "headstart"


@dataclass(frozen=True)
class ModelList:
    """All models: one."""

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
class AnswerMessage:
    """The turn of the assistant."""

    content: str
    role: Literal["assistant"] = "assistant"
    refusal: None = None


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
    object: Literal["chat.completion"] = "chat.completion"


@dataclass(frozen=True)
class Delta:
    """The text that a part of a streamed answer adds."""

    role: Literal["assistant"] | UnsetType = UNSET
    content: str | UnsetType = UNSET


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
    usage: Usage | UnsetType | None = UNSET
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
    usage: Usage | UnsetType | None = UNSET
    object: Literal["text_completion"] = "text_completion"


Reply = ChatCompletion | ChatChunk | TextCompletion


@dataclass(frozen=True)
class Said:
    """An answer or a part of it, with its tokens where they were asked for."""

    text: str = ""
    scored: tuple[Scored, ...] | None = None


@dataclass(frozen=True)
class _Form:
    """What all replies to one request begin with."""

    id: str
    created: int
    model: str
    prefix: ClassVar[str]

    @classmethod
    def new(cls, model: str) -> Self:
        """For a new request."""
        return cls(f"{cls.prefix}-{secrets.token_hex(12)}", int(time.time()), model)


class ChatForm(_Form):
    """Replies to a conversation: whole, or in parts, of which the first is empty."""

    prefix = "chatcmpl"

    def whole(self, said: Said, ended: FinishReason, usage: Usage) -> Reply:
        """The whole answer."""
        choice = ChatChoice(AnswerMessage(said.text), logprobs=_chat_logprobs(said), **_ending(ended))
        return ChatCompletion(self.id, self.created, self.model, [choice], usage)

    def part(self, said: Said | None, ended: FinishReason | None, usage: Usage | UnsetType | None) -> Reply:
        """A piece of it, or its end."""
        delta = Delta(content=said.text) if said else Delta() if ended else Delta(role="assistant", content="")
        choice = ChunkChoice(delta, logprobs=_chat_logprobs(said), **_ending(ended))
        return ChatChunk(self.id, self.created, self.model, [choice], usage)

    def tally(self, usage: Usage) -> Reply:
        """The figures alone."""
        return ChatChunk(self.id, self.created, self.model, [], usage)


class TextForm(_Form):
    """Replies to a text that is continued."""

    prefix = "cmpl"

    def part(self, said: Said | None, ended: FinishReason | None, usage: Usage | UnsetType | None) -> Reply:
        """A piece of it, or its end."""
        said = said or Said()
        choice = TextChoice(said.text, logprobs=_text_logprobs(said), **_ending(ended))
        return TextCompletion(self.id, self.created, self.model, [choice], usage)

    whole = part

    def tally(self, usage: Usage) -> Reply:
        """The figures alone."""
        return TextCompletion(self.id, self.created, self.model, [], usage)


Form = ChatForm | TextForm


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
