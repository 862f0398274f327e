"""What a drafter earned or lost against plain decoding in one answer, and when it must pause. Knows only arithmetic.

The unit is the plain step: a round that gave n tokens in the time of t plain steps books n - t. The drafter may work
while its balance is above minus its allowance. Below that it pauses for 16, 64, 256, 256, .. tokens, shorter again
once it earns; after each pause the allowance grows for another try. So every drafted round begins with a balance above
minus the allowance, and as a plain step costs one, for any text and any prices

    total time  <  tokens + sum over drafters of (allowance + their last round),    in plain steps,
    allowance = initial + retries + invested.

A drafter that never earns pauses three times at most, and once more for each 256 tokens.
"""

_RETRY = 0.9  # plain steps that may be lost after each pause
_FORGIVEN = 2.0  # at most this much of a debt, so that bad luck early in an answer is no verdict on all of it
_FIRST_PAUSE = 16
_LONGEST_PAUSE = 256
_LONGER = 4  # times the pause before it


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
