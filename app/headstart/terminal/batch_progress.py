"""How far a batch is, on standard error: a bar on a terminal, sentences everywhere. Knows no engine."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from headstart.terminal.harmless import harmless

_SETTLED = 1.0  # seconds; before, a speed says nothing


class BatchProgress:
    """Counts answers and tokens."""

    def __init__(self, total: int, done: int = 0) -> None:
        """`done` of `total` were there before."""
        self.tokens = 0
        self.answers = 0
        self.left = total - done
        self._console = Console(stderr=True, highlight=False)
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}", markup=False),
            TimeRemainingColumn(),
        )
        self._bar = Progress(
            *columns, console=self._console, disable=not self._console.is_terminal, redirect_stdout=False
        )
        self._task = self._bar.add_task("answers", total=total, completed=done, speed="")
        self._started: float | None = None

    @property
    def seconds(self) -> float:
        """Since the first token; loading a model is not counted."""
        return 0.0 if self._started is None else time.perf_counter() - self._started

    def wrote(self, tokens: int) -> None:
        """So many tokens more."""
        if self._started is None:
            self._started = time.perf_counter()
        self.tokens += tokens
        if self.seconds > _SETTLED:
            self._bar.update(self._task, speed=f"{self.tokens / self.seconds:.1f} tok/s")

    def answered(self, *, well: bool = True) -> None:
        """One answer is in the file, or the reason why there is none."""
        self.answers += well
        self.left -= 1
        self._bar.advance(self._task)

    def remark(self, *sentences: str) -> None:
        """One line each, above the bar."""
        for sentence in sentences:
            self._console.print(Text(f"· {harmless(sentence)}"), soft_wrap=True)

    def complain(self, sentence: str) -> None:
        """What went wrong and what to do."""
        self._console.print(Text(f"headstart: {harmless(sentence)}"), soft_wrap=True)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the bar as it is."""
        self._bar.stop()
