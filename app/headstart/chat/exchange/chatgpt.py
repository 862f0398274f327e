"""The conversations.json of a ChatGPT export as chats. Its form is not documented: what is not known is passed over."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headstart.chat.conversation import Attachment, Conversation, Message, Role
from headstart.chat.exchange.files import MOST_MESSAGES, Bundle, long_text, new_chat, now, require_few

_TEXTS = ("text", "multimodal_text")  # kinds of content that a person wrote or was shown
_FOR_READERS = (None, "all")  # other recipients are tools


def is_chatgpt(content: object) -> bool:
    """Whether parsed JSON looks like such an export."""
    return isinstance(content, list) and any(_is_chat(entry) for entry in content)


def read_chatgpt(content: list[Any]) -> tuple[Bundle, ...]:
    """Every chat that has a message. Raises MalformedError where a limit is passed."""
    chats = (_read_chat(entry) for entry in content if _is_chat(entry))
    return tuple(chat for chat in chats if chat[1].messages)


def _is_chat(entry: object) -> bool:
    return isinstance(entry, Mapping) and isinstance(entry.get("mapping"), Mapping)


def _read_chat(entry: Mapping[str, Any]) -> Bundle:
    created = _time(entry.get("create_time"), now())
    title = entry.get("title")
    chat = new_chat(
        long_text(title) if isinstance(title, str) else "",
        created=created,
        updated=_time(entry.get("update_time"), created),
        archived=entry.get("is_archived") is True,
    )
    return chat, _Tree(entry["mapping"], created).conversation(entry.get("current_node"))


@dataclass
class _Tree:
    """Nodes of an export by key, and what became of them: tool calls and hidden messages leave no message."""

    nodes: Mapping[str, Any]
    created: float  # for messages without a time of their own
    messages: dict[int, Message] = field(default_factory=dict)
    ids: dict[str, int | None] = field(default_factory=dict)  # of the message of a node, or of the nearest above it

    def conversation(self, current: object) -> Conversation:
        """All that can be reached from the roots; a node that is its own ancestor cannot."""
        require_few(len(self.nodes), MOST_MESSAGES, "messages in one chat")
        for key, parent in self._walk():
            self._add(key, self.ids.get(parent) if parent is not None else None)
        conversation = Conversation(self.messages, {item.parent: item.id for item in self.messages.values()})
        last = self.ids.get(current) if isinstance(current, str) else None
        return conversation.show(last) if last is not None else conversation

    def _walk(self) -> Iterator[tuple[str, str | None]]:
        """Each node with its parent, parents first and versions in their order."""
        roots = [key for key, node in self.nodes.items() if self._parent(node) not in self.nodes]
        pending: list[tuple[str, str | None]] = [(key, None) for key in reversed(roots)]
        seen: set[str] = set()
        while pending:
            key, parent = pending.pop()
            if key in seen:
                continue
            seen.add(key)
            yield key, parent
            pending += [(child, key) for child in reversed(self._children(key))]

    def _children(self, key: str) -> list[str]:
        children = _table(self.nodes[key]).get("children")
        named = children if isinstance(children, list) else []
        return [child for child in named if isinstance(child, str) and child in self.nodes]

    def _parent(self, node: object) -> object:
        parent = _table(node).get("parent")
        return parent if isinstance(parent, str) else None

    def _add(self, key: str, parent: int | None) -> None:
        read = _read_message(_table(_table(self.nodes[key]).get("message")), self.created)
        self.ids[key] = parent
        if read is not None:
            id_ = len(self.messages) + 1
            role, text, created, model, attachments = read
            self.messages[id_] = Message(id_, parent, role, text, created, model=model, attachments=attachments)
            self.ids[key] = id_


_Read = tuple[Role, str, float, str, tuple[Attachment, ...]]


def _read_message(message: Mapping[str, Any], created: float) -> _Read | None:
    role = _table(message.get("author")).get("role")
    content, metadata = _table(message.get("content")), _table(message.get("metadata"))
    if role not in ("user", "assistant") or content.get("content_type") not in _TEXTS:
        return None
    if message.get("recipient") not in _FOR_READERS or metadata.get("is_visually_hidden_from_user") is True:
        return None
    parts, names = content.get("parts"), metadata.get("attachments")
    text = "\n\n".join(_part(part) for part in parts if _part(part)) if isinstance(parts, list) else ""
    files = [_table(file).get("name") for file in names] if isinstance(names, list) else []
    attachments = tuple(Attachment(name, "") for name in files if isinstance(name, str))
    if not text.strip() and not attachments:
        return None
    model = metadata.get("model_slug") if role == "assistant" else ""
    time = _time(message.get("create_time"), created)
    return Role(role), text, time, model if isinstance(model, str) else "", attachments


def _part(part: object) -> str:
    """The text of one part; pictures and sound are not in the file and leave a mark."""
    if isinstance(part, str):
        return long_text(part)
    kind = _table(part).get("content_type")
    spoken = _table(part).get("text")
    if isinstance(spoken, str):
        return long_text(spoken)
    return f"[{kind.partition('_')[0]}]" if isinstance(kind, str) else ""


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _time(value: object, default: float) -> float:
    """Seconds since 1970, if it can be a time of this era."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 < value < 2**33:
        return round(float(value), 3)
    return default
