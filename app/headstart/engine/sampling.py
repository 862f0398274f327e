"""Sampling: from logits to a token by a processed distribution and coupled noise.

The token at position t is argmax over v of log p(v) + Gumbel(seed, t, v), where p is the processed distribution of
the target. That is a draw from p, and the noise depends only on (seed, t, v). The same logits give the same token,
so a drafter may guess it, verification is equality, and the same seed gives the same text however tokens are drafted.
Greedy decoding is the case without noise.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headstart.engine.engine import Sampling

Row = NDArray[np.float32]  # [vocabulary]
Scores = NDArray[np.float64]
Ids = NDArray[np.int64]
Allowed = NDArray[np.bool_]  # [at least vocabulary]
Hashes = NDArray[np.uint32]

_MIN_TEMPERATURE = 1e-30  # lower ones give the same tokens, and numbers would overflow
_RUNNERS_UP = 3  # of a guess
_MIN_RUNNER_UP = 0.001  # weight of a runner-up, relative to the guess
_REACH = 8.0  # of the first search for the largest perturbed score: 3 of 10,000 rows need a second one
_FARTHER = 1000.0  # times as far, down to the runners-up of the smallest weight
_SHORT = 2048  # tokens: a selection does not make shorter rows faster
_LINE = 16  # neighbouring tokens that a sample reads together
_SAMPLED = 1024  # weights of a sample that estimates where top-p cuts
_SAMPLED_SHARE = 0.7  # of the tail that top-p cuts; the rest allows for the error of the sample
_HOPELESS = 0.03  # share of the weight that is only bounded; about as many rows need the exact weight later
_FEW = 16_384  # tokens of a selection: selecting more takes longer than reading all
_ROUNDING = 1e-4  # relative error of 32-bit weights, at most
_WORDS = 2.0**32
_WORD_ROUNDING = 512.0  # error of a word as a 32-bit float, at most
_SUM_ROUNDING = 1e-5
_MAX_POSITIONS = 32  # positions whose noise is cached; a round has half as many
_COLUMNS = 1024  # sums and peaks that are computed side by side, which is faster


@dataclass(frozen=True)
class Guess:
    """A drafted token with the drafter's confidence."""

    token: int
    confidence: float  # in (0, 1]: its weight among the perturbed scores that can win; without noise its probability
    runners_up: tuple["Guess", ...] = ()  # the likeliest first


class _InDoubtError(Exception):
    """Top-p cannot decide without the exact weight of all tokens."""


@dataclass(frozen=True)
class Candidates:
    """The tokens that survive top-k, top-p and min-p, and maybe more. Weights are relative to the largest."""

    row: Row  # logits
    ids: Ids | None  # rising where logits are equal; None: all, by index
    weights: Row  # unnormalised probabilities
    peak: float  # the largest logit
    total: float  # weight of all tokens, whether among these or not
    nucleus: float  # top-p keeps a token if all likelier ones together weigh less than this
    doubt: float  # upper bound of the error of the nucleus
    minimum: float  # min-p keeps a token that weighs at least this

    def survives(self, place: int) -> bool:
        """Return whether a token survives. The first of equally likely tokens comes first. Raises _InDoubtError."""
        if self.weights[place] < self.minimum or self.nucleus == math.inf:
            return bool(self.weights[place] >= self.minimum)
        logit, ties = self.row[place], np.count_nonzero(self.row[:place] == self.row[place])
        before = (self.row > logit).astype(np.float32)
        before *= self.weights
        weight = _sum(before) + ties * float(self.weights[place])
        if self.nucleus <= weight < self.nucleus + self.doubt:
            raise _InDoubtError
        return bool(weight < self.nucleus)

    def token_at(self, place: int) -> int:
        return place if self.ids is None else int(self.ids[place])


class Constraint(Protocol):
    """A rule, such as a grammar, that an answer must obey."""

    @property
    def is_cut(self) -> bool:
        """True if the answer had to end before the model ended it."""

    def allowed(self, run: Sequence[int]) -> Allowed | None:
        """Return which tokens may follow the committed ones and then `run`; None: all."""

    def settle(self, token: int, run: Sequence[int], room: int) -> int:
        """Return the token to write after the committed tokens and `run`, given that the model chose `token`.

        `room`: tokens that the answer may still have, this one included.
        """

    def commit(self, token: int) -> None:
        """Append one token to the answer."""


