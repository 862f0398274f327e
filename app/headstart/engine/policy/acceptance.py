"""How likely a candidate is to be accepted, learned from what became of earlier ones. Knows neither time nor models.

For a draft model the chance of position j is  sigmoid(b_j + w * z + v * r):  z the clipped logit of the draft's
confidence, r the recent acceptance, centred. Each label is one Newton step of a Bayesian logistic regression that
forgets. A position is a label if and only if all before it were accepted: only then is the target's own token for
it known. For n-grams the chance is counted by match length and position.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from headstart.engine.drafters.base import Draft
from headstart.engine.engine import Origin
from headstart.engine.policy.cost_model import is_figure
from headstart.engine.policy.estimate import Estimate, Features, diagonal
from headstart.engine.policy.rounds import Outcome
from headstart.engine.policy.stopping import Spread

_POSITIONS = 8  # further ones count as the last
_MEMORY = 0.995  # kept of what was known, per label
_RELAX = 0.005  # of the way back to the prior, per token without news
_CLIP = 5.0  # largest logit: confidences beyond 0.993 say no more
_CENTRE = 0.65  # of the recent acceptance
_RECENT = 0.1  # weight of the newest label in the recent acceptance
_USUAL = (2.2, 3.0)  # prior mean and variance of z, for a candidate not drafted yet: optimistic
_USUAL_WORTH = 1.0  # candidates that this prior is worth
_SEEN_MEMORY = 0.95  # kept of the confidences seen, per candidate
_SEEN_IDLE = 0.95  # the same per token without drafting: the text moves on
_PRIOR = (0.9, 0.5, 0.3)  # w, v and what all b_j share
_DEVIATIONS = (0.3, 0.4, 1.0)
_LARGEST = tuple(d * d for d in _DEVIATIONS)
_PLACE_DEVIATION = 0.3  # of each b_j from what they share


class DraftCalibration:
    """The acceptance of a draft model's candidates."""

    def __init__(self) -> None:
        """Start from the prior: a little optimistic, so that an unknown draft is tried."""
        self._estimate = Estimate(_PRIOR, diagonal(*_DEVIATIONS))
        self._places = [0.0] * _POSITIONS  # b_j less the shared part
        self._doubts = [_PLACE_DEVIATION**2] * _POSITIONS  # their variances
        self._recent = _CENTRE
        self._seen = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]  # fading count, sum and squares of z: first candidates, others

    @property
    def outlook(self) -> tuple[Spread, Spread]:
        """What the chances of a first and of a further candidate may be, not drafted yet, after recent confidences.

        z is taken as normal; the three points and weights are those of Gauss and Hermite.
        """
        return self._unseen(0), self._unseen(1)

    def expect(self, confidences: Sequence[float]) -> None:
        """Let the confidences of the candidates of a round, from the first, shape the outlook."""
        for place, confidence in enumerate(confidences):
            z = _logit(confidence)
            news = (1.0, z, z * z)
            which = min(place, 1)
            self._seen[which] = [_SEEN_MEMORY * old + new for old, new in zip(self._seen[which], news, strict=True)]

    def predict(self, position: int, confidence: float) -> float:
        """The chance in (0, 1) that candidate `position` (from 1) is accepted if all before it are."""
        place = min(position, _POSITIONS) - 1
        return _sigmoid(self._estimate.predict(self._features(confidence)) + self._places[place])

    def learn(self, position: int, confidence: float, *, accepted: bool) -> None:
        """Absorb one label."""
        place, features = min(position, _POSITIONS) - 1, self._features(confidence)
        chance = _sigmoid(self._estimate.predict(features) + self._places[place])
        weight = max(chance * (1 - chance), 0.01)
        miss, noise, doubt = (accepted - chance) / weight, 1 / weight, self._doubts[place]
        share = doubt / (noise + doubt + self._estimate.variance(features))
        self._places[place] += share * miss
        self._doubts[place] = min(doubt * (1 - share) / _MEMORY, _PLACE_DEVIATION**2)
        self._estimate.correct(features, miss, noise + doubt, _MEMORY)
        self._estimate.bound(_LARGEST)
        self._recent += _RECENT * (accepted - self._recent)

    def relax(self, tokens: int) -> None:
        """Drift towards the prior over `tokens` tokens without a label, so that no verdict is final."""
        part = 1 - (1 - _RELAX) ** tokens
        self._estimate.means = [m + part * (p - m) for m, p in zip(self._estimate.means, _PRIOR, strict=True)]
        self._places = [(1 - part) * place for place in self._places]
        self._recent += part * (_CENTRE - self._recent)
        kept = _SEEN_IDLE**tokens
        self._seen = [[kept * old for old in seen] for seen in self._seen]

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs."""
        return {"means": self._estimate.means, "places": self._places, "recent": self._recent}

    def restore(self, data: object) -> None:
        """Take what was stored, if it is whole. How sure it is starts half way."""
        match data:
            case {"means": means, "places": places, "recent": recent} if _fits(
                [means, places], [_PRIOR, self._places], -20.0, 20.0
            ) and _fits(recent, 0.0, 0.0, 1.0):
                self._estimate = Estimate(means, diagonal(*(d / 2 for d in _DEVIATIONS)))
                self._places, self._recent = [float(place) for place in places], float(recent)

    def _features(self, confidence: float) -> Features:
        return (0, _logit(confidence)), (1, self._recent - _CENTRE), (2, 1.0)

    def _unseen(self, place: int) -> Spread:
        count, total, squares = self._seen[place]
        usual, spread = _USUAL
        count += _USUAL_WORTH
        mean = (total + _USUAL_WORTH * usual) / count
        variance = (squares + _USUAL_WORTH * (spread + usual * usual)) / count - mean * mean
        w, v, shared = self._estimate.means
        expected = w * mean + v * (self._recent - _CENTRE) + shared + self._places[place]
        reach = w * math.sqrt(3 * max(variance, 0.0))
        return (1 / 6, _sigmoid(expected - reach)), (2 / 3, _sigmoid(expected)), (1 / 6, _sigmoid(expected + reach))


_MATCHES = (3, 4, 6, 8)  # match lengths at which a next bucket begins
_FIRST = (0.2, 0.35, 0.5, 0.65, 0.8)  # prior of the first position by bucket
_CARRIED = 0.92  # prior of a far position: a copy that held so far mostly goes on
_APPROACH = 0.6  # per position, of the distance to it
_STRENGTH = 4.0  # labels that the prior is worth
_COUNTS_MEMORY = 0.98  # kept of the counts, per label


class NgramCalibration:
    """The acceptance of candidates copied from earlier text, by match length and place: Beta priors, fading counts."""

    def __init__(self) -> None:
        """Start from the prior."""
        buckets = len(_FIRST)
        self._prior = [[_CARRIED - (_CARRIED - p) * _APPROACH**j for j in range(_POSITIONS)] for p in _FIRST]
        self._hits = [[0.0] * _POSITIONS for _ in range(buckets)]
        self._misses = [[0.0] * _POSITIONS for _ in range(buckets)]

    def predict(self, match_length: int, position: int) -> float:
        """The chance in (0, 1) that candidate `position` (from 1) is accepted if all before it are."""
        bucket, place = _cell(match_length, position)
        hits = self._hits[bucket][place] + _STRENGTH * self._prior[bucket][place]
        return hits / (self._hits[bucket][place] + self._misses[bucket][place] + _STRENGTH)

    def learn(self, match_length: int, position: int, *, accepted: bool) -> None:
        """Absorb one label."""
        bucket, place = _cell(match_length, position)
        self._hits[bucket][place] = _COUNTS_MEMORY * self._hits[bucket][place] + accepted
        self._misses[bucket][place] = _COUNTS_MEMORY * self._misses[bucket][place] + (not accepted)

    def relax(self, tokens: int) -> None:
        """Forget towards the prior over `tokens` tokens without a label, so that no verdict is final."""
        kept = (1 - _RELAX) ** tokens
        self._hits = [[count * kept for count in row] for row in self._hits]
        self._misses = [[count * kept for count in row] for row in self._misses]

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs."""
        return {"hits": self._hits, "misses": self._misses}

    def restore(self, data: object) -> None:
        """Take what was stored, if it is whole."""
        match data:
            case {"hits": hits, "misses": misses} if _fits([hits, misses], [self._hits, self._misses]):
                self._hits, self._misses = deepcopy([hits, misses])


