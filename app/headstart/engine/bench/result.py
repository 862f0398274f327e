"""The figures of a race, their spread, and advice on settings."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

from headstart.engine.bench.race import (
    AGAIN,
    AUTO,
    DRAFT_ONLY,
    EAGLE_ONLY,
    NGRAM_ONLY,
    PLAIN,
    Heat,
    TimedAnswer,
    fixed_length,
)
from headstart.engine.hardware.devices import Machine
from headstart.engine.origins import ORIGINS, Origin

_RESAMPLES = 2000
_SEED = 20
_LEVEL = 0.95
MIN_RATIO = 0.97  # of plain decoding's speed: below it auto counts as slower
Number = TypeVar("Number", int, float)
Times = tuple[float | None, ...]  # a value for each repeat
ALL = "all"  # beside the classes: every prompt


@dataclass(frozen=True)
class Spread:
    """The median of some values with the smallest and the largest."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Interval:
    """The range of 95 % of the values, or the 95 % confidence interval of their mean."""

    low: float
    high: float


@dataclass(frozen=True)
class Setting:
    """The subject of a race: names of the models, how they were compiled, and the lengths."""

    target: str
    draft: str | None
    target_properties: Mapping[str, str]  # of OpenVINO; the precision hint is among them
    draft_properties: Mapping[str, str] | None
    tokens: int  # longest answer
    repeats: int


@dataclass(frozen=True)
class Memory:
    """Memory of the process with warm models, before a peer was loaded."""

    weights: int  # files of target and draft
    kv: int  # keys and values of the longest answer, target and draft
    peak_rss: int | None  # None where the system does not tell

    @property
    def overhead(self) -> int | None:
        """The peak memory beyond weights, keys and values."""
        return None if self.peak_rss is None else self.peak_rss - self.weights - self.kv


@dataclass(frozen=True)
class Score:
    """One contestant on one prompt; lists have a value for each repeat, other figures are over all repeats."""

    ms_per_token: Times  # after the first token
    total_ms_per_token: Times  # with the time to first token, for as many tokens as plain decoding wrote
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
    joules_per_token: Times | None = None  # with the prompt; None where the machine does not tell


@dataclass(frozen=True)
class PromptResult:
    """All contestants on one prompt."""

    id: str
    kind: str
    prompt_tokens: int
    scores: Mapping[str, Score]


@dataclass(frozen=True)
class Summary:
    """Ratios over some prompts, each the median of its repeats. None if no answer was long enough for a speed."""

    mean: float | None  # geometric
    interval: Interval | None  # of the mean
    fifth_percentile: float | None
    worst: str | None  # the prompt's id
    worst_ratio: Spread | None  # over its repeats


@dataclass(frozen=True)
class Standing:
    """One contestant's speedups over plain decoding, for each class and for ALL."""

    decoding: Mapping[str, Summary]  # after the first token
    total: Mapping[str, Summary]  # with the time to first token
    overhead_share: float | None  # of the decoding time, outside the models; None for a peer


@dataclass(frozen=True)
class Hindsight:
    """Speedups of auto over a peer's fastest setting for each prompt, known only afterwards. Fields as in Standing."""

    peer: str  # the program
    decoding: Mapping[str, Summary]
    total: Mapping[str, Summary]


@dataclass(frozen=True)
class Slower:
    """A prompt on which auto was slower than MIN_RATIO."""

    prompt: str
    speedup: Spread  # with the time to first token
    is_noise: bool | None  # None: so few answers cannot tell


@dataclass(frozen=True)
class Promise:
    """The answer to "is auto never slower than plain decoding?", time to first token included; see `judge`."""

    kept: bool | None  # None: too few answers to tell
    slower: tuple[Slower, ...]
    limit: float | None  # noise explains what is not below it in every repeat; None: too few answers to tell
    noise: Interval | None  # the times of plain decoding, in multiples of those of plain decoding again
    noise_decoding: Interval | None  # the same, without the time to first token