class Sampler:
    """Chooses the tokens of one answer."""

    def __init__(
        self,
        sampling: Sampling,
        prompt: Sequence[int],
        constraint: Constraint | None = None,
    ) -> None:
        """`prompt` counts for the repetition penalty only."""
        temperature = sampling.temperature and max(sampling.temperature, _MIN_TEMPERATURE)
        self._sampling = replace(sampling, temperature=temperature)
        self._constraint = constraint
        bias = sorted(sampling.logit_bias.items())
        self._biased = np.array([token for token, _ in bias], np.int64)
        self._biases = np.array([value for _, value in bias], np.float32)
        self._penalties = Penalties(sampling, prompt) if _has_penalties(sampling) else None
        self._all_ids = np.zeros(0, np.uint32)
        self._position = len(prompt)  # of the next token
        self._hashes: dict[int, Hashes] = {}  # by position

    @property
    def is_greedy(self) -> bool:
        """Return whether the most probable token is chosen, without noise."""
        return self._sampling.temperature == 0.0

    def commit(self, token: int) -> None:
        """Append one token to the answer."""
        self._hashes.pop(self._position, None)
        self._position += 1
        if self._penalties is not None:
            self._penalties.commit(token)
        if self._constraint is not None:
            self._constraint.commit(token)

    def choose(self, row: Row, position: int, run: Sequence[int] = ()) -> int:
        """Return the token at absolute `position`, after the committed tokens and then `run`."""
        row = self._prepared(row, run)
        if self.is_greedy:
            return int(row.argmax())
        return self._drawn(row, position, None, count=1)[0].token

    def guess(self, row: Row, position: int, run: Sequence[int] = (), ids: Ids | None = None) -> Guess:
        """Return the token that `choose` would choose, with confidence and runners-up.

        `ids`: the tokens that `row` scores, rising; None: all, by index. Noise belongs to the token, not to its place.
        """
        row = self._prepared(row, run, ids)
        count = 1 + _RUNNERS_UP
        best, *others = _likeliest(row, ids, count) if self.is_greedy else self._drawn(row, position, ids, count)
        return replace(best, runners_up=tuple(others))

    def probability(self, row: Row, token: int, run: Sequence[int] = (), ids: Ids | None = None) -> float:
        """Return the processed probability of `token`; at temperature 0, that at temperature 1. `ids` as in `guess`."""
        row = self._prepared(row, run, ids)
        sampling = Sampling(temperature=1.0) if self.is_greedy else self._sampling
        candidates = candidates_of(row, ids, sampling, exactly=True)
        places = [token] if candidates.ids is None else np.flatnonzero(candidates.ids == token).tolist()
        if not places or not candidates.survives(places[0]):
            return 0.0
        weights = np.sort(candidates.weights)[::-1].astype(np.float64)
        surviving = (np.cumsum(weights) - weights < candidates.nucleus) & (weights >= candidates.minimum)
        return float(candidates.weights[places[0]] / weights[surviving].sum())

    def _prepared(self, row: Row, run: Sequence[int], ids: Ids | None = None) -> Row:
        """Return the row with biases and penalties, and -inf for tokens that are not allowed."""
        if self._biased.size:
            places, present = _places(self._biased, ids)
            biases, is_scored = self._biases[present], places < row.size  # a draft model may know fewer tokens
            row = row.copy()
            row[places[is_scored]] += biases[is_scored]
        if self._penalties is not None:
            row = self._penalties.apply(row, run, ids)
        allowed = None if self._constraint is None else self._constraint.allowed(run)
        if allowed is None:
            return row
        allowed = allowed[: row.size] if ids is None else allowed[ids]
        # A draft model may know none of the allowed tokens. Its guess is refused then.
        return np.where(allowed, row, np.float32(-np.inf)) if allowed.any() else row

    def _drawn(self, row: Row, position: int, ids: Ids | None, count: int) -> list[Guess]:
        """Return the tokens with the `count` highest perturbed scores that survive the filters, falling.

        Tokens are drawn before top-p is applied. Only those that win are tested then, and no row is sorted.
        """
        try:
            return self._ranked(candidates_of(row, ids, self._sampling), position, count)
        except _InDoubtError:
            return self._ranked(candidates_of(row, ids, self._sampling, exactly=True), position, count)

    def _ranked(self, candidates: Candidates, position: int, count: int) -> list[Guess]:
        words = self._noise(position, candidates)
        reach = (_REACH if count == 1 else _REACH * _FARTHER) / candidates.total
        places, scores, num_ready = self._top_scores(candidates, words, reach, count)
        while not num_ready:
            reach *= _FARTHER
            places, scores, num_ready = self._top_scores(candidates, words, reach, count)
        shares = np.exp(scores - scores[0])
        num_ready = max(1, int(np.count_nonzero(shares[:num_ready] >= _MIN_RUNNER_UP)))
        shares /= shares.sum()
        return [Guess(candidates.token_at(int(places[at])), float(shares[at])) for at in range(num_ready)]

    def _top_scores(self, candidates: Candidates, words: Hashes, reach: float, count: int) -> tuple[Ids, Scores, int]:
        """Return places and perturbed scores of the highest-scoring candidates, falling, and how many of the first
        survive.

        The result is exact, with few logarithms. A token's perturbed score is log(w / e): w is its weight, e an
        exponential variable, -log of its word as a share. Since e is at least 1 - share, tokens whose w / e is at least
        1 / `reach` are found without a logarithm, and the largest is among them.
        """
        needed = candidates.weights * np.float32(-reach * _WORDS * (1.0 + _ROUNDING))
        needed += np.float32(_WORDS - _WORD_ROUNDING)
        places = np.flatnonzero(words.astype(np.float32) >= needed)
        temperature = self._sampling.temperature
        scores = candidates.row[places].astype(np.float64) / temperature + gumbel(words[places])
        order = np.argsort(-scores, kind="stable")
        within = candidates.peak / temperature - math.log(reach)
        order = order[: np.count_nonzero(scores >= within)]
        places, scores = places[order], scores[order]
        survivors = 0
        while survivors < min(count, places.size):
            if candidates.survives(int(places[survivors])):
                survivors += 1
                continue
            logits = candidates.row[places]
            others = logits >= logits[survivors]  # less likely tokens do not survive either
            others[survivors] = False
            places, scores = places[others], scores[others]
        return places, scores, survivors

    def _noise(self, position: int, candidates: Candidates) -> Hashes:
        """Return the noise of a position. That of the whole vocabulary is cached, as it is needed twice."""
        ids, size, known = candidates.ids, candidates.row.size, self._hashes.get(position)
        if ids is not None:
            is_known = known is not None and known.size > ids.max()
            return known[ids] if known is not None and is_known else hashes(self._sampling.seed, position, ids)
        if known is None or known.size < size:
            if len(self._hashes) == _MAX_POSITIONS:
                self._hashes.clear()
            if self._all_ids.size < size:
                self._all_ids = np.arange(size, dtype=np.uint32)
            known = self._hashes[position] = hashes(self._sampling.seed, position, self._all_ids[:size])
        return known[:size]


