"""The common form into which chats of all programs are brought, and the conversation that is made of it."""

import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from headstart.chat.conversation import Attachment, ChatMessage, Conversation, Role, ToolCall, storable
from headstart.chat.json_chats import MAX_MESSAGES, Bundle, long_text, new_chat, require_few
from headstart.chat.tagged_thinking import separated
from headstart.errors import Translatable

IMAGES = Translatable("images, which are no text")
RECORDINGS = Translatable("recordings, which are no text")
FILES = Translatable("files of which the export has only the names")
HIDDEN = Translatable("hidden messages")
NOT_CHATS = Translatable("entries that are no chats")
EMPTY = Translatable("chats without messages")


@dataclass(frozen=True)
class Thought:
    text: str


@dataclass(frozen=True)
class ImportedCall:
    """A tool call whose result may follow in a later part."""

    name: str
    arguments: object  # a table, or its JSON
    id: str = ""
    result: str | None = None
    failed: bool = False


@dataclass(frozen=True)
class Result:
    """A tool's result: of the call with this id, or else of the first call without a result."""

    text: str
    id: str = ""
    name: str = ""
    failed: bool = False


Part = str | Thought | ImportedCall | Result


@dataclass(frozen=True)
class MessageNode:
    """A message or a part of one: consecutive nodes of an assistant and its tools become one message."""

    key: str
    parent: str | None
    role: str  # "user", "assistant", "tool" or "system"; any other only links its neighbours
    parts: tuple[Part, ...] = ()
    created: float | None = None
    model: str = ""
    attachments: tuple[Attachment, ...] = ()
    children: tuple[str, ...] = ()  # for their order, and where they do not name their parent


class LeftOut:
    """Counts of the parts that an import leaves out."""

    def __init__(self) -> None:
        self._counts: Counter[Translatable] = Counter()

    def add(self, what: Translatable, count: int = 1) -> None:
        """Count parts of one kind that are left out."""
        self._counts[what] += count

    def add_unknown(self, kind: str) -> None:
        self.add(Translatable("parts of the unknown kind {kind}", kind=kind[:40]))

    def image(self) -> str:
        """Count an image, and return the mark that takes its place."""
        self.add(IMAGES)
        return "[image]"

    @property
    def kinds(self) -> tuple[Translatable, ...]:
        """The kinds of parts that are left out, each with its count."""
        return tuple(
            Translatable("{what} ({count:,})", what=what, count=count) for what, count in self._counts.items() if count
        )


class JsonRecord:
    """A JSON object of a foreign file. A field of another type than is asked for counts as missing."""

    def __init__(self, value: object) -> None:
        """Any `value` but a JSON object is an empty record."""
        self._fields: Mapping[str, Any] = value if isinstance(value, Mapping) else {}

    def __bool__(self) -> bool:
        return bool(self._fields)

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def get(self, name: str) -> Any:
        return self._fields.get(name)

    def is_true(self, name: str) -> bool:
        return self.get(name) is True

    def text(self, *names: str) -> str:
        """Return the first of these fields that is a text and not empty; "" without one."""
        return next(filter(None, (text_of(self.get(name)) for name in names)), "")

    def key(self, *names: str) -> str | None:
        """Return the first of these fields that is an id and not empty; None without one."""
        return next(filter(None, (key_of(self.get(name)) for name in names)), None)

    def seconds(self, *names: str) -> float | None:
        """Return the first of these fields that is a time; None without one."""
        return next(filter(None, (_seconds(self.get(name)) for name in names)), None)

    def record(self, name: str) -> "JsonRecord":
        return JsonRecord(self.get(name))

    def listing(self, name: str) -> list[Any]:
        return listing(self.get(name))

    def records(self, name: str) -> list["JsonRecord"]:
        return records(self.get(name))

    def keys(self, name: str) -> tuple[str, ...]:
        """Return the ids in a list."""
        return tuple(key for each in self.listing(name) if (key := key_of(each)))


def listing(value: object) -> list[Any]:
    """Return a JSON array as a list; an empty one for any other value."""
    return value if isinstance(value, list) else []


def records(value: object) -> list[JsonRecord]:
    """Return the entries of a JSON array; none for any other value."""
    return [JsonRecord(entry) for entry in listing(value)]


def joined(content: object) -> str:
    """Return a text, or the texts of a list of parts with blank lines between them."""
    return text_of(content) or "\n\n".join(filter(None, (part.text("text") for part in records(content))))