@dataclass(frozen=True)
class BenchResult:
    machine: Machine
    setting: Setting
    prompts: tuple[PromptResult, ...]
    standings: Mapping[str, Standing]
    memory: Memory
    schema: int = 2
    hindsight: tuple[Hindsight, ...] = ()
    promise: Promise | None = None  # None where auto or the second plain contestant did not race
    skipped: tuple[str, ...] = ()  # sentences about peers that could not take part


def as_json(result: BenchResult) -> dict[str, object]:
    """Return plain data, with the derived memory figure."""
    data: dict[str, object] = dataclasses.asdict(result)
    data["memory"] = dataclasses.asdict(result.memory) | {"beyond": result.memory.overhead}
    return data


def spread(values: Sequence[float]) -> Spread | None:
    """Return the spread; None without values."""
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def paired(base: Sequence[float | None], other: Sequence[float | None]) -> list[float]:
    """Return the ratios of base to other, run by run: what slowed the machine slowed both runs of a repeat.

    A time that is missing or zero gives no ratio.
    """
    return [mine / theirs for mine, theirs in zip(base, other, strict=True) if mine and theirs]


def geometric_mean(values: Sequence[float]) -> float | None:
    """Return the mean that fits ratios: of 2 and 1/2 it is 1. None without values."""
    return statistics.geometric_mean(values) if values else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which this share of them lies, interpolated linearly. None without values."""
    import numpy as np  # noqa: PLC0415 - the window reads results without it

    return float(np.quantile(values, share)) if values else None


def bootstrap_interval(values: Sequence[float]) -> Interval | None:
    """Return the interval of the geometric mean, by drawing as many values again with replacement (Efron 1979).

    It is the same each time. None with fewer than two values.
    """
    if len(values) < 2:
        return None
    import numpy as np  # noqa: PLC0415 - as above

    drawn = np.random.default_rng(_SEED).choice(np.log(values), (_RESAMPLES, len(values)))
    return _range(np.exp(drawn.mean(axis=1)).tolist())


def _range(values: Sequence[float]) -> Interval | None:
    low, high = (percentile(values, share) for share in ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2))
    return None if low is None or high is None else Interval(low, high)


def prompt_results(heats: Sequence[Heat]) -> tuple[PromptResult, ...]:
    """Return the heats by prompt and contestant, in the order of the first repeat."""
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
    """Return each contestant over all prompts."""
    return {name: _standing(results, name) for name in names}


def hindsight(results: Sequence[PromptResult], peers: Sequence[str]) -> tuple[Hindsight, ...]:
    """Compare auto with each peer program. A peer's name begins with its program's."""
    programs: dict[str, list[str]] = {}
    for name in peers:
        programs.setdefault(name.partition(" ")[0], []).append(name)
    if not all(AUTO in result.scores for result in results):
        return ()
    return tuple(
        Hindsight(
            program,
            _summaries(results, [_against(result, names, total=False) for result in results]),
            _summaries(results, [_against(result, names, total=True) for result in results]),
        )
        for program, names in programs.items()
    )


def _against(result: PromptResult, names: Sequence[str], *, total: bool) -> Spread | None:
    """Return the time of the contestant that was fastest on this prompt, in multiples of auto's."""
    auto = _times(result.scores[AUTO], total=total)
    spreads = [spread(paired(_times(result.scores[name], total=total), auto)) for name in names]
    return min((each for each in spreads if each), key=lambda each: each.median, default=None)


def _times(score: Score, *, total: bool) -> Times:
    return score.total_ms_per_token if total else score.ms_per_token


