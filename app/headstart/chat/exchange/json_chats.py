"""Chats as JSON with all versions, models, settings and statistics; and a file of chats, whoever wrote it, read."""

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from headstart.chat.conversation import LONGEST_TAG, Attachment, Conversation, Message, Role, Run, State, storable
from headstart.chat.exchange.chatgpt import is_chatgpt, read_chatgpt
from headstart.chat.exchange.files import (
    MOST_BYTES,
    MOST_CHATS,
    MOST_MESSAGES,
    Bundle,
    MalformedError,
    long_text,
    new_chat,
    require_few,
    text_at,
)
from headstart.errors import ExchangeError, Translatable

FORMAT = "headstart-chats"
VERSION = 1


def to_json(chats: Iterable[Bundle]) -> str:
    """A document that `read_chats` turns into equal chats, but for their ids."""
    content = {"format": FORMAT, "version": VERSION, "chats": [_chat(bundle) for bundle in chats]}
    return storable(json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def read_chats(path: Path) -> tuple[Bundle, ...]:
    """The chats in a JSON file of Headstart or a conversations.json of ChatGPT, with ids of their own.

    Raises ExchangeError with one sentence.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise MalformedError(
                "it has {size:,} MB and at most {most_bytes} MB are read", size=size >> 20, most_bytes=MOST_BYTES >> 20
            )
        return parse_chats(path.read_bytes())
    except OSError as error:
        raise ExchangeError(
            "{path} cannot be read ({strerror}); choose a file that you may open.",
            path=path.name,
            strerror=error.strerror,
        ) from error
    except MalformedError as error:
        raise ExchangeError(
            "{path} was not imported because {reason}; choose a JSON file exported by Headstart or the "
            "conversations.json from a ChatGPT export.",
            path=path.name,
            reason=error.text,
        ) from error


def parse_chats(data: bytes) -> tuple[Bundle, ...]:
    """The chats in the bytes of such a file. Raises MalformedError."""
    content = _parse(data)
    if isinstance(content, Mapping) and content.get("format") == FORMAT:
        found = _read_own(content)
    elif isinstance(content, list) and is_chatgpt(content):
        require_few(len(content), MOST_CHATS, Translatable("chats"))
        found = read_chatgpt(content)
    else:
        raise MalformedError("it is no export of chats")
    require_few(len(found), MOST_CHATS, Translatable("chats"))
    for _, conversation in found:
        require_few(len(conversation.messages), MOST_MESSAGES, Translatable("messages in one chat"))
    if not found:
        raise MalformedError("there is no chat in it")
    return found


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise MalformedError("it is not UTF-8 text") from error
    except RecursionError as error:
        raise MalformedError("its parts are nested too deeply") from error
    except ValueError as error:
        raise MalformedError("it is not JSON ({error})", error=error) from error


def _refuse(constant: str) -> NoReturn:
    raise MalformedError("{constant} in it is no number", constant=constant)


def _read_own(content: Mapping[str, Any]) -> tuple[Bundle, ...]:
    """The chats of a parsed document. Raises MalformedError with what is wrong."""
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
        "title": chat.title,
        "created": _time(chat.created),
        "updated": _time(chat.updated),
        "tags": list(chat.tags),
        "pinned": chat.pinned,
        "archived": chat.archived,
        "settings": _finite(chat.settings),
        "messages": [_message(message, shown=message.id in shown) for message in conversation.messages.values()],
    }


def _message(message: Message, *, shown: bool) -> dict[str, object]:
    # One that is being written now is cut short wherever it is read again.
    state = State.INTERRUPTED if message.state is State.STREAMING else message.state
    return {
        "id": message.id,
        "parent": message.parent,
        "shown": shown,
        "role": message.role.value,
        "text": message.text,
        "created": _time(message.created),
        "state": state.value,
        "model": message.model,
        "settings": _finite(message.settings),
        "statistics": _finite(message.stats),
        "origins": [list(run) for run in message.origins],
        "attachments": [{"name": attachment.name, "text": attachment.text} for attachment in message.attachments],
        "edited": message.edited,
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _finite(value: object) -> object:
    """JSON has no word for infinite and undefined numbers: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _read_chat(value: object) -> Bundle:
    entry = _table(value, "a chat")
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
        settings=_table(entry.get("settings", {}), "settings"),
    )
    return chat, _read_conversation([_table(message, "a message") for message in messages])


def _read_tags(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Files from before there were tags name one folder."""
    names = entry.get("tags", [text_at(entry, "folder", "")])
    if not isinstance(names, list):
        raise MalformedError("tags in it are no list")
    cut = (" ".join(long_text(name).split())[:LONGEST_TAG].rstrip() for name in names)
    return tuple(sorted({name for name in cut if name}))


def _read_conversation(entries: list[Mapping[str, Any]]) -> Conversation:
    messages: dict[int, Message] = {}
    chosen: dict[int | None, int] = {}
    last = 0
    for entry in entries:
        message = _read_message(entry)
        known = message.parent is None or message.parent in messages
        if not known or message.id <= last:
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


def _read_message(entry: Mapping[str, Any]) -> Message:
    try:
        return Message(
            id=_number(entry["id"]),
            parent=None if entry["parent"] is None else _number(entry["parent"]),
            role=Role(entry["role"]),
            text=long_text(entry["text"]),
            created=_read_time(entry, "created"),
            state=_read_state(entry.get("state", State.COMPLETE.value)),
            model=text_at(entry, "model", ""),
            settings=_table(entry.get("settings", {}), "settings"),
            stats=_table(entry.get("statistics", {}), "statistics"),
            origins=tuple(Run(_number(count), long_text(origin)) for count, origin in entry.get("origins", [])),
            attachments=tuple(
                Attachment(text_at(file, "name"), long_text(file["text"])) for file in entry.get("attachments", [])
            ),
            edited=entry.get("edited") is True,
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise MalformedError("a message in it is not as it should be ({error})", error=repr(error)) from error


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


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**53:
        raise MalformedError("{value!r} stands where a number from 1 should", value=value)
    return value


def _table(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedError("{what} in it is no table", what=what)
    return value
