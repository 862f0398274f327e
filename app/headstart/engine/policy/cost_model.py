"""The milliseconds of a model's pass: a measured table, corrected by every pass."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

_CLIP = 2.5  # deviations: an observation counts as no further off than this


class Estimate:
    """Means [n] with a covariance [n][n] under the linear model value = means @ features + noise.

    This is the measurement update of a Kalman filter, which is also one Newton step of a Bayesian regression.
    """

    def __init__(self, means: Sequence[float], deviations: Sequence[float]) -> None:
        """`deviations`: standard deviations of independent parameters, and their upper bounds."""
        self.means = np.array(means, np.float64)
        self._largest = np.square(deviations)
        self._covariance = np.diag(self._largest)

    def predict(self, features: Sequence[float]) -> float:
        """Return the expected value."""
        total = 0.0  # NumPy takes ten times as long for so few
        for mean, feature in zip(self.means.tolist(), features, strict=True):
            total += mean * feature
        return total

    def variance(self, features: Sequence[float]) -> float:
        """Return the variance of the expected value, without the noise of a measurement."""
        return float(features @ self._covariance @ features)

    def correct(self, features: Sequence[float], miss: float, noise: float, memory: float = 1.0) -> None:
        """Learn from an observation that is off by `miss`, with the variance `noise` of its own.

        `memory`: the factor on the weight of earlier observations.
        """
        reach = self._covariance @ features
        total = noise + float(reach @ features)
        self.means += reach * (miss / total)
        covariance = (self._covariance - np.multiply.outer(reach, reach) / total) / memory
        # Forgetting must not raise a deviation above its first value.
        scale = np.sqrt(np.minimum(1.0, self._largest / covariance.diagonal()))
        self._covariance = covariance * np.multiply.outer(scale, scale)


class Tracked(Estimate):
    """An estimate of non-negative parameters that drift; single observations may be far off."""

    def __init__(self, means: Sequence[float], deviations: Sequence[float]) -> None:
        """`deviations`: standard deviations of the parameters."""
        super().__init__(means, deviations)
        self._drift = _DRIFT**2 * np.eye(len(means))
        self._largest = np.full(len(means), math.inf)

    def observe(self, features: Sequence[float], value: float, noise: float) -> None:
        """Learn from `value`, which has the standard deviation `noise` of its own. Outliers are clipped."""
        self._covariance += _COMMON_DRIFT**2 * np.multiply.outer(self.means, self.means) + self._drift
        limit = _CLIP * math.sqrt(noise * noise + self.variance(features))
        self.correct(features, min(limit, max(-limit, value - self.predict(features))), noise * noise)
        np.maximum(self.means, 0.0, out=self.means)


SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32)  # tokens of the passes that a table measures
BULK = 32  # longer passes (prefill, a long catch-up) say nothing about short ones
_TABULATED = 64  # sizes looked up instead of computed
_READING = 128  # tokens that stand for a text which a model reads before it drafts
_NOISE = 0.05  # relative scatter of one pass
_MIN_MS = 1e-6  # no pass is free
_SWITCHING = 3  # index of the switch among the tracked parameters

# The time of a pass by its tokens, relative to a pass over one, for machines that are not measured yet: the mean of
# Qwen2.5-Coder 1.5B and 0.5B in INT8 on an AMX Xeon and on a Xeon without AMX, which differ by a tenth up to 12 tokens.
_SHIPPED = {1: 1.0, 2: 1.04, 3: 1.08, 4: 1.17, 5: 1.21, 6: 1.28, 8: 1.39, 10: 1.5, 12: 1.6, 16: 2.06, 32: 3.1}

# Priors, relative to a pass over one token.
_SWITCH = 0.1  # a change of size between two passes: 0.1 measured for 1.5B, 0.3 for 0.5B, 0.5 for 135M
_INCREMENT = 0.05  # each further token: 0.05 measured for 1.5B INT8 up to 6 tokens
_DRAFT_STEP = 0.3  # a step of a draft model: 0.26 and 0.34 measured for 0.5B beside 1.5B
_CONTEXT = 0.05  # a thousand tokens of context
_MEANS = (1.0, 1.0, _CONTEXT, _SWITCH)  # scale and steepness of the table, slope, switch
_DEVIATIONS = (0.3, 0.4, 0.05, 0.3)  # standard deviations of these; half of that for a measured table
_COMMON_DRIFT, _DRIFT = 0.01, 0.003  # from pass to pass: relative change of all together, change of each alone


class Curve:
    """Milliseconds of one pass over M tokens after c others: first * (scale + slope * c) + steepness * extra(M).

    `first` and `extra` come from the table. Scale, steepness and slope are tracked. They separate a slower machine, a
    table measured under other load and a growing context. A change of size between two passes costs a `switch` more,
    as the runtime prepares itself anew for each new shape.
    """

    def __init__(self, table: Mapping[int, float], switch_ms: float | None = None) -> None:
        """`table`: ms by tokens per pass, of repeated passes with a short context.

        `switch_ms`: the additional cost of a change of size; None: not measured.
        """
        assert all(size >= 1 and ms > 0.0 for size, ms in table.items()), "a cost table holds positive figures"
        self._table = _rising(table)
        self._points = _interpolate(self._table)
        self._tracked = Tracked(_MEANS, [deviation / 2 for deviation in _DEVIATIONS])
        if switch_ms is not None:
            self._tracked.means[_SWITCHING] = max(switch_ms, 0.0) / self._points[1]

    def ms(self, tokens: int, context: int = 0) -> float:
        """Return the expected milliseconds of one pass over `tokens` tokens after `context` others."""
        first = self._points[1]
        features = (1.0, self._point(tokens) / first - 1.0, context / 1000, 0.0)
        return max(first * self._tracked.predict(features), _MIN_MS)

    def row(self, limit: int, context: int) -> list[float]:
        """Return the expected milliseconds of passes over 1, 2, .. `limit` tokens."""
        steepness = float(self._tracked.means[1])
        base = self.ms(1, context) - steepness * self._points[1]
        return [max(base + steepness * point, _MIN_MS) for point in self._points[1 : limit + 1]]

    @property
    def switch_ms(self) -> float:
        """The additional milliseconds of a pass whose size differs from the one before it."""
        return float(self._tracked.means[_SWITCHING]) * self._points[1]

    @classmethod
    def prior(cls, first_ms: float, several: tuple[int, float] | None = None) -> "Curve":
        """Return the priors for a machine on which only a pass over one token was timed, or also one over several.

        `several`: its tokens and milliseconds. In a mixture several tokens read more experts than one, and the shipped
        prices are those of dense models.
        """
        steepness = 1.0
        if several:
            tokens, ms = several
            steepness = max((ms / first_ms - 1.0) / (_SHIPPED[tokens] - 1.0), 1.0)
        curve = cls({tokens: first_ms * (1.0 + (share - 1.0) * steepness) for tokens, share in _SHIPPED.items()})
        curve._tracked = Tracked(_MEANS, _DEVIATIONS)
        return curve

    def observe(self, tokens: int, context: int, ms: float, further: int = 0, size: int = 1, switches: int = 0) -> None:
        """Learn from a pass over `tokens` tokens and `further` passes over `size`, which took `ms` together.

        `switches`: passes whose size differed from the one before them.
        """
        if not 0.0 < ms < math.inf:
            return
        if tokens > BULK:
            self._learn_reading(tokens, context, ms - further * self.ms(size, context))
            return
        first, passes = self._points[1], 1 + further
        extra = (self._points[tokens] + further * self._points[size]) / (first * passes) - 1.0
        features = (1.0, extra, context / 1000, switches / passes)
        self._tracked.observe(features, ms / (first * passes), _NOISE * self._tracked.predict(features))

    def _learn_reading(self, tokens: int, context: int, ms: float) -> None:
        """Learn the price of reading a long text from one pass; the earlier estimate keeps half of the weight."""
        known_ms = self.ms(tokens, context)
        price = max(self._point(_READING) + (ms - known_ms) * _READING / tokens / 2, self._points[BULK])
        self._table = _rising({**self._table, _READING: price})
        self._points = _interpolate(self._table)

    def to_json(self) -> dict[str, Any]:
        """Return the data that is kept between runs."""
        table = {str(size): ms for size, ms in self._table.items()}
        return {"table": table, "factors": self._tracked.means.tolist()}

    @classmethod
    def from_json(cls, data: object) -> "Curve | None":
        """Return the stored curve, with the prior uncertainty; None if `data` is not one."""
        match data:
            case {"table": dict() as table, "factors": [_, _, _, _] as factors} if _is_table(table) and all(
                is_figure(factor, minimum=0.0) for factor in factors
            ):
                measured = {int(size): float(ms) for size, ms in table.items()}
                curve = cls(measured)
                if curve._table == measured:  # else the factors belong to another table
                    curve._tracked.means[:] = factors
                return curve
        return None

    def _point(self, tokens: int) -> float:
        if tokens <= _TABULATED:
            return self._points[tokens]
        return self._points[-1] + (tokens - _TABULATED) * (self._points[-1] - self._points[-2])


@dataclass(frozen=True, slots=True)
class LastPass:
    size: int = 1  # tokens
    spent_ms: float = 0.0  # what it cost so far to keep this size: padding, and candidates that were left out


class Costs:
    """The prices of the target's passes, with the work around them, and of the passes of models that draft."""

    def __init__(self, target: Curve, models: Mapping[str, Curve] = MappingProxyType({})) -> None:
        """`models`: the curves of models that draft, by drafter. One that is missing starts from a prior."""
        self.target = target
        self._models = dict(models)
        self.passes = {name: _usual_pass(curve) for name, curve in models.items()}  # tokens of a pass, by drafter
        self.without_cache = set[str]()  # drafters that read no context

    def model(self, drafter: str) -> Curve:
        """Return the curve of a model that drafts."""
        if drafter not in self._models:
            self._models[drafter] = Curve.prior(_DRAFT_STEP * self.target.ms(1))
        return self._models[drafter]

    def verify(self, limit: int, context: int, last_pass: LastPass | None = None) -> list[float]:
        """Return the milliseconds of a round that verifies 1, 2, .. `limit` tokens, drafting apart.

        Index 0 is a plain step after another. All others keep the size of the last pass or change it, as `size` says.
        """
        last_pass = last_pass or LastPass()
        row = self.target.row(max(limit, last_pass.size), context)
        padded_ms, change_ms = row[last_pass.size - 1], self._change_ms(last_pass)
        padded = [min(ms + change_ms, padded_ms) for ms in row[1 : last_pass.size]]
        return [row[0], *padded, *(ms + change_ms for ms in row[last_pass.size :])][:limit]

    def size(self, tokens: int, context: int, last_pass: LastPass) -> int:
        """Return the size of the pass that verifies `tokens` tokens: that of the last pass if padding is cheaper."""
        if tokens >= last_pass.size:
            return tokens
        row = self.target.row(last_pass.size, context)
        return last_pass.size if row[-1] < row[tokens - 1] + self._change_ms(last_pass) else tokens

    def shared(self, limit: int, context: int, batch_size: int) -> list[float]:
        """Return the milliseconds that a round of 1, 2, .. `limit` tokens takes of all answers that share its pass.

        Each answer reads one token at least, and waits for the further tokens of one of them.
        """
        own = self.verify(batch_size + limit, batch_size * context, LastPass(batch_size))[batch_size - 1 :][:limit]
        return [own[0] + batch_size * (ms - own[0]) for ms in own]

    def shared_by_all(self, limit: int, context: int, batch_size: int) -> list[float]:
        """Return the milliseconds of a pass in which each of the answers reads 1, 2, .. `limit` tokens.

        They do so if a model drafts for all of them.
        """
        sizes = range(batch_size, batch_size * limit + 1, batch_size)
        return [self.target.ms(size, batch_size * context) for size in sizes]

    def _change_ms(self, last_pass: LastPass) -> float:
        """Return the price of changing the size of the pass, less what keeping the last size has cost so far."""
        return max(self.target.switch_ms - last_pass.spent_ms, 0.0)

    def pass_of(self, drafter: str) -> int:
        """Return how many tokens a drafter reads for each guess; if fewer are new, it reads some again."""
        return self.passes.get(drafter, 1)

    def context_of(self, drafter: str, context: int) -> int:
        """Return the tokens of the context that a pass of a drafter reads."""
        return 0 if drafter in self.without_cache else context

    def drafting(self, drafter: str, uncached: int, context: int, batch_size: int = 1) -> tuple[float, float]:
        """Return the milliseconds of a drafted token, and those of reading `uncached` tokens before the first.

        Answers written at the same time draft together, but each waits while another one's text is read.
        """
        curve, size, context = self.model(drafter), self.pass_of(drafter), self.context_of(drafter, context)
        step = curve.ms(batch_size * size, batch_size * context)
        if uncached <= size:
            return step, 0.0
        return step, batch_size * (curve.ms(uncached, context) + 2 * curve.switch_ms) - step  # there and back

    def to_json(self) -> dict[str, Any]:
        models = {name: curve.to_json() for name, curve in self._models.items()}
        return {"target": self.target.to_json(), "models": models}

    @classmethod
    def from_json(cls, data: object) -> "Costs | None":
        """Return the stored prices; None if those of the target cannot be read."""
        match data:
            case {"target": target, "models": dict() as models} if curve := Curve.from_json(target):
                curves = {name: Curve.from_json(stored) for name, stored in models.items()}
                return cls(curve, {name: model for name, model in curves.items() if model})
        return None


