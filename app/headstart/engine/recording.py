"""A policy for recordings: drafts equally far in every round, so that a replay knows what any rule would have met."""

from collections.abc import Sequence

from headstart.engine.engine import Origin
from headstart.engine.policy import Policy
from headstart.engine.rounds import NgramOffer, Plan, Situation


class Recorder(Policy):
    """Drafts one candidate more than it verifies.

    So the draft's guess is known for every token of the text: for the target's own token behind a round whose
    candidates all held, too.
    """

    depth = 8

    def plan(self, situation: Situation) -> Plan:
        """The draft model, if there is one."""
        super().plan(situation)
        drafted = min(self.depth + 1, situation.remaining - 1)
        drafts = situation.draft_lag is not None and drafted > 0
        self._plan = Plan(Origin.DRAFT, drafted) if drafts else Plan(Origin.TARGET)
        return self._plan

    def wants_more(self, confidences: Sequence[float], _tail: NgramOffer | None = None) -> bool:
        """Up to the depth."""
        return len(confidences) < self._plan.length

    def kept(self, confidences: Sequence[float], _tail: NgramOffer | None = None) -> int:
        """All but the last."""
        return min(len(confidences), self.depth)

    def branches(self, _shares: Sequence[Sequence[float]], _kept: int) -> list[tuple[int, int]]:
        """None: what they would have given is known from what was written."""
        return []
