"""`headstart chat --batch`: many prompts from a file, their answers to another, in the order in which they are done."""

import argparse
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headstart.engine.batch_choice import UNMEASURED_SIZE, BatchChoice, BatchEngine
from headstart.engine.batching import Batcher, Keyed
from headstart.engine.engine import Finish, FinishReason, Mode, Step
from headstart.errors import DeviceError, HeadstartError, SettingsError
from headstart.terminal import report
from headstart.terminal.batch_input import BadLine, Defaults, Task, read
from headstart.terminal.batch_order import arranged
from headstart.terminal.batch_output import Answers, Earlier, resume
from headstart.terminal.batch_parts import Part, Wish, opened, parts, read_engine
from headstart.terminal.batch_progress import BatchProgress
from headstart.terminal.command import INTERRUPTED, Load
from headstart.terminal.counting import count
from headstart.terminal.interrupt import on_ctrl_c
from headstart.terminal.measuring import whole_number, writable_file

_GO_ON = "Run the same command again to go on; what is answered will be skipped."


@dataclass(frozen=True)
class Order:
    """A command line that was read and checked. `loaded`: what the answers' settings say about the models."""

    file: Path
    output: Path
    wish: Wish
    defaults: Defaults
    loaded: Mapping[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a batch."""
    group = parser.add_argument_group(
        "many prompts",
        'A line of FILE is {"id": 1, "prompt": "..."} or {"id": 1, "messages": [{"role": "user", "content": "..."}]}, '
        "with system and any setting of an answer beside it (temperature, seed, max_new_tokens, ...), or a line of "
        "OpenAI's batch format. Answers are written as they are done, which is not the order of the prompts; a second "
        "run skips those that are there.",
    )
    group.add_argument("--batch", metavar="FILE", type=Path, help="answer all prompts of this file, one in each line")
    group.add_argument(
        "--output",
        metavar="FILE",
        type=_output,
        help="where the answers go (default: FILE with .answers before .jsonl)",
    )
    group.add_argument(
        "--batch-engine",
        type=read_engine,
        metavar="auto|own|genai",
        help="own: Headstart's engine, one after another, guessing ahead; genai: OpenVINO GenAI, several at once; "
        "auto: what `headstart bench batch` measured to be faster here; where it was not run, genai from "
        f"{UNMEASURED_SIZE} prompts on (default: auto)",
    )
    group.add_argument(
        "--batch-size",
        type=whole_number("batch-size", 1),
        metavar="N",
        help="how many answers OpenVINO GenAI writes at once (default: as many as were fastest)",
    )


def require_no_batch(arguments: argparse.Namespace) -> None:
    """Raises SettingsError for flags that mean nothing without --batch."""
    for name in ("output", "batch_engine", "batch_size"):
        if getattr(arguments, name) is not None:
            raise SettingsError(f"--{name.replace('_', '-')} needs --batch FILE.")


def require_no_dialogue(arguments: argparse.Namespace) -> None:
    """Raises SettingsError for flags that mean nothing beside --batch."""
    for name, given in (
        ("prompt", arguments.prompt is not None),
        ("json", arguments.json),
        ("stats", arguments.stats),
        ("show-origin", arguments.show_origin),
    ):
        if given:
            raise SettingsError(f"--batch takes prompts from a file and writes JSON to another: leave out --{name}.")


def output_of(arguments: argparse.Namespace) -> Path:
    """The file of answers. Raises SettingsError where it is that of the prompts."""
    file: Path = arguments.batch
    output: Path = arguments.output or _output(str(file.with_name(f"{file.stem}.answers.jsonl")))
    if output.exists() and file.exists() and output.samefile(file):
        raise SettingsError("--output must be another file than --batch.")
    return output


def wish_of(arguments: argparse.Namespace, **fixed: Any) -> Wish:
    """What the command line says about engines. Raises SettingsError."""
    return Wish(engine=arguments.batch_engine or BatchEngine.AUTO, size=arguments.batch_size, **fixed)


def run(order: Order, load: Load) -> int:
    """Answer what is not answered yet. Returns the exit code: 1 where a line has no answer, 130 after Ctrl+C."""
    lines = list(read(order.file, order.defaults))
    if not lines:
        raise SettingsError(f"{order.file} has no prompts; give it one JSON object in each line.")
    earlier = resume(order.output)
    tasks = [line for line in lines if isinstance(line, Task) and line.id not in earlier.answered]
    planned = parts(order.wish, _arranged(tasks)) if tasks else []
    bad = [line for line in lines if isinstance(line, BadLine)]
    skipped = len(lines) - len(tasks) - len(bad)
    with Answers(order.output) as answers, BatchProgress(len(lines), skipped) as progress:
        progress.remark(*_before(skipped, earlier))
        batch = _Batch(order, answers, progress)
        for line in bad:
            batch.fail(line.line, line.id, line.sentence)
        for part in planned:
            batch.answer(part, load)
        return batch.end()


@dataclass
class _Stop:
    """What Ctrl+C asks for: first no more answers, then none at all."""

    soon: threading.Event = field(default_factory=threading.Event)
    now: threading.Event = field(default_factory=threading.Event)

    def press(self) -> None:
        (self.now if self.soon.is_set() else self.soon).set()


class _Batch:
    """The run of one order."""

    def __init__(self, order: Order, answers: Answers, progress: BatchProgress) -> None:
        self._order = order
        self._answers = answers
        self._progress = progress
        self._stop = _Stop()
        self._told = False
        self._failed = 0

    def answer(self, part: Part, load: Load) -> None:
        """Open the engine of a part and write what it answers."""
        if self._stop.soon.is_set():
            return
        self._progress.remark(part.words)
        try:
            with closing(opened(part, self._order.wish, load)) as batcher:
                self._write(part, batcher)
        except KeyboardInterrupt:  # while it was loading
            self._stop.press()
        except DeviceError as error:
            if part.choice.engine is BatchEngine.OWN or self._order.wish.engine is not BatchEngine.AUTO:
                raise
            self._progress.remark(str(error))
            self.answer(Part(part.tasks, BatchChoice(BatchEngine.OWN, 1, ""), "Headstart's own engine goes on."), load)

    def fail(self, line: int, identity: str | int | None, sentence: str) -> None:
        """A line without an answer."""
        self._failed += 1
        self._progress.remark(f"line {line}: {sentence}")
        self._answers.add({"id": identity, "line": line, "error": sentence})
        self._progress.answered(well=False)

    def end(self) -> int:
        """Say what there is, and how to go on."""
        progress, output = self._progress, self._order.output
        speed = f" at {progress.tokens / progress.seconds:.1f} tokens/s" if progress.seconds > 0.0 else ""
        progress.remark(f"{count(progress.answers, 'answer')} written to {output}{speed}.")
        if self._failed:
            progress.remark(f"{count(self._failed, 'line')} could not be answered; correct and run the same again.")
        if self._stop.soon.is_set() and progress.left:
            progress.remark(f"Stopped with {count(progress.left, 'prompt')} to go. {_GO_ON}")
            return INTERRUPTED
        return 1 if self._failed else 0

    def _write(self, part: Part, batcher: Batcher) -> None:
        if part.choice.size > batcher.size:
            self._progress.remark(f"The memory holds {batcher.size} at once.")
        tasks = {task.line: task for task in part.tasks}
        texts: dict[int, list[str]] = {line: [] for line in tasks}
        with on_ctrl_c(self._stop.press):
            for key, event in batcher.answers(self._requests(part.tasks), self._stop.now):
                match event:
                    case Step():
                        texts[key].append(event.text)
                        self._progress.wrote(len(event.round.tokens))
                    case Finish():
                        self._finished(tasks[key], "".join(texts.pop(key)), event, part)
                    case HeadstartError():
                        self.fail(key, tasks[key].id, str(event))
                self._tell_once()

    def _requests(self, tasks: Sequence[Task]) -> Iterator[Keyed]:
        for task in tasks:
            if self._stop.soon.is_set():
                return
            yield task.line, task.request

    def _finished(self, task: Task, text: str, finish: Finish, part: Part) -> None:
        if finish.reason is FinishReason.CANCELLED:
            return  # it will be made anew
        self._answers.add(
            {
                "id": task.id,
                "text": text,
                "finish_reason": finish.reason,
                "token_ids": finish.token_ids,
                "stats": report.as_json(finish.stats),
                "settings": self._settings(task, part),
            }
        )
        self._progress.answered()

    def _settings(self, task: Task, part: Part) -> dict[str, Any]:
        system = next((message.content for message in task.messages if message.role == "system"), None)
        engine: dict[str, Any] = {"engine": part.choice.engine, "system": system}
        if part.choice.engine is BatchEngine.GENAI:
            engine |= {"draft": None, "speculation": Mode.OFF, "batch_size": part.choice.size}
        return {**self._order.loaded, **asdict(task.settings), **engine}

    def _tell_once(self) -> None:
        if self._stop.soon.is_set() and not self._told:
            self._told = True
            self._progress.remark("Stopping after the present answer; Ctrl+C again stops at once.")


def _arranged(tasks: Sequence[Task]) -> list[Task]:
    texts = ["\n".join(f"{message.role}\n{message.content}" for message in task.messages) for task in tasks]
    return [tasks[index] for index in arranged(texts)]


def _before(skipped: int, earlier: Earlier) -> list[str]:
    found = []
    if skipped:
        found.append(f"{count(skipped, 'prompt')} answered before and skipped.")
    if earlier.errors:
        found.append(f"{count(earlier.errors, 'line')} that failed before will be tried again.")
    if earlier.torn:
        found.append("The last answer of the earlier run was torn, and will be made anew.")
    return found


def _output(text: str) -> Path:
    path = writable_file(text)
    if path.exists() and not path.is_file():
        raise SettingsError(f"{text} is no file; answers must be read again to go on after a stop.")
    return path
