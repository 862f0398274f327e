"""OpenAI's API for continued texts: requests, replies and events."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isnan
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, structs

from headstart.engine.engine import Finish, Likelihood, PromptRequest
from headstart.server.errors import invalid
from headstart.server.requests.bodies import MAX_ANSWERS, AnswerCount, AnswerRequest, TokenId, TopLogprobs
from headstart.server.requests.content import texts_or_tokens
from headstart.server.requests.translation import Defaults, fan_out, prompt_request
from headstart.server.routes.replies import (
    AnswerChunk,
    OpenAIFormatter,
    Reason,
    StopReason,
    Usage,
    reason_of,
    stop_reason_of,
    token_text,
    usage_of,
)

_Prompts = Annotated[list[str | TokenId | list[TokenId]], Meta(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class TextRequest(AnswerRequest):
    """Body of POST /v1/completions."""

    prompt: Annotated[str | _Prompts, Meta(description="A text, its tokens, or a list of texts or of lists of tokens.")]
    n: AnswerCount | None = None
    echo: Annotated[bool, Meta(description="Begin each answer with its prompt, and its `logprobs`.")] | None = None
    suffix: Annotated[str, Meta(description="The answer fills the gap before it, if the model can.")] | None = None
    logprobs: bool | TopLogprobs | None = None
    add_special_tokens: Annotated[bool, Meta(description="Default: true.")] | None = None


_COMPLETION_TOKENS = 16  # default length of a completion, as in OpenAI's API


def text_to_requests(body: TextRequest, defaults: Defaults) -> list[PromptRequest]:
    """Translate a request to continue texts: one engine request for each answer. Raises RefusedError."""
    prompts = _prompts(body)
    if len(prompts) * (body.n or 1) > MAX_ANSWERS:
        raise invalid(f"A request may ask for {MAX_ANSWERS} answers at most: send fewer prompts at a time.", "prompt")
    if body.echo and body.suffix:
        raise invalid("What fills a gap is told alone: leave out `echo` or `suffix`.", "echo")
    defaults = replace(defaults, length=_COMPLETION_TOKENS)
    top_logprobs = None if body.logprobs is None or body.logprobs is False else int(body.logprobs)
    requests = list[PromptRequest]()
    for prompt in prompts:
        request = structs.replace(
            prompt_request(body, defaults, prompt, body.suffix or ""),
            top_logprobs=top_logprobs,
            echo=bool(body.echo),
            add_special=body.add_special_tokens is not False,
        )
        requests += fan_out(request, body.n)
    return requests


def _prompts(body: TextRequest) -> list[str | tuple[int, ...]]:
    prompts = texts_or_tokens(body.prompt, "prompt")
    if not body.suffix and not all(prompts):
        raise invalid("`prompt` has nothing in it: send at least one character or token.", "prompt")
    return prompts


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
            else {_token_name(other): other.logprob for other in (*token.top_logprobs, token.token)}
            for token in chunk.scored
        ],
    )


def _token_name(likelihood: Likelihood) -> str:
    """Return the text of a token. The older API has no field for bytes, so bytes get a mark in the text."""
    return token_text(likelihood, "bytes:")
