"""What tuning measured, as rows of a table and as sentences. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headstart.engine.bench.stats import Spread
from headstart.engine.tuning.halving import LEAST_GAIN, Trial, winner

TARGET, DRAFTS, DRAFT = "target", "drafts", "draft model"  # what is decided, in this order
DEFAULT = "as it is"
ANSWER = "token of an answer"  # what is timed of drafts
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


def stage(subject: str, trials: Sequence[Trial], ms: Mapping[str, Mapping[str, float]]) -> Stage:
    """The default and what was tried; `ms` by name, "" being the default."""
    best = winner(trials)
    default = Row(DEFAULT, ms.get("", {}), chosen=best is None)
    rows = [_row(trial, ms.get(trial.name, {}), chosen=trial is best) for trial in trials]
    return Stage(subject, (default, *rows))


def reasons(stages: Sequence[Stage]) -> tuple[str, ...]:
    """A sentence for each stage, and one more where nothing came of it all."""
    told = [_reason(each) for each in stages]
    kept = all(each.chosen.name == DEFAULT for each in stages)
    cut_short = any(each.cut_short for each in stages)
    return (*told, *([NOTHING_GAINED] if kept and not cut_short else []))


def _row(trial: Trial, ms: Mapping[str, float], *, chosen: bool) -> Row:
    pairs = len(trial.ratios)
    return Row(trial.name, ms, trial.spread, trial.better, pairs, chosen=chosen, failure=trial.failure)


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