def _usual_pass(draft: Curve) -> int:
    """Return how many tokens a draft reads in a pass: two if that is cheaper than a change of size, else one.

    Two tokens are new after a round whose candidates all held. After another round the first of the two is read again.
    """
    return 2 if draft.switch_ms > 2 * (draft.ms(2) - draft.ms(1)) else 1


def is_figure(value: object, minimum: float, maximum: float = 1e9) -> bool:
    """Return whether a value read from JSON is a number within bounds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and minimum <= value <= maximum


def _is_table(table: dict[Any, Any]) -> bool:
    sizes = all(isinstance(size, str) and size.isdecimal() and int(size) >= 1 for size in table)
    return bool(table) and sizes and all(is_figure(ms, minimum=_MIN_MS) for ms in table.values())


def _rising(table: Mapping[int, float]) -> dict[int, float]:
    """Return the table without falls: they are replaced by means (isotonic regression).

    On a busy computer a pass over one token may take longer than one over ten, and guesses would seem to be free. This
    pools adjacent violators (Ayer et al. 1955).
    """
    pools: list[tuple[float, list[int]]] = []  # mean, sizes
    for size in sorted(table):
        pools.append((table[size], [size]))
        while len(pools) > 1 and pools[-1][0] < pools[-2][0]:
            (later, after), (earlier, before) = pools.pop(), pools.pop()
            mean = (later * len(after) + earlier * len(before)) / (len(after) + len(before))
            pools.append((mean, before + after))
    return {size: mean for mean, sizes in pools for size in sizes}


def _interpolate(table: Mapping[int, float]) -> list[float]:
    """Return milliseconds by tokens up to _TABULATED; index 0 is unused. Beyond the table the steeper slope holds."""
    sizes = sorted(table)
    values = [table[size] for size in sizes]
    beyond = values[0] * _INCREMENT
    if len(sizes) > 1:
        whole = (values[-1] - values[0]) / (sizes[-1] - sizes[0])
        beyond = max(whole, (values[-1] - values[-2]) / (sizes[-1] - sizes[-2]))
    within = np.interp(range(_TABULATED + 1), sizes, values).tolist()
    return [ms + max(m - sizes[-1], 0) * beyond for m, ms in enumerate(within)]
