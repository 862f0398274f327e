"""Which prompts of a batch go to which engine, and how it is opened. Answers nothing itself."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headstart.engine.batch_choice import BatchChoice, BatchEngine, BatchFigures, asked, choose, obstacle
from headstart.engine.batching import Batcher, OneByOne
from headstart.engine.engine import LoadOptions, Numerics
from headstart.errors import SettingsError
from headstart.terminal.batch_input import Task
from headstart.terminal.command import Load

if TYPE_CHECKING:
    from headstart.engine.genai_batch import GenaiBatcher

_TEMPLATE = 64  # tokens that a chat format may add


@dataclass(frozen=True)
class Wish:
    """What the command line says about engines."""

    load: LoadOptions
    engine: BatchEngine = BatchEngine.AUTO
    size: int | None = None


@dataclass(frozen=True)
class Part:
    """Some of the prompts, for one engine."""

    tasks: tuple[Task, ...]
    choice: BatchChoice
    words: str  # who, how many at once, and why


def parts(wish: Wish, tasks: Sequence[Task]) -> list[Part]:
    """GenAI's part first, if it has one. Raises SettingsError for wishes that contradict each other."""
    if wish.engine is BatchEngine.OWN:
        return [_part(tasks, asked(BatchEngine.OWN, wish.size, None, len(tasks)), wish)]
    everywhere = _everywhere(wish.load)
    reasons = {task.line: everywhere or obstacle(task.request, seeded=task.seeded) for task in tasks}
    fitting = [task for task in tasks if reasons[task.line] is None]
    choice = _chosen(wish, len(fitting)) if fitting else None
    if choice is not None and choice.engine is BatchEngine.OWN:
        return [_part(tasks, choice, wish)]
    found = [_part(fitting, choice, wish)] if choice else []
    others = [task for task in tasks if reasons[task.line] is not None]
    if others:
        found.append(_part(others, BatchChoice(BatchEngine.OWN, 1, _because(reasons.values())), wish))
    return found


def opened(part: Part, wish: Wish, load: Load) -> Batcher:
    """The engine of a part, loaded. Raises a HeadstartError."""
    if part.choice.engine is BatchEngine.OWN:
        return OneByOne(load(wish.load))
    return open_genai(wish.load, part.choice.size, longest(part.tasks))


def open_genai(options: LoadOptions, size: int, tokens: int) -> "GenaiBatcher":
    """Imported here: `headstart --help` need not wait for it."""
    from headstart.engine.genai_batch import GenaiBatcher  # noqa: PLC0415

    return GenaiBatcher(options, size, tokens)


def longest(tasks: Sequence[Task]) -> int:
    """Tokens that prompt and answer of no task exceed: each has a byte of text at least."""
    return max(
        sum(_TEMPLATE + len(message.content.encode()) for message in task.messages) + task.settings.max_new_tokens
        for task in tasks
    )


def known_figures(options: LoadOptions) -> BatchFigures | None:
    """What was measured of these models on this machine."""
    from headstart.engine import batch_figures  # noqa: PLC0415 - as above

    return batch_figures.known_figures(options)


def _because(reasons: Iterable[str | None]) -> str:
    counts = Counter(reason for reason in reasons if reason)
    asked_for = ", ".join(f"{words} ({count})" for words, count in counts.items())
    return f"batches of OpenVINO GenAI do not do this as we do: {asked_for}"


def _everywhere(load: LoadOptions) -> str | None:
    if load.numerics is Numerics.EXACT:
        return "exact numerics"
    if load.tracing is not None:
        return "a trace"
    return "the NPU" if load.device.upper().startswith("NPU") else None


def _chosen(wish: Wish, prompts: int) -> BatchChoice:
    figures = known_figures(wish.load)
    if wish.engine is BatchEngine.AUTO:
        return choose(figures, prompts, wish.size)
    return asked(wish.engine, wish.size, figures, prompts)


def _part(tasks: Sequence[Task], choice: BatchChoice, wish: Wish) -> Part:
    count = "1 prompt" if len(tasks) == 1 else f"{len(tasks)} prompts"
    if choice.engine is BatchEngine.OWN:
        return Part(tuple(tasks), choice, f"{count} for Headstart's own engine, one after another: {choice.reason}.")
    draft = ", without the draft model" if wish.load.draft else ""
    return Part(tuple(tasks), choice, f"{count} for OpenVINO GenAI, {choice.size} at once{draft}: {choice.reason}.")


def read_engine(text: str) -> BatchEngine:
    """The engine of a name. Raises SettingsError."""
    try:
        return BatchEngine(text)
    except ValueError:
        raise SettingsError(f"batch-engine must be auto, own or genai, not {text!r}.") from None
