"""`headstart chat --batch FILE`: answers the prompts of one file into another, and goes on where a run was stopped."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from headstart.cli import report
from headstart.cli.batch_lines import Answers, BadLine, Defaults, Identity, Task, read
from headstart.cli.command import INTERRUPTED, Load, flag
from headstart.cli.counting import count
from headstart.cli.harmless import harmless
from headstart.cli.interrupt import on_ctrl_c
from headstart.cli.measuring import writable_file
from headstart.cli.model_flags import described
from headstart.cli.settings import Settings
from headstart.engine import generation_config
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Engine, Event, Finish, FinishReason, LoadOptions, Mode, Request, Step
from headstart.errors import ChatTemplateError, ContextOverflowError, DeviceError, HeadstartError, SettingsError
from headstart.library import Choice

# Prompts from which OpenVINO GenAI is taken, which writes several answers in one pass, without guesses. On two cores
# four at once beat a pair of models that guesses ahead; twice as many leave a margin.
WIDE, WIDE_WITHOUT_DRAFT = 8, 2
_ALIKE = 200  # characters; to read fewer again costs less than a step
_TEMPLATE = 64  # tokens that a chat format may add to a message
_SETTLED = 1.0  # seconds; before, a speed says nothing


class BatchEngine(StrEnum):
    """Who writes the answers of a batch."""

    AUTO = "auto"
    OWN = "own"
    GENAI = "genai"


@dataclass(frozen=True)
class Common:
    """What all lines have in common: the models, and what holds where a line says nothing."""

    choice: Choice
    options: LoadOptions
    settings: Settings
    system: str | None
    seeded: bool


@dataclass(frozen=True)
class Part:
    """Prompts for one engine: OpenVINO GenAI with so many answers `at_once`, or Headstart's own where that is None."""

    tasks: Sequence[Task]
    at_once: int | None
    reason: str


def _output(text: str) -> Path:
    path = writable_file(text)
    if path.exists() and not path.is_file():
        raise SettingsError(f"{text} is no file; answers must be read again to go on after a stop.")
    return path


@dataclass(frozen=True, kw_only=True)
class BatchFlags:
    """The flags of a batch."""

    batch: Path | None = flag(
        None,
        'answer all prompts of this file, one in each line: {"id": 1, "prompt": "..."} or {"id": 1, "messages": '
        '[{"role": "user", "content": "..."}]}, with system and any setting of an answer beside it (temperature, seed, '
        "max_new_tokens, ...), or a line of OpenAI's batch format; answers are written as they are done, which is not "
        "the order of the prompts; a second run skips what is answered",
        metavar="FILE",
    )
    output: Path | None = flag(
        None,
        "where the answers go (default: FILE with .answers before .jsonl)",
        metavar="FILE",
        read=_output,
    )
    batch_engine: BatchEngine | None = flag(
        None,
        "own: Headstart's engine, one after another, guessing ahead; genai: OpenVINO GenAI, several at once; "
        f"auto: genai from {WIDE} prompts on, from {WIDE_WITHOUT_DRAFT} on without a draft model (default: auto)",
        metavar="auto|own|genai",
    )
    batch_size: int | None = flag(
        None, f"how many answers OpenVINO GenAI writes at once (default: {WIDE})", metavar="N"
    )


def require_no_batch(flags: BatchFlags) -> None:
    """Raises SettingsError for flags that mean nothing without --batch."""
    for name in ("output", "batch_engine", "batch_size"):
        if getattr(flags, name) is not None:
            raise SettingsError(f"--{name.replace('_', '-')} needs --batch FILE.")


def run(flags: BatchFlags, task: Common, load: Load) -> int:
    """Answer what is not answered yet. Returns the exit code: 1 where a line has no answer, 130 after Ctrl+C."""
    engine, size, file = flags.batch_engine or BatchEngine.AUTO, flags.batch_size, flags.batch
    assert file is not None, "there is a batch"
    if engine is BatchEngine.OWN and size not in (None, 1):
        raise SettingsError("Headstart's own engine answers one after another: leave out --batch-size, or use genai.")
    output = flags.output or _output(str(file.with_name(f"{file.stem}.answers.jsonl")))
    if output.exists() and file.exists() and output.samefile(file):
        raise SettingsError("--output must be another file than --batch.")
    own = generation_config.read(task.choice.target.folder)
    lines = list(read(file, Defaults(task.settings, task.system, task.seeded, own)))
    if not lines:
        raise SettingsError(f"{file} has no prompts; give it one JSON object in each line.")
    with closing(Answers(output)) as answers:
        left = [line for line in lines if isinstance(line, BadLine) or line.id not in answers.ids]
        batch = _Batch(answers, task.options, described(task.options, task.choice), len(lines), len(left))
        with batch.bar:
            if len(left) < len(lines):
                batch.tell(f"{count(len(lines) - len(left), 'prompt')} answered before and skipped.")
            for line in left:
                if isinstance(line, BadLine):
                    batch.fail(line.line, line.id, line.reason)
            for part in parts([line for line in left if isinstance(line, Task)], task.options, engine, size):
                batch.answer(part, load, may_change_engine=engine is BatchEngine.AUTO)
            return batch.end()


