"""From how many prompts at once OpenVINO GenAI's batches beat our own engine, which guesses ahead for each in turn."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from headstart.engine.batch_choice import SIZES, BatchFigures
from headstart.engine.batching import Batcher, Keyed, OneByOne
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import RaceCancelled
from headstart.engine.engine import Engine, Finish, FinishReason, LoadOptions, Message, Request, Sampling
from headstart.engine.machine import Machine, describe

SCHEMA = 1
_WARM_UP = 2  # tokens
_GREEDY = Sampling(temperature=0.0)
_OWN = 0  # stands for our own engine where others have their size


@dataclass(frozen=True)
class BatchPlan:
    """What to measure. `load` is what the own engine is loaded with; GenAI takes the target alone."""

    load: LoadOptions
    prompts: tuple[BenchPrompt, ...]
    tokens: int  # longest answer
    sizes: Sequence[int] = SIZES
    repeats: int = 1


@dataclass(frozen=True)
class Pace:
    """How fast one way answered all prompts, in all repeats together."""

    seconds: float
    answers: int
    tokens: int

    def __add__(self, other: "Pace") -> "Pace":
        """Both after each other."""
        return Pace(self.seconds + other.seconds, self.answers + other.answers, self.tokens + other.tokens)

    @property
    def answers_per_second(self) -> float:
        """From the first prompt to the last token."""
        return self.answers / self.seconds

    @property
    def tokens_per_second(self) -> float:
        """Tokens written, prompts not counted; the time to read prompts is."""
        return self.tokens / self.seconds


@dataclass(frozen=True)
class BatchResult:
    """Everything that was measured."""

    machine: Machine
    target: str
    draft: str | None
    prompts: int
    longest: int  # tokens of an answer
    own: Pace
    genai: Mapping[int, Pace]  # by answers at once
    schema: int = SCHEMA

    @property
    def figures(self) -> BatchFigures:
        """What the choice of an engine rests on."""
        return BatchFigures(
            self.own.tokens_per_second, {size: pace.tokens_per_second for size, pace in self.genai.items()}
        )


@dataclass(frozen=True)
class Openers:
    """How the contestants are loaded; each is closed before the next is opened."""

    own: Callable[[], Engine]
    genai: Callable[[int], Batcher]


@dataclass(frozen=True)
class Watch:
    """Who is told what goes on, and may end it."""

    stage: Callable[[str], None]
    cancel: threading.Event = field(default_factory=threading.Event)


def measure_batches(plan: BatchPlan, openers: Openers, watch: Watch, names: tuple[str, str | None]) -> BatchResult:
    """Everyone answers all prompts from cold caches; every other repeat goes backwards, so that a machine that warms
    up or gets busy favours none. Raises RaceCancelled when it was.
    """
    order = [_OWN, *sorted(set(plan.sizes))]
    paces = dict.fromkeys(order, Pace(0.0, 0, 0))
    for repeat in range(plan.repeats):
        for size in order if repeat % 2 == 0 else order[::-1]:
            watch.stage(f"OpenVINO GenAI, {size} at once" if size else "Headstart's own engine, one after another")
            pace = _pace(openers.genai(size) if size else OneByOne(openers.own()), plan, watch.cancel)
            watch.stage(f"{pace.tokens_per_second:.1f} tokens/s, {pace.answers} answers in {pace.seconds:.1f} s")
            paces[size] += pace
    target, draft = names
    own = paces.pop(_OWN)
    return BatchResult(describe(plan.load.device), target, draft, len(plan.prompts), plan.tokens, own, paces)


def as_json(result: BatchResult) -> dict[str, Any]:
    """Plain data, with the derived rates."""
    data = asdict(result)
    for shown, pace in [
        (data["own"], result.own),
        *((data["genai"][size], pace) for size, pace in result.genai.items()),
    ]:
        shown |= {"answers_per_second": pace.answers_per_second, "tokens_per_second": pace.tokens_per_second}
    return data | {"genai_wins_from": result.figures.wins_from}


def _pace(batcher: Batcher, plan: BatchPlan, cancel: threading.Event) -> Pace:
    try:
        first = Request((Message("user", "Hello"),), _WARM_UP, _GREEDY)
        _finished(batcher, iter([(0, first)]), cancel)
        started = time.perf_counter()
        finished = _finished(batcher, _requests(plan), cancel)
        seconds = time.perf_counter() - started
    finally:
        batcher.close()
    return Pace(seconds, len(finished), sum(len(finish.token_ids) for finish in finished))


def _requests(plan: BatchPlan) -> Iterator[Keyed]:
    for key, prompt in enumerate(plan.prompts):
        yield key, Request(prompt.messages, plan.tokens, _GREEDY, stop_on_repetition=False)


def _finished(batcher: Batcher, requests: Iterator[Keyed], cancel: threading.Event) -> list[Finish]:
    finished = []
    for _key, event in batcher.answers(requests, cancel):
        if isinstance(event, Exception):
            raise event
        if isinstance(event, Finish):
            if event.reason is FinishReason.CANCELLED:
                raise RaceCancelled
            finished.append(event)
    return finished
