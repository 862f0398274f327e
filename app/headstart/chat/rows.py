"""Chats and messages to rows of the history and back. Knows columns, not SQL."""

import json
import sqlite3
from collections.abc import Iterable

import msgspec

from headstart.chat.conversation import Attachment, Conversation, Message, Role, Run, State
from headstart.chat.record import Chat
from headstart.chat.unicode import storable

Value = str | float | int | None
_RUNS = msgspec.json.Decoder(tuple[Run, ...])  # a long chat has a hundred thousand, and this is four times as quick


def chat_row(chat: Chat) -> dict[str, Value]:
    """Columns of table chat; tags have a table of their own."""
    return {
        "id": chat.id,
        "title": storable(chat.title),
        "created": chat.created,
        "updated": chat.updated,
        "pinned": chat.pinned,
        "archived": chat.archived,
        "deleted": chat.deleted,
        "draft": storable(chat.draft),
        "settings": to_json(chat.settings),
    }


def read_chat(row: sqlite3.Row) -> Chat:
    """The chat of a row."""
    return Chat(
        id=row["id"],
        title=row["title"],
        created=row["created"],
        updated=row["updated"],
        pinned=bool(row["pinned"]),
        tags=tuple(json.loads(row["tags"])),
        archived=bool(row["archived"]),
        deleted=row["deleted"],
        draft=row["draft"],
        settings=json.loads(row["settings"]),
    )


def message_row(message: Message, *, shown: bool) -> dict[str, Value]:
    """Columns of table message, but for the chat."""
    return {
        "id": message.id,
        "parent": message.parent,
        "shown": shown,
        "role": message.role.value,
        "text": storable(message.text),
        "created": message.created,
        "state": message.state.value,
        "model": storable(message.model),
        "settings": to_json(message.settings),
        "stats": to_json(message.stats),
        "origins": runs_to_json(message.origins),
        "attachments": to_json([[attachment.name, attachment.text] for attachment in message.attachments]),
        "edited": message.edited,
    }


def read_message(row: sqlite3.Row) -> Message:
    """The message of a row."""
    return Message(
        id=row["id"],
        parent=row["parent"],
        role=Role(row["role"]),
        text=row["text"],
        created=row["created"],
        state=State(row["state"]),
        model=row["model"],
        settings=json.loads(row["settings"]),
        stats=json.loads(row["stats"]),
        origins=_RUNS.decode(row["origins"]),
        attachments=read_attachments(row["attachments"]),
        edited=bool(row["edited"]),
    )


def read_attachments(column: str) -> tuple[Attachment, ...]:
    """The files of column attachments."""
    return tuple(Attachment(*attachment) for attachment in json.loads(column))


def attached_text(column: str) -> str:
    """Names and texts of the files, to be searched; nothing where the column is damaged, which reading it tells."""
    try:
        return "\n".join(f"{file.name}\n{file.text}" for file in read_attachments(column))
    except (ValueError, TypeError):
        return ""


def read_conversation(rows: Iterable[sqlite3.Row]) -> Conversation:
    """The tree of a chat's rows in the order of their ids."""
    read = [(read_message(row), bool(row["shown"])) for row in rows]
    chosen = {message.parent: message.id for message, shown in read if shown}
    return Conversation({message.id: message for message, _ in read}, chosen)


def runs_to_json(runs: Iterable[Run]) -> str:
    """Runs as [[characters, origin], ...]."""
    return to_json([[run.characters, run.origin] for run in runs])


def to_json(value: object) -> str:
    """Compact JSON; every character beyond ASCII is kept readable."""
    return storable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
