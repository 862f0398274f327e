"""The threads of Jan: a messages.jsonl and a thread.json in a folder each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headstart.chat.imports.tree import (
    ForeignProgram,
    ImportedCall,
    JsonRecord,
    LeftOut,
    MessageNode,
    Part,
    Thought,
    attached,
    bundle,
    joined,
    key_of,
    listing,
    records,
    times_of,
)
from headstart.chat.json_chats import Bundle

MESSAGES, THREAD = "messages.jsonl", "thread.json"


def with_threads(documents: Mapping[str, object]) -> dict[str, object]:
    """Return documents by path, with each thread.json in the messages.jsonl beside it."""
    joined = dict(documents)
    for name, content in documents.items():
        thread = f"{name.removesuffix(MESSAGES)}{THREAD}"
        if name.endswith(MESSAGES) and thread in documents:
            joined[name] = {"thread": joined.pop(thread), "messages": content}
    return joined


def _entries(content: object) -> Sequence[object] | None:
    if isinstance(content, Mapping) and isinstance(content.get("thread"), Mapping):
        return [content] if _is_thread(content.get("messages")) else None
    if not _is_thread(content):
        return None
    threads: dict[object, list[object]] = {}
    for message in listing(content):
        threads.setdefault(key_of(JsonRecord(message).get("thread_id")), []).append(message)
    return [{"thread": {}, "messages": messages} for messages in threads.values()]


def _is_thread(content: object) -> bool:
    return any(
        message.get("object") == "thread.message" or all(name in message for name in ("thread_id", "role", "content"))
        for message in records(content)
    )


def _read(entry: JsonRecord, left_out: LeftOut) -> Bundle | None:
    thread = entry.record("thread")
    assistant = next(iter(thread.records("assistants")), JsonRecord(None))
    model = assistant.record("model").text("id") or thread.record("model").text("id")
    nodes = [_node(number, message, model, left_out) for number, message in enumerate(entry.records("messages"))]
    times = times_of(nodes)
    return bundle(
        nodes,
        None,
        thread.text("title"),
        created=thread.seconds("created") or min(times, default=None),
        updated=thread.seconds("updated") or max(times, default=None),
        system_prompt=assistant.text("instructions"),
        pinned=thread.is_true("isFavorite") or thread.record("metadata").is_true("is_favorite"),
        source=thread.text("id"),
    )


def _node(number: int, message: JsonRecord, model: str, left_out: LeftOut) -> MessageNode:
    metadata = message.record("metadata")
    return MessageNode(
        message.key("id") or f"message {number}",
        None,
        message.text("role"),
        (*_parts(message.get("content"), left_out), *_calls(metadata.records("tool_calls"))),
        message.seconds("created_at", "created"),
        metadata.text("modelId") or model,
        attached([(file.text("name"), "") for file in message.records("attachments")], left_out),
    )


def _parts(content: object, left_out: LeftOut) -> Iterator[Part]:
    if isinstance(content, str):
        yield content
    for item in records(content):
        kind = item.text("type")
        shown = item.text("text") or item.record("text").text("value")
        if kind == "reasoning":
            yield Thought(shown)
        elif shown:
            yield shown
        elif kind.startswith("image"):
            yield left_out.image()
        elif kind not in ("text", "tool_call"):
            left_out.add_unknown(kind)


def _calls(calls: Iterable[JsonRecord]) -> Iterator[Part]:
    for call in calls:
        function, response = (call.record("tool") or call).record("function"), call.record("response")
        result = joined(response.get("content")) or response.text("error")
        name = function.text("name") or "tool"
        yield ImportedCall(name, function.get("arguments"), result=result, failed=bool(response.get("error")))


PROGRAM = ForeignProgram("Jan", _entries, _read)
