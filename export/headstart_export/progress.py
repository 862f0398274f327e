"""What the user sees of an export: a bar on a terminal, plain lines elsewhere."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TextIO

LINE_EVERY = 5.0  # seconds between two plain lines of one step

Advance = Callable[[int, int], None]  # (bytes done, bytes in all)


def megabytes(count: int) -> str:
    """A byte count as people read it: "93 MB", "1.8 GB"."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


class Plain:
    """Lines for a file or a log."""

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`, and keep to it whatever standard error is made to be later."""
        self._stream = stream

    def note(self, sentence: str) -> None:
        """Write one line."""
        print(sentence, file=self._stream, flush=True)

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[Advance]:
        """Write a line at the start, one every few seconds while anything is counted, and one at the end."""
        started = last = time.monotonic()
        self.note(f"{title} ...")

        def advance(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= LINE_EVERY:
                last = time.monotonic()
                self.note(f"  {megabytes(done)} of {megabytes(total)}")

        yield advance
        self.note(f"  done in {time.monotonic() - started:.1f} s")


class Bars:
    """A live line for a terminal."""

    def __init__(self, stream: TextIO) -> None:
        """Draw on `stream`, which is a terminal."""
        from rich.console import Console  # noqa: PLC0415

        self._console = Console(file=stream)

    def note(self, sentence: str) -> None:
        """Write one line above whatever moves."""
        self._console.print(sentence, markup=False, highlight=False)

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[Advance]:
        """Show a spinner and the time; a bar too once anything is counted."""
        from rich import progress  # noqa: PLC0415

        columns = (
            progress.SpinnerColumn(finished_text="✓"),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=24),
            progress.TextColumn("{task.fields[done]}"),
            progress.TimeElapsedColumn(),
        )
        with progress.Progress(*columns, console=self._console, redirect_stdout=False, redirect_stderr=False) as live:
            task = live.add_task(title, total=None, done="")

            def advance(done: int, total: int) -> None:
                live.update(task, completed=done, total=total, done=f"{megabytes(done)} of {megabytes(total)}")

            yield advance
            live.update(task, total=1, completed=1)


Progress = Plain | Bars


def reporter(stream: TextIO) -> Progress:
    """The one that suits `stream`."""
    return Bars(stream) if stream.isatty() else Plain(stream)
