"""The policy: it plans each round, and learns prices and acceptance from what rounds cost and gave."""

from collections import deque
from collections.abc import Callable
from typing import Any, Self

from headstart.engine.engine import Speculation, Timing
from headstart.engine.policy.acceptance import Acceptance
from headstart.engine.policy.cost_model import Costs, is_figure
from headstart.engine.policy.loss_budget import LossBudget
from headstart.engine.policy.plan import DraftSession, PolicyState, plan_round
from headstart.engine.policy.rounds import DraftPlan, Outcome, RoundState, Selection
from headstart.engine.runners.runner import Joined

# Tokens of the last answers; these stand for them until as many were seen. A log-normal spread around 200.
_PRIOR_LENGTHS = (747, 435, 299, 216, 158, 112, 73, 31, 54, 92, 134, 185, 254, 357, 549, 1288)

Observer = Callable[[Outcome], None]


class Policy:
    """The decisions for one pair of models. What it learns outlives an answer; pace, accounts and bounds do not."""

    def __init__(self, costs: Costs, acceptance: Acceptance | None = None) -> None:
        self.costs = costs
        self.acceptance = acceptance or Acceptance()
        self.observers: list[Observer] = []  # called after each round
        self._lengths = deque[float](_PRIOR_LENGTHS, maxlen=len(_PRIOR_LENGTHS))
        self._budget = LossBudget()
        self.begin_answer(Speculation())

    def begin_answer(self, speculation: Speculation, expected_tokens: int | None = None) -> None:
        """Forget the last answer and take the user's bounds. `expected_tokens`: the length of the answer, if known."""
        if self._budget.written:
            self._lengths.append(self._budget.written)
        self._speculation = speculation
        self._expected = (expected_tokens,) if expected_tokens else tuple(self._lengths)
        self._budget = LossBudget()
        self._context = 0

    @property
    def plain_ms(self) -> float:
        """Milliseconds of a plain step."""
        return self.costs.target.ms(1, self._context)

    @property
    def ledger_ms(self) -> float:
        """Milliseconds saved in this answer against plain decoding; negative if time was lost."""
        return self._budget.saved_ms

    @property
    def state(self) -> PolicyState:
        """Everything that a plan depends on, apart from the round."""
        return PolicyState(self.costs, self.acceptance, self._budget, self._speculation, self._expected)

    def plan(self, state: RoundState) -> DraftPlan:
        """Choose the drafter of a round and its limit. Nothing changes."""
        return plan_round(state, self.state)

    def begin_round(self, state: RoundState) -> DraftSession:
        """Plan a round. Return the session that follows the plan."""
        return DraftSession(self.plan(state), self.state)

    def shared_timing(self, plan: DraftPlan, selection: Selection) -> Timing:
        """Return the expected time that a round costs all answers that share its passes."""
        state, costs = plan.state, self.costs
        if not plan.is_drafted:
            return Timing(verify_ms=costs.shared(selection.size, state.context, state.batch_size)[-1])
        step_ms, catch_up_ms = costs.drafting(
            plan.drafter, state.uncached_tokens[plan.drafter], state.context, state.batch_size
        )
        draft_ms = catch_up_ms + step_ms * len(selection.guessed.confidences)
        return Timing(draft_ms, costs.shared_by_all(selection.size, state.context, state.batch_size)[-1])

    def observe(self, outcome: Outcome, joined: Joined | None = None) -> None:
        """Learn from a round. `joined`: its whole pass, if other answers shared it."""
        self._context = outcome.state.context
        if joined:
            self.costs.target.observe(joined.tokens, joined.context, joined.ms, switches=joined.is_switched)
        else:
            self._learn_prices(outcome)
        self._budget.observe(outcome, self.costs)
        self.acceptance.learn(outcome)
        for observer in self.observers:
            observer(outcome)

    def copy(self) -> "Policy":
        """Return a policy that begins with what this one has learned, and learns for itself."""
        policy = Policy.from_json(self.to_json()) or Policy(self.costs)
        policy.costs.passes.update(self.costs.passes)
        policy.costs.without_cache.update(self.costs.without_cache)
        return policy

    def to_json(self) -> dict[str, Any]:
        """Return the data to keep between runs: prices, acceptance and the lengths of the last answers."""
        lengths = self._lengths.copy()
        if self._budget.written:
            lengths.append(self._budget.written)
        return {"costs": self.costs.to_json(), **self.acceptance.to_json(), "lengths": [*lengths]}

    @classmethod
    def from_json(cls, data: object) -> Self | None:
        """Return the stored policy; None without its prices. Another part that cannot be read starts from its prior."""
        match data:
            case {"costs": prices, **learned} if costs := Costs.from_json(prices):
                policy, lengths = cls(costs, Acceptance.from_json(learned)), learned.get("lengths")
                if isinstance(lengths, list) and all(is_figure(length, minimum=1.0) for length in lengths):
                    policy._lengths.extend(lengths)
                policy.begin_answer(Speculation())
                return policy
        return None

    def _learn_prices(self, outcome: Outcome) -> None:
        """Learn the prices of both models. The work of neither counts as part of the target's pass."""
        context, tokens, timing = outcome.state.context, outcome.size, outcome.timing
        switched = self._budget.last_size != tokens
        self.costs.target.observe(tokens, context, timing.verify_ms + timing.other_ms, switches=switched)
        if outcome.confidences:
            curve, size = self.costs.model(outcome.drafter), self.costs.pass_of(outcome.drafter)
            further = len(outcome.confidences) - 1
            tokens = max(outcome.uncached_tokens, size)
            switches = (tokens > size) + (tokens > size and further > 0)
            read = self.costs.context_of(outcome.drafter, context)
            curve.observe(tokens, read, timing.draft_ms, further, size, switches)
