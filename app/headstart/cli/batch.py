"""`headstart chat --batch FILE`: answers to the prompts of a file. A run that was stopped can be resumed."""

import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from headstart.cli.command import INTERRUPTED, Load, flag, writable_file
from headstart.cli.options import ModelSelection, RequestSettings, find_setting, model_info
from headstart.cli.render import Screen, count, on_ctrl_c
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import ConversationRequest, Engine, Event, Finish, FinishReason, Message, Sampling, Step
from headstart.engine.stats import figures
from headstart.errors import (
    BatchError,
    ChatTemplateError,
    ContextOverflowError,
    HeadstartError,
    MemoryBudgetError,
    SettingsError,
)

Identity = str | int
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_NOT_SETTINGS = {"id", "prompt", "messages", "system"}
_OPENAI_URL = "/v1/chat/completions"
_OPENAI_NAMES = {
    "max_tokens": "max_new_tokens",
    "max_completion_tokens": "max_new_tokens",
    "reasoning_effort": "think_effort",
    "thinking_budget_tokens": "think_budget",
}
_OPENAI_IGNORED = {"model", "user", "metadata", "store", "n"}  # they do not change the answer
_ANSWER_START = b'{"id": '  # start of a line of answers


@dataclass(frozen=True)
class LineDefaults:
    """Values for the fields that a line leaves out."""

    settings: RequestSettings
    system: str | None = None
    own: Sampling | None = None  # the sampling that the model recommends


