"""The loss budget: what each drafter saved or lost in an answer against plain decoding, and when it has to pause.

The unit is the plain step: a round that gives n tokens in the time of t plain steps books n - t. A drafter may work
while its balance is above minus its allowance. Below that it pauses for 16, 64, 256, 256, .. tokens; after each pause
the allowance grows for another try. So every drafted round begins with a balance above minus the allowance, and as a
plain step costs one, for any text and any prices

    total time  <  tokens + sum over drafters of (allowance + their last round),    in plain steps,
    allowance = initial + retries + invested.

A drafter that never earns pauses three times at most, and once more for each 256 tokens.
"""

from collections import defaultdict

from headstart.engine.engine import Origin
from headstart.engine.policy.cost_model import BULK, Costs, LastPass
from headstart.engine.policy.rounds import Outcome

_RETRY = 1.0  # plain steps that may be lost after each pause
_FIRST_PAUSE, _MAX_PAUSE = 16, 256  # tokens
_PAUSE_GROWTH = 4  # times the pause before it
# Plain steps that each may lose at first: a draft model, a head or n-grams, which guess for much less, and others.
_DRAFT_ALLOWANCE, _CHEAP_ALLOWANCE, _ALLOWANCE = 2.0, 1.1, 0.5
_MIN_MS = 1e-6
_PACE_MEMORY = 0.5 ** (1 / 12)  # half-life of 12 rounds
_PRIOR_STEPS = 2.0  # plain steps that the expected pace counts for, and those that the mean of an answer begins with
_PREFILL = 0  # stands for the size of the pass that reads the prompt: every round after it changes the size


class DrafterBudget:
    """The account of one drafter in one answer."""

    def __init__(self, allowance: float) -> None:
        self.balance = 0.0  # plain steps saved; negative: lost
        self.saved_ms = 0.0  # the same in milliseconds
        self.allowance = allowance  # plain steps that the balance may be below zero
        self._pause = _FIRST_PAUSE
        self._left = 0  # tokens until the pause ends

    @property
    def is_paused(self) -> bool:
        return self._left > 0

    @property
    def credit(self) -> float:
        """Plain steps that may still be lost before the next pause."""
        return self.balance + self.allowance

    def invest(self, steps: float) -> None:
        """Allow one more expense, such as reading a long text, that later rounds are expected to earn back."""
        self.allowance += steps

    def book(self, tokens: int, ms: float, plain_ms: float) -> None:
        """Book a round of this drafter that gave `tokens` in `ms`. A plain step costs `plain_ms`."""
        self.balance += tokens - ms / plain_ms
        self.saved_ms += plain_ms * tokens - ms
        self._pause_if_spent()

    def wait(self, tokens: int) -> None:
        """Count tokens that were written without this drafter."""
        if self.is_paused:
            self._left = max(self._left - tokens, 0)
            if not self.is_paused:
                self.allowance += _RETRY
                self._pause_if_spent()

    def _pause_if_spent(self) -> None:
        if not self.is_paused and self.credit <= 0.0:
            self._left, self._pause = self._pause, min(_PAUSE_GROWTH * self._pause, _MAX_PAUSE)


class Pace:
    """Tokens per millisecond over the last rounds."""

    def __init__(self) -> None:
        self._tokens, self._ms = 0.0, 0.0

    def add(self, tokens: int, ms: float) -> None:
        self._tokens = _PACE_MEMORY * self._tokens + tokens
        self._ms = _PACE_MEMORY * self._ms + ms

    def within(self, minimum: float, expected: float, maximum: float) -> float:
        """Return the pace within bounds. It begins at the expected one, of which a little is always mixed in."""
        pace = (self._tokens + _PRIOR_STEPS) / (self._ms + _PRIOR_STEPS / expected)
        return min(maximum, max(minimum, pace))


