"""Plays a policy on recorded texts, round by round, at a machine's prices. Knows no model and no clock."""

import random
from collections.abc import Sequence

from headstart.engine.bench.recorded import Text
from headstart.engine.costs import Costs
from headstart.engine.engine import Origin, Speculation
from headstart.engine.policy import Policy
from headstart.engine.rounds import NgramOffer, Outcome, Plan, Situation

Branches = Sequence[tuple[int, int]]  # place of the candidate and rank of the runner-up, from 0


class Machine:
    """Milliseconds of passes, with a relative scatter."""

    def __init__(self, costs: Costs, scatter: float = 0.0, seed: int = 1) -> None:
        """The same seed scatters alike."""
        self.costs = costs
        self._scatter, self._rng = scatter, random.Random(seed)  # noqa: S311 - noise, no secret
        self._last = 0  # tokens of the target's last pass

    def verifying(self, context: int, candidates: int) -> float:
        """A pass of the target over the pending token and the candidates."""
        target, tokens = self.costs.target, 1 + candidates
        switch_ms = target.switch_ms if tokens != self._last else 0.0
        self._last = tokens
        return (target.ms(tokens, context) + switch_ms) * self.pace(context)

    def drafting(self, context: int, candidates: int, lag: int) -> float:
        """Drafting them, reading `lag` tokens before the first."""
        if not candidates:
            return 0.0
        step_ms, catch_up_ms = self.costs.drafting(lag, context)
        return (candidates * step_ms + catch_up_ms) * self.pace(context)

    def around(self, candidates: int) -> float:
        """What no model did."""
        return self.costs.around(1 + candidates)

    def pace(self, _context: int) -> float:
        """How much longer than usual a pass takes now."""
        return self._rng.gauss(1.0, self._scatter) if self._scatter else 1.0


class Replay:
    """One answer: where it stands and what the draft has read."""

    def __init__(self, text: Text, machine: Machine) -> None:
        """Begin before the first place."""
        self.text, self.machine = text, machine
        self.at, self.ms = 0, 0.0
        self._read = 0  # tokens

    @property
    def ended(self) -> bool:
        """Whether the text is written."""
        return self.at >= len(self.text)

    @property
    def context(self) -> int:
        """Tokens so far."""
        return self.text.prompt + self.at

    @property
    def remaining(self) -> int:
        """Tokens that may be written."""
        return (self.text.limit or len(self.text)) - self.at

    def situation(self, *, draft: bool = True) -> Situation:
        """What a policy is told before a round."""
        offer, lag = self.text.offers[self.at], self.context - self._read
        return Situation(self.context, self.remaining, offer.seen if offer else None, lag if draft else None)

    def tail(self, drafted: int) -> NgramOffer | None:
        """What n-grams offer behind so many drafted candidates."""
        offer = self.text.tail(self.at, drafted)
        return offer.seen if offer else None

    def play(self, verified: int, held: int, drafted: int = 0, branches: Branches = ()) -> Outcome:
        """A round that drafted and verified so many candidates, of which the first `held` are right.

        `branches`: the runners-up verified beside them, by place and rank.
        """
        in_line, context, machine = min(held, verified), self.context, self.machine
        confidences, right = self.text.drafted(self.at, drafted)
        offer, wrong = self.text.offers[self.at], self.at + right
        came = self.text.came[wrong] if wrong < len(self.text.came) else None
        branched = in_line < verified and (in_line, came) in branches
        accepted, checked = in_line + branched, verified + len(branches)
        outcome = Outcome(
            tokens=accepted + 1,
            verified=checked,
            accepted=accepted,
            verify_ms=machine.verifying(context, checked),
            draft_ms=machine.drafting(context, drafted, context - self._read),
            other_ms=machine.around(checked),
            confidences=confidences,
            matched=min(right, in_line + 1) if drafted else None,
            offer_matched=min(offer.held, accepted + 1) if offer else None,
            runners_up=self.text.beside(self.at, drafted),
            runner_up=came,
            branched=branched,
        )
        if drafted:  # of its own candidates the draft has read all but the last, and forgets the wrong ones
            self._read = context + min(drafted - 1, in_line)
        self.at += outcome.tokens
        self.ms += outcome.ms
        return outcome


def policy_ms(
    policy: Policy, text: Text, machine: Machine, bounds: Speculation | None = None, *, draft: bool = True
) -> float:
    """Milliseconds to write the text, the policy being asked as the decoding loop asks it."""
    replay = Replay(text, machine)
    policy.begin_answer(bounds or Speculation())
    while not replay.ended:
        plan = policy.plan(replay.situation(draft=draft))
        policy.learn(_played(policy, plan, replay))
    return replay.ms


def _played(policy: Policy, plan: Plan, replay: Replay) -> Outcome:
    offer, drafted = replay.text.offers[replay.at], 0
    if plan.drafter is Origin.NGRAM:
        assert offer is not None, "the policy chose an offer that is not there"
        return replay.play(plan.length, offer.held)
    if plan.drafter is Origin.TARGET:
        return replay.play(0, 0)
    while policy.wants_more(replay.text.drafted(replay.at, drafted)[0], replay.tail(drafted)):
        drafted += 1
    confidences, held = replay.text.drafted(replay.at, drafted)
    tail = replay.text.tail(replay.at, drafted)
    if tail and held == drafted:
        held += tail.held
    kept = policy.kept(confidences, replay.tail(drafted))
    shares = [[each.confidence for each in ranked] for ranked in replay.text.beside(replay.at, drafted)]
    return replay.play(kept, held, drafted, policy.branches(shares, kept))
