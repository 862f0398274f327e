"""What a person sees: answers on standard output, remarks on standard error, tables and progress."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.control import Control
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import ControlType, Segment, Segments
from rich.style import Style
from rich.table import Table
from rich.text import Text

from headstart.engine.engine import Origin, Piece, Prefill, Step
from headstart.engine.protocol import Loading, Phase

# A model, a manifest or a pasted text may hold escape sequences that would recolour, retitle or rewrite the user's
# terminal, and bidirectional overrides that would show other text than there is.
_C0_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t\r"}
_C1_ESCAPES = {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
_BIDI_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
# A carriage return would let later text overwrite earlier text; before a line feed it says nothing more.
_TABLE: dict[int, int | str | None] = {**_C0_PICTURES, **_C1_ESCAPES, **_BIDI_ESCAPES, 0x7F: 0x2421, 0x0D: None}


def harmless(text: str) -> str:
    """`text` with control characters shown as symbols (ESC as "␛"); line feeds and tabs stay, carriage returns go."""
    return text.translate(_TABLE)


def count(number: int, noun: str) -> str:
    """As in 1 answer, 2 answers; for nouns that take an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_FILE_WIDTH = 1000  # characters, where the output is no terminal


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Every column is as wide as its widest cell; a narrow terminal gets longer cells in several lines."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*(Text(harmless(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    with console.capture() as shown:
        console.print(table)
    for line in shown.get().splitlines():
        print(line.rstrip())


# Underlines and weight as well as colour: colour alone would exclude readers.
STYLES = {
    Origin.TARGET: Style(),
    Origin.DRAFT: Style(color="green", underline=True),
    Origin.NGRAM: Style(color="magenta", bold=True, underline=True),
    Origin.BIGRAM: Style(color="cyan", italic=True, underline=True),
    Origin.UNKNOWN: Style(),
}
_LEGEND = {
    Origin.TARGET: "the model itself",
    Origin.DRAFT: "draft model, underlined",
    Origin.NGRAM: "n-gram, bold and underlined",
    Origin.BIGRAM: "table, italic and underlined",
}
_PROGRESS_FROM = 256  # prompt tokens; shorter prompts are read before a progress line could be


class Screen:
    """Streams answers and prints remarks. Styles appear on a terminal only; NO_COLOR leaves the underlines."""

    def __init__(self, *, colour: bool = True, origins: bool = False, text: bool = True) -> None:
        """`origins`: style tokens by origin; `text=False`: show no answer (it will be printed as JSON)."""
        self._out = Console(no_color=None if colour else True, highlight=False)
        self._remarks = Console(stderr=True, no_color=None if colour else True, highlight=False)
        self._origins = origins
        self._text = text
        self._line_open = False
        self._progress_shown = False

    def reading(self, prefill: Prefill) -> None:
        """Progress of a long prompt, on a terminal only; why it is read again, anywhere."""
        if prefill.note:
            self.end_answer()
            self.remark(prefill.note)
        if self._remarks.is_terminal and prefill.total >= _PROGRESS_FROM:
            self._erase_progress()
            self._remarks.print(f"reading {prefill.done} of {prefill.total} tokens", end="")
            self._progress_shown = True

    def step(self, step: Step) -> None:
        """The text of one round."""
        self._erase_progress()
        if not self._text:
            return
        pieces = step.pieces if self._origins and step.pieces else (Piece(step.text, Origin.TARGET),)
        self._write(pieces)

    def end_answer(self) -> None:
        """Close the answer's last line."""
        self._erase_progress()
        if self._line_open:
            self._out.print(Segments([Segment("\n")]), end="", soft_wrap=True)
        self._line_open = False

    def remark(self, *sentences: str) -> None:
        """One line each, apart from the answer."""
        for sentence in sentences:
            self._remarks.print(Text(f"· {harmless(sentence)}"), soft_wrap=True)

    def complain(self, sentence: str) -> None:
        """What went wrong and what to do."""
        self._erase_progress()
        self._remarks.print(Text(f"headstart: {harmless(sentence)}"), soft_wrap=True)

    def legend(self) -> None:
        """What the styles of `origins` mean."""
        if self._origins and self._text and self._out.is_terminal:
            words = [Text(meaning, style=STYLES[origin]) for origin, meaning in _LEGEND.items()]
            self._remarks.print(Text("· tokens by origin: ") + Text(", ").join(words), soft_wrap=True)

    def _write(self, pieces: tuple[Piece, ...]) -> None:
        # Segments pass through rich untouched; its Text would expand tabs and wrap lines.
        segments = [Segment(harmless(piece.text), STYLES[piece.origin]) for piece in pieces if piece.text]
        if segments:
            self._out.print(Segments(segments), end="", soft_wrap=True)
            self._out.file.flush()
            self._line_open = not segments[-1].text.endswith("\n")

    def _erase_progress(self) -> None:
        if self._progress_shown:
            self._remarks.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
        self._progress_shown = False


_WORDS = {
    Phase.SERVER: "asking the other computer",
    Phase.RUNTIME: "starting OpenVINO",
    Phase.PROOF: "trying the precision, once",
    Phase.MODEL: "loading the model",
    Phase.DRAFT: "loading the draft model",
    Phase.WARM_UP: "warming up",
}


@contextmanager
def loading_shown() -> Iterator[Callable[[Loading], None]]:
    """Gives what is to be told of each step; the line goes with the end."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(_WORDS[Phase.RUNTIME], total=None)

        def tell(step: Loading) -> None:
            usual = f", usually about {step.expected:.0f} s in all" if step.expected else ""
            progress.update(task, description=f"{_WORDS[step.phase]}{usual}")

        yield tell
