"""The chance that a candidate is accepted, learned from earlier candidates.

For a draft model the chance is sigmoid(w * z + b); z is the clipped logit of the draft's confidence. Each label is
one Newton step of a Bayesian logistic regression that forgets. A position is a label if and only if all before it were
accepted: only then is the target's own token for it known. Copied tokens are counted by match length and position,
the tokens of a table by the chance that it gives them.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from headstart.engine.drafters.base import Draft
from headstart.engine.engine import Origin
from headstart.engine.policy.cost_model import Estimate, is_figure
from headstart.engine.policy.rounds import Outcome
from headstart.engine.policy.stopping import Spread

_MEMORY = 0.995  # share of the past that a label leaves, and of the way from the prior that a token without one leaves
_MIN_CHANCE = 0.01  # a confidence counts as no nearer to 0 or 1 than this, and so does the weight of a label
_LOGIT_PRIOR = (2.2, 3.0)  # prior mean and variance of z before a candidate is drafted: optimistic
_LOGIT_PRIOR_COUNT = 1.0  # candidates that this prior counts for
_LOGIT_MEMORY = 0.95  # share of earlier confidences that a candidate leaves, or a token without drafting
_PRIOR = (0.9, 0.3)  # w and b
_DEVIATIONS = (0.3, 1.0)


class DraftCalibration:
    """The acceptance of a draft model's candidates."""

    def __init__(self) -> None:
        # The prior is a little optimistic, so that an unknown draft is tried.
        self._estimate = Estimate(_PRIOR, _DEVIATIONS)
        self._seen = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]  # first candidates, others: count, sum and squares of z

    @property
    def outlook(self) -> tuple[Spread, Spread]:
        """The chances of a first and of a further candidate that is not drafted yet.

        They follow recent confidences. z counts as normal; points and weights are those of Gauss and Hermite.
        """
        return self._unseen(0), self._unseen(1)

    def expect(self, confidences: Sequence[float]) -> None:
        """Update the outlook with the confidences of a round."""
        for place, confidence in enumerate(confidences):
            z = _logit(confidence)
            news = (1.0, z, z * z)
            which = min(place, 1)
            self._seen[which] = [_LOGIT_MEMORY * old + new for old, new in zip(self._seen[which], news, strict=True)]

    def predict(self, confidence: float) -> float:
        """Return the chance in (0, 1) that a candidate is accepted if all before it are."""
        return _sigmoid(self._estimate.predict((_logit(confidence), 1.0)))

    def learn(self, confidence: float, *, accepted: bool) -> None:
        features = _logit(confidence), 1.0
        chance = _sigmoid(self._estimate.predict(features))
        weight = max(chance * (1 - chance), _MIN_CHANCE)
        self._estimate.correct(features, (accepted - chance) / weight, 1 / weight, _MEMORY)

    def relax(self, tokens: int) -> None:
        """Drift towards the prior over `tokens` tokens without a label, so that the draft is tried again."""
        self._estimate.means += (1 - _MEMORY**tokens) * (_PRIOR - self._estimate.means)
        factor = _LOGIT_MEMORY**tokens
        self._seen = [[factor * old for old in sums] for sums in self._seen]

    def to_json(self) -> list[float]:
        """Return the data that is kept between runs."""
        means: list[float] = self._estimate.means.tolist()
        return means

    def restore(self, data: object) -> None:
        """Take stored values if they are valid, with half of the prior's uncertainty."""
        match data:
            case [float() as w, float() as b] if is_figure(w, -20.0, 20.0) and is_figure(b, -20.0, 20.0):
                self._estimate = Estimate((w, b), [deviation / 2 for deviation in _DEVIATIONS])

    def _unseen(self, place: int) -> Spread:
        count, total, squares = self._seen[place]
        usual, spread = _LOGIT_PRIOR
        count += _LOGIT_PRIOR_COUNT
        mean = (total + _LOGIT_PRIOR_COUNT * usual) / count
        variance = (squares + _LOGIT_PRIOR_COUNT * (spread + usual * usual)) / count - mean * mean
        w, b = self._estimate.means.tolist()
        expected, reach = w * mean + b, w * math.sqrt(3 * max(variance, 0.0))
        return (1 / 6, _sigmoid(expected - reach)), (2 / 3, _sigmoid(expected)), (1 / 6, _sigmoid(expected + reach))


_MATCH_BUCKETS = (3, 4, 6, 8, 12)  # match lengths at which a next bucket begins
_MATCH_CHANCES = (0.2, 0.35, 0.5, 0.65, 0.8, 0.92)  # prior chance of the token after a match, by bucket
_CHANCE_BUCKETS = 8  # buckets of the chances that a table gives
_TABLE_TRUST = 0.6  # prior: share of a table's chance that holds for a new text
_PRIOR_COUNT = 2.0  # labels that a prior counts for


