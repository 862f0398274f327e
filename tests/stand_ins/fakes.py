"""Engines without a model, whose answers a test has written down."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from bench.toy import ROUNDS, pieces_of, step_of
from headstart.engine.engine import (
    Event,
    Finish,
    FinishReason,
    GenerationRequest,
    Likelihood,
    LoadOptions,
    Origin,
    Piece,
    Prefill,
    PromptRequest,
    Request,
    Round,
    Scored,
    Stats,
    Step,
    Timing,
)
from headstart.errors import ContextOverflowError

FOX = "The quick brown fox jumps over the lazy dog."  # what a scripted engine answers
Script = str | tuple[str, str] | Exception  # a pair: thinking and text

_TIMING = {
    Origin.TARGET: Timing(0.0, 70.0, 1.0),
    Origin.DRAFT: Timing(36.0, 78.0, 1.0),
    Origin.NGRAM: Timing(0.0, 84.0, 1.0),
}
_PLAIN_MS = 71.0
HALF = Likelihood((0xF0, 0x9F), -1.5)


@dataclass
class ScriptedEngine:
    """Answers the n-th request with the n-th script (the last one again when they run out), word by word.

    An exception in the script is raised. `pause` seconds pass before each round, cut short by `cancel`, and
    `before_round` is called with the number of the request and that of the round. `requests` holds what was asked.
    Prompt tokens are words; a prompt longer than `context` overflows. A script ends before the first stop string in it.
    """

    scripts: Sequence[Script] = (FOX,)
    pause: float = 0.0
    context: int = 4096
    requests: list[Any] = field(default_factory=list, repr=False)  # a failing test shows its arguments
    closed: bool = False
    before_round: Callable[[int, int], object] = lambda request, number: None

    def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.requests.append(request)
        assert isinstance(request, GenerationRequest), "it writes"
        if isinstance(request, PromptRequest):
            texts = [str(request.prompt)]
        else:
            texts = [turn.content for turn in request.messages]
        prompt = sum(len(text.split()) for text in texts)
        if isinstance(script, Exception):
            raise script
        if request.tokens_only:
            yield Finish(FinishReason.STOP, _stats([], prompt, self.context), tuple(range(prompt)))
            return
        if prompt >= self.context:
            raise ContextOverflowError(f"The prompt has {prompt} tokens and the context only {self.context}.")
        yield Prefill(prompt, prompt)
        if isinstance(request, PromptRequest) and request.echo:
            yield Step(str(request.prompt), Round((), 0, 0, Origin.TARGET, Timing()))
        thinking, text = script if isinstance(script, tuple) else ("", script)
        yield from self._rounds(thinking, text, request, cancel or threading.Event(), prompt)

    def close(self) -> None:
        self.closed = True

    def _rounds(
        self, thinking: str, text: str, request: GenerationRequest, cancel: threading.Event, prompt: int
    ) -> Iterator[Event]:
        end, stop = min(((text.find(stop), stop) for stop in request.stop if stop in text), default=(None, ""))
        thoughts, whole = len(_words(thinking)), _words(thinking) + _words(text[:end])
        words = whole[: request.max_new_tokens]
        reason = FinishReason.STOP if len(words) == len(whole) else FinishReason.LENGTH
        rounds, start = list[Round](), 0
        while words:
            self.before_round(len(self.requests), len(rounds) + 1)
            self._wait(cancel)
            if cancel.is_set():
                reason = FinishReason.CANCELLED
                break
            pieces = pieces_of(words, ROUNDS[len(rounds) % len(ROUNDS)])
            step = step_of(pieces, _TIMING[pieces[0].origin])
            written = sum(len(item.tokens) for item in rounds)
            marked = [replace(piece, is_thinking=at < thoughts) for at, piece in enumerate(pieces, start=written)]
            answer = "".join(piece.text for piece in marked if not piece.is_thinking)
            step = replace(step, text=answer, pieces=tuple(marked))
            scored = () if request.top_logprobs is None else _scored(pieces, start, request.top_logprobs)
            yield replace(step, scored=scored)
            rounds.append(step.round)
            start += len(step.text)
            words = words[len(pieces) :]
        ids = tuple(token.id for item in rounds for token in item.tokens)
        stop_text = stop if reason is FinishReason.STOP else ""
        stats = replace(_stats(rounds, prompt, self.context), thinking_tokens=min(thoughts, len(ids)))
        yield Finish(reason, stats, ids, stop_text=stop_text)

    def _wait(self, cancel: threading.Event) -> None:
        # Not cancel.wait(): a main thread waiting on a lock would see Ctrl+C only afterwards on some systems.
        end = time.monotonic() + self.pause
        while self.pause and time.monotonic() < end and not cancel.is_set():
            time.sleep(0.005)


def deliver(number: signal.Signals) -> None:
    """Call the handler of a signal. A real signal may meet a stack that engines of other tests spoiled."""
    handler = signal.getsignal(number)
    assert callable(handler)
    handler(number, None)


@dataclass
class RecordingLoad:
    """A stand-in for loading models: it records the options and returns one engine."""

    engine: ScriptedEngine = field(default_factory=ScriptedEngine)
    options: list[LoadOptions] = field(default_factory=list)

    def __call__(self, options: LoadOptions) -> ScriptedEngine:
        """Return the engine, whatever the options."""
        self.options.append(options)
        return self.engine


def _words(script: str) -> list[str]:
    """Split a text into tokens: each word with the space before it."""
    first, *rest = script.split(" ")
    return [word for word in (first, *(f" {word}" for word in rest)) if word]


def _scored(pieces: tuple[Piece, ...], start: int, top_logprobs: int) -> tuple[Scored, ...]:
    """Return scores in which each word is the likeliest token, followed by half a character."""
    tokens = [Likelihood(tuple(piece.text.encode()), -0.25) for piece in pieces]
    starts = accumulate((len(piece.text) for piece in pieces), initial=start)
    return tuple(Scored(token, at, (token, HALF)[:top_logprobs]) for token, at in zip(tokens, starts, strict=False))


def _stats(rounds: list[Round], prompt: int, context: int) -> Stats:
    tokens = [token for item in rounds for token in item.tokens]
    timings = [item.timing for item in rounds[1:]]
    decode_ms = sum(timing.total_ms for timing in timings)
    return Stats(
        prompt_tokens=prompt,
        reused_tokens=prompt // 2,
        output_tokens=len(tokens),
        rounds=len(rounds[1:]),  # the first one brings the first token, with the prompt's own pass
        drafted=sum(item.drafted for item in rounds),
        accepted=sum(item.accepted for item in rounds),
        ttft_ms=120.0,
        decode_ms=decode_ms,
        by_origin=Counter(token.origin.value for token in tokens),
        by_part={
            "draft": sum(timing.draft_ms for timing in timings),
            "verify": sum(timing.verify_ms for timing in timings),
            "other": sum(timing.other_ms for timing in timings),
        },
        ledger_ms=_PLAIN_MS * len(tokens) - decode_ms,
        plain_ms=_PLAIN_MS if tokens else None,
        context_used=prompt + len(tokens),
        context_length=context,
    )
