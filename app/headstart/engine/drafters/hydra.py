"""A Hydra head that guesses from what the target computes anyway (Ankner et al. 2024)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headstart.engine.drafters.draft_model import ModelDrafter
from headstart.engine.engine import Origin
from headstart.engine.runners.hydra import HydraRunner
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.runner import Hidden, Logits
from headstart.engine.sequence import Sequence as Text


@dataclass
class HydraDrafter(ModelDrafter):
    """Reads the last token of the text with the target's hidden state of the token before it, then its own guesses."""

    runner: HydraRunner
    target: PagedRunner = field(kw_only=True)
    _hidden: Hidden | None = field(default=None, init=False)  # of the token before the one that is read next

    name = origin = Origin.HEAD

    def begin(self, _text: Text) -> None:
        """See Drafter.begin."""
        self.is_set_aside = False

    def price(self, text: Text) -> int | None:
        """See Drafter.price."""
        known = len(self.target.tokens)
        if self.is_set_aside or not text.most_candidates or known != len(text.context) - 1:
            return None
        return 1 if known > self.target.hidden_from else None

    def accept(self, _text: Text, _held: int) -> None:
        """It keeps nothing."""

    def read(self, text: Text) -> list[int]:
        """See ModelDrafter.read."""
        assert self.target.hidden is not None
        self._hidden = self.target.hidden[len(text.context) - 2][None]
        return text.context[-1:]

    def forward(self, pending: Sequence[int]) -> Logits:
        """See ModelDrafter.forward."""
        assert self._hidden is not None
        logits, self._hidden = self.runner.read(pending[-1], self._hidden)
        return logits
