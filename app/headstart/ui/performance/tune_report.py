"""What tuning found: where, why, and a table for each stage; and the button to forget it. Knows no engine."""

from collections.abc import Sequence

from PySide6.QtCore import QDateTime, QLocale, Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart.engine.tuning.messages import DEFAULT, Findings, Row, Stage
from headstart.ui.performance.tune_words import outcome, reason, setting_word, subject_word, timed_word
from headstart.ui.spelling import decimal, titled
from headstart.ui.translation import translate
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL
from headstart.ui.widgets.titled_field import flowing

_NOTHING = "–"


class TuneReport(QFrame):
    """Filled stage by stage while it is being found out, or all at once."""

    forget_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._title = QLabel(self)
        self._where = QLabel(self)
        self._stages: list[QWidget] = []
        self.forget = QPushButton(self.tr("Forget"), self)
        self.forget.setToolTip(self.tr("Load this model with the defaults again"))
        self._buttons = flowing([self.forget], self)
        self._column = QVBoxLayout(self)
        self._lay_out()
        self.forget.clicked.connect(self.forget_requested)

    def begin(self, model: str) -> None:
        """Nothing is known yet."""
        self._title.setText(self.tr("{}: what is measured").format(model))
        self._where.hide()
        self._buttons.hide()
        self._clear()

    def add_stage(self, stage: Stage) -> None:
        """One more is decided."""
        self._add(self._label(reason(stage)))
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
        return "\n".join(label.text() for label in labels)

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
        self._column.insertWidget(self._column.count() - 1, part)
        self._stages.append(part)
        part.show()

    def _label(self, text: str) -> QLabel:
        label = QLabel(text, self)
        label.setContentsMargins(0, SMALL, 0, 0)
        self._dress(label, "")
        return label

    def _dress(self, label: QLabel, kind: str) -> None:
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        dress(label, kind)

    def _lay_out(self) -> None:
        self._dress(self._title, "section")
        self._dress(self._where, "muted")
        dress(self.forget, "plain")
        self._column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        self._column.setSpacing(SMALL)
        for part in (self._title, self._where, self._buttons):
            self._column.addWidget(part)


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
        item = table.add([setting_word(row.name), *(_ms(row, name) for name in timed), *_standing(row), outcome(row)])
        item.setToolTip(len(titles) - 1, outcome(row))
    return table


def _ms(row: Row, name: str) -> str:
    return decimal(row.ms[name], 1) if name in row.ms else _NOTHING


def _standing(row: Row) -> tuple[str, str]:
    ratio = row.ratio
    if ratio is None:
        return _NOTHING, _NOTHING
    spread = f"{decimal(ratio.low, 2)}–{decimal(ratio.high, 2)}"
    return f"{decimal(ratio.median, 2)}× ({spread})", f"{row.better} / {row.pairs}"
