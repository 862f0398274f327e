"""The conversations.json of ChatGPT, of every age. Its format is not documented."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from headstart.chat.conversation import Attachment
from headstart.chat.imports.tree import (
    HIDDEN,
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
from headstart.errors import Translatable

_FOR_READERS = ("", "all")  # other recipients are tools
_OF_THE_PROGRAM = ("model_editable_context", "app_pairing_content")  # what the model was told of earlier chats
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue2ff]")


def _entries(content: object) -> Sequence[object] | None:
    return entries_with(content, _is_chat)


def _is_chat(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry.get("mapping"), Mapping | list) or isinstance(entry.get("linear_conversation"), list)


def _read(entry: object, left_out: LeftOut) -> Bundle | None:
    chat = mapping(entry)
    if not _is_chat(chat):
        return None
    created = seconds(chat.get("create_time")) or round(time.time(), 3)
    default = text_of(chat.get("default_model_slug"))
    nodes = chat.get("mapping") or chat.get("linear_conversation")
    keyed = nodes.items() if isinstance(nodes, Mapping) else [(None, node) for node in listing(nodes)]
    return bundle(
        [_node(key, mapping(node), default, left_out) for key, node in keyed],
        key_of(chat.get("current_node")),
        text_of(chat.get("title")),
        created=created,
        updated=seconds(chat.get("update_time")) or created,
        archived=chat.get("is_archived") is True,
        pinned=chat.get("is_starred") is True or bool(chat.get("pinned_time")),
        source=text_of(chat.get("conversation_id")) or text_of(chat.get("id")),
    )


def _node(key: str | None, node: Mapping[str, Any], default_model: str, left_out: LeftOut) -> MessageNode:
    message = mapping(node.get("message"))
    metadata = mapping(message.get("metadata"))
    role = text_of(mapping(message.get("author")).get("role")) or text_of(message.get("role"))
    own_key = key or key_of(node.get("id")) or key_of(message.get("id")) or f"unnamed {id(node)}"
    parent = key_of(node.get("parent")) or key_of(metadata.get("parent_id"))
    children = tuple(child for child in listing(node.get("children")) if isinstance(child, str))
    parts = _parts(role, message, left_out)
    files: tuple[Attachment, ...] = ()
    if role in ("user", "assistant"):
        named = [mapping(file) for file in listing(metadata.get("attachments"))]
        files = attached([(text_of(file.get("name")), "") for file in named], left_out)
    if metadata.get("is_visually_hidden_from_user") is True and role != "system":
        left_out.add(HIDDEN, 1 if parts else 0)
        return MessageNode(own_key, parent, "", children=children)
    model = text_of(metadata.get("model_slug")) or default_model
    when = seconds(message.get("create_time"))
    return MessageNode(own_key, parent, role, parts, when, model, files, children)


def _parts(role: str, message: Mapping[str, Any], left_out: LeftOut) -> tuple[Part, ...]:
    """Return the parts of a message. A part of an unknown kind without text is counted in `left_out`."""
    content = message.get("content")
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    content = mapping(content)
    kind = text_of(content.get("content_type")) or "text"
    if kind in _OF_THE_PROGRAM or (kind in ("thoughts", "reasoning_recap") and role == "assistant"):
        return _thoughts(content)
    text = _text(kind, content, mapping(message.get("metadata")), left_out)
    if not text.strip():
        if kind not in ("text", "code", "multimodal_text", "execution_output", "tether_browsing_display") and content:
            left_out.add(Translatable("messages of the unknown kind {kind}", kind=kind[:40]))
        return ()
    recipient = text_of(message.get("recipient"))
    if role == "assistant" and recipient not in _FOR_READERS:
        return (ImportedCall(recipient, text),)
    if role == "tool":
        name = text_of(mapping(message.get("author")).get("name"))
        return (Result(text, name=name, failed=kind == "system_error"),)
    if kind == "code":
        language = text_of(content.get("language"))
        return (f"```{'' if language == 'unknown' else language}\n{text}\n```",)
    return (text,)


def _thoughts(content: Mapping[str, Any]) -> tuple[Part, ...]:
    """Return the thoughts of a node, each under its summary, without the time that they took."""
    texts: list[str] = []
    for thought in map(mapping, listing(content.get("thoughts"))):
        summary = text_of(thought.get("summary"))
        texts += [f"**{summary}**" if summary else "", text_of(thought.get("content"))]
    return tuple(Thought(text) for text in texts if text)


def _text(kind: str, content: Mapping[str, Any], metadata: Mapping[str, Any], left_out: LeftOut) -> str:
    if kind == "user_editable_context":  # what you told of yourself
        return "\n\n".join(filter(None, (text_of(content.get(key)) for key in ("user_profile", "user_instructions"))))
    if kind == "tether_quote":
        head = " · ".join(filter(None, (text_of(content.get(key)) for key in ("title", "url", "domain"))))
        return "\n\n".join(filter(None, (head, text_of(content.get("text")))))
    pieces = [_piece(part, left_out) for part in listing(content.get("parts"))]
    pieces += [text_of(content.get(key)) for key in ("text", "result", "summary", "content", "name")]
    return _without_citations("\n\n".join(filter(None, pieces)), metadata)


def _piece(part: object, left_out: LeftOut) -> str:
    """Return the text of a part. Images and sounds are counted, and a mark takes their place."""
    if isinstance(part, str):
        return part
    kind, spoken = text_of(mapping(part).get("content_type")), text_of(mapping(part).get("text"))
    if spoken:
        return spoken
    name = kind.partition("_")[0]
    if name:
        known = {"image": IMAGES, "audio": RECORDINGS, "real": RECORDINGS, "video": RECORDINGS}
        left_out.add(known.get(name, Translatable("parts of the unknown kind {kind}", kind=kind[:40])))
    return f"[{'audio' if name == 'real' else name}]" if name else ""


def _without_citations(text: str, metadata: Mapping[str, Any]) -> str:
    """Replace citation marks by the links of their sources."""
    if not re.search("[\ue200-\ue2ff]", text):
        return text
    for reference in map(mapping, listing(metadata.get("content_references"))):
        mark, words = text_of(reference.get("matched_text")), text_of(reference.get("alt"))
        if "\ue200" in mark:
            text = text.replace(mark, words)
    return _CITATION.sub("", text)


PROGRAM = ForeignProgram("ChatGPT", _entries, _read)
