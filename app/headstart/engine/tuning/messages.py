"""The orders and reports of tuning."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headstart.engine.bench.result import Spread
from headstart.engine.engine import LoadOptions
from headstart.engine.wire import Tagged
from headstart.errors import SettingsError, Translatable

TARGET, DRAFTS = "target", "drafts"  # the decisions in their order
DEFAULT = "as it is"
ANSWER = "token of an answer"  # the unit of the times
MIN_SECONDS, USUAL_SECONDS = 10, 100
MIN_GAIN = 1.02  # median; a smaller gain is not worth a setting


@dataclass(frozen=True)
class TuningStep:
    """The current step: the default against others. If `against` is None, models are being loaded."""

    subject: str  # as a Stage has it
    hint: str = ""  # the default's precision, if known
    against: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Row:
    """One setting and its times."""

    name: str
    ms: Mapping[str, float]  # by what was timed
    ratio: Spread | None = None  # the time of the default over its own, run by run
    wins: int = 0  # pairs in which it was faster
    pairs: int = 0
    chosen: bool = False
    failure: Translatable = field(default_factory=Translatable)  # why it cannot run

    @property
    def untimed(self) -> bool:
        return not self.pairs and not self.failure


@dataclass(frozen=True)
class Stage:
    """One decision; the first row is the default."""

    subject: str  # TARGET or DRAFTS
    rows: tuple[Row, ...]

    @property
    def cut_short(self) -> bool:
        """The time ran out before every candidate was timed."""
        return any(row.untimed for row in self.rows[1:])

    @property
    def chosen(self) -> Row:
        """The row that is used from now on."""
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
    """The models to tune, and the limits of the search."""

    load: LoadOptions
    drafts: Mapping[str, Path] = field(default_factory=dict)  # other drafts that fit, by name
    is_device_chosen: bool = False  # the user chose the device in `load`
    seconds: float = USUAL_SECONDS

    def __post_init__(self) -> None:
        """Refuse a time that is too short to measure."""
        if not self.seconds >= MIN_SECONDS:
            raise SettingsError(
                "Tuning needs {least} seconds at least, not {seconds}.", least=MIN_SECONDS, seconds=self.seconds
            )


class Tune(Tagged, frozen=True):
    """Free the loaded model, tune the models of the request, and store the result; ends in TuneEnded or Failed."""

    ticket: int
    request: TuneRequest


class RecallTuned(Tagged, frozen=True):
    """Ask what is stored for these models on this machine. TunedKnown follows, even during other work."""

    ticket: int
    load: LoadOptions


class ForgetTuned(Tagged, frozen=True):
    """Forget what is stored for these models. TunedKnown follows."""

    ticket: int
    load: LoadOptions


class TuneStep(Tagged, frozen=True):
    ticket: int
    step: TuningStep


class TuneDecided(Tagged, frozen=True):
    """One more stage of a tuning was decided."""

    ticket: int
    stage: Stage


class TuneEnded(Tagged, frozen=True):
    """The end of a tuning: its findings, or None if it was stopped."""

    ticket: int
    findings: Findings | None


class TunedKnown(Tagged, frozen=True):
    """The stored findings; None if there are none."""

    ticket: int
    findings: Findings | None


TuneReport = TuneStep | TuneDecided | TuneEnded | TunedKnown
