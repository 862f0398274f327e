"""`headstart chat --batch FILE`: answers to the prompts of a file. A run that was stopped can be resumed."""

import contextlib
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from headstart.cli.command import INTERRUPTED, TEXT, YES_OR_NO, Load, flag
from headstart.cli.options import Selection, Settings, find_setting, writable_file
from headstart.cli.render import Screen, count, on_ctrl_c
from headstart.engine import generation_config
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Engine,
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Mode,
    Request,
    Sampling,
    Step,
)
from headstart.engine.stats import figures
from headstart.errors import (
    BatchError,
    ChatTemplateError,
    ContextOverflowError,
    DeviceError,
    HeadstartError,
    SettingsError,
)

Identity = str | int
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_NOT_SETTINGS = {"id", "prompt", "messages", "system"}
_OPENAI_URL = "/v1/chat/completions"
_OPENAI_NAMES = {"max_tokens": "max_new_tokens", "max_completion_tokens": "max_new_tokens"}
_OPENAI_IGNORED = {"model", "user", "metadata", "store", "n"}  # they do not change the answer
_ANSWER_START = b'{"id": '  # start of a line of answers


@dataclass(frozen=True)
class Defaults:
    """Values for the fields that a line leaves out."""

    settings: Settings
    system: str | None = None
    seeded: bool = False  # you gave a seed
    own: Sampling | None = None  # the sampling that the model recommends


@dataclass(frozen=True)
class Task:
    """A prompt to answer, and its line."""

    line: int
    id: Identity
    messages: tuple[Message, ...]
    settings: Settings
    seeded: bool

    @property
    def request(self) -> Request:
        return self.settings.request(self.messages)


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be answered."""

    line: int
    id: Identity | None
    reason: str


def read(path: Path, defaults: Defaults) -> Iterator[Task | BadLine]:
    """Yield a task or an error for each line that is not blank. Raises SettingsError if the file cannot be read."""
    first_lines: dict[Identity, int] = {}
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip(b"\xef\xbb\xbf \t\r\n"):
                    yield _read(number, line, defaults, first_lines)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}); name a file with one prompt a line.") from None


class Answers:
    """The file of answers. Each answer is written whole before the next one begins; earlier answers stay."""

    def __init__(self, path: Path) -> None:
        """Open the file. Drop errors and a torn last line of an earlier run, so that they are answered again.

        Raises SettingsError for a file of something else, which is left alone, and BatchError if it cannot be written.
        """
        self.path = path
        self.ids: set[Identity] = set()
        try:
            if path.exists():
                self._drop_all_but_answers()
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self._write_error(error) from None

    def add(self, line: Mapping[str, Any]) -> None:
        """Write one line. If it does not fit, remove its beginning and raise BatchError."""
        data = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        assert data.startswith(_ANSWER_START), "a torn line is known by its beginning"
        rest, before = memoryview(data), self._file.seek(0, os.SEEK_END)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):  # the next run drops a torn line
                self._file.truncate(before)
            raise self._write_error(error) from None

    def close(self) -> None:
        self._file.close()

    def _drop_all_but_answers(self) -> None:
        """Replace the file by a new one with its whole answers, so that nothing is lost if the disk is full."""
        new_path = self.path.with_name(f"{self.path.name}.new")
        try:
            with self.path.open("rb") as old, new_path.open("wb") as new:
                for number, line in enumerate(old, start=1):
                    identity = self._answer_id(number, line)
                    if identity is not None:
                        self.ids.add(identity)
                        new.write(line.rstrip(b"\r\n") + b"\n")
                new.flush()
                os.fsync(new.fileno())
            new_path.replace(self.path)
        except (OSError, SettingsError):
            with contextlib.suppress(OSError):
                new_path.unlink()
            raise

    def _answer_id(self, number: int, line: bytes) -> Identity | None:
        """Return the id of a whole answer; None for an error or a torn line. Raises SettingsError for anything else."""
        try:
            match json.loads(line):
                case {"id": str() | int() as identity, "text": str(), "finish_reason": _}:
                    return identity
                case {"id": _, "error": str()}:
                    return None
        except (ValueError, RecursionError):
            beginning = line.rstrip(b"\0")  # a crash of the system may leave null bytes
            if not line.endswith(b"\n") and beginning[: len(_ANSWER_START)] == _ANSWER_START[: len(beginning)]:
                return None
        raise SettingsError(
            f"{self.path} holds something else than answers (line {number}); name another file with --output."
        )

    def _write_error(self, error: OSError) -> BatchError:
        return BatchError(
            f"{self.path} cannot be written ({error.strerror}); the answers in it are whole: make room or choose "
            "another place, and run the same command again to go on."
        )


def _read(number: int, line: bytes, defaults: Defaults, first_lines: dict[Identity, int]) -> Task | BadLine:
    identity = None
    try:
        data = _object(line)
        identity = _identity(data)
        fields = _from_openai(data) if "custom_id" in data else data
        values = {name: value for name, value in fields.items() if name not in _NOT_SETTINGS and value is not None}
        settings = defaults.settings.with_values(dict(_setting(*each) for each in values.items()))
        messages = _messages(fields, defaults.system)
        if first_lines.setdefault(identity, number) != number:  # answers are found by their ids
            raise SettingsError(f"the id {identity!r} is that of line {first_lines[identity]}; give each line its own.")
        return Task(
            number, identity, messages, settings.with_model_defaults(defaults.own), defaults.seeded or "seed" in values
        )
    except SettingsError as error:
        return BadLine(number, identity, str(error))


def _object(line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line.decode("utf-8-sig"))
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeError:
        raise SettingsError("it is not valid UTF-8 text.") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"it is not JSON ({error}).") from None
    if not isinstance(data, dict):
        raise SettingsError('it must be a JSON object such as {"id": 1, "prompt": "..."}.')
    return data


def _identity(data: Mapping[str, Any]) -> Identity:
    identity = data.get("custom_id", data.get("id"))
    if isinstance(identity, bool) or not isinstance(identity, str | int) or identity == "":
        raise SettingsError('it needs an "id", a text or a whole number, by which its answer is found.')
    return identity


def _from_openai(data: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a line of OpenAI's batch format into a line of Headstart's."""
    body = data.get("body")
    if not isinstance(body, dict):
        raise SettingsError('"body" must be an object with "messages".')
    if data.get("url", _OPENAI_URL) != _OPENAI_URL:
        raise SettingsError(f"only the url {_OPENAI_URL} can be answered, not {data['url']!r}.")
    if body.get("n", 1) != 1:
        raise SettingsError('"n" must be 1: each line has one answer.')
    ignored = _OPENAI_IGNORED | (set() if body.get("stream") else {"stream"})
    return {_OPENAI_NAMES.get(str(name), str(name)): value for name, value in body.items() if name not in ignored}


