"""The .conversation.json files of LM Studio."""

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
    Result,
    Thought,
    attached,
    bundle,
    entries_with,
    listing,
    mapping,
    seconds,
    text_of,
)
from headstart.chat.json_chats import Bundle
from headstart.errors import Translatable

_OF_THE_PROGRAM = ("debugInfoBlock", "genInfo", "toolStatus", "citationBlock", "status")


def _entries(content: object) -> Sequence[object] | None:
    return entries_with(content, _is_chat)


def _is_chat(entry: Mapping[str, Any]) -> bool:
    messages = listing(entry.get("messages"))
    return any("versions" in mapping(message) for message in messages) or (
        not messages and "usePerChatPredictionConfig" in entry
    )


def _read(entry: object, left_out: LeftOut) -> Bundle | None:
    chat = mapping(entry)
    if not _is_chat(chat):
        return None
    created = seconds(chat.get("createdAt")) or round(time.time(), 3)
    model = text_of(mapping(chat.get("lastUsedModel")).get("identifier"))
    nodes: list[MessageNode] = []
    above, shown = None, None
    for number, message in enumerate(map(mapping, listing(chat.get("messages")))):
        versions = [mapping(version) for version in listing(message.get("versions"))]
        chosen = message.get("currentlySelected")
        chosen = chosen if isinstance(chosen, int) and 0 <= chosen < len(versions) else len(versions) - 1
        for place, version in enumerate(versions):
            role = text_of(version.get("role")) or text_of(message.get("role"))
            nodes.append(_node(f"{number}.{place}", above, role, version, model, left_out))
        if versions:
            above = shown = f"{number}.{chosen}"
    prompt = text_of(chat.get("systemPrompt"))
    times = [seconds(chat.get(name)) for name in ("userLastMessagedAt", "assistantLastMessagedAt")]
    return bundle(
        nodes,
        shown,
        text_of(chat.get("name")),
        created=created,
        updated=max(filter(None, times), default=created),
        pinned=chat.get("pinned") is True,
        settings={"system_prompt": prompt} if prompt else {},
        source=str(chat.get("createdAt") or ""),
    )


def _node(
    key: str, parent: str | None, role: str, version: Mapping[str, Any], model: str, left_out: LeftOut
) -> MessageNode:
    steps = listing(version.get("steps")) or [{"type": "contentBlock", "content": version.get("content")}]
    parts: list[Part] = []
    files: list[str] = []
    for step in map(mapping, steps):
        kind = text_of(step.get("type"))
        if kind == "contentBlock":
            thinks = mapping(step.get("style")).get("type") == "thinking"
            found = _parts(step.get("content"), files, left_out)
            parts += [Thought(part) if thinks and isinstance(part, str) else part for part in found]
        elif kind not in _OF_THE_PROGRAM:
            left_out.add(Translatable("parts of the unknown kind {kind}", kind=kind[:40]))
    sender = text_of(mapping(version.get("senderInfo")).get("senderName"))
    created = seconds(version.get("createdAt"))
    attachments = attached([(name, "") for name in files], left_out)
    return MessageNode(key, parent, role, tuple(parts), created, sender or model, attachments)


def _parts(content: object, files: list[str], left_out: LeftOut) -> Iterator[Part]:
    if isinstance(content, str):
        yield content
    for item in map(mapping, listing(content)):
        kind = text_of(item.get("type"))
        id_ = text_of(item.get("toolCallRequestId")) or str(item.get("callId", ""))
        match kind:
            case "text":
                yield text_of(item.get("text"))
            case "toolCallRequest":
                arguments = item.get("arguments") or item.get("parameters")
                yield ImportedCall(text_of(item.get("name")) or "tool", arguments, id_)
            case "toolCallResult":
                yield Result(_result(item.get("content")), id_, text_of(item.get("name")))
            case "file" if item.get("fileType") == "image":
                left_out.add(IMAGES)
                yield "[image]"
            case "file":
                files.append(text_of(item.get("name")) or text_of(item.get("fileIdentifier")))
            case _ if text := text_of(item.get("text")):
                yield text
            case _:
                left_out.add(Translatable("parts of the unknown kind {kind}", kind=kind[:40]))


def _result(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(filter(None, (text_of(mapping(item).get("text")) for item in listing(content))))


PROGRAM = ForeignProgram("LM Studio", _entries, _read)
