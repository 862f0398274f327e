"""A race of ways to decode on the same prompts, in one process.

Every contestant answers every prompt in every repeat, from a cold cache, greedily, with the same longest length and
its natural end. The order is reversed from repeat to repeat and prompt to prompt (ABBA), so that a machine that warms
up or gets busy favours none.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from headstart.engine.bench.energy import EnergyMeter
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Drafter,
    Engine,
    Finish,
    FinishReason,
    Mode,
    Sampling,
    Speculation,
)
from headstart.errors import SettingsError

PLAIN, AUTO, DRAFT_ONLY, EAGLE_ONLY, NGRAM_ONLY = "plain", "auto", "draft", "eagle", "ngram"
AGAIN = "plain again"  # plain decoding a second time: the difference from the first is the noise
FIXED, THRESHOLD = "fixed", "threshold"
USUAL = (PLAIN, "fixed 3", "fixed 5", AUTO)
SWEPT_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8)
SWEPT_THRESHOLDS = (0.2, 0.4, 0.6, 0.8)
THRESHOLD_CAP = 16  # most drafted tokens, as a threshold needs a bound
_SWEPT = (PLAIN, *(f"{FIXED} {length}" for length in SWEPT_LENGTHS), NGRAM_ONLY, DRAFT_ONLY, EAGLE_ONLY)
SWEEP = (*_SWEPT, AUTO)  # the contestants where the window compares every drafter
EVERYTHING = (*_SWEPT, *(f"{THRESHOLD} {value}" for value in SWEPT_THRESHOLDS), AUTO)
_Contestant = TypeVar("_Contestant")
WORDS = "plain, auto, ngram, draft, eagle, fixed-1 to fixed-16 or threshold-0 to threshold-1"


def read_contestants(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas, plain decoding first, as all are compared with it.

    Raises SettingsError for an unknown name.
    """
    names = [part.strip().replace("-", " ") for part in text.split(",")]
    for name in names:
        speculation(name)
    return tuple(dict.fromkeys([PLAIN, *names]))


def speculation(name: str) -> Speculation:
    """Return a contestant's speculation parameters. Raises SettingsError for an unknown name."""
    simple = {
        PLAIN: Speculation(Mode.OFF),
        AGAIN: Speculation(Mode.OFF),
        AUTO: Speculation(Mode.AUTO),
        DRAFT_ONLY: Speculation(drafter=Drafter.DRAFT),
        EAGLE_ONLY: Speculation(drafter=Drafter.HEAD),
        NGRAM_ONLY: Speculation(drafter=Drafter.NGRAM),
    }
    kind, _, figure = name.partition(" ")
    try:
        if name in simple:
            return simple[name]
        if kind == FIXED:
            return Speculation(Mode.FIXED, int(figure))
        if kind == THRESHOLD:
            return Speculation(Mode.FIXED, THRESHOLD_CAP, float(figure))
    except ValueError:
        pass  # no number; the error below says so
    shown = repr(name.replace(" ", "-"))
    raise SettingsError("There is no contestant {name}; it must be {ways}.", name=shown, ways=WORDS)


def fixed_length(name: str) -> int | None:
    """Return the draft length in a contestant's name; None if it has none."""
    kind, _, figure = name.partition(" ")
    return int(figure) if kind == FIXED else None


def playable(names: Sequence[str], drafting: Collection[str]) -> tuple[str, ...]:
    """Return the contestants that can race with these models that draft: "draft", "eagle"."""
    absent = {DRAFT_ONLY, EAGLE_ONLY} - set(drafting)
    return tuple(name for name in names if name not in absent and (drafting or not name.startswith(THRESHOLD)))


class RaceCancelled(Exception):  # noqa: N818 - stopping is not an error; this unwinds the race
    """The race was cancelled and has no result."""


def raise_if_set(cancel: CancelEvent) -> None:
    """Raise RaceCancelled if the race was cancelled."""
    if cancel.is_set():
        raise RaceCancelled


