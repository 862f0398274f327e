"""The page of the race: one request, plain and speculative, side by side, and the proof. Knows no engine."""

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart.ui.performance.race_form import RaceForm
from headstart.ui.performance.race_lane import RaceLane
from headstart.ui.performance.race_record import RaceResult
from headstart.ui.performance.run_row import RunRow
from headstart.ui.spelling import decimal
from headstart.ui.widgets.legend import Legend
from headstart.ui.widgets.notice_bar import NoticeBar
from headstart.ui.widgets.page import Page
from headstart.ui.widgets.stylesheet import dress, mark
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, TINY, Theme

_WIDEST = 1500  # pixels: it is shown to an audience


@dataclass(frozen=True)
class RaceState:
    """What can be done now. `reason`: why no race can start; empty where one can."""

    running: bool = False
    reason: str = ""
    replayable: bool = False


class RacePage(Page):
    """Emits what a person wants; shows what it is told."""

    start_requested = Signal(object)  # RaceWish
    stop_requested = Signal()
    replay_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(_WIDEST, parent)
        self.set_title(self.tr("Race"))
        self._reason = ""
        self.form = RaceForm(self)
        self.notice = NoticeBar(theme, self)
        self.run = RunRow(self.tr("Start the race"), self.tr("Stop"), self)
        self._replay = QPushButton(self.tr("Replay both at once"), self)
        self._speedup = QLabel(self)
        self._speeds = QLabel(self)
        self._proof = QLabel(self)
        self.lanes = (RaceLane(self.tr("Plain"), theme, self), RaceLane(self.tr("With speculation"), theme, self))
        self._legend = Legend(theme, self)
        self._lay_out()
        self.run.start_requested.connect(self._ask)
        self.form.submitted.connect(self._ask)
        self.entered.connect(self.form.prompt.setFocus)
        self.run.stop_requested.connect(self.stop_requested)
        self._replay.clicked.connect(self.replay_requested)
        self.show_state(RaceState())
        self.show_result(None)
        self.set_theme(theme)

    def show_state(self, state: RaceState) -> None:
        """Which buttons there are, and why one is grey."""
        self.run.show_state(running=state.running, reason=state.reason)
        self._replay.setVisible(state.replayable and not state.running)
        self.form.setEnabled(not state.running)
        if state.reason or self.run.sentence == self._reason:
            self.run.say(state.reason)
        self._reason = state.reason

    def show_result(self, result: RaceResult | None) -> None:
        """Speedup and proof; None before and while it runs."""
        self._verdict.setVisible(result is not None)
        if result is None:
            return
        speedup, proof = result.speedup, result.proof
        self._speedup.setText("–" if speedup is None else f"{decimal(speedup, 2)}×")
        self._speeds.setText(self._pace(result))
        equal = self.tr("{equal} of {total} tokens equal: both wrote the same.")
        differ = self.tr("{equal} of {total} tokens equal; the first difference is at token {first}.")
        words = (equal if proof.holds else differ).format(
            equal=proof.equal, total=proof.total, first=(proof.first or 0) + 1
        )
        self._proof.setText(words)
        mark(self._proof, "kind", "success" if proof.holds else "danger")
        self._verdict.setAccessibleName(f"{self._speedup.text()} {self._speeds.text()} {words}")

    def set_theme(self, theme: Theme) -> None:
        """Everything in other colours."""
        super().set_theme(theme)
        self.notice.set_theme(theme)
        self._legend.set_theme(theme)
        font = self.font()
        font.setPointSizeF(self.font().pointSizeF() * 2.6)
        font.setBold(True)
        self._speedup.setFont(font)
        for lane in self.lanes:
            lane.set_theme(theme)

    @Slot()
    def _ask(self) -> None:
        wish = self.form.wish()
        if self.run.can_start and wish.prompt:
            self.start_requested.emit(wish)

    def _pace(self, result: RaceResult) -> str:
        if result.repeats:
            return self.tr("The model repeats itself, and to be fast at that is no gain. Try another prompt.")
        plain, other = (lane.finish.stats.tpot_ms for lane in (result.plain, result.speculative))
        if plain is None or other is None:
            return self.tr("The answer is too short for a speed.")
        return self.tr("{plain} ms per token plain, {other} ms with speculation, measured here in this race").format(
            plain=decimal(plain, 1), other=decimal(other, 1)
        )

    def _lay_out(self) -> None:
        intro = QLabel(
            self.tr(
                "The same request twice on an idle engine, with exact numerics: first plain, then with speculation. "
                "Speculation may only save time: both texts must be equal, token for token."
            ),
            self,
        )
        intro.setWordWrap(True)
        dress(intro, "muted")
        self.run.insert(self._replay)
        lanes = QHBoxLayout()
        lanes.setSpacing(MEDIUM)
        for lane in self.lanes:
            lanes.addWidget(lane, 1)
        for part in (intro, self.form, self.notice, self.run, self._band()):
            self.column.addWidget(part)
        self.column.addLayout(lanes, 1)
        self.column.addWidget(self._legend)

    def _band(self) -> QWidget:
        self._verdict = QFrame(self)
        dress(self._verdict, "bar")
        words = QVBoxLayout()
        words.setSpacing(TINY)
        for label in (self._proof, self._speeds):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            words.addWidget(label)
        row = QHBoxLayout(self._verdict)
        row.setContentsMargins(LARGE, SMALL, LARGE, SMALL)
        row.setSpacing(LARGE)
        row.addWidget(self._speedup)
        row.addLayout(words, 1)
        return self._verdict
