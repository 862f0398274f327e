"""From the result of a benchmark to what is drawn: a group of bars for all prompts and for each class. Pure."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headstart.engine.bench.result import BenchResult, PromptResult

PLAIN = "plain"  # everyone else is measured against it
ALL = ""  # the kind of the group over all prompts


@dataclass(frozen=True)
class Bar:
    """One contestant's speedup over plain decoding: geometric mean, smallest and largest of all answers."""

    contestant: str
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Group:
    """The contestants on the prompts of one class. `plain_ms`: plain milliseconds per token, their mean."""

    kind: str
    plain_ms: float | None
    bars: tuple[Bar, ...]


def groups(result: BenchResult) -> tuple[Group, ...]:
    """All prompts first, then class by class. Plain decoding has no bar: it is 1."""
    kinds = dict.fromkeys(prompt.kind for prompt in result.prompts)
    return tuple(_group(result, kind) for kind in (ALL, *kinds))


def remaining(spent: float, done: int, planned: int) -> float | None:
    """How long the rest takes, if it goes on as it went; None before anything is done."""
    return spent * (planned - done) / done if done else None


def plain_ms(prompts: Iterable[PromptResult]) -> float | None:
    """Mean milliseconds per token of plain decoding."""
    times = [ms for prompt in prompts for ms in prompt.scores[PLAIN].ms_per_token if ms is not None]
    return statistics.fmean(times) if times else None


def differing(result: BenchResult) -> dict[str, int]:
    """Contestants that wrote other texts than plain decoding, and on how many prompts."""
    names = [name for prompt in result.prompts for name, score in prompt.scores.items() if not score.equals_plain]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def _group(result: BenchResult, kind: str) -> Group:
    prompts = [prompt for prompt in result.prompts if kind in (ALL, prompt.kind)]
    bars = tuple(_bar(result, prompts, name, kind) for name in result.standings if name != PLAIN)
    return Group(kind, plain_ms(prompts), bars)


def _bar(result: BenchResult, prompts: Sequence[PromptResult], name: str, kind: str) -> Bar:
    standing = result.standings[name]
    spreads = [spread for prompt in prompts if (spread := prompt.scores[name].speedup)]
    return Bar(
        contestant=name,
        mean=standing.overall if kind == ALL else standing.by_kind[kind],
        low=min((spread.low for spread in spreads), default=None),
        high=max((spread.high for spread in spreads), default=None),
    )
