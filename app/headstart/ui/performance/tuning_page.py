"""The page of tuning: what will be tried, how it goes, and what was found."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QDateTime, QLocale, Qt
from PySide6.QtWidgets import QLabel, QWidget

from headstart.engine.tuning.messages import (
    DEFAULT,
    DRAFTS,
    LEAST_GAIN,
    LEAST_SECONDS,
    TARGET,
    USUAL_SECONDS,
    Findings,
    Row,
    Stage,
    TuningStep,
)
from headstart.ui.performance.engine_job import NOTHING, JobPage, number_field
from headstart.ui.spelling import decimal, listed, titled
from headstart.ui.translation import said, translate
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.labels import button, label, muted
from headstart.ui.widgets.layouts import Card, TitledField, add, flowing
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.theme import MEDIUM, SMALL

_SUBJECTS: Mapping[str, Any] = {
    TARGET: QT_TRANSLATE_NOOP("Tuning", "Model"),
    DRAFTS: QT_TRANSLATE_NOOP("Tuning", "Guessing ahead"),
}
_LOADING: Mapping[str, Any] = {
    TARGET: QT_TRANSLATE_NOOP("Tuning", "Loading the model…"),
    DRAFTS: QT_TRANSLATE_NOOP("Tuning", "Loading the draft models…"),
}
_TIMED: Any = QT_TRANSLATE_NOOP("Tuning", "token of an answer")
# As `engine.tuning.search` names them; {} is a number or a name.
_SETTINGS: tuple[Any, ...] = (
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


def subject_word(subject: str) -> str:
    """What is decided."""
    return translate("Tuning", _SUBJECTS[subject])


def setting_word(name: str) -> str:
    """A setting that is tried; an unknown one keeps its name."""
    for template in _SETTINGS:
        found = re.fullmatch(re.escape(str(template)).replace(r"\{\}", "(.+)"), name)
        if found:
            return translate("Tuning", template).format(*found.groups())
    return name


def doing(step: TuningStep) -> str:
    """What a tuning does now."""
    if step.against is None:
        return translate("Tuning", _LOADING[step.subject])
    others = listed(setting_word(name) for name in step.against) or translate("Tuning", "nothing else")
    default = setting_word(DEFAULT) + (f" ({step.hint})" if step.hint else "")
    against = translate("Tuning", "{default} against {others}").format(default=default, others=others)
    return titled(subject_word(step.subject), against)


def outcome(row: Row) -> str:
    """What became of a setting, if there is anything to say."""
    if row.chosen:
        return translate("Tuning", "chosen")
    if row.failure:
        return said(row.failure)
    return translate("Tuning", "no time left") if row.untimed and row.name != DEFAULT else ""


def reason(stage: Stage) -> str:
    """Why what was chosen was chosen."""
    default, *tried = stage.rows
    chosen = stage.chosen
    timed = [row for row in tried if row.ratio is not None and not row.failure]
    if chosen is not default:
        why = translate("Tuning", "{setting}, because it was {gain} ({figures}).").format(
            setting=setting_word(chosen.name), gain=_gain(chosen), figures=_figures(chosen, default)
        )
    elif not tried:
        why = translate("Tuning", "as it is ({}), as there is nothing else to try here.").format(_ms(default))
    elif timed:
        why = translate("Tuning", "as it is, because the best of the others, {setting}, {shortfall}.")
        if stage.cut_short:
            why = translate(
                "Tuning", "as it is, because the best of the others, {setting}, {shortfall}; not all were timed."
            )
        best = max(timed, key=lambda row: row.ratio.median if row.ratio else 0.0)
        why = why.format(setting=setting_word(best.name), shortfall=_shortfall(best))
    elif stage.cut_short:
        why = translate("Tuning", "as it is, as the time was over before anything else was timed; give it more.")
    else:
        why = translate("Tuning", "as it is, as nothing else runs here.")
    return titled(subject_word(stage.subject), why)


def _shortfall(best: Row) -> str:
    assert best.ratio is not None
    if best.ratio.median <= 1.0:
        words = translate("Tuning", "was not faster: {}")
    elif best.ratio.median < LEAST_GAIN:
        words = translate("Tuning", "gained too little to tell: {}")
    else:
        words = translate("Tuning", "was not faster often enough to rule out chance: {}")
    return words.format(_gain(best))


def _gain(row: Row) -> str:
    assert row.ratio is not None
    return translate(
        "Tuning", "{median}× as fast as the default ({low}–{high}), ahead in {better} of {pairs} runs"
    ).format(
        median=decimal(row.ratio.median, 2),
        low=decimal(row.ratio.low, 2),
        high=decimal(row.ratio.high, 2),
        better=row.better,
        pairs=row.pairs,
    )


def _figures(row: Row, default: Row) -> str:
    words = translate("Tuning", "{what}: {mine} instead of {before} ms")
    return listed(
        words.format(what=translate("Tuning", name), mine=decimal(ms, 1), before=decimal(default.ms[name], 1))
        for name, ms in row.ms.items()
        if name in default.ms
    )


def _ms(row: Row) -> str:
    words = translate("Tuning", "{what}: {mine} ms")
    return listed(words.format(what=translate("Tuning", name), mine=decimal(ms, 1)) for name, ms in row.ms.items())


class TuningReport(Card):
    """What was found, stage by stage."""

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
        """A tuning of this model has begun."""
        self._title.setText(self.tr("{}: measurements").format(model))
        self._where.hide()
        self._buttons.hide()
        self._clear()

    def add_stage(self, stage: Stage) -> None:
        """Add what was decided."""
        why = label(reason(stage), self, selectable=True)
        why.setContentsMargins(0, SMALL, 0, 0)
        for part in (why, self._table(stage)):
            self.column.insertWidget(self.column.count() - 1, part)
            self._stages.append(part)
            part.show()

    def show_findings(self, found: Findings) -> None:
        """All that was found and counts now."""
        self._clear()
        self._title.setText(titled(found.target, self._summary(found)))
        self._where.setText(self._place(found))
        self._where.show()
        self._buttons.show()
        for stage in found.stages:
            self.add_stage(stage)

    def text(self) -> str:
        """The sentences."""
        labels = [part for part in (self._title, self._where, *self._stages) if isinstance(part, QLabel)]
        return "\n".join(part.text() for part in labels)

    def tables(self) -> Sequence[FigureTable]:
        """One for each stage."""
        return [part for part in self._stages if isinstance(part, FigureTable)]

    def _summary(self, found: Findings) -> str:
        if all(stage.chosen.name == DEFAULT for stage in found.stages):
            return self.tr("nothing tried here is faster than the defaults.")
        return self.tr("the fastest settings found here are used from now on.")

    def _place(self, found: Findings) -> str:
        when = QDateTime.fromString(found.when, Qt.DateFormat.ISODate).toLocalTime()
        place = self.tr("{seconds} s on {device}, OpenVINO {openvino}").format(
            seconds=decimal(found.seconds, 0), device=found.device, openvino=found.openvino.partition("-")[0]
        )
        return f"{place} · {QLocale().toString(when, QLocale.FormatType.ShortFormat)}" if when.isValid() else place

    def _clear(self) -> None:
        for part in self._stages:
            part.hide()
            part.deleteLater()
        self._stages = []

    def _table(self, stage: Stage) -> FigureTable:
        timed = list(dict.fromkeys(name for row in stage.rows for name in row.ms))
        table = FigureTable(self.tr("Table: {}").format(subject_word(stage.subject)), self)
        milliseconds = [self.tr("ms, {}").format(translate("Tuning", name)) for name in timed]
        titles = [self.tr("Setting"), *milliseconds, self.tr("Speed"), self.tr("Ahead"), self.tr("Outcome")]
        last = len(titles) - 1
        table.begin(titles, num_fitted=last, text_columns=(0, last))
        for row in stage.rows:
            times = [decimal(row.ms[name], 1) if name in row.ms else NOTHING for name in timed]
            item = table.add([setting_word(row.name), *times, *_standing(row), outcome(row)])
            item.setToolTip(last, outcome(row))
        return table


def _standing(row: Row) -> tuple[str, str]:
    ratio = row.ratio
    if ratio is None:
        return NOTHING, NOTHING
    spread = f"{decimal(ratio.low, 2)}–{decimal(ratio.high, 2)}"
    return f"{decimal(ratio.median, 2)}× ({spread})", f"{row.better} / {row.pairs}"


_LONGEST = 1800  # seconds


class TuningPage(JobPage):
    """What will be tried, for how long, and what was found."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("Tune for this machine"),
            self.tr("Start tuning"),
            self.tr(
                "Finds out how the model of the open chat runs fastest on this machine, and uses that from then on. "
                "Every setting is timed beside the default, run by run, and replaces it only where chance is ruled "
                "out. What you have set yourself stays as it is. Chats wait until it has ended."
            ),
            parent,
        )
        form = Card(self, spacing=MEDIUM)
        self.seconds = number_field(form, LEAST_SECONDS, _LONGEST, USUAL_SECONDS, step=10)
        self._plan = muted("", self)
        field = TitledField(self.tr("Longest time in seconds"), self.seconds, form, above=True)
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
        """The longest time in seconds."""
        return self.seconds.value()

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Which buttons there are. `reason`: why none can start; empty where one can."""
        super().show_state(running=running, reason=reason)
        self.report.forget.setEnabled(not running and not reason)

    def show_plan(self, steps: Iterable[str]) -> None:
        """What will be tried, in order."""
        self._plan.setText("\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1)))

    def begin(self, model: str) -> None:
        """A tuning has begun."""
        self._empty.hide()
        self.bar.show_share(0, 1)
        self.report.begin(model)
        self.report.show()

    def show_findings(self, found: Findings | None, model: str) -> None:
        """What counts for a model now; None: nothing was found yet."""
        self.report.setVisible(found is not None)
        self._empty.setVisible(found is None)
        untuned = self.tr("{} has not been tuned on this computer yet: it runs with the defaults.").format(model)
        self._empty.setText(untuned if model else "")
        if found:
            self.report.show_findings(found)