def text_of(value: object) -> str:
    """Return a string as the history can hold it; an empty one for any other value."""
    return storable(value) if isinstance(value, str) else ""


def key_of(value: object) -> str | None:
    """Return the id of a message, which may be a string or an integer; None for any other value."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


class ForeignProgram(NamedTuple):
    """A program whose exports are read."""

    name: str
    entries: Callable[[object], Sequence[object] | None]  # of a document; None for one of another program
    read: Callable[[JsonRecord, LeftOut], Bundle | None]  # an entry; None if it is no chat


def bundle(
    nodes: Sequence[MessageNode],
    current: str | None,
    title: str,
    *,
    created: float | None,
    updated: float | None,
    system_prompt: str = "",
    **others: Any,
) -> Bundle:
    """Return a chat made of nodes. `others` are fields of the chat. Raises MalformedError for one that is too large."""
    require_few(len(nodes), MAX_MESSAGES, Translatable("messages in one chat"))
    created = created or round(time.time(), 3)
    builder = _Builder(nodes, created)
    conversation = builder.conversation(current)
    prompt = system_prompt or "\n\n".join(dict.fromkeys(builder.prompts))
    settings = {"system_prompt": prompt} if prompt else {}
    chat = new_chat(long_text(title), created=created, updated=updated or created, settings=settings, **others)
    return chat, conversation


def times_of(nodes: Iterable[MessageNode]) -> list[float]:
    return [node.created for node in nodes if node.created is not None]


@dataclass(frozen=True)
class _Open:
    """The last node of an assistant's message that may continue."""

    node: MessageNode
    before: "_Open | None"


@dataclass
class _Builder:
    """The messages made of nodes, parents first."""

    nodes: Sequence[MessageNode]
    created: float  # of messages without a time
    messages: dict[int, ChatMessage] = field(default_factory=dict)
    prompts: list[str] = field(default_factory=list)
    _ended: dict[str, int | None] = field(default_factory=dict)  # ids of finished messages by their last node

    def conversation(self, current: str | None) -> Conversation:
        """Return all messages, with the version shown that ends at `current`, or the newest."""
        last: dict[str, int | None] = {}
        pending: list[tuple[str, int | None, _Open | None]] = []
        nodes = {node.key: node for node in reversed(self.nodes)}
        children, roots = _linked(self.nodes, nodes)
        for root in roots:
            pending.append((root, None, None))
            while pending:
                key, message, opened = pending.pop()
                if key in last:
                    continue
                message, opened = self._add(nodes[key], message, opened)
                below = [child for child in children[key] if child not in last]
                last[key] = message if below else self._end(message, opened)
                pending += [(child, message, opened) for child in reversed(below)]
        conversation = Conversation(self.messages, {item.parent: item.id for item in self.messages.values()})
        passed: set[str | None] = set()
        while current in nodes and children[current] and current not in passed:  # to the end of its message
            passed.add(current)
            current = children[current][-1]
        shown = last.get(current) if current is not None else None
        return conversation.show(shown) if shown is not None else conversation

    def _add(self, node: MessageNode, message: int | None, opened: _Open | None) -> tuple[int | None, _Open | None]:
        if node.role in ("assistant", "tool"):
            return message, _Open(node, opened)
        if node.role == "system":
            self.prompts += [text for part in node.parts if isinstance(part, str) and (text := part.strip())]
        if node.role != "user":
            return message, opened
        return self._write(Role.USER, [node], self._end(message, opened)), None

    def _end(self, message: int | None, opened: _Open | None) -> int | None:
        """Return the id of the message that is made of these nodes; write it if it is not written yet."""
        if opened is None:
            return message
        key = opened.node.key
        if key not in self._ended:
            nodes: list[MessageNode] = []
            while opened:
                nodes.append(opened.node)
                opened = opened.before
            self._ended[key] = self._write(Role.ASSISTANT, nodes[::-1], message)
        return self._ended[key]

    def _write(self, role: Role, nodes: Sequence[MessageNode], parent: int | None) -> int | None:
        """Add a message, unless it is empty. Return its id; for an empty message, the id of the one above."""
        text, thinking, calls = _joined(part for node in nodes for part in node.parts)
        files = tuple(file for node in nodes for file in node.attachments)
        if not (text.strip() or thinking.strip() or calls or files):
            return parent
        id_ = len(self.messages) + 1
        created = next((node.created for node in nodes if node.created is not None), self.created)
        message = ChatMessage(id_, parent, role, text, created, attachments=files)
        if role is Role.ASSISTANT:
            model = next((node.model for node in reversed(nodes) if node.model), "")
            message = replace(message, model=model, thinking=thinking, calls=calls)
            if not thinking and text.lstrip().startswith("<think"):
                message = separated(message)
        self.messages[id_] = message
        return id_


