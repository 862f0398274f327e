"""From the heats of a race to its figures, and to what a person should set."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeVar

from headstart.engine.bench.race import AUTO, DRAFT_ONLY, NGRAM_ONLY, PLAIN, Heat, Run, fixed_length
from headstart.engine.bench.stats import (
    Interval,
    Spread,
    bootstrap_interval,
    geometric_mean,
    paired,
    percentile,
    spread,
)
from headstart.engine.devices import Machine

SCHEMA = 1
Number = TypeVar("Number", int, float)
Times = tuple[float | None, ...]  # a value for each repeat


@dataclass(frozen=True)
class Setting:
    """What was raced: names of the models, how they were compiled, and the lengths."""

    target: str
    draft: str | None
    target_properties: Mapping[str, str]  # of OpenVINO; the precision hint is among them
    draft_properties: Mapping[str, str] | None
    tokens: int  # longest answer
    repeats: int


@dataclass(frozen=True)
class Memory:
    """Memory of the process with Headstart's models loaded and warm, before a peer was."""

    weights: int  # files of target and draft
    kv: int  # keys and values of the longest answer, target and draft
    peak_rss: int | None  # None where the system does not tell

    @property
    def beyond(self) -> int | None:
        """Peak beyond weights, keys and values."""
        return None if self.peak_rss is None else self.peak_rss - self.weights - self.kv


@dataclass(frozen=True)
class Score:
    """One contestant on one prompt; lists have a value for each repeat, other figures are over all repeats."""

    ms_per_token: Times  # after the first token
    total_ms_per_token: Times  # with the time to first token
    ttft_ms: tuple[float, ...]
    output_tokens: tuple[int, ...]
    speedup: Spread | None
    total_speedup: Spread | None
    acceptance_rate: float | None
    mean_accepted_length: float | None
    share: Mapping[str, float]  # of the decoding time: draft, verify, other; empty for a peer
    origins: Mapping[str, int]  # tokens of all repeats by who proposed them; empty for a peer
    equals_plain: bool  # the same tokens as plain decoding, in every repeat
    first_difference: int | None  # from plain decoding's tokens: the smallest index


@dataclass(frozen=True)
class PromptResult:
    """All contestants on one prompt."""

    id: str
    kind: str
    prompt_tokens: int
    scores: Mapping[str, Score]


@dataclass(frozen=True)
class Standing:
    """One contestant over all prompts: geometric means of the median speedups, and the worst and best prompt."""

    overall: float | None
    by_kind: Mapping[str, float | None]
    across: Spread | None
    total_overall: float | None  # time to first token included
    overhead_share: float | None  # of the decoding time, outside the models; None for a peer
    interval: Interval | None = None  # of `overall`
    fifth_percentile: float | None = None  # of the prompts' speedups
    total_across: Spread | None = None  # time to first token included
    total_by_kind: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Versus:
    """Auto against the best static setting of the peer: peer ms / auto ms, geometric mean over the prompts."""

    peer: str
    ratio: float
    across: Spread


@dataclass(frozen=True)
class Hindsight:
    """Auto against whichever setting of a peer was fastest for each prompt, which nobody could know before."""

    peer: str  # the program
    ratio: float
    interval: Interval | None
    across: Spread
    by_kind: Mapping[str, float | None]


@dataclass(frozen=True)
class BenchResult:
    """Everything that was measured."""

    machine: Machine
    setting: Setting
    prompts: tuple[PromptResult, ...]
    standings: Mapping[str, Standing]
    auto_vs_best_static_peer: Versus | None
    memory: Memory
    schema: int = SCHEMA
    auto_vs_hindsight: tuple[Hindsight, ...] = ()
    skipped: tuple[str, ...] = ()  # sentences about peers that could not take part


def as_json(result: BenchResult) -> dict[str, object]:
    """Plain data, with the derived memory figure."""
    data: dict[str, object] = dataclasses.asdict(result)
    data["memory"] = dataclasses.asdict(result.memory) | {"beyond": result.memory.beyond}
    return data


def prompt_results(heats: Sequence[Heat]) -> tuple[PromptResult, ...]:
    """The heats by prompt and contestant, in the order in which they first appear in the first repeat."""
    prompts = {heat.prompt.id: heat.prompt for heat in heats}
    results = []
    for prompt in prompts.values():
        mine: dict[str, list[Heat]] = {}
        for heat in heats:
            if heat.prompt == prompt:
                mine.setdefault(heat.contestant, []).append(heat)
        plain = [heat.run for heat in mine[PLAIN]]
        scores = {name: _score(each, plain) for name, each in mine.items()}
        results.append(PromptResult(prompt.id, prompt.kind, plain[0].prompt_tokens, scores))
    return tuple(results)


def standings(results: Sequence[PromptResult], names: Sequence[str]) -> dict[str, Standing]:
    """Each contestant over all prompts."""
    return {name: _standing(results, name) for name in names}


