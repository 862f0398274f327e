"""What a benchmark found: chart, table and sentences, and the buttons that write them to files. Knows no engine."""

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QDateTime, QLocale, Qt, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart.ui.performance import bench_figures
from headstart.ui.performance.advice_table import AdviceTable
from headstart.ui.performance.bench_chart import BenchChart
from headstart.ui.performance.bench_figures import Bar, Group
from headstart.ui.performance.bench_record import BenchRecord
from headstart.ui.performance.bench_words import contestant_word, kind_word
from headstart.ui.spelling import decimal, listed, titled, whole
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, Theme
from headstart.ui.widgets.titled_field import flowing

PNG, CSV, JSON = "png", "csv", "json"
_NOTHING = "–"


class BenchReport(QFrame):
    """Shows one record."""

    export_requested = Signal(str)  # PNG, CSV or JSON

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._title = QLabel(self)
        self._where = QLabel(self)
        self.chart = BenchChart(theme, self)
        self.table = FigureTable(self.tr("Speedups by class"), self)
        self._remarks = QLabel(self)
        self.advice = AdviceTable(self)
        self._lay_out()

    def show_record(self, record: BenchRecord) -> None:
        """Another record."""
        groups = bench_figures.groups(record.result)
        self._title.setText(self._heading(record))
        self._where.setText(self._place(record))
        self.chart.show_groups(groups)
        self._fill(groups)
        self.advice.show_result(record.data)
        self._remarks.setText("\n".join(self._sentences(record)))

    def picture(self) -> QImage:
        """The chart with its heading, for a file."""
        return self.chart.picture(self._title.text(), self._where.text())

    def set_theme(self, theme: Theme) -> None:
        """Other colours."""
        self.chart.set_theme(theme)

    def _heading(self, record: BenchRecord) -> str:
        setting = record.result.setting
        draft = setting.draft or self.tr("no draft model")
        return self.tr("{target} with {draft}: speedup over plain decoding").format(target=setting.target, draft=draft)

    def _place(self, record: BenchRecord) -> str:
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

    def _sentences(self, record: BenchRecord) -> Sequence[str]:
        result = record.result
        setting, versus = result.setting, result.auto_vs_best_static_peer
        said = [
            self.tr(
                "Bars are geometric means, whiskers the smallest and the largest of all prompts and repeats; answers "
                "of at most {tokens} tokens, {repeats} repeats."
            ).format(tokens=setting.tokens, repeats=setting.repeats)
        ]
        if versus:
            said.append(
                self.tr("auto against {peer}, the peer's best setting: {ratio}× ({low} to {high})").format(
                    peer=versus.peer,
                    ratio=decimal(versus.ratio, 2),
                    low=decimal(versus.across.low, 2),
                    high=decimal(versus.across.high, 2),
                )
            )
        others = bench_figures.differing(result)
        if others:
            counts = listed(titled(contestant_word(name), whole(count)) for name, count in others.items())
            said.append(self.tr("Texts that differ from plain decoding's ({}).").format(counts))
        else:
            said.append(self.tr("Everyone wrote the same texts as plain decoding."))
        return said

    def _fill(self, groups: Sequence[Group]) -> None:
        names = [contestant_word(bar.contestant) for bar in groups[0].bars]
        self.table.begin([self.tr("Class"), self.tr("plain, ms/token"), *names], widened=2)
        for group in groups:
            plain = _NOTHING if group.plain_ms is None else decimal(group.plain_ms, 1)
            item = self.table.add([kind_word(group.kind), plain, *(_mean(bar) for bar in group.bars)])
            for column, bar in enumerate(group.bars, start=2):
                item.setToolTip(column, _range(bar))

    def _lay_out(self) -> None:
        dress(self._title, "section")
        for label in (self._where, self._remarks):
            dress(label, "muted")
        for label in (self._title, self._where, self._remarks):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        for part in (self._title, self._where, self.chart, self.table, self._remarks, self.advice):
            column.addWidget(part)
        column.addWidget(flowing(self._buttons(), self))

    def _buttons(self) -> Iterator[QPushButton]:
        titles = {
            PNG: self.tr("Save picture…"),
            CSV: self.tr("Save table (CSV)…"),
            JSON: self.tr("Save everything (JSON)…"),
        }
        for kind, title in titles.items():
            button = QPushButton(title, self)
            button.setObjectName(kind)
            dress(button, "plain")
            button.clicked.connect(lambda _checked=False, kind=kind: self.export_requested.emit(kind))
            yield button


def _mean(bar: Bar) -> str:
    return _NOTHING if bar.mean is None else f"{decimal(bar.mean, 2)}×"


def _range(bar: Bar) -> str:
    return "" if bar.low is None or bar.high is None else f"{decimal(bar.low, 2)}× – {decimal(bar.high, 2)}×"
