"""What the drafters of one answer earned or lost against plain decoding, and when one must pause.

The unit is the plain step: a round that gave n tokens in the time of t plain steps books n - t. The drafter may work
while its balance is above minus its allowance. Below that it pauses for 16, 64, 256, 256, .. tokens, shorter again
once it earns; after each pause the allowance grows for another try. So every drafted round begins with a balance above
minus the allowance, and as a plain step costs one, for any text and any prices

    total time  <  tokens + sum over drafters of (allowance + their last round),    in plain steps,
    allowance = initial + retries + invested.

A drafter that never earns pauses three times at most, and once more for each 256 tokens.
"""

from collections import defaultdict

from headstart.engine.engine import Origin
from headstart.engine.policy.cost_model import BULK, Costs
from headstart.engine.policy.rounds import Outcome

_RETRY = 0.9  # plain steps that may be lost after each pause
_FORGIVEN = 2.0  # at most this much of a debt, so that bad luck early in an answer is no verdict on all of it
_FIRST_PAUSE = 16
_LONGEST_PAUSE = 256
_LONGER = 4  # times the pause before it
_DRAFT_ALLOWANCE, _NGRAM_ALLOWANCE, _ALLOWANCE = 2.0, 1.1, 0.5  # plain steps each may lose at first; the last: others
_HICCUP = 3.0  # a round this much over its price was held up by something else
_CAUGHT_UP = 2  # the largest lag without a catch-up: the pending token and one the draft made but did not read
_LEAST = 1e-6  # milliseconds
_FEW = 8.0  # tokens; a share of fewer says little
_PREFILL = 0  # stands for the size of the pass that read the prompt: every round after it changes the size
_KEPT = 0.5 ** (1 / 12)  # half-life of 12 rounds
_ALWAYS = 2.0  # plain steps that are always counted in
_LONGEST_STREAK = 16.0  # rounds
_NEWEST_STREAK = 0.2  # weight of the newest streak


