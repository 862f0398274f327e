"""The page of the benchmark, and the record of the last run."""

import csv
import io
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QDateTime, QLocale, Qt, Signal, Slot
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QCheckBox, QComboBox, QPushButton, QWidget

from headstart import own_folder
from headstart.engine.bench.prompts import KINDS, USUAL_KINDS, read_prompts
from headstart.engine.bench.race import AUTO, USUAL
from headstart.engine.bench.result import ALL, BenchResult, advice
from headstart.engine.protocol import BenchSize
from headstart.engine.wire import from_data
from headstart.ui.performance import benchmark_chart
from headstart.ui.performance.benchmark_chart import BenchmarkChart, Group, advice_word, contestant_word, kind_word
from headstart.ui.performance.engine_job import NOTHING, JobPage, number_field
from headstart.ui.spelling import decimal, listed, titled, whole
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.focus import pass_wheel
from headstart.ui.widgets.labels import button, label, muted, section
from headstart.ui.widgets.layouts import Card, TitledField, add, flowing, stacked
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.theme import MEDIUM, SMALL

_ALL = 1000  # more prompts than any class has
_QUICK_KINDS = ("code", "explanation")
_QUICK_MS, _QUICK_TOKENS = 100_000, (16, 160)  # for answers, which leaves time to load; least and most of an answer


class BenchmarkForm(Card):
    """Emits `changed` when another size is chosen."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, spacing=MEDIUM)
        self.ms_per_token = 100.0  # by which a quick run is sized
        self.extent = QComboBox(self)
        for title in (self.tr("Quick (2 minutes)"), self.tr("Choose what is measured")):
            self.extent.addItem(title)
        pass_wheel(self.extent)
        counts = Counter(prompt.kind for prompt in read_prompts(_ALL, KINDS))
        self.prompts = number_field(self, 1, min(counts.values()), 1)
        self.repeats = number_field(self, 1, 9, 2)
        self.tokens = number_field(self, 16, 1024, 160, step=16)
        self.peer = QCheckBox(self.tr("Race OpenVINO GenAI as well"), self)
        self.peer.setChecked(True)
        self.peer.setToolTip(
            self.tr("With the same models, which are loaded again for it: that takes their memory up to three times.")
        )
        self.sweep = QCheckBox(self.tr("Compare every length and every drafter"), self)
        self.sweep.setToolTip(self.tr("Takes about three times as long, and makes the advice exact."))
        self.kinds = {kind: QCheckBox(kind_word(kind), self) for kind in KINDS}
        self._extent = muted("", self)
        self._extent.setMinimumHeight(2 * self._extent.fontMetrics().lineSpacing())  # or the button below moves
        self._extent.setAlignment(Qt.AlignmentFlag.AlignTop)
        named = (
            (self.tr("Prompts of each class"), self.prompts),
            (self.tr("Repeats"), self.repeats),
            (self.tr("Maximum answer length in tokens"), self.tokens),
        )
        classes = flowing(self.kinds.values(), self)
        self._chosen = QWidget(self)
        fields = [TitledField(text, field, self, above=True) for text, field in named]
        titled = TitledField(self.tr("Classes of prompts"), classes, self, above=True)
        others = flowing((self.peer, self.sweep), self)
        stacked(self._chosen, flowing(fields, self), titled, others, spacing=MEDIUM)
        extent = flowing([TitledField(self.tr("Extent"), self.extent, self)], self)
        add(self.column, extent, self._chosen, self._extent)
        self.extent.currentIndexChanged.connect(self._show_fields)
        self.extent.currentIndexChanged.connect(self.changed)
        self._show_fields()
        for kind, box in self.kinds.items():
            box.setChecked(kind in USUAL_KINDS)
            box.toggled.connect(self._keep_one)
        for field in (self.prompts, self.repeats, self.tokens):
            field.valueChanged.connect(self.changed)
        for box in (self.peer, self.sweep, *self.kinds.values()):
            box.toggled.connect(self.changed)
        self._keep_one()

    def size_wanted(self) -> BenchSize:
        """What the fields say, or what takes two minutes."""
        if self.is_quick:
            kinds: tuple[str, ...] = _QUICK_KINDS
            least, most = _QUICK_TOKENS
            fitting = int(_QUICK_MS / (len(kinds) * len(USUAL) * self.ms_per_token))
            if fitting < least:
                kinds, fitting = kinds[:1], fitting * len(kinds)
            return BenchSize(1, min(max(fitting, least), most), 1, with_peer=False, kinds=kinds)
        return BenchSize(
            self.prompts.value(),
            self.tokens.value(),
            self.repeats.value(),
            self.peer.isChecked(),
            tuple(kind for kind, box in self.kinds.items() if box.isChecked()),
            self.sweep.isChecked(),
        )

    @property
    def is_quick(self) -> bool:
        """Whether a short run is wanted."""
        return bool(self.extent.currentIndex() == 0)

    def show_extent(self, sentence: str) -> None:
        """How much this measures, and for how long."""
        self._extent.setText(sentence)

    @Slot()
    def _show_fields(self) -> None:
        self._chosen.setVisible(not self.is_quick)

    @Slot()
    def _keep_one(self) -> None:
        """Without any class there is nothing to race: the last one stays."""
        chosen = [box for box in self.kinds.values() if box.isChecked()]
        for box in self.kinds.values():
            box.setEnabled(len(chosen) > 1 or box not in chosen)
            box.setToolTip("" if box.isEnabled() else self.tr("At least one class of prompts is raced."))


_log = logging.getLogger(__name__)
_COLUMNS = (
    "class", "prompt", "contestant", "repeat", "ms_per_token", "total_ms_per_token", "ttft_ms", "output_tokens",
    "speedup_median", "speedup_low", "speedup_high", "same_text_as_plain",
)  # fmt: skip


@dataclass(frozen=True)
class BenchmarkRecord:
    """When it ended, as ISO 8601, and what came of it: as data, which is kept whole, and as values."""

    when: str
    data: Mapping[str, Any]
    result: BenchResult


def record(when: str, data: Mapping[str, Any]) -> BenchmarkRecord:
    """From the result as the engine's process sends it. Raises ValueError where it is none."""
    return BenchmarkRecord(when, data, from_data(BenchResult, data))


