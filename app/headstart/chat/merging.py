"""Chats that are imported again: which of their messages are here already, and what is new."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headstart.chat.conversation import Chat, ChatMessage, Conversation

Keys = Mapping[bytes, int]  # the ids here of imported messages


@dataclass
class Import:
    """The result of an import, which can be undone."""

    added: list[str] = field(default_factory=list)  # ids of chats
    extended: dict[str, tuple[int, ...]] = field(default_factory=dict)  # ids of the messages that are new, by chat
    known: int = 0  # chats without anything new
    deleted: int = 0  # chats that were deleted here for good, and stay so
    projects: list[str] = field(default_factory=list)  # names of new ones


def source_key(chat: Chat, conversation: Conversation) -> bytes:
    """Return a key that later exports of the chat share: its id there, or else a hash of its first messages."""
    first = "\0".join(message.text for message in conversation.messages.values() if message.parent is None)
    return _digest(chat.source if chat.source else f"{chat.title}\0{first}")


def message_keys(conversation: Conversation) -> dict[int, bytes]:
    """Return a key for each message, of its text and of the messages above it."""
    keys: dict[int, bytes] = {}
    for message in conversation.messages.values():  # parents come first
        above = keys[message.parent].hex() if message.parent is not None else ""
        keys[message.id] = _digest(f"{above}\0{message.role}\0{message.text}\0{message.thinking}")
    return keys


def merged(here: Conversation, known: Keys, imported: Conversation) -> tuple[Conversation, dict[bytes, int]]:
    """Return a conversation with the messages that are new, and the keys of these.

    What was deleted here stays so: new messages below it follow the nearest one that is left. The version that is shown
    changes only if the new messages go on from its end.
    """
    places: dict[int | None, int | None] = {None: None}
    new: dict[bytes, int] = {}
    result, end = here, here.last.id if here.last else None
    goes_on = False
    for message, key in zip(imported.messages.values(), message_keys(imported).values(), strict=True):
        above = places[message.parent]
        if key in known or key in new:
            id_ = known.get(key, new.get(key, 0))
            places[message.id] = id_ if id_ in result.messages else above
            continue
        copy = _copy(message, result.next_id, above, places)
        result = replace(result, messages={**result.messages, copy.id: copy})
        new[key] = places[message.id] = copy.id
        goes_on = goes_on or above == end
    last = places[imported.last.id] if imported.last else None
    if goes_on and last in new.values() and last is not None:
        return result.show(last), new
    chosen = {message.parent: message.id for message in result.messages.values() if message.id in new.values()}
    return replace(result, chosen={**chosen, **result.chosen}), new


def _copy(message: ChatMessage, id_: int, parent: int | None, places: Mapping[int | None, int | None]) -> ChatMessage:
    passages = [
        passage._replace(message=id_ if passage.message == message.id else places[passage.message] or 0)
        for passage in message.passages
        if passage.message == message.id or places.get(passage.message)
    ]
    return replace(message, id=id_, parent=parent, passages=tuple(passages))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=12).digest()