_RUNNER_UP_STRENGTH = 4.0  # expected hits that the prior is worth
_RUNNER_UP_PRIOR = 0.9  # hits for each that a draft's shares promise: 1.0 greedy, 0.9 sampled were measured
_RUNNER_UP_MEMORY = 0.995  # kept, per place


class RunnerUpCalibration:
    """How often a draft's other choices come, against the shares that it gave them: one factor suffices."""

    def __init__(self) -> None:
        """Start from the prior."""
        self._hits = self._promised = 0.0

    def predict(self, share: float) -> float:
        """The chance that this choice comes if all candidates before its place are accepted."""
        prior = _RUNNER_UP_PRIOR * _RUNNER_UP_STRENGTH
        return share * (self._hits + prior) / (self._promised + _RUNNER_UP_STRENGTH)

    def learn(self, shares: Sequence[float], *, came: bool) -> None:
        """Absorb one place: what was promised there for all its runners-up, and whether any of them came."""
        self._hits = _RUNNER_UP_MEMORY * self._hits + came
        self._promised = _RUNNER_UP_MEMORY * self._promised + sum(shares)

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs."""
        return {"hits": self._hits, "promised": self._promised}

    def restore(self, data: object) -> None:
        """Take what was stored, if it is whole."""
        match data:
            case {"hits": hits, "promised": promised} if _fits([hits, promised], [self._hits, self._promised]):
                self._hits, self._promised = hits, promised


_CHANCE_BUCKETS = 8  # equal parts of the chances that a table gives
_TABLE_STRENGTH = 2.0  # labels that the prior is worth
_TABLE_MEMORY = 0.995  # kept of the counts, per label: labels come for nothing, so a verdict may be firm
_DOUBTED = 0.6  # of a table's chance is believed at first: the corpus is not the text to come


class ChanceCalibration:
    """The acceptance of free guesses by the chance that their drafter gives them: Beta priors, fading counts."""

    def __init__(self) -> None:
        """Start from the prior."""
        self._hits, self._misses = [0.0] * _CHANCE_BUCKETS, [0.0] * _CHANCE_BUCKETS

    def predict(self, chance: float) -> float:
        """The chance in (0, 1) that a guess to which its drafter gives `chance` is accepted if all before it are."""
        bucket = _chance_bucket(chance)
        hits, misses = self._hits[bucket], self._misses[bucket]
        return (hits + _TABLE_STRENGTH * _DOUBTED * chance) / (hits + misses + _TABLE_STRENGTH)

    def learn(self, chance: float, *, accepted: bool) -> None:
        """Absorb one label."""
        bucket = _chance_bucket(chance)
        self._hits[bucket] = _TABLE_MEMORY * self._hits[bucket] + accepted
        self._misses[bucket] = _TABLE_MEMORY * self._misses[bucket] + (not accepted)

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs."""
        return {"hits": self._hits, "misses": self._misses}

    def restore(self, data: object) -> None:
        """Take what was stored, if it is whole."""
        match data:
            case {"hits": hits, "misses": misses} if _fits([hits, misses], [self._hits, self._misses]):
                self._hits, self._misses = deepcopy([hits, misses])


