"""What speculation earned or lost against plain decoding in one answer, and when it must pause. Knows only arithmetic.

Every round books `price * tokens - ms`: what plain decoding would have taken for these tokens, less what was taken.
Speculation is allowed while the balance is above minus the allowance. Below it the answer goes on plainly for 8, 16, ..
128 tokens; after each pause the allowance grows a little for another try. Every speculative round begins with a balance
above minus the allowance, and a plain step costs its price, so for any text and any prices

    total ms  <  price * tokens + allowance + one round,    allowance = 250 + 40 * pauses + invested.

Pauses double, so their number grows with the logarithm of the answer's length, then by one in 128 tokens.
"""

_ALLOWANCE_MS = 250.0
_RETRY_MS = 40.0
_FIRST_PAUSE = 8
_LONGEST_PAUSE = 128


class Ledger:
    """The account of one answer."""

    def __init__(self) -> None:
        """Open an empty account."""
        self.balance_ms = 0.0  # earned against plain decoding; negative: lost
        self.allowance_ms = _ALLOWANCE_MS  # most that may be lost
        self.pauses = 0
        self._pause = _FIRST_PAUSE
        self._left = 0  # tokens until the pause ends

    @property
    def open(self) -> bool:
        """Whether the next round may speculate."""
        return self._left == 0

    def invest(self, ms: float) -> None:
        """Allow a single expense (a draft model's first reading of a prompt) that later rounds are to earn back."""
        self.allowance_ms += ms

    def book(self, tokens: int, ms: float, price_ms: float) -> None:
        """Enter a round that gave `tokens` in `ms`, where a plain step costs `price_ms`."""
        self.balance_ms += price_ms * tokens - ms
        if self._left:
            self._left = max(self._left - tokens, 0)
            if self._left:
                return
            self.allowance_ms += _RETRY_MS
        if self.balance_ms <= -self.allowance_ms:
            self._left, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
            self.pauses += 1
