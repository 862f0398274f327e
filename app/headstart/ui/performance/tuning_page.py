"""The page of tuning: its steps, its progress and its results."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QDateTime, QLocale, Qt
from PySide6.QtWidgets import QLabel, QWidget

from headstart.engine.tuning.messages import (
    DEFAULT,
    DRAFTS,
    MIN_GAIN,
    MIN_SECONDS,
    TARGET,
    USUAL_SECONDS,
    Findings,
    Row,
    Stage,
    TuningStep,
)
from headstart.ui.formatting import decimal, listed, titled
from headstart.ui.performance.engine_job import NO_FIGURE, JobPage, number_field
from headstart.ui.translation import translate, translate_error
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.labels import button, label, muted
from headstart.ui.widgets.layouts import Card, TitledField, add, flowing
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.theme import MEDIUM, SMALL

_SUBJECT_TEXTS: Mapping[str, Any] = {
    TARGET: QT_TRANSLATE_NOOP("Tuning", "Model"),
    DRAFTS: QT_TRANSLATE_NOOP("Tuning", "Speed-up"),
}
_LOADING_TEXTS: Mapping[str, Any] = {
    TARGET: QT_TRANSLATE_NOOP("Tuning", "Loading the model…"),
    DRAFTS: QT_TRANSLATE_NOOP("Tuning", "Loading the draft models…"),
}
_TIMED: Any = QT_TRANSLATE_NOOP("Tuning", "token of an answer")
# the names that `engine.tuning.search` uses; {} is a number or a name
_SETTING_TEXTS: tuple[Any, ...] = (
    QT_TRANSLATE_NOOP("Tuning", "as it is"),
    QT_TRANSLATE_NOOP("Tuning", "no draft model"),
    QT_TRANSLATE_NOOP("Tuning", "the draft with all rows"),
    QT_TRANSLATE_NOOP("Tuning", "the draft with {} rows"),
    QT_TRANSLATE_NOOP("Tuning", "the draft {}"),
    QT_TRANSLATE_NOOP("Tuning", "threads not tied to cores"),
    QT_TRANSLATE_NOOP("Tuning", "1 thread"),
    QT_TRANSLATE_NOOP("Tuning", "{} threads, two a core"),
    QT_TRANSLATE_NOOP("Tuning", "{} threads"),
    QT_TRANSLATE_NOOP("Tuning", "on {}"),
    QT_TRANSLATE_NOOP("Tuning", "in {}"),
)


def subject_text(subject: str) -> str:
    """Return the title of a decision."""
    return translate("Tuning", _SUBJECT_TEXTS[subject])


def setting_text(name: str) -> str:
    """Return the title of a setting; an unknown one keeps its name."""
    for template in _SETTING_TEXTS:
        match = re.fullmatch(re.escape(str(template)).replace(r"\{\}", "(.+)"), name)
        if match:
            return translate("Tuning", template).format(*match.groups())
    return name


def step_text(step: TuningStep) -> str:
    """Return the current step as a sentence."""
    if step.against is None:
        return translate("Tuning", _LOADING_TEXTS[step.subject])
    names = listed(setting_text(name) for name in step.against) or translate("Tuning", "nothing else")
    default = setting_text(DEFAULT) + (f" ({step.hint})" if step.hint else "")
    against = translate("Tuning", "{default} against {others}").format(default=default, others=names)
    return titled(subject_text(step.subject), against)


def outcome_text(row: Row) -> str:
    """Return the outcome of a setting; empty if there is none."""
    if row.chosen:
        return translate("Tuning", "chosen")
    if row.failure:
        return translate_error(row.failure)
    return translate("Tuning", "no time left") if row.untimed and row.name != DEFAULT else ""


def decision_text(stage: Stage) -> str:
    """Return which setting was chosen, and why."""
    default, *others = stage.rows
    chosen = stage.chosen
    timed = [row for row in others if row.ratio is not None and not row.failure]
    if chosen is not default:
        text = translate("Tuning", "{setting}, because it was {gain} ({figures}).").format(
            setting=setting_text(chosen.name), gain=_gain_text(chosen), figures=_comparison_text(chosen, default)
        )
    elif not others:
        text = translate("Tuning", "as it is ({}), as there is nothing else to try here.").format(_times_text(default))
    elif timed:
        text = translate("Tuning", "as it is, because the best of the others, {setting}, {shortfall}.")
        if stage.cut_short:
            text = translate(
                "Tuning", "as it is, because the best of the others, {setting}, {shortfall}; not all were timed."
            )
        best = max(timed, key=lambda row: row.ratio.median if row.ratio else 0.0)
        text = text.format(setting=setting_text(best.name), shortfall=_shortfall_text(best))
    elif stage.cut_short:
        text = translate("Tuning", "as it is, as the time was over before anything else was timed; give it more.")
    else:
        text = translate("Tuning", "as it is, as nothing else runs here.")
    return titled(subject_text(stage.subject), text)


def _shortfall_text(best: Row) -> str:
    assert best.ratio is not None
    if best.ratio.median <= 1.0:
        words = translate("Tuning", "was not faster: {}")
    elif best.ratio.median < MIN_GAIN:
        words = translate("Tuning", "gained too little to tell: {}")
    else:
        words = translate("Tuning", "was not faster often enough to rule out chance: {}")
    return words.format(_gain_text(best))


def _gain_text(row: Row) -> str:
    assert row.ratio is not None
    return translate(
        "Tuning", "{median}× as fast as the default ({low}–{high}), ahead in {better} of {pairs} runs"
    ).format(
        median=decimal(row.ratio.median, 2),
        low=decimal(row.ratio.low, 2),
        high=decimal(row.ratio.high, 2),
        better=row.wins,
        pairs=row.pairs,
    )


def _comparison_text(row: Row, default: Row) -> str:
    words = translate("Tuning", "{what}: {mine} instead of {before} ms")
    return listed(
        words.format(what=translate("Tuning", name), mine=decimal(ms, 1), before=decimal(default.ms[name], 1))
        for name, ms in row.ms.items()
        if name in default.ms
    )


def _times_text(row: Row) -> str:
    words = translate("Tuning", "{what}: {mine} ms")
    return listed(words.format(what=translate("Tuning", name), mine=decimal(ms, 1)) for name, ms in row.ms.items())


class TuningReport(Card):
    """The measurements and decisions, stage by stage."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = label("", self, "section", selectable=True)
        self._where = muted("", self, selectable=True)
        self._stages: list[QWidget] = []
        self.forget = button(self.tr("Forget"), self)
        self.forget.setToolTip(self.tr("Load this model with the defaults again"))
        self._buttons = flowing([self.forget], self)
        add(self.column, self._title, self._where, self._buttons)

    def begin(self, model: str) -> None:
        self._title.setText(self.tr("{}: measurements").format(model))
        self._where.hide()
        self._buttons.hide()
        self._clear()

    def add_stage(self, stage: Stage) -> None:
        """Add a decision with its measurements."""
        text = label(decision_text(stage), self, selectable=True)
        text.setContentsMargins(0, SMALL, 0, 0)
        for part in (text, self._table(stage)):
            self.column.insertWidget(self.column.count() - 1, part)
            self._stages.append(part)
            part.show()

    def show_findings(self, findings: Findings) -> None:
        """Show all findings of a tuning, which are used now."""
        self._clear()
        self._title.setText(titled(findings.target, self._summary(findings)))
        self._where.setText(self._circumstances(findings))
        self._where.show()
        self._buttons.show()
        for stage in findings.stages:
            self.add_stage(stage)

    def text(self) -> str:
        labels = [part for part in (self._title, self._where, *self._stages) if isinstance(part, QLabel)]
        return "\n".join(part.text() for part in labels)

    def tables(self) -> Sequence[FigureTable]:
        """Return the table of each stage."""
        return [part for part in self._stages if isinstance(part, FigureTable)]

    def _summary(self, findings: Findings) -> str:
        if all(stage.chosen.name == DEFAULT for stage in findings.stages):
            return self.tr("nothing tried here is faster than the defaults.")
        return self.tr("the fastest settings found here are used from now on.")

    def _circumstances(self, findings: Findings) -> str:
        when = QDateTime.fromString(findings.when, Qt.DateFormat.ISODate).toLocalTime()
        text = self.tr("{seconds} s on {device}, OpenVINO {openvino}").format(
            seconds=decimal(findings.seconds, 0), device=findings.device, openvino=findings.openvino.partition("-")[0]
        )
        return f"{text} · {QLocale().toString(when, QLocale.FormatType.ShortFormat)}" if when.isValid() else text

    def _clear(self) -> None:
        for part in self._stages:
            part.hide()
            part.deleteLater()
        self._stages = []

    def _table(self, stage: Stage) -> FigureTable:
        timed = list(dict.fromkeys(name for row in stage.rows for name in row.ms))
        table = FigureTable(self.tr("Table: {}").format(subject_text(stage.subject)), self)
        milliseconds = [self.tr("ms, {}").format(translate("Tuning", name)) for name in timed]
        titles = [self.tr("Setting"), *milliseconds, self.tr("Speed"), self.tr("Ahead"), self.tr("Outcome")]
        last = len(titles) - 1
        table.begin(titles, num_fitted=last, text_columns=(0, last))
        for row in stage.rows:
            times = [decimal(row.ms[name], 1) if name in row.ms else NO_FIGURE for name in timed]
            item = table.add([setting_text(row.name), *times, *_speed_texts(row), outcome_text(row)])
            item.setToolTip(last, outcome_text(row))
        return table


