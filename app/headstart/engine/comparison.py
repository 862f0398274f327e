"""Whether written tokens are those that a model would have chosen one at a time, within its own noise. Pure numpy.

A token's score is its logit over the temperature plus the coupled noise of its place (`sampling.py`), so the choice of
greedy and sampled text alike is the largest score. A kernel rounds differently when it computes several tokens at once;
the noise floor is how far that moves the distance between the two best tokens, measured on the same text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headstart.engine.engine import Sampling
from headstart.engine.noise import gumbel, hashes
from headstart.engine.sampling import Row, Scores

_QUANTILE = 0.999
ENDED = -1  # stands for "any stop id" where the text ended


@dataclass(frozen=True)
class Verdict:
    """One written token against the model's own choice, by scores of single-token passes."""

    token: int  # ENDED: the end of the text
    choice: int  # the token with the largest score
    rival: int  # the second
    gap: float  # score of the choice minus that of the token; 0 where they are the same
    margin: float  # score of the choice minus that of the rival


@dataclass(frozen=True)
class Outlier:
    """A token that noise does not explain."""

    text: str  # which one
    index: int  # in the answer
    token: int
    choice: int
    gap: float


@dataclass(frozen=True)
class Findings:
    """What an audit of some texts found. Gaps and the floor are in units of the score."""

    tokens: int
    mismatches: int  # tokens that are not the model's choice, near-ties included
    largest_gap: float
    floor: float
    floor_samples: int
    outliers: tuple[Outlier, ...]

    @property
    def mismatches_per_10k(self) -> float:
        """Mismatches per ten thousand tokens."""
        return 10_000.0 * self.mismatches / self.tokens if self.tokens else 0.0


@dataclass(frozen=True)
class Judged:
    """A text with the verdict on each of its tokens, its end included where it ended by itself."""

    text: str  # its name
    verdicts: tuple[Verdict, ...]


def scores(row: Row, position: int, sampling: Sampling) -> Scores:
    """What `Sampler.choose` maximises at an absolute position, for all tokens: [vocabulary].

    For temperature and seed alone: penalties and cuts (top-k, top-p, min-p) must be at their defaults.
    """
    if sampling.temperature == 0.0:
        return row.astype(np.float64)
    noise = gumbel(hashes(sampling.seed, position, np.arange(row.size, dtype=np.int64)))
    return row.astype(np.float64) / sampling.temperature + noise


def judge(values: Scores, token: int, stop_ids: Iterable[int] = ()) -> Verdict:
    """The verdict on `token`; for ENDED the likeliest of `stop_ids` stands in."""
    best = np.argpartition(values, -2)[-2:]
    rival, choice = (int(index) for index in best[np.argsort(values[best], kind="stable")])
    reached = max(float(values[stop]) for stop in stop_ids) if token == ENDED else float(values[token])
    gap = float(values[choice]) - reached
    return Verdict(token, choice, rival, gap, float(values[choice] - values[rival]))


def shift(verdict: Verdict, values: Scores) -> float:
    """How far another pass over the same text moved the distance between the two best tokens."""
    return abs(float(values[verdict.choice] - values[verdict.rival]) - verdict.margin)


def noise_floor(shifts: Sequence[float]) -> float:
    """The 99.9 % quantile; of few samples the largest, as a smaller one would call noise a fault."""
    return float(np.quantile(shifts, _QUANTILE, method="higher")) if len(shifts) else 0.0


def findings(texts: Sequence[Judged], shifts: Sequence[float]) -> Findings:
    """Sum up; a token is an outlier where its gap exceeds the noise floor."""
    floor = noise_floor(shifts)
    named = [(text.text, index, verdict) for text in texts for index, verdict in enumerate(text.verdicts)]
    return Findings(
        tokens=len(named),
        mismatches=sum(verdict.gap > 0.0 for _, _, verdict in named),
        largest_gap=max((verdict.gap for _, _, verdict in named), default=0.0),
        floor=floor,
        floor_samples=len(shifts),
        outliers=tuple(
            Outlier(name, index, verdict.token, verdict.choice, verdict.gap)
            for name, index, verdict in named
            if verdict.gap > floor
        ),
    )
