"""The conversations.json and projects.json of claude.ai."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headstart.chat.conversation import Attachment, Project, clean_name
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
from headstart.chat.json_chats import Bundle, long_text
from headstart.errors import Translatable

_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_WITHOUT_CONTENT = ("token_budget", "flag")


def _entries(content: object) -> Sequence[object] | None:
    return entries_with(content, lambda entry: isinstance(entry.get("chat_messages"), list))


def _read(entry: object, left_out: LeftOut) -> Bundle | None:
    chat = mapping(entry)
    if not isinstance(chat.get("chat_messages"), list):
        return None
    created = seconds(chat.get("created_at")) or round(time.time(), 3)
    model = text_of(chat.get("model"))
    return bundle(
        [_node(number, message, model, left_out) for number, message in enumerate(chat["chat_messages"])],
        key_of(chat.get("current_leaf_message_uuid")),
        text_of(chat.get("name")) or text_of(chat.get("title")),
        created=created,
        updated=seconds(chat.get("updated_at")) or created,
        pinned=chat.get("is_starred") is True,
        project=clean_name(text_of(mapping(chat.get("project")).get("name"))),
        source=text_of(chat.get("uuid")),
    )


def _node(number: int, entry: object, model: str, left_out: LeftOut) -> MessageNode:
    message = mapping(entry)
    parts = [part for block in listing(message.get("content")) for part in _parts(mapping(block), left_out)]
    if not any(isinstance(part, str) and part.strip() for part in parts):
        parts.append(text_of(message.get("text")))  # older exports have no more
    named = [mapping(file) for file in listing(message.get("attachments")) + listing(message.get("files"))]
    files = dict.fromkeys((_name(file), text_of(file.get("extracted_content"))) for file in named)
    with_text = {name for name, text in files if text}
    return MessageNode(
        key_of(message.get("uuid")) or f"message {number}",
        key_of(message.get("parent_message_uuid")),
        _ROLES.get(text_of(message.get("sender")), ""),
        tuple(parts),
        seconds(message.get("created_at")),
        model,
        attached([(name, text) for name, text in files if text or name not in with_text], left_out),
    )


def _name(file: Mapping[str, Any]) -> str:
    return text_of(file.get("file_name")) or ("pasted.txt" if file.get("extracted_content") else "")


def _parts(block: Mapping[str, Any], left_out: LeftOut) -> Iterable[Part]:
    kind, id_ = text_of(block.get("type")), text_of(block.get("id")) or text_of(block.get("tool_use_id"))
    match kind:
        case "text":
            yield text_of(block.get("text"))
        case "thinking":
            yield Thought(text_of(block.get("thinking")))
        case "tool_use":
            yield ImportedCall(text_of(block.get("name")) or "tool", block.get("input"), id_)
        case "tool_result":
            shown = _result(block.get("content"), left_out)
            yield Result(shown, id_, text_of(block.get("name")), failed=block.get("is_error") is True)
        case "image":
            left_out.add(IMAGES)
            yield "[image]"
        case _ if text := text_of(block.get("text")):
            yield text
        case _ if kind not in _WITHOUT_CONTENT:
            left_out.add(Translatable("parts of the unknown kind {kind}", kind=kind[:40]))


def _result(content: object, left_out: LeftOut) -> str:
    if isinstance(content, str):
        return content
    texts = []
    for block in map(mapping, listing(content)):
        text = text_of(block.get("text")) or text_of(block.get("content")) or text_of(block.get("title"))
        if not text and block.get("type") == "image":
            left_out.add(IMAGES)
            text = "[image]"
        texts.append(text)
    return "\n\n".join(filter(None, texts))


def projects(content: object) -> tuple[Project, ...] | None:
    """Return the projects of a projects.json with their instructions and files; None for another document."""
    entries = entries_with(content, lambda entry: "prompt_template" in entry or isinstance(entry.get("docs"), list))
    if entries is None:
        return None
    found = (_project(mapping(entry)) for entry in entries)
    return tuple(project for project in found if project.name)


def _project(entry: Mapping[str, Any]) -> Project:
    docs = [mapping(doc) for doc in listing(entry.get("docs"))]
    prompt = long_text(text_of(entry.get("prompt_template")))
    return Project(
        clean_name(text_of(entry.get("name"))),
        {"system_prompt": prompt} if prompt else {},
        tuple(
            Attachment(long_text(text_of(doc.get("filename"))), long_text(text_of(doc.get("content")))) for doc in docs
        ),
    )


PROGRAM = ForeignProgram("Claude", _entries, _read)
