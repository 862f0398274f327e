"""An EAGLE-3 head that guesses from what the target computes anyway (Li et al. 2025, EAGLE-3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.draft_model import MOST_DRAFTED, ModelDrafter
from headstart.engine.engine import Origin
from headstart.engine.runners.head import HeadRunner
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.runner import PREFILL_CHUNK, Logits, common_prefix
from headstart.engine.sequence import Sequence as Text


@dataclass
class EagleDrafter(ModelDrafter):
    """Reads each token of the text with the target's hidden state of the token before it, then its own guesses.

    Where the target was spared reading a text, its hidden states are not there: the head begins where they do.
    """

    runner: HeadRunner
    target: PagedRunner = field(kw_only=True)
    _start: int = field(default=0, init=False)  # place of the first token whose hidden state was read
    _read: int = field(default=0, init=False)  # tokens of the text in the cache; behind them stand guesses
    _present: int = field(default=0, init=False)  # tokens of the text that could be there

    name = origin = Origin.HEAD

    def begin(self, text: Text) -> None:
        """Keep what the cache shares with a new prompt, where the hidden states go on from there."""
        self.is_set_aside = False
        seen = self.runner.tokens[: self._read]
        self._read = common_prefix(seen, text.context[self._start + 1 :])
        if not self._read or self.target.hidden_from > self._start + self._read:
            self._start, self._read = self.target.hidden_from, 0
        self.runner.rollback(self._read)

    def price(self, text: Text) -> int | None:
        """See Drafter.price."""
        length = len(text.context) - self._start
        if self.is_set_aside or not text.most_candidates or length + MOST_DRAFTED > self.runner.context or length < 2:
            return None
        return length - 1 - self._read

    def accept(self, text: Text, held: int) -> None:
        """Guesses are forgotten before the next ones: what was written is read with other hidden states than they."""

    def read(self, text: Text) -> list[int]:
        """See ModelDrafter.read."""
        self.runner.rollback(self._read)
        self._present = len(text.context) - 1 - self._start
        while self._present - self._read > PREFILL_CHUNK:
            self._forward_text(self._missing(text)[:PREFILL_CHUNK], text.cancel)
        return self._missing(text)

    def forward(self, pending: Sequence[int]) -> Logits:
        """Tokens of the text come first, then a guess at a time."""
        if self._read < self._present:
            return self._forward_text(pending)
        assert self.runner.hidden is not None
        cached = len(self.runner.tokens)
        return self.runner.read(pending, self.runner.hidden[cached - 1 : cached])

    def give_up(self, reason: str) -> None:
        """What its cache holds cannot be trusted either."""
        super().give_up(reason)
        self._read = 0

    def _missing(self, text: Text) -> list[int]:
        return text.context[self._start + 1 + self._read :]

    def _forward_text(self, ids: Sequence[int], cancel: CancelEvent | None = None) -> Logits:
        assert self.target.hidden is not None
        first = self._start + self._read
        logits = self.runner.read(ids, self.target.hidden[first : first + len(ids)], cancel)
        self._read += len(ids)
        return logits
