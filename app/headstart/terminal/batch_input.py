"""From the lines of a batch file to requests; a bad line becomes a sentence. Knows no engine and no answers.

A line is `{"id": ..., "prompt": ...}` or `{"id": ..., "messages": [...]}`, with `system` and any setting of an answer
beside it, or a line of OpenAI's batch format: `{"custom_id": ..., "body": {"messages": [...]}}`.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.engine.engine import Message, Request, Sampling
from headstart.errors import SettingsError
from headstart.terminal.settings import TEXTS, YES_OR_NO, Settings, named

Identity = str | int
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_OPENAI_NAMES = {"max_tokens": "max_new_tokens", "max_completion_tokens": "max_new_tokens"}
_OPENAI_SILENT = {"model", "user", "metadata", "store"}  # change nothing about the answer
_CHAT_URL = "/v1/chat/completions"
_WORDS = ("id", "prompt", "messages", "system")


@dataclass(frozen=True)
class Defaults:
    """What the command line says about every answer. `seeded`: the seed was asked for; `own`: the model's sampling."""

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
    sentence: str


def read(path: Path, defaults: Defaults) -> Iterator[Task | BadLine]:
    """One for each line that is not blank. Raises SettingsError where the file cannot be read."""
    first_lines: dict[Identity, int] = {}
    for number, raw in _raw_lines(path):
        if raw.strip(b"\xef\xbb\xbf \t\r\n"):
            yield _unique(_line(number, raw, defaults), first_lines)


def _raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as lines:
            yield from enumerate(lines, start=1)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}); name a file with one prompt a line.") from None


def _unique(found: Task | BadLine, first_lines: dict[Identity, int]) -> Task | BadLine:
    """An answer is found again by its id, so only the first line with an id counts."""
    if isinstance(found, BadLine):
        return found
    first = first_lines.setdefault(found.id, found.line)
    if first == found.line:
        return found
    return BadLine(found.line, found.id, f"the id {found.id!r} is that of line {first}; give each line its own.")


def _line(number: int, raw: bytes, defaults: Defaults) -> Task | BadLine:
    identity = None
    try:
        data = _object(raw)
        identity = _identity(data)
        return _task(number, identity, _from_openai(data) if "custom_id" in data else data, defaults)
    except SettingsError as error:
        return BadLine(number, identity, str(error))


def _object(raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw.decode("utf-8-sig"))
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
    if data.get("url", _CHAT_URL) != _CHAT_URL:
        raise SettingsError(f"only the url {_CHAT_URL} can be answered, not {data['url']!r}.")
    if body.get("n", 1) != 1:
        raise SettingsError('"n" must be 1: each line has one answer.')
    left_out = _OPENAI_SILENT | {"n"} | ({"stream"} if not body.get("stream") else set())
    return {_OPENAI_NAMES.get(str(name), str(name)): value for name, value in body.items() if name not in left_out}


def _task(number: int, identity: Identity, data: Mapping[str, Any], defaults: Defaults) -> Task:
    settings = defaults.settings
    given = {name: value for name, value in data.items() if name not in _WORDS and value is not None}
    for name, value in given.items():
        settings = _changed(settings, name, value)
    seeded = defaults.seeded or "seed" in given
    return Task(number, identity, _messages(data, defaults.system), settings.settled(defaults.own), seeded)


def _changed(settings: Settings, name: str, value: Any) -> Settings:
    option = named(name)
    if option.kind is TEXTS:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise SettingsError(f"{name} must be a text or a list of texts.")
        return dataclasses.replace(settings, stop=tuple(texts))
    if isinstance(value, list | dict) or (isinstance(value, bool) and option.kind is not YES_OR_NO):
        raise SettingsError(f"{name} must be {option.kind.words}, not {json.dumps(value)}.")
    return dataclasses.replace(settings, **{option.field: option.parse(str(value))})


def _messages(data: Mapping[str, Any], usual_system: str | None) -> tuple[Message, ...]:
    if ("prompt" in data) == ("messages" in data):
        raise SettingsError('it needs a "prompt" or "messages", one of the two.')
    if "prompt" in data:
        messages = [Message("user", _text("prompt", data["prompt"]))]
    else:
        messages = _conversation(data["messages"])
    if not messages[-1].content.strip():
        raise SettingsError("the prompt is empty.")
    has_system = messages[0].role == "system"
    if data.get("system") is not None:
        if has_system:
            raise SettingsError('it has two system prompts: leave out "system", or that of the messages.')
        usual_system = _text("system", data["system"])
    system = [Message("system", usual_system)] if usual_system and not has_system else []
    return (*system, *messages)


def _conversation(given: Any) -> list[Message]:
    if not isinstance(given, list) or not given:
        raise SettingsError('"messages" must be a list with at least one message.')
    return [_message(message) for message in given]


def _message(given: Any) -> Message:
    if not isinstance(given, dict) or given.get("role") not in _ROLES:
        raise SettingsError('a message must be {"role": "system", "user" or "assistant", "content": "..."}.')
    content = given.get("content")
    if isinstance(content, list):  # OpenAI's parts
        if not all(isinstance(part, dict) and part.get("type") == "text" for part in content):
            raise SettingsError("a message may hold text only.")
        content = "".join(_text("text", part.get("text")) for part in content)
    return Message(_ROLES[given["role"]], _text("content", content))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SettingsError(f'"{name}" must be a text.')
    return value
