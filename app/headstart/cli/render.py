"""Output: answers on standard output, remarks and figures on standard error, tables and progress."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment, Segments
from rich.style import Style
from rich.table import Table
from rich.text import Text

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Call,
    Engine,
    Finish,
    FinishReason,
    Origin,
    Phase,
    Piece,
    Prefill,
    Stats,
    Step,
    no_stats,
)
from headstart.engine.origins import MARKED, ORIGINS
from headstart.engine.protocol import Loading
from headstart.engine.stats import NoGain, figures, rows, speedup
from headstart.errors import EngineLostError
from headstart.tools import calls
from headstart.tools.loop import ToolLoop

if TYPE_CHECKING:
    from headstart.cli.answer_view import AnswerView

# A model, a manifest or a pasted text may hold escape sequences that recolour, retitle or rewrite your terminal, and
# bidirectional overrides that show other text than there is.
_C0_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t\r"}
_C1_ESCAPES = {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
_BIDI_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
# A carriage return lets later text overwrite earlier text; before a line feed it has no meaning.
_REPLACEMENTS: dict[int, int | str | None] = {**_C0_PICTURES, **_C1_ESCAPES, **_BIDI_ESCAPES, 0x7F: 0x2421, 0x0D: None}


def harmless(text: str) -> str:
    """Return `text` with control characters as symbols (ESC as "␛").

    Line feeds and tabs stay; carriage returns are removed.
    """
    return text.translate(_REPLACEMENTS)


def count(number: int, noun: str) -> str:
    """Return a number with a noun whose plural ends in s, such as "2 answers"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_FILE_WIDTH = 1000  # width if the output is not a terminal


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Print a table. Each column is as wide as its widest cell; on a narrow terminal long cells are wrapped."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*(Text(harmless(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        print(line.rstrip())


STYLES = {
    origin: Style.parse(" ".join((*look.emphasis, "underline", look.colour))) if look.colour else Style()
    for origin, look in ORIGINS.items()
}
_DIM = Style(dim=True)


class Screen:
    """A terminal or file that answers are streamed to, and remarks are printed on.

    Styles appear on a terminal only; NO_COLOR leaves the underlines. On a terminal, words are wrapped at its edge, and
    Markdown is rendered if there are colours.
    """

    def __init__(
        self,
        *,
        colour: bool = True,
        origins: bool = False,
        text: bool = True,
        markdown: bool = True,
        thinking: bool | None = None,
    ) -> None:
        """`origins` styles tokens by origin; without `text` no answer is shown, because it is printed as JSON.

        `markdown` renders the marks of an answer; `thinking` shows thinking, if it is None on a terminal only.
        """
        self._out = Console(no_color=None if colour else True, highlight=False)
        self._shows_thinking = self._out.is_terminal if thinking is None else thinking
        self.remarks = Console(stderr=True, no_color=None if colour else True, highlight=False)
        self._origins = origins
        self._markdown = markdown and not origins and not self._out.no_color
        self.text = text
        self._open: Console | None = None  # where text is being written
        self._line_open = False
        self._view: AnswerView | None = None
        self._waiting: Progress | None = None

    def wait(self) -> None:
        """Count the seconds until the first word, on a terminal only."""
        self._waiting = _spinner(self.remarks)
        self._waiting.add_task("reading the prompt", total=None)
        self._waiting.start()

    def show_prefill(self, prefill: Prefill) -> None:
        """Show the progress of reading the prompt on a terminal, and print why it is read again."""
        if prefill.note:
            self.end_answer()
            self.remark(prefill.note)
        if self._waiting:
            task = self._waiting.task_ids[0]
            self._waiting.update(task, description=f"reading the prompt, {prefill.done} of {prefill.total} tokens")

    def show_step(self, step: Step) -> None:
        """Show the text of one round: thinking dimmed on standard error, the answer on standard output."""
        if not self.text:
            return
        pieces = step.pieces if self._origins else _merged(step)
        if step.thinking:
            self._think(tuple(piece for piece in pieces if piece.is_thinking))
        if step.text:
            answer = tuple(piece for piece in pieces if not piece.is_thinking) or (Piece(step.text, Origin.TARGET),)
            self._write(self._out, [(piece.text, STYLES[piece.origin]) for piece in answer])

    def end_answer(self) -> None:
        """Close the answer's last line."""
        self._end_waiting()
        self._close()

    def remark(self, *sentences: str) -> None:
        """Print sentences on lines of their own, apart from the answer."""
        for sentence in sentences:
            self._print(f"· {sentence}")

    def diff(self, text: str) -> None:
        """Print a unified diff in its usual colours."""
        for line in text.removesuffix("\n").split("\n") if text else ():
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            self.remarks.print(Text(harmless(line), style=style), soft_wrap=True)

    def complain(self, sentence: str) -> None:
        """Print an error with its remedy."""
        self._print(f"headstart: {sentence}")

    def _print(self, line: str) -> None:
        self.remarks.print(Text(harmless(line)), soft_wrap=not self.remarks.is_terminal)

    def legend(self) -> None:
        """Print the meanings of the styles of `origins`."""
        if self._origins and self.text and self._out.is_terminal:
            words = [Text(ORIGINS[Origin.TARGET].label)]
            for origin in MARKED:
                look = ORIGINS[origin]
                marks = " and ".join((*look.emphasis, "underlined"))
                words.append(Text(f"{look.label}, {marks}", style=STYLES[origin]))
            self.remarks.print(Text("· tokens by origin: ") + Text(", ").join(words))

    def _think(self, pieces: tuple[Piece, ...]) -> None:
        if not self._shows_thinking:
            if self._waiting:
                self._waiting.update(self._waiting.task_ids[0], description="thinking")
            return
        if self._open is not self.remarks:
            self._end_waiting()
            self._close()
            self.remark("thinking")
            pieces = (replace(pieces[0], text=pieces[0].text.lstrip("\n")), *pieces[1:])
        self._write(self.remarks, [(piece.text, _DIM + STYLES[piece.origin]) for piece in pieces])

    def _write(self, console: Console, parts: Sequence[tuple[str, Style]]) -> None:
        self._end_waiting()
        if self._open is not console:
            self._close()
            self._open = console
        if console.is_interactive:  # a terminal that takes control codes
            if self._view is None:
                from headstart.cli.answer_view import AnswerView

                self._view = AnswerView(console, markdown=self._markdown and console is self._out)
            self._view.write(Text.assemble(*((harmless(text), style) for text, style in parts)))
            return
        # Segments pass through rich unchanged; its Text would expand tabs and wrap lines.
        segments = [Segment(harmless(text), style) for text, style in parts if text]
        if segments:
            console.print(Segments(segments), end="", soft_wrap=True)
            console.file.flush()
            self._line_open = not segments[-1].text.endswith("\n")

    def _close(self) -> None:
        """Close the last line of the thinking, or of the answer. A blank line follows thinking."""
        if self._view:
            self._view.close()
            self._view = None
        if self._open and self._line_open:
            self._open.print(Segments([Segment("\n")]), end="", soft_wrap=True)
        if self._open is self.remarks:
            self.remarks.print()
        self._open, self._line_open = None, False

    def _end_waiting(self) -> None:
        if self._waiting:
            self._waiting.stop()
        self._waiting = None


