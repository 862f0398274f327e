"""What a drafter earned or lost against plain decoding in one answer, and when it must pause. Knows only arithmetic.

Every round books `price * tokens - ms`: what plain decoding would have taken for these tokens, less what was taken.
The drafter may work while its balance is above minus its allowance. Below that it pauses for 8, 16, .. 128 tokens;
after each pause the allowance grows a little for another try. So every drafted round begins with a balance above minus
the allowance, and as a plain step costs its price, for any text and any prices

    total ms  <  price * tokens + sum over drafters of (allowance + their last round),
    allowance = initial + 40 * pauses + invested.

Pauses double, so their number grows with the logarithm of the answer's length, later by one in 128 tokens.
"""

_RETRY_MS = 40.0
_FIRST_PAUSE = 8
_LONGEST_PAUSE = 128


class Ledger:
    """The account of one drafter in one answer."""

    def __init__(self, allowance_ms: float) -> None:
        """Open an empty account that may go `allowance_ms` below zero."""
        self.balance_ms = 0.0  # earned against plain decoding; negative: lost
        self.allowance_ms = allowance_ms
        self.pauses = 0
        self._pause = _FIRST_PAUSE
        self._left = 0  # tokens until the pause ends

    @property
    def open(self) -> bool:
        """Whether the drafter may work in the next round."""
        return self._left == 0

    def invest(self, ms: float) -> None:
        """Allow one more expense (a draft model reading a long text) that later rounds are expected to earn back."""
        self.allowance_ms += ms

    def book(self, tokens: int, ms: float, price_ms: float) -> None:
        """Enter a round of this drafter that gave `tokens` in `ms`, where a plain step costs `price_ms`."""
        self.balance_ms += price_ms * tokens - ms
        self._close_if_spent()

    def wait(self, tokens: int) -> None:
        """Let `tokens` pass that came without this drafter."""
        if self._left:
            self._left = max(self._left - tokens, 0)
            if not self._left:
                self.allowance_ms += _RETRY_MS
                self._close_if_spent()

    def _close_if_spent(self) -> None:
        if self.open and self.balance_ms <= -self.allowance_ms:
            self._left, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
            self.pauses += 1