@dataclass(frozen=True)
class PromptLine:
    """A prompt to answer, and its line."""

    line: int
    id: Identity
    messages: tuple[Message, ...]
    settings: RequestSettings

    @property
    def request(self) -> ConversationRequest:
        return self.settings.request(self.messages)


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be answered."""

    line: int
    id: Identity | None
    reason: str


def read(path: Path, defaults: LineDefaults) -> Iterator[PromptLine | BadLine]:
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
        if path.exists() and not path.is_file():
            raise SettingsError(f"{path} is no file; answers must be read again to go on after a stop.")
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
        """Return the id of a complete answer; None for an error or an incomplete line. Raises SettingsError."""
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


def _read(number: int, line: bytes, defaults: LineDefaults, first_lines: dict[Identity, int]) -> PromptLine | BadLine:
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
        return PromptLine(number, identity, messages, settings.with_model_defaults(defaults.own))
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
    fields = {_OPENAI_NAMES.get(str(name), str(name)): value for name, value in body.items() if name not in ignored}
    values = fields.get("chat_template_kwargs")
    if isinstance(values, dict) and values.keys() == {"enable_thinking"}:
        fields["think"] = fields.pop("chat_template_kwargs")["enable_thinking"]
    if fields.get("think_effort") == "none":
        fields |= {"think": False, "think_effort": None}
    return fields


def _setting(name: str, value: Any) -> tuple[str, Any]:
    """Return the name of a setting and its value. Raises SettingsError."""
    option = find_setting(name)
    if option.is_repeatable:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise SettingsError(f"{name} must be a text or a list of texts.")
        return option.name, tuple(texts)
    if isinstance(value, list | dict) or (isinstance(value, bool) and option.kind is not bool):
        raise SettingsError(f"{name} must be {option.kind_in_words}, not {json.dumps(value)}.")
    return option.name, option.parse(str(value))


def _messages(fields: Mapping[str, Any], default_system: str | None) -> tuple[Message, ...]:
    match fields:
        case {"prompt": str(prompt)} if "messages" not in fields:
            messages = [Message("user", prompt)]
        case {"messages": [_, *_] as items} if "prompt" not in fields:
            messages = [_message(each) for each in items]
        case _:
            raise SettingsError('it needs either a "prompt" of text or a list of "messages", one of the two.')
    if not (messages[-1].content.strip() or messages[-1].thinking):
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
        case {"role": "assistant", "reasoning_content": str(thinking), **others}:
            return replace(_message({"role": "assistant", **others}), thinking=thinking)
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


_MAX_PARALLEL = 8  # answers; each takes the memory of a context. Four write about a sixth fewer tokens a second.
_SHARED_CHARS = 200  # prompts that share fewer gain less than a step by sharing
_MIN_SPEED_SECONDS = 1.0  # a speed says nothing before
_POLL_SECONDS = 0.1  # between two looks at Ctrl+C: Python on Windows sees it only while nothing waits

_Event = tuple[int, Event | HeadstartError]  # with the line of its prompt; an error ends its answer


@dataclass(frozen=True, kw_only=True)
class BatchFlags:
    batch: Path | None = flag(
        None,
        'answer all prompts of this file, one in each line: {"id": 1, "prompt": "..."} or {"id": 1, "messages": '
        '[{"role": "user", "content": "..."}]}, with system and any setting of an answer beside it (temperature, seed, '
        "max_new_tokens, ...), or a line of OpenAI's batch format; the model writes as many as "
        f"{_MAX_PARALLEL} answers at the same time, and each goes to the file when it is complete, not in the order of "
        "the prompts; a second run skips prompts that have an answer",
        metavar="FILE",
    )
    output: Path | None = flag(
        None, "where the answers go (default: FILE with .answers before .jsonl)", metavar="FILE", read=writable_file
    )


def run(file: Path, output: Path | None, selection: ModelSelection, defaults: LineDefaults, load: Load) -> int:
    """Answer the lines without an answer. Return the exit code: 1 if a line failed, 130 after Ctrl+C."""
    output = output or writable_file(str(file.with_name(f"{file.stem}.answers.jsonl")))
    if output.exists() and file.exists() and output.samefile(file):
        raise SettingsError("--output must be another file than --batch.")
    lines = list(read(file, defaults))
    if not lines:
        raise SettingsError(f"{file} has no prompts; give it one JSON object in each line.")
    with closing(Answers(output)) as answers:
        remaining = [line for line in lines if isinstance(line, BadLine) or line.id not in answers.ids]
        batch = _Batch(answers, selection, len(lines), len(remaining))
        with batch.bar:
            if len(remaining) < len(lines):
                batch.remark(f"{count(len(lines) - len(remaining), 'prompt')} answered before and skipped.")
            for line in remaining:
                if isinstance(line, BadLine):
                    batch.fail(line.line, line.id, line.reason)
            batch.answer([line for line in remaining if isinstance(line, PromptLine)], load)
            return batch.end()


class _Batch:
    """The state of one run."""

    def __init__(self, answers: Answers, selection: ModelSelection, total: int, remaining: int) -> None:
        """`remaining` of `total` lines have no answer yet."""
        self._answers = answers
        self._selection = selection
        self._remaining = remaining
        self._num_answered = self._failed = self._tokens = 0
        self._parallel = 1  # answers at the same time
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

    def answer(self, tasks: Sequence[PromptLine], load: Load) -> None:
        """Load the model and write the answers of these tasks."""
        if not tasks:
            return
        try:
            with closing(self._load(load, min(_MAX_PARALLEL, len(tasks)))) as engine:
                self.remark(f"{count(len(tasks), 'prompt')}, {self._parallel} at a time.")
                with closing(_events(engine, self._until_stopped(tasks), self._parallel, self._cancel)) as events:
                    self._write(tasks, events)
        except KeyboardInterrupt:  # while the model was loading
            self._stopping.set()

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

    def _load(self, load: Load, parallel: int) -> Engine:
        """Load the model for as many answers at the same time as the memory holds, at most `parallel`."""
        try:
            engine = load(replace(self._selection.options, parallel=parallel))
        except MemoryBudgetError:
            if parallel == 1:
                raise
            return self._load(load, parallel // 2)
        info = model_info(engine)
        self._parallel = info.parallel if info else 1
        return engine

    def _until_stopped(self, tasks: Sequence[PromptLine]) -> Iterator[PromptLine]:
        for task in _group_by_beginning(tasks):
            if self._stopping.is_set():
                return
            yield task

    def _write(self, tasks: Sequence[PromptLine], events: Iterator[_Event]) -> None:
        by_line = {task.line: task for task in tasks}
        texts, thinking = dict.fromkeys(by_line, ""), dict.fromkeys(by_line, "")
        is_announced = False
        with on_ctrl_c(self._on_ctrl_c):
            for line, event in events:
                match event:
                    case Step():
                        texts[line] += event.text
                        thinking[line] += event.thinking
                        self._count_tokens(len(event.round.tokens))
                    case Finish() if event.reason is not FinishReason.CANCELLED:  # cancelled ones are written anew
                        self._save_answer(by_line[line], texts.pop(line), thinking.pop(line), event)
                    case HeadstartError():
                        self.fail(line, by_line[line].id, str(event))
                if self._stopping.is_set() and not is_announced:
                    is_announced = True
                    self.remark("Stopping after the answers in progress; Ctrl+C again stops at once.")

    def _save_answer(self, task: PromptLine, text: str, thinking: str, finish: Finish) -> None:
        system = next((message.content for message in task.messages if message.role == "system"), None)
        settings = {**self._selection.facts, **task.settings.values, "parallel": self._parallel, "system": system}
        line = {"id": task.id, "reasoning_content": thinking, "text": text, "finish_reason": finish.reason}
        more = {"token_ids": finish.token_ids, "stats": figures(finish.stats), "settings": settings}
        self._answers.add(line | more)
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


def _events(engine: Engine, tasks: Iterator[PromptLine], parallel: int, cancel: CancelEvent) -> Generator[_Event]:
    """Yield the events of the answers, `parallel` of which are written at the same time.

    Closing the iterator sets `cancel`, which ends the answers in progress. Raises what the engine raises.
    """
    events = queue.SimpleQueue[_Event | Future[None]]()
    turn = threading.Lock()

    def write() -> None:
        while True:
            with turn:
                task = None if cancel.is_set() else next(tasks, None)
            if task is None:
                return
            try:
                for event in engine.generate(task.request, cancel):
                    events.put((task.line, event))
            except (ContextOverflowError, ChatTemplateError, SettingsError) as refusal:
                events.put((task.line, refusal))

    with ThreadPoolExecutor(parallel, "answer") as pool:
        for _ in range(parallel):
            pool.submit(write).add_done_callback(events.put)
        writing = parallel
        try:
            while writing:
                try:
                    event = events.get(timeout=_POLL_SECONDS)
                except queue.Empty:
                    continue
                if isinstance(event, Future):
                    event.result()
                    writing -= 1
                else:
                    yield event
        finally:
            cancel.set()


def _group_by_beginning(tasks: Sequence[PromptLine]) -> list[PromptLine]:
    """Sort tasks so that prompts with the same beginning follow one another, and it is read once.

    Otherwise the order stays.
    """
    texts = {task.line: "\n".join(f"{message.role}\n{message.content}" for message in task.messages) for task in tasks}
    first: dict[str, int] = {}
    for line, text in texts.items():
        first.setdefault(text[:_SHARED_CHARS], line)
    return sorted(tasks, key=lambda task: (first[texts[task.line][:_SHARED_CHARS]], texts[task.line]))