def read(path: Path) -> BenchmarkRecord | None:
    """What was kept; None where there is nothing, or nothing that this version understands."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return record(str(kept["when"]), kept["result"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        _log.warning("%s is ignored: %r", path, error)
        return None


def keep(path: Path, kept: BenchmarkRecord) -> None:
    """Put it in the place of the one before; a folder that cannot be written is logged: the figures are on screen."""
    try:
        own_folder.write(path, as_json(kept))
    except OSError as error:
        _log.warning("the benchmark is not kept: %s", error)


def as_json(kept: BenchmarkRecord) -> str:
    """Everything, and when it was measured."""
    return json.dumps({"when": kept.when, "result": kept.data}, indent=1, ensure_ascii=False) + "\n"


def as_csv(kept: BenchmarkRecord) -> str:
    """A row for each answer."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(_COLUMNS)
    table.writerows(_rows(kept.result))
    return text.getvalue()


def _rows(result: BenchResult) -> Iterator[tuple[object, ...]]:
    for prompt in result.prompts:
        for name, score in prompt.scores.items():
            spread = score.speedup
            speedups = (spread.median, spread.low, spread.high) if spread else (None, None, None)
            times = zip(score.ms_per_token, score.total_ms_per_token, score.ttft_ms, score.output_tokens, strict=True)
            for repeat, figures in enumerate(times, start=1):
                yield (prompt.kind, prompt.id, name, repeat, *figures, *speedups, score.equals_plain)


_ENOUGH = 3  # answers of each way to decode, for advice


