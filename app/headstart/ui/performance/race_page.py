"""The page of the race: one request, plain and speculative, side by side, and the proof."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeyEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from headstart.engine.engine import Finish, Step
from headstart.ui.performance.engine_job import JobPage
from headstart.ui.spelling import decimal
from headstart.ui.widgets.labels import Heading, button, label, muted, section
from headstart.ui.widgets.layouts import Card, TitledField, flowing
from headstart.ui.widgets.legend import Legend
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.stylesheet import dress, inset, mark
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, TINY, current, mono_families


@dataclass(frozen=True)
class Lane:
    """One answer as it came: its rounds and how it ended."""

    steps: tuple[Step, ...]
    finish: Finish

    @property
    def moments(self) -> tuple[float, ...]:
        """Milliseconds from the request to the end of each round, by the engine's clock."""
        stats = self.finish.stats
        spent = [0.0, *(step.round.timing.total_ms for step in self.steps[1:])]  # the first comes with the prompt
        total = sum(spent)
        # What passes between two rounds belongs to the answer, too: the last round ends when the answer does.
        scale = stats.decode_ms / total if total else 0.0
        return tuple(stats.ttft_ms + scale * elapsed for elapsed in accumulate(spent[: len(self.steps)]))

    @property
    def total_ms(self) -> float:
        """From the request to the end."""
        return self.finish.stats.ttft_ms + self.finish.stats.decode_ms

    @property
    def tokens(self) -> int:
        """Tokens written."""
        return self.finish.stats.output_tokens


@dataclass(frozen=True)
class Proof:
    """Two answers compared token by token. `first` is the place of the first difference, from 0."""

    equal: int
    total: int
    first: int | None

    @property
    def holds(self) -> bool:
        """Whether both are the same."""
        return self.first is None


def prove(plain: Sequence[int], other: Sequence[int]) -> Proof:
    """Compare token ids; of the longer answer every token counts."""
    alike = [mine == theirs for mine, theirs in zip_longest(plain, other)]
    return Proof(sum(alike), len(alike), alike.index(False) if False in alike else None)


@dataclass(frozen=True)
class RaceResult:
    """Both lanes of one request."""

    plain: Lane
    speculative: Lane

    @property
    def repeats(self) -> bool:
        """Whether the model repeated itself: to be fast at that is no gain."""
        return bool(self.plain.finish.stats.repeats or self.speculative.finish.stats.repeats)

    @property
    def speedup(self) -> float | None:
        """Plain milliseconds per token over speculative ones, after the first token; None where none is told."""
        if self.repeats:
            return None
        plain, speculative = self.plain.finish.stats.tpot_ms, self.speculative.finish.stats.tpot_ms
        return plain / speculative if plain and speculative else None

    @property
    def proof(self) -> Proof:
        """Whether both lanes wrote the same."""
        return prove(self.plain.finish.token_ids, self.speculative.finish.token_ids)


_TEXT_HEIGHT = 110  # pixels, at least


