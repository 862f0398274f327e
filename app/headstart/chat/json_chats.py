"""Chats as JSON with all versions, models, settings and statistics."""

import json
import math
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, NamedTuple

from headstart.chat.conversation import (
    Attachment,
    Chat,
    ChatMessage,
    Conversation,
    Excerpt,
    Passage,
    Project,
    Role,
    Run,
    State,
    ToolCall,
    clean_name,
    storable,
)
from headstart.chat.tagged_thinking import separated
from headstart.errors import HeadstartError, Translatable

Bundle = tuple[Chat, Conversation]

MAX_BYTES = 256 * 2**20  # about the exports of years of daily use
MAX_CHATS = 100_000
MAX_MESSAGES = 50_000  # in one chat
MAX_CHARACTERS = 4_000_000  # in one text
MAX_TITLE_CHARACTERS = 500
FORMAT = "headstart-chats"
VERSION = 1


class MalformedError(HeadstartError):
    """A fault in a file, worded as a part of a sentence."""


class Imported(NamedTuple):
    """The content of a file."""

    chats: tuple[Bundle, ...]
    projects: tuple[Project, ...] = ()
    program: str = ""  # that wrote the file
    left_out: tuple[Translatable, ...] = ()  # what could not be imported, each with its number


def to_json(chats: Iterable[Bundle], projects: Iterable[Project] = ()) -> str:
    """Return a document that `read_own` turns into equal chats and projects, apart from the ids of chats."""
    content: dict[str, object] = {"format": FORMAT, "version": VERSION, "chats": [_chat(bundle) for bundle in chats]}
    content["projects"] = [
        {"name": project.name, "settings": _finite(project.settings), "files": _files(project.files)}
        for project in projects
    ]
    return storable(json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def is_own(content: object) -> bool:
    """Return whether a document is an export of Headstart."""
    return isinstance(content, Mapping) and content.get("format") == FORMAT


def read_own(content: Mapping[str, Any]) -> Imported:
    """Return the chats, with new ids, and the projects of a document of Headstart. Raises MalformedError."""
    chats = _read_own(content)
    require_few(len(chats), MAX_CHATS, Translatable("chats"))
    for _, conversation in chats:
        require_few(len(conversation.messages), MAX_MESSAGES, Translatable("messages in one chat"))
    return Imported(chats, _read_projects(content.get("projects", [])), "Headstart")


def _read_own(content: Mapping[str, Any]) -> tuple[Bundle, ...]:
    """Return the chats of a document of Headstart. Raises MalformedError."""
    if content.get("version") != VERSION:
        raise MalformedError(
            "it has version {found!r} of the format and only {version} is known",
            found=content.get("version"),
            version=VERSION,
        )
    chats = content.get("chats")
    if not isinstance(chats, list):
        raise MalformedError("it has no list of chats")
    return tuple(_read_chat(chat) for chat in chats)


def _chat(bundle: Bundle) -> dict[str, object]:
    chat, conversation = bundle
    shown = set(conversation.chosen.values())
    return {
        "id": chat.id,
        "title": chat.title,
        "created": _time(chat.created),
        "updated": _time(chat.updated),
        "tags": list(chat.tags),
        "project": chat.project,
        "pinned": chat.pinned,
        "archived": chat.archived,
        "settings": _finite(chat.settings),
        "messages": [_message(message, shown=message.id in shown) for message in conversation.messages.values()],
    }


def _message(message: ChatMessage, *, shown: bool) -> dict[str, object]:
    # A message in progress is cut short if the file is read.
    state = State.INTERRUPTED if message.state is State.STREAMING else message.state
    return {
        "id": message.id,
        "parent": message.parent,
        "shown": shown,
        "role": message.role.value,
        "text": message.text,
        "thinking": message.thinking,
        "created": _time(message.created),
        "state": state.value,
        "model": message.model,
        "settings": _finite(message.settings),
        "statistics": _finite(message.stats),
        "origins": [list(run) for run in message.origins],
        "attachments": _files(message.attachments),
        "edited": message.edited,
        "calls": [asdict(call) for call in message.calls],
        "passages": [passage._asdict() for passage in message.passages],
        "excerpts": [excerpt._replace(path="")._asdict() for excerpt in message.excerpts],
        "searched": message.searched,
    }


def _files(attachments: Iterable[Attachment]) -> list[dict[str, str]]:
    return [{"name": attachment.name, "text": attachment.text} for attachment in attachments]


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _finite(value: object) -> object:
    """Replace infinite and undefined numbers by null: JSON has no words for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _read_chat(value: object) -> Bundle:
    entry = _require_mapping(value, "a chat")
    messages = entry.get("messages")
    if not isinstance(messages, list):
        raise MalformedError("a chat has no list of messages")
    chat = new_chat(
        text_at(entry, "title"),
        created=_read_time(entry, "created"),
        updated=_read_time(entry, "updated"),
        tags=_read_tags(entry),
        pinned=entry.get("pinned") is True,
        archived=entry.get("archived") is True,
        settings=_require_mapping(entry.get("settings", {}), "settings"),
        project=clean_name(text_at(entry, "project", "")),
        source=text_at(entry, "id", ""),
    )
    return chat, _read_conversation([_require_mapping(message, "a message") for message in messages])


def _read_tags(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the tags of a chat. Files from before there were tags have one folder instead."""
    names = entry.get("tags", [text_at(entry, "folder", "")])
    if not isinstance(names, list):
        raise MalformedError("tags in it are not a list")
    return tuple(sorted({clean_name(long_text(name)) for name in names} - {""}))


def _read_projects(entries: object) -> tuple[Project, ...]:
    if not isinstance(entries, list):
        raise MalformedError("projects in it are not a list")
    tables = [_require_mapping(entry, "a project") for entry in entries]
    projects = [
        Project(
            clean_name(text_at(entry, "name")),
            _require_mapping(entry.get("settings", {}), "settings"),
            _read_files(entry.get("files", [])),
        )
        for entry in tables
    ]
    return tuple(project for project in projects if project.name)


def _read_files(entries: object) -> tuple[Attachment, ...]:
    if not isinstance(entries, list):
        raise MalformedError("files in it are not a list")
    files = [_require_mapping(entry, "a file") for entry in entries]
    return tuple(Attachment(text_at(file, "name"), text_at(file, "text")) for file in files)


def _read_conversation(entries: list[Mapping[str, Any]]) -> Conversation:
    messages: dict[int, ChatMessage] = {}
    chosen: dict[int | None, int] = {}
    last = 0
    for entry in entries:
        message = _read_message(entry)
        has_parent = message.parent is None or message.parent in messages
        if not has_parent or message.id <= last:
            raise MalformedError(
                "message {message_id} does not follow its parent or stands twice", message_id=message.id
            )
        messages[message.id] = message
        last = message.id
        if entry.get("shown") is True:
            chosen[message.parent] = message.id
    for message in messages.values():
        chosen.setdefault(message.parent, message.id)
    return Conversation(messages, chosen)


def _read_message(entry: Mapping[str, Any]) -> ChatMessage:
    """Return a message. In files of earlier versions, thinking is a part of the text."""
    try:
        message = ChatMessage(
            id=_number(entry["id"]),
            parent=None if entry["parent"] is None else _number(entry["parent"]),
            role=Role(entry["role"]),
            text=long_text(entry["text"]),
            created=_read_time(entry, "created"),
            state=_read_state(entry.get("state", State.COMPLETE.value)),
            model=text_at(entry, "model", ""),
            settings=_require_mapping(entry.get("settings", {}), "settings"),
            stats=_require_mapping(entry.get("statistics", {}), "statistics"),
            origins=tuple(Run(_number(count), long_text(origin)) for count, origin in entry.get("origins", [])),
            attachments=_read_files(entry.get("attachments", [])),
            edited=entry.get("edited") is True,
            calls=tuple(_read_call(call) for call in entry.get("calls", [])),
            passages=tuple(
                Passage(*(_number(passage[name], minimum=0) for name in Passage._fields))
                for passage in entry.get("passages", [])
            ),
            excerpts=tuple(_read_excerpt(excerpt) for excerpt in entry.get("excerpts", [])),
            thinking=text_at(entry, "thinking", ""),
            searched=text_at(entry, "searched", ""),
        )
        return message if "thinking" in entry else separated(message)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedError("a message in it is not as it should be ({error})", error=repr(error)) from error


def _read_call(entry: Mapping[str, Any]) -> ToolCall:
    at = _number(entry["at"], minimum=0)
    name, arguments, result = (text_at(entry, key) for key in ("name", "arguments", "result"))
    thought_at = _number(entry.get("thought_at", 0), minimum=0)
    call = ToolCall(at, name, arguments, result, failed=entry.get("failed") is True, thought_at=thought_at)
    if not isinstance(json.loads(call.arguments), dict):
        raise MalformedError("the arguments of a call in it are not a table")
    return call


def _read_excerpt(entry: Mapping[str, Any]) -> Excerpt:
    """Return a passage without the path of its file: an imported chat must not name a file to open."""
    name, text = (text_at(entry, key) for key in ("name", "text"))
    page, line = (_number(entry[key], minimum=0) for key in ("page", "line"))
    return Excerpt("", name, page, line, text, text_at(entry, "heading", ""))


def _read_state(value: object) -> State:
    state = State(long_text(value))
    return State.INTERRUPTED if state is State.STREAMING else state


def _read_time(entry: Mapping[str, Any], name: str) -> float:
    try:
        seconds = datetime.fromisoformat(entry[name]).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
        raise MalformedError("{name} is not a time", name=name) from error
    if seconds < 0:
        raise MalformedError("{name} lies before 1970", name=name)
    return round(seconds, 3)


def _number(value: object, minimum: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value < 2**53:
        raise MalformedError("it has {value!r} instead of a number from {least}", value=value, least=minimum)
    return value


def _require_mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedError("{what} in it is not a table", what=what)
    return value


def new_chat(title: str, *, created: float, updated: float, **others: Any) -> Chat:
    """Return a chat with a new id, so that a second import replaces nothing."""
    return Chat(
        uuid.uuid4().hex, " ".join(title.splitlines()).strip()[:MAX_TITLE_CHARACTERS], created, updated, **others
    )


def long_text(value: object) -> str:
    """Return a text without characters that files cannot hold. Raises MalformedError if it is too long."""
    if not isinstance(value, str):
        raise MalformedError("it has {value!r} instead of a text", value=str(value)[:40])
    if len(value) > MAX_CHARACTERS:
        raise MalformedError(
            "a text in it has more than {most_characters:,} characters", most_characters=MAX_CHARACTERS
        )
    return storable(value)


def text_at(entry: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return the text of a field. Raises MalformedError if it is missing."""
    value = entry.get(name, default)
    if value is None:
        raise MalformedError("{name} is missing", name=name)
    return long_text(value)


def require_few(count: int, maximum: int, what: str) -> None:
    """Raise MalformedError if `count` is greater than `maximum`."""
    if count > maximum:
        raise MalformedError(
            "it has {count:,} {what} and at most {most:,} are read", count=count, what=what, most=maximum
        )