class Penalties:
    """Repetition penalty over prompt and answer; presence and frequency penalties over the answer."""

    def __init__(self, sampling: Sampling, prompt: Sequence[int]) -> None:
        self._sampling = sampling
        self._tokens: Ids = np.unique(np.asarray(prompt, np.int64))  # rising
        self._counts: Row = np.zeros(self._tokens.size, np.float32)  # in the answer

    def commit(self, token: int) -> None:
        """Count one more token of the answer."""
        place = int(np.searchsorted(self._tokens, token))
        if place == self._tokens.size or self._tokens[place] != token:
            self._tokens = np.insert(self._tokens, place, token)
            self._counts = np.insert(self._counts, place, 0.0)
        self._counts[place] += 1.0

    def apply(self, row: Row, run: Sequence[int], ids: Ids | None = None) -> Row:
        """Return a penalised copy of `row`; `run` counts as if it were committed. `ids` as in `Sampler.guess`."""
        penalised = row.copy()
        self._write(penalised, row, self._tokens, self._counts, ids)
        if run:
            counter = Counter(run)
            tokens, counts = np.fromiter(counter, np.int64), np.fromiter(counter.values(), np.float32)
            places, present = _places(tokens, self._tokens)
            counts[present] += self._counts[places]
            self._write(penalised, row, tokens, counts, ids)
        return penalised

    def _write(self, penalised: Row, row: Row, tokens: Ids, counts: Row, ids: Ids | None) -> None:
        if ids is None:
            places = tokens
        else:
            places, present = _places(tokens, ids)
            counts = counts[present]
        logits, factor = row[places], self._sampling.repetition_penalty
        logits = np.where(logits > 0, logits / factor, logits * factor)
        amounts = self._sampling.presence_penalty + self._sampling.frequency_penalty * counts
        penalised[places] = logits - np.where(counts > 0, amounts, np.float32(0.0))


