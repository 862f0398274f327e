"""From the result of a race to what a person should set for each class of text. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headstart.engine.bench.contestants import AUTO, DRAFT_ONLY, NGRAM_ONLY, PLAIN, fixed_length

OFF = "off"
LEAST_GAIN = 1.02  # a speedup below this is noise: then guessing is not worth a setting
_ALIKE = 0.98  # of the best: lengths this close to it are as good


@dataclass(frozen=True)
class Advice:
    """For one class: the method that won and, where it was raced, the lengths that are about equally good.

    `speedup` is the winner's over plain decoding, time to first token included; `auto` is that of the automatic mode.
    """

    kind: str
    method: str  # "draft", "ngram" or "off"
    lengths: tuple[int, int] | None  # None: as far as pays
    speedup: float
    auto: float | None

    @property
    def words(self) -> str:
        """As the table says it: "draft, 5-8"."""
        if self.lengths is None:
            return _TITLES[self.method]
        least, most = self.lengths
        return f"{_TITLES[self.method]}, {least}" if least == most else f"{_TITLES[self.method]}, {least}-{most}"


_TITLES = {OFF: "off", DRAFT_ONLY: "draft", NGRAM_ONLY: "n-gram"}


def advice(result: Mapping[str, Any]) -> tuple[Advice, ...]:
    """For each class of a result in the form of its JSON, in the order in which it was raced.

    Raises KeyError or TypeError for other data.
    """
    standings: Mapping[str, Mapping[str, Any]] = result["standings"]
    # Without a draft model a fixed length is one of n-grams.
    fixed = DRAFT_ONLY if result["setting"]["draft"] else NGRAM_ONLY
    kinds = dict.fromkeys(prompt["kind"] for prompt in result["prompts"])
    return tuple(_for_kind(kind, _speedups(standings, kind), fixed) for kind in kinds)


def _speedups(standings: Mapping[str, Mapping[str, Any]], kind: str) -> dict[str, float]:
    """Of each contestant over plain decoding in one class; those of peers, which nobody can set here, are left out."""
    own = [name for name in standings if name in {AUTO, DRAFT_ONLY, NGRAM_ONLY} or fixed_length(name)]
    return {name: speedup for name in own if (speedup := standings[name]["total_by_kind"].get(kind))}


def _for_kind(kind: str, speedups: Mapping[str, float], fixed: str) -> Advice:
    static = {name: value for name, value in speedups.items() if name != AUTO}
    auto = speedups.get(AUTO)
    best = max(static, key=lambda name: static[name], default=PLAIN)
    if static.get(best, 0.0) < LEAST_GAIN:
        return Advice(kind, OFF, None, 1.0, auto)
    if fixed_length(best) is None:
        return Advice(kind, best, None, static[best], auto)
    return Advice(kind, fixed, _alike(static, best), static[best], auto)


def _alike(static: Mapping[str, float], best: str) -> tuple[int, int]:
    """The lengths around the best one that are about as good, without a gap."""
    raced = sorted(length for name in static if (length := fixed_length(name)))
    good = [length for length in raced if static[f"fixed {length}"] >= _ALIKE * static[best]]
    middle = fixed_length(best)
    assert middle is not None
    return _run_end(raced, good, middle, -1), _run_end(raced, good, middle, 1)


def _run_end(raced: Sequence[int], good: Sequence[int], middle: int, step: int) -> int:
    place = raced.index(middle)
    while 0 <= place + step < len(raced) and raced[place + step] in good:
        place += step
    return raced[place]