class Acceptance:
    """What was learned of the guesses of every drafter."""

    def __init__(self) -> None:
        """Start from the priors."""
        self.draft = DraftCalibration()
        self.ngram = NgramCalibration()
        self.runner_up = RunnerUpCalibration()
        self.free = defaultdict[str, ChanceCalibration](ChanceCalibration)  # by drafter: guesses that cost nothing

    def chances(self, drafter: str, offer: Draft) -> list[float]:
        """The chance of each token of a draft that costs nothing, if all before it are accepted."""
        believed = [self.free[drafter].predict(confidence) for confidence in offer.confidences]
        return believed + self.copied(offer, len(offer.copied))

    def copied(self, draft: Draft, count: int) -> list[float]:
        """The chances of the first `count` tokens of a draft that are copied."""
        return [self.ngram.predict(draft.match_length, place) for place in range(1, count + 1)]

    def learn(self, outcome: Outcome) -> None:
        """Take in what became of a round."""
        self._learn_draft(outcome)
        self._learn_offers(outcome)
        self._learn_tail(outcome)
        self._learn_runners_up(outcome)

    def _learn_draft(self, outcome: Outcome) -> None:
        confidences = outcome.confidences
        labels = min(len(confidences), outcome.in_line + 1)
        if not labels or outcome.matched is None:
            # A round of n-grams says little about how far the text around it has moved on.
            self.draft.relax(1 if outcome.drafter == Origin.NGRAM else outcome.tokens)
            return
        self.draft.expect(confidences)
        for position in range(1, labels + 1):
            self.draft.learn(position, confidences[position - 1], accepted=position <= outcome.matched)

    def _learn_offers(self, outcome: Outcome) -> None:
        """Guesses that cost nothing are judged by every token that comes, whoever guessed: bad ones are never tried."""
        offers = outcome.situation.offers
        if not any(offer.match_length for offer in offers.values()):
            self.ngram.relax(outcome.tokens)
        for name, offer in offers.items():
            held = outcome.matching(offer)
            labels = min(held, outcome.accepted) + 1
            for position, confidence in enumerate(offer.confidences[:labels], start=1):
                self.free[name].learn(confidence, accepted=position <= held)
            for position in range(len(offer.confidences) + 1, min(len(offer.tokens), labels) + 1):
                self.ngram.learn(offer.match_length, position, accepted=position <= held)

    def _learn_tail(self, outcome: Outcome) -> None:
        """What was checked of tokens that n-grams put behind those of a draft model."""
        drafted = len(outcome.confidences)
        tail, held = len(outcome.checked.tokens) - drafted, outcome.in_line - drafted
        if outcome.is_drafted and tail > 0:
            for position in range(1, min(tail, held + 1) + 1):
                self.ngram.learn(outcome.checked.match_length, position, accepted=position <= held)

    def _learn_runners_up(self, outcome: Outcome) -> None:
        """A label is every place up to the first wrong candidate, checked beside it or not."""
        if outcome.matched is None:
            return
        for place, others in enumerate(outcome.guessed.runners_up[: min(outcome.matched, outcome.in_line) + 1]):
            came = place == outcome.matched and outcome.runner_up is not None
            self.runner_up.learn([each.confidence for each in others], came=came)

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs."""
        free = {name: calibration.to_json() for name, calibration in self.free.items()}
        others = {"draft": self.draft.to_json(), "ngram": self.ngram.to_json(), "runner-up": self.runner_up.to_json()}
        return free | others

    @classmethod
    def from_json(cls, data: Mapping[Any, Any]) -> "Acceptance":
        """What was stored; each part that cannot be read starts from its prior."""
        acceptance = cls()
        acceptance.draft.restore(data.get("draft"))
        acceptance.ngram.restore(data.get("ngram"))
        acceptance.runner_up.restore(data.get("runner-up"))
        for name in data.keys() - {"draft", "ngram", "runner-up"}:
            acceptance.free[name].restore(data[name])
        return acceptance


def _chance_bucket(chance: float) -> int:
    return min(int(chance * _CHANCE_BUCKETS), _CHANCE_BUCKETS - 1)


def _cell(match_length: int, position: int) -> tuple[int, int]:
    return sum([match_length >= edge for edge in _MATCHES]), min(position, _POSITIONS) - 1


def _fits(data: object, like: object, least: float = 0.0, most: float = 1e9) -> bool:
    """Whether a value read from JSON is made of lists of the same lengths, with figures within bounds."""
    if isinstance(like, list | tuple):
        if not isinstance(data, list) or len(data) != len(like):
            return False
        return all(_fits(each, one, least, most) for each, one in zip(data, like, strict=True))
    return is_figure(data, least, most)


def _logit(confidence: float) -> float:
    return max(-_CLIP, min(_CLIP, math.log(max(confidence, 1e-9) / max(1 - confidence, 1e-9))))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))
