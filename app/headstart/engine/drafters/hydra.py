"""A Hydra head that drafts from what the target computes anyway (Ankner et al. 2024)."""

from collections import abc
from dataclasses import dataclass, field

from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.draft_model import ModelDrafter
from headstart.engine.engine import Origin
from headstart.engine.runners.hydra import HydraRunner
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.runner import Hidden, Logits
from headstart.engine.sequence import Sequence


@dataclass
class HydraDrafter(ModelDrafter):
    """Reads the last token of the text with the target's hidden state of the token before it, then its own guesses."""

    runner: HydraRunner
    target: PagedRunner = field(kw_only=True)
    _hidden: Hidden | None = field(default=None, init=False)  # of the token before the one that is read next

    name = Origin.HEAD

    def begin(self, _sequence: Sequence) -> None:
        self.is_disabled = False

    def can_draft(self, sequence: Sequence) -> bool:
        count = len(self.target.tokens)
        if self.is_disabled or not sequence.max_candidates or count != len(sequence.context) - 1:
            return False
        return count > self.target.hidden_from

    def uncached_tokens(self, _sequence: Sequence) -> int:
        return 1

    def accept(self, _sequence: Sequence, _held: int) -> None: ...

    def read(self, sequence: Sequence) -> list[int]:
        assert self.target.hidden is not None
        self._hidden = self.target.hidden[len(sequence.context) - 2][None]
        return sequence.context[-1:]

    def forward(self, pending: abc.Sequence[int], cancel: CancelEvent | None) -> Logits:
        assert self._hidden is not None
        logits, self._hidden = self.runner.read(pending[-1], self._hidden, cancel)
        return logits
