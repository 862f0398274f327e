"""The page of the benchmark: how much is measured, how it goes, what the last one found. Knows no engine."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLabel, QProgressBar, QWidget

from headstart.ui.performance.bench_form import BenchForm
from headstart.ui.performance.bench_record import BenchRecord
from headstart.ui.performance.bench_report import BenchReport
from headstart.ui.performance.run_row import RunRow
from headstart.ui.widgets.notice_bar import NoticeBar
from headstart.ui.widgets.page import Page
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import Theme

_WIDEST = 1100  # pixels


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
        self.run = RunRow(self.tr("Start the benchmark"), self.tr("Cancel"), self)
        self._bar = QProgressBar(self)
        self._heat = QLabel(self)
        self._empty = QLabel(self.tr("Nothing has been measured on this computer yet."), self)
        self.report = BenchReport(theme, self)
        self.report.hide()
        self._lay_out()
        self.run.start_requested.connect(self._ask)
        self.run.stop_requested.connect(self.stop_requested)
        self.form.changed.connect(self._tell_size)
        self.entered.connect(self.run.start.setFocus)
        self.show_state(running=False)
        self.set_theme(theme)

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Which buttons there are. `reason`: why none can start; empty where one can."""
        self.run.show_state(running=running, reason=reason)
        self.form.setEnabled(not running)
        self._bar.setVisible(running)
        self._heat.setVisible(running)
        self._empty.setVisible(self.report.isHidden() and not running)
        if not running:
            self.show_progress(0, 0)
            self._heat.clear()
            self.run.say(reason)

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
        for label in (intro, self._heat, self._empty):
            label.setWordWrap(True)
            dress(label, "muted")
        above: tuple[QWidget, ...] = (intro, self.form, self.notice, self.run)
        for part in (*above, self._bar, self._heat, self._empty, self.report):
            self.column.addWidget(part)
        self.column.addStretch(1)