@dataclass(frozen=True)
class TimedAnswer:
    """One answer. `decode_ms` counts from the first token to the end; `parts` (draft, verify, other) sum to it."""

    tokens: tuple[int, ...]  # without the stop id
    ttft_ms: float
    decode_ms: float
    prompt_tokens: int
    drafted: int = 0
    accepted: int = 0
    rounds: int | None = None  # None: not reported
    parts: Mapping[str, float] = field(default_factory=dict)  # milliseconds
    origins: Mapping[str, int] = field(default_factory=dict)  # tokens
    reused: int | None = None  # prompt tokens that were not read again; None: not reported

    @property
    def ms_per_token(self) -> float | None:
        """The time per token after the first; None for an answer of fewer than two tokens."""
        return self.decode_ms / (len(self.tokens) - 1) if len(self.tokens) > 1 else None

    def total_ms_per_token(self, tokens: int) -> float | None:
        """Return the time per token of an answer of this length, first token included; None if unknown."""
        if tokens < 2:
            return self.ttft_ms if tokens and self.tokens else None
        speed = self.ms_per_token
        return None if speed is None else (self.ttft_ms + speed * (tokens - 1)) / tokens


class Contestant(Protocol):
    """One way to answer."""

    @property
    def name(self) -> str:
        """The name in tables."""

    def answer(self, prompt: BenchPrompt) -> TimedAnswer:
        """Answer from a cold cache."""


@dataclass(frozen=True)
class OwnMode:
    """Headstart in one mode. `forget` empties the engine's caches."""

    name: str
    engine: Engine
    speculation: Speculation
    tokens: int  # longest answer
    forget: Callable[[], None]
    cancel: CancelEvent = field(default_factory=CancelEvent)

    def answer(self, prompt: BenchPrompt) -> TimedAnswer:
        """Answer from a cold cache. Raises RaceCancelled soon after `cancel` is set."""
        self.forget()
        greedy = Sampling(temperature=0.0)
        request = ConversationRequest(
            prompt.messages,
            max_new_tokens=self.tokens,
            sampling=greedy,
            speculation=self.speculation,
            stop_on_repetition=False,
        )
        events = list(self.engine.generate(request, self.cancel))
        finish = events[-1]
        assert isinstance(finish, Finish), "an engine ends every answer with Finish"
        if finish.reason is FinishReason.CANCELLED:
            raise RaceCancelled
        stats = finish.stats
        # Time outside the models is ours, including the event loop around the rounds.
        draft, verify = stats.by_part["draft"], stats.by_part["verify"]
        return TimedAnswer(
            tokens=finish.token_ids,
            ttft_ms=stats.ttft_ms,
            decode_ms=stats.decode_ms,
            prompt_tokens=stats.prompt_tokens,
            drafted=stats.drafted,
            accepted=stats.accepted,
            rounds=stats.rounds,
            parts={"draft": draft, "verify": verify, "other": max(0.0, stats.decode_ms - draft - verify)},
            origins=dict(stats.by_origin),
        )


def own_modes(
    engine: Engine,
    tokens: int,
    forget: Callable[[], None],
    cancel: CancelEvent | None = None,
    names: Sequence[str] = USUAL,
) -> tuple[OwnMode, ...]:
    end = cancel or CancelEvent()
    return tuple(OwnMode(name, engine, speculation(name), tokens, forget, end) for name in names)


@dataclass(frozen=True)
class Heat:
    """One contestant's answer to one prompt in one repeat."""

    prompt: BenchPrompt
    contestant: str
    repeat: int
    run: TimedAnswer
    joules: float | None = None  # of the whole answer; None where the machine does not tell


def race(contestants: Sequence[Contestant], prompts: Sequence[BenchPrompt], repeats: int) -> Iterator[Heat]:
    """Let every contestant answer every prompt, `repeats` times, in alternating order."""
    meter = EnergyMeter()
    for number, prompt in enumerate(prompts):
        for repeat in range(repeats):
            for contestant in turn_order(contestants, number + repeat):
                meter.joules()
                run = contestant.answer(prompt)
                yield Heat(prompt, contestant.name, repeat, run, meter.joules())


def turn_order(contestants: Sequence[_Contestant], turn: int) -> Sequence[_Contestant]:
    """Return the items forwards in even turns, backwards in odd ones."""
    return contestants if turn % 2 == 0 else contestants[::-1]