def candidates_of(row: Row, ids: Ids | None, sampling: Sampling, *, exactly: bool = False) -> Candidates:
    """Apply temperature, top-k, top-p and min-p. `ids` as in `Sampler.guess`.

    Unless `exactly`, the weight of many hopeless tokens is only bounded.
    """
    scored, hopeless = (row, ids), 0.0
    if 0 < sampling.top_k < row.size:
        row, ids = _at(largest(row, sampling.top_k), row, ids)
    elif not exactly:
        row, ids, hopeless = _hopeful(row, ids, sampling)
    peak = row.max()
    weights = row - peak
    weights *= np.float32(1.0 / sampling.temperature)
    np.exp(weights, out=weights)
    total = _sum(weights)
    nucleus, doubt = math.inf, 0.0
    if sampling.top_p < 1.0:
        nucleus = sampling.top_p * total
        if hopeless:
            doubt = sampling.top_p * hopeless + 2.0 * _SUM_ROUNDING * nucleus
            nucleus *= 1.0 - _SUM_ROUNDING
            if nucleus + doubt > total:  # one of the hopeless might survive
                return candidates_of(*scored, sampling, exactly=True)
    candidates = Candidates(row, ids, weights, float(peak), total, nucleus, doubt, sampling.min_p)
    bound = max(sampling.min_p, _top_p_bound(weights, total - nucleus - doubt)) * (1.0 - _ROUNDING)
    if bound == 0.0 or row.size <= _SHORT:
        return candidates
    likely = weights >= bound
    if np.count_nonzero(likely) > _FEW:
        return candidates
    places = np.flatnonzero(likely)
    weights = weights[places]
    if bound >= sampling.min_p and _sum(weights) < (nucleus + doubt) * (1.0 + _SUM_ROUNDING):
        return candidates
    row, ids = _at(places, row, ids)
    return replace(candidates, row=row, ids=ids, weights=weights)


def _hopeful(row: Row, ids: Ids | None, sampling: Sampling) -> tuple[Row, Ids | None, float]:
    """Return the tokens that may survive the filters, and a bound on the weight of all others."""
    if row.size <= _SHORT or (sampling.top_p == 1.0 and sampling.min_p == 0.0):
        return row, ids, 0.0
    peak, sample, warmth = row.max(), _sample(row), sampling.temperature
    if sampling.top_p < 1.0:
        sampled = np.exp((sample - peak) * np.float32(1.0 / warmth)).sum(axis=1)
        total = 1.0 + float(sampled.sum() - sampled.max()) * row.size / sample.size  # likely tokens may be neighbours
        depth = math.log(row.size / (total * min(_HOPELESS, (1.0 - sampling.top_p) / 2)))
    else:
        depth = -math.log(sampling.min_p * (1.0 - _ROUNDING))
    minimum = peak - np.float32(depth * warmth)
    if np.count_nonzero(sample >= minimum) * (row.size / sample.size) > _FEW:
        return row, ids, 0.0
    places = np.flatnonzero(row >= minimum)
    bound = math.exp((float(minimum) - float(peak)) / warmth)
    return *_at(places, row, ids), (row.size - places.size) * bound


def _at(places: Ids, row: Row, ids: Ids | None) -> tuple[Row, Ids]:
    return row[places], places if ids is None else ids[places]


