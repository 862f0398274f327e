"""The conversations of llama.cpp's web interface: JSON of earlier versions, JSON lines of today."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headstart.chat.imports.tree import (
    IMAGES,
    RECORDINGS,
    ForeignProgram,
    ImportedCall,
    LeftOut,
    MessageNode,
    Part,
    Result,
    Thought,
    attached,
    bundle,
    entries_with,
    key_of,
    listing,
    mapping,
    seconds,
    text_of,
)
from headstart.chat.json_chats import Bundle

_IMAGES, _RECORDINGS = ("image", "imagefile", "imageurl"), ("audio", "audiofile", "video", "videofile")


def _entries(content: object) -> Sequence[object] | None:
    if isinstance(content, list) and any(_is_session(record) for record in content):
        return list(_sessions(content))
    return entries_with(content, lambda entry: "conv" in entry and isinstance(entry.get("messages"), list))


def _is_session(record: object) -> bool:
    return mapping(record).get("type") == "session" and "currNode" in mapping(record)


def _sessions(records: list[Any]) -> Iterator[object]:
    """Yield the conversations of JSON lines: each begins with a line of its own."""
    conversation: dict[str, Any] | None = None
    for record in records:
        if _is_session(record):
            if conversation:
                yield conversation
            conversation = {"conv": record, "messages": []}
        elif conversation and isinstance(mapping(record).get("message"), Mapping):
            conversation["messages"].append(record["message"])
        else:
            yield record
    if conversation:
        yield conversation


def _read(entry: object, left_out: LeftOut) -> Bundle | None:
    conversation, messages = mapping(mapping(entry).get("conv")), mapping(entry).get("messages")
    if not isinstance(messages, list) or not conversation:
        return None
    nodes = [_node(number, mapping(message), left_out) for number, message in enumerate(messages)]
    times = [node.created for node in nodes if node.created is not None]
    created = min(times, default=seconds(conversation.get("lastModified")) or round(time.time(), 3))
    return bundle(
        nodes,
        key_of(conversation.get("currNode")),
        text_of(conversation.get("name")),
        created=created,
        updated=seconds(conversation.get("lastModified")) or max(times, default=created),
        pinned=conversation.get("pinned") is True,
        source=key_of(conversation.get("id")) or "",
    )


def _node(number: int, message: Mapping[str, Any], left_out: LeftOut) -> MessageNode:
    role = "" if message.get("type") == "root" else text_of(message.get("role"))
    return MessageNode(
        key_of(message.get("id")) or f"message {number}",
        key_of(message.get("parent")),
        role,
        tuple(_parts(role, message)),
        seconds(message.get("timestamp")),
        text_of(message.get("model")),
        attached(_files(message, left_out), left_out),
        tuple(key for child in listing(message.get("children")) if (key := key_of(child))),
    )


def _parts(role: str, message: Mapping[str, Any]) -> Iterator[Part]:
    text = text_of(message.get("content"))
    if role == "tool":
        yield Result(text, text_of(message.get("toolCallId")))
        return
    for name in ("reasoningContent", "reasoning_content", "thinking"):
        if thought := text_of(message.get(name)):
            yield Thought(thought)
            break
    yield text
    calls = message.get("toolCalls")
    if isinstance(calls, str):
        try:
            calls = json.loads(calls)
        except (ValueError, RecursionError):
            calls = None
    for call in map(mapping, listing(calls)):
        function = mapping(call.get("function"))
        yield ImportedCall(text_of(function.get("name")) or "tool", function.get("arguments"), text_of(call.get("id")))


def _files(message: Mapping[str, Any], left_out: LeftOut) -> Iterator[tuple[str, str]]:
    for file in map(mapping, listing(message.get("extra"))):
        kind = text_of(file.get("type")).lower()
        if kind in _IMAGES or kind in _RECORDINGS:
            left_out.add(IMAGES if kind in _IMAGES else RECORDINGS)
        else:
            yield text_of(file.get("name")) or kind, text_of(file.get("content"))


PROGRAM = ForeignProgram("llama.cpp", _entries, _read)
