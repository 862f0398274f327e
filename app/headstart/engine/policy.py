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
candidates are free and only their verification is priced. They may also follow drafted ones: where the text offers
more behind these than drafting on would add, the round ends with its tail. tests/engine/test_stopping.py solves small
instances exactly and finds the rule within one per cent of the best policy.
Beside the kept candidates, those of the draft's other choices are verified that pay for their row (`branches`): one is
worth the chance that the text is right up to its place and goes on with it.
The candidates of a table are free, too, and tried where neither a draft nor n-grams pay.

Lambda is the rate of the last rounds (half-life 12), kept between that of plain decoding and 1.15 times what the
model of the text says can be reached; rounds of n-grams have their own, since a copied passage says nothing about
the text around it.

Two things stand outside the process. Catching up (a draft model reading text that it did not write) is an investment,
made when the rest of the answer is expected to earn it back; a long prompt waits for some tokens, as n-grams may do
without a draft model. And each drafter has an account (`ledger`) that bounds
what may be lost where chances or prices are wrong; it bounds the length, too, so that no single round loses it all.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from headstart.engine.books import Books
from headstart.engine.calibration import BigramCalibration, DraftCalibration, NgramCalibration, RunnerUpCalibration
from headstart.engine.costs import BULK, Costs, Curve, is_figure
from headstart.engine.engine import Drafter, Mode, Origin, Speculation
from headstart.engine.rounds import NgramOffer, Outcome, Plan, Situation
from headstart.engine.stopping import Prices, affordable, best_rate, drafting_gain, kept_prefix, mean, survivals

LONGEST = 15  # candidates in one round; with the target's own token a pass over 16
_PROBE_ROUNDS = 128  # a plain step at least so often keeps the price of plain decoding known
_HORIZON = 4  # candidates looked ahead while drafting
_RATE_LIMIT = 1.15  # of the rate that the model of the text says can be reached
_MARGIN = 1.5  # what a long catch-up (reading the prompt) must be expected to earn, over what it costs
_RETRY_MARGIN = 6.0  # the same once the draft was used and given up: it disappointed in this answer
_AT_ONCE = 2.5  # plain steps; a prompt that the draft reads faster than this it may read before anything is written
_PATIENCE = 0.25  # tokens written first for each plain step that reading the prompt costs: n-grams may do without
_USUAL_TOKENS = 200.0  # length of an answer before any was seen
_NEW_ANSWER = 0.2  # weight of the newest answer in the usual length
_UNPRICED = Prices((0.0,), 0.0, 0.0)

OnRound = Callable[[Situation, Plan, Outcome], None]


