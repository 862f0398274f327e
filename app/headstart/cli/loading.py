"""The line that says what takes the time while a model is loaded, on a terminal only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from headstart.engine.protocol import Loading, Phase

_WORDS = {
    Phase.SERVER: "asking the other computer",
    Phase.RUNTIME: "starting OpenVINO",
    Phase.PROOF: "trying the precision, once",
    Phase.MODEL: "loading the model",
    Phase.DRAFT: "loading the draft model",
    Phase.WARM_UP: "warming up",
}


@contextmanager
def shown() -> Iterator[Callable[[Loading], None]]:
    """Gives what is to be told of each step; the line goes with the end."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(_WORDS[Phase.RUNTIME], total=None)

        def tell(step: Loading) -> None:
            usual = f", usually about {step.expected:.0f} s in all" if step.expected else ""
            progress.update(task, description=f"{_WORDS[step.phase]}{usual}")

        yield tell