def _setting(name: str, value: Any) -> tuple[str, Any]:
    """Return a field of Settings and its value. Raises SettingsError."""
    option = find_setting(name)
    if option.kind is TEXT:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise SettingsError(f"{name} must be a text or a list of texts.")
        return option.field, tuple(texts)
    if isinstance(value, list | dict) or (isinstance(value, bool) and option.kind is not YES_OR_NO):
        raise SettingsError(f"{name} must be {option.kind.words}, not {json.dumps(value)}.")
    return option.field, option.parse(str(value))


def _messages(fields: Mapping[str, Any], default_system: str | None) -> tuple[Message, ...]:
    match fields:
        case {"prompt": str(prompt)} if "messages" not in fields:
            messages = [Message("user", prompt)]
        case {"messages": [_, *_] as items} if "prompt" not in fields:
            messages = [_message(each) for each in items]
        case _:
            raise SettingsError('it needs either a "prompt" of text or a list of "messages", one of the two.')
    if not messages[-1].content.strip():
        raise SettingsError("the prompt is empty.")
    has_system, system = messages[0].role == "system", fields.get("system")
    if not isinstance(system, str | None):
        raise SettingsError('"system" must be a text.')
    if has_system and system is not None:
        raise SettingsError('it has two system prompts: leave out "system", or that of the messages.')
    system = default_system if system is None else system
    return (*([Message("system", system)] if system and not has_system else []), *messages)


def _message(message: Any) -> Message:
    match message:
        case {"role": str(role), "content": str(text)} if role in _ROLES:
            return Message(_ROLES[role], text)
        case {"role": str(role), "content": [*parts]} if role in _ROLES:
            texts: list[Any] = [
                part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"
            ]
            if len(texts) == len(parts) and all(isinstance(text, str) for text in texts):
                return Message(_ROLES[role], "".join(texts))
    raise SettingsError(
        'a message must be {"role": "system", "user" or "assistant", "content": "..."}, with text only.'
    )


