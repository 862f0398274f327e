"""What the drafters of one answer earned and how fast it went, round by round. Knows prices, decides nothing."""

from headstart.engine.costs import BULK, Costs
from headstart.engine.engine import Origin
from headstart.engine.ledger import Ledger
from headstart.engine.rounds import Outcome, Pace, Plan, Situation, Streak

_DRAFT_ALLOWANCE, _NGRAM_ALLOWANCE, _BIGRAM_ALLOWANCE = 2.0, 1.1, 0.5  # plain steps each may lose at first
_HICCUP = 3.0  # a round this much over its price was held up by something else
_CAUGHT_UP = 2  # the largest lag without a catch-up: the pending token and one the draft made but did not read
_LEAST = 1e-6  # milliseconds
_FEW = 8.0  # tokens; a share of fewer says little
_PREFILL = 0  # stands for the size of the pass that read the prompt: every round after it changes the size


class Books:
    """Accounts, paces, and what the next round begins with."""

    def __init__(self) -> None:
        """Begin an answer."""
        self.emitted = 0
        self.draft_used = False
        self.last_pass = _PREFILL  # tokens that the target verified last
        self.pace, self.ngram_pace = Pace(), Pace()
        self.streak = Streak()
        self.accounts = {
            Origin.DRAFT: Ledger(_DRAFT_ALLOWANCE),
            Origin.NGRAM: Ledger(_NGRAM_ALLOWANCE),
            Origin.BIGRAM: Ledger(_BIGRAM_ALLOWANCE),
        }
        self._copied = 0  # tokens
        self._switched_for: Origin | None = None  # whose round left the target at another size than plain steps have

    @property
    def earned_ms(self) -> float:
        """By all drafters, against plain decoding."""
        return sum(account.earned_ms for account in self.accounts.values())

    @property
    def ngram_share(self) -> float:
        """Of the tokens, those that rounds of n-grams gave; none until some were seen."""
        return self._copied / (self.emitted + _FEW)

    def enter(self, plan: Plan, situation: Situation, outcome: Outcome, costs: Costs) -> None:
        """Note a round. A plain step is its own price, a hiccup is nobody's fault."""
        self.emitted += outcome.tokens
        self._copied += outcome.tokens if plan.drafter is Origin.NGRAM else 0
        if costs.target.known:
            self._book(plan, situation, outcome, costs)
        if outcome.confidences:
            self.draft_used = True
        self.last_pass = 1 + outcome.verified
        self._switched_for = plan.drafter if outcome.verified else None

    def _book(self, plan: Plan, situation: Situation, outcome: Outcome, costs: Costs) -> None:
        verify = costs.verify(1 + outcome.verified, situation.context)
        reading_ms, usual_draft_ms = _drafting(situation, outcome, costs)
        ms = min(outcome.ms, _HICCUP * (verify[-1] + usual_draft_ms))
        if self.last_pass == _PREFILL:  # behind the prompt a plain step would have to change the size, too
            ms = max(ms - costs.target.switch_ms, _LEAST)
        plain_ms = verify[0]
        if not outcome.verified:
            plain_ms = max(ms - outcome.draft_ms, _LEAST)
            self._charge_the_way_back(min(costs.target.switch_ms, plain_ms), plain_ms)
        for drafter, account in self.accounts.items():
            if drafter is plan.drafter:
                account.book(outcome.tokens, ms, plain_ms)
            else:
                account.wait(outcome.tokens)
        pace = self.ngram_pace if plan.drafter is Origin.NGRAM else self.pace
        pace.add(outcome.tokens, max(ms - reading_ms, 0.0))
        if plan.drafter is Origin.DRAFT:
            self.streak.add(caught_up=(situation.draft_lag or 1) > _CAUGHT_UP)

    def _charge_the_way_back(self, switch_ms: float, plain_ms: float) -> None:
        """A plain step behind a round that guessed changes the size of the pass back."""
        if self._switched_for is not None:
            self.accounts[self._switched_for].book(0, switch_ms, plain_ms)


def _drafting(situation: Situation, outcome: Outcome, costs: Costs) -> tuple[float, float]:
    """Milliseconds that reading a long text should have taken in this round, and its drafting altogether."""
    if not outcome.confidences:
        return 0.0, 0.0
    lag = situation.draft_lag or 1
    step_ms, catch_up_ms = costs.drafting(lag, situation.context)
    return catch_up_ms if lag > BULK else 0.0, len(outcome.confidences) * step_ms + catch_up_ms
