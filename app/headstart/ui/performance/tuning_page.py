"""The page of tuning: what will be tried, for how long, how it goes, what was found."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QDateTime, QLocale, Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QSpinBox, QWidget

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
    Trying,
)
from headstart.ui.performance.engine_job import JobPage
from headstart.ui.spelling import decimal, listed, titled
from headstart.ui.translation import said, translate
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.labels import button, label, muted
from headstart.ui.widgets.layouts import Card, TitledField, flowing
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.stylesheet import inset
from headstart.ui.widgets.theme import MEDIUM, SMALL

_SUBJECTS: Mapping[str, Any] = {
    TARGET: QT_TRANSLATE_NOOP("Tuning", "Model"),
    DRAFTS: QT_TRANSLATE_NOOP("Tuning", "Guessing ahead"),
}
_LOADING: Mapping[str, Any] = {
    TARGET: QT_TRANSLATE_NOOP("Tuning", "Loading the model…"),
    DRAFTS: QT_TRANSLATE_NOOP("Tuning", "Loading the draft models…"),
}
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
_TIMED: tuple[Any, ...] = (QT_TRANSLATE_NOOP("Tuning", "token of an answer"),)


def subject_word(subject: str) -> str:
    """What is decided."""
    return translate("Tuning", _SUBJECTS[subject])


def setting_word(name: str) -> str:
    """A setting that is tried; one that is not known keeps its name."""
    return _worded(name, _SETTINGS)


def timed_word(name: str) -> str:
    """What was timed."""
    return _worded(name, _TIMED)


def doing(trying: Trying) -> str:
    """What a tuning does now."""
    if trying.against is None:
        return translate("Tuning", _LOADING[trying.subject])
    others = listed(setting_word(name) for name in trying.against) or translate("Tuning", "nothing else")
    default = setting_word(DEFAULT) + (f" ({trying.hint})" if trying.hint else "")
    against = translate("Tuning", "{default} against {others}").format(default=default, others=others)
    return titled(subject_word(trying.subject), against)


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
    if chosen is not default:
        told = translate("Tuning", "{setting}, because it was {gain} ({figures}).")
        why = told.format(setting=setting_word(chosen.name), gain=_gain(chosen), figures=_figures(chosen, default))
        return titled(subject_word(stage.subject), why)
    return titled(subject_word(stage.subject), _why_default(stage, default, tried))


def _why_default(stage: Stage, default: Row, tried: list[Row]) -> str:
    if not tried:
        return translate("Tuning", "as it is ({}), as there is nothing else to try here.").format(_ms(default))
    timed = [row for row in tried if row.ratio is not None and not row.failure]
    if not timed and stage.cut_short:
        return translate("Tuning", "as it is, as the time was over before anything else was timed; give it more.")
    if not timed:
        return translate("Tuning", "as it is, as nothing else runs here.")
    best = max(timed, key=lambda row: row.ratio.median if row.ratio else 0.0)
    told = translate("Tuning", "as it is, because the best of the others, {setting}, {shortfall}.")
    if stage.cut_short:
        told = translate(
            "Tuning", "as it is, because the best of the others, {setting}, {shortfall}; not all were timed."
        )
    return told.format(setting=setting_word(best.name), shortfall=_shortfall(best))


def _shortfall(best: Row) -> str:
    assert best.ratio is not None
    if best.ratio.median <= 1.0:
        told = translate("Tuning", "was not faster: {}")
    elif best.ratio.median < LEAST_GAIN:
        told = translate("Tuning", "gained too little to tell: {}")
    else:
        told = translate("Tuning", "was not faster often enough to rule out chance: {}")
    return told.format(_gain(best))


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
    told = translate("Tuning", "{what}: {mine} instead of {before} ms")
    return listed(
        told.format(what=timed_word(name), mine=decimal(ms, 1), before=decimal(default.ms[name], 1))
        for name, ms in row.ms.items()
        if name in default.ms
    )


def _ms(row: Row) -> str:
    told = translate("Tuning", "{what}: {mine} ms")
    return listed(told.format(what=timed_word(name), mine=decimal(ms, 1)) for name, ms in row.ms.items())


def _worded(name: str, known: tuple[Any, ...]) -> str:
    for words in known:
        found = re.fullmatch(re.escape(str(words)).replace(r"\{\}", "(.+)"), name)
        if found:
            return translate("Tuning", words).format(*found.groups())
    return name


_NOTHING = "–"


class TuneReport(Card):
    """Filled stage by stage while it is being found out, or all at once."""

    forget_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = label("", self, "section", selectable=True)
        self._where = muted("", self, selectable=True)
        self._stages: list[QWidget] = []
        self.forget = button(self.tr("Forget"), self)
        self.forget.setToolTip(self.tr("Load this model with the defaults again"))
        self._buttons = flowing([self.forget], self)
        for part in (self._title, self._where, self._buttons):
            self.column.addWidget(part)
        self.forget.clicked.connect(self.forget_requested)

    def begin(self, model: str) -> None:
        """Nothing is known yet."""
        self._title.setText(self.tr("{}: what is measured").format(model))
        self._where.hide()
        self._buttons.hide()
        self._clear()

    def add_stage(self, stage: Stage) -> None:
        """One more is decided."""
        why = label(reason(stage), self, selectable=True)
        why.setContentsMargins(0, SMALL, 0, 0)
        self._add(why)
        self._add(_table(stage, self))

    def show_findings(self, found: Findings) -> None:
        """All that was found, and what counts now."""
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

    def _add(self, part: QWidget) -> None:
        self.column.insertWidget(self.column.count() - 1, part)
        self._stages.append(part)
        part.show()


def _table(stage: Stage, parent: TuneReport) -> FigureTable:
    timed = list(dict.fromkeys(name for row in stage.rows for name in row.ms))
    table = FigureTable(translate("TuneReport", "Table: {}").format(subject_word(stage.subject)), parent)
    milliseconds = [translate("TuneReport", "ms, {}").format(timed_word(name)) for name in timed]
    titles = [
        translate("TuneReport", "Setting"),
        *milliseconds,
        translate("TuneReport", "Speed"),
        translate("TuneReport", "Ahead"),
        translate("TuneReport", "Outcome"),
    ]
    table.begin(titles, widened=len(titles) - 1, words=(0, len(titles) - 1))
    for row in stage.rows:
        item = table.add(
            [setting_word(row.name), *(_tune_report_ms(row, name) for name in timed), *_standing(row), outcome(row)]
        )
        item.setToolTip(len(titles) - 1, outcome(row))
    return table


def _tune_report_ms(row: Row, name: str) -> str:
    return decimal(row.ms[name], 1) if name in row.ms else _NOTHING


def _standing(row: Row) -> tuple[str, str]:
    ratio = row.ratio
    if ratio is None:
        return _NOTHING, _NOTHING
    spread = f"{decimal(ratio.low, 2)}–{decimal(ratio.high, 2)}"
    return f"{decimal(ratio.median, 2)}× ({spread})", f"{row.better} / {row.pairs}"


_WIDEST = 1100  # pixels
_LONGEST = 1800  # seconds
_WIDTH = 110  # pixels of the number


class TuningPage(JobPage):
    """Wishes are seconds."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_WIDEST, parent)
        self.set_title(self.tr("Tune for this machine"))
        self.run.start.setText(self.tr("Start tuning"))
        self.seconds = QSpinBox(self)
        self._plan = muted("", self)
        self._bar = BusyBar(self.tr("Progress of the tuning"), self)
        self._empty = muted("", self)
        self.report = TuneReport(self)
        self.report.hide()
        self._lay_out()
        self.run.start_requested.connect(self._ask)
        self.entered.connect(self.run.start.setFocus)
        self.show_state(running=False)

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Which buttons there are. `reason`: why none can start; empty where one can."""
        super().show_state(running=running, reason=reason)
        self._bar.setVisible(running)
        self.seconds.setEnabled(not running)
        self.report.forget.setEnabled(not running and not reason)

    def show_plan(self, steps: Iterable[str]) -> None:
        """What will be tried, in order."""
        self._plan.setText("\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1)))

    def show_progress(self, spent: float, seconds: float) -> None:
        """How much of the time that it may take."""
        self._bar.show_share(min(spent, seconds), seconds)

    def begin(self, model: str) -> None:
        """A tuning has begun."""
        self.notice.hide()
        self._empty.hide()
        self.show_progress(0, 1)
        self.report.begin(model)
        self.report.show()

    def add_stage(self, stage: Stage) -> None:
        """One more is decided."""
        self.report.add_stage(stage)

    def show_findings(self, found: Findings | None, model: str) -> None:
        """What counts for a model now; None: nothing was found yet."""
        self.report.setVisible(found is not None)
        self._empty.setVisible(found is None)
        self._empty.setText(
            self.tr("{} has not been tuned on this computer yet: it runs with the defaults.").format(model)
            if model
            else ""
        )
        if found:
            self.report.show_findings(found)

    @Slot()
    def _ask(self) -> None:
        self.start_requested.emit(self.seconds.value())

    def _form(self) -> Card:
        card = Card(self, spacing=MEDIUM)
        self.seconds.setRange(LEAST_SECONDS, _LONGEST)
        self.seconds.setSingleStep(10)
        self.seconds.setValue(USUAL_SECONDS)
        self.seconds.setMinimumWidth(_WIDTH)
        inset(self.seconds)
        field = TitledField(self.tr("Longest time in seconds"), self.seconds, card, above=True)
        card.column.addWidget(flowing([field], card))
        card.column.addWidget(self._plan)
        return card

    def _lay_out(self) -> None:
        intro = muted(
            self.tr(
                "Finds out how the model of the open chat runs fastest on this machine, and uses that from then on. "
                "Every setting is timed beside the default, run by run, and replaces it only where chance is ruled "
                "out. What you have set yourself stays as it is. Chats wait until it has ended."
            ),
            self,
        )
        parts: tuple[QWidget, ...] = (intro, self._form(), self.notice, self.run, self._bar, self._empty, self.report)
        for part in parts:
            self.column.addWidget(part)
        self.column.addStretch(1)
