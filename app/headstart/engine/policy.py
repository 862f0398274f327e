"""Who drafts the next tokens and how far: the decisions of a round. Knows neither models nor clocks.

The Markov decision process
---------------------------
State: who drafts, the candidates drafted so far in this round with their calibrated chances of acceptance, and the
prices of the passes at this context length. Actions: draft one more candidate; or verify the first L of those
drafted, which ends the round. Reward: the tokens a verification yields, 1 + accepted. Cost: milliseconds. Criterion:
the long-run average reward E[tokens] / E[ms] per round, as every verification is a renewal. Dinkelbach: the policy
with the best ratio lambda is the one that maximises E[tokens] - lambda * E[ms], which for a known lambda is an
optimal-stopping problem, solved here by looking ahead up to four candidates (`stopping.drafting_gain`), then keeping
the prefix that pays (`stopping.kept_prefix`). Not drafting at all is the same test with nothing drafted; an n-gram's
candidates are free and only their verification is priced.

Lambda is the rate of the last rounds (half-life 12), kept between that of plain decoding and 1.15 times what the
model of the text says can be reached; rounds of n-grams have their own, since a copied passage says nothing about
the text around it.

Two things stand outside the process. Catching up (a draft model reading text that it did not write) is an investment,
made when the rest of the answer is expected to earn it back. And each drafter has an account (`ledger`) that bounds
what may be lost where chances or prices are wrong; it bounds the length, too, so that no single round loses it all.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headstart.engine.calibration import DraftCalibration, NgramCalibration
from headstart.engine.costs import BULK, Costs, Curve, is_figure
from headstart.engine.engine import Drafter, Mode, Origin, Speculation
from headstart.engine.ledger import Ledger
from headstart.engine.rounds import Outcome, Pace, Plan, Situation, Streak
from headstart.engine.stopping import Prices, affordable, best_rate, drafting_gain, kept_prefix, mean, survivals

LONGEST = 15  # candidates in one round; with the target's own token a pass over 16
_DRAFT_ALLOWANCE, _NGRAM_ALLOWANCE = 2.4, 1.1  # plain steps each may lose at first: 250 ms of 72 ms steps together
_PROBE_ROUNDS = 128  # a plain step at least so often keeps the price of plain decoding known
_HORIZON = 4  # candidates looked ahead while drafting
_RATE_LIMIT = 1.15  # of the rate that the model of the text says can be reached
_MARGIN = 1.5  # what a long catch-up (reading the prompt) must be expected to earn, over what it costs
_RETRY_MARGIN = 6.0  # the same once the draft was used and given up: it disappointed in this answer
_LONGEST_SHARED = 1.4  # plain steps; a longer catch-up must pass that test and does not discourage further
_USUAL_TOKENS = 200.0  # length of an answer before any was seen
_NEW_ANSWER = 0.2  # weight of the newest answer in the usual length
_HICCUP = 3.0  # a round this much over its price was held up by something else
_CAUGHT_UP = 2  # the largest lag without a catch-up: the pending token and one the draft made but did not read
_UNPRICED = Prices((0.0,), 0.0, 0.0)


class Policy:
    """The decisions of one pair of models. What it learned outlives an answer; pace, ledger and bounds do not."""

    def __init__(
        self, costs: Costs, draft: DraftCalibration | None = None, ngram: NgramCalibration | None = None
    ) -> None:
        """Without calibrations both start from their priors."""
        self.costs = costs
        self.draft = draft or DraftCalibration()
        self.ngram = ngram or NgramCalibration()
        self._usual_tokens = _USUAL_TOKENS
        self._since_plain = 0
        self._emitted = 0
        self.begin_answer(Speculation())

    def begin_answer(self, speculation: Speculation, expected_tokens: int | None = None) -> None:
        """Forget the last answer and take the user's bounds. `expected_tokens`: its length, where somebody knows it."""
        if self._emitted:
            self._usual_tokens += _NEW_ANSWER * (self._emitted - self._usual_tokens)
        self._speculation = speculation
        self._expected = expected_tokens or self._usual_tokens
        self._emitted = 0
        self._accounts = {Origin.DRAFT: Ledger(_DRAFT_ALLOWANCE), Origin.NGRAM: Ledger(_NGRAM_ALLOWANCE)}
        self._pace, self._ngram_pace, self._whole_pace = Pace(), Pace(), Pace()
        self._streak, self._draft_used = Streak(), False
        self._situation, self._plan, self._prices = Situation(0, 0), Plan(Origin.TARGET), _UNPRICED
        self._outlook = self.draft.outlook  # as this round was planned
        self._chances: list[float] = []  # of the candidates drafted in this round
        self._reading_ms = 0.0  # the part of this round's drafting that reads the prompt

    @property
    def plain_ms(self) -> float | None:
        """Running price of a plain step; None before the first."""
        return self.costs.verify(1, self._situation.context)[0] if self.costs.target.known else None

    @property
    def ledger_ms(self) -> float:
        """Earned in this answer against plain decoding; negative: lost."""
        return sum(account.earned_ms for account in self._accounts.values())

    @property
    def rate(self) -> float:
        """Lambda of the last planned round: the worth of time in tokens per millisecond; 0 where it was not priced."""
        return self._prices.rate

    def plan(self, situation: Situation) -> Plan:
        """Choose who drafts in this round, and the limit."""
        situation = _permitted(situation, self._speculation.drafter)
        mode, cap = self._speculation.mode, self._speculation.num_assistant_tokens or LONGEST
        limit = min(cap, LONGEST if mode is Mode.AUTO else cap, situation.remaining - 1)
        self._situation, self._chances, self._prices, self._reading_ms = situation, [], _UNPRICED, 0.0
        if mode is Mode.OFF or limit < 1:
            self._plan = Plan(Origin.TARGET)
        elif mode is Mode.FIXED:
            self._plan = _fixed(situation, limit)
        else:
            self._plan = self._priced(situation, limit)
        return self._plan

    def wants_more(self, confidences: Sequence[float]) -> bool:
        """Whether to draft one more candidate after those with these confidences, in a round planned for the draft."""
        if len(confidences) >= self._plan.length or self._below_threshold(confidences):
            return False
        if self._speculation.mode is Mode.FIXED or not confidences:
            return True
        survival = self._survival(confidences)
        following = self._outlook[1]
        ahead = (mean(following),) * (_HORIZON - 1)
        return drafting_gain(self._prices, len(confidences), survival, following, ahead) > 0.0

    def kept(self, confidences: Sequence[float]) -> int:
        """How many of the drafted candidates to verify; 0 makes the round a plain step."""
        usable = len(confidences) - self._below_threshold(confidences)
        if self._speculation.mode is Mode.FIXED:
            return usable
        self._survival(confidences)
        return kept_prefix(self._prices, survivals(self._chances[:usable]))

    def learn(self, outcome: Outcome) -> None:
        """Take in what became of the round planned last."""
        self._emitted += outcome.tokens
        self._since_plain = self._since_plain + 1 if outcome.verified else 0
        self._learn_prices(outcome)
        self._account(outcome)
        self._learn_draft(outcome)
        self._learn_ngram(outcome)

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs: prices, calibrations, the usual length of an answer."""
        learned = {"draft": self.draft.to_json(), "ngram": self.ngram.to_json()}
        return {"costs": self.costs.to_json(), **learned, "usual_tokens": self._usual_tokens}

    @classmethod
    def from_json(cls, data: object) -> "Policy":
        """The stored policy; each part that cannot be read starts from its prior."""
        match data:
            case {"costs": costs, "draft": draft, "ngram": ngram, "usual_tokens": usual}:
                calibrations = DraftCalibration.from_json(draft), NgramCalibration.from_json(ngram)
                policy = cls(Costs.from_json(costs), *calibrations)
                if is_figure(usual, least=1.0):
                    policy._usual_tokens = float(usual)
                policy.begin_answer(Speculation())
                return policy
        return cls(Costs())

    def _priced(self, situation: Situation, limit: int) -> Plan:
        if not self.costs.target.known or self._since_plain >= _PROBE_ROUNDS:
            return Plan(Origin.TARGET)
        verify = self.costs.verify(limit + 1, situation.context)
        draft_gain = self._price_draft(situation, verify)
        length, ngram_gain = self._price_ngram(situation, verify)
        if ngram_gain > max(draft_gain, 0.0):
            return Plan(Origin.NGRAM, length)
        if draft_gain <= 0.0:
            return Plan(Origin.TARGET)
        if (situation.draft_lag or 1) > BULK:
            self._reading_ms = self.costs.drafting(situation.draft_lag or 1, situation.context)[1]
            self._accounts[Origin.DRAFT].invest(self._reading_ms / verify[0])
        self._draft_used = True
        return Plan(Origin.DRAFT, affordable(self._prices, limit, self._accounts[Origin.DRAFT].credit * verify[0]))

    def _price_draft(self, situation: Situation, verify: list[float]) -> float:
        """Set the prices of a drafted round; return the tokens it is expected to gain over a plain step."""
        lag, plain_rate = situation.draft_lag, 1 / verify[0]
        if lag is None or not self._accounts[Origin.DRAFT].open:
            return 0.0
        step_ms, catch_up_ms = self.costs.drafting(lag, situation.context)
        first, further = self._outlook = self.draft.outlook
        ahead = [mean(further)] * (len(verify) - 2)
        reachable = best_rate(Prices(verify, step_ms, plain_rate), [mean(first), *ahead])
        self._prices = Prices(verify, step_ms, self._pace.within(plain_rate, reachable, _RATE_LIMIT * reachable))
        gain = drafting_gain(self._prices, 0, 1.0, first, ahead)
        if self._draft_used:
            gain -= self._prices.rate * min(catch_up_ms, _LONGEST_SHARED * verify[0]) / self._streak.usual
        if lag > BULK and not self._pays(catch_up_ms, plain_rate, reachable):
            return 0.0
        return gain

    def _pays(self, catch_up_ms: float, plain_rate: float, reachable: float) -> bool:
        """Whether drafting at the reachable rate saves clearly more on the rest of the answer than a catch-up costs."""
        tokens = min(self._situation.remaining, max(self._expected, self._emitted))
        saving_ms = tokens * (1 / self._whole_pace.within(plain_rate, plain_rate, reachable) - 1 / reachable)
        return saving_ms > (_RETRY_MARGIN if self._draft_used else _MARGIN) * catch_up_ms

    def _price_ngram(self, situation: Situation, verify: list[float]) -> tuple[int, float]:
        """How many candidates of the offer to verify, and the tokens expected to be gained over a plain step."""
        offer = situation.ngram
        if offer is None or not self._accounts[Origin.NGRAM].open:
            return 0, 0.0
        credit_ms = self._accounts[Origin.NGRAM].credit * verify[0]
        length = affordable(Prices(verify, 0.0, 0.0), min(offer.length, len(verify) - 1), credit_ms)
        chances = [self.ngram.predict(offer.match_length, j) for j in range(1, length + 1)]
        reachable = best_rate(Prices(verify, 0.0, 0.0), chances)
        rate = self._ngram_pace.within(1 / verify[0], reachable, _RATE_LIMIT * reachable)
        kept = kept_prefix(Prices(verify, 0.0, rate), survivals(chances))
        worth = self._prices.rate or 1 / verify[0]
        return kept, sum(survivals(chances[:kept])) - worth * (verify[kept] - verify[0])

    def _below_threshold(self, confidences: Sequence[float]) -> bool:
        threshold = self._speculation.assistant_confidence_threshold
        return threshold is not None and len(confidences) > 0 and confidences[-1] < threshold

    def _survival(self, confidences: Sequence[float]) -> float:
        """The chance that all these candidates hold; each is judged once."""
        for position in range(len(self._chances) + 1, len(confidences) + 1):
            self._chances.append(self.draft.predict(position, confidences[position - 1]))
        return math.prod(self._chances)

    def _learn_prices(self, outcome: Outcome) -> None:
        context = self._situation.context
        self.costs.observe(1 + outcome.verified, context, outcome.verify_ms, outcome.other_ms)
        if outcome.confidences:
            self.costs.draft = self.costs.draft or Curve()
            lag = max(self._situation.draft_lag or 1, 1)
            self.costs.draft.observe(lag, context, outcome.draft_ms, singles=len(outcome.confidences) - 1)

    def _learn_draft(self, outcome: Outcome) -> None:
        confidences = outcome.confidences
        labels = min(len(confidences), outcome.accepted + 1)
        if outcome.matched is None:
            labels = min(labels, outcome.verified)
        if not labels:  # a round of n-grams says little about how far the text around it has moved on
            self.draft.relax(1 if self._plan.drafter is Origin.NGRAM else outcome.tokens)
            return
        held = outcome.accepted if outcome.matched is None else outcome.matched
        self.draft.expect(confidences)
        for position in range(1, labels + 1):
            self.draft.learn(position, confidences[position - 1], accepted=position <= held)

    def _learn_ngram(self, outcome: Outcome) -> None:
        offer = self._situation.ngram
        used = self._plan.drafter is Origin.NGRAM
        if offer is None or not (used or outcome.offer_matched is not None):
            self.ngram.relax(outcome.tokens)
            return
        held, labels = outcome.accepted, min(outcome.verified, outcome.accepted + 1)
        if outcome.offer_matched is not None:
            held, labels = outcome.offer_matched, min(offer.length, outcome.offer_matched + 1, outcome.accepted + 1)
        for position in range(1, labels + 1):
            self.ngram.learn(offer.match_length, position, accepted=position <= held)

    def _account(self, outcome: Outcome) -> None:
        """Enter the round in paces and ledger; a plain step is its own price, a hiccup is nobody's fault."""
        if not self.costs.target.known:
            return
        verify = self.costs.verify(1 + outcome.verified, self._situation.context)
        usual_ms = verify[-1] + self._usual_drafting_ms(len(outcome.confidences))
        ms = min(outcome.draft_ms + outcome.verify_ms + outcome.other_ms, _HICCUP * usual_ms)
        plain_ms = verify[0] if outcome.verified else max(ms - outcome.draft_ms, 1e-6)
        for drafter, account in self._accounts.items():
            if drafter is self._plan.drafter:
                account.book(outcome.tokens, ms, plain_ms)
            else:
                account.wait(outcome.tokens)
        pace = self._ngram_pace if self._plan.drafter is Origin.NGRAM else self._pace
        for each in (pace, self._whole_pace):
            each.add(outcome.tokens, max(ms - self._reading_ms, 0.0))
        if self._plan.drafter is Origin.DRAFT:
            self._streak.add(caught_up=(self._situation.draft_lag or 1) > _CAUGHT_UP)

    def _usual_drafting_ms(self, drafted: int) -> float:
        if not drafted:
            return 0.0
        step_ms, catch_up_ms = self.costs.drafting(self._situation.draft_lag or 1, self._situation.context)
        return drafted * step_ms + catch_up_ms


def _permitted(situation: Situation, drafter: Drafter) -> Situation:
    """As if the drafters that the user shut out were not there."""
    if drafter is Drafter.DRAFT:
        return replace(situation, ngram=None)
    return replace(situation, draft_lag=None) if drafter is Drafter.NGRAM else situation


def _fixed(situation: Situation, limit: int) -> Plan:
    if situation.draft_lag is not None:
        return Plan(Origin.DRAFT, limit)
    if situation.ngram:
        return Plan(Origin.NGRAM, min(limit, situation.ngram.length))
    return Plan(Origin.TARGET)