class LossBudget:
    """The accounts of all drafters in one answer, the pace, and the last pass."""

    def __init__(self) -> None:
        self.written = 0  # tokens
        self.used: set[str] = set()  # models that drafted
        self.last_size = _PREFILL  # tokens of the target's last pass
        self.last_pass = LastPass()
        self.pace = Pace()  # without rounds that n-grams drafted
        self.accounts = defaultdict[str, DrafterBudget](lambda: DrafterBudget(_ALLOWANCE))
        self.accounts[Origin.DRAFT] = DrafterBudget(_DRAFT_ALLOWANCE)
        self.accounts[Origin.HEAD] = DrafterBudget(_CHEAP_ALLOWANCE)
        self.accounts[Origin.NGRAM] = DrafterBudget(_CHEAP_ALLOWANCE)
        self._switched_for: str | None = None  # the drafter whose round left the target at another size

    @property
    def saved_ms(self) -> float:
        """Milliseconds that all drafters saved against plain decoding."""
        return sum(account.saved_ms for account in self.accounts.values())

    def steps_per_token(self, plain_ms: float) -> float:
        """Return the mean number of plain steps that a token of this answer took, at most 1."""
        spent = max(self.written - self.saved_ms / plain_ms, 0.0)
        return min(1.0, (spent + _PRIOR_STEPS) / (self.written + _PRIOR_STEPS))

    def observe(self, outcome: Outcome, costs: Costs) -> None:
        """Book a round. A plain step is booked at its own cost."""
        self.written += outcome.tokens
        state, switch_ms = outcome.state, costs.target.switch_ms
        ms, plain_ms = outcome.ms, costs.target.ms(1, state.context)
        if outcome.plan.prefill_steps:  # all that the reading took: a pause would not bring it back
            step_ms = costs.drafting(outcome.drafter, 1, state.context, state.batch_size)[0]
            read_ms = outcome.timing.draft_ms - step_ms * len(outcome.confidences)
            self.accounts[outcome.drafter].invest(max(outcome.plan.prefill_steps, read_ms / plain_ms))
        if state.batch_size > 1:
            plain_ms = costs.shared(1, state.context, state.batch_size)[0]
        elif self.last_size == _PREFILL:  # after the prompt a plain step has to change the size, too
            ms = max(ms - switch_ms, _MIN_MS)
        if not outcome.verified:
            step_ms = ms - outcome.timing.draft_ms
            if outcome.is_plain:
                plain_ms = max(step_ms, _MIN_MS)
            self._charge_switch(outcome, step_ms, plain_ms, switch_ms)
        drafting = self.accounts[outcome.drafter] if outcome.drafter != Origin.TARGET else None
        for account in self.accounts.values():
            if account is drafting:
                account.book(outcome.tokens, ms, plain_ms)
            else:
                account.wait(outcome.tokens)
        if outcome.drafter != Origin.NGRAM:
            if outcome.confidences and outcome.uncached_tokens > BULK:  # reading a long text does not count as pace
                ms -= costs.drafting(outcome.drafter, outcome.uncached_tokens, state.context, state.batch_size)[1]
            self.pace.add(outcome.tokens, max(ms, 0.0))
        if outcome.confidences:
            self.used.add(outcome.drafter)
        self._note_pass(outcome, costs)

    def _charge_switch(self, outcome: Outcome, step_ms: float, plain_ms: float, switch_ms: float) -> None:
        """Charge the drafter that left the target at another size than a plain step's.

        A step without candidates either changes the size back or is filled up.
        """
        if self._switched_for is not None:
            extra_ms = min(switch_ms, plain_ms) if outcome.is_plain else max(step_ms - plain_ms, 0.0)
            self.accounts[self._switched_for].book(0, extra_ms, plain_ms)

    def _note_pass(self, outcome: Outcome, costs: Costs) -> None:
        """Note the size of the pass, and the cost of keeping it. The size of a long pass is not kept."""
        if outcome.size == self.last_pass.size:
            sizes = (outcome.size, 1 + outcome.verified)
            filled_ms, needed_ms = (costs.target.ms(size, outcome.state.context) for size in sizes)
            spent_ms = self.last_pass.spent_ms + filled_ms - needed_ms + outcome.selection.deferred_gain_ms
            self.last_pass = LastPass(outcome.size, spent_ms)
        else:
            self.last_pass = LastPass(outcome.size) if outcome.size <= BULK else LastPass()
        self.last_size = outcome.size
        if outcome.verified or outcome.is_plain:
            self._switched_for = None if outcome.is_plain else outcome.drafter