def versus_best_peer(results: Sequence[PromptResult], peers: Sequence[str]) -> Versus | None:
    """Auto against the one setting of the peer that is fastest over all prompts; None without a peer or auto."""
    best = max(peers, key=lambda name: geometric_mean(_medians(results, name)) or 0.0, default=None)
    if best is None or not all(AUTO in result.scores for result in results):
        return None
    ratios = [ratio for result in results if (ratio := _auto_against(result, best))]
    mean, across = geometric_mean(ratios), spread(ratios)
    return Versus(best, mean, across) if mean is not None and across is not None else None


def versus_hindsight(results: Sequence[PromptResult], peers: Sequence[str]) -> tuple[Hindsight, ...]:
    """Auto against each peer program's best setting for each prompt. A peer's name begins with its program's."""
    found = []
    for program in dict.fromkeys(name.partition(" ")[0] for name in peers):
        names = [name for name in peers if name.partition(" ")[0] == program]
        kinds = [(result.kind, min(ratios)) for result in results if (ratios := _all_against(result, names))]
        least = [ratio for _, ratio in kinds]
        mean, across = geometric_mean(least), spread(least)
        if mean is not None and across is not None:
            by_kind = {kind: geometric_mean([ratio for mine, ratio in kinds if mine == kind]) for kind, _ in kinds}
            found.append(Hindsight(program, mean, bootstrap_interval(least), across, by_kind))
    return tuple(found)


def _all_against(result: PromptResult, names: Sequence[str]) -> list[float]:
    return [ratio for name in names if AUTO in result.scores and (ratio := _auto_against(result, name))]


def _auto_against(result: PromptResult, name: str) -> float | None:
    """The median ratio of a contestant's time per token to auto's."""
    middle = spread(paired(result.scores[name].ms_per_token, result.scores[AUTO].ms_per_token))
    return middle.median if middle else None


def _score(heats: Sequence[Heat], plain: Sequence[Run]) -> Score:
    runs = [heat.run for heat in heats]
    times, totals = [_times(of, _decode) for of in (plain, runs)], [_times(of, _total) for of in (plain, runs)]
    differing = [_first_difference(base.tokens, run.tokens) for base, run in zip(plain, runs, strict=True)]
    drafted, rounds = sum(run.drafted for run in runs), sum(run.rounds or 0 for run in runs)
    written = sum(len(run.tokens) for run in runs)
    return Score(
        ms_per_token=times[1],
        total_ms_per_token=totals[1],
        ttft_ms=tuple(run.ttft_ms for run in runs),
        output_tokens=tuple(len(run.tokens) for run in runs),
        speedup=spread(paired(*times)),
        total_speedup=spread(paired(*totals)),
        acceptance_rate=sum(run.accepted for run in runs) / drafted if drafted else None,
        mean_accepted_length=written / rounds if rounds else None,
        share=_shares(runs),
        origins=_sums([run.origins for run in runs]),
        equals_plain=all(index is None for index in differing),
        first_difference=min((index for index in differing if index is not None), default=None),
    )


def _standing(results: Sequence[PromptResult], name: str) -> Standing:
    medians, totals = _medians(results, name), _totals(results, name)
    others = [share["other"] for result in results if (share := result.scores[name].share)]
    return Standing(
        overall=geometric_mean(medians),
        by_kind=_by_kind(results, name, _medians),
        across=spread(medians),
        total_overall=geometric_mean(totals),
        overhead_share=sum(others) / len(others) if others else None,
        interval=bootstrap_interval(medians),
        fifth_percentile=percentile(medians, 0.05),
        total_across=spread(totals),
        total_by_kind=_by_kind(results, name, _totals),
    )


def _by_kind(
    results: Sequence[PromptResult], name: str, figures: Callable[[Sequence[PromptResult], str], list[float]]
) -> dict[str, float | None]:
    kinds = dict.fromkeys(result.kind for result in results)
    return {kind: geometric_mean(figures([r for r in results if r.kind == kind], name)) for kind in kinds}


def _totals(results: Sequence[PromptResult], name: str) -> list[float]:
    return [score.total_speedup.median for result in results if (score := result.scores[name]).total_speedup]


def _medians(results: Sequence[PromptResult], name: str) -> list[float]:
    return [score.speedup.median for result in results if (score := result.scores[name]).speedup]


def _times(runs: Sequence[Run], figure: Callable[[Run], float | None]) -> Times:
    return tuple(figure(run) for run in runs)


def _decode(run: Run) -> float | None:
    return run.ms_per_token


def _total(run: Run) -> float | None:
    return run.total_ms_per_token


def _shares(runs: Sequence[Run]) -> dict[str, float]:
    parts = _sums([run.parts for run in runs])
    total = sum(parts.values())
    return {name: ms / total for name, ms in parts.items()} if total else {}


def _sums(maps: Sequence[Mapping[str, Number]]) -> dict[str, Number]:
    return {name: sum(each.get(name, 0) for each in maps) for each in maps for name in each}


def _first_difference(plain: Sequence[int], other: Sequence[int]) -> int | None:
    """Index of the first token that differs or that only one of the two has."""
    pairs = enumerate(zip_longest(plain, other))
    return next((index for index, (mine, theirs) in pairs if mine != theirs), None)


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