def judge(results: Sequence[PromptResult]) -> Promise | None:
    """Judge if auto was never slower than plain decoding. None unless auto and a second plain contestant raced.

    A prompt is slower if the median of its repeats is below MIN_RATIO. It breaks the promise if all its repeats,
    against the slower of the two plain contestants, are below the limit of what noise explains. Noise is the one plain
    contestant against the other in the same repeat, over all prompts and in both directions. The limit is so low that
    noise brings all repeats of any of the prompts below it with a chance under 5 %. So one slow answer of three breaks
    no promise, nor does a prompt whose plain answers are as uneven.
    """
    if not results or not all({AGAIN, AUTO} <= result.scores.keys() for result in results):
        return None
    noise = [ratio for result in results for ratio in _against_itself(result, total=True)]
    noise_decoding = [ratio for result in results for ratio in _against_itself(result, total=False)]
    both = sorted([*noise, *(1.0 / ratio for ratio in noise)])
    repeats = len(results[0].scores[AUTO].total_ms_per_token)
    share = ((1 - _LEVEL) / len(results)) ** (1 / repeats)  # of the noise: all repeats below it are as rare
    place = math.ceil(share * (len(both) + 1)) - 2  # a ratio below this one is among fewer
    limit = both[place] if place >= 0 else None
    slower = []
    for result in results:
        found = result.scores[AUTO].total_speedup
        if found is None or found.median >= MIN_RATIO:
            continue
        times = zip(*(result.scores[name].total_ms_per_token for name in (PLAIN, AGAIN, AUTO)), strict=True)
        ratios = [max(plain, again) / auto for plain, again, auto in times if plain and again and auto]
        is_noise = None if limit is None or len(ratios) < repeats else max(ratios) >= limit
        slower.append(Slower(result.id, found, is_noise))
    verdicts = {prompt.is_noise for prompt in slower}
    is_kept = False if False in verdicts else None if None in verdicts else True
    return Promise(is_kept, tuple(slower), limit, _range(noise), _range(noise_decoding))


def _against_itself(result: PromptResult, *, total: bool) -> list[float]:
    """Return the time of plain decoding in multiples of plain decoding again, in every repeat."""
    return paired(*(_times(result.scores[name], total=total) for name in (PLAIN, AGAIN)))


def _score(heats: Sequence[Heat], plain: Sequence[TimedAnswer]) -> Score:
    runs = [heat.run for heat in heats]
    times, base = ([run.ms_per_token for run in each] for each in (runs, plain))
    lengths = [len(run.tokens) for run in plain]  # a shorter answer would have more of the wait in each token
    totals, base_totals = (
        [run.total_ms_per_token(tokens) for run, tokens in zip(each, lengths, strict=True)] for each in (runs, plain)
    )
    differing = [_first_difference(mine.tokens, run.tokens) for mine, run in zip(plain, runs, strict=True)]
    drafted, rounds = sum(run.drafted for run in runs), sum(run.rounds or 0 for run in runs)
    parts = _sums([run.parts for run in runs])
    spent = sum(parts.values())
    return Score(
        ms_per_token=tuple(times),
        total_ms_per_token=tuple(totals),
        ttft_ms=tuple(run.ttft_ms for run in runs),
        output_tokens=tuple(len(run.tokens) for run in runs),
        speedup=spread(paired(base, times)),
        total_speedup=spread(paired(base_totals, totals)),
        acceptance_rate=sum(run.accepted for run in runs) / drafted if drafted else None,
        mean_accepted_length=sum(len(run.tokens) - 1 for run in runs) / rounds if rounds else None,
        share={name: ms / spent for name, ms in parts.items()} if spent else {},
        origins=_sums([run.origins for run in runs]),
        equals_plain=all(index is None for index in differing),
        first_difference=min((index for index in differing if index is not None), default=None),
        joules_per_token=_joules_per_token(heats),
    )


def _joules_per_token(heats: Sequence[Heat]) -> Times | None:
    each = tuple(heat.joules / len(heat.run.tokens) if heat.joules and heat.run.tokens else None for heat in heats)
    return each if any(each) else None


def _standing(results: Sequence[PromptResult], name: str) -> Standing:
    scores = [result.scores[name] for result in results]
    others = [score.share["other"] for score in scores if score.share]
    return Standing(
        decoding=_summaries(results, [score.speedup for score in scores]),
        total=_summaries(results, [score.total_speedup for score in scores]),
        overhead_share=sum(others) / len(others) if others else None,
    )


