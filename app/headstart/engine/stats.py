"""The statistics of an answer, as plain data too, and as rows for the terminal and the window to put into words."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from headstart.engine.origins import ORIGINS, Origin

Figures = Mapping[str, object]  # fields and properties of Stats by name, as JSON has them


@dataclass(frozen=True)
class Stats:
    """The cost of an answer, and the gain of speculation. Times are milliseconds; rates are None without data."""

    prompt_tokens: int
    reused_tokens: int  # prompt tokens that were in the cache
    output_tokens: int
    rounds: int  # after the first token, which comes with the prompt's pass
    drafted: int
    accepted: int
    ttft_ms: float  # time to first token, prefill included
    decode_ms: float  # from the first token to the last
    by_origin: Mapping[str, int]  # emitted tokens by Origin value
    by_part: Mapping[str, float]  # decode milliseconds by part: draft, verify, other
    ledger_ms: float  # estimated gain against plain decoding; negative: loss
    plain_ms: float | None  # estimated time of a token of this answer without guesses
    context_used: int
    context_length: int
    repeats: int = 0  # how often a part of its text stands in a row; 0: no repetition
    thinking_tokens: int = 0  # output tokens before the answer proper

    @property
    def tpot_ms(self) -> float | None:
        """Time per output token after the first."""
        return self.decode_ms / (self.output_tokens - 1) if self.output_tokens > 1 else None

    @property
    def tokens_per_second(self) -> float | None:
        """Decoding speed after the first token."""
        return 1000.0 / self.tpot_ms if self.tpot_ms else None

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / verified candidates."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def mean_accepted_length(self) -> float | None:
        """Tokens per round, the target's own token included."""
        return (self.output_tokens - 1) / self.rounds if self.rounds else None

    @property
    def speedup(self) -> float | None:
        """Plain milliseconds per token, measured by this engine on this machine, over those of this answer.

        None for an answer that repeated itself: speed is no gain then.
        """
        return self.plain_ms / self.tpot_ms if self.plain_ms and self.tpot_ms and not self.repeats else None


class NoGain(Enum):
    """Why an answer is not compared with plain decoding."""

    NOT_REPORTED = auto()  # by the program that wrote it
    NO_GUESSES = auto()
    REPETITION = auto()  # the speed of repeated text is no gain
    NOT_MEASURED = auto()


def merge_stats(stats: Stats, earlier: Mapping[str, object]) -> Stats:
    """Return the statistics of an answer in parts; `earlier` has the figures of the parts before, by name.

    The time of each later part's first token is missing: it came with the prompt's pass.
    """
    if not earlier:
        return stats
    counts = ("output_tokens", "thinking_tokens", "rounds", "drafted", "accepted", "decode_ms", "ledger_ms")
    sums: dict[str, Any] = {name: getattr(stats, name) + (number(earlier, name) or 0) for name in counts}
    for name in ("by_origin", "by_part"):
        before, after = earlier.get(name), getattr(stats, name)
        before = before if isinstance(before, Mapping) else {}
        sums[name] = {part: before.get(part, 0) + after.get(part, 0) for part in (*before, *after)}
    plain_ms = stats.plain_ms or number(earlier, "plain_ms")
    if plain_ms and sums["drafted"] and sums["output_tokens"] > 1:  # see Tally.stats
        plain_ms = (sums["decode_ms"] + sums["ledger_ms"]) / (sums["output_tokens"] - 1)
    return replace(stats, ttft_ms=number(earlier, "ttft_ms") or stats.ttft_ms, plain_ms=plain_ms, **sums)


def number(stats: Mapping[str, object], name: str) -> int | float | None:
    """Return a figure by name, or None if it is missing or no number."""
    value = stats.get(name)
    return value if isinstance(value, int | float) else None


def figures(stats: Stats) -> dict[str, object]:
    """Return every field of the statistics, and every figure derived from them, as plain data."""
    fields = {field.name: getattr(stats, field.name) for field in dataclasses.fields(stats)}
    derived = {name: getattr(stats, name) for name, value in vars(Stats).items() if isinstance(value, property)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in (fields | derived).items()}


def rows(figures: Figures) -> dict[str, Any]:
    """Return the known figures of an answer as rows, in reading order.

    Times are in milliseconds; "origins" and "parts" are mappings, "acceptance", "prompt" and "context" pairs or triples
    of figures. "speedup" may be a NoGain.
    """
    drafted, rate = number(figures, "drafted"), number(figures, "acceptance_rate")
    origins, parts = _mapping(figures, "by_origin"), _mapping(figures, "by_part")
    prompt, reused = number(figures, "prompt_tokens"), number(figures, "reused_tokens")
    used, length = number(figures, "context_used"), number(figures, "context_length")
    values = {
        "speed": number(figures, "tokens_per_second"),
        "speedup": speedup(figures),
        "acceptance": None if rate is None else (rate, number(figures, "accepted"), drafted),
        "tokens per round": number(figures, "mean_accepted_length") if drafted else None,
        "first token": number(figures, "ttft_ms"),
        "thinking": number(figures, "thinking_tokens"),
        "origins": {origin: origins[origin] for origin in ORIGINS if origin in origins and origin != Origin.UNKNOWN},
        "parts": parts,
        "saved": number(figures, "ledger_ms") if drafted else None,
        "prompt": (prompt, reused) if prompt and reused else None,
        "context": (used, length) if length and used is not None else None,
    }
    return {name: value for name, value in values.items() if value}


def speedup(figures: Figures) -> float | NoGain:
    """Return how many times as fast as plain decoding the answer was, or why that is not known."""
    if Origin.UNKNOWN in _mapping(figures, "by_origin"):
        return NoGain.NOT_REPORTED
    if not number(figures, "drafted"):
        return NoGain.NO_GUESSES
    if number(figures, "repeats"):
        return NoGain.REPETITION
    factor = number(figures, "speedup")
    return NoGain.NOT_MEASURED if factor is None else factor


def _mapping(figures: Figures, name: str) -> Mapping[str, Any]:
    value = figures.get(name)
    return value if isinstance(value, Mapping) else {}
