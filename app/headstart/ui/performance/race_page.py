"""The page of the race: one request, plain and speculative, side by side, and the comparison."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, zip_longest

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QFont, QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QWidget,
)

from headstart.engine.engine import Finish, Step
from headstart.parameters import SamplingParams
from headstart.ui.formatting import decimal
from headstart.ui.performance.engine_job import NO_FIGURE, JobPage
from headstart.ui.settings.settings_form import NumberBox, title
from headstart.ui.widgets.focus import FocusRing, pass_wheel
from headstart.ui.widgets.labels import Heading, button, label, muted, section
from headstart.ui.widgets.layouts import Card, TitledField, add, beside, flowing, stacked
from headstart.ui.widgets.legend import Legend
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.stylesheet import set_style_class, set_style_property
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, TINY, mono_families, origin_format, scaled


@dataclass(frozen=True)
class Lane:
    """A finished answer, with the times of its rounds."""

    steps: tuple[Step, ...]  # one for each round
    finish: Finish

    @cached_property
    def moments(self) -> tuple[float, ...]:
        """Milliseconds from the request to the end of each round, by the engine's clock."""
        stats = self.finish.stats
        spent = [0.0, *(step.round.timing.total_ms for step in self.steps[1:])]  # the first step comes with the prompt
        total = sum(spent)
        # The time between two rounds belongs to the answer, too: the last round ends when the answer does.
        scale = stats.decode_ms / total if total else 0.0
        return tuple(stats.ttft_ms + scale * elapsed for elapsed in accumulate(spent[: len(self.steps)]))

    @property
    def total_ms(self) -> float:
        """Milliseconds from the request to the end."""
        return self.finish.stats.ttft_ms + self.finish.stats.decode_ms

    @property
    def tokens(self) -> int:
        return self.finish.stats.output_tokens

    def speed(self, tokens: int, now: float) -> float | None:
        """Return the tokens per second after the first, `now` ms after the request, when `tokens` were written."""
        if now >= self.total_ms:
            return self.finish.stats.tokens_per_second
        spent = now - self.finish.stats.ttft_ms
        return (tokens - 1) * 1000.0 / spent if tokens > 1 and spent > 0 else None


_MIN_RATIO = 1.05  # of two times; what is less is no difference


@dataclass(frozen=True)
class RaceResult:
    """Both lanes of a request, and the slower of two plain answers, which shows how steady the machine is."""

    plain: Lane
    speculative: Lane
    slower_plain: Lane

    @property
    def noise(self) -> float:
        """The time of the slower plain answer over that of the faster one."""
        return self.slower_plain.total_ms / self.plain.total_ms

    @property
    def is_repetitive(self) -> bool:
        """True if the model repeated itself: speed is no gain then."""
        return bool(self.plain.finish.stats.repeats or self.speculative.finish.stats.repeats)

    @property
    def speedup(self) -> float | None:
        """The time of the plain lane divided by the other's, as the clocks show them; None if the times say nothing."""
        plain, other = (round(lane.total_ms, -1) for lane in (self.plain, self.speculative))
        is_comparable = self.plain.tokens == self.speculative.tokens > 1 and not self.is_repetitive
        return plain / other if is_comparable and other else None

    @property
    def is_clear(self) -> bool:
        """True if the other lane is faster, or slower, than both plain answers by more than these differ."""
        limit, other = max(self.noise, _MIN_RATIO), self.speculative.total_ms
        return self.plain.total_ms / other >= limit or other / self.slower_plain.total_ms >= limit

    @property
    def matches(self) -> tuple[bool, ...]:
        """True for each token that both lanes have; every token of the longer answer counts."""
        pairs = zip_longest(self.plain.finish.token_ids, self.speculative.finish.token_ids)
        return tuple(plain == other for plain, other in pairs)


_MIN_TEXT_HEIGHT = 110  # pixels


