"""The policy: which drafter guesses the next tokens, how far, and what its rounds teach."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from headstart.engine.drafters.base import NO_DRAFT, Draft
from headstart.engine.engine import Drafter, Mode, Speculation, Timing
from headstart.engine.origins import Origin
from headstart.engine.policy.acceptance import Acceptance, DraftCalibration
from headstart.engine.policy.cost_model import BULK, Costs, is_figure
from headstart.engine.policy.loss_budget import Books
from headstart.engine.policy.rounds import Outcome, Situation
from headstart.engine.policy.stopping import Prices, affordable, best_rate, drafting_gain, kept_prefix, mean, survivals
from headstart.engine.runners.runner import Branch, Joined

LONGEST = 15  # candidates in one round; with the target's own token a pass over 16
_HORIZON = 4  # candidates looked ahead while drafting
_RATE_LIMIT = 1.15  # of the rate that the model of the text says can be reached
_SHARED = 8  # rounds that share the cost of a catch-up
_PATIENCE = (
    1 / 32
)  # tokens written first, times the square of the plain steps that reading costs: a long text is a gamble
_UNPRICED = Prices((0.0,), 0.0, 0.0)
# Tokens of the last answers; these stand for them until as many were seen. A log-normal spread around 200.
_USUAL_LENGTHS = (747, 435, 299, 216, 158, 112, 73, 31, 54, 92, 134, 185, 254, 357, 549, 1288)


@dataclass(frozen=True)
class PricedModel:
    """What a round costs that a model drafts, what it is expected to gain, tokens over a plain step, and its pace."""

    prices: Prices
    gain: float = 0.0
    reachable: float = 0.0  # tokens a millisecond

    @property
    def merit(self) -> tuple[bool, float]:
        """What the best of several is chosen by."""
        return self.gain > 0.0, self.reachable


_USELESS = PricedModel(_UNPRICED)


@dataclass(frozen=True)
class Knowledge:
    """What a plan is made from, beside where the text stands."""

    costs: Costs
    acceptance: Acceptance
    books: Books
    speculation: Speculation  # bounds of the user
    lengths: Sequence[float]  # of the last answers


class DraftPlan:
    """The plan of one round: the drafter, the limit, when to stop drafting, what of a draft to check."""

    def __init__(self, situation: Situation, known: Knowledge) -> None:
        """Choose the drafter and the limit."""
        speculation = known.speculation
        self.situation = situation = _permitted(situation, speculation.drafter)
        self.drafter: str = Origin.TARGET
        self.limit = 0  # tokens to check at most
        self.prices = _UNPRICED
        self.guessed = self.checked = NO_DRAFT
        self._known = known
        self._foregone_ms = 0.0  # see Outcome.foregone_ms
        self._growing = _UNPRICED  # the same prices, as if a guess amid plain steps cost no change of size
        self._chances: list[float] = []  # of the candidates that a model drafted
        cap = speculation.num_assistant_tokens or LONGEST
        most = min(cap, LONGEST if speculation.mode is Mode.AUTO else cap, situation.remaining - 1)
        if speculation.mode is Mode.OFF or most < 1:
            return
        if self._is_fixed:
            self._fix(most)
        else:
            self._price(most)

    @property
    def offer(self) -> Draft | None:
        """What the chosen drafter guesses for nothing; None where a model is to guess."""
        if self.is_drafted:
            return None
        return self.situation.offers.get(self.drafter, NO_DRAFT)

    @property
    def is_drafted(self) -> bool:
        """Whether a model is to guess."""
        return self.drafter in self.situation.lags

    def wants_more(self, draft: Draft) -> bool:
        """Whether the model is to guess one more token behind these; n-grams may have continued them."""
        drafted = len(draft.confidences)
        if drafted >= self.limit or self._below_threshold(draft.confidences):
            return False
        if self._is_fixed or not drafted:
            return True
        survival, following = self._survival(draft.confidences), self._calibration.outlook[1]
        ahead = (mean(following),) * (_HORIZON - 1)
        gain = drafting_gain(self.prices, drafted, survival, following, ahead)
        return gain > max(0.0, self._tail_gain(draft, survival))

    def trim(self, draft: Draft) -> Draft:
        """Of what was guessed, the beginning that pays, with the branches that pay beside it; note both."""
        self.guessed = draft
        if not self.is_drafted:
            self.checked = draft.beginning(self.limit)
            return self.checked
        kept = self._kept(draft)
        shares = [[each.confidence for each in others] for others in draft.runners_up]
        chosen = self._branches(shares, kept) if self.situation.can_branch else ()
        # In a pass the pending token stands before the candidates.
        branches = tuple(Branch(1 + place, draft.runners_up[place][rank].token) for place, rank in chosen)
        self.checked = replace(draft, tokens=draft.tokens[:kept], branches=branches)
        return self.checked

    @property
    def size(self) -> int:
        """Tokens of the pass: those to verify, filled up to the size of the last one where that is cheaper."""
        tokens, kept, situation = 1 + self.checked.size, self._known.books.kept, self.situation
        if not situation.can_pad:
            return tokens
        is_own = situation.sharing == 1 and kept.size <= situation.room
        return tokens if not is_own else self._known.costs.size(tokens, situation.context, kept)

    def outcome(self, chosen: Sequence[int], timing: Timing) -> Outcome:
        """What became of it."""
        return Outcome(
            self.situation, self.drafter, self.guessed, self.checked, chosen, timing, self.size, self._foregone_ms
        )

    @property
    def _is_fixed(self) -> bool:
        return self._known.speculation.mode is Mode.FIXED

    def _fix(self, most: int) -> None:
        """As many as the user asked for: of a model if there is one, else of a drafter that offers some."""
        situation = self.situation
        if situation.lags:
            self.drafter, self.limit = next(iter(situation.lags)), most
        elif situation.offers:
            self.drafter, offer = next(iter(situation.offers.items()))
            self.limit = min(most, len(offer.tokens))

    def _price(self, most: int) -> None:
        """Take the drafter that is expected to gain most over a plain step."""
        situation, books = self.situation, self._known.books
        kept, costs = books.kept, self._known.costs
        if situation.sharing > 1:
            verify = costs.shared(most + 1, situation.context, situation.sharing)
        else:
            verify = costs.verify(most + 1, situation.context, kept)
        # Amid plain steps a guess pays for a change of size. What it would be worth without saves up for the next.
        growing = verify
        if situation.sharing == 1 and kept.size <= 1:
            growing = self._known.costs.verify(most + 1, situation.context, replace(kept, spent_ms=math.inf))
        priced = {name: self._price_model(name, verify) for name in situation.lags}
        model = max(priced, key=lambda name: priced[name].merit, default="")
        gain, self.prices = (priced[model].gain, priced[model].prices) if model else (0.0, _UNPRICED)
        worth = self.prices.rate or 1 / verify[0]
        offered = {name: self._price_free(name, offer, verify, worth) for name, offer in situation.offers.items()}
        # What copies, or models, has seen this text; others are asked where none of these pays.
        pays = [name for name, (gained, _) in offered.items() if gained > max(gain, 0.0)]
        copies = [name for name in pays if situation.offers[name].match_length]
        if copies or (pays and gain <= 0.0):
            self.drafter = max(copies or pays, key=lambda name: offered[name][0])
            self.limit = offered[self.drafter][1]
        elif gain > 0.0:
            account, catch_up_ms = books.accounts[model], self._drafting_ms(model)[1]
            if situation.lags[model] > BULK and account.balance * verify[0] < catch_up_ms:
                account.invest(catch_up_ms / verify[0])
            self.drafter, self.limit = model, affordable(self.prices, most, account.credit * verify[0])
            self._growing = replace(self.prices, verify=growing)
        elif model and (wish := self._price_model(model, growing)).gain > 0.0:
            self._foregone_ms = wish.gain / wish.prices.rate

    @property
    def _calibration(self) -> DraftCalibration:
        """Of the model that drafts."""
        return self._known.acceptance.models[self.drafter]

    def _drafting_ms(self, model: str) -> tuple[float, float]:
        """Milliseconds of a drafted token, and of what the model must read first."""
        return self._known.costs.drafting(model, self.situation.lags[model], self.situation.context)

    def _price_model(self, model: str, verify: list[float]) -> PricedModel:
        """The prices of a round that this model drafts."""
        books, plain_rate = self._known.books, 1 / verify[0]
        account = books.accounts[model]
        if not account.open:
            return _USELESS
        step_ms, catch_up_ms = self._drafting_ms(model)
        first, further = self._known.acceptance.models[model].outlook
        ahead = [mean(further)] * (len(verify) - 2)
        reachable = best_rate(Prices(verify, step_ms, plain_rate), [mean(first), *ahead])
        prices = Prices(verify, step_ms, books.pace.within(plain_rate, reachable, _RATE_LIMIT * reachable))
        gain = drafting_gain(prices, 0, 1.0, first, ahead)
        is_used, is_long = model in books.used, self.situation.lags[model] > BULK
        if is_used:  # a head has something to read in each of its rounds
            gain -= prices.rate * catch_up_ms / (1 if model == Origin.HEAD and not is_long else _SHARED)
        elif books.emitted < int(_PATIENCE * (catch_up_ms * plain_rate) ** 2):
            return PricedModel(prices)
        covered = is_used and account.balance > catch_up_ms * plain_rate
        if is_long and not covered and not self._pays(catch_up_ms * plain_rate, reachable / plain_rate):
            return PricedModel(prices)
        return PricedModel(prices, gain, reachable)

    def _pays(self, steps: float, speedup: float) -> bool:
        """Whether a model had better read now than later or never: that takes `steps` plain steps, then it is faster.

        The answer may be as long as any of the last ones that is longer than what is written, else as long again. What
        counts is the mean logarithm of its time, as an answer that takes twice as long is as bad, be it long or short.
        """
        written, remaining = self._known.books.emitted, self.situation.remaining
        usual = [length - written for length in self._known.lengths if length > written]
        rest = [min(tokens, remaining) for tokens in usual or [written]]

        def cost(wait: int) -> float:
            """Of reading after so many further tokens."""
            times = (each if each <= wait else wait + steps + (each - wait) / speedup for each in rest)
            return sum(math.log(written + time) for time in times)

        now = cost(0)
        return all(now < cost(2**power) for power in range(math.ceil(max(rest)).bit_length() + 1))

    def _price_free(self, drafter: str, offer: Draft, verify: list[float], worth: float) -> tuple[float, int]:
        """The tokens that an offer is expected to gain over a plain step, and how many of its tokens to check.

        `worth`: tokens a millisecond.
        """
        books, account = self._known.books, self._known.books.accounts[drafter]
        if not account.open:
            return 0.0, 0
        free = Prices(verify, 0.0, 0.0)
        length = affordable(free, min(len(offer.tokens), len(verify) - 1), account.credit * verify[0])
        chances = self._known.acceptance.free[drafter].chances(offer.beginning(length))
        rate = best_rate(free, chances)
        kept = kept_prefix(Prices(verify, 0.0, rate), survivals(chances))
        # Amid plain steps an offer stands alone: the pass changes its size for it and, behind it, back again.
        is_plain = self.situation.sharing == 1 and books.kept.size <= 1
        back_ms = self._known.costs.target.switch_ms if is_plain else 0.0
        return sum(survivals(chances[:kept])) - worth * (verify[kept] - verify[0] + back_ms), kept

    def _kept(self, draft: Draft) -> int:
        """How many tokens to check, those that n-grams put behind all drafted ones included; 0: a plain step."""
        drafted = len(draft.confidences)
        usable = drafted - self._below_threshold(draft.confidences)
        if self._is_fixed:
            return usable
        self._survival(draft.confidences)
        chances = self._chances[:usable]
        if usable == drafted:
            chances = chances + self._tail_chances(draft)
        survive = survivals(chances)
        kept, wish = kept_prefix(self.prices, survive), kept_prefix(self._growing, survive)
        dearer_ms = self._growing.verify[wish] - self._growing.verify[kept]
        self._foregone_ms = sum(survive[kept:wish]) / self.prices.rate - dearer_ms
        return kept

    def _branches(self, shares: Sequence[Sequence[float]], kept: int) -> list[tuple[int, int]]:
        """Which runners-up to check beside the `kept` tokens: the place of the token and the rank, from 0.

        `shares`: what the draft gave to each of them. One that comes adds itself and the target's token behind it.
        """
        if self._is_fixed or not kept:
            return []
        least = self._known.speculation.assistant_confidence_threshold or 0.0
        before, usable = [1.0, *survivals(self._chances)], min(kept, len(self._chances))
        rivals = [
            (before[place] * min(share, 1 - self._chances[place]), place, rank)
            for place, ranked in enumerate(shares[:usable])
            for rank, share in enumerate(ranked)
            if share >= least
        ]
        rivals.sort(reverse=True)
        beyond = replace(self.prices, verify=self.prices.verify[kept : self.limit + 1])
        rivals = rivals[: len(beyond.verify) - 1]
        worth = kept_prefix(beyond, [chance for chance, _, _ in rivals]) if rivals else 0
        return [(place, rank) for _, place, rank in rivals[:worth]]

    def _tail_chances(self, draft: Draft) -> list[float]:
        """Of the tokens that n-grams put behind the drafted ones, as far as they may be checked."""
        if self._known.speculation.drafter is Drafter.DRAFT:
            return []
        return self._known.acceptance.copied(draft, min(len(draft.copied), self.limit - len(draft.confidences)))

    def _tail_gain(self, draft: Draft, survival: float) -> float:
        """The tokens, net of the worth of time, that these are expected to add."""
        verify, rate, drafted = self.prices.verify, self.prices.rate, len(draft.confidences)
        best = gained = 0.0
        for j, chance in enumerate(self._tail_chances(draft), start=1):
            survival *= chance
            gained += survival
            best = max(best, gained - rate * (verify[drafted + j] - verify[drafted]))
        return best

    def _below_threshold(self, confidences: Sequence[float]) -> bool:
        threshold = self._known.speculation.assistant_confidence_threshold
        return threshold is not None and len(confidences) > 0 and confidences[-1] < threshold

    def _survival(self, confidences: Sequence[float]) -> float:
        """The chance that all these candidates hold; each is judged once."""
        for position in range(len(self._chances) + 1, len(confidences) + 1):
            self._chances.append(self._calibration.predict(confidences[position - 1]))
        return math.prod(self._chances)


def _permitted(situation: Situation, drafter: Drafter) -> Situation:
    """As if the drafters that the user shut out were not there."""
    if drafter is Drafter.ANY:
        return situation
    name = Origin[drafter.name]
    offers = {each: offer for each, offer in situation.offers.items() if each == name}
    return replace(situation, lags={each: lag for each, lag in situation.lags.items() if each == name}, offers=offers)


Observer = Callable[[DraftPlan, Outcome], None]


class Policy:
    """The decisions of one pair of models. What it learned outlives an answer; pace, accounts and bounds do not."""

    def __init__(self, costs: Costs, acceptance: Acceptance | None = None) -> None:
        """Without an acceptance it starts from the priors."""
        self.costs = costs
        self.acceptance = acceptance or Acceptance()
        self.observers: list[Observer] = []  # of every round, once it was learned from
        self._lengths = deque[float](_USUAL_LENGTHS, maxlen=len(_USUAL_LENGTHS))
        self._books = Books()
        self.begin_answer(Speculation())

    def begin_answer(self, speculation: Speculation, expected_tokens: int | None = None) -> None:
        """Forget the last answer and take the user's bounds. `expected_tokens`: its length, if known."""
        if self._books.emitted:
            self._lengths.append(self._books.emitted)
        self._speculation = speculation
        self._expected = (expected_tokens,) if expected_tokens else tuple(self._lengths)
        self._books = Books()
        self._context, self.rate = 0, 0.0

    @property
    def plain_ms(self) -> float:
        """Running price of a plain step."""
        return self.costs.target.ms(1, self._context)

    @property
    def ledger_ms(self) -> float:
        """Earned in this answer against plain decoding; negative: lost."""
        return self._books.earned_ms

    def plan(self, situation: Situation) -> DraftPlan:
        """Choose the drafter of this round, and the limit."""
        known = Knowledge(self.costs, self.acceptance, self._books, self._speculation, self._expected)
        plan = self._planned(situation, known)
        self._context, self.rate = situation.context, plan.prices.rate
        return plan

    def _planned(self, situation: Situation, known: Knowledge) -> DraftPlan:
        return DraftPlan(situation, known)

    def usual(self, plan: DraftPlan) -> Timing:
        """What its pass takes of all who share it."""
        there = plan.situation
        return Timing(verify_ms=self.costs.shared(plan.size, there.context, there.sharing)[-1])

    def observe(self, plan: DraftPlan, outcome: Outcome, joined: Joined | None = None) -> None:
        """Take in what became of a round. `joined`: its pass, where that was for others, too."""
        if joined:
            self.costs.target.observe(joined.tokens, joined.context, joined.ms, switches=joined.is_switched)
        else:
            self._learn_prices(outcome)
        self._books.enter(outcome, self.costs)
        self.acceptance.learn(outcome)
        for observer in self.observers:
            observer(plan, outcome)

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs: prices, acceptance, the lengths of the last answers."""
        return {"costs": self.costs.to_json(), **self.acceptance.to_json(), "lengths": [*self._lengths]}

    @classmethod
    def from_json(cls, data: object) -> Self | None:
        """The stored policy; None without its prices. Another part that cannot be read starts from its prior."""
        match data:
            case {"costs": prices, **learned} if costs := Costs.from_json(prices):
                policy, lengths = cls(costs, Acceptance.from_json(learned)), learned.get("lengths")
                if isinstance(lengths, list) and all(is_figure(each, least=1.0) for each in lengths):
                    policy._lengths.extend(lengths)
                policy.begin_answer(Speculation())
                return policy
        return None

    def _learn_prices(self, outcome: Outcome) -> None:
        """What no model does in a round counts as part of the target's pass."""
        context, tokens, timing = outcome.situation.context, outcome.size, outcome.timing
        switched = self._books.last_pass != tokens
        self.costs.target.observe(tokens, context, timing.verify_ms + timing.other_ms, switches=switched)
        if outcome.confidences:
            curve, size = self.costs.model(outcome.drafter), self.costs.pass_of(outcome.drafter)
            further = len(outcome.confidences) - 1
            tokens = max(outcome.lag, size)
            switches = (tokens > size) + (tokens > size and further > 0)
            curve.observe(tokens, context, timing.draft_ms, further, size, switches)