# OpenVINO GenAI writes several answers in one pass, without guesses. From this many prompts on it is used. On two cores
# four at once beat a pair of models that guesses ahead; twice as many leave a margin.
GENAI_MIN_PROMPTS, GENAI_MIN_PROMPTS_WITHOUT_DRAFT = 8, 2
_SHARED_CHARS = 200  # prompts that share fewer gain less than a step by sharing
_TEMPLATE_TOKENS = 64  # maximum that a chat format adds to a message
_MIN_SPEED_SECONDS = 1.0  # a speed says nothing before


class BatchEngine(StrEnum):
    """The engine that writes the answers of a batch."""

    AUTO = "auto"
    OWN = "own"
    GENAI = "genai"


@dataclass(frozen=True)
class Part:
    """Prompts for one engine."""

    tasks: Sequence[Task]
    at_once: int | None  # answers that OpenVINO GenAI writes in parallel; None: Headstart's own engine
    reason: str


def _output(text: str) -> Path:
    path = writable_file(text)
    if path.exists() and not path.is_file():
        raise SettingsError(f"{text} is no file; answers must be read again to go on after a stop.")
    return path


@dataclass(frozen=True, kw_only=True)
class BatchFlags:
    batch: Path | None = flag(
        None,
        'answer all prompts of this file, one in each line: {"id": 1, "prompt": "..."} or {"id": 1, "messages": '
        '[{"role": "user", "content": "..."}]}, with system and any setting of an answer beside it (temperature, seed, '
        "max_new_tokens, ...), or a line of OpenAI's batch format; answers are written when they are complete, not in "
        "the order of the prompts; a second run skips prompts that have an answer",
        metavar="FILE",
    )
    output: Path | None = flag(
        None, "where the answers go (default: FILE with .answers before .jsonl)", metavar="FILE", read=_output
    )
    batch_engine: BatchEngine | None = flag(
        None,
        "own: Headstart's engine, one answer after another, with speculation; genai: OpenVINO GenAI, several at once; "
        f"auto: genai from {GENAI_MIN_PROMPTS} prompts on, from {GENAI_MIN_PROMPTS_WITHOUT_DRAFT} on without a draft "
        "model (default: auto)",
    )
    batch_size: int | None = flag(
        None, f"how many answers OpenVINO GenAI writes at once (default: {GENAI_MIN_PROMPTS})"
    )


def require_no_batch(flags: BatchFlags) -> None:
    """Raise SettingsError for flags that need --batch."""
    for name in ("output", "batch_engine", "batch_size"):
        if getattr(flags, name) is not None:
            raise SettingsError(f"--{name.replace('_', '-')} needs --batch FILE.")


def run(flags: BatchFlags, selection: Selection, defaults: Defaults, load: Load) -> int:
    """Answer the lines without an answer. Return the exit code: 1 if a line failed, 130 after Ctrl+C."""
    options = selection.options
    engine, size, file = flags.batch_engine or BatchEngine.AUTO, flags.batch_size, flags.batch
    assert file is not None, "there is a batch"
    if engine is BatchEngine.OWN and size not in (None, 1):
        raise SettingsError("Headstart's own engine answers one after another: leave out --batch-size, or use genai.")
    output = flags.output or _output(str(file.with_name(f"{file.stem}.answers.jsonl")))
    if output.exists() and file.exists() and output.samefile(file):
        raise SettingsError("--output must be another file than --batch.")
    lines = list(read(file, replace(defaults, own=generation_config.read(options.target))))
    if not lines:
        raise SettingsError(f"{file} has no prompts; give it one JSON object in each line.")
    with closing(Answers(output)) as answers:
        remaining = [line for line in lines if isinstance(line, BadLine) or line.id not in answers.ids]
        batch = _Batch(answers, options, selection.facts, len(lines), len(remaining))
        with batch.bar:
            if len(remaining) < len(lines):
                batch.remark(f"{count(len(lines) - len(remaining), 'prompt')} answered before and skipped.")
            for line in remaining:
                if isinstance(line, BadLine):
                    batch.fail(line.line, line.id, line.reason)
            for part in split_tasks([line for line in remaining if isinstance(line, Task)], options, engine, size):
                batch.answer(part, load, may_change_engine=engine is BatchEngine.AUTO)
            return batch.end()


