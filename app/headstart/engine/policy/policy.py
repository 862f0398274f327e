"""Who drafts the next tokens and how far: what is known of one pair of models, and what its rounds teach."""

from collections.abc import Callable
from typing import Any, Self

from headstart.engine.engine import Speculation
from headstart.engine.policy.acceptance import Acceptance
from headstart.engine.policy.cost_model import Costs, is_figure
from headstart.engine.policy.loss_budget import Books
from headstart.engine.policy.plan import DraftPlan, Knowledge
from headstart.engine.policy.rounds import Outcome, Situation

_USUAL_TOKENS = 200.0  # length of an answer before any was seen
_NEW_ANSWER = 0.2  # weight of the newest answer in the usual length

Observer = Callable[[DraftPlan, Outcome], None]


class Policy:
    """The decisions of one pair of models. What it learned outlives an answer; pace, accounts and bounds do not."""

    def __init__(self, costs: Costs, acceptance: Acceptance | None = None) -> None:
        """Without an acceptance it starts from the priors."""
        self.costs = costs
        self.acceptance = acceptance or Acceptance()
        self.observers: list[Observer] = []  # of every round, once it was learned from
        self._usual_tokens = _USUAL_TOKENS
        self._books = Books()
        self.begin_answer(Speculation())

    def begin_answer(self, speculation: Speculation, expected_tokens: int | None = None) -> None:
        """Forget the last answer and take the user's bounds. `expected_tokens`: its length, where somebody knows it."""
        if self._books.emitted:
            self._usual_tokens += _NEW_ANSWER * (self._books.emitted - self._usual_tokens)
        self._speculation = speculation
        self._expected = expected_tokens or self._usual_tokens
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
        """Choose who drafts in this round, and the limit."""
        known = Knowledge(self.costs, self.acceptance, self._books, self._speculation, self._expected)
        plan = self._planned(situation, known)
        self._context, self.rate = situation.context, plan.prices.rate
        return plan

    def _planned(self, situation: Situation, known: Knowledge) -> DraftPlan:
        return DraftPlan(situation, known)

    def observe(self, plan: DraftPlan, outcome: Outcome) -> None:
        """Take in what became of a round."""
        self._learn_prices(outcome)
        self._books.enter(outcome, self.costs)
        self.acceptance.learn(outcome)
        for observer in self.observers:
            observer(plan, outcome)

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs: prices, acceptance, the usual length of an answer."""
        return {"costs": self.costs.to_json(), **self.acceptance.to_json(), "usual_tokens": self._usual_tokens}

    @classmethod
    def from_json(cls, data: object) -> Self | None:
        """The stored policy; None without its prices. Another part that cannot be read starts from its prior."""
        match data:
            case {"costs": prices, "usual_tokens": usual, **learned} if costs := Costs.from_json(prices):
                policy = cls(costs, Acceptance.from_json(learned))
                if is_figure(usual, least=1.0):
                    policy._usual_tokens = float(usual)
                policy.begin_answer(Speculation())
                return policy
        return None

    def _learn_prices(self, outcome: Outcome) -> None:
        """What no model does in a round counts as part of the target's pass."""
        context, tokens, timing = outcome.situation.context, 1 + outcome.verified, outcome.timing
        switched = self._books.last_pass != tokens
        self.costs.target.observe(tokens, context, timing.verify_ms + timing.other_ms, switches=switched)
        if outcome.confidences:
            lag, singles = outcome.lag, len(outcome.confidences) - 1
            switches = (lag > 1) + (lag > 1 and singles > 0)
            self.costs.draft.observe(lag, context, timing.draft_ms, singles=singles, switches=switches)
