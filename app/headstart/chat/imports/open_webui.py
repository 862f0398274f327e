"""The exported chats of Open WebUI."""

import html
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headstart.chat.conversation import clean_name
from headstart.chat.imports.tree import (
    IMAGES,
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
from headstart.errors import Translatable

# Thinking and calls of tools stand in the text of an answer; `done` tells them from HTML that a model wrote.
_DETAILS = re.compile(
    r"^<details\s+(?P<attributes>[^>]*\bdone=\"[^>]*)>\s*(?:<summary>.*?</summary>)?(?P<inner>.*?)</details>\s*",
    re.DOTALL | re.MULTILINE,
)
_ATTRIBUTE = re.compile(r"([\w-]+)=\"([^\"]*)\"")
_QUOTE = re.compile(r"^> ?", re.MULTILINE)


def _entries(content: object) -> Sequence[object] | None:
    return entries_with(content, lambda entry: _messages(mapping(entry.get("chat"))) is not None)


def _messages(chat: Mapping[str, Any]) -> Mapping[str, Any] | list[Any] | None:
    """Return the messages with all versions, or those of the version shown."""
    messages = mapping(chat.get("history")).get("messages") or chat.get("messages")
    return messages if isinstance(messages, Mapping | list) else None


def _read(entry: object, left_out: LeftOut) -> Bundle | None:
    record = mapping(entry)
    chat = mapping(record.get("chat"))
    messages = _messages(chat)
    if messages is None:
        return None
    keyed = messages.items() if isinstance(messages, Mapping) else ((None, message) for message in messages)
    created = seconds(record.get("created_at")) or seconds(chat.get("timestamp")) or round(time.time(), 3)
    nodes = [_node(key, number, mapping(message), left_out) for number, (key, message) in enumerate(keyed)]
    prompt = text_of(mapping(chat.get("params")).get("system")) or text_of(chat.get("system"))
    tags = listing(mapping(record.get("meta")).get("tags")) or listing(chat.get("tags"))
    return bundle(
        nodes,
        key_of(mapping(chat.get("history")).get("currentId")),
        text_of(record.get("title")) or text_of(chat.get("title")),
        created=created,
        updated=seconds(record.get("updated_at")) or created,
        archived=record.get("archived") is True,
        pinned=record.get("pinned") is True,
        tags=tuple(sorted({clean_name(_tag(tag)) for tag in tags} - {""})),
        settings={"system_prompt": prompt} if prompt else {},
        source=text_of(record.get("id")),
    )


def _tag(tag: object) -> str:
    return text_of(tag) or text_of(mapping(tag).get("name"))


def _node(key: str | None, number: int, message: Mapping[str, Any], left_out: LeftOut) -> MessageNode:
    return MessageNode(
        key or key_of(message.get("id")) or f"message {number}",
        key_of(message.get("parentId")),
        text_of(message.get("role")),
        tuple(_parts(message, left_out)),
        seconds(message.get("timestamp")),
        text_of(message.get("model")) or text_of(message.get("modelName")),
        attached(_files(message, left_out), left_out),
        tuple(child for child in listing(message.get("childrenIds")) if isinstance(child, str)),
    )


def _files(message: Mapping[str, Any], left_out: LeftOut) -> Iterator[tuple[str, str]]:
    for file in map(mapping, listing(message.get("files"))):
        inner = mapping(file.get("file"))
        if text_of(file.get("type")).startswith("image"):
            left_out.add(IMAGES)
            continue
        name = text_of(file.get("name")) or text_of(inner.get("filename"))
        data = mapping(inner.get("data")) or mapping(file.get("data"))
        yield name, text_of(data.get("content")) or text_of(file.get("content"))


def _parts(message: Mapping[str, Any], left_out: LeftOut) -> Iterable[Part]:
    content = message.get("content")
    if isinstance(content, list):
        for item in map(mapping, content):
            if text_of(item.get("type")).startswith("image"):
                left_out.add(IMAGES)
                yield "[image]"
            yield text_of(item.get("text"))
        return
    text = text_of(content)
    if message.get("role") != "assistant":
        yield text
        return
    output = list(_output(message.get("output"), left_out))
    if output and not _DETAILS.search(text):
        yield from output
        return
    thought = text_of(message.get("reasoning_content"))
    if thought:
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


def _output(items: object, left_out: LeftOut) -> Iterator[Part]:
    """Yield the parts of an answer that newer versions store as a list."""
    for item in map(mapping, listing(items)):
        kind, id_ = text_of(item.get("type")), text_of(item.get("call_id")) or text_of(item.get("id"))
        texts = [
            text_of(mapping(part).get("text")) for key in ("content", "summary") for part in listing(item.get(key))
        ]
        text = "\n\n".join(filter(None, texts))
        match kind:
            case "message":
                yield text
            case "reasoning":
                yield Thought(text)
            case "function_call":
                yield ImportedCall(text_of(item.get("name")) or "tool", item.get("arguments"), id_)
            case "function_call_output":
                outputs = [text_of(mapping(part).get("text")) for part in listing(item.get("output"))]
                yield Result(text_of(item.get("output")) or "\n\n".join(filter(None, outputs)), id_)
            case _:
                left_out.add(Translatable("parts of the unknown kind {kind}", kind=kind[:40]))


PROGRAM = ForeignProgram("Open WebUI", _entries, _read)
