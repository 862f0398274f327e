"""What clients get, in OpenAI's words: models, whole answers and the parts of streamed ones. Knows no HTTP."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET, UnsetType

from headstart.engine.engine import FinishReason, Stats
from headstart.engine.likelihood import Scored
from headstart.server import logprobs
from headstart.server.logprobs import ChatLogprobs, TextLogprobs

Reason = Literal["stop", "length"]
StopReason = Literal["repetition"] | UnsetType  # what OpenAI has no word for; there it is a length


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
class Head:
    """What all replies to one request begin with."""

    id: str
    created: int
    model: str


@dataclass(frozen=True)
class Said:
    """An answer or a part of it, with its tokens where they were asked for."""

    text: str
    scored: tuple[Scored, ...] | None = None


@dataclass(frozen=True)
class Form:
    """How a kind of answer is put: whole, or in parts. A part that says nothing and has no reason is the first one."""

    whole: Callable[[Head, Said, FinishReason, Usage], Reply]
    part: Callable[[Head, Said | None, FinishReason | None, Usage | UnsetType | None], Reply]
    tally: Callable[[Head, Usage], Reply]


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


def _chat(head: Head, said: Said, ended: FinishReason, usage: Usage) -> Reply:
    choice = ChatChoice(
        AnswerMessage(said.text), _reason(ended), logprobs=_of_chat(said), stop_reason=_stop_reason(ended)
    )
    return ChatCompletion(head.id, head.created, head.model, [choice], usage)


def _chat_part(head: Head, said: Said | None, ended: FinishReason | None, usage: Usage | UnsetType | None) -> Reply:
    if said is None and ended is None:
        delta = Delta("assistant", "")
    else:
        delta = Delta(content=UNSET if said is None else said.text)
    choice = ChunkChoice(
        delta, _reason(ended) if ended else None, logprobs=_of_chat(said), stop_reason=_stop_reason(ended)
    )
    return ChatChunk(head.id, head.created, head.model, [choice], usage)


def _chat_tally(head: Head, usage: Usage) -> Reply:
    return ChatChunk(head.id, head.created, head.model, [], usage)


def _of_chat(said: Said | None) -> ChatLogprobs | None:
    return None if said is None or said.scored is None else logprobs.of_chat(said.scored)


def _text_part(head: Head, said: Said | None, ended: FinishReason | None, usage: Usage | UnsetType | None) -> Reply:
    text, scored = (said.text, said.scored) if said else ("", None)
    choice = TextChoice(
        text,
        _reason(ended) if ended else None,
        logprobs=None if scored is None else logprobs.of_text(scored),
        stop_reason=_stop_reason(ended),
    )
    return TextCompletion(head.id, head.created, head.model, [choice], usage)


def _text_tally(head: Head, usage: Usage) -> Reply:
    return TextCompletion(head.id, head.created, head.model, [], usage)


CHAT = Form(_chat, _chat_part, _chat_tally)
TEXT = Form(_text_part, _text_part, _text_tally)
