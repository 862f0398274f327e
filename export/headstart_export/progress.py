"""The progress of an export: a bar on a terminal, plain lines elsewhere."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import psutil

LINE_EVERY = 2.0  # seconds between two plain lines of one step
LOOK_EVERY = 0.5  # seconds between two looks at the memory in use
_MIN_ELAPSED = 5.0  # seconds before the time left is estimated
_MINUTES_FROM = 120  # seconds from which a time is given in minutes

Advance = Callable[[int, int], None]  # (done, total), in bytes or in units of the step's own


def ignore(_done: int, _total: int) -> None:
    """Discard progress."""


def megabytes(count: int) -> str:
    """Format a byte count: "93 MB", "1.8 GB"."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def duration(seconds: float) -> str:
    """Format a time: "93 s", "4 min"."""
    return f"{seconds / 60:.0f} min" if seconds >= _MINUTES_FROM else f"{seconds:.0f} s"


class StepProgress:
    """Progress of a step. As text: "51 MB of 1.2 GB", "42 %, about 30 s left", or its seconds if nothing is counted."""

    def __init__(self, *, in_bytes: bool) -> None:
        self._in_bytes = in_bytes
        self._begun = time.monotonic()
        self._done = self._total = 0
        self._since = 0.0  # seconds at which the current count began

    @property
    def seconds(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self._begun

    def advance(self, done: int, total: int) -> None:
        """Record progress. A smaller `done` than before begins the next part of the step."""
        if done < self._done:
            self._since = self.seconds
        self._done, self._total = done, total

    def __str__(self) -> str:
        if not self._total:
            return duration(self.seconds)
        if self._in_bytes:
            return f"{megabytes(self._done)} of {megabytes(self._total)}"
        share = f"{100 * self._done // self._total} %"
        elapsed = self.seconds - self._since
        if not 0 < self._done < self._total or elapsed < _MIN_ELAPSED:
            return share
        return f"{share}, about {duration(elapsed * (self._total - self._done) / self._done)} left"


class _Reporter:
    """Counts steps, and samples the memory in use while one runs."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._steps = self._expected = self._peak = 0

    def note(self, sentence: str) -> None:
        """Write one line."""
        raise NotImplementedError

    def expect(self, steps: int) -> None:
        """Add to the number of expected steps; a negative number subtracts."""
        self._expected += steps

    def finish(self) -> None:
        """Report the total time and the peak memory."""
        elapsed = duration(time.monotonic() - self._begun)
        self.note(f"Finished in {elapsed}; at most {megabytes(self._peak)} of memory were in use.")

    def _numbered(self, title: str) -> str:
        """Return a step's title, with its number if several steps are expected."""
        self._steps += 1
        return f"{self._steps} of {max(self._steps, self._expected)}: {title}" if self._expected > 1 else title

    @contextlib.contextmanager
    def _watched(self, look: Callable[[], object]) -> Iterator[None]:
        """Sample the memory every `LOOK_EVERY` seconds, and call `look` each time."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(LOOK_EVERY):
                self._peak = max(self._peak, _memory())
                look()

        thread = threading.Thread(target=watch, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _memory() -> int:
    """Return the memory of this process and its children in bytes, without pages of mapped files."""
    own, used = psutil.Process(), 0
    for process in (own, *own.children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # it has ended
            memory = process.memory_info()
            used += memory.rss - getattr(memory, "shared", 0)
    return used


class PlainProgress(_Reporter):
    """Lines for a file or a log."""

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`, even if standard error is redirected later."""
        super().__init__()
        self._stream = stream

    def note(self, sentence: str) -> None:
        """Write one line."""
        print(sentence, file=self._stream, flush=True)

    @contextlib.contextmanager
    def step(self, title: str, *, in_bytes: bool = False) -> Iterator[Advance]:
        """Write a line at the start, one every few seconds, and one at the end. `in_bytes`: the unit of progress."""
        step, lock, last = StepProgress(in_bytes=in_bytes), threading.Lock(), time.monotonic()
        self.note(f"{self._numbered(title)} ...")

        def tell() -> None:
            nonlocal last
            with lock:
                if time.monotonic() - last >= LINE_EVERY:
                    last = time.monotonic()
                    self.note(f"  {step}")

        def advance(done: int, total: int) -> None:
            step.advance(done, total)
            tell()

        with self._watched(tell):
            yield advance
        self.note(f"  done in {step.seconds:.1f} s")


class Bars(_Reporter):
    """A live line for a terminal."""

    def __init__(self, stream: TextIO) -> None:
        """Draw on `stream`, a terminal."""
        from rich.console import Console

        super().__init__()
        self._console = Console(file=stream)

    def note(self, sentence: str) -> None:
        """Write one line above the bar."""
        self._console.print(sentence, markup=False, highlight=False)

    @contextlib.contextmanager
    def step(self, title: str, *, in_bytes: bool = False) -> Iterator[Advance]:
        """Show a spinner and the time, and a bar as soon as there is progress. `in_bytes`: the unit of the progress."""
        from rich import progress

        columns = (
            progress.SpinnerColumn(finished_text="✓"),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=24),
            progress.TextColumn("{task.fields[done]}"),
            progress.TimeElapsedColumn(),
        )
        step = StepProgress(in_bytes=in_bytes)
        with (
            progress.Progress(*columns, console=self._console, redirect_stdout=False, redirect_stderr=False) as live,
            self._watched(lambda: None),
        ):
            task = live.add_task(self._numbered(title), total=None, done="")

            def advance(done: int, total: int) -> None:
                step.advance(done, total)
                live.update(task, completed=done, total=total, done=str(step))

            yield advance
            live.update(task, total=1, completed=1)


Progress = PlainProgress | Bars


def reporter(stream: TextIO) -> Progress:
    """Return bars for a terminal, plain lines for any other stream."""
    return Bars(stream) if stream.isatty() else PlainProgress(stream)


@contextlib.contextmanager
def of_nncf(advance: Advance) -> Iterator[None]:
    """Context manager that reports the progress of NNCF in place of its own bars."""
    from nncf.common.logging.track_progress import track

    original = track.__iter__

    def counting(bar: Any) -> Iterator[Any]:
        done, total = 0, int(bar.total or len(bar.sequence))
        for number, item in enumerate(original(bar)):
            yield item
            done += bar.weights[number] if bar.weights else 1
            advance(done, total)

    track.__iter__ = counting
    try:
        yield
    finally:
        track.__iter__ = original
