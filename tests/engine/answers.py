"""Asks a loaded engine and checks what holds for every answer; policies that decide at random."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart.engine import local
from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.base import Draft
from headstart.engine.engine import (
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Mode,
    Origin,
    Prefill,
    Request,
    Sampling,
    Speculation,
    Stats,
    Step,
)
from headstart.engine.local import LocalEngine
from headstart.engine.opening import resolve
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import DraftPlan, Knowledge, Policy
from headstart.engine.policy.rounds import Situation

PLAIN = Speculation(mode=Mode.OFF)
LIST = "Write a licence that lists the terms, the terms, the terms and the conditions of the work:"
CODE = "def add(a: int, b: int) -> int:\n    return a + b\n\ndef add(a: int, b: int) -> int:\n    return"


@dataclass(frozen=True)
class Answer:
    """All that an engine said to one request."""

    text: str
    ids: tuple[int, ...]
    reason: FinishReason
    stats: Stats
    steps: tuple[Step, ...]
    prefills: tuple[Prefill, ...]

    @property
    def essence(self) -> tuple[str, tuple[int, ...], FinishReason]:
        return self.text, self.ids, self.reason


def load(options: LoadOptions) -> LocalEngine:
    """Load Headstart's own engine."""
    return local.load(resolve(options))


def request(
    asked: str | Sequence[Message],
    *,
    sampling: Sampling | None = None,
    speculation: Speculation = PLAIN,
    stop: tuple[str, ...] = (),
    tokens: int = 64,
) -> Request:
    """Return a request with one message of a user, or with a conversation."""
    messages = (Message("user", asked),) if isinstance(asked, str) else tuple(asked)
    return Request(messages, tokens, sampling or Sampling(), speculation, stop)


def ask(engine: LocalEngine, wanted: Request, cancel_at: Callable[[Event], bool] = lambda _: False) -> Answer:
    """The whole answer; `cancel_at` is asked at each event whether to cancel."""
    cancel = CancelEvent()
    events: list[Event] = []
    for event in engine.generate(wanted, cancel):
        events.append(event)
        if cancel_at(event):
            cancel.set()
    return collected(events)


def collected(events: Sequence[Event]) -> Answer:
    """The events as one answer, once they are seen to fit together."""
    *progress, finish = events
    assert isinstance(finish, Finish)
    steps = tuple(event for event in progress if isinstance(event, Step))
    prefills = tuple(event for event in progress if isinstance(event, Prefill))
    assert list(progress) == [*prefills, *steps]
    for step in steps:
        assert "".join(piece.text for piece in step.pieces) == step.text
        assert 0 <= step.round.accepted <= step.round.drafted
    emitted = tuple(token.id for step in steps for token in step.round.tokens)
    assert emitted[: len(finish.token_ids)] == finish.token_ids
    assert finish.stats.output_tokens == len(emitted)
    text = "".join(step.text for step in steps)
    return Answer(text, finish.token_ids, finish.reason, finish.stats, steps, prefills)


def forget(engine: LocalEngine) -> LocalEngine:
    """The engine with empty caches, as after loading."""
    engine.forget_all()
    return engine


def flip_a_bit(path: Path) -> None:
    """Change a bit in the middle of the file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


class Whimsical(Policy):
    """Drafts whatever comes to its mind; the answer must not care."""

    def __init__(self, seed: int) -> None:
        super().__init__(Costs(Curve.shipped(1.0)))
        self._dice = random.Random(seed)

    def _planned(self, situation: Situation, known: Knowledge) -> DraftPlan:
        return _Whim(situation, known, self._dice)


class _Whim(DraftPlan):
    """Any drafter that has something to offer."""

    def __init__(self, situation: Situation, known: Knowledge, dice: random.Random) -> None:
        super().__init__(situation, known)
        self._dice, most = dice, situation.remaining - 1
        choices: list[tuple[str, int]] = [(Origin.TARGET, 0)]
        offer = situation.offers.get(Origin.NGRAM)
        if offer and most > 0:
            choices.append((Origin.NGRAM, dice.randint(1, min(len(offer.tokens), most))))
        if situation.lags and most > 0:
            choices.append((next(iter(situation.lags)), min(15, most)))
        self.drafter, self.limit = dice.choice(choices)

    def wants_more(self, draft: Draft) -> bool:
        return len(draft.confidences) < self.limit and self._dice.random() < 0.8

    def _kept(self, draft: Draft) -> int:
        """Any beginning of what was drafted, or of what n-grams offer behind it."""
        return self._dice.randint(0, len(draft.tokens))