def split_tasks(tasks: Sequence[Task], options: LoadOptions, engine: BatchEngine, size: int | None) -> list[Part]:
    """Divide the tasks between two engines.

    Headstart's own engine gets the tasks that OpenVINO GenAI would answer differently, or all of them if the others are
    too few for OpenVINO GenAI to be faster.
    """
    from headstart.engine.backends.genai.batching import difference  # noqa: PLC0415 - `headstart --help` need not wait for it

    if engine is BatchEngine.OWN:
        return [Part(tasks, None, "as asked")] if tasks else []
    differences = {task.line: difference(options, task.request, seeded=task.seeded) for task in tasks}
    genai_tasks = [task for task in tasks if not differences[task.line]]
    at_once = min(size or GENAI_MIN_PROMPTS, len(genai_tasks))
    wide = GENAI_MIN_PROMPTS if options.draft else GENAI_MIN_PROMPTS_WITHOUT_DRAFT
    if engine is BatchEngine.AUTO and genai_tasks and at_once < wide:
        return [Part(tasks, None, f"usually faster for fewer than {wide} at once")]
    reason = "as asked" if engine is BatchEngine.GENAI else f"usually faster for {wide} or more at once"
    result = [Part(genai_tasks, at_once, reason)] if genai_tasks else []
    own_tasks = [task for task in tasks if differences[task.line]]
    if own_tasks:
        counts = Counter(differences[task.line] for task in own_tasks)
        words = ", ".join(f"{what} ({number})" for what, number in counts.items())
        result.append(Part(own_tasks, None, f"the batches of OpenVINO GenAI would differ in {words}"))
    return result


