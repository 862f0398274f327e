"""The messages of tuning between the engine's process and its user; `protocol` carries them. Pure: tunes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headstart.engine.engine import LoadOptions
from headstart.engine.tuning.findings import Findings, Stage, Trying
from headstart.engine.wire import Tagged
from headstart.errors import SettingsError

LEAST_SECONDS, USUAL_SECONDS = 10, 100


@dataclass(frozen=True)
class TuneWish:
    """What to tune. `drafts` are others that fit, by name; `placed`: the device in `load` is a person's wish."""

    load: LoadOptions
    drafts: Mapping[str, Path] = field(default_factory=dict)
    placed: bool = False
    seconds: float = USUAL_SECONDS

    def __post_init__(self) -> None:
        """Refuse a time in which nothing can be measured."""
        if not self.seconds >= LEAST_SECONDS:
            raise SettingsError(f"Tuning needs {LEAST_SECONDS} seconds at least, not {self.seconds}.")


class Tune(Tagged, frozen=True):
    """Free the loaded model, find out how those of the wish run fastest, and keep that; ends in TuneEnded or Failed."""

    ticket: int
    wish: TuneWish


class StopTune(Tagged, frozen=True):
    """End a tuning soon; an unknown one is left alone."""

    ticket: int


class RecallTuned(Tagged, frozen=True):
    """What counts for these models on this machine? Answered by TunedKnown, also while something else goes on."""

    ticket: int
    load: LoadOptions


class ForgetTuned(Tagged, frozen=True):
    """Drop what was found for these models; TunedKnown follows."""

    ticket: int
    load: LoadOptions


class TuneTrying(Tagged, frozen=True):
    """What a tuning does now."""

    ticket: int
    trying: Trying


class TuneDecided(Tagged, frozen=True):
    """What a tuning has found out so far: one stage more."""

    ticket: int
    stage: Stage


class TuneEnded(Tagged, frozen=True):
    """The end of a tuning: everything it found, or None when it was stopped."""

    ticket: int
    findings: Findings | None


class TunedKnown(Tagged, frozen=True):
    """What was found earlier and counts; None where nothing does."""

    ticket: int
    findings: Findings | None


TuneReport = TuneTrying | TuneDecided | TuneEnded | TunedKnown