def _linked(order: Sequence[MessageNode], nodes: Mapping[str, MessageNode]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the children of each node, and the root nodes. Nodes may name their parent, their children, or both."""
    parents = {key: node.parent for key, node in nodes.items() if node.parent and node.parent in nodes}
    parents = {key: parent for key, parent in parents.items() if parent != key}
    for node in order:
        for child in node.children:
            if child in nodes and child != node.key:
                parents.setdefault(child, node.key)
    keys = list(dict.fromkeys(node.key for node in order))
    if not parents:  # a list of messages, one after another
        parents = dict(zip(keys[1:], keys, strict=False))
    children = {key: [child for child in nodes[key].children if parents.get(child) == key] for key in keys}
    for key in keys:
        if key in parents and key not in children[parents[key]]:
            children[parents[key]].append(key)
    # Nodes in a circle have no root: the walk begins at each that it has not met.
    return children, [key for key in keys if key not in parents] + keys


def _joined(parts: Iterable[Part]) -> tuple[str, str, tuple[ToolCall, ...]]:
    """Return text, thinking and calls of the parts of a message."""
    texts, thoughts, calls = _Text(), _Text(), list[tuple[ToolCall, str, bool]]()  # call, id, whether it has a result
    for part in parts:
        match part:
            case str():
                texts.add(long_text(part))
            case Thought():
                thoughts.add(long_text(part.text))
            case ImportedCall():
                arguments = long_text(_arguments(part.arguments))
                result = long_text(part.result or "")
                call = ToolCall(texts.length, part.name, arguments, result, part.failed, thoughts.length)
                calls.append((call, part.id, part.result is not None))
            case Result():
                _set_result(calls, part, texts.length, thoughts.length)
    return texts.text, thoughts.text, tuple(call for call, _, _ in calls)


def _set_result(calls: list[tuple[ToolCall, str, bool]], part: Result, at: int, thought_at: int) -> None:
    waiting = [number for number, (_, _, has_result) in enumerate(calls) if not has_result]
    number = next((number for number in waiting if part.id and calls[number][1] == part.id), next(iter(waiting), None))
    if number is None:
        calls.append((ToolCall(at, part.name or "tool", "{}", "", thought_at=thought_at), part.id, False))
        number = len(calls) - 1
    call = replace(calls[number][0], result=long_text(part.text), failed=part.failed)
    calls[number] = (call, part.id, True)


class _Text:
    """Pieces with blank lines between them."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.length = 0

    def add(self, piece: str) -> None:
        if not piece.strip():
            return
        gap = "\n\n" if self._pieces else ""
        self._pieces.append(gap + piece)
        self.length += len(gap) + len(piece)

    @property
    def text(self) -> str:
        return "".join(self._pieces)


def _arguments(value: object) -> str:
    """Return a tool call's arguments as a JSON object."""
    if isinstance(value, str):
        try:
            is_table = isinstance(json.loads(value), dict)
        except (ValueError, RecursionError):
            is_table = False
        return value if is_table else json.dumps({"input": value}, ensure_ascii=False)
    return json.dumps(value if isinstance(value, Mapping) else {"input": value} if value else {}, ensure_ascii=False)


def _seconds(value: object) -> float | None:
    """Return a timestamp as seconds since 1970; None if it is none.

    It may be in any unit from seconds to nanoseconds, or in ISO 8601.
    """
    if isinstance(value, str):
        try:
            value = float(value) if re.fullmatch(r"\d+(?:\.\d+)?", value) else datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    while value >= 2**33:
        value /= 1000
    return round(float(value), 3) if value > 0 else None


def entries_with(content: object, has: Callable[[JsonRecord], bool]) -> list[Any] | None:
    """Return a list of entries, or one entry as a list, if `has` accepts one of them; else None."""
    entries = content if isinstance(content, list) else [content]
    return entries if any(has(record) for record in records(entries) if record) else None


def attached(files: Iterable[tuple[str, str]], left_out: LeftOut) -> tuple[Attachment, ...]:
    """Return files by name and text, and count those without a text."""
    result = tuple(Attachment(long_text(name), long_text(text)) for name, text in files if name or text)
    left_out.add(FILES, sum(not file.text for file in result))
    return result