def parts(tasks: Sequence[Task], options: LoadOptions, engine: BatchEngine, size: int | None) -> list[Part]:
    """Who answers what: OpenVINO GenAI what it does as we do, if that is enough; Headstart's own engine the rest."""
    from headstart.engine.genai.batching import difference  # noqa: PLC0415 - `headstart --help` need not wait for it

    if engine is BatchEngine.OWN:
        return [Part(tasks, None, "as asked")] if tasks else []
    differences = {task.line: difference(options, task.request, seeded=task.seeded) for task in tasks}
    alike = [task for task in tasks if not differences[task.line]]
    at_once, wide = min(size or WIDE, len(alike)), WIDE if options.draft else WIDE_WITHOUT_DRAFT
    if engine is BatchEngine.AUTO and alike and at_once < wide:
        return [Part(tasks, None, f"usually faster for fewer than {wide} at once")]
    reason = "as asked" if engine is BatchEngine.GENAI else f"usually faster for {wide} or more at once"
    found = [Part(alike, at_once, reason)] if alike else []
    others = [task for task in tasks if differences[task.line]]
    if others:
        counts = Counter(differences[task.line] for task in others)
        words = ", ".join(f"{what} ({number})" for what, number in counts.items())
        found.append(Part(others, None, f"batches of OpenVINO GenAI do not do this as we do: {words}"))
    return found