class Ledger:
    """The account of one drafter in one answer."""

    def __init__(self, allowance: float) -> None:
        """Open an empty account that may go `allowance` plain steps below zero."""
        self.balance = 0.0  # plain steps earned; negative: lost
        self.earned_ms = 0.0  # the same in milliseconds
        self.allowance = allowance
        self.pauses = 0
        self._pause = _FIRST_PAUSE
        self._left = 0  # tokens until the pause ends

    @property
    def open(self) -> bool:
        """Whether the drafter may work in the next round."""
        return self._left == 0

    @property
    def credit(self) -> float:
        """Plain steps that may still be lost before the next pause."""
        return self.balance + self.allowance

    def invest(self, steps: float) -> None:
        """Allow one more expense (a draft model reading a long text) that later rounds are expected to earn back."""
        self.allowance += steps

    def book(self, tokens: int, ms: float, plain_ms: float) -> None:
        """Enter a round of this drafter that gave `tokens` in `ms`, where a plain step costs `plain_ms`."""
        gain = tokens - ms / plain_ms
        self.balance += gain
        self.earned_ms += plain_ms * tokens - ms
        if gain > 0.0:  # not hopeless: the next try may come sooner
            self._pause = max(self._pause // _LONGER, _FIRST_PAUSE)
        self._close_if_spent()

    def wait(self, tokens: int) -> None:
        """Let `tokens` pass that came without this drafter."""
        if self._left:
            self._left = max(self._left - tokens, 0)
            if not self._left:
                self.allowance += min(max(_RETRY - self.credit, 0.0), _FORGIVEN)
                self._close_if_spent()

    def _close_if_spent(self) -> None:
        if self.open and self.credit <= 0.0:
            self._left, self._pause = self._pause, min(_LONGER * self._pause, _LONGEST_PAUSE)
            self.pauses += 1


class Pace:
    """Tokens per millisecond over the last rounds."""

    def __init__(self) -> None:
        """Start without rounds."""
        self._tokens, self._ms = 0.0, 0.0

    def add(self, tokens: int, ms: float) -> None:
        """Enter a round."""
        self._tokens = _KEPT * self._tokens + tokens
        self._ms = _KEPT * self._ms + ms

    def within(self, least: float, expected: float, most: float) -> float:
        """The pace, kept between two bounds; a little of what is expected is always mixed in, all of it at first."""
        return min(most, max(least, (self._tokens + _ALWAYS) / (self._ms + _ALWAYS / expected)))


class Streak:
    """How many rounds a draft model usually gets in a row before it must catch up again."""

    def __init__(self) -> None:
        """Assume long streaks until short ones were seen."""
        self._usual, self._rounds = _LONGEST_STREAK, 0

    @property
    def usual(self) -> float:
        """Rounds that share the cost of a catch-up; at least one."""
        return max(self._usual, 1.0)

    def add(self, *, caught_up: bool) -> None:
        """Enter a round of the draft model; one that caught up begins a new streak."""
        if caught_up and self._rounds:
            self._usual += _NEWEST_STREAK * (min(self._rounds, _LONGEST_STREAK) - self._usual)
            self._rounds = 0
        self._rounds += 1


class Books:
    """Accounts, paces, and what the next round begins with."""

    def __init__(self) -> None:
        """Begin an answer."""
        self.emitted = 0
        self.draft_used = False
        self.last_pass = _PREFILL  # tokens that the target verified last
        self.pace, self.ngram_pace = Pace(), Pace()
        self.streak = Streak()
        self.accounts = defaultdict[str, Ledger](lambda: Ledger(_ALLOWANCE))
        self.accounts[Origin.DRAFT] = Ledger(_DRAFT_ALLOWANCE)
        self.accounts[Origin.NGRAM] = Ledger(_NGRAM_ALLOWANCE)
        self._copied = 0  # tokens
        self._switched_for: str | None = None  # whose round left the target at another size than plain steps have

    @property
    def earned_ms(self) -> float:
        """By all drafters, against plain decoding."""
        return sum(account.earned_ms for account in self.accounts.values())

    @property
    def ngram_share(self) -> float:
        """Of the tokens, those that rounds of n-grams gave; none until some were seen."""
        return self._copied / (self.emitted + _FEW)

    def enter(self, outcome: Outcome, costs: Costs) -> None:
        """Note a round. A plain step is its own price, a hiccup is nobody's fault."""
        self.emitted += outcome.tokens
        self._copied += outcome.tokens if outcome.drafter == Origin.NGRAM else 0
        if costs.target.known:
            self._book(outcome, costs)
        if outcome.confidences:
            self.draft_used = True
        self.last_pass = 1 + outcome.verified
        self._switched_for = outcome.drafter if outcome.verified else None

    def _book(self, outcome: Outcome, costs: Costs) -> None:
        verify = costs.verify(1 + outcome.verified, outcome.situation.context)
        reading_ms, usual_draft_ms = _drafting(outcome, costs)
        ms = min(outcome.ms, _HICCUP * (verify[-1] + usual_draft_ms))
        if self.last_pass == _PREFILL:  # behind the prompt a plain step would have to change the size, too
            ms = max(ms - costs.target.switch_ms, _LEAST)
        plain_ms = verify[0]
        if not outcome.verified:
            plain_ms = max(ms - outcome.timing.draft_ms, _LEAST)
            self._charge_the_way_back(min(costs.target.switch_ms, plain_ms), plain_ms)
        drafting = self.accounts[outcome.drafter] if outcome.drafter != Origin.TARGET else None
        for account in self.accounts.values():
            if account is drafting:
                account.book(outcome.tokens, ms, plain_ms)
            else:
                account.wait(outcome.tokens)
        pace = self.ngram_pace if outcome.drafter == Origin.NGRAM else self.pace
        pace.add(outcome.tokens, max(ms - reading_ms, 0.0))
        if outcome.is_drafted:
            self.streak.add(caught_up=outcome.lag > _CAUGHT_UP)

    def _charge_the_way_back(self, switch_ms: float, plain_ms: float) -> None:
        """A plain step behind a round that guessed changes the size of the pass back."""
        if self._switched_for is not None:
            self.accounts[self._switched_for].book(0, switch_ms, plain_ms)


def _drafting(outcome: Outcome, costs: Costs) -> tuple[float, float]:
    """Milliseconds that reading a long text should have taken in this round, and its drafting altogether."""
    if not outcome.confidences:
        return 0.0, 0.0
    step_ms, catch_up_ms = costs.drafting(outcome.lag, outcome.situation.context)
    return catch_up_ms if outcome.lag > BULK else 0.0, len(outcome.confidences) * step_ms + catch_up_ms