def _speed_texts(row: Row) -> tuple[str, str]:
    ratio = row.ratio
    if ratio is None:
        return NO_FIGURE, NO_FIGURE
    spread = f"{decimal(ratio.low, 2)}–{decimal(ratio.high, 2)}"
    return f"{decimal(ratio.median, 2)}× ({spread})", f"{row.wins} / {row.pairs}"


_MAX_SECONDS = 1800  # of a tuning


class TuningPage(JobPage):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("Tune for this machine"),
            self.tr("Start tuning"),
            self.tr(
                "Finds the fastest settings for the model of the open chat on this computer, and uses them from then "
                "on. What you have set yourself stays as it is. Chats wait meanwhile."
            ),
            parent,
        )
        form = Card(self, spacing=MEDIUM)
        self.seconds = number_field(form, MIN_SECONDS, _MAX_SECONDS, USUAL_SECONDS, step=10)
        self._plan = muted("", self)
        field = TitledField(self.tr("At most (seconds)"), self.seconds, form, above=True)
        add(form.column, flowing([field], form), self._plan)
        self.bar = BusyBar(self.tr("Progress of the tuning"), self)
        self._empty = muted("", self)
        self.report = TuningReport(self)
        self.report.hide()
        self.lay_out(form, self.bar)
        add(self.column, self._empty, self.report)
        self.column.addStretch(1)
        self.entered.connect(self.start.setFocus)
        self.show_state(running=False)

    def request(self) -> int:
        """Return the longest time in seconds."""
        return self.seconds.value()

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Show whether tuning runs. `reason` says why it cannot start; empty if it can."""
        super().show_state(running=running, reason=reason)
        self.report.forget.setEnabled(not running and not reason)

    def show_plan(self, steps: Iterable[str]) -> None:
        """Show the planned steps, in order."""
        self._plan.setText("\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1)))

    def begin(self, model: str) -> None:
        """Show that a tuning has begun."""
        self._empty.hide()
        self.bar.show_share(0, 1)
        self.report.begin(model)
        self.report.show()

    def show_findings(self, findings: Findings | None, model: str) -> None:
        """Show what is used for a model now; None if nothing was found yet."""
        self.report.setVisible(findings is not None)
        self._empty.setVisible(findings is None)
        untuned = self.tr("{} has not been tuned on this computer yet: it runs with the defaults.").format(model)
        self._empty.setText(untuned if model else "")
        if findings:
            self.report.show_findings(findings)
