"""What tuning is asked for, and what it tells."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headstart.engine.bench.result import Spread
from headstart.engine.engine import LoadOptions
from headstart.engine.wire import Tagged
from headstart.errors import SettingsError, Translatable

TARGET, DRAFTS = "target", "drafts"  # what is decided, in this order
DEFAULT = "as it is"
ANSWER = "token of an answer"  # what is timed of drafts
LEAST_SECONDS, USUAL_SECONDS = 10, 100
LEAST_GAIN = 1.02  # median; what is less is not worth a setting


@dataclass(frozen=True)
class Trying:
    """What goes on: the default is timed against others; where `against` is None, what that needs is loaded."""

    subject: str  # as a Stage has it
    hint: str = ""  # the default's precision, where that is told
    against: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Row:
    """One setting. `ms` by what was timed; `ratio` is the default's time over this one's, run by run."""

    name: str
    ms: Mapping[str, float]
    ratio: Spread | None = None
    better: int = 0  # pairs in which it was faster
    pairs: int = 0
    chosen: bool = False
    failure: Translatable = field(default_factory=Translatable)  # why it cannot be had

    @property
    def untimed(self) -> bool:
        """Whether nothing is known of it: the time was over."""
        return not self.pairs and not self.failure


@dataclass(frozen=True)
class Stage:
    """What was decided in one go; the first row is the default."""

    subject: str  # TARGET or DRAFTS
    rows: tuple[Row, ...]

    @property
    def cut_short(self) -> bool:
        """Whether the time was over before every candidate was timed."""
        return any(row.untimed for row in self.rows[1:])

    @property
    def chosen(self) -> Row:
        """The row that counts from now on."""
        return next(row for row in self.rows if row.chosen)


@dataclass(frozen=True)
class Findings:
    """Everything that was measured."""

    target: str
    draft: str | None  # the default's
    device: str  # its own name
    openvino: str
    seconds: float  # that it took
    stages: tuple[Stage, ...]
    when: str = ""  # it ended, as ISO 8601


@dataclass(frozen=True)
class TuneRequest:
    """What to tune. `drafts` are others that fit, by name; `placed`: the device in `load` is a person's wish."""

    load: LoadOptions
    drafts: Mapping[str, Path] = field(default_factory=dict)
    placed: bool = False
    seconds: float = USUAL_SECONDS

    def __post_init__(self) -> None:
        """Refuse a time in which nothing can be measured."""
        if not self.seconds >= LEAST_SECONDS:
            raise SettingsError(
                "Tuning needs {least} seconds at least, not {seconds}.", least=LEAST_SECONDS, seconds=self.seconds
            )


class Tune(Tagged, frozen=True):
    """Free the loaded model, find out how those of the wish run fastest, and keep that; ends in TuneEnded or Failed."""

    ticket: int
    wish: TuneRequest


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
