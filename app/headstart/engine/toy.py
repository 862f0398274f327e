"""An engine without a model, for self-checks and tests: it answers at once, the same each time, and fails on demand.

A user message beginning with `toy:` asks for something special; see ToyEngine. Knows nothing of OpenVINO.
"""

import logging
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, cycle
from typing import NoReturn

from headstart import __version__
from headstart.engine import toy_tuning
from headstart.engine.engine import (
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Mode,
    Origin,
    Piece,
    Prefill,
    Request,
    Round,
    Step,
    Timing,
    Token,
)
from headstart.engine.generation_config import USUAL
from headstart.engine.likelihood import Likelihood, Scored
from headstart.engine.opening import Opened, Tell, machine_memory
from headstart.engine.protocol import Description, Device, Facts, Loading, Phase
from headstart.engine.tally import Tally
from headstart.engine.toy_bench import bench_of
from headstart.engine.tuning.findings import Findings
from headstart.engine.tuning.messages import Tune, TuneReport
from headstart.errors import BrokenModelError, ContextOverflowError, MemoryBudgetError

CONTEXT = 2048  # words
_TALE = ("The", "toy", "engine", "guesses", "a", "few", "words", "ahead", "and", "keeps", "those", "that", "hold.")
_Rounds = tuple[tuple[Origin, ...], ...]
# Rounds: the target alone; two draft tokens and a bonus; two n-gram tokens of three and the target's own.
_ROUNDS = (
    (Origin.TARGET,),
    (Origin.DRAFT, Origin.DRAFT, Origin.TARGET),
    (Origin.NGRAM, Origin.NGRAM, Origin.TARGET),
)
_PLAIN = ((Origin.TARGET,),)
_DRAFTED = {Origin.TARGET: 0, Origin.DRAFT: 2, Origin.NGRAM: 3}
_log = logging.getLogger(__name__)


class ToyEngine:
    """Repeats the last message. Tokens are words; `pace` seconds pass before each round.

    `toy: words 300` gives a long answer, `toy: repeat 300` one that repeats itself; `toy: segfault`, `hang`, `memory`,
    `bug` and `refuse` fail in these ways; `toy: print` writes to standard output as a careless library would.
    """

    def __init__(self, pace: float = 0.0, context: int = CONTEXT) -> None:
        """Nothing to load."""
        self._pace = pace
        self._context = context

    def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        prompt = count(request.messages) + len(request.prompt.split())
        if prompt >= self._context:
            raise ContextOverflowError(
                f"The conversation has {prompt} tokens, but the context holds {self._context}: start a new chat."
            )
        tally = Tally()
        yield _read(tally, Prefill(0, prompt))
        yield _read(tally, Prefill(prompt, prompt))
        words = _answer(request.messages[-1].content if request.messages else request.prompt)
        repeats = len(words) if set(words) == {_AGAIN} else 0
        if repeats and request.stop_on_repetition:
            words, repeats = words[:_ENOUGH], _ENOUGH
        stopped = cancel or threading.Event()
        ids, shown = list[int](), 0
        plans = _PLAIN if request.speculation.mode is Mode.OFF else _ROUNDS
        for step in self._steps(words[: request.max_new_tokens], plans, stopped):
            tally.add(step.round)
            ids += [token.id for token in step.round.tokens]
            yield step if request.likeliest is None else replace(step, scored=_certain(step, shown, request.likeliest))
            shown += len(step.text)
        reason = FinishReason.REPETITION if repeats and request.stop_on_repetition else FinishReason.STOP
        reason = FinishReason.LENGTH if len(words) > request.max_new_tokens else reason
        stats = tally.stats(plain_ms=None, ledger_ms=0.0, context_length=self._context, repeats=repeats)
        yield Finish(FinishReason.CANCELLED if stopped.is_set() else reason, stats, tuple(ids))

    def close(self) -> None:
        """See Engine.close."""

    def _steps(self, words: list[str], rounds: _Rounds, cancel: threading.Event) -> Iterator[Step]:
        plans = cycle(rounds)
        while words and not cancel.wait(self._pace):
            started = time.perf_counter()
            origins = next(plans)[: len(words)]
            pieces = tuple(Piece(word, origin) for word, origin in zip(words, origins, strict=False))
            words = words[len(pieces) :]
            yield _step(pieces, (time.perf_counter() - started) * 1000.0)


