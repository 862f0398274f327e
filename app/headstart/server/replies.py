"""What clients get, in OpenAI's words: models, whole answers and the parts of streamed ones."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from msgspec import UNSET, UnsetType

from headstart.engine.engine import FinishReason, Likelihood, Scored, Stats

Reason = Literal["stop", "length"]
StopReason = Literal["repetition"] | UnsetType  # what OpenAI has no word for; there it is a length


@dataclass(frozen=True)
class Logprob:
    r"""A token. Where its bytes alone are no text, `token` has them as \xf0\x9f; a text to compare is in `bytes`."""

    token: str
    logprob: float
    bytes: list[int]


@dataclass(frozen=True)
class TokenLogprob(Logprob):
    """A token of the answer, and the likeliest ones in its place."""

    top_logprobs: list[Logprob]


@dataclass(frozen=True)
class ChatLogprobs:
    """The model's own probabilities: before temperature, penalties, top_p and whatever else decides on a token."""

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
    """What answers here."""

    id: str
    created: int  # seconds since 1970
    object: Literal["model"] = "model"
    owned_by: str = "headstart"


@dataclass(frozen=True)
class ModelList:
    """All of them: one."""

    data: list[Model]
    object: Literal["list"] = "list"


@dataclass(frozen=True)
class PromptDetails:
    """`cached_tokens`: those of the prompt that an earlier request had left in memory."""

    cached_tokens: int


@dataclass(frozen=True)
class CompletionDetails:
    """What guessing ahead gave: candidates that the model confirmed, and those that it did not."""

    accepted_prediction_tokens: int
    rejected_prediction_tokens: int


@dataclass(frozen=True)
class Usage:
    """Tokens of a request. Rejected candidates are no part of the answer, so `completion_tokens` has none of them."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


@dataclass(frozen=True)
class AnswerMessage:
    """The turn that was written."""

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
    """What a part of a streamed answer adds."""

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
    """An event of a streamed answer to a conversation. `usage` is there where it was asked for, in the last one."""

    id: str
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: Usage | UnsetType | None = UNSET
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"


@dataclass(frozen=True)
class TextChoice:
    """A text written on; a part of it where it is streamed."""

    text: str
    finish_reason: Reason | None = None
    index: int = 0
    logprobs: TextLogprobs | None = None
    stop_reason: StopReason = UNSET


@dataclass(frozen=True)
class TextCompletion:
    """Reply to POST /v1/completions, and an event of a streamed one."""

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
    """How the answer to a conversation is put: whole, or in parts, of which the first says nothing."""

    prefix = "chatcmpl"

    def whole(self, said: Said, ended: FinishReason, usage: Usage) -> Reply:
        """All of it."""
        choice = ChatChoice(
            AnswerMessage(said.text), _reason(ended), logprobs=_of_chat(said), stop_reason=_stop_reason(ended)
        )
        return ChatCompletion(self.id, self.created, self.model, [choice], usage)

    def part(self, said: Said | None, ended: FinishReason | None, usage: Usage | UnsetType | None) -> Reply:
        """A piece of it, or its end."""
        if said is None and ended is None:
            delta = Delta(role="assistant", content="")
        else:
            delta = Delta(content=said.text) if said else Delta()
        choice = ChunkChoice(
            delta, _reason(ended) if ended else None, logprobs=_of_chat(said), stop_reason=_stop_reason(ended)
        )
        return ChatChunk(self.id, self.created, self.model, [choice], usage)

    def tally(self, usage: Usage) -> Reply:
        """The figures alone."""
        return ChatChunk(self.id, self.created, self.model, [], usage)


class TextForm(_Form):
    """How a text that is written on is put."""

    prefix = "cmpl"

    def part(self, said: Said | None, ended: FinishReason | None, usage: Usage | UnsetType | None) -> Reply:
        """A piece of it, or its end."""
        said = said or Said()
        choice = TextChoice(
            said.text,
            _reason(ended) if ended else None,
            logprobs=None if said.scored is None else of_text(said.scored),
            stop_reason=_stop_reason(ended),
        )
        return TextCompletion(self.id, self.created, self.model, [choice], usage)

    whole = part

    def tally(self, usage: Usage) -> Reply:
        """The figures alone."""
        return TextCompletion(self.id, self.created, self.model, [], usage)


Form = ChatForm | TextForm


def usage_of(stats: Stats) -> Usage:
    """The engine's figures in OpenAI's words."""
    return Usage(
        stats.prompt_tokens,
        stats.output_tokens,
        stats.prompt_tokens + stats.output_tokens,
        PromptDetails(stats.reused_tokens),
        CompletionDetails(stats.accepted, stats.drafted - stats.accepted),
    )


def _reason(ended: FinishReason) -> Reason:
    """The engine's reason in OpenAI's words: whatever limit was reached is a length."""
    return "stop" if ended is FinishReason.STOP else "length"


def _stop_reason(ended: FinishReason | None) -> StopReason:
    return "repetition" if ended is FinishReason.REPETITION else UNSET


def _of_chat(said: Said | None) -> ChatLogprobs | None:
    return None if said is None or said.scored is None else of_chat(said.scored)


def of_chat(scored: Sequence[Scored]) -> ChatLogprobs:
    """As chat completions have it."""
    return ChatLogprobs(
        [TokenLogprob(*_told(each.token), [Logprob(*_told(other)) for other in each.likeliest]) for each in scored]
    )


def of_text(scored: Sequence[Scored]) -> TextLogprobs:
    """As completions have it."""
    return TextLogprobs(
        [each.start for each in scored],
        [each.token.logprob for each in scored],
        [_named(each.token) for each in scored],
        [{_named(other): other.logprob for other in (*each.likeliest, each.token)} for each in scored],
    )


def _told(likelihood: Likelihood) -> tuple[str, float, list[int]]:
    return _text(likelihood, ""), likelihood.logprob, list(likelihood.spelling)


def _named(likelihood: Likelihood) -> str:
    """OpenAI's older API has no bytes beside the text, so it marks them."""
    return _text(likelihood, "bytes:")


def _text(likelihood: Likelihood, mark: str) -> str:
    try:
        return bytes(likelihood.spelling).decode()
    except UnicodeDecodeError:
        return mark + "".join(f"\\x{byte:02x}" for byte in likelihood.spelling)