class FreeCalibration:
    """The acceptance of free drafts: Beta priors and fading counts. Every token of the text is a label."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[float, float]] = {}  # hits and labels, by kind of candidate

    def chances(self, draft: Draft) -> list[float]:
        """Return the chance of each token if all before it are accepted."""
        return [self._chance(kind, prior) for kind, prior in _kinds(draft)]

    def learn(self, draft: Draft, accepted: int, labels: int) -> None:
        """Learn from the first `labels` tokens, of which `held` are right."""
        for place, (kind, _) in enumerate(_kinds(draft)[:labels]):
            hits, trials = self._counts.get(kind, (0.0, 0.0))
            self._counts[kind] = _MEMORY * hits + (place < accepted), _MEMORY * trials + 1.0

    def to_json(self) -> dict[str, Any]:
        """Return the data that is kept between runs."""
        return {kind: list(counts) for kind, counts in self._counts.items()}

    def restore(self, data: object) -> None:
        """Take the valid ones of the stored counts."""
        for kind, counts in data.items() if isinstance(data, dict) else ():
            match counts:
                case [hits, seen] if is_figure(seen, 0.0) and is_figure(hits, 0.0, seen):
                    self._counts[str(kind)] = hits, seen

    def _chance(self, kind: str, prior: float) -> float:
        hits, trials = self._counts.get(kind, (0.0, 0.0))
        return (hits + _PRIOR_COUNT * prior) / (trials + _PRIOR_COUNT)


def _kinds(draft: Draft) -> list[tuple[str, float]]:
    """Return the kind that each token is counted as, and the prior chance of that kind."""
    looked_up = [
        (f"chance {min(int(confidence * _CHANCE_BUCKETS), _CHANCE_BUCKETS - 1)}", _TABLE_TRUST * confidence)
        for confidence in draft.confidences
    ]
    bucket, count = _match_bucket(draft.match_length), len(draft.copied)
    # A copy that is right so far is a longer match.
    return looked_up + [
        (f"match {bucket} {place}", _MATCH_CHANCES[_match_bucket(draft.match_length + place)]) for place in range(count)
    ]


def _match_bucket(length: int) -> int:
    return sum(length >= edge for edge in _MATCH_BUCKETS)


class Acceptance:
    def __init__(self) -> None:
        self.models = defaultdict[str, DraftCalibration](DraftCalibration)  # by drafter
        self.free = defaultdict[str, FreeCalibration](FreeCalibration)  # by drafter

    def copied(self, draft: Draft, count: int) -> list[float]:
        """Return the acceptance probabilities of the first `count` n-gram tokens that follow a draft model's tokens."""
        return self.free[Origin.NGRAM].chances(_tail(draft, len(draft.confidences), count))

    def learn(self, outcome: Outcome) -> None:
        for name in outcome.state.uncached_tokens:
            self._learn_model(name, outcome)
        for name, draft in outcome.state.free_drafts.items():
            accepted = outcome.matching(draft)
            self.free[name].learn(draft, accepted, min(accepted, outcome.accepted) + 1)
        drafted = len(outcome.confidences)
        checked, accepted = outcome.selection.checked, outcome.accepted_in_line - drafted
        tail = len(checked.tokens) - drafted
        if outcome.plan.is_drafted and tail > 0:
            self.free[Origin.NGRAM].learn(_tail(checked, drafted, tail), accepted, max(accepted + 1, 0))

    def _learn_model(self, name: str, outcome: Outcome) -> None:
        model = self.models[name]
        confidences = outcome.confidences if outcome.drafter == name else ()
        labels = min(len(confidences), outcome.accepted_in_line + 1)
        if not labels or outcome.matched is None:
            # A round of another drafter says little about this one.
            model.relax(outcome.tokens if outcome.drafter == Origin.TARGET else 1)
            return
        model.expect(confidences)
        for position, confidence in enumerate(confidences[:labels], start=1):
            model.learn(confidence, accepted=position <= outcome.matched)

    def to_json(self) -> dict[str, Any]:
        """Return the data that is kept between runs."""
        models = {name: calibration.to_json() for name, calibration in self.models.items()}
        free = {name: calibration.to_json() for name, calibration in self.free.items()}
        return {"models": models, "free": free}

    @classmethod
    def from_json(cls, data: Mapping[Any, Any]) -> "Acceptance":
        """Return the stored acceptance. A part that cannot be read starts from its prior."""
        acceptance = cls()
        models, free = data.get("models"), data.get("free")
        for name, stored in models.items() if isinstance(models, dict) else ():
            acceptance.models[name].restore(stored)
        for name, stored in free.items() if isinstance(free, dict) else ():
            acceptance.free[name].restore(stored)
        return acceptance


def _tail(draft: Draft, drafted: int, count: int) -> Draft:
    """Return the n-gram tokens after those of a draft model."""
    return Draft(draft.tokens[drafted : drafted + count], match_length=draft.match_length)


def _logit(confidence: float) -> float:
    confidence = max(_MIN_CHANCE, min(1 - _MIN_CHANCE, confidence))
    return math.log(confidence / (1 - confidence))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))
