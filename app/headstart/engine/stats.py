"""The statistics of an answer as plain data, and as rows for the terminal and the window to put into words."""

import dataclasses
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from headstart.engine.engine import Stats, number
from headstart.engine.origins import ORIGINS, Origin

Figures = Mapping[str, object]  # fields and properties of Stats by name, as JSON has them


class NoGain(Enum):
    """Why an answer is not compared with plain decoding."""

    NOT_REPORTED = auto()  # by the program that wrote it
    NO_GUESSES = auto()
    REPETITION = auto()  # speed at repeating is no gain
    NOT_MEASURED = auto()


def figures(stats: Stats) -> dict[str, object]:
    """Return every field of the statistics, and every figure derived from them, as plain data."""
    fields = {field.name: getattr(stats, field.name) for field in dataclasses.fields(stats)}
    derived = {name: getattr(stats, name) for name, value in vars(Stats).items() if isinstance(value, property)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in (fields | derived).items()}


def rows(known: Figures) -> dict[str, Any]:
    """Return what is known of an answer, in the order in which it is read. A row that is not known is left out.

    Times are in milliseconds; "origins" and "parts" are mappings, "acceptance", "prompt" and "context" pairs or triples
    of figures. "speedup" may be a NoGain.
    """
    drafted, rate = number(known, "drafted"), number(known, "acceptance_rate")
    origins, parts = _mapping(known, "by_origin"), _mapping(known, "by_part")
    prompt, reused = number(known, "prompt_tokens"), number(known, "reused_tokens")
    used, length = number(known, "context_used"), number(known, "context_length")
    found = {
        "speed": number(known, "tokens_per_second"),
        "speedup": speedup(known),
        "acceptance": None if rate is None else (rate, number(known, "accepted"), drafted),
        "tokens per round": number(known, "mean_accepted_length") if drafted else None,
        "first token": number(known, "ttft_ms"),
        "origins": {origin: origins[origin] for origin in ORIGINS if origin in origins and origin != Origin.UNKNOWN},
        "parts": parts,
        "saved": number(known, "ledger_ms") if drafted else None,
        "prompt": (prompt, reused) if prompt and reused else None,
        "context": (used, length) if length and used is not None else None,
    }
    return {name: value for name, value in found.items() if value}


def speedup(known: Figures) -> float | NoGain:
    """Return how many times as fast as plain decoding the answer was, or why that is not known."""
    if Origin.UNKNOWN in _mapping(known, "by_origin"):
        return NoGain.NOT_REPORTED
    if not number(known, "drafted"):
        return NoGain.NO_GUESSES
    if number(known, "repeats"):
        return NoGain.REPETITION
    factor = number(known, "speedup")
    return NoGain.NOT_MEASURED if factor is None else factor


def _mapping(known: Figures, name: str) -> Mapping[str, Any]:
    value = known.get(name)
    return value if isinstance(value, Mapping) else {}