class RaceLane(Card):
    """An answer as it grows; colours show who proposed each token."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(title)
        self._pieces: list[tuple[str, str]] = []  # text, origin
        self.rounds = self.tokens = 0
        self.clock = Heading("", 1.8, self)
        self._speed = muted("", self)  # on two lines if a narrow window needs them
        self._bar = BusyBar(self.tr("Progress of: {}").format(title), self)
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setUndoRedoEnabled(False)
        self.text.setAccessibleName(self.tr("Text of: {}").format(title))
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setMinimumHeight(_MIN_TEXT_HEIGHT)
        self._end = 0  # of the text's scroll bar
        self.text.verticalScrollBar().rangeChanged.connect(self._on_range_changed)
        FocusRing(self.text)
        head, name = QHBoxLayout(), section(title, self)
        name.setWordWrap(True)  # or two lanes are wider than a small page
        head.addLayout(stacked(None, name, self._speed, spacing=TINY), 1)
        head.addWidget(self.clock)
        self.column.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, SMALL)
        add(self.column, head, self._bar, self.text, growing=self.text)
        self._set_font()
        self.clear()

    def clear(self) -> None:
        self._pieces.clear()
        self.rounds = self.tokens = 0
        self.text.clear()
        self.clock.setText(NO_FIGURE)
        self._speed.setText(self.tr("not started"))
        self.show_share(0.0)

    def grow(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self.rounds += 1
            self.tokens += len(step.round.tokens)
            for piece in step.pieces:
                self._pieces.append((piece.text, piece.origin.value))
                self._append(piece.text, piece.origin.value)

    def show_time(self, milliseconds: float, tokens_per_second: float | None) -> None:
        """Show the time, and the speed so far if it is known."""
        self.clock.setText(self.tr("{} s").format(decimal(milliseconds / 1000, 2)))
        words = [self.tr("{} tokens").format(self.tokens)]
        if tokens_per_second is not None:
            words.insert(0, self.tr("{} tokens/s").format(decimal(tokens_per_second, 1)))
        self._speed.setText(" · ".join(words))

    def show_share(self, share: float) -> None:
        """Show the share of the answer that is there, from 0 to 1."""
        self._bar.show_share(share, 1)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._set_font()
        elif event.type() == QEvent.Type.PaletteChange:
            self.text.clear()
            for text, origin in self._pieces:
                self._append(text, origin)

    @Slot(int, int)
    def _on_range_changed(self, _first: int, end: int) -> None:
        """Stay at the end of the text as it grows and as the lane shrinks, unless the user has scrolled up."""
        bar = self.text.verticalScrollBar()
        if bar.value() >= self._end:
            bar.setValue(end)
        self._end = end

    def _set_font(self) -> None:
        font = QFont(self.font())
        font.setFamilies(mono_families())
        self.text.setFont(font)

    def _append(self, text: str, origin: str) -> None:
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(text, origin_format(origin))


_PROMPT_LINES = 3  # of the prompt's box
_ANSWER_TOKENS = 240  # a race shows its result soon


@dataclass(frozen=True)
class RaceRequest:
    prompt: str
    seed: int
    temperature: float
    tokens: int  # longest answer


class RaceForm(Card):
    """The request of a race. Enter in the prompt submits it, Shift+Enter begins a line."""

    submitted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.examples = QComboBox(self)
        for name, text in self._examples():
            self.examples.addItem(name, text)
        self.prompt = QPlainTextEdit(self)
        self.prompt.setAccessibleName(self.tr("Prompt"))
        self.prompt.setTabChangesFocus(True)
        self.prompt.installEventFilter(self)
        set_style_class(self.prompt, "field")
        pass_wheel(self.examples)
        self.seed = NumberBox("seed", self)
        self.temperature = NumberBox("temperature", self)
        self.tokens = NumberBox("max_new_tokens", self)
        defaults = SamplingParams()
        self.seed.setValue(defaults.seed)
        self.temperature.setValue(defaults.temperature)
        self.tokens.setValue(_ANSWER_TOKENS)
        titled_fields: tuple[tuple[str, QWidget], ...] = (
            (self.tr("Example"), self.examples),
            (title("seed"), self.seed),
            (title("temperature"), self.temperature),
            (title("max_new_tokens"), self.tokens),
        )
        self.column.addWidget(self.prompt)
        self.column.addWidget(
            flowing([TitledField(text, field, self, above=True) for text, field in titled_fields], self)
        )
        self.examples.activated.connect(self._on_example_chosen)
        self._size_prompt()
        self._on_example_chosen()

    def request(self) -> RaceRequest | None:
        """Return the request; None without a prompt."""
        text = self.prompt.toPlainText().strip()
        request = RaceRequest(text, int(self.seed.value()), self.temperature.value(), int(self.tokens.value()))
        return request if text else None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.prompt and event.type() == QEvent.Type.FontChange:
            self._size_prompt()
        is_key = watched is self.prompt and event.type() == QEvent.Type.KeyPress
        if is_key and isinstance(event, QKeyEvent) and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier):
                cursor = self.prompt.textCursor()
                cursor.setPosition(cursor.selectionEnd())  # a new line replaces nothing
                cursor.insertText("\n")
                self.prompt.setTextCursor(cursor)
            else:
                self.submitted.emit()
            return True
        return super().eventFilter(watched, event)

    def _size_prompt(self) -> None:
        self.prompt.setFixedHeight(self.prompt.fontMetrics().lineSpacing() * _PROMPT_LINES + 2 * MEDIUM)

    @Slot()
    def _on_example_chosen(self) -> None:
        self.prompt.setPlainText(self.examples.currentData())
        self.prompt.selectAll()  # typing replaces the example

    def _examples(self) -> tuple[tuple[str, str], ...]:
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


_MAX_WIDTH = 1500  # pixels; it is shown to an audience
# Pixels at the usual size of text.
_WIDE = 800  # from which on the verdict is in one row
_WIDE_LANES = 520  # from which on both lanes have room beside each other


class RacePage(JobPage):
    """The page of the race: the form, the verdict and two lanes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("Race"),
            self.tr("Start the race"),
            self.tr(
                "The model answers one request without and with Headstart's speed-up: the next words are guessed, and "
                "the model checks several at once. Both texts are the same."
            ),
            parent,
            max_width=_MAX_WIDTH,
        )
        self.stop.setText(self.tr("Stop"))
        self.form = RaceForm(self)
        self.replay = button(self.tr("Replay both at once"), self)
        self._speedup = Heading("", 2.6, self)
        self._measured = muted("", self, selectable=True)
        self._proof = label("", self, selectable=True)
        self.lanes = (RaceLane(self.tr("Without speed-up"), self), RaceLane(self.tr("With speed-up"), self))
        self.lay_out(self.form)
        self.row.insertWidget(self.row.count() - 1, self.replay)
        self._lanes_row = beside(None, spacing=MEDIUM)
        for lane in self.lanes:
            self._lanes_row.addWidget(lane, 1)
        self.legend = Legend(self)
        self.legend.hide()  # until a word is marked
        add(self.column, self._verdict_bar(), self._lanes_row, self.legend, growing=self._lanes_row)
        self.entered.connect(self.form.prompt.setFocus)
        self.show_state(running=False)
        self.show_replay(possible=False)
        self.show_result(None)

    def request(self) -> RaceRequest | None:
        return self.form.request()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def show_replay(self, *, possible: bool) -> None:
        self.replay.setVisible(possible)

    def show_result(self, result: RaceResult | None, setting: str = "") -> None:
        """Show speedup, comparison and settings of a race; None hides them before and during the race."""
        self._verdict.setVisible(result is not None)
        if result is None:
            return
        matches = result.matches
        self._speedup.setText(self._headline(result))
        self._measured.setText(f"{self._measurement_text(result)}\n{setting}".strip())
        equal = self.tr("Identical: {equal} of {total} tokens.")
        differ = self.tr("{equal} of {total} tokens are equal; the first difference is at token {first}.")
        words = (equal if all(matches) else differ).format(
            equal=sum(matches), total=len(matches), first=(*matches, False).index(False) + 1
        )
        self._proof.setText(words)
        set_style_property(self._proof, "kind", "success" if all(matches) else "danger")
        self._verdict.setAccessibleName(f"{self._speedup.text()} {words} {self._measured.text()}")

    def _headline(self, result: RaceResult) -> str:
        if result.speedup is None:
            return NO_FIGURE
        return f"{decimal(result.speedup, 2)}×" if result.is_clear else self.tr("No clear difference")

    def _measurement_text(self, result: RaceResult) -> str:
        """Return how the times were measured, or why they are not compared."""
        if result.is_repetitive:
            return self.tr("The model repeats itself, so its speed is no gain. Try another prompt.")
        if result.plain.tokens != result.speculative.tokens:
            return self.tr("The answers differ in length, so their times cannot be compared.")
        if result.speedup is None:
            return self.tr("The answer is too short for a speed.")
        faster, slower = (decimal(lane.total_ms / 1000, 2) for lane in (result.plain, result.slower_plain))
        return self.tr(
            "Without speed-up it was run twice, to see how steady this computer is: {faster} s, which counts, and "
            "{slower} s."
        ).format(faster=faster, slower=slower)

    def _verdict_bar(self) -> QWidget:
        self._verdict = QFrame(self)
        set_style_class(self._verdict, "bar")
        words = stacked(None, self._proof, self._measured, spacing=TINY)
        self._verdict_row = beside(self._verdict, self._speedup, words, growing=words)
        self._verdict_row.setContentsMargins(LARGE, SMALL, LARGE, SMALL)
        return self._verdict

    def _fit(self) -> None:
        """Stack the parts of the verdict, and the lanes, where the page is too narrow for them in one row."""
        self._verdict_row.setDirection(self._direction(_WIDE))
        is_wide = self._verdict_row.direction() == QBoxLayout.Direction.LeftToRight
        self._verdict_row.setSpacing(LARGE if is_wide else TINY)
        self._speedup.setWordWrap(not is_wide)
        self._lanes_row.setDirection(self._direction(_WIDE_LANES))

    def _direction(self, wide: int) -> QBoxLayout.Direction:
        """Return a row if the page is `wide` pixels wide at the usual size of text, else a column."""
        directions = QBoxLayout.Direction
        return directions.LeftToRight if self.width() >= scaled(wide, self.font()) else directions.TopToBottom
