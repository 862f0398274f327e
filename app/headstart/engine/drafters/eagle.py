"""An EAGLE-3 head that drafts from what the target computes anyway (Li et al. 2025, EAGLE-3)."""

from collections import abc
from dataclasses import dataclass, field

from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.draft_model import MAX_DRAFTED, ModelDrafter
from headstart.engine.engine import Origin
from headstart.engine.runners.head import HeadRunner
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.runner import PREFILL_CHUNK, Logits, common_prefix
from headstart.engine.sequence import Sequence


@dataclass
class EagleDrafter(ModelDrafter):
    """Reads each token of the text with the target's hidden state of the token before it, then its own guesses.

    Hidden states are missing for the part of a text that the target did not read: the head begins after it.
    """

    runner: HeadRunner
    target: PagedRunner = field(kw_only=True)
    _start: int = field(default=0, init=False)  # place of the first token whose hidden state was read
    _read: int = field(default=0, init=False)  # tokens of the text in the cache; guesses follow them
    _present: int = field(default=0, init=False)  # tokens of the text that could be there

    name = Origin.HEAD

    def begin(self, sequence: Sequence) -> None:
        """Keep what the cache shares with a new prompt, if the hidden states go on from there."""
        self.is_disabled = False
        cached = self.runner.tokens[: self._read]
        self._read = common_prefix(cached, sequence.context[self._start + 1 :])
        if not self._read or self.target.hidden_from > self._start + self._read:
            self._start, self._read = self.target.hidden_from, 0
        self.runner.rollback(self._read)

    def can_draft(self, sequence: Sequence) -> bool:
        length = len(sequence.context) - self._start
        if self.is_disabled or not sequence.max_candidates:
            return False
        return 2 <= length <= self.runner.context - MAX_DRAFTED

    def uncached_tokens(self, sequence: Sequence) -> int:
        return len(sequence.context) - self._start - 1 - self._read

    def accept(self, sequence: Sequence, held: int) -> None:
        """Do nothing: `read` forgets all guesses, since their hidden states were not the target's."""

    def read(self, sequence: Sequence) -> list[int]:
        self.runner.rollback(self._read)
        self._present = len(sequence.context) - 1 - self._start
        while self._present - self._read > PREFILL_CHUNK:
            self._forward_text(self._missing(sequence)[:PREFILL_CHUNK], sequence.cancel)
        return self._missing(sequence)

    def forward(self, pending: abc.Sequence[int], cancel: CancelEvent | None) -> Logits:
        """Read tokens of the text, after that one guess at a time."""
        if self._read < self._present:
            return self._forward_text(pending, cancel)
        assert self.runner.hidden is not None
        cached = len(self.runner.tokens)
        return self.runner.read(pending, self.runner.hidden[cached - 1 : cached], cancel)

    def disable(self, reason: str) -> None:
        """Disable the drafter and distrust its cache."""
        super().disable(reason)
        self._read = 0

    def _missing(self, sequence: Sequence) -> list[int]:
        return sequence.context[self._start + 1 + self._read :]

    def _forward_text(self, ids: abc.Sequence[int], cancel: CancelEvent | None = None) -> Logits:
        assert self.target.hidden is not None
        first = self._start + self._read
        logits = self.runner.read(ids, self.target.hidden[first : first + len(ids)], cancel)
        self._read += len(ids)
        return logits