class Policy:
    """The decisions of one pair of models. What it learned outlives an answer; pace, ledger and bounds do not."""

    def __init__(
        self, costs: Costs, draft: DraftCalibration | None = None, ngram: NgramCalibration | None = None
    ) -> None:
        """Without calibrations both start from their priors."""
        self.costs = costs
        self.draft = draft or DraftCalibration()
        self.ngram = ngram or NgramCalibration()
        self.bigram = BigramCalibration()
        self.runner_up = RunnerUpCalibration()
        self.on_round: OnRound | None = None
        self._usual_tokens = _USUAL_TOKENS
        self._since_plain = 0
        self._books = Books()
        self.begin_answer(Speculation())

    def begin_answer(self, speculation: Speculation, expected_tokens: int | None = None) -> None:
        """Forget the last answer and take the user's bounds. `expected_tokens`: its length, where somebody knows it."""
        if self._books.emitted:
            self._usual_tokens += _NEW_ANSWER * (self._books.emitted - self._usual_tokens)
        self._speculation = speculation
        self._expected = expected_tokens or self._usual_tokens
        self._books = Books()
        self._situation, self._plan, self._prices = Situation(0, 0), Plan(Origin.TARGET), _UNPRICED
        self._outlook = self.draft.outlook  # as this round was planned
        self._chances: list[float] = []  # of the candidates drafted in this round
        self._tail: NgramOffer | None = None  # what was kept of n-grams behind them

    @property
    def plain_ms(self) -> float | None:
        """Running price of a plain step; None before the first."""
        return self.costs.verify(1, self._situation.context)[0] if self.costs.target.known else None

    @property
    def ledger_ms(self) -> float:
        """Earned in this answer against plain decoding; negative: lost."""
        return self._books.earned_ms

    @property
    def rate(self) -> float:
        """Lambda of the last planned round: the worth of time in tokens per millisecond; 0 where it was not priced."""
        return self._prices.rate

    def plan(self, situation: Situation) -> Plan:
        """Choose who drafts in this round, and the limit."""
        situation = _permitted(situation, self._speculation.drafter)
        mode, cap = self._speculation.mode, self._speculation.num_assistant_tokens or LONGEST
        limit = min(cap, LONGEST if mode is Mode.AUTO else cap, situation.remaining - 1)
        self._situation, self._chances, self._prices, self._tail = situation, [], _UNPRICED, None
        if mode is Mode.OFF or limit < 1:
            self._plan = Plan(Origin.TARGET)
        elif mode is Mode.FIXED:
            self._plan = _fixed(situation, limit)
        else:
            self._plan = self._priced(situation, limit)
        return self._plan

    def wants_more(self, confidences: Sequence[float], tail: NgramOffer | None = None) -> bool:
        """Whether to draft one more candidate after those with these confidences, in a round planned for the draft.

        `tail`: what n-grams offer behind them, for nothing.
        """
        if len(confidences) >= self._plan.length or self._below_threshold(confidences):
            return False
        if self._speculation.mode is Mode.FIXED or not confidences:
            return True
        drafted, survival, tail = len(confidences), self._survival(confidences), self._permitted_tail(tail)
        following = self._outlook[1]
        ahead = (mean(following),) * (_HORIZON - 1)
        gain = drafting_gain(self._prices, drafted, survival, following, ahead)
        return gain > max(0.0, self._tail_gain(drafted, survival, tail))

    def kept(self, confidences: Sequence[float], tail: NgramOffer | None = None) -> int:
        """How many candidates to verify, those of the tail behind all drafted ones included; 0: a plain step."""
        usable = len(confidences) - self._below_threshold(confidences)
        if self._speculation.mode is Mode.FIXED:
            return usable
        self._survival(confidences)
        chances, tail = self._chances[:usable], self._permitted_tail(tail)
        if tail and usable == len(confidences):
            chances = chances + self._copied(tail, min(tail.length, self._plan.length - usable))
        kept = kept_prefix(self._prices, survivals(chances))
        if tail and kept > usable:
            self._tail = NgramOffer(kept - usable, tail.match_length)
        return kept

    def branches(self, shares: Sequence[Sequence[float]], kept: int) -> list[tuple[int, int]]:
        """Which runners-up to verify beside the `kept` candidates: the place of the candidate and the rank, from 0.

        `shares`: what the draft gave to each of them. One that comes adds itself and the target's token behind it.
        """
        if self._speculation.mode is Mode.FIXED or not kept:
            return []
        least = self._speculation.assistant_confidence_threshold or 0.0
        before, usable = [1.0, *survivals(self._chances)], min(kept, len(self._chances))
        rivals = [
            (before[place] * min(self.runner_up.predict(share), 1 - self._chances[place]), place, rank)
            for place, ranked in enumerate(shares[:usable])
            for rank, share in enumerate(ranked)
            if share >= least
        ]
        rivals.sort(reverse=True)
        beyond = replace(self._prices, verify=self._prices.verify[kept : self._plan.length + 1])
        rivals = rivals[: len(beyond.verify) - 1]
        worth = kept_prefix(beyond, [chance for chance, _, _ in rivals]) if rivals else 0
        return [(place, rank) for _, place, rank in rivals[:worth]]

    def learn(self, outcome: Outcome) -> None:
        """Take in what became of the round planned last."""
        self._since_plain = self._since_plain + 1 if outcome.verified else 0
        self._learn_prices(outcome)
        self._books.enter(self._plan, self._situation, outcome, self.costs)
        self._learn_draft(outcome)
        self._learn_ngram(outcome)
        self._learn_bigram(outcome)
        self._learn_tail(outcome)
        self._learn_runners_up(outcome)
        if self.on_round:
            self.on_round(self._situation, self._plan, outcome)

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs: prices, calibrations, the usual length of an answer."""
        learned = {"draft": self.draft.to_json(), "ngram": self.ngram.to_json(), "bigram": self.bigram.to_json()}
        learned["runner-up"] = self.runner_up.to_json()
        return {"costs": self.costs.to_json(), **learned, "usual_tokens": self._usual_tokens}

    @classmethod
    def from_json(cls, data: object) -> "Policy":
        """The stored policy; each part that cannot be read starts from its prior."""
        match data:
            case {"costs": costs, "draft": draft, "ngram": ngram, "usual_tokens": usual, **others}:
                calibrations = DraftCalibration.from_json(draft), NgramCalibration.from_json(ngram)
                policy = cls(Costs.from_json(costs), *calibrations)
                policy.bigram = BigramCalibration.from_json(others.get("bigram"))
                policy.runner_up = RunnerUpCalibration.from_json(others.get("runner-up"))
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
            length = self._price_bigram(situation, verify)
            return Plan(Origin.BIGRAM, length) if length else Plan(Origin.TARGET)
        account, catch_up_ms = self._books.accounts[Origin.DRAFT], self._catch_up_ms(situation)
        if (situation.draft_lag or 1) > BULK and account.balance * verify[0] < catch_up_ms:
            account.invest(catch_up_ms / verify[0])
        return Plan(Origin.DRAFT, affordable(self._prices, limit, account.credit * verify[0]))

    def _price_draft(self, situation: Situation, verify: list[float]) -> float:
        """Set the prices of a drafted round; return the tokens it is expected to gain over a plain step."""
        books = self._books
        lag, plain_rate = situation.draft_lag, 1 / verify[0]
        if lag is None or not books.accounts[Origin.DRAFT].open:
            return 0.0
        step_ms, catch_up_ms = self.costs.drafting(lag, situation.context)
        first, further = self._outlook = self.draft.outlook
        ahead = [mean(further)] * (len(verify) - 2)
        reachable = best_rate(Prices(verify, step_ms, plain_rate), [mean(first), *ahead])
        self._prices = Prices(verify, step_ms, books.pace.within(plain_rate, reachable, _RATE_LIMIT * reachable))
        gain = drafting_gain(self._prices, 0, 1.0, first, ahead)
        if books.draft_used:
            gain -= self._prices.rate * catch_up_ms / books.streak.usual
        elif books.emitted < _PATIENCE * (catch_up_ms * plain_rate - _AT_ONCE):
            return 0.0
        covered = books.draft_used and books.accounts[Origin.DRAFT].balance > catch_up_ms * plain_rate
        if lag > BULK and not covered and not self._pays(catch_up_ms, plain_rate, reachable):
            return 0.0
        return gain

    def _catch_up_ms(self, situation: Situation) -> float:
        return self.costs.drafting(situation.draft_lag or 1, situation.context)[1]

    def _pays(self, catch_up_ms: float, plain_rate: float, reachable: float) -> bool:
        """Whether drafting at the reachable rate saves clearly more on the rest of the answer than a catch-up costs.

        The rest is as long as the usual answer is, or as what is written; n-grams go on writing their share of it.
        """
        books = self._books
        tokens = min(self._situation.remaining, max(self._expected - books.emitted, books.emitted))
        saving_ms = tokens * (1 - books.ngram_share) * (1 / plain_rate - 1 / reachable)
        return saving_ms > (_RETRY_MARGIN if books.draft_used else _MARGIN) * catch_up_ms

    def _price_ngram(self, situation: Situation, verify: list[float]) -> tuple[int, float]:
        """How many candidates of the offer to verify, and the tokens expected to be gained over a plain step."""
        offer = situation.ngram
        if offer is None:
            return 0, 0.0
        return self._price_free(Plan(Origin.NGRAM, offer.length), self._copied(offer, offer.length), verify)

    def _price_bigram(self, situation: Situation, verify: list[float]) -> int:
        """How many of the table's candidates to verify; 0 where they do not pay."""
        chances = [self.bigram.predict(chance) for chance in situation.bigram]
        length, gain = self._price_free(Plan(Origin.BIGRAM, len(chances)), chances, verify)
        return length if gain > 0.0 else 0

    def _price_free(self, most: Plan, chances: list[float], verify: list[float]) -> tuple[int, float]:
        """The same for candidates that cost nothing but their verification."""
        books, account = self._books, self._books.accounts[most.drafter]
        if not most.length or not account.open:
            return 0, 0.0
        credit_ms = account.credit * verify[0]
        length = affordable(Prices(verify, 0.0, 0.0), min(most.length, len(verify) - 1), credit_ms)
        chances = chances[:length]
        reachable = best_rate(Prices(verify, 0.0, 0.0), chances)
        pace = books.ngram_pace if most.drafter is Origin.NGRAM else books.pace
        rate = pace.within(1 / verify[0], reachable, _RATE_LIMIT * reachable)
        kept = kept_prefix(Prices(verify, 0.0, rate), survivals(chances))
        worth = self._prices.rate or 1 / verify[0]
        # Amid plain steps an offer stands alone: the pass changes its size for it and, behind it, back again.
        back_ms = self.costs.target.switch_ms if books.last_pass == 1 else 0.0
        return kept, sum(survivals(chances[:kept])) - worth * (verify[kept] - verify[0] + back_ms)

    def _permitted_tail(self, tail: NgramOffer | None) -> NgramOffer | None:
        return None if self._speculation.drafter is Drafter.DRAFT else tail

    def _copied(self, offer: NgramOffer, length: int) -> list[float]:
        """The chances of the first `length` candidates of an offer."""
        return [self.ngram.predict(offer.match_length, j) for j in range(1, length + 1)]

    def _tail_gain(self, drafted: int, survival: float, tail: NgramOffer | None) -> float:
        """The tokens, net of the worth of time, that a tail behind the drafted candidates is expected to add."""
        if tail is None:
            return 0.0
        verify, rate = self._prices.verify, self._prices.rate
        best = gained = 0.0
        for j, chance in enumerate(self._copied(tail, min(tail.length, self._plan.length - drafted)), start=1):
            survival *= chance
            gained += survival
            best = max(best, gained - rate * (verify[drafted + j] - verify[drafted]))
        return best

    def _below_threshold(self, confidences: Sequence[float]) -> bool:
        threshold = self._speculation.assistant_confidence_threshold
        return threshold is not None and len(confidences) > 0 and confidences[-1] < threshold

    def _survival(self, confidences: Sequence[float]) -> float:
        """The chance that all these candidates hold; each is judged once."""
        for position in range(len(self._chances) + 1, len(confidences) + 1):
            self._chances.append(self.draft.predict(position, confidences[position - 1]))
        return math.prod(self._chances)

    def _learn_prices(self, outcome: Outcome) -> None:
        context, tokens = self._situation.context, 1 + outcome.verified
        switched = self._books.last_pass != tokens
        self.costs.observe(tokens, context, outcome.verify_ms, outcome.other_ms, switched=switched)
        if outcome.confidences:
            self.costs.draft = self.costs.draft or Curve()
            lag, singles = max(self._situation.draft_lag or 1, 1), len(outcome.confidences) - 1
            switches = (lag > 1) + (lag > 1 and singles > 0)
            self.costs.draft.observe(lag, context, outcome.draft_ms, singles=singles, switches=switches)

    def _learn_draft(self, outcome: Outcome) -> None:
        confidences = outcome.confidences
        labels = min(len(confidences), outcome.in_line + 1)
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

    def _learn_bigram(self, outcome: Outcome) -> None:
        """The table is judged by every token that comes, whoever guessed: a bad one is never tried."""
        if outcome.bigram_matched is not None:
            labels = min(outcome.bigram_matched, outcome.accepted) + 1
            for position, chance in enumerate(self._situation.bigram[:labels], start=1):
                self.bigram.learn(chance, accepted=position <= outcome.bigram_matched)

    def _learn_tail(self, outcome: Outcome) -> None:
        tail, held = self._tail, outcome.in_line - len(outcome.confidences)
        if tail is None or held < 0:
            return
        for position in range(1, min(tail.length, held + 1) + 1):
            self.ngram.learn(tail.match_length, position, accepted=position <= held)

    def _learn_runners_up(self, outcome: Outcome) -> None:
        """A label is every place up to the first wrong candidate, checked beside it or not."""
        if outcome.matched is None:
            return
        for place, others in enumerate(outcome.runners_up[: min(outcome.matched, outcome.in_line) + 1]):
            wrong = place == outcome.matched
            self.runner_up.learn([each.confidence for each in others], came=wrong and outcome.runner_up is not None)


def _permitted(situation: Situation, drafter: Drafter) -> Situation:
    """As if the drafters that the user shut out were not there."""
    if drafter is Drafter.ANY:
        return situation
    return replace(
        situation,
        draft_lag=situation.draft_lag if drafter is Drafter.DRAFT else None,
        ngram=situation.ngram if drafter is Drafter.NGRAM else None,
        bigram=situation.bigram if drafter is Drafter.BIGRAM else (),
    )


def _fixed(situation: Situation, limit: int) -> Plan:
    if situation.draft_lag is not None:
        return Plan(Origin.DRAFT, limit)
    if situation.ngram:
        return Plan(Origin.NGRAM, min(limit, situation.ngram.length))
    return Plan(Origin.BIGRAM, min(limit, len(situation.bigram))) if situation.bigram else Plan(Origin.TARGET)
