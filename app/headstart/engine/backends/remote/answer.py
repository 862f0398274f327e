"""An answer of a server, as it arrives."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Struct

from headstart.engine.backends.remote.errors import message_in
from headstart.engine.engine import (
    Call,
    FinishReason,
    Likelihood,
    Message,
    Origin,
    Piece,
    Remote,
    Round,
    Scored,
    Stats,
    Step,
    Timing,
    Tools,
    written_call,
)
from headstart.engine.text.thinking import THINK, ThinkingReader
from headstart.errors import RemoteError

_ROUND = Round((), 0, 0, Origin.UNKNOWN, Timing())  # a server reports neither tokens nor rounds
_REASONS = {"length": FinishReason.LENGTH, "content_filter": FinishReason.CONTENT_FILTER}  # all others: STOP
_NO_MARK = "\ufdd1"  # which no text has: Unicode reserves it


class _Function(Struct):
    name: str | None = None
    arguments: str | None = None


class _CallPart(Struct):
    index: int = 0
    function: _Function | None = None


class _Logprob(Struct):
    token: str = ""
    logprob: float = 0.0
    bytes: list[int] | None = None
    top_logprobs: list["_Logprob"] | None = None


class _Logprobs(Struct):
    content: list[_Logprob] | None = None


class _Part(Struct):  # Mistral's
    type: str = ""
    text: str = ""
    thinking: list["_Part"] | None = None


class _Delta(Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None  # OpenAI: in place of an answer
    tool_calls: list[_CallPart] | None = None
    reasoning_content: str | None = None  # llama.cpp, vLLM and others
    reasoning: str | None = None  # OpenRouter and others


class _ChunkChoice(Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Details(Struct):
    cached_tokens: int | None = None  # of the prompt
    accepted_prediction_tokens: int | None = None
    rejected_prediction_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None


class _Timings(Struct):  # llama.cpp's
    draft_n: int | None = None
    draft_n_accepted: int | None = None


class _Chunk(Struct):
    choices: list[_ChunkChoice] | None = None
    usage: _Usage | None = None
    timings: _Timings | None = None
    error: Any = None


class RemoteAnswer:
    """An answer so far. Thinking comes in a field of its own, or between tags at the beginning of the text."""

    def __init__(self, remote: Remote, continued: Message | None) -> None:
        """`continued`: the answer to continue, if there is one."""
        self.reason: FinishReason | None = None
        self.has_ended = False  # the server announced the end
        self._remote = remote
        self._is_in_section = bool(continued and continued.thinking and not continued.content)
        self._reader = ThinkingReader(THINK.begins, THINK.ends)
        if continued and continued.content:
            self._reader.resume()
        self._apart: ThinkingReader | None = None  # of thinking that has a field of its own
        self._usage, self._timings = _Usage(), _Timings()
        self._started = self._first = self._last = time.perf_counter()
        self._chunks = self._thoughts = 0  # all of them, and those that end within thinking
        self._length = 0  # characters of the content
        self._left_out: int | None = None  # characters before the answer proper; None: it has not begun
        self._called: dict[int, list[str]] = {}  # by index: name, arguments
        self._scored: list[Scored] = []  # not returned yet; `start` counts from the beginning of the content

    @property
    def has_begun(self) -> bool:
        return bool(self._chunks or self._called)

    def read(self, data: bytes) -> tuple[str, str]:
        """Return the thinking and the text of a chunk. Raises RemoteError."""
        if data == b"[DONE]":
            self.has_ended = True
            return "", ""
        try:
            chunk = msgspec.convert(json.loads(data), _Chunk, strict=False)
            message = message_in(chunk.error)
        except (ValueError, RecursionError, msgspec.ValidationError):
            raise self._broken_off("what came is not OpenAI's protocol") from None
        if chunk.error:
            raise self._broken_off(message or "it gives no reason")
        self._usage, self._timings = chunk.usage or self._usage, chunk.timings or self._timings
        choice = chunk.choices[0] if chunk.choices else _ChunkChoice()
        if choice.finish_reason:
            self.reason = _REASONS.get(choice.finish_reason, FinishReason.STOP)
        delta = choice.delta or _Delta()
        for part in delta.tool_calls or ():
            function, called = part.function or _Function(), self._called.setdefault(part.index, ["", ""])
            called[0], called[1] = called[0] + (function.name or ""), called[1] + (function.arguments or "")
        thought, content = _parts(delta)
        if not thought:
            self._score(choice.logprobs, content)
        self._length += len(content)
        if thought or content:
            self._last = time.perf_counter()
            self._first = self._first if self._chunks else self._last
            self._chunks += 1
        thinking, text = self._separate(thought, content)
        self._thoughts += bool(thought or self._reader.is_thinking)
        return thinking, self._begun(text)

    def finish(self) -> tuple[str, str]:
        """Return the thinking and the text that were held back."""
        thinking, text = (self._apart or self._reader).finish()
        return thinking, self._begun(text)

    def _separate(self, thought: str, content: str) -> tuple[str, str]:
        """Return the thinking and the text of a chunk without the white space around thinking."""
        if thought and not self._apart and self._left_out is None:
            self._apart = ThinkingReader(_NO_MARK, _NO_MARK, place="thinking")
            if self._is_in_section:
                self._apart.resume()
        if self._apart is None:
            thinking, text = self._reader.push(content)
            return thought + thinking, text
        if self._apart.is_thinking:
            thought, _ = self._apart.push(thought)
            if content:  # the answer begins, also if it quotes the tags
                self._apart.push(_NO_MARK)
        return thought, self._apart.push(content)[1] if content else ""

    def _begun(self, text: str) -> str:
        if text and self._left_out is None:
            self._left_out = self._length - len(text)
        return text

    def scored(self, shown: int) -> tuple[Scored, ...]:
        """Return the tokens not yet returned among those of the first `shown` characters of the answer proper."""
        if self._left_out is None:
            return ()
        begin, end = self._left_out, self._left_out + shown
        fresh = tuple(replace(score, start=score.start - begin) for score in self._scored if begin <= score.start < end)
        self._scored = [score for score in self._scored if score.start >= end]
        return fresh

    def calls(self, tools: Tools | None) -> str:
        """Return the tool calls as text. Raises RemoteError for a call of an unknown tool."""
        if not self._called:
            return ""
        names = {tool.name for tool in tools.callable} if tools else set[str]()
        calls = [Call(name, arguments or "{}") for _, (name, arguments) in sorted(self._called.items())]
        unknown = next((call.name for call in calls if call.name not in names), None)
        if unknown is not None:
            raise RemoteError(
                "{name} wants to call the tool {tool!r}, which it was not offered; what it wrote besides is kept: "
                "ask again, or turn off the tools of that server.",
                name=self._remote.name,
                tool=unknown,
            )
        if self.reason is FinishReason.LENGTH:  # the last call may be incomplete
            calls = [call for call in calls if _is_object(call.arguments)]
        if not all(_is_object(call.arguments) for call in calls):
            raise self._broken_off("the arguments of a tool are not a JSON object")
        return "\n".join(written_call(call) for call in (calls if tools and tools.parallel else calls[:1]))

    def stats(self, context: int) -> Stats:
        """Return the known figures; `context` is the model's. Each chunk counts as a token if the server counts none.

        Only the server could know the gain of speculation.
        """
        prompt = self._usage.prompt_tokens or 0
        written = self._usage.completion_tokens or self._chunks
        read, guesses = self._usage.prompt_tokens_details, self._usage.completion_tokens_details or _Details()
        accepted = guesses.accepted_prediction_tokens or self._timings.draft_n_accepted or 0
        drafted = self._timings.draft_n or accepted + (guesses.rejected_prediction_tokens or 0)
        thinking = self._thoughts if guesses.reasoning_tokens is None else guesses.reasoning_tokens
        return Stats(
            prompt_tokens=prompt,
            reused_tokens=(read.cached_tokens if read else None) or 0,
            output_tokens=written,
            rounds=max(0, written - 1 - accepted) if drafted else 0,
            drafted=drafted,
            accepted=accepted,
            ttft_ms=(self._first - self._started) * 1000.0,
            decode_ms=(self._last - self._first) * 1000.0,
            by_origin={Origin.UNKNOWN.value: written} if written else {},
            by_part={},
            ledger_ms=0.0,
            plain_ms=None,
            context_used=prompt + written if prompt else 0,
            context_length=context,
            thinking_tokens=min(thinking, written),
        )

    def _score(self, logprobs: _Logprobs | None, text: str) -> None:
        """Note the log-probabilities of a chunk's tokens. Only the start of its first token is known."""
        start = self._length
        for item in (logprobs.content if logprobs else None) or ():
            top_logprobs = tuple(map(_likelihood, item.top_logprobs or ()))
            self._scored.append(Scored(_likelihood(item), start, top_logprobs))
            start = min(start + len(item.token), self._length + len(text))

    def _broken_off(self, detail: str) -> RemoteError:
        return RemoteError(
            "{name} broke off the answer ({detail}); ask again, or look into the log of that server.",
            name=self._remote.name,
            detail=detail,
        )


def _parts(delta: _Delta) -> tuple[str, str]:
    """Return the thinking and the content of a chunk."""
    thought, content = delta.reasoning_content or delta.reasoning or "", delta.content or delta.refusal or ""
    if isinstance(content, str):
        return thought, content
    thoughts = (inner.text for part in content for inner in part.thinking or ())
    return thought + "".join(thoughts), "".join(part.text for part in content)


def steps_of(text: str, scored: tuple[Scored, ...] = (), thinking: str = "") -> Iterator[Step]:
    if text or scored or thinking:
        pieces = (Piece(thinking, Origin.UNKNOWN, is_thinking=True), Piece(text, Origin.UNKNOWN))
        yield Step(text, _ROUND, tuple(piece for piece in pieces if piece.text), scored)


def _likelihood(entry: _Logprob) -> Likelihood:
    return Likelihood(tuple(entry.token.encode() if entry.bytes is None else entry.bytes), entry.logprob)


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