class _Batch:
    """One run: how far it is, and what Ctrl+C asked for."""

    def __init__(
        self, answers: Answers, options: LoadOptions, described: Mapping[str, Any], total: int, left: int
    ) -> None:
        """`left` of `total` lines have no answer yet; `described`: what is said of the models in each answer."""
        self._answers = answers
        self._options = options
        self._described = described
        self._left = left
        self._answered = self._failed = self._tokens = 0
        self._started: float | None = None  # with the first token: loading a model is not counted
        self._speed = ""
        self._stopping, self._cancel = threading.Event(), CancelEvent()  # the first Ctrl+C, the second
        self._console = Console(stderr=True, highlight=False)
        speed = TextColumn("{task.fields[speed]}", markup=False)
        self.bar = Progress(
            *(BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn()),
            console=self._console,
            disable=not self._console.is_terminal,
            redirect_stdout=False,
        )
        self._task = self.bar.add_task("answers", total=total, completed=total - left, speed="")

    def tell(self, sentence: str) -> None:
        """One line on standard error, above the bar."""
        self._console.print(Text(f"· {harmless(sentence)}"), soft_wrap=True)

    def fail(self, line: int, identity: Identity | None, reason: str) -> None:
        """A line has no answer."""
        self._answers.add({"id": identity, "line": line, "error": reason})
        self._failed += 1
        self.tell(f"line {line}: {reason}")
        self._advance()

    def answer(self, part: Part, load: Load, *, may_change_engine: bool) -> None:
        """Open the engine of a part and write what it answers."""
        if self._stopping.is_set():
            return
        draft = ", without the draft model" if self._options.draft else ""
        own = "Headstart's own engine, one after another"
        who = f"OpenVINO GenAI, {part.at_once} at once{draft}" if part.at_once else own
        self.tell(f"{count(len(part.tasks), 'prompt')} for {who}: {part.reason}.")
        try:
            self._open(part, load)
        except KeyboardInterrupt:  # while it was loading
            self._stopping.set()
        except DeviceError as error:
            if part.at_once is None or not may_change_engine:
                raise
            self.tell(str(error))
            self.answer(Part(part.tasks, None, "OpenVINO GenAI cannot run here"), load, may_change_engine=False)

    def end(self) -> int:
        """Say what there is, and how to go on. Returns the exit code."""
        speed = f" at {self._speed}" if self._speed else ""
        self.tell(f"{count(self._answered, 'answer')} written to {self._answers.path}{speed}.")
        if self._failed:
            self.tell(f"{count(self._failed, 'line')} could not be answered; correct and run the same again.")
        if self._stopping.is_set() and self._left:
            self.tell(
                f"Stopped with {count(self._left, 'prompt')} to go. Run the same command again to go on; what is "
                "answered will be skipped."
            )
            return INTERRUPTED
        return 1 if self._failed else 0

    def _open(self, part: Part, load: Load) -> None:
        requests = self._requests(part.tasks)
        if part.at_once is None:
            with closing(load(self._options)) as engine:
                self._write(part, _one_by_one(engine, requests, self._cancel))
            return
        from headstart.engine.genai.batching import ContinuousBatching  # noqa: PLC0415 - as above

        with closing(ContinuousBatching(self._options, part.at_once, _longest(part.tasks))) as batching:
            if batching.size < part.at_once:
                self.tell(f"The memory holds {batching.size} at once.")
            self._write(part, batching.answers(requests, self._cancel))

    def _write(self, part: Part, events: Iterator[tuple[int, Event | HeadstartError]]) -> None:
        tasks = {task.line: task for task in part.tasks}
        texts = dict.fromkeys(tasks, "")
        told = False
        with on_ctrl_c(self._press):
            for line, event in events:
                match event:
                    case Step():
                        texts[line] += event.text
                        self._count_tokens(len(event.round.tokens))
                    case Finish() if event.reason is not FinishReason.CANCELLED:  # that one is written anew
                        self._keep(tasks[line], texts.pop(line), event, part)
                    case HeadstartError():
                        self.fail(line, tasks[line].id, str(event))
                if self._stopping.is_set() and not told:
                    told = True
                    self.tell("Stopping after the present answer; Ctrl+C again stops at once.")

    def _requests(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Request]]:
        for task in _beginning_alike(tasks):
            if self._stopping.is_set():
                return
            yield task.line, task.request

    def _keep(self, task: Task, text: str, finish: Finish, part: Part) -> None:
        system = next((message.content for message in task.messages if message.role == "system"), None)
        settings = {**self._described, **task.settings.values, "engine": BatchEngine.OWN, "system": system}
        if part.at_once:
            settings |= {
                "engine": BatchEngine.GENAI,
                "draft": None,
                "speculation": Mode.OFF,
                "batch_size": part.at_once,
            }
        self._answers.add(
            {
                "id": task.id,
                "text": text,
                "finish_reason": finish.reason,
                "token_ids": finish.token_ids,
                "stats": report.as_json(finish.stats),
                "settings": settings,
            }
        )
        self._answered += 1
        self._advance()

    def _press(self) -> None:
        (self._cancel if self._stopping.is_set() else self._stopping).set()

    def _count_tokens(self, number: int) -> None:
        self._started = self._started or time.perf_counter()
        self._tokens += number
        seconds = time.perf_counter() - self._started
        self._speed = f"{self._tokens / seconds:.1f} tokens/s" if seconds > _SETTLED else self._speed
        self.bar.update(self._task, speed=self._speed)

    def _advance(self) -> None:
        self._left -= 1
        self.bar.advance(self._task)


def _one_by_one(
    engine: Engine, requests: Iterator[tuple[int, Request]], cancel: CancelEvent
) -> Iterator[tuple[int, Event | HeadstartError]]:
    """As ContinuousBatching.answers, with all the guessing that each request asks for."""
    for key, request in requests:
        try:
            for event in engine.generate(request, cancel):
                yield key, event
        except (ContextOverflowError, ChatTemplateError, SettingsError) as refusal:
            yield key, refusal


def _longest(tasks: Sequence[Task]) -> int:
    """Tokens that no prompt exceeds together with its answer: each has a byte of text at least."""
    texts = (sum(_TEMPLATE + len(message.content.encode()) for message in task.messages) for task in tasks)
    return max(text + task.settings.max_new_tokens for text, task in zip(texts, tasks, strict=True))


def _beginning_alike(tasks: Sequence[Task]) -> list[Task]:
    """In their order, but those that begin alike follow one another: what they share is read once."""
    texts = {task.line: "\n".join(f"{message.role}\n{message.content}" for message in task.messages) for task in tasks}
    first: dict[str, int] = {}
    for line, text in texts.items():
        first.setdefault(text[:_ALIKE], line)
    return sorted(tasks, key=lambda task: (first[texts[task.line][:_ALIKE]], texts[task.line]))
