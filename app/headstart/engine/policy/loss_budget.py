"""What the drafters of one answer earned or lost against plain decoding, and when one must pause.

The unit is the plain step: a round that gave n tokens in the time of t plain steps books n - t. The drafter may work
while its balance is above minus its allowance. Below that it pauses for 16, 64, 256, 256, .. tokens; after each pause
the allowance grows for another try. So every drafted round begins with a balance above minus the allowance, and as a
plain step costs one, for any text and any prices

    total time  <  tokens + sum over drafters of (allowance + their last round),    in plain steps,
    allowance = initial + retries + invested.

A drafter that never earns pauses three times at most, and once more for each 256 tokens.
"""

from collections import defaultdict

from headstart.engine.engine import Origin
from headstart.engine.policy.cost_model import BULK, Costs, Kept
from headstart.engine.policy.rounds import Outcome

_RETRY = 1.0  # plain steps that may be lost after each pause
_FIRST_PAUSE, _LONGEST_PAUSE = 16, 256  # tokens
_LONGER = 4  # times the pause before it
# Plain steps that each may lose at first; the last: others. A head guesses for much less than a draft model.
_DRAFT_ALLOWANCE, _HEAD_ALLOWANCE, _NGRAM_ALLOWANCE, _ALLOWANCE = 2.0, 1.1, 1.1, 0.5
_LEAST = 1e-6  # milliseconds
_KEPT = 0.5 ** (1 / 12)  # half-life of 12 rounds
_ALWAYS = 2.0  # plain steps that are always counted in
_PREFILL = 0  # stands for the size of the pass that read the prompt: every round after it changes the size


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
        self.balance += tokens - ms / plain_ms
        self.earned_ms += plain_ms * tokens - ms
        self._close_if_spent()

    def wait(self, tokens: int) -> None:
        """Let `tokens` pass that came without this drafter."""
        if self._left:
            self._left = max(self._left - tokens, 0)
            if not self._left:
                self.allowance += _RETRY
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


class Books:
    """Accounts, the pace, and what the next round begins with."""

    def __init__(self) -> None:
        """Begin an answer."""
        self.emitted = 0
        self.used: set[str] = set()  # models that drafted
        self.last_pass = _PREFILL  # tokens that the target verified last
        self.kept = Kept()
        self.pace = Pace()  # of rounds that n-grams did not write
        self.accounts = defaultdict[str, Ledger](lambda: Ledger(_ALLOWANCE))
        self.accounts[Origin.DRAFT] = Ledger(_DRAFT_ALLOWANCE)
        self.accounts[Origin.HEAD] = Ledger(_HEAD_ALLOWANCE)
        self.accounts[Origin.NGRAM] = Ledger(_NGRAM_ALLOWANCE)
        self._switched_for: str | None = None  # whose round left the target at another size than plain steps have

    @property
    def earned_ms(self) -> float:
        """By all drafters, against plain decoding."""
        return sum(account.earned_ms for account in self.accounts.values())

    def enter(self, outcome: Outcome, costs: Costs) -> None:
        """Note a round. A plain step is its own price."""
        self.emitted += outcome.tokens
        there = outcome.situation
        ms, plain_ms = outcome.ms, costs.target.ms(1, there.context)
        if there.sharing > 1:
            plain_ms = costs.shared(1, there.context, there.sharing)[0]
        elif self.last_pass == _PREFILL:  # behind the prompt a plain step would have to change the size, too
            ms = max(ms - costs.target.switch_ms, _LEAST)
        if not outcome.verified:
            plain_ms = self._charge_the_step(outcome, ms - outcome.timing.draft_ms, plain_ms, costs.target.switch_ms)
        drafting = self.accounts[outcome.drafter] if outcome.drafter != Origin.TARGET else None
        for account in self.accounts.values():
            if account is drafting:
                account.book(outcome.tokens, ms, plain_ms)
            else:
                account.wait(outcome.tokens)
        if outcome.drafter != Origin.NGRAM:
            if outcome.confidences and outcome.lag > BULK:  # reading a long text is no part of the pace
                ms -= costs.drafting(outcome.drafter, outcome.lag, outcome.situation.context)[1]
            self.pace.add(outcome.tokens, max(ms, 0.0))
        if outcome.confidences:
            self.used.add(outcome.drafter)
        self._keep_size(outcome, costs)

    def _charge_the_step(self, outcome: Outcome, ms: float, plain_ms: float, switch_ms: float) -> float:
        """Charge a drafter whose round left another size than plain steps have; return the price of a plain step.

        The step behind it either changes the size back or is filled up.
        """
        if outcome.is_plain:
            plain_ms = max(ms, _LEAST)
        extra_ms = min(switch_ms, plain_ms) if outcome.is_plain else max(ms - plain_ms, 0.0)
        if self._switched_for is not None:
            self.accounts[self._switched_for].book(0, extra_ms, plain_ms)
        return plain_ms

    def _keep_size(self, outcome: Outcome, costs: Costs) -> None:
        """Note the size of the pass, and what it cost to keep it. One that reads a long text is not kept."""
        if outcome.size == self.kept.size:
            sizes = (outcome.size, 1 + outcome.verified)
            filled_ms, needed_ms = (costs.target.ms(size, outcome.situation.context) for size in sizes)
            self.kept = Kept(outcome.size, self.kept.spent_ms + filled_ms - needed_ms + outcome.foregone_ms)
        else:
            self.kept = Kept(outcome.size) if outcome.size <= BULK else Kept()
        self.last_pass = outcome.size
        if outcome.verified or outcome.is_plain:
            self._switched_for = None if outcome.is_plain else outcome.drafter