class RaceLane(Card):
    """Shows what it is given; colours tokens by who proposed them."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(title)
        self._runs: list[tuple[str, str]] = []
        self.tokens = 0
        self.clock = Heading("", 1.8, self)
        self._speed = muted("", self)  # on two lines where two lanes need more than a narrow window has
        self._bar = BusyBar(self.tr("Progress of: {}").format(title), self)
        self.text = QPlainTextEdit(self)
        self._lay_out(title)
        self._scale()
        self.clear()

    def clear(self) -> None:
        """Back to the start."""
        self._runs.clear()
        self.tokens = 0
        self.text.clear()
        self.clock.setText("–")
        self._speed.setText(self.tr("not started"))
        self.show_share(0.0)

    def grow(self, steps: Iterable[Step]) -> None:
        """Further rounds."""
        for step in steps:
            self.tokens += len(step.round.tokens)
            for piece in step.pieces:
                self._runs.append((piece.text, piece.origin.value))
                self._append(piece.text, piece.origin.value)
        bar = self.text.verticalScrollBar()
        bar.setValue(bar.maximum())

    def show_time(self, milliseconds: float, tokens_per_second: float | None) -> None:
        """The clock, and the speed so far where there is one."""
        self.clock.setText(self.tr("{} s").format(decimal(milliseconds / 1000, 2)))
        words = [self.tr("{} tokens").format(self.tokens)]
        if tokens_per_second is not None:
            words.insert(0, self.tr("{} tokens/s").format(decimal(tokens_per_second, 1)))
        self._speed.setText(" · ".join(words))

    def show_share(self, done: float) -> None:
        """How much of the way is done, 0 to 1."""
        self._bar.show_share(done, 1)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._scale()
        elif event.type() == QEvent.Type.PaletteChange:
            self.text.clear()
            for text, origin in self._runs:
                self._append(text, origin)

    def _scale(self) -> None:
        font = QFont(self.font())
        font.setFamilies(mono_families())
        self.text.setFont(font)

    def _append(self, text: str, origin: str) -> None:
        form = QTextCharFormat()
        form.setForeground(QColor(current().text))
        if mark := current().origins.get(origin):
            form.setBackground(QColor(mark.background))
            form.setUnderlineStyle(mark.underline)
            form.setUnderlineColor(QColor(mark.line))
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(text, form)

    def _lay_out(self, title: str) -> None:
        self.text.setReadOnly(True)
        self.text.setUndoRedoEnabled(False)
        self.text.setAccessibleName(self.tr("Text of: {}").format(title))
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setMinimumHeight(_TEXT_HEIGHT)
        names = QVBoxLayout()
        names.setSpacing(TINY)
        names.addWidget(section(title, self))
        names.addWidget(self._speed)
        head = QHBoxLayout()
        head.addLayout(names, 1)
        head.addWidget(self.clock)
        self.column.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, SMALL)
        self.column.addLayout(head)
        self.column.addWidget(self._bar)
        self.column.addWidget(self.text, 1)


_LINES = 3  # of the prompt's box


@dataclass(frozen=True)
class RaceRequest:
    """One race asked for."""

    prompt: str
    seed: int
    temperature: float
    tokens: int  # longest answer


class RaceForm(Card):
    """Ctrl+Enter in the prompt submits."""

    submitted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.examples = QComboBox(self)
        self.prompt = QPlainTextEdit(self)
        self.seed = QSpinBox(self)
        self.temperature = QDoubleSpinBox(self)
        self.tokens = QSpinBox(self)
        self._fill()
        self._lay_out()
        self.examples.activated.connect(self._take_example)
        self.prompt.installEventFilter(self)
        self._take_example()

    def wish(self) -> RaceRequest:
        """What the fields say."""
        text = self.prompt.toPlainText().strip()
        return RaceRequest(text, self.seed.value(), self.temperature.value(), self.tokens.value())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if watched is self.prompt and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self.submitted.emit()
                return True
        return super().eventFilter(watched, event)

    @Slot()
    def _take_example(self) -> None:
        self.prompt.setPlainText(self.examples.currentData())

    def _fill(self) -> None:
        for title, text in self._prompts():
            self.examples.addItem(title, text)
        self.seed.setRange(0, 2**31 - 1)
        self.temperature.setRange(0.0, 2.0)
        self.temperature.setSingleStep(0.1)
        self.temperature.setToolTip(self.tr("At 0 the likeliest token is always taken; the seed then changes nothing."))
        self.tokens.setRange(8, 2048)
        self.tokens.setSingleStep(40)
        self.tokens.setValue(240)
        self.prompt.setTabChangesFocus(True)
        self.prompt.setFixedHeight(self.prompt.fontMetrics().lineSpacing() * _LINES + 2 * MEDIUM)
        dress(self.prompt, "field")
        for spin in (self.seed, self.temperature, self.tokens):
            inset(spin)

    def _prompts(self) -> tuple[tuple[str, str], ...]:
        return (
            (
                self.tr("Code"),
                self.tr(
                    "Write a Python class LinkedList with the methods append, insert, remove, find and __iter__. "
                    "Use type hints and a docstring for every method. Answer with the code only."
                ),
            ),
            (
                self.tr("Tests"),
                self.tr(
                    "Write ten unit tests with pytest for a function slugify(text: str) -> str that makes web "
                    "addresses of titles. Answer with the code only."
                ),
            ),
            (self.tr("Explanation"), self.tr("Explain step by step how a hash table finds an entry.")),
            (
                self.tr("Letter"),
                self.tr("Write a polite letter to a neighbour about music that is too loud in the evening."),
            ),
            (
                self.tr("Story"),
                self.tr("Tell a short story about a lighthouse keeper who collects words."),
            ),
        )

    def _lay_out(self) -> None:
        self.prompt.setAccessibleName(self.tr("Prompt"))
        named: tuple[tuple[str, QWidget], ...] = (
            (self.tr("Example"), self.examples),
            (self.tr("Seed"), self.seed),
            (self.tr("Temperature"), self.temperature),
            (self.tr("Longest answer in tokens"), self.tokens),
        )
        self.column.addWidget(self.prompt)
        self.column.addWidget(flowing([TitledField(text, field, self, above=True) for text, field in named], self))


_WIDEST = 1500  # pixels: it is shown to an audience


class RacePage(JobPage):
    """Wishes are RaceRequests."""

    replay_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_WIDEST, parent)
        self.set_title(self.tr("Race"))
        self.run.start.setText(self.tr("Start the race"))
        self.run.stop.setText(self.tr("Stop"))
        self.form = RaceForm(self)
        self._replay = button(self.tr("Replay both at once"), self)
        self._speedup = Heading("", 2.6, self)
        self._speeds = label("", self, selectable=True)
        self._proof = label("", self, selectable=True)
        self.lanes = (RaceLane(self.tr("Plain"), self), RaceLane(self.tr("With speculation"), self))
        self._legend = Legend(self)
        self._lay_out()
        self.run.start_requested.connect(self._ask)
        self.form.submitted.connect(self._ask)
        self.entered.connect(self.form.prompt.setFocus)
        self._replay.clicked.connect(self.replay_requested)
        self.show_state(running=False)
        self.offer_replay(offered=False)
        self.show_result(None)

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Nothing can be filled in while it runs."""
        super().show_state(running=running, reason=reason)
        self.form.setEnabled(not running)

    def offer_replay(self, *, offered: bool) -> None:
        """Whether there is something to be shown again."""
        self._replay.setVisible(offered)

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
        intro = muted(
            self.tr(
                "The same request twice on an idle engine, with exact numerics: first plain, then with speculation. "
                "Speculation may only save time: both texts must be equal, token for token."
            ),
            self,
        )
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
        words.addWidget(self._proof)
        words.addWidget(self._speeds)
        row = QHBoxLayout(self._verdict)
        row.setContentsMargins(LARGE, SMALL, LARGE, SMALL)
        row.setSpacing(LARGE)
        row.addWidget(self._speedup)
        row.addLayout(words, 1)
        return self._verdict
