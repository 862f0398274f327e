"""The lines of a batch: prompts that are read from one file, answers that are kept in another."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.cli.settings import TEXTS, YES_OR_NO, Settings, named
from headstart.engine.engine import Message, Request, Sampling
from headstart.errors import BatchError, SettingsError

Identity = str | int
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_NO_SETTINGS = {"id", "prompt", "messages", "system"}
_OPENAI_URL = "/v1/chat/completions"
_OPENAI_NAMES = {"max_tokens": "max_new_tokens", "max_completion_tokens": "max_new_tokens"}
_OPENAI_IGNORED = {"model", "user", "metadata", "store", "n"}  # change nothing about the answer
_ANSWER = b'{"id": '  # how a line of answers begins


@dataclass(frozen=True)
class Defaults:
    """What holds where a line says nothing. `seeded`: a seed was asked for; `own`: the model's own sampling."""

    settings: Settings
    system: str | None = None
    seeded: bool = False
    own: Sampling | None = None


@dataclass(frozen=True)
class Task:
    """One answer asked for, and by which line."""

    line: int
    id: Identity
    messages: tuple[Message, ...]
    settings: Settings
    seeded: bool

    @property
    def request(self) -> Request:
        """What the engine gets."""
        return self.settings.request(self.messages)


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be answered, and why."""

    line: int
    id: Identity | None
    reason: str


def read(path: Path, defaults: Defaults) -> Iterator[Task | BadLine]:
    """One for each line that is not blank. Raises SettingsError where the file cannot be read."""
    first_lines: dict[Identity, int] = {}
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip(b"\xef\xbb\xbf \t\r\n"):
                    yield _read(number, line, defaults, first_lines)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}); name a file with one prompt a line.") from None


class Answers:
    """The file of answers: each is in it, whole, before the next one begins. An earlier run's answers are kept."""

    def __init__(self, path: Path) -> None:
        """Drop errors and a torn last line of an earlier run: these are to be answered again.

        Raises SettingsError for a file of something else, which is left alone; BatchError where it cannot be written.
        """
        self.path = path
        self.ids: set[Identity] = set()
        try:
            if path.exists():
                self._drop_all_but_answers()
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self._refusal(error) from None

    def add(self, line: Mapping[str, Any]) -> None:
        """Write one line. Where it does not fit, take back its beginning and raise BatchError."""
        data = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        assert data.startswith(_ANSWER), "a torn line is known by its beginning"
        rest, before = memoryview(data), self._file.seek(0, os.SEEK_END)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):  # a torn line is dropped by the next run
                self._file.truncate(before)
            raise self._refusal(error) from None

    def close(self) -> None:
        """Nothing can be added after this."""
        self._file.close()

    def _drop_all_but_answers(self) -> None:
        """A file beside takes the place of this one, so that nothing is lost where the disk is full."""
        beside = self.path.with_name(f"{self.path.name}.new")
        try:
            with self.path.open("rb") as old, beside.open("wb") as new:
                for number, line in enumerate(old, start=1):
                    identity = self._answered(number, line)
                    if identity is not None:
                        self.ids.add(identity)
                        new.write(line.rstrip(b"\r\n") + b"\n")
                new.flush()
                os.fsync(new.fileno())
            beside.replace(self.path)
        except (OSError, SettingsError):
            with contextlib.suppress(OSError):
                beside.unlink()
            raise

    def _answered(self, number: int, line: bytes) -> Identity | None:
        """The id of a whole answer; None for an error or a torn line. Raises SettingsError for anything else."""
        try:
            match json.loads(line):
                case {"id": str() | int() as identity, "text": str(), "finish_reason": _}:
                    return identity
                case {"id": _, "error": str()}:
                    return None
        except (ValueError, RecursionError):
            begun = line.rstrip(b"\0")  # a crash of the whole system may leave these
            if not line.endswith(b"\n") and begun[: len(_ANSWER)] == _ANSWER[: len(begun)]:
                return None
        raise SettingsError(
            f"{self.path} holds something else than answers (line {number}); name another file with --output."
        )

    def _refusal(self, error: OSError) -> BatchError:
        return BatchError(
            f"{self.path} cannot be written ({error.strerror}); the answers in it are whole: make room or choose "
            "another place, and run the same command again to go on."
        )


def _read(number: int, line: bytes, defaults: Defaults, first_lines: dict[Identity, int]) -> Task | BadLine:
    identity = None
    try:
        data = _object(line)
        identity = _identity(data)
        asked = _from_openai(data) if "custom_id" in data else data
        given = {name: value for name, value in asked.items() if name not in _NO_SETTINGS and value is not None}
        settings = defaults.settings.with_values(dict(_setting(*each) for each in given.items()))
        messages = _messages(asked, defaults.system)
        if first_lines.setdefault(identity, number) != number:  # an answer is found again by its id
            raise SettingsError(f"the id {identity!r} is that of line {first_lines[identity]}; give each line its own.")
        return Task(number, identity, messages, settings.settled(defaults.own), defaults.seeded or "seed" in given)
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
    """The same line in our own words."""
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
    """A field of Settings and its value."""
    option = named(name)
    if option.kind is TEXTS:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise SettingsError(f"{name} must be a text or a list of texts.")
        return option.field, tuple(texts)
    if isinstance(value, list | dict) or (isinstance(value, bool) and option.kind is not YES_OR_NO):
        raise SettingsError(f"{name} must be {option.kind.words}, not {json.dumps(value)}.")
    return option.field, option.parse(str(value))


def _messages(asked: Mapping[str, Any], usual_system: str | None) -> tuple[Message, ...]:
    match asked:
        case {"prompt": str(prompt)} if "messages" not in asked:
            messages = [Message("user", prompt)]
        case {"messages": [_, *_] as given} if "prompt" not in asked:
            messages = [_message(each) for each in given]
        case _:
            raise SettingsError('it needs either a "prompt" of text or a list of "messages", one of the two.')
    if not messages[-1].content.strip():
        raise SettingsError("the prompt is empty.")
    has_system, system = messages[0].role == "system", asked.get("system")
    if not isinstance(system, str | None):
        raise SettingsError('"system" must be a text.')
    if has_system and system is not None:
        raise SettingsError('it has two system prompts: leave out "system", or that of the messages.')
    system = usual_system if system is None else system
    return (*([Message("system", system)] if system and not has_system else []), *messages)


def _message(given: Any) -> Message:
    match given:
        case {"role": str(role), "content": str(text)} if role in _ROLES:
            return Message(_ROLES[role], text)
        case {"role": str(role), "content": [*parts]} if role in _ROLES and all(map(_is_text, parts)):
            return Message(_ROLES[role], "".join(part["text"] for part in parts))
    raise SettingsError(
        'a message must be {"role": "system", "user" or "assistant", "content": "..."}, with text only.'
    )


def _is_text(part: Any) -> bool:
    """A part of a message as OpenAI has it."""
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
