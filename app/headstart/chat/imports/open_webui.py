"""The exported chats of Open WebUI."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headstart.chat.conversation import clean_name
from headstart.chat.imports.tree import (
    IMAGES,
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
    joined,
    records,
    text_of,
)
from headstart.chat.json_chats import Bundle

# Thinking and calls of tools stand in the text of an answer; `done` tells them from HTML that a model wrote.
_DETAILS = re.compile(
    r"^<details\s+(?P<attributes>[^>]*\bdone=\"[^>]*)>\s*(?:<summary>.*?</summary>)?(?P<inner>.*?)</details>\s*",
    re.DOTALL | re.MULTILINE,
)
_ATTRIBUTE = re.compile(r"([\w-]+)=\"([^\"]*)\"")
_QUOTE = re.compile(r"^> ?", re.MULTILINE)


def _entries(content: object) -> Sequence[object] | None:
    return entries_with(content, lambda entry: _messages(entry.record("chat")) is not None)


def _messages(chat: JsonRecord) -> Mapping[str, Any] | list[Any] | None:
    """Return the messages with all versions, or those of the version shown."""
    messages = chat.record("history").get("messages") or chat.get("messages")
    return messages if isinstance(messages, Mapping | list) else None


def _read(record: JsonRecord, left_out: LeftOut) -> Bundle | None:
    chat = record.record("chat")
    messages = _messages(chat)
    if messages is None:
        return None
    keyed = messages.items() if isinstance(messages, Mapping) else ((None, message) for message in messages)
    nodes = [_node(key, number, JsonRecord(message), left_out) for number, (key, message) in enumerate(keyed)]
    tags = record.record("meta").listing("tags") or chat.listing("tags")
    return bundle(
        nodes,
        chat.record("history").key("currentId"),
        record.text("title") or chat.text("title"),
        created=record.seconds("created_at") or chat.seconds("timestamp"),
        updated=record.seconds("updated_at"),
        system_prompt=chat.record("params").text("system") or chat.text("system"),
        archived=record.is_true("archived"),
        pinned=record.is_true("pinned"),
        tags=tuple(sorted({clean_name(text_of(tag) or JsonRecord(tag).text("name")) for tag in tags} - {""})),
        source=record.text("id"),
    )


def _node(key: str | None, number: int, message: JsonRecord, left_out: LeftOut) -> MessageNode:
    return MessageNode(
        key or message.key("id") or f"message {number}",
        message.key("parentId"),
        message.text("role"),
        tuple(_parts(message, left_out)),
        message.seconds("timestamp"),
        message.text("model", "modelName"),
        attached(_files(message, left_out), left_out),
        message.keys("childrenIds"),
    )


def _files(message: JsonRecord, left_out: LeftOut) -> Iterator[tuple[str, str]]:
    for file in message.records("files"):
        inner = file.record("file")
        if file.text("type").startswith("image"):
            left_out.add(IMAGES)
            continue
        data = inner.record("data") or file.record("data")
        yield file.text("name") or inner.text("filename"), data.text("content") or file.text("content")


def _parts(message: JsonRecord, left_out: LeftOut) -> Iterable[Part]:
    content = message.get("content")
    if isinstance(content, list):
        for item in records(content):
            if item.text("type").startswith("image"):
                yield left_out.image()
            yield item.text("text")
        return
    text = text_of(content)
    if message.get("role") != "assistant":
        yield text
        return
    output = list(_output(message.records("output"), left_out))
    if output and not _DETAILS.search(text):
        yield from output
        return
    if thought := message.text("reasoning_content"):
        yield Thought(thought)
    yield from _inside(text)


def _inside(text: str) -> Iterator[Part]:
    """Yield the parts of a text: thinking, tool calls, and the answer proper."""
    end = 0
    for match in _DETAILS.finditer(text):
        attributes = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(match["attributes"])}
        inner = match["inner"].strip()
        part: Part
        match attributes.get("type"):
            case "reasoning":
                part = Thought(html.unescape(_QUOTE.sub("", html.unescape(inner))))
            case "tool_calls":
                result = attributes.get("result", inner)
                part = ImportedCall(attributes.get("name") or "tool", attributes.get("arguments", ""), result=result)
            case "code_interpreter":
                part = ImportedCall("code_interpreter", {"code": inner}, result=attributes.get("output", ""))
            case _:
                continue
        yield text[end : match.start()].strip("\n")
        yield part
        end = match.end()
    yield text[end:] if not end else text[end:].lstrip("\n")


def _output(items: Iterable[JsonRecord], left_out: LeftOut) -> Iterator[Part]:
    """Yield the parts of an answer that newer versions store as a list."""
    for item in items:
        kind, id_ = item.text("type"), item.text("call_id", "id")
        text = joined(item.listing("content") + item.listing("summary"))
        match kind:
            case "message":
                yield text
            case "reasoning":
                yield Thought(text)
            case "function_call":
                yield ImportedCall(item.text("name") or "tool", item.get("arguments"), id_)
            case "function_call_output":
                yield Result(joined(item.get("output")), id_)
            case _:
                left_out.add_unknown(kind)


PROGRAM = ForeignProgram("Open WebUI", _entries, _read)