def largest(row: Row, count: int) -> Ids:
    """Return the ids of the `count` largest logits, falling; the lower id first. A full partition takes 1 ms."""
    columns = max(_COLUMNS, 8 * count)
    rows = row.size // columns
    if rows < 2:
        return np.argsort(-row, kind="stable")[:count]
    # Each of the `count` columns with the largest peaks has a number that reaches the smallest of these peaks.
    peaks = row[: rows * columns].reshape(rows, columns).max(axis=0)
    candidates = np.flatnonzero(row >= np.partition(peaks, -count)[-count])
    return candidates[np.argsort(-row[candidates], kind="stable")[:count]]


def _likeliest(row: Row, ids: Ids | None, count: int) -> list[Guess]:
    """Return up to `count` tokens by falling probability; the lower id first."""
    weights = np.exp(row - row.max())
    places = largest(row, count)
    places = places[weights[places] >= _MIN_RUNNER_UP]
    tokens, shares = places if ids is None else ids[places], weights[places] / _sum(weights)
    return list(map(Guess, tokens.tolist(), shares.tolist()))


def _top_p_bound(weights: Row, tail: float) -> float:
    """Estimate the weight below which all tokens together weigh less than `tail`, by a sample; 0 for no tail."""
    if tail <= 0.0 or weights.size <= _SHORT:
        return 0.0
    sample = np.sort(_sample(weights), axis=None)
    place = int(np.searchsorted(np.cumsum(sample) * (weights.size / sample.size), _SAMPLED_SHARE * tail))
    return float(sample[min(place, sample.size - 1)])


def _sample(values: Row) -> NDArray[np.float32]:
    """Return a sample of at least _SHORT values as lines: [lines, tokens of a line], about _SAMPLED in all."""
    lines = values[: values.size // _LINE * _LINE].reshape(-1, _LINE)
    stride = max(1, values.size // _SAMPLED)
    return lines[stride // 2 :: stride]


def _sum(values: Row) -> float:
    rows = values.size // _COLUMNS
    if rows < 2:
        return float(values.sum())
    columns = values[: rows * _COLUMNS].reshape(rows, _COLUMNS).sum(axis=0)
    return float(columns.sum()) + float(values[rows * _COLUMNS :].sum())


def _places(tokens: Ids, ids: Ids | None) -> tuple[Ids, NDArray[np.bool_] | slice]:
    """Return the positions of `tokens` in a row that scores `ids`, and which tokens it scores."""
    if ids is None:
        return tokens, slice(None)
    places = np.minimum(np.searchsorted(ids, tokens), ids.size - 1)
    present = ids[places] == tokens
    return places[present], present


def _has_penalties(sampling: Sampling) -> bool:
    repetition = sampling.repetition_penalty != 1.0
    return repetition or sampling.presence_penalty != 0.0 or sampling.frequency_penalty != 0.0


_GOLDEN = np.uint32(0x9E3779B1)
_FIRST = np.uint32(0x85EBCA6B)  # the multipliers of MurmurHash3's 32-bit finaliser
_SECOND = np.uint32(0xC2B2AE35)
_SCALE = 2.0**-32


def hashes(seed: int, position: int, ids: NDArray[np.integer[Any]]) -> Hashes:
    """Return uniform 32-bit words, one for each token id: [len(ids)]."""
    key = _mix64(seed * 0x9E3779B97F4A7C15 + position)
    words = ids.astype(np.uint32, copy=False) * _GOLDEN
    words += np.uint32(key & 0xFFFFFFFF)
    shifted = words >> np.uint32(16)
    words ^= shifted
    words *= _FIRST
    words += np.uint32(key >> 32)  # so that two keys never give shifted copies
    words ^= np.right_shift(words, np.uint32(13), out=shifted)
    words *= _SECOND
    words ^= np.right_shift(words, np.uint32(16), out=shifted)
    return words


def gumbel(words: Hashes) -> NDArray[np.float64]:
    """Return standard Gumbel values, increasing in the word, between -3.1 and 22.9."""
    uniform = (words.astype(np.float64) + 0.5) * _SCALE
    noise: NDArray[np.float64] = -np.log(-np.log(uniform))
    return noise


def _mix64(value: int) -> int:
    """Apply the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    mask = 0xFFFFFFFFFFFFFFFF
    value &= mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)
