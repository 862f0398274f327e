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

from headstart import private_files
from headstart.engine.bench.prompts import KINDS, USUAL_KINDS, read_prompts
from headstart.engine.bench.race import AUTO, USUAL
from headstart.engine.bench.result import ALL, BenchResult, advice
from headstart.engine.protocol import BenchSize
from headstart.engine.wire import from_data
from headstart.ui.formatting import decimal, listed, titled, whole
from headstart.ui.performance import benchmark_chart
from headstart.ui.performance.benchmark_chart import BarGroup, BenchmarkChart, advice_text, contestant_text, kind_text
from headstart.ui.performance.engine_job import NO_FIGURE, JobPage, number_field
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.focus import pass_wheel
from headstart.ui.widgets.labels import button, label, muted, section
from headstart.ui.widgets.layouts import Card, TitledField, add, flowing, stacked
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.theme import MEDIUM, SMALL

_ALL_PROMPTS = 1000  # more prompts than any class has
_QUICK_KINDS = ("code", "explanation")
_QUICK_MS, _QUICK_TOKENS = 100_000, (16, 160)  # of answers, which leaves time to load; tokens of an answer, from and to


class BenchmarkForm(Card):
    """The size of a benchmark. `changed` is emitted when another size is chosen."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, spacing=MEDIUM)
        self.ms_per_token = 100.0  # the assumed speed, by which a quick run is sized
        self.extent = QComboBox(self)
        for title in (self.tr("Quick (2 minutes)"), self.tr("Choose what is measured")):
            self.extent.addItem(title)
        pass_wheel(self.extent)
        counts = Counter(prompt.kind for prompt in read_prompts(_ALL_PROMPTS, KINDS))
        self.prompts = number_field(self, 1, min(counts.values()), 1)
        self.repeats = number_field(self, 1, 9, 2)
        self.tokens = number_field(self, 16, 1024, 160, step=16)
        self.peer = QCheckBox(self.tr("Race OpenVINO GenAI as well"), self)
        self.peer.setChecked(True)
        self.peer.setToolTip(
            self.tr("With the same models, which are loaded again for it: that takes their memory up to three times.")
        )
        self.sweep = QCheckBox(self.tr("Compare all lengths and drafters"), self)
        self.sweep.setToolTip(self.tr("Takes about three times as long, and makes the advice exact."))
        self.kinds = {kind: QCheckBox(kind_text(kind), self) for kind in KINDS}
        self._extent = muted("", self)
        lines = 2  # at all times, so that the button below does not move
        self._extent.setMinimumHeight(lines * self._extent.fontMetrics().lineSpacing())
        self._extent.setAlignment(Qt.AlignmentFlag.AlignTop)
        titled_fields = (
            (self.tr("Prompts of each class"), self.prompts),
            (self.tr("Repeats"), self.repeats),
            (self.tr("Maximum answer length in tokens"), self.tokens),
        )
        classes = flowing(self.kinds.values(), self)
        self._fields = QWidget(self)
        fields = [TitledField(text, field, self, above=True) for text, field in titled_fields]
        classes_field = TitledField(self.tr("Classes of prompts"), classes, self, above=True)
        checks = flowing((self.peer, self.sweep), self)
        stacked(self._fields, flowing(fields, self), classes_field, checks, spacing=MEDIUM)
        row = flowing([TitledField(self.tr("Extent"), self.extent, self)], self)
        add(self.column, row, self._fields, self._extent)
        self.extent.currentIndexChanged.connect(self._on_extent_changed)
        self.extent.currentIndexChanged.connect(self.changed)
        self._on_extent_changed()
        for kind, box in self.kinds.items():
            box.setChecked(kind in USUAL_KINDS)
            box.toggled.connect(self._on_kind_toggled)
        for field in (self.prompts, self.repeats, self.tokens):
            field.valueChanged.connect(self.changed)
        for box in (self.peer, self.sweep, *self.kinds.values()):
            box.toggled.connect(self.changed)
        self._on_kind_toggled()

    def bench_size(self) -> BenchSize:
        """Return the size in the fields, or the one that takes two minutes."""
        if self.is_quick:
            kinds: tuple[str, ...] = _QUICK_KINDS
            minimum, maximum = _QUICK_TOKENS
            tokens = int(_QUICK_MS / (len(kinds) * len(USUAL) * self.ms_per_token))
            if tokens < minimum:
                kinds, tokens = kinds[:1], tokens * len(kinds)
            return BenchSize(1, min(max(tokens, minimum), maximum), 1, with_peer=False, kinds=kinds)
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
        """True for a run of two minutes."""
        return bool(self.extent.currentIndex() == 0)

    def show_extent(self, sentence: str) -> None:
        """Show how much this measures, and how long it takes."""
        self._extent.setText(sentence)

    @Slot()
    def _on_extent_changed(self) -> None:
        self._fields.setVisible(not self.is_quick)

    @Slot()
    def _on_kind_toggled(self) -> None:
        """Keep the last class ticked: without any there is nothing to race."""
        checked = [box for box in self.kinds.values() if box.isChecked()]
        for box in self.kinds.values():
            box.setEnabled(len(checked) > 1 or box not in checked)
            box.setToolTip("" if box.isEnabled() else self.tr("At least one class of prompts is raced."))


_log = logging.getLogger(__name__)
_COLUMNS = (
    "class", "prompt", "contestant", "repeat", "ms_per_token", "total_ms_per_token", "ttft_ms", "output_tokens",
    "speedup_median", "speedup_low", "speedup_high", "same_text_as_plain",
)  # fmt: skip


@dataclass(frozen=True)
class BenchmarkRecord:
    when: str  # it ended, as ISO 8601
    data: Mapping[str, Any]  # the result as it is saved, with fields that this version may not know
    result: BenchResult


def record(when: str, data: Mapping[str, Any]) -> BenchmarkRecord:
    """Make a record of a result as the engine's process sends it. Raise ValueError if it is none."""
    return BenchmarkRecord(when, data, from_data(BenchResult, data))


