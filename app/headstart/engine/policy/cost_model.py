"""What a pass of a model costs in milliseconds, from a measured table and what is seen. Knows no clock and no model."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from headstart.engine.policy.estimate import Tracked

SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32)  # tokens per pass worth measuring for a table
BULK = 32  # longer passes (prefill, a long catch-up) are priced per token and say nothing about short ones
_TABULATED = 64  # sizes looked up instead of computed
_NOISE = 0.05  # relative scatter of one pass
_LEAST = 1e-6  # milliseconds; no pass is free
_SWITCHING = 3  # place of the switch among the tracked parameters

# A pass over so many tokens beside one over a single token, for machines nobody has measured yet: the mean of
# Qwen2.5-Coder 1.5B and 0.5B in INT8 on an AMX Xeon and on a Xeon without AMX, which differ by a tenth up to 12 tokens.
_SHIPPED = {1: 1.0, 2: 1.04, 3: 1.08, 4: 1.17, 5: 1.21, 6: 1.28, 8: 1.39, 10: 1.5, 12: 1.6, 16: 2.06, 32: 3.1}

# What is assumed until something better is known; relative to a pass over one token.
_SWITCH = 0.1  # a pass of another size than the one before it: 0.1 measured for 1.5B, 0.3 for 0.5B, 0.5 for 135M
_INCREMENT = 0.05  # each further token: 0.05 measured for 1.5B INT8 up to 6 tokens
_DRAFT_STEP = 0.3  # a draft step beside a target step: 0.26 and 0.34 measured for 0.5B beside 1.5B
_CONTEXT = 0.05  # a thousand tokens of context
_MEANS = (1.0, 1.0, _CONTEXT, _SWITCH)  # scale and steepness of the table, slope, switch

# How unsure of these, as standard deviations, by where the table comes from; and how they change from pass to pass.
_MEASURED_DOUBTS = (0.2, 0.15, 0.05, 0.1)
_SHIPPED_DOUBTS = (0.3, 0.4, 0.05, 0.3)
_GUESSED_DOUBTS = (0.6, 0.6, 0.05, 0.3)
_COMMON_DRIFT = 0.01  # relative, of all together
_DRIFTS = (0.003, 0.003, 0.0005, 0.003)  # of each alone
_NEWEST_BULK = 0.3  # weight of the newest long pass

# What no model does in a round: milliseconds a round and a verified token, and the same about them.
_AROUND = (0.5, 0.2)
_AROUND_DOUBTS = (5.0, 2.0)
_AROUND_COMMON_DRIFT = 0.02
_AROUND_DRIFTS = (0.01, 0.01)
_AROUND_NOISE = (0.5, 0.2)  # milliseconds, and a share


def monotone(table: Mapping[int, float]) -> dict[int, float]:
    """The closest non-decreasing table (least squares): neighbours out of order are replaced by their mean."""
    blocks: list[tuple[float, list[int]]] = []
    for size in sorted(table):
        mean, sizes = float(table[size]), [size]
        while blocks and blocks[-1][0] > mean:
            earlier, joined = blocks.pop()
            mean = (earlier * len(joined) + mean * len(sizes)) / (len(joined) + len(sizes))
            sizes = joined + sizes
        blocks.append((mean, sizes))
    return {size: mean for mean, sizes in blocks for size in sizes}


class Curve:
    """Milliseconds of one pass over M tokens behind c others: first * (scale + slope * c) + steepness * extra(M).

    `first` and `extra` come from the table. Scale, steepness and slope are tracked, so that a slower machine, a table
    measured under other load and a growing context are told apart by what each of them would explain. A pass of
    another size than the one before it costs a `switch` more: a runtime prepares itself anew for each new shape.
    """

    def __init__(self, table: Mapping[int, float] | None = None, switch_ms: float | None = None) -> None:
        """`table`: measured ms by tokens per pass, as often repeated, context short. Without one the first pass seen
        stands in. `switch_ms`: what a change of size costs more; None: not measured.
        """
        self._table: dict[int, float] = {}
        self._points: list[float] = []
        self._bulk_ms: float | None = None  # per token
        self._tracked = _tracked(_MEASURED_DOUBTS)
        if table:
            self._adopt(monotone(table))
            if switch_ms is not None:
                self._tracked.means[_SWITCHING] = max(switch_ms, 0.0) / self._points[1]

    @property
    def known(self) -> bool:
        """Whether anything was measured or seen yet; milliseconds may only be asked then."""
        return bool(self._points)

    def ms(self, tokens: int, context: int = 0) -> float:
        """Expected milliseconds of one pass over `tokens` tokens behind `context` others."""
        if tokens > BULK and self._bulk_ms is not None:
            return max(self._bulk_ms * tokens, self.ms(BULK, context))
        assert self._points, "a curve was asked before it knew anything"
        scale, steepness, slope, _ = self._tracked.means
        first = self._points[1]
        return first * (scale + slope * context / 1000) + steepness * (self._point(tokens) - first)

    def row(self, limit: int, context: int) -> list[float]:
        """`ms` of passes over 1, 2, .. `limit` tokens."""
        steepness = self._tracked.means[1]
        base = self.ms(1, context) - steepness * self._points[1]
        return [base + steepness * point for point in self._points[1 : limit + 1]]

    @property
    def switch_ms(self) -> float:
        """What a pass of another size than the one before it costs more."""
        return self._tracked.means[_SWITCHING] * self._points[1] if self._points else 0.0

    @classmethod
    def shipped(cls, first_ms: float) -> "Curve":
        """What a model is priced at on a machine where only a pass over one token was timed; use corrects it."""
        curve = cls({tokens: first_ms * share for tokens, share in _SHIPPED.items()})
        curve._tracked = _tracked(_SHIPPED_DOUBTS)
        return curve

    def assume(self, first_ms: float) -> None:
        """Let a guess of a one-token pass stand in for a table; what is seen corrects it fast."""
        self._adopt({1: first_ms})
        self._tracked = _tracked(_GUESSED_DOUBTS)

    def observe(self, tokens: int, context: int, ms: float, singles: int = 0, switches: int = 0) -> None:
        """Learn from a pass over `tokens` tokens, then `singles` passes over one, that took `ms` together.

        `switches` of these passes were of another size than the one before them.
        """
        if not 0.0 < ms < math.inf:
            return
        if tokens > BULK:
            self._observe_bulk((ms - singles * self.ms(1, context) if self._points else ms) / tokens)
            return
        if not self._points:
            self.assume(ms / (1 + singles + _INCREMENT * (tokens - 1) + _SWITCH * switches))
        first, passes = self._points[1], 1 + singles
        extra = (self._points[tokens] - first) / (first * passes)
        features = ((0, 1.0), (1, extra), (2, context / 1000), (_SWITCHING, switches / passes))
        self._tracked.observe(features, ms / (first * passes), _NOISE * self._tracked.predict(features))

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs."""
        table = {str(size): ms for size, ms in self._table.items()}
        return {"table": table, "factors": list(self._tracked.means), "bulk_ms": self._bulk_ms}

    @classmethod
    def from_json(cls, data: object) -> "Curve":
        """The stored curve, or one that knows nothing where `data` is not one. How sure it is starts afresh."""
        match data:
            case {"table": dict() as table, "factors": [_, _, _, _] as factors, "bulk_ms": bulk} if _is_table(
                table
            ) and all(is_figure(factor, least=0.0) for factor in factors):
                curve = cls({int(size): float(ms) for size, ms in table.items()})
                curve._tracked.means = [float(factor) for factor in factors]
                curve._bulk_ms = float(bulk) if is_figure(bulk, least=_LEAST) else None
                return curve
        return cls()

    def _adopt(self, table: Mapping[int, float]) -> None:
        assert all(size >= 1 and ms > 0.0 for size, ms in table.items()), "a cost table holds positive figures"
        self._table = dict(table)
        self._points = _interpolate(table)

    def _point(self, tokens: int) -> float:
        if tokens <= _TABULATED:
            return self._points[tokens]
        return self._points[-1] + (tokens - _TABULATED) * (self._points[-1] - self._points[-2])

    def _observe_bulk(self, ms: float) -> None:
        if ms > 0.0:
            self._bulk_ms = ms if self._bulk_ms is None else self._bulk_ms + _NEWEST_BULK * (ms - self._bulk_ms)


