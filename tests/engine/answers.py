"""Asks a loaded engine and checks what holds for every answer; policies that decide at random."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart.engine import local
from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.base import Draft
from headstart.engine.engine import (
    ConversationRequest,
    Event,
    Finish,
    FinishReason,
    GenerationRequest,
    LoadOptions,
    Message,
    Mode,
    Origin,
    Prefill,
    Sampling,
    Speculation,
    Stats,
    Step,
)
from headstart.engine.local import LocalEngine
from headstart.engine.opening import resolve
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.plan import DraftSession, PolicyState
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import DraftPlan, RoundState
from headstart.engine.runners.runner import Branch

PLAIN = Speculation(mode=Mode.OFF)
LIST = "Write a licence that lists the terms, the terms, the terms and the conditions of the work:"
CODE = "def add(a: int, b: int) -> int:\n    return a + b\n\ndef add(a: int, b: int) -> int:\n    return"


@dataclass(frozen=True)
class Answer:
    """All events of one answer, with its text."""

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
) -> ConversationRequest:
    """Return a request with one message of a user, or with a conversation."""
    messages = (Message("user", asked),) if isinstance(asked, str) else tuple(asked)
    return ConversationRequest(
        messages, max_new_tokens=tokens, sampling=sampling or Sampling(), speculation=speculation, stop=stop
    )


def ask(engine: LocalEngine, wanted: GenerationRequest, cancel_at: Callable[[Event], bool] = lambda _: False) -> Answer:
    """Return the whole answer; `cancel_at` decides at each event whether to cancel."""
    cancel = CancelEvent()
    events: list[Event] = []
    for event in engine.generate(wanted, cancel):
        events.append(event)
        if cancel_at(event):
            cancel.set()
    return collected(events)


def collected(events: Sequence[Event]) -> Answer:
    """Return the events as one answer, after checking that they fit together."""
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
    """Return the engine with empty caches, as after loading."""
    engine.forget_all()
    return engine


def flip_a_bit(path: Path) -> None:
    """Change a bit in the middle of the file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


class Whimsical(Policy):
    """A policy that drafts at random; the answer must not depend on it."""

    def __init__(self, seed: int) -> None:
        super().__init__(Costs(Curve.prior(1.0)))
        self._dice = random.Random(seed)

    def plan(self, state: RoundState) -> DraftPlan:
        dice, limit = self._dice, state.remaining - 1
        plans = [DraftPlan(state)]
        offer = state.free_drafts.get(Origin.NGRAM)
        if offer and limit > 0:
            plans.append(DraftPlan(state, Origin.NGRAM, dice.randint(1, min(len(offer.tokens), limit))))
        if state.uncached_tokens and limit > 0:
            plans.append(DraftPlan(state, next(iter(state.uncached_tokens)), min(15, limit)))
        return dice.choice(plans)

    def begin_round(self, state: RoundState) -> DraftSession:
        return WhimsicalSession(self.plan(state), self.state, self._dice)


class WhimsicalSession(DraftSession):
    """A session that stops anywhere, and verifies any beginning of the draft."""

    def __init__(self, plan: DraftPlan, policy: PolicyState, dice: random.Random) -> None:
        super().__init__(plan, policy)
        self._dice = dice

    def should_continue(self, draft: Draft) -> bool:
        return len(draft.confidences) < self.plan.limit and self._dice.random() < 0.8

    def _num_to_verify(self, draft: Draft) -> tuple[int, float]:
        return self._dice.randint(0, len(draft.tokens)), 0.0

    def _branches(self, draft: Draft, count: int) -> Sequence[Branch]:
        rivals = [
            Branch(1 + place, guess.token)
            for place, guesses in enumerate(draft.runners_up[:count])
            for guess in guesses
        ]
        most = min(len(rivals), self.plan.limit - count)
        return self._dice.sample(rivals, self._dice.randint(0, most)) if most > 0 else ()
