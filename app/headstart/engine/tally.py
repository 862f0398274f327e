"""Adds up the rounds of one answer to its statistics."""

import time
from collections import Counter

from headstart.engine.engine import Prefill, Round, Stats


class Tally:
    """Started when the request comes in; fed with every event of the token layer."""

    def __init__(self) -> None:
        """The clock of the time to first token starts here."""
        self._started = self._first = self._last = time.perf_counter()
        self._prefill: Prefill | None = None  # the first: what the cache already held
        self._origins: Counter[str] = Counter()
        self._parts = {"draft": 0.0, "verify": 0.0, "other": 0.0}
        self._rounds: int | None = None
        self._drafted = self._accepted = 0

    def read(self, prefill: Prefill) -> None:
        """Note progress of the prompt."""
        self._prefill = self._prefill or prefill

    def add(self, done: Round) -> None:
        """Count one round."""
        self._last = time.perf_counter()
        if self._rounds is None:  # the prompt's own pass gave the first token; that is no round
            self._first, self._rounds = self._last, 0
        else:
            self._rounds += 1
        self._drafted += done.drafted
        self._accepted += done.accepted
        self._origins.update(token.origin.value for token in done.tokens)
        timing = done.timing
        for part, ms in (("draft", timing.draft_ms), ("verify", timing.verify_ms), ("other", timing.other_ms)):
            self._parts[part] += ms

    @property
    def written(self) -> int:
        """Tokens so far."""
        return self._origins.total()

    def stats(self, *, plain_ms: float | None, ledger_ms: float, context_length: int, repeats: int = 0) -> Stats:
        """The answer's statistics; the arguments are what only the policy, the runner and the text know.

        Without guesses the answer would have taken what it took and what guessing earned; so the speedup and the
        ledger never disagree. No time counts as earned on an answer that repeated itself.
        """
        ledger_ms = 0.0 if repeats else ledger_ms
        prompt = self._prefill.total if self._prefill else 0
        written = self.written
        decode_ms = (self._last - self._first) * 1000.0
        if plain_ms is not None and self._drafted and written > 1:
            plain_ms = (decode_ms + ledger_ms) / (written - 1)
        return Stats(
            prompt_tokens=prompt,
            reused_tokens=self._prefill.done if self._prefill else 0,
            output_tokens=written,
            rounds=self._rounds or 0,
            drafted=self._drafted,
            accepted=self._accepted,
            ttft_ms=(self._first - self._started) * 1000.0,
            decode_ms=decode_ms,
            by_origin=dict(self._origins),
            by_part=dict(self._parts),
            ledger_ms=ledger_ms,
            plain_ms=plain_ms,
            context_used=min(prompt + written, context_length),  # the last token need not be read
            context_length=context_length,
            repeats=repeats,
        )


def nothing() -> Stats:
    """Of an answer whose engine tells no figures."""
    return Tally().stats(plain_ms=None, ledger_ms=0.0, context_length=0)
