"""For each class of prompts the setting that won a benchmark: "code: draft, 5–8; story: off". Knows no engine."""

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from headstart.engine.bench.result import Advice, advice
from headstart.ui.performance.bench_words import advice_word, kind_word
from headstart.ui.settings.setting_form import muted
from headstart.ui.spelling import decimal
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import SMALL

_NOTHING = "–"


class AdviceTable(QWidget):
    """Hidden where the figures are too old to tell."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        title = QLabel(self.tr("What to set"), self)
        dress(title, "section")
        self.table = FigureTable(self.tr("Best setting by class"), self)
        remark = muted(
            self.tr(
                "What won among the fixed settings that were raced, the wait for the first token included. Automatic "
                "speculation chooses by itself; its speedup stands beside."
            ),
            self,
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(0, SMALL, 0, 0)
        column.setSpacing(SMALL)
        for part in (title, self.table, remark):
            column.addWidget(part)

    def show_result(self, result: Mapping[str, Any]) -> None:
        """A benchmark in the form of its JSON."""
        given = _advice(result)
        self.setVisible(bool(given))
        titles = (self.tr("Class"), self.tr("Best setting"), self.tr("its speedup"), self.tr("that of automatic"))
        self.table.begin(titles, widened=2, words=(0, 1))
        for each in given:
            automatic = _NOTHING if each.auto is None else f"{decimal(each.auto, 2)}×"
            self.table.add([kind_word(each.kind), advice_word(each), f"{decimal(each.speedup, 2)}×", automatic])


def _advice(result: Mapping[str, Any]) -> Sequence[Advice]:
    """Nothing for what an older version measured."""
    try:
        return advice(result)
    except (KeyError, TypeError):
        return ()