class _Batch:
    """The state of one run."""

    def __init__(
        self, answers: Answers, options: LoadOptions, model_facts: Mapping[str, Any], total: int, remaining: int
    ) -> None:
        """`remaining` of `total` lines have no answer yet; `model_facts` is written with each answer."""
        self._answers = answers
        self._options = options
        self._model_facts = model_facts
        self._remaining = remaining
        self._num_answered = self._failed = self._tokens = 0
        self._started: float | None = None  # at the first token: loading a model does not count
        self._speed = ""
        self._stopping, self._cancel = threading.Event(), CancelEvent()  # set by the first Ctrl+C, and by the second
        screen = Screen()
        self.remark = screen.remark  # prints above the bar
        speed = TextColumn("{task.fields[speed]}", markup=False)
        self.bar = Progress(
            *(BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn()),
            console=screen.remarks,
            disable=not screen.remarks.is_terminal,
            redirect_stdout=False,
        )
        self._task = self.bar.add_task("answers", total=total, completed=total - remaining, speed="")

    def fail(self, line: int, identity: Identity | None, reason: str) -> None:
        """Write that a line has no answer, and why."""
        self._answers.add({"id": identity, "line": line, "error": reason})
        self._failed += 1
        self.remark(f"line {line}: {reason}")
        self._advance()

    def answer(self, part: Part, load: Load, *, may_change_engine: bool) -> None:
        """Load the engine of a part and write its answers."""
        if self._stopping.is_set():
            return
        draft = ", without the draft model" if self._options.draft else ""
        own = "Headstart's own engine, one after another"
        who = f"OpenVINO GenAI, {part.at_once} at once{draft}" if part.at_once else own
        self.remark(f"{count(len(part.tasks), 'prompt')} for {who}: {part.reason}.")
        try:
            if part.at_once is None:
                with closing(load(self._options)) as engine:
                    self._write(part, _one_by_one(engine, self._requests(part.tasks), self._cancel))
            else:
                self._write_at_once(part, part.at_once)
        except KeyboardInterrupt:  # while a model was loading
            self._stopping.set()
        except DeviceError as error:
            if part.at_once is None or not may_change_engine:
                raise
            self.remark(str(error))
            self.answer(Part(part.tasks, None, "OpenVINO GenAI cannot run here"), load, may_change_engine=False)

    def end(self) -> int:
        """Report the result and how to resume. Return the exit code."""
        speed = f" at {self._speed}" if self._speed else ""
        self.remark(f"{count(self._num_answered, 'answer')} written to {self._answers.path}{speed}.")
        if self._failed:
            self.remark(f"{count(self._failed, 'line')} had no answer; correct them and run the same command again.")
        if self._stopping.is_set() and self._remaining:
            self.remark(
                f"Stopped with {count(self._remaining, 'prompt')} to go. Run the same command again to go on; what is "
                "answered will be skipped."
            )
            return INTERRUPTED
        return 1 if self._failed else 0

    def _write_at_once(self, part: Part, size: int) -> None:
        from headstart.engine.backends.genai.batching import ContinuousBatching  # noqa: PLC0415 - as above

        with closing(ContinuousBatching(self._options, size, _max_tokens(part.tasks))) as batching:
            if batching.size < size:
                self.remark(f"The memory holds {batching.size} at once.")
            self._write(part, batching.answers(self._requests(part.tasks), self._cancel))

    def _write(self, part: Part, events: Iterator[tuple[int, Event | HeadstartError]]) -> None:
        tasks = {task.line: task for task in part.tasks}
        texts = dict.fromkeys(tasks, "")
        is_announced = False
        with on_ctrl_c(self._on_ctrl_c):
            for line, event in events:
                match event:
                    case Step():
                        texts[line] += event.text
                        self._count_tokens(len(event.round.tokens))
                    case Finish() if event.reason is not FinishReason.CANCELLED:  # cancelled ones are written anew
                        self._save_answer(tasks[line], texts.pop(line), event, part)
                    case HeadstartError():
                        self.fail(line, tasks[line].id, str(event))
                if self._stopping.is_set() and not is_announced:
                    is_announced = True
                    self.remark("Stopping after the present answer; Ctrl+C again stops at once.")

    def _requests(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Request]]:
        for task in _group_by_beginning(tasks):
            if self._stopping.is_set():
                return
            yield task.line, task.request

    def _save_answer(self, task: Task, text: str, finish: Finish, part: Part) -> None:
        system = next((message.content for message in task.messages if message.role == "system"), None)
        settings = {**self._model_facts, **task.settings.values, "engine": BatchEngine.OWN, "system": system}
        if part.at_once:
            settings |= {
                "engine": BatchEngine.GENAI,
                "draft": None,
                "speculation": Mode.OFF,
                "batch_size": part.at_once,
            }
        line = {"id": task.id, "text": text, "finish_reason": finish.reason, "token_ids": finish.token_ids}
        self._answers.add(line | {"stats": figures(finish.stats), "settings": settings})
        self._num_answered += 1
        self._advance()

    def _on_ctrl_c(self) -> None:
        (self._cancel if self._stopping.is_set() else self._stopping).set()

    def _count_tokens(self, number: int) -> None:
        self._started = self._started or time.perf_counter()
        self._tokens += number
        seconds = time.perf_counter() - self._started
        self._speed = f"{self._tokens / seconds:.1f} tokens/s" if seconds > _MIN_SPEED_SECONDS else self._speed
        self.bar.update(self._task, speed=self._speed)

    def _advance(self) -> None:
        self._remaining -= 1
        self.bar.advance(self._task)


def _one_by_one(
    engine: Engine, requests: Iterator[tuple[int, Request]], cancel: CancelEvent
) -> Iterator[tuple[int, Event | HeadstartError]]:
    """Yield events as ContinuousBatching.answers does, with speculation as each request asks for it."""
    for key, request in requests:
        try:
            for event in engine.generate(request, cancel):
                yield key, event
        except (ContextOverflowError, ChatTemplateError, SettingsError) as refusal:
            yield key, refusal


def _max_tokens(tasks: Sequence[Task]) -> int:
    """Return an upper bound for the tokens of a prompt and its answer. Each token has at least a byte of text."""
    texts = (sum(_TEMPLATE_TOKENS + len(message.content.encode()) for message in task.messages) for task in tasks)
    return max(text + task.settings.answer.max_new_tokens for text, task in zip(texts, tasks, strict=True))


def _group_by_beginning(tasks: Sequence[Task]) -> list[Task]:
    """Sort tasks so that prompts with the same beginning follow one another, and it is read once.

    Otherwise the order stays.
    """
    texts = {task.line: "\n".join(f"{message.role}\n{message.content}" for message in task.messages) for task in tasks}
    first: dict[str, int] = {}
    for line, text in texts.items():
        first.setdefault(text[:_SHARED_CHARS], line)
    return sorted(tasks, key=lambda task: (first[texts[task.line][:_SHARED_CHARS]], texts[task.line]))