def _merged(step: Step) -> tuple[Piece, ...]:
    """Return the thinking and the text of a step without their origins."""
    pieces = (Piece(step.thinking, Origin.TARGET, is_thinking=True), Piece(step.text, Origin.TARGET))
    return tuple(piece for piece in pieces if piece.text)


@contextmanager
def on_ctrl_c(callback: Callable[[], None]) -> Iterator[None]:
    """Context manager in which Ctrl+C calls `callback` instead of raising. Python allows it on the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, lambda _number, _frame: callback())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@dataclass(frozen=True)
class WrittenAnswer:
    """An answer, or the part up to a call of a tool."""

    text: str
    token_ids: tuple[int, ...]
    reason: FinishReason  # CANCELLED: the answer is partial
    stats: Stats
    fault: str = ""  # how the engine was lost
    thinking: str = ""
    call: Call | None = None  # the model waits for its result


def answer(engine: Engine, loop: ToolLoop, screen: Screen) -> WrittenAnswer:
    """Stream an answer to the screen, up to its end or to a call of a tool. Ctrl+C ends it within one round.

    Raises what the engine raises; EngineLostError only before the first word.
    """
    cancel, text, thinking = CancelEvent(), list[str](), list[str]()
    screen.wait()
    try:
        with on_ctrl_c(cancel.set):
            for event in calls.events(lambda request: engine.generate(request, cancel), loop.request):
                match event:
                    case Prefill():
                        screen.show_prefill(event)
                    case Step():
                        visible = loop.take(event)
                        screen.show_step(visible)
                        text.append(visible.text)
                        thinking.append(visible.thinking)
                    case Finish():
                        rest, call = loop.end()
                        if rest:
                            screen.show_step(rest)
                            text.append(rest.text)
                        call = None if event.reason is FinishReason.CANCELLED else call
                        thoughts = "".join(thinking)
                        return WrittenAnswer(
                            "".join(text), event.token_ids, event.reason, event.stats, thinking=thoughts, call=call
                        )
    except EngineLostError as error:
        if not any(text + thinking):
            raise
        return WrittenAnswer("".join(text), (), FinishReason.CANCELLED, no_stats(), str(error), "".join(thinking))
    finally:
        screen.end_answer()
    raise AssertionError("an engine ends every answer with Finish")


_PHASE_TEXTS = {
    Phase.SERVER: "asking the other computer",
    Phase.RUNTIME: "starting OpenVINO",
    Phase.PROOF: "trying the precision, once",
    Phase.MODEL: "loading the model",
    Phase.DRAFT: "loading the draft model",
    Phase.WARM_UP: "warming up",
}


def _spinner(console: Console) -> Progress:
    """Return a line that shows the current work and its duration, and disappears."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.is_interactive,
    )


