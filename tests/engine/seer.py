"""A drafter of its own kind in one file: it knows what the toy target likes after each token, or claims to."""

from headstart.engine.drafters.base import NO_DRAFT, Draft, WantsMore
from headstart.engine.drafters.registry import Sources
from headstart.engine.engine import Origin
from headstart.engine.sequence import Sequence
from tests.toy import ToyRunner


class Seer:
    """Guesses the target's favourite, or with `lies` what it likes least."""

    name, origin = "seer", Origin.UNKNOWN
    is_free = True
    lies = False

    def __init__(self, target: ToyRunner) -> None:
        """It looks into the target's own logits."""
        self._target = target

    @classmethod
    def of(cls, sources: Sources) -> "Seer | None":
        """The line of the registry."""
        return cls(sources.target) if isinstance(sources.target, ToyRunner) else None

    def begin(self, text: Sequence) -> None:
        """Nothing to prepare."""

    def price(self, _text: Sequence) -> int:
        """One pass a guess, where guesses are to cost something."""
        return 0 if self.is_free else 1

    def propose(self, text: Sequence, wants_more: WantsMore) -> Draft:
        """Up to four guesses."""
        draft = NO_DRAFT
        while len(draft.tokens) < min(4, text.most_candidates) and wants_more(draft):
            row = self._target.row([*text.context, *draft.tokens])
            token = int(row.argmin()) if self.lies else int(row.argmax())
            draft = Draft((*draft.tokens, token), (*draft.confidences, 0.9))
        return draft

    def accept(self, text: Sequence, held: int) -> None:
        """It learns nothing."""
