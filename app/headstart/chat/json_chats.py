"""Chats as JSON with all versions, models, settings and statistics, and the import of such files and of ChatGPT's."""

import json
import math
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from headstart.chat.conversation import (
    Attachment,
    Chat,
    Conversation,
    Message,
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
from headstart.errors import ExchangeError, HeadstartError, Translatable

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


def to_json(chats: Iterable[Bundle], projects: Iterable[Project] = ()) -> str:
    """Return a document that `read_file` turns into equal chats and projects, apart from the ids of chats."""
    content: dict[str, object] = {"format": FORMAT, "version": VERSION, "chats": [_chat(bundle) for bundle in chats]}
    content["projects"] = [
        {"name": project.name, "settings": _finite(project.settings), "files": _files(project.files)}
        for project in projects
    ]
    return storable(json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def read_chats(path: Path) -> tuple[Bundle, ...]:
    """Return the chats of `read_file`. Raises ExchangeError."""
    return read_file(path).chats


def read_file(path: Path) -> Imported:
    """Read a JSON file of Headstart or a conversations.json of ChatGPT. Chats get new ids.

    Raises ExchangeError with one sentence.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise MalformedError(
                "it has {size:,} MB and at most {most_bytes} MB are read", size=size >> 20, most_bytes=MAX_BYTES >> 20
            )
        return parse(path.read_bytes())
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


def parse(data: bytes) -> Imported:
    """Return the chats and projects in the bytes of a file. Raises MalformedError."""
    content = _decode(data)
    projects: tuple[Project, ...] = ()
    if isinstance(content, Mapping) and content.get("format") == FORMAT:
        chats, projects = _read_own(content), _read_projects(content.get("projects", []))
    elif isinstance(content, list) and any(map(_is_chat, content)):
        require_few(len(content), MAX_CHATS, Translatable("chats"))
        chats = _read_chatgpt(content)
    else:
        raise MalformedError("it is not an export of chats")
    require_few(len(chats), MAX_CHATS, Translatable("chats"))
    for _, conversation in chats:
        require_few(len(conversation.messages), MAX_MESSAGES, Translatable("messages in one chat"))
    if not chats:
        raise MalformedError("there is no chat in it")
    return Imported(chats, projects)


def _decode(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise MalformedError("it is not UTF-8 text") from error
    except RecursionError as error:
        raise MalformedError("its parts are nested too deeply") from error
    except ValueError as error:
        raise MalformedError("it is not JSON ({error})", error=error) from error


def _refuse_constant(constant: str) -> NoReturn:
    raise MalformedError("{constant} in it is not a number", constant=constant)


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


def _message(message: Message, *, shown: bool) -> dict[str, object]:
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
    messages: dict[int, Message] = {}
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


def _read_message(entry: Mapping[str, Any]) -> Message:
    """Return a message. In files of earlier versions, thinking is a part of the text."""
    try:
        message = Message(
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
            passages=tuple(_read_passage(passage) for passage in entry.get("passages", [])),
            thinking=text_at(entry, "thinking", ""),
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


def _read_passage(entry: Mapping[str, Any]) -> Passage:
    return Passage(*(_number(entry[name], minimum=0) for name in Passage._fields))


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


# The conversations.json of ChatGPT. Its format is not documented, so unknown parts are skipped.
_TEXTS = ("text", "multimodal_text")  # kinds of content that people write or read
_FOR_READERS = (None, "all")  # other recipients are tools


def _read_chatgpt(content: list[Any]) -> tuple[Bundle, ...]:
    """Return the chats with messages. Raises MalformedError if there are too many messages."""
    chats = (_chatgpt_chat(entry) for entry in content if _is_chat(entry))
    return tuple(chat for chat in chats if chat[1].messages)


def _is_chat(entry: object) -> bool:
    return isinstance(entry, Mapping) and isinstance(entry.get("mapping"), Mapping)


def _chatgpt_chat(entry: Mapping[str, Any]) -> Bundle:
    created = _seconds(entry.get("create_time"), round(time.time(), 3))
    title = entry.get("title")
    chat = new_chat(
        long_text(title) if isinstance(title, str) else "",
        created=created,
        updated=_seconds(entry.get("update_time"), created),
        archived=entry.get("is_archived") is True,
    )
    return chat, _ChatGptTree(entry["mapping"], created).conversation(entry.get("current_node"))


@dataclass
class _ChatGptTree:
    """Nodes of an export by key, and the messages made of them. Tool calls and hidden messages make none.

    Thoughts are nodes above their answer.
    """

    nodes: Mapping[str, Any]
    created: float  # of messages without a time
    messages: dict[int, Message] = field(default_factory=dict)
    ids: dict[str, int | None] = field(default_factory=dict)  # the message of a node, or the nearest above it
    thoughts: dict[str, str] = field(default_factory=dict)  # at a node, since the message above it

    def conversation(self, current: object) -> Conversation:
        """Return all messages that can be reached from the roots. A node that is its own ancestor cannot."""
        require_few(len(self.nodes), MAX_MESSAGES, "messages in one chat")
        for key, parent in self._walk():
            self._add(key, parent)
        conversation = Conversation(self.messages, {item.parent: item.id for item in self.messages.values()})
        last = self.ids.get(current) if isinstance(current, str) else None
        return conversation.show(last) if last is not None else conversation

    def _walk(self) -> Iterator[tuple[str, str | None]]:
        """Yield each node with its parent: parents first, and versions in order."""
        roots = [key for key, node in self.nodes.items() if self._parent(node) not in self.nodes]
        pending: list[tuple[str, str | None]] = [(key, None) for key in reversed(roots)]
        visited: set[str] = set()
        while pending:
            key, parent = pending.pop()
            if key in visited:
                continue
            visited.add(key)
            yield key, parent
            pending += [(child, key) for child in reversed(self._children(key))]

    def _children(self, key: str) -> list[str]:
        children = _mapping(self.nodes[key]).get("children")
        ids = children if isinstance(children, list) else []
        return [child for child in ids if isinstance(child, str) and child in self.nodes]

    def _parent(self, node: object) -> object:
        parent = _mapping(node).get("parent")
        return parent if isinstance(parent, str) else None

    def _add(self, key: str, above: str | None) -> None:
        node = _mapping(_mapping(self.nodes[key]).get("message"))
        parts = _chatgpt_message(node, self.created)
        parent, thinking = (self.ids.get(above), self.thoughts.get(above, "")) if above is not None else (None, "")
        self.ids[key] = parent
        self.thoughts[key] = "\n\n".join(filter(None, (thinking, _thoughts(_mapping(node.get("content"))))))
        if parts is not None:
            id_ = len(self.messages) + 1
            role, text, created, model, attachments = parts
            message = Message(id_, parent, role, text, created, model=model, attachments=attachments)
            self.messages[id_] = replace(message, thinking=thinking) if role is Role.ASSISTANT else message
            self.ids[key], self.thoughts[key] = id_, ""


_MessageParts = tuple[Role, str, float, str, tuple[Attachment, ...]]


def _chatgpt_message(message: Mapping[str, Any], created: float) -> _MessageParts | None:
    role = _mapping(message.get("author")).get("role")
    content, metadata = _mapping(message.get("content")), _mapping(message.get("metadata"))
    if role not in ("user", "assistant") or content.get("content_type") not in _TEXTS:
        return None
    if message.get("recipient") not in _FOR_READERS or metadata.get("is_visually_hidden_from_user") is True:
        return None
    parts, names = content.get("parts"), metadata.get("attachments")
    text = "\n\n".join(_part(part) for part in parts if _part(part)) if isinstance(parts, list) else ""
    files = [_mapping(file).get("name") for file in names] if isinstance(names, list) else []
    attachments = tuple(Attachment(name, "") for name in files if isinstance(name, str))
    if not text.strip() and not attachments:
        return None
    model = metadata.get("model_slug") if role == "assistant" else ""
    when = _seconds(message.get("create_time"), created)
    return Role(role), text, when, model if isinstance(model, str) else "", attachments


def _thoughts(content: Mapping[str, Any]) -> str:
    """Return the thoughts of a node, each under its summary; empty if it has none."""
    thoughts = content.get("thoughts")
    texts: list[object] = []
    for thought in map(_mapping, thoughts if isinstance(thoughts, list) else ()):
        summary, text = thought.get("summary"), thought.get("content")
        texts += [f"**{summary}**" if isinstance(summary, str) and summary else "", text]
    return "\n\n".join(long_text(text) for text in texts if isinstance(text, str) and text)


def _part(part: object) -> str:
    """Return the text of a part. Images and sound are not in the file, and leave a mark."""
    if isinstance(part, str):
        return long_text(part)
    kind = _mapping(part).get("content_type")
    spoken = _mapping(part).get("text")
    if isinstance(spoken, str):
        return long_text(spoken)
    return f"[{kind.partition('_')[0]}]" if isinstance(kind, str) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _seconds(value: object, default: float) -> float:
    """Return a time in seconds since 1970; `default` if the value is out of range."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 < value < 2**33:
        return round(float(value), 3)
    return default
