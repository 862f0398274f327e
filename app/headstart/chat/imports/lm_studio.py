"""The .conversation.json files of LM Studio."""

from collections.abc import Iterator, Sequence

from headstart.chat.imports.tree import (
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
)
from headstart.chat.json_chats import Bundle

_OF_THE_PROGRAM = ("debugInfoBlock", "genInfo", "toolStatus", "citationBlock", "status")


def _entries(content: object) -> Sequence[object] | None:
    return entries_with(content, _is_chat)


def _is_chat(entry: JsonRecord) -> bool:
    messages = entry.records("messages")
    return any("versions" in message for message in messages) or (
        not messages and "usePerChatPredictionConfig" in entry
    )


def _read(chat: JsonRecord, left_out: LeftOut) -> Bundle | None:
    if not _is_chat(chat):
        return None
    model = chat.record("lastUsedModel").text("identifier")
    nodes: list[MessageNode] = []
    above, shown = None, None
    for number, message in enumerate(chat.records("messages")):
        versions = message.records("versions")
        chosen = message.get("currentlySelected")
        chosen = chosen if isinstance(chosen, int) and 0 <= chosen < len(versions) else len(versions) - 1
        for place, version in enumerate(versions):
            role = version.text("role") or message.text("role")
            nodes.append(_node(f"{number}.{place}", above, role, version, model, left_out))
        if versions:
            above = shown = f"{number}.{chosen}"
    times = [chat.seconds(name) for name in ("userLastMessagedAt", "assistantLastMessagedAt")]
    return bundle(
        nodes,
        shown,
        chat.text("name"),
        created=chat.seconds("createdAt"),
        updated=max(filter(None, times), default=None),
        system_prompt=chat.text("systemPrompt"),
        pinned=chat.is_true("pinned"),
        source=str(chat.get("createdAt") or ""),
    )


def _node(key: str, parent: str | None, role: str, version: JsonRecord, model: str, left_out: LeftOut) -> MessageNode:
    steps = version.listing("steps") or [{"type": "contentBlock", "content": version.get("content")}]
    parts: list[Part] = []
    files: list[str] = []
    for step in records(steps):
        kind = step.text("type")
        if kind == "contentBlock":
            thinks = step.record("style").get("type") == "thinking"
            found = _parts(step.get("content"), files, left_out)
            parts += [Thought(part) if thinks and isinstance(part, str) else part for part in found]
        elif kind not in _OF_THE_PROGRAM:
            left_out.add_unknown(kind)
    sender = version.record("senderInfo").text("senderName")
    attachments = attached([(name, "") for name in files], left_out)
    return MessageNode(key, parent, role, tuple(parts), version.seconds("createdAt"), sender or model, attachments)


def _parts(content: object, files: list[str], left_out: LeftOut) -> Iterator[Part]:
    if isinstance(content, str):
        yield content
    for item in records(content):
        kind = item.text("type")
        id_ = item.text("toolCallRequestId") or str(item.get("callId") if "callId" in item else "")
        match kind:
            case "text":
                yield item.text("text")
            case "toolCallRequest":
                arguments = item.get("arguments") or item.get("parameters")
                yield ImportedCall(item.text("name") or "tool", arguments, id_)
            case "toolCallResult":
                yield Result(joined(item.get("content")), id_, item.text("name"))
            case "file" if item.get("fileType") == "image":
                yield left_out.image()
            case "file":
                files.append(item.text("name", "fileIdentifier"))
            case _ if text := item.text("text"):
                yield text
            case _:
                left_out.add_unknown(kind)


PROGRAM = ForeignProgram("LM Studio", _entries, _read)