class ToyModels:
    """Opens a ToyEngine whatever the folder.

    `broken` and `large` are refused, `heavy` ends the process, `boundless` finds no room.
    """

    def __init__(self, pace: float = 0.0) -> None:
        """`pace` is the toy's, in seconds."""
        self._pace = pace

    def open(self, options: LoadOptions, tell: Tell) -> Opened:
        """See Models.open."""
        tell(Loading(Phase.MODEL))
        name = options.target.name
        if name == "broken":
            raise BrokenModelError(f"{options.target} is no model; export it with headstart-export.")
        if name == "large" and not options.ignore_memory:
            raise MemoryBudgetError(f"{name} needs about 90.0 GB of memory, but 8.0 GB is free: choose a smaller one.")
        if name == "boundless":
            _memory()
        if name == "heavy":
            os.kill(os.getpid(), signal.SIGTERM)
        context = min(CONTEXT, options.context or CONTEXT)
        draft = options.draft.name if options.draft else None
        facts = Facts(name, draft, options.device, options.numerics.value, context, sampling=USUAL)
        engine = ToyEngine(self._pace, context)
        return Opened(engine, facts, _count, bench_of(engine, facts))

    def describe(self) -> Description:
        """See Models.describe."""
        versions = {"headstart": __version__, "python": platform.python_version()}
        return Description((Device("TOY", "An engine without a model"),), *machine_memory(), versions)

    def tune(self, order: Tune, tell: Callable[[TuneReport], None], cancel: threading.Event) -> Findings:
        """See Models.tune."""
        return toy_tuning.tune(order, tell, cancel, self._pace)

    def recall(self, options: LoadOptions) -> Findings | None:
        """See Models.recall."""
        return toy_tuning.recall(options)

    def forget(self, options: LoadOptions) -> None:
        """See Models.forget."""
        toy_tuning.forget(options)


def count(messages: tuple[Message, ...]) -> int:
    """Toy tokens of a conversation: one for each word and each role."""
    return sum(1 + len(message.content.split()) for message in messages)


def _count(messages: tuple[Message, ...], text: str) -> int:
    return count(messages) + len(text.split())


def _read(tally: Tally, prefill: Prefill) -> Prefill:
    tally.read(prefill)
    return prefill


def _answer(question: str) -> list[str]:
    command, _, argument = question.removeprefix("toy:").strip().partition(" ")
    if question.startswith("toy:") and command == _REPEAT:
        return [_AGAIN] * int(argument)
    if not question.startswith("toy:") or command not in (_LONG, *_SPECIAL):
        return [f"{word} " for word in f"You wrote: {question}".split()]
    if command == _LONG:
        return [f"{_TALE[index % len(_TALE)]} " for index in range(int(argument))]
    _SPECIAL[command]()
    return ["Done. "]


def _step(pieces: tuple[Piece, ...], milliseconds: float) -> Step:
    tokens = tuple(Token(sum(piece.text.encode()), piece.origin) for piece in pieces)
    drafter = pieces[0].origin
    accepted = sum(piece.origin is not Origin.TARGET for piece in pieces)
    made = Round(tokens, _DRAFTED[drafter], accepted, drafter, Timing(other_ms=milliseconds))
    return Step("".join(piece.text for piece in pieces), made, pieces)


def _certain(step: Step, shown: int, likeliest: int) -> tuple[Scored, ...]:
    """It never says anything else."""
    starts = accumulate((len(piece.text) for piece in step.pieces), initial=shown)
    tokens = [Likelihood(tuple(piece.text.encode()), 0.0) for piece in step.pieces]
    return tuple(Scored(token, start, (token,)[:likeliest]) for token, start in zip(tokens, starts, strict=False))


def _segfault() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _hang() -> NoReturn:
    while True:  # deaf to `cancel`
        time.sleep(60)


def _memory() -> None:
    bytearray(1 << 62)


def _bug() -> None:
    raise ZeroDivisionError("a bug asked for")


def _refuse() -> None:
    raise BrokenModelError("The toy refuses; ask for something else.")


def _print() -> None:
    print("a careless library prints")
    os.write(1, b'native code prints {"v":1}\n')
    _log.warning("a library logs")


_LONG, _REPEAT = "words", "repeat"
_AGAIN, _ENOUGH = "again ", 4
_SPECIAL: Mapping[str, Callable[[], None]] = {
    "segfault": _segfault,
    "hang": _hang,
    "memory": _memory,
    "bug": _bug,
    "refuse": _refuse,
    "print": _print,
}