class Costs:
    """The prices of a round: passes of the target, passes of the draft, and everything between them."""

    def __init__(self, target: Curve | None = None, draft: Curve | None = None) -> None:
        """`draft`: None where there is no draft model yet; should one draft after all, its price is guessed first."""
        self.target = target or Curve()
        self.draft = draft
        self._other = Tracked(_AROUND, _AROUND_DOUBTS, _AROUND_COMMON_DRIFT, _AROUND_DRIFTS)

    def verify(self, limit: int, context: int) -> list[float]:
        """Milliseconds of a round that verifies 1, 2, .. `limit` tokens, drafting apart. Index 0 is a plain step.

        A plain step is taken to follow another; all others change the size of the pass, as their lengths vary.
        """
        switch = self.target.switch_ms
        return [
            ms + self.around(m) + (switch if m > 1 else 0.0)
            for m, ms in enumerate(self.target.row(limit, context), start=1)
        ]

    def around(self, tokens: int) -> float:
        """Milliseconds of a round that verifies so many tokens in which no model runs."""
        fixed, each = self._other.means
        return fixed + each * tokens

    def drafting(self, lag: int, context: int) -> tuple[float, float]:
        """Milliseconds of one draft token, and what the first costs more because `lag` tokens are caught up with it."""
        self.draft = self.draft or Curve()
        if not self.draft.known:
            self.draft.assume(_DRAFT_STEP * self.target.ms(1))
        step = self.draft.ms(1, context)
        if lag <= 1:
            return step, 0.0
        return step, self.draft.ms(lag, context) + 2 * self.draft.switch_ms - step  # there and back to one token

    def assume_around(self, ms: float) -> None:
        """Let a guess stand in for what is around the passes of a round."""
        self._other.means = [ms, 0.0]

    def observe(self, tokens: int, context: int, verify_ms: float, other_ms: float, *, switched: bool = False) -> None:
        """Learn from a pass of the target over `tokens` tokens and the time of its round that no model used."""
        self.target.observe(tokens, context, verify_ms, switches=switched)
        if 0.0 <= other_ms < math.inf:
            features, (least, share) = ((0, 1.0), (1, float(tokens))), _AROUND_NOISE
            self._other.observe(features, other_ms, least + share * self._other.predict(features))

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping between runs."""
        draft = self.draft.to_json() if self.draft else None
        return {"target": self.target.to_json(), "draft": draft, "other": list(self._other.means)}

    @classmethod
    def from_json(cls, data: object) -> "Costs":
        """The stored prices; what cannot be read starts afresh."""
        match data:
            case {"target": target, "draft": draft, "other": other}:
                costs = cls(Curve.from_json(target), None if draft is None else Curve.from_json(draft))
                match other:
                    case [_, _] if all(is_figure(ms, least=0.0) for ms in other):
                        costs._other.means = [float(ms) for ms in other]
                return costs
        return cls()


def is_figure(value: object, least: float, most: float = 1e9) -> bool:
    """Whether a value read from JSON is a number within bounds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _is_table(table: dict[Any, Any]) -> bool:
    sizes = all(isinstance(size, str) and size.isdecimal() and int(size) >= 1 for size in table)
    return bool(table) and sizes and all(is_figure(ms, least=_LEAST) for ms in table.values())


def _tracked(doubts: Sequence[float]) -> Tracked:
    return Tracked(_MEANS, doubts, _COMMON_DRIFT, _DRIFTS)


def _interpolate(table: Mapping[int, float]) -> list[float]:
    """Milliseconds by tokens up to _TABULATED; index 0 is unused. Beyond the table the steeper of two slopes holds."""
    sizes = sorted(table)
    values = [table[size] for size in sizes]
    beyond = values[0] * _INCREMENT
    if len(sizes) > 1:
        whole = (values[-1] - values[0]) / (sizes[-1] - sizes[0])
        beyond = max(whole, (values[-1] - values[-2]) / (sizes[-1] - sizes[-2]))
    points = []
    for m in range(_TABULATED + 1):
        i = bisect_right(sizes, m)
        if i == 0:
            points.append(values[0])
        elif i == len(sizes):
            points.append(values[-1] + (m - sizes[-1]) * beyond)
        else:
            part = (m - sizes[i - 1]) / (sizes[i] - sizes[i - 1])
            points.append(values[i - 1] + part * (values[i] - values[i - 1]))
    return points
