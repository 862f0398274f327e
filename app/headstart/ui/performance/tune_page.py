"""The page of tuning: what will be tried, for how long, how it goes, what was found. Knows no engine."""

from collections.abc import Iterable

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QProgressBar, QSpinBox, QVBoxLayout, QWidget

from headstart.engine.tuning.messages import LEAST_SECONDS, USUAL_SECONDS, Findings, Stage
from headstart.ui.performance.run_row import RunRow
from headstart.ui.performance.tune_report import TuneReport
from headstart.ui.settings.setting_form import muted
from headstart.ui.widgets.notice_bar import NoticeBar
from headstart.ui.widgets.page import Page
from headstart.ui.widgets.stylesheet import dress, inset
from headstart.ui.widgets.theme import LARGE, MEDIUM, Theme
from headstart.ui.widgets.titled_field import TitledField, flowing

_WIDEST = 1100  # pixels
_LONGEST = 1800  # seconds
_WIDTH = 110  # pixels of the number
_FINE = 1000  # steps of the bar


class TunePage(Page):
    """Emits what a person wants; shows what it is told."""

    start_requested = Signal(int)  # seconds
    stop_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(_WIDEST, parent)
        self.set_title(self.tr("Tune for this machine"))
        self.notice = NoticeBar(theme, self)
        self.seconds = QSpinBox(self)
        self._plan = muted("", self)
        self.run = RunRow(self.tr("Start tuning"), self.tr("Cancel"), self)
        self._bar = QProgressBar(self)
        self._empty = muted("", self)
        self.report = TuneReport(self)
        self.report.hide()
        self._lay_out()
        self.run.start_requested.connect(self._ask)
        self.run.stop_requested.connect(self.stop_requested)
        self.entered.connect(self.run.start.setFocus)
        self.show_state(running=False)
        self.set_theme(theme)

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Which buttons there are. `reason`: why none can start; empty where one can."""
        self.run.show_state(running=running, reason=reason)
        self._bar.setVisible(running)
        self.seconds.setEnabled(not running)
        self.report.forget.setEnabled(not running and not reason)
        if not running:
            self.run.say(reason)

    def show_plan(self, steps: Iterable[str]) -> None:
        """What will be tried, in order."""
        self._plan.setText("\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1)))

    def show_progress(self, share: float) -> None:
        """Of the time it may take."""
        self._bar.setValue(round(_FINE * share))

    def begin(self, model: str) -> None:
        """A tuning has begun."""
        self.notice.hide()
        self._empty.hide()
        self.show_progress(0.0)
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

    def set_theme(self, theme: Theme) -> None:
        """Everything in other colours."""
        super().set_theme(theme)
        self.notice.set_theme(theme)

    @Slot()
    def _ask(self) -> None:
        self.start_requested.emit(self.seconds.value())

    def _form(self) -> QFrame:
        card = QFrame(self)
        dress(card, "card")
        self.seconds.setRange(LEAST_SECONDS, _LONGEST)
        self.seconds.setSingleStep(10)
        self.seconds.setValue(USUAL_SECONDS)
        self.seconds.setMinimumWidth(_WIDTH)
        inset(self.seconds)
        column = QVBoxLayout(card)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(MEDIUM)
        field = TitledField(self.tr("Longest time in seconds"), self.seconds, card, above=True)
        column.addWidget(flowing([field], card))
        column.addWidget(self._plan)
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
        self._bar.setTextVisible(False)
        self._bar.setRange(0, _FINE)
        self._bar.setAccessibleName(self.tr("Progress of the tuning"))
        parts: tuple[QWidget, ...] = (intro, self._form(), self.notice, self.run, self._bar, self._empty, self.report)
        for part in parts:
            self.column.addWidget(part)
        self.column.addStretch(1)
