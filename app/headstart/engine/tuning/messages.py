"""What tuning is asked for, and what it tells: messages, and findings as rows of a table and as sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headstart.engine.bench.stats import Spread
from headstart.engine.engine import LoadOptions
from headstart.engine.wire import Tagged
from headstart.errors import SettingsError

TARGET, DRAFTS, DRAFT = "target", "drafts", "draft model"  # what is decided, in this order
DEFAULT = "as it is"
ANSWER = "token of an answer"  # what is timed of drafts
LEAST_GAIN = 1.02  # median; what is less is not worth a setting
NOTHING_GAINED = "Nothing could be improved: the defaults are as fast as anything tried here."


@dataclass(frozen=True)
class Trying:
    """What goes on: the default is timed against others; where `against` is None, what that needs is loaded."""

    subject: str  # as a Stage has it
    hint: str = ""  # the default's precision, where that is told
    against: tuple[str, ...] | None = None

    @property
    def sentence(self) -> str:
        """For a line of a terminal."""
        if self.against is None:
            return f"loading the {_LOADED[self.subject]}"
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.subject}: {DEFAULT}{hint} against {', '.join(self.against) or 'nothing else'}"


@dataclass(frozen=True)
class Row:
    """One setting. `ms` by what was timed; `ratio` is the default's time over this one's, run by run."""

    name: str
    ms: Mapping[str, float]
    ratio: Spread | None = None
    better: int = 0  # pairs in which it was faster
    pairs: int = 0
    chosen: bool = False
    failure: str = ""  # why it cannot be had

    @property
    def untimed(self) -> bool:
        """Whether nothing is known of it: the time was over."""
        return not self.pairs and not self.failure


@dataclass(frozen=True)
class Stage:
    """What was decided in one go; the first row is the default."""

    subject: str  # TARGET, DRAFTS or DRAFT
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
    """Everything that was measured, and why what was chosen was chosen."""

    target: str
    draft: str | None  # the default's
    device: str  # its own name
    openvino: str
    seconds: float  # that it took
    stages: tuple[Stage, ...]
    reasons: tuple[str, ...] = field(default=())
    when: str = ""  # it ended, as ISO 8601


_LOADED = {TARGET: "model", DRAFTS: "drafts", DRAFT: "draft model"}


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


def reasons(stages: Sequence[Stage]) -> tuple[str, ...]:
    """A sentence for each stage, and one more where nothing came of it all."""
    told = [_reason(each) for each in stages]
    kept = all(each.chosen.name == DEFAULT for each in stages)
    cut_short = any(each.cut_short for each in stages)
    return (*told, *([NOTHING_GAINED] if kept and not cut_short else []))


def _reason(each: Stage) -> str:
    subject = each.subject.capitalize()
    default, *tried = each.rows
    chosen = each.chosen
    if chosen is not default:
        return f"{subject}: {chosen.name}, because it was {_gain(chosen)} ({_figures(chosen, default)})."
    if not tried:
        return f"{subject}: {DEFAULT} ({_ms(default)}), as there is nothing else to try here."
    timed = [row for row in tried if row.ratio is not None and not row.failure]
    if not timed and each.cut_short:
        return f"{subject}: {DEFAULT}, as the time was over before anything else was timed; give it more --seconds."
    if not timed:
        return f"{subject}: {DEFAULT}, as nothing else runs here ({tried[0].name}: {tried[0].failure})."
    best = max(timed, key=lambda row: row.ratio.median if row.ratio else 0.0)
    rest = "; not all were timed, give it more --seconds" if each.cut_short else ""
    return f"{subject}: {DEFAULT}, because the best of the others, {best.name}, {_shortfall(best)}{rest}."


def _shortfall(best: Row) -> str:
    assert best.ratio is not None
    if best.ratio.median <= 1.0:
        return f"was not faster: {_gain(best)}"
    if best.ratio.median < LEAST_GAIN:
        return f"gained too little to tell: {_gain(best)}"
    return f"was not faster often enough to rule out chance: {_gain(best)}"


def _gain(row: Row) -> str:
    assert row.ratio is not None
    ratio = row.ratio
    return (
        f"{ratio.median:.2f}x as fast as the default ({ratio.low:.2f}–{ratio.high:.2f}), "
        f"ahead in {row.better} of {row.pairs} runs"
    )


def _figures(row: Row, default: Row) -> str:
    pairs = [
        f"{name}: {ms:.1f} instead of {default.ms[name]:.1f} ms" for name, ms in row.ms.items() if name in default.ms
    ]
    return ", ".join(pairs)


def _ms(row: Row) -> str:
    return ", ".join(f"{name}: {ms:.1f} ms" for name, ms in row.ms.items()) or "not timed"