@contextmanager
def show_loading() -> Iterator[Callable[[Loading], None]]:
    """Context manager that gives a function to call with each step of loading. The line disappears at the end."""
    with _spinner(Console(stderr=True)) as progress:
        task = progress.add_task(_PHASE_TEXTS[Phase.RUNTIME], total=None)

        def report(step: Loading) -> None:
            expectation = f", usually about {step.expected:.0f} s in all" if step.expected else ""
            progress.update(task, description=f"{_PHASE_TEXTS[step.phase]}{expectation}")

        yield report


@contextmanager
def show_reading(name: str) -> Iterator[Callable[[int, int], None]]:
    """Context manager that gives a function to call with the progress of reading a file, in parts."""
    with _spinner(Console(stderr=True)) as progress:
        task = progress.add_task(f"reading {name}", total=None)

        def report(done: int, total: int) -> None:
            progress.update(task, description=f"reading {name}, {100 * done // max(total, 1)} %")

        yield report


def stats_line(stats: Stats) -> str:
    """The speed of one answer, and the gain of speculation if it is known."""
    return f"{_speed(stats)}, {stats.speedup:.2f}x plain decoding" if stats.speedup else _speed(stats)


def stats_lines(stats: Stats) -> list[str]:
    """The statistics of one answer, a line for each subject; the last line is the gain of speculation."""
    is_reported = speedup(figures(stats)) is not NoGain.NOT_REPORTED
    rounds = [_origins(stats), _time(stats)] if is_reported else []
    return [_speed(stats), _acceptance(stats), *rounds, _context(stats), gain(stats)]


_NO_GAIN = {
    NoGain.NOT_REPORTED: "another program wrote this answer and does not report what guessing gave",
    NoGain.NO_GUESSES: "plain decoding: nothing was guessed ahead",
    NoGain.REPETITION: "no comparison with plain decoding: the model repeats itself, and speed at that is no gain",
    NoGain.NOT_MEASURED: "no comparison with plain decoding yet: too little was measured",
}


def gain(stats: Stats) -> str:
    """One sentence on the gain of speculation for this answer."""
    factor = speedup(figures(stats))
    if isinstance(factor, NoGain):
        return _NO_GAIN[factor]
    shown = round(factor, 2)
    if shown == 1.0:
        return "as fast as plain decoding: what guessing saved, it cost"
    if shown > 1.0:
        return f"{shown:.2f}x plain decoding on this machine"
    return f"speculation did not pay on this text: {factor:.2f}x plain decoding"


def _speed(stats: Stats) -> str:
    rate = f"{stats.tokens_per_second:.1f} tok/s" if stats.tokens_per_second else "too short for a speed"
    thinking = f", {stats.thinking_tokens} of them thinking" if stats.thinking_tokens else ""
    tokens = f"{count(stats.output_tokens, 'token')}{thinking}"
    return f"{rate}, {stats.ttft_ms:.0f} ms to the first token (TTFT), {tokens}"


def _acceptance(stats: Stats) -> str:
    named = rows(figures(stats))
    if "acceptance" in named and "tokens per round" in named:
        rate, accepted, drafted = named["acceptance"]
        return (
            f"acceptance {rate:.0%} ({accepted} of {drafted} guesses), "
            f"mean accepted length {named['tokens per round']:.2f} over {count(stats.rounds, 'round')}"
        )
    if named["speedup"] is NoGain.NOT_REPORTED:
        return "guesses are not reported"
    return f"nothing guessed in {count(stats.rounds, 'round')}"


def _origins(stats: Stats) -> str:
    total = sum(stats.by_origin.values()) or 1
    usual = (Origin.TARGET, Origin.DRAFT, Origin.NGRAM)
    shown = [origin for origin in Origin if origin in usual or stats.by_origin.get(origin)]
    shares = [f"{ORIGINS[origin].name} {stats.by_origin.get(origin, 0) / total:.0%}" for origin in shown]
    return f"tokens by origin: {', '.join(shares)}"


def _time(stats: Stats) -> str:
    parts = ", ".join(f"{part} {spent:.0f} ms" for part, spent in stats.by_part.items())
    return f"decoding time: {parts or 'none'}; {stats.ledger_ms:.0f} ms saved against plain decoding"


def _context(stats: Stats) -> str:
    if not stats.context_length:
        return f"context: {count(stats.prompt_tokens, 'token')} of prompt, {stats.reused_tokens} of it reused"
    return f"context: {stats.context_used} of {stats.context_length} tokens, {stats.reused_tokens} of the prompt reused"
