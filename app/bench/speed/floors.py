"""The most telling ratios of a race: auto against each program's best and plain settings, and its worst places."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headstart.cli.performance.bench import interval_text, ratio_text
from headstart.engine.bench.race import AUTO, PLAIN
from headstart.engine.bench.result import ALL, BenchResult, Interval, Summary, hindsight

_CODE = "code"


@dataclass(frozen=True)
class SpeedRatio:
    """Auto's speed divided by another's; None if no answer was long enough for a speed."""

    value: float | None
    interval: Interval | None = None  # of a mean
    prompt: str | None = None  # that was worst


@dataclass(frozen=True)
class Floor:
    """One ratio that must not fall."""

    name: str
    decoding: SpeedRatio  # after the first token
    total: SpeedRatio  # with it


def floors(result: BenchResult) -> list[Floor]:
    """Return the ratios, those against other programs first; none before a prompt was raced."""
    auto = result.standings.get(AUTO)
    if not result.prompts or auto is None:
        return []
    found: list[Floor] = []
    for peer in result.hindsight:
        found += _of_settings(f"{peer.peer}'s best setting for each prompt", peer.decoding, peer.total)
        if f"{peer.peer} {PLAIN}" in result.standings:
            plain = hindsight(result.prompts, [f"{peer.peer} {PLAIN}"])[0]
            found.append(Floor(f"{peer.peer} plain, mean", _mean(plain.decoding[ALL]), _mean(plain.total[ALL])))
    found += _of_settings("plain", auto.decoding, auto.total)
    return found


def floors_sheet(found: Sequence[Floor]) -> list[list[str]]:
    """Return a table as cells, titles first."""
    rows = [[floor.name, _text(floor.decoding), _text(floor.total)] for floor in found]
    return [["auto over", "decoding", "with TTFT"], *rows]


def _of_settings(name: str, decoding: Mapping[str, Summary], total: Mapping[str, Summary]) -> Iterator[Floor]:
    if _CODE in decoding:
        yield Floor(f"{name}, {_CODE}", _mean(decoding[_CODE]), _mean(total[_CODE]))
    yield Floor(f"{name}, mean", _mean(decoding[ALL]), _mean(total[ALL]))
    yield Floor(f"{name}, worst prompt", _worst(decoding[ALL]), _worst(total[ALL]))


def _mean(summary: Summary) -> SpeedRatio:
    return SpeedRatio(summary.mean, summary.interval)


def _worst(summary: Summary) -> SpeedRatio:
    ratio = summary.worst_ratio
    return SpeedRatio(ratio.median if ratio else None, prompt=summary.worst)


def _text(ratio: SpeedRatio) -> str:
    return f"{ratio_text(ratio.value)}{interval_text(ratio.interval)}{f' {ratio.prompt}' if ratio.prompt else ''}"