class AdviceTable(QWidget):
    """The setting that was the fastest for each class."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = FigureTable(self.tr("Best setting by class"), self)
        remark = muted(
            self.tr(
                "What was the fastest for a whole answer, the wait for its first token included. Automatic needs none "
                "of these settings: it chooses for each step."
            ),
            self,
        )
        heading = section(self.tr("Recommended settings"), self)
        stacked(self, heading, self.table, remark).setContentsMargins(0, SMALL, 0, 0)

    def show_result(self, result: BenchResult) -> None:
        """Another benchmark."""
        self.table.begin((self.tr("Class"), self.tr("Best setting")), num_fitted=1, text_columns=(0, 1))
        answers = Counter(prompt.kind for prompt in result.prompts)
        for each in advice(result):
            is_told = answers[each.kind] * result.setting.repeats >= _ENOUGH
            best = advice_word(each) if is_told else self.tr("too little to tell: measure more")
            self.table.add([kind_word(each.kind), best])


PNG, CSV, JSON = "png", "csv", "json"


class BenchmarkReport(Card):
    """The chart, the figures and the advice of one record."""

    export_requested = Signal(str)  # PNG, CSV or JSON

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = label("", self, "section", selectable=True)
        self._headline = label("", self, selectable=True)
        self._where = muted("", self, selectable=True)
        self.chart = BenchmarkChart(self)
        self.table = FigureTable(self.tr("Speedups by class"), self)
        self._remarks = muted("", self, selectable=True)
        self.advice = AdviceTable(self)
        add(self.column, self._title, self._headline, self._where, self.chart, self.table, self._remarks, self.advice)
        add(self.column, flowing(self._buttons(), self))

    def show_record(self, record: BenchmarkRecord) -> None:
        """Another record."""
        groups = benchmark_chart.groups(record.result)
        self._title.setText(self._heading(record))
        self._headline.setText(self._gain(record.result))
        self._where.setText(self._place(record))
        self.chart.show_groups(groups)
        self._fill(groups)
        self.advice.show_result(record.result)
        self._remarks.setText("\n".join(self._sentences(record)))

    def picture(self) -> QImage:
        """The chart with its heading, for a file."""
        return self.chart.picture(self._title.text(), self._where.text())

    def _heading(self, record: BenchmarkRecord) -> str:
        setting = record.result.setting
        models = self.tr("{} with {}").format(setting.target, setting.draft) if setting.draft else setting.target
        return titled(models, self.tr("speed against writing without guessing"))

    def _gain(self, result: BenchResult) -> str:
        """What guessing ahead brings, in one number."""
        mean = result.standings[AUTO].decoding[ALL].mean if AUTO in result.standings else None
        if mean is None:
            return self.tr("The answers are too short for a speed.")
        return self.tr("Automatic: {}× as fast as without guessing").format(decimal(mean, 2))

    def _place(self, record: BenchmarkRecord) -> str:
        machine = record.result.machine
        when = QDateTime.fromString(record.when, Qt.DateFormat.ISODate).toLocalTime()
        return self.tr(
            "{device}, {cores} cores · {system} · OpenVINO {openvino} · Headstart {headstart} · {when}"
        ).format(
            device=machine.device,
            cores=machine.cores,
            system=machine.system,
            openvino=machine.openvino.partition("-")[0],
            headstart=machine.headstart,
            when=QLocale().toString(when, QLocale.FormatType.ShortFormat),
        )

    def _sentences(self, record: BenchmarkRecord) -> Sequence[str]:
        result = record.result
        setting = result.setting
        said = [
            self.tr(
                "Bars are geometric means, whiskers the smallest and the largest of all prompts and repeats; answers "
                "of at most {tokens} tokens, {repeats} repeats."
            ).format(tokens=setting.tokens, repeats=setting.repeats)
        ]
        for versus in result.hindsight:
            found = versus.decoding[ALL]
            if found.mean is not None and found.interval is not None:
                said.append(
                    self.tr("auto against {peer}, the peer's best setting: {ratio}× ({low} to {high})").format(
                        peer=versus.peer,
                        ratio=decimal(found.mean, 2),
                        low=decimal(found.interval.low, 2),
                        high=decimal(found.interval.high, 2),
                    )
                )
        others = benchmark_chart.differing(result)
        if others:
            counts = listed(titled(contestant_word(name), whole(count)) for name, count in others.items())
            said.append(self.tr("Some texts differ from those without guessing ({}).").format(counts))
        else:
            said.append(self.tr("Every setting wrote the same texts as without guessing."))
        return said

    def _fill(self, groups: Sequence[Group]) -> None:
        names = [contestant_word(bar.contestant) for bar in groups[0].bars]
        self.table.begin([self.tr("Class"), self.tr("Without guessing, tokens/s"), *names], num_fitted=2)
        for group in groups:
            plain = NOTHING if group.plain_ms is None else decimal(1000 / group.plain_ms, 1)
            means = [NOTHING if bar.mean is None else _times(bar.mean) for bar in group.bars]
            item = self.table.add([kind_word(group.kind), plain, *means])
            for column, bar in enumerate(group.bars, start=2):
                if bar.low is not None and bar.high is not None:
                    item.setToolTip(column, f"{_times(bar.low)} – {_times(bar.high)}")

    def _buttons(self) -> Iterator[QPushButton]:
        titles = {
            PNG: self.tr("Save picture…"),
            CSV: self.tr("Save table (CSV)…"),
            JSON: self.tr("Save everything (JSON)…"),
        }
        for kind, title in titles.items():
            save = button(title, self)
            save.setObjectName(kind)
            save.clicked.connect(lambda _checked=False, kind=kind: self.export_requested.emit(kind))
            yield save


def _times(factor: float) -> str:
    return f"{decimal(factor, 2)}×"


class BenchmarkPage(JobPage):
    """How much is measured, how it goes, and what the last run found."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("Benchmark"),
            self.tr("Start the benchmark"),
            self.tr(
                "Measures on this computer what guessing ahead brings, with the model of the open chat. Each way of "
                "guessing answers the same prompts, in changing order. Chats wait until it has ended."
            ),
            parent,
        )
        self.form = BenchmarkForm(self)
        self.bar = BusyBar(self.tr("Progress of the benchmark"), self)
        self.heat = muted("", self)  # the last answer
        self._empty = muted(self.tr("Nothing has been measured on this computer yet."), self)
        self.report = BenchmarkReport(self)
        self.report.hide()
        self.lay_out(self.form, self.bar, self.heat)
        add(self.column, self._empty, self.report)
        self.column.addStretch(1)
        self.entered.connect(self.start.setFocus)
        self.show_state(running=False)

    def request(self) -> BenchSize:
        """What the form asks for."""
        return self.form.size_wanted()

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Which buttons there are. `reason`: why none can start; empty where one can."""
        super().show_state(running=running, reason=reason)
        self._empty.setVisible(self.report.isHidden() and not running)
        if not running:
            self.bar.show_share(0, 1)
            self.heat.clear()

    def show_record(self, record: BenchmarkRecord) -> None:
        """What was found last."""
        self._empty.hide()
        self.report.show_record(record)
        self.report.show()
