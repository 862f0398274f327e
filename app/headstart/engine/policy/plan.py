"""The plan of a round: who drafts and how far; and the session that follows the plan while a model drafts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from headstart.engine.drafters.base import Draft
from headstart.engine.engine import Drafter, Mode, Speculation
from headstart.engine.origins import Origin
from headstart.engine.policy.acceptance import Acceptance
from headstart.engine.policy.cost_model import BULK, SIZES, Costs
from headstart.engine.policy.loss_budget import LossBudget
from headstart.engine.policy.rounds import DraftPlan, RoundState, Selection
from headstart.engine.policy.stopping import (
    NO_PRICES,
    Prices,
    Spread,
    affordable,
    best_prefix,
    best_rate,
    drafting_gain,
    mean,
    survivals,
)
from headstart.engine.runners.runner import Branch

MAX_CANDIDATES = max(size for size in SIZES if size < BULK) - 1  # in one round: with the target's own token 16
_MAX_RATE = 1.15  # of the rate that the model of the text says can be reached
_AMORTIZE_ROUNDS = 8  # rounds that share the cost of a catch-up
_PREFILL_DELAY = 1 / BULK  # tokens to write before a draft model reads a text, by the squared price in plain steps


@dataclass(frozen=True)
class PolicyState:
    """Everything that the policy knows before a round, apart from the round itself."""

    costs: Costs
    acceptance: Acceptance
    budget: LossBudget
    speculation: Speculation
    lengths: Sequence[float]  # tokens of the last answers


@dataclass(frozen=True)
class DraftEstimate:
    """The expectations of a round that one drafter drafts."""

    prices: Prices = NO_PRICES
    gain: float = 0.0  # tokens over a plain step, net of the worth of time
    rate: float = 0.0  # tokens a millisecond that can be reached
    limit: int = 0  # tokens of a free draft to check

    @property
    def rank(self) -> tuple[bool, float]:
        """The order of models: first those that gain, the fastest first."""
        return self.gain > 0.0, self.rate


NO_GAIN = DraftEstimate()


def plan_round(state: RoundState, policy: PolicyState) -> DraftPlan:
    """Choose the drafter of a round and its limit."""
    speculation = policy.speculation
    state = _allowed(state, speculation.drafter)
    limit = speculation.num_assistant_tokens or MAX_CANDIDATES
    if speculation.mode is Mode.AUTO:
        limit = min(limit, MAX_CANDIDATES)
    limit = min(limit, state.remaining - 1)
    if speculation.mode is Mode.OFF:
        return DraftPlan(replace(state, uncached_tokens={}))  # its rounds say nothing about models
    if limit < 1:
        return DraftPlan(state)
    if speculation.mode is Mode.FIXED:
        return _fixed_plan(state, limit)
    return _Planner(state, policy, limit).plan()


def _allowed(state: RoundState, drafter: Drafter) -> RoundState:
    """Keep only the drafter that `--drafter` allows."""
    if drafter is Drafter.ANY:
        return state
    name = Origin[drafter.name]
    free_drafts = {each: draft for each, draft in state.free_drafts.items() if each == name}
    uncached_tokens = {each: count for each, count in state.uncached_tokens.items() if each == name}
    return replace(state, free_drafts=free_drafts, uncached_tokens=uncached_tokens)


def _fixed_plan(state: RoundState, limit: int) -> DraftPlan:
    """Draft as many tokens as the user asks for: with a model if there is one, else with a free draft."""
    if state.uncached_tokens:
        return DraftPlan(state, next(iter(state.uncached_tokens)), limit)
    if state.free_drafts:
        drafter, draft = next(iter(state.free_drafts.items()))
        return DraftPlan(state, drafter, min(limit, len(draft.tokens)))
    return DraftPlan(state)


class _Planner:
    """Prices the drafters of one round and chooses among them."""

    def __init__(self, state: RoundState, policy: PolicyState, limit: int) -> None:
        self.state, self.policy, self.limit = state, policy, limit
        self.costs, self.budget = policy.costs, policy.budget
        last_pass, context = self.budget.last_pass, state.context
        if state.batch_size > 1:
            self.verify = self.costs.shared(limit + 1, context, state.batch_size)
            self.verify_drafted = self.costs.shared_by_all(limit + 1, context, state.batch_size)
        else:
            self.verify = self.verify_drafted = self.costs.verify(limit + 1, context, last_pass)
        self.plain_ms = self.verify[0]
        self.verify_without_switch_cost = self.verify_drafted
        self.changes_size = state.batch_size == 1 and last_pass.size <= 1  # a draft changes the size of the pass
        if self.changes_size:
            paid = replace(last_pass, spent_ms=math.inf)
            self.verify_without_switch_cost = self.costs.verify(limit + 1, context, paid)

    def plan(self) -> DraftPlan:
        """Take the drafter that is expected to gain most over a plain step."""
        state, budget = self.state, self.budget
        models = {name: self.model_estimate(name, self.verify_drafted) for name in state.uncached_tokens}
        model = max(models, key=lambda name: models[name].rank, default="")
        best = models.get(model, NO_GAIN)
        rate = best.prices.rate or 1 / self.plain_ms
        free = {name: self.free_estimate(name, draft, rate) for name, draft in state.free_drafts.items()}
        gaining = [name for name, estimate in free.items() if estimate.gain > max(best.gain, 0.0)]
        # A copy and a model follow this very text. Other free drafts count only if none of these gains.
        copies = [name for name in gaining if state.free_drafts[name].match_length]
        if copies or (gaining and best.gain <= 0.0):
            drafter = max(copies or gaining, key=lambda name: free[name].gain)
            return DraftPlan(state, drafter, free[drafter].limit, best.prices)
        if best.gain > 0.0:
            account, prefill_steps = budget.accounts[model], 0.0
            catch_up_ms = self.drafting_ms(model)[1]
            if state.uncached_tokens[model] > BULK and account.balance * self.plain_ms < catch_up_ms:
                prefill_steps = catch_up_ms / self.plain_ms
            limit = affordable(best.prices, self.limit, (account.credit + prefill_steps) * self.plain_ms)
            growing = replace(best.prices, verify=self.verify_without_switch_cost)
            return DraftPlan(state, model, limit, best.prices, growing, prefill_steps=prefill_steps)
        deferred_gain_ms = 0.0
        if model:
            growing_estimate = self.model_estimate(model, self.verify_without_switch_cost)
            if growing_estimate.gain > 0.0:
                deferred_gain_ms = growing_estimate.gain / growing_estimate.prices.rate
        return DraftPlan(state, prices=best.prices, deferred_gain_ms=deferred_gain_ms)

    def drafting_ms(self, model: str) -> tuple[float, float]:
        """Return the milliseconds of a drafted token, and those of reading what the model lacks of the text."""
        state = self.state
        return self.costs.drafting(model, state.uncached_tokens[model], state.context, state.batch_size)

    def model_estimate(self, model: str, verify: list[float]) -> DraftEstimate:
        """Estimate a round that a model drafts."""
        budget, plain_rate = self.budget, 1 / verify[0]
        account = budget.accounts[model]
        if account.is_paused:
            return NO_GAIN
        step_ms, catch_up_ms = self.drafting_ms(model)
        first, further = self.policy.acceptance.models[model].outlook
        ahead = [mean(further)] * (len(verify) - 2)
        reachable = self.reachable_rate(model, verify)
        prices = Prices(verify, step_ms, budget.pace.within(plain_rate, reachable, _MAX_RATE * reachable))
        gain = drafting_gain(prices, 0, 1.0, first, ahead)
        is_used, is_long = model in budget.used, self.is_long(model)
        if is_used:  # a head has something to read in each of its rounds
            gain -= prices.rate * catch_up_ms / (1 if model == Origin.HEAD and not is_long else _AMORTIZE_ROUNDS)
        elif budget.written < int(_PREFILL_DELAY * (catch_up_ms * plain_rate) ** 2):
            return DraftEstimate(prices)
        has_credit = is_used and account.balance > catch_up_ms * plain_rate
        if is_long and not has_credit and not self.may_read(catch_up_ms, reachable, verify):
            return DraftEstimate(prices)
        return DraftEstimate(prices, gain, reachable)

    def may_read(self, catch_up_ms: float, reachable: float, verify: list[float]) -> bool:
        """Return whether a model should read a long text, after which it reaches `reachable` tokens a millisecond.

        If a head can draft without reading, a long text is read at the beginning only with time that was saved before.
        """
        plain_rate = 1 / verify[0]
        ready = [self.reachable_rate(name, verify) for name in self.state.uncached_tokens if not self.is_long(name)]
        if ready and self.budget.written < BULK and self.budget.saved_ms < catch_up_ms:
            return False
        return self.is_worth_prefilling(catch_up_ms * plain_rate, reachable / max([plain_rate, *ready]))

    def is_long(self, model: str) -> bool:
        """Return whether a model has to read a long text before its first guess."""
        return self.state.uncached_tokens[model] > BULK

    def reachable_rate(self, model: str, verify: list[float]) -> float:
        """Return the tokens a millisecond that a model can reach once it has read the text; 0.0 while it pauses."""
        if self.budget.accounts[model].is_paused:
            return 0.0
        first, further = self.policy.acceptance.models[model].outlook
        prices = Prices(verify, self.drafting_ms(model)[0], 1 / verify[0])
        return best_rate(prices, [mean(first), *[mean(further)] * (len(verify) - 2)])

    def is_worth_prefilling(self, steps: float, speedup: float) -> bool:
        """Return whether to read a long text now rather than later or never. Reading takes `steps` plain steps.

        `speedup`: of the rest of the answer, against writing it without reading. Possible lengths of the answer are
        those of the last answers, if longer than the text so far, or else twice the text. Each token counts as less
        than a plain step if guesses have saved time so far. The cost is the mean logarithm of the time, so that twice
        the time is as bad for a short answer as for a long one.
        """
        tokens, per_token = self.budget.written, self.budget.steps_per_token(self.plain_ms)
        written = per_token * tokens
        lengths = [length - tokens for length in self.policy.lengths if length > tokens]
        rest = [per_token * min(length, self.state.remaining) for length in lengths or [tokens]]

        def cost(wait: int) -> float:
            """Return the cost of reading after `wait` further plain steps."""
            times = (each if each <= wait else wait + steps + (each - wait) / speedup for each in rest)
            return sum(math.log(written + time) for time in times)

        now = cost(0)
        return all(now < cost(2**power) for power in range(math.ceil(max(rest)).bit_length() + 1))

    def free_estimate(self, drafter: str, draft: Draft, rate: float) -> DraftEstimate:
        """Estimate a round that checks a free draft. `rate`: tokens a millisecond without it."""
        account, verify = self.budget.accounts[drafter], self.verify
        if account.is_paused:
            return NO_GAIN
        free = Prices(verify, 0.0, 0.0)
        length = affordable(free, min(len(draft.tokens), self.limit), account.credit * self.plain_ms)
        chances = self.policy.acceptance.free[drafter].chances(draft.beginning(length))
        prices = replace(free, rate=best_rate(free, chances))
        count = best_prefix(prices, survivals(chances))
        # The pass after this one changes the size back.
        back_ms = self.costs.target.switch_ms if self.changes_size else 0.0
        gain = sum(survivals(chances[:count])) - rate * (verify[count] - self.plain_ms + back_ms)
        return DraftEstimate(prices, gain, limit=count)


class DraftSession:
    """The execution of a plan in one round: when a model stops drafting, and which part of the draft is checked."""

    def __init__(self, plan: DraftPlan, policy: PolicyState) -> None:
        self.plan = plan
        self._policy = policy
        self._chances: list[float] = []  # of the candidates that a model drafted

    def should_continue(self, draft: Draft) -> bool:
        """Return whether the model drafts one more token. The draft may end with n-grams, which do not count."""
        drafted = len(draft.confidences)
        if drafted >= self.plan.limit or self._is_below_threshold(draft):
            return False
        if self._is_fixed or not drafted:
            return True
        survival = math.prod(self._chances_of(draft))
        ahead = (mean(self._following),) * (self.plan.limit - drafted - 1)
        gain = drafting_gain(self.plan.prices, drafted, survival, self._following, ahead)
        return gain > max(0.0, self._tail_gain(draft, survival))

    def select(self, draft: Draft) -> Selection:
        """Return the beginning of a draft that is worth checking, with the branches beside it."""
        plan = self.plan
        if not plan.is_drafted:
            return self._selection(draft, draft.beginning(plan.limit), plan.deferred_gain_ms)
        count, deferred_gain_ms = self._num_to_verify(draft)
        branches = self._branches(draft, count) if plan.state.can_branch else ()
        checked = replace(draft, tokens=draft.tokens[:count], branches=tuple(branches))
        return self._selection(draft, checked, deferred_gain_ms)

    def _selection(self, guessed: Draft, checked: Draft, deferred_gain_ms: float = 0.0) -> Selection:
        """Choose the size of the pass: padding up to the size of the last one may be cheaper than another size."""
        state, last_pass, size = self.plan.state, self._policy.budget.last_pass, 1 + checked.size
        if state.can_pad and state.batch_size == 1 and last_pass.size <= state.room:
            size = self._policy.costs.size(size, state.context, last_pass)
        return Selection(guessed, checked, size, deferred_gain_ms)

    @cached_property
    def _following(self) -> Spread:
        """The chances of a further candidate, which a round does not change."""
        return self._policy.acceptance.models[self.plan.drafter].outlook[1]

    @property
    def _is_fixed(self) -> bool:
        return self._policy.speculation.mode is Mode.FIXED

    def _num_to_verify(self, draft: Draft) -> tuple[int, float]:
        """Return how many tokens to check, and the gain in ms of checking more if that did not change the size.

        N-grams after all drafted tokens count. No token to check makes a plain step.
        """
        drafted = len(draft.confidences)
        usable = drafted - self._is_below_threshold(draft)
        if self._is_fixed:
            return usable, 0.0
        chances = self._chances_of(draft)[:usable]
        if usable == drafted:
            chances = chances + self._tail_chances(draft)
        prices, growing, survive = self.plan.prices, self.plan.without_switch_cost, survivals(chances)
        count, more = best_prefix(prices, survive), best_prefix(growing, survive)
        dearer_ms = growing.verify[more] - growing.verify[count]
        return count, sum(survive[count:more]) / prices.rate - dearer_ms

    def _branches(self, draft: Draft, count: int) -> Sequence[Branch]:
        """Choose the runners-up to check beside the first `count` tokens.

        An accepted branch gives two tokens: itself and the target's own after it.
        """
        if self._is_fixed or not count:
            return ()
        threshold = self._policy.speculation.assistant_confidence_threshold or 0.0
        before = [1.0, *survivals(self._chances)]
        rivals = [
            (before[place] * min(guess.confidence, 1 - self._chances[place]), place, rank)
            for place, guesses in enumerate(draft.runners_up[: min(count, len(self._chances))])
            for rank, guess in enumerate(guesses)
            if guess.confidence >= threshold
        ]
        rivals.sort(reverse=True)
        prices = replace(self.plan.prices, verify=self.plan.prices.verify[count : self.plan.limit + 1])
        rivals = rivals[: len(prices.verify) - 1]
        number = best_prefix(prices, [chance for chance, _, _ in rivals]) if rivals else 0
        # In the pass the pending token stands before the candidates.
        return [Branch(1 + place, draft.runners_up[place][rank].token) for _, place, rank in rivals[:number]]

    def _tail_chances(self, draft: Draft) -> list[float]:
        """Return the chances of the n-grams after the drafted tokens, up to the limit."""
        if self._policy.speculation.drafter is Drafter.DRAFT:
            return []
        return self._policy.acceptance.copied(draft, min(len(draft.copied), self.plan.limit - len(draft.confidences)))

    def _tail_gain(self, draft: Draft, survival: float) -> float:
        """Return the expected tokens from the n-grams after the drafted tokens, net of the worth of their time."""
        verify, rate, drafted = self.plan.prices.verify, self.plan.prices.rate, len(draft.confidences)
        best = gained = 0.0
        for j, chance in enumerate(self._tail_chances(draft), start=1):
            survival *= chance
            gained += survival
            best = max(best, gained - rate * (verify[drafted + j] - verify[drafted]))
        return best

    def _is_below_threshold(self, draft: Draft) -> bool:
        threshold = self._policy.speculation.assistant_confidence_threshold
        return threshold is not None and bool(draft.confidences) and draft.confidences[-1] < threshold

    def _chances_of(self, draft: Draft) -> list[float]:
        """Return the chances of the drafted tokens; each is computed once."""
        calibration = self._policy.acceptance.models[self.plan.drafter]
        self._chances += [calibration.predict(confidence) for confidence in draft.confidences[len(self._chances) :]]
        return self._chances
