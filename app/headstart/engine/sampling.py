"""From logits to a token: processed distribution plus coupled noise. Pure numpy; knows nothing of models.

The token at position t is argmax over v of log p(v) + Gumbel(seed, t, v), where p is the processed distribution of
the target. That is a draw from p, and the noise depends on nothing but (seed, t, v): whoever computes the same logits
chooses the same token, so a drafter may guess it, verification is equality, and the same seed gives the same text
however tokens were drafted. Greedy is the case without noise.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headstart.engine.engine import Sampling
from headstart.engine.noise import gumbel, hashes, word_reaching

Row = NDArray[np.float32]  # [vocabulary]
Scores = NDArray[np.float64]
Ids = NDArray[np.int64]
Allowed = NDArray[np.bool_]  # [at least vocabulary]

_RUNNERS_UP = 3  # told with a guess
_LEAST_RUNNER_UP = 0.001  # of the guess's own weight, which is the largest
_NEAR = 8.0  # nats below the best score; noise for lower ones is computed only where it can win
_NUCLEUS_START = 256  # candidates looked at first when only top-p limits them


@dataclass(frozen=True)
class Guess:
    """A drafted token with the drafter's confidence in (0, 1]: its weight among the perturbed scores that can win.

    Without noise that is the token's probability.
    """

    token: int
    confidence: float
    runners_up: tuple["Guess", ...] = ()  # what it would have guessed instead, the likeliest first


@dataclass(frozen=True)
class Survivors:
    """The processed distribution: ids with unnormalised log-probabilities; `ids` None means all, by index."""

    scores: Scores  # [survivors]
    ids: Ids | None

    def id_at(self, index: int) -> int:
        """The token at a place in `scores`."""
        return index if self.ids is None else int(self.ids[index])


class Constraint(Protocol):
    """What an answer must keep to, whatever is likely."""

    def allowed(self, run: Sequence[int]) -> Allowed | None:
        """Whether each token may come after what was committed and then `run`; None: all."""
        ...

    def commit(self, token: int) -> None:
        """Count one token of the answer."""
        ...


class Sampler:
    """Chooses tokens for one answer; remembers what was written for the penalties."""

    def __init__(self, sampling: Sampling, prompt: Sequence[int], constraint: Constraint | None = None) -> None:
        """`prompt` counts for the repetition penalty only."""
        self._sampling = sampling
        self._constraint = constraint
        self._penalties = Penalties(sampling, prompt) if _has_penalties(sampling) else None
        self._all_ids: Ids = np.zeros(0, np.int64)

    @property
    def is_greedy(self) -> bool:
        """No noise: the most probable token is chosen."""
        return self._sampling.temperature == 0.0

    def commit(self, token: int) -> None:
        """Count one token of the answer."""
        if self._penalties is not None:
            self._penalties.commit(token)
        if self._constraint is not None:
            self._constraint.commit(token)

    def choose(self, row: Row, position: int, run: Sequence[int] = ()) -> int:
        """The token at absolute `position`, given that the uncommitted tokens `run` come before it."""
        row = self._prepared(row, run)
        if self.is_greedy:
            return int(row.argmax())
        survivors = self._survivors(row)
        rivals, perturbed = self._rivals(survivors, position)
        return survivors.id_at(int(rivals[perturbed.argmax()]))

    def guess(self, row: Row, position: int, run: Sequence[int] = (), ids: Ids | None = None) -> Guess:
        """The same choice, with the confidence that a drafter reports.

        `ids`: the tokens that `row` scores, rising; None: all, by index. Noise belongs to the token, not to its place.
        """
        row = self._prepared(row, run, ids)
        if self.is_greedy:
            return _ranked(np.exp(row - row.max()), ids)
        survivors = self._survivors(row, ids)
        rivals, perturbed = self._rivals(survivors, position)
        return _ranked(np.exp(perturbed - perturbed.max()), rivals if survivors.ids is None else survivors.ids[rivals])

    def probability(self, row: Row, token: int, run: Sequence[int] = (), ids: Ids | None = None) -> float:
        """Processed probability of `token`; with greedy choice, its probability at temperature 1. `ids` as in guess."""
        row = self._prepared(row, run, ids)
        survivors = Survivors(row.astype(np.float64), ids) if self.is_greedy else self._survivors(row, ids)
        weights = np.exp(survivors.scores - survivors.scores.max())
        place = token if survivors.ids is None else np.flatnonzero(survivors.ids == token)
        return float(np.sum(weights[place]) / weights.sum())

    def _prepared(self, row: Row, run: Sequence[int], ids: Ids | None = None) -> Row:
        """With penalties, and without what is not allowed."""
        if self._penalties is not None:
            row = self._penalties.apply(row, run, ids)
        allowed = None if self._constraint is None else self._constraint.allowed(run)
        if allowed is None:
            return row
        allowed = allowed[: row.size] if ids is None else allowed[ids]
        # A draft may know none of the tokens that are; what it guesses then will be refused.
        return np.where(allowed, row, np.float32(-np.inf)) if allowed.any() else row

    def _survivors(self, row: Row, ids: Ids | None = None) -> Survivors:
        """Temperature, then top-k, top-p and min-p."""
        sampling = self._sampling
        if sampling.top_k or sampling.top_p < 1.0 or sampling.min_p > 0.0:
            places = _surviving(row, sampling)
            scores = row[places].astype(np.float64) / sampling.temperature
            return Survivors(scores, places if ids is None else ids[places])
        return Survivors(row.astype(np.float64) / sampling.temperature, ids)

    def _rivals(self, survivors: Survivors, position: int) -> tuple[Ids, Scores]:
        """Indices of all survivors that can have the largest perturbed score, and those scores.

        Exact, with logarithms only where they matter: the near ones are scored first; any other lies below `floor`,
        so it can only win where its noise reaches the difference to the best near one.
        """
        scores = survivors.scores
        words = hashes(self._sampling.seed, position, self._ids_of(survivors))
        floor = float(scores.max()) - _NEAR
        rivals = np.flatnonzero(scores >= floor)
        perturbed = scores[rivals] + gumbel(words[rivals])
        if rivals.size < scores.size:
            able = np.flatnonzero(words >= np.uint32(word_reaching(float(perturbed.max()) - floor)))
            able = able[scores[able] < floor]
            rivals = np.concatenate([rivals, able])
            perturbed = np.concatenate([perturbed, scores[able] + gumbel(words[able])])
        return rivals, perturbed

    def _ids_of(self, survivors: Survivors) -> Ids:
        if survivors.ids is not None:
            return survivors.ids
        if self._all_ids.size != survivors.scores.size:
            self._all_ids = np.arange(survivors.scores.size, dtype=np.int64)
        return self._all_ids


class Penalties:
    """Repetition penalty over prompt and answer; presence and frequency penalties over the answer."""

    def __init__(self, sampling: Sampling, prompt: Sequence[int]) -> None:
        """Start an answer to `prompt`."""
        self._sampling = sampling
        self._seen = set(prompt)
        self._counts: Counter[int] = Counter()

    def commit(self, token: int) -> None:
        """Count one token of the answer."""
        self._seen.add(token)
        self._counts[token] += 1

    def apply(self, row: Row, run: Sequence[int], ids: Ids | None = None) -> Row:
        """A penalised copy of `row`, with `run` counted as if it were committed; `ids` as in Sampler.guess."""
        row = row.copy()
        factor = self._sampling.repetition_penalty
        if factor != 1.0:
            seen, _ = _places(np.fromiter(self._seen.union(run), np.int64), ids)
            row[seen] = np.where(row[seen] > 0, row[seen] / factor, row[seen] * factor)
        counts = self._counts + Counter(run)
        if counts:
            amounts = np.fromiter(counts.values(), np.float32)
            places, present = _places(np.fromiter(counts.keys(), np.int64), ids)
            row[places] -= self._sampling.presence_penalty + self._sampling.frequency_penalty * amounts[present]
        return row


def _ranked(weights: NDArray[np.floating[Any]], ids: Ids | None) -> Guess:
    """The token with the largest weight, and those that come after it. `ids` None: all, by index; ties: the first."""
    near = np.flatnonzero(weights >= _LEAST_RUNNER_UP)
    places = near[np.argsort(-weights[near], kind="stable")[: 1 + _RUNNERS_UP]]
    tokens = (places if ids is None else ids[places]).tolist()
    shares = (weights[places] / weights.sum()).tolist()
    return Guess(tokens[0], shares[0], tuple(map(Guess, tokens[1:], shares[1:])))


def _places(tokens: Ids, ids: Ids | None) -> tuple[Ids, NDArray[np.bool_] | slice]:
    """Where `tokens` stand in a row that scores `ids`, and which of them do."""
    if ids is None:
        return tokens, slice(None)
    places = np.minimum(np.searchsorted(ids, tokens), ids.size - 1)
    present = ids[places] == tokens
    return places[present], present


def _has_penalties(sampling: Sampling) -> bool:
    repetition = sampling.repetition_penalty != 1.0
    return repetition or sampling.presence_penalty != 0.0 or sampling.frequency_penalty != 0.0


def _surviving(row: Row, sampling: Sampling) -> Ids:
    """Ids that survive top-k, top-p and min-p, by falling logit (ties: lower id first)."""
    if sampling.top_k:
        ids = largest(row, sampling.top_k)
        return _cut(row, ids, sampling, None)
    # Only top-p or min-p: look at a few of the largest first, with the mass of all the others known.
    total = float(np.exp((row - row.max()) / np.float32(sampling.temperature)).sum(dtype=np.float64))
    count = _NUCLEUS_START
    while True:
        ids = largest(row, count)
        kept = _cut(row, ids, sampling, total)
        if kept.size < ids.size or ids.size == row.size:
            return kept
        count *= 8


def largest(row: Row, count: int) -> Ids:
    """Ids of the `count` largest, by falling logit. A full partition of a large vocabulary would cost a millisecond."""
    peak = float(row.max())
    candidates: Ids = np.zeros(0, np.int64)
    for margin in (8.0, 16.0, np.inf):
        candidates = np.flatnonzero(row >= peak - margin)
        if candidates.size >= count:
            break
    if candidates.size > 4 * count:
        candidates = candidates[np.argpartition(row[candidates], -count)[-count:]]
    return candidates[np.lexsort((candidates, -row[candidates]))[:count]]


def _cut(row: Row, ids: Ids, sampling: Sampling, total: float | None) -> Ids:
    """Apply top-p, then min-p, to ids that are sorted by falling logit; `total` is the mass to which top-p refers."""
    weights = np.exp((row[ids].astype(np.float64) - float(row[ids[0]])) / sampling.temperature)
    mass_before = np.cumsum(weights) - weights
    keep = mass_before < sampling.top_p * (weights.sum() if total is None else total)
    keep &= weights >= sampling.min_p
    keep[0] = True
    return ids[keep]
