"""The page of the benchmark: how much is measured, how it goes, what the last one found. Knows no engine."""

from dataclasses import dataclass

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QWidget

from headstart.ui.bench_form import BenchForm
from headstart.ui.bench_record import BenchRecord
from headstart.ui.bench_report import BenchReport
from headstart.ui.notice_bar import NoticeBar
from headstart.ui.page import Page
from headstart.ui.stylesheet import dress
from headstart.ui.theme import SMALL, Theme

_WIDEST = 1100  # pixels


@dataclass(frozen=True)
class BenchState:
    """What can be done now. `reason`: why none can start; empty where one can."""

    running: bool = False
    reason: str = ""


class BenchPage(Page):
    """Emits what a person wants; shows what it is told."""

    start_requested = Signal(object)  # BenchSize
    stop_requested = Signal()
    size_changed = Signal(object)  # BenchSize

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(_WIDEST, parent)
        self.set_title(self.tr("Benchmark"))
        self.form = BenchForm(self)
        self.notice = NoticeBar(theme, self)
        self._start = QPushButton(self.tr("Start the benchmark"), self)
        self._stop = QPushButton(self.tr("Cancel"), self)
        self._status = QLabel(self)
        self._bar = QProgressBar(self)
        self._heat = QLabel(self)
        self._empty = QLabel(self.tr("Nothing has been measured on this computer yet."), self)
        self.report = BenchReport(theme, self)
        self.report.hide()
        self._lay_out()
        self._start.clicked.connect(self._ask)
        self._stop.clicked.connect(self.stop_requested)
        self.form.changed.connect(self._tell_size)
        self.entered.connect(self._start.setFocus)
        self.show_state(BenchState())
        self.set_theme(theme)

    def show_state(self, state: BenchState) -> None:
        """Which buttons there are, and why one is grey."""
        had_keyboard, changes = self.has_keyboard(), self._start.isHidden() != state.running
        self._start.setVisible(not state.running)
        self._start.setEnabled(not state.reason)
        self._start.setToolTip(state.reason)
        self._stop.setVisible(state.running)
        self.form.setEnabled(not state.running)
        self._bar.setVisible(state.running)
        self._heat.setVisible(state.running)
        self._empty.setVisible(self.report.isHidden() and not state.running)
        if had_keyboard and changes:
            (self._stop if state.running else self._start).setFocus()
        if not state.running:
            self.show_progress(0, 0)
            self._heat.clear()
            self.say_stage(state.reason)

    def say_stage(self, sentence: str) -> None:
        """What is going on, or why nothing can."""
        self._status.setText(sentence)

    def show_progress(self, done: int, planned: int) -> None:
        """Heats that have ended, of how many; 0 before that is known."""
        self._bar.setRange(0, planned or 1)
        self._bar.setValue(done)

    def show_heat(self, text: str) -> None:
        """The last answer."""
        self._heat.setText(text)

    def show_record(self, record: BenchRecord) -> None:
        """What was found last."""
        self._empty.hide()
        self.report.show_record(record)
        self.report.show()

    def set_theme(self, theme: Theme) -> None:
        """Everything in other colours."""
        super().set_theme(theme)
        self.notice.set_theme(theme)
        self.report.set_theme(theme)

    @Slot()
    def _ask(self) -> None:
        self.start_requested.emit(self.form.size_wanted())

    @Slot()
    def _tell_size(self) -> None:
        self.size_changed.emit(self.form.size_wanted())

    def _lay_out(self) -> None:
        intro = QLabel(
            self.tr(
                "Measures on this machine what guessing ahead brings, with the model of the open chat: every way to "
                "decode answers the same prompts from a cold start, in changing order. Chats wait until it has ended."
            ),
            self,
        )
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Progress of the benchmark"))
        for label in (intro, self._status, self._heat, self._empty):
            label.setWordWrap(True)
            dress(label, "muted")
        dress(self._start, "primary")
        dress(self._stop, "plain")
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.addWidget(self._start)
        row.addWidget(self._stop)
        row.addWidget(self._status, 1)
        for part in (intro, self.form, self.notice):
            self.column.addWidget(part)
        self.column.addLayout(row)
        below: tuple[QWidget, ...] = (self._bar, self._heat, self._empty, self.report)
        for widget in below:
            self.column.addWidget(widget)
        self.column.addStretch(1)
