"""The threads of Jan: a messages.jsonl and a thread.json in a folder each."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headstart.chat.imports.tree import (
    IMAGES,
    ForeignProgram,
    ImportedCall,
    LeftOut,
    MessageNode,
    Part,
    Thought,
    attached,
    bundle,
    key_of,
    listing,
    mapping,
    seconds,
    text_of,
)
from headstart.chat.json_chats import Bundle
from headstart.errors import Translatable

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
        threads.setdefault(key_of(mapping(message).get("thread_id")), []).append(message)
    return [{"thread": {}, "messages": messages} for messages in threads.values()]


def _is_thread(content: object) -> bool:
    return any(
        mapping(message).get("object") == "thread.message" or {"thread_id", "role", "content"} <= set(mapping(message))
        for message in listing(content)
    )


def _read(entry: object, left_out: LeftOut) -> Bundle | None:
    thread, messages = mapping(mapping(entry).get("thread")), listing(mapping(entry).get("messages"))
    assistant = next(map(mapping, listing(thread.get("assistants"))), {})
    model = text_of(mapping(assistant.get("model")).get("id")) or text_of(mapping(thread.get("model")).get("id"))
    nodes = [_node(number, mapping(message), model, left_out) for number, message in enumerate(messages)]
    times = [node.created for node in nodes if node.created is not None]
    created = seconds(thread.get("created")) or min(times, default=round(time.time(), 3))
    prompt = text_of(assistant.get("instructions"))
    return bundle(
        nodes,
        None,
        text_of(thread.get("title")),
        created=created,
        updated=seconds(thread.get("updated")) or max(times, default=created),
        pinned=thread.get("isFavorite") is True or mapping(thread.get("metadata")).get("is_favorite") is True,
        settings={"system_prompt": prompt} if prompt else {},
        source=text_of(thread.get("id")),
    )


def _node(number: int, message: Mapping[str, Any], model: str, left_out: LeftOut) -> MessageNode:
    metadata = mapping(message.get("metadata"))
    named = [mapping(file) for file in listing(message.get("attachments"))]
    return MessageNode(
        key_of(message.get("id")) or f"message {number}",
        None,
        text_of(message.get("role")),
        (*_parts(message.get("content"), left_out), *_calls(metadata.get("tool_calls"))),
        seconds(message.get("created_at")) or seconds(message.get("created")),
        text_of(metadata.get("modelId")) or model,
        attached([(text_of(file.get("name")), "") for file in named], left_out),
    )


def _parts(content: object, left_out: LeftOut) -> Iterator[Part]:
    if isinstance(content, str):
        yield content
    for item in map(mapping, listing(content)):
        kind, text = text_of(item.get("type")), item.get("text")
        shown = text_of(text) or text_of(mapping(text).get("value"))
        if kind == "reasoning":
            yield Thought(shown)
        elif shown:
            yield shown
        elif kind.startswith("image"):
            left_out.add(IMAGES)
            yield "[image]"
        elif kind not in ("text", "tool_call"):
            left_out.add(Translatable("parts of the unknown kind {kind}", kind=kind[:40]))


def _calls(calls: object) -> Iterator[Part]:
    for call in map(mapping, listing(calls)):
        tool, response = mapping(call.get("tool")) or call, mapping(call.get("response"))
        function = mapping(tool.get("function"))
        texts = [text_of(mapping(item).get("text")) for item in listing(response.get("content"))]
        result = "\n\n".join(filter(None, texts)) or text_of(response.get("error"))
        name = text_of(function.get("name")) or "tool"
        yield ImportedCall(name, function.get("arguments"), result=result, failed=bool(response.get("error")))


PROGRAM = ForeignProgram("Jan", _entries, _read)