def read(path: Path) -> BenchmarkRecord | None:
    """Return the record that was saved; None if there is none, or none that this version understands."""
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        return record(str(saved["when"]), saved["result"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        _log.warning("%s is ignored: %r", path, error)
        return None


def save(path: Path, saved: BenchmarkRecord) -> None:
    """Replace the record that was saved. A folder that cannot be written is logged: the figures are on screen."""
    try:
        private_files.write(path, as_json(saved))
    except OSError as error:
        _log.warning("the benchmark is not kept: %s", error)


def as_json(saved: BenchmarkRecord) -> str:
    """Return the record with everything that was measured, as JSON."""
    return json.dumps({"when": saved.when, "result": saved.data}, indent=1, ensure_ascii=False) + "\n"


def as_csv(saved: BenchmarkRecord) -> str:
    """Return the record as CSV, with a row for each answer."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(_COLUMNS)
    table.writerows(_rows(saved.result))
    return text.getvalue()


def _rows(result: BenchResult) -> Iterator[tuple[object, ...]]:
    for prompt in result.prompts:
        for name, score in prompt.scores.items():
            spread = score.speedup
            speedups = (spread.median, spread.low, spread.high) if spread else (None, None, None)
            times = zip(score.ms_per_token, score.total_ms_per_token, score.ttft_ms, score.output_tokens, strict=True)
            for repeat, figures in enumerate(times, start=1):
                yield (prompt.kind, prompt.id, name, repeat, *figures, *speedups, score.equals_plain)


_ENOUGH = 3  # answers of each way to decode that allow advice


class AdviceTable(QWidget):
    """The fastest setting for each class."""

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
        self.table.begin((self.tr("Class"), self.tr("Best setting")), num_fitted=1, text_columns=(0, 1))
        answers = Counter(prompt.kind for prompt in result.prompts)
        for row in advice(result):
            is_enough = answers[row.kind] * result.setting.repeats >= _ENOUGH
            words = advice_text(row) if is_enough else self.tr("too little to tell: measure more")
            self.table.add([kind_text(row.kind), words])


PNG, CSV, JSON = "png", "csv", "json"


class BenchmarkReport(Card):
    """The chart, the figures and the advice of one record."""

    export_requested = Signal(str)  # PNG, CSV or JSON

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = label("", self, "section", selectable=True)
        self._headline = label("", self, selectable=True)
        self._machine = muted("", self, selectable=True)
        self.chart = BenchmarkChart(self)
        self.table = FigureTable(self.tr("Speedups by class"), self)
        self._remarks = muted("", self, selectable=True)
        self.advice = AdviceTable(self)
        add(self.column, self._title, self._headline, self._machine, self.chart, self.table, self._remarks, self.advice)
        add(self.column, flowing(self._buttons(), self))

    def show_record(self, record: BenchmarkRecord) -> None:
        groups = benchmark_chart.groups(record.result)
        self._title.setText(self._title_text(record))
        self._headline.setText(self._gain_text(record.result))
        self._machine.setText(self._machine_text(record))
        self.chart.show_groups(groups)
        self._fill(groups)
        self.advice.show_result(record.result)
        self._remarks.setText("\n".join(self._remark_texts(record)))

    def picture(self) -> QImage:
        """Return the chart with its heading, for a file."""
        return self.chart.picture(self._title.text(), self._machine.text())

    def _title_text(self, record: BenchmarkRecord) -> str:
        setting = record.result.setting
        models = self.tr("{} with {}").format(setting.target, setting.draft) if setting.draft else setting.target
        return titled(models, self.tr("speed compared with writing without speed-up"))

    def _gain_text(self, result: BenchResult) -> str:
        """Return the gain by guessing ahead, in one number."""
        mean = result.standings[AUTO].decoding[ALL].mean if AUTO in result.standings else None
        if mean is None:
            return self.tr("The answers are too short for a speed.")
        return self.tr("Automatic: {}× as fast as without speed-up").format(decimal(mean, 2))

    def _machine_text(self, record: BenchmarkRecord) -> str:
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

    def _remark_texts(self, record: BenchmarkRecord) -> Sequence[str]:
        result = record.result
        setting = result.setting
        sentences = [
            self.tr(
                "Bars are geometric means, whiskers the smallest and the largest of all prompts and repeats; answers "
                "of at most {tokens} tokens, {repeats} repeats."
            ).format(tokens=setting.tokens, repeats=setting.repeats)
        ]
        for versus in result.hindsight:
            ratio = versus.decoding[ALL]
            if ratio.mean is not None and ratio.interval is not None:
                sentences.append(
                    self.tr("auto against {peer}, the peer's best setting: {ratio}× ({low} to {high})").format(
                        peer=versus.peer,
                        ratio=decimal(ratio.mean, 2),
                        low=decimal(ratio.interval.low, 2),
                        high=decimal(ratio.interval.high, 2),
                    )
                )
        differing = benchmark_chart.differing(result)
        if differing:
            counts = listed(titled(contestant_text(name), whole(count)) for name, count in differing.items())
            sentences.append(self.tr("Some texts differ from those without speed-up ({}).").format(counts))
        else:
            sentences.append(self.tr("Every setting wrote the same texts as without speed-up."))
        return sentences

    def _fill(self, groups: Sequence[BarGroup]) -> None:
        names = [contestant_text(bar.contestant) for bar in groups[0].bars]
        self.table.begin([self.tr("Class"), self.tr("Without speed-up, tokens/s"), *names], num_fitted=2)
        for group in groups:
            plain = NO_FIGURE if group.plain_ms is None else decimal(1000 / group.plain_ms, 1)
            means = [NO_FIGURE if bar.mean is None else _times(bar.mean) for bar in group.bars]
            item = self.table.add([kind_text(group.kind), plain, *means])
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
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("Benchmark"),
            self.tr("Start the benchmark"),
            self.tr(
                "Measures how much faster the model of the open chat answers on this computer with each kind of "
                "speed-up. All answer the same prompts, in changing order. Chats wait meanwhile."
            ),
            parent,
        )
        self.form = BenchmarkForm(self)
        self.bar = BusyBar(self.tr("Progress of the benchmark"), self)
        self.heat = muted("", self)  # about the last answer
        self._empty = muted(self.tr("Nothing has been measured on this computer yet."), self)
        self.report = BenchmarkReport(self)
        self.report.hide()
        self.lay_out(self.form, self.bar, self.heat)
        add(self.column, self._empty, self.report)
        self.column.addStretch(1)
        self.entered.connect(self.start.setFocus)
        self.show_state(running=False)

    def request(self) -> BenchSize:
        return self.form.bench_size()

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Show whether the benchmark runs. `reason` says why it cannot start; empty if it can."""
        super().show_state(running=running, reason=reason)
        self._empty.setVisible(self.report.isHidden() and not running)
        if not running:
            self.bar.show_share(0, 1)
            self.heat.clear()

    def show_record(self, record: BenchmarkRecord) -> None:
        self._empty.hide()
        self.report.show_record(record)
        self.report.show()
