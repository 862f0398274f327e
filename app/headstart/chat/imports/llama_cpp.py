"""The conversations of llama.cpp's web interface: JSON of earlier versions, JSON lines of today."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headstart.chat.imports.tree import (
    IMAGES,
    RECORDINGS,
    ForeignProgram,
    ImportedCall,
    JsonRecord,
    LeftOut,
    MessageNode,
    Part,
    Result,
    Thought,
    attached,
    bundle,
    entries_with,
    records,
    times_of,
)
from headstart.chat.json_chats import Bundle

_IMAGES, _RECORDINGS = ("image", "imagefile", "imageurl"), ("audio", "audiofile", "video", "videofile")


def _entries(content: object) -> Sequence[object] | None:
    if isinstance(content, list) and any(_is_session(record) for record in content):
        return list(_sessions(content))
    return entries_with(content, lambda entry: "conv" in entry and isinstance(entry.get("messages"), list))


def _is_session(record: object) -> bool:
    return JsonRecord(record).get("type") == "session" and "currNode" in JsonRecord(record)


def _sessions(records: list[Any]) -> Iterator[object]:
    """Yield the conversations of JSON lines: each begins with a line of its own."""
    conversation: dict[str, Any] | None = None
    for record in records:
        if _is_session(record):
            if conversation:
                yield conversation
            conversation = {"conv": record, "messages": []}
        elif conversation and isinstance(JsonRecord(record).get("message"), Mapping):
            conversation["messages"].append(record["message"])
        else:
            yield record
    if conversation:
        yield conversation


def _read(entry: JsonRecord, left_out: LeftOut) -> Bundle | None:
    conversation = entry.record("conv")
    if not isinstance(entry.get("messages"), list) or not conversation:
        return None
    nodes = [_node(number, message, left_out) for number, message in enumerate(entry.records("messages"))]
    times, modified = times_of(nodes), conversation.seconds("lastModified")
    return bundle(
        nodes,
        conversation.key("currNode"),
        conversation.text("name"),
        created=min(times, default=modified),
        updated=modified or max(times, default=None),
        pinned=conversation.is_true("pinned"),
        source=conversation.key("id") or "",
    )


def _node(number: int, message: JsonRecord, left_out: LeftOut) -> MessageNode:
    role = "" if message.get("type") == "root" else message.text("role")
    return MessageNode(
        message.key("id") or f"message {number}",
        message.key("parent"),
        role,
        tuple(_parts(role, message)),
        message.seconds("timestamp"),
        message.text("model"),
        attached(_files(message, left_out), left_out),
        message.keys("children"),
    )


def _parts(role: str, message: JsonRecord) -> Iterator[Part]:
    text = message.text("content")
    if role == "tool":
        yield Result(text, message.text("toolCallId"))
        return
    if thought := message.text("reasoningContent", "reasoning_content", "thinking"):
        yield Thought(thought)
    yield text
    calls = message.get("toolCalls")
    if isinstance(calls, str):
        try:
            calls = json.loads(calls)
        except (ValueError, RecursionError):
            calls = None
    for call in records(calls):
        function = call.record("function")
        yield ImportedCall(function.text("name") or "tool", function.get("arguments"), call.text("id"))


def _files(message: JsonRecord, left_out: LeftOut) -> Iterator[tuple[str, str]]:
    for file in message.records("extra"):
        kind = file.text("type").lower()
        if kind in _IMAGES or kind in _RECORDINGS:
            left_out.add(IMAGES if kind in _IMAGES else RECORDINGS)
        else:
            yield file.text("name") or kind, file.text("content")


PROGRAM = ForeignProgram("llama.cpp", _entries, _read)