def _summaries(results: Sequence[PromptResult], ratios: Sequence[Spread | None]) -> dict[str, Summary]:
    """Return the ratios on each prompt, for ALL and each class."""
    measured = [(result, ratio) for result, ratio in zip(results, ratios, strict=True) if ratio]
    kinds = (ALL, *dict.fromkeys(result.kind for result in results))
    return {
        kind: _summary({result.id: ratio for result, ratio in measured if kind in (ALL, result.kind)}) for kind in kinds
    }


def _summary(ratios: Mapping[str, Spread]) -> Summary:
    medians = [ratio.median for ratio in ratios.values()]
    worst = min(ratios, key=lambda prompt: ratios[prompt].median, default=None)
    return Summary(
        mean=geometric_mean(medians),
        interval=bootstrap_interval(medians),
        fifth_percentile=percentile(medians, 0.05),
        worst=worst,
        worst_ratio=None if worst is None else ratios[worst],
    )


def _sums(maps: Sequence[Mapping[str, Number]]) -> dict[str, Number]:
    return {name: sum(counts.get(name, 0) for counts in maps) for counts in maps for name in counts}


def _first_difference(plain: Sequence[int], other: Sequence[int]) -> int | None:
    """Return the index of the first token that differs or that only one of the two has."""
    pairs = enumerate(zip_longest(plain, other))
    return next((index for index, (mine, theirs) in pairs if mine != theirs), None)


OFF = "off"
MIN_GAIN = 1.02  # a speedup below this is noise: then guessing is not worth a setting
_ALIKE = 0.98  # of the best: lengths this close to it are as good


@dataclass(frozen=True)
class Advice:
    """The method that won for one class and, if lengths were raced, those that are about equally good.

    `speedup` is the winner's over plain decoding, time to first token included; `auto` is that of auto.
    """

    kind: str
    method: str  # "draft", "ngram" or "off"
    lengths: tuple[int, int] | None  # None: as far as pays
    speedup: float
    auto: float | None

    @property
    def words(self) -> str:
        """The text for the table: "draft, 5-8"."""
        method = ORIGINS[Origin.NGRAM].name if self.method == NGRAM_ONLY else self.method
        if self.lengths is None:
            return method
        shortest, longest = self.lengths
        return f"{method}, {shortest}" if shortest == longest else f"{method}, {shortest}-{longest}"


def advice(result: BenchResult) -> tuple[Advice, ...]:
    """Return the advice for each class, in the order in which it was raced."""
    # Without a draft model a fixed length is one of n-grams.
    fixed = DRAFT_ONLY if result.setting.draft else NGRAM_ONLY
    # Settings of peers cannot be chosen here.
    own = [
        name for name in result.standings if name in {AUTO, DRAFT_ONLY, EAGLE_ONLY, NGRAM_ONLY} or fixed_length(name)
    ]
    means = {name: result.standings[name].total for name in own}
    kinds = dict.fromkeys(prompt.kind for prompt in result.prompts)
    return tuple(
        _for_kind(kind, {name: mean for name in own if (mean := means[name][kind].mean)}, fixed) for kind in kinds
    )


def _for_kind(kind: str, speedups: Mapping[str, float], fixed: str) -> Advice:
    static = {name: value for name, value in speedups.items() if name != AUTO}
    auto = speedups.get(AUTO)
    best = max(static, key=lambda name: static[name], default=PLAIN)
    if static.get(best, 0.0) < MIN_GAIN:
        return Advice(kind, OFF, None, 1.0, auto)
    length = fixed_length(best)
    if length is None:
        return Advice(kind, best, None, static[best], auto)
    raced = sorted(each for name in static if (each := fixed_length(name)))
    good = {each for each in raced if static[f"fixed {each}"] >= _ALIKE * static[best]}
    shortest = longest = raced.index(length)  # widened without a gap
    while shortest and raced[shortest - 1] in good:
        shortest -= 1
    while longest + 1 < len(raced) and raced[longest + 1] in good:
        longest += 1
    return Advice(kind, fixed, (raced[shortest], raced[longest]), static[best], auto)
