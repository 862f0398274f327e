"""The conversations.json of ChatGPT, of every age. Its format is not documented."""

import re
from collections.abc import Mapping, Sequence

from headstart.chat.conversation import Attachment
from headstart.chat.imports.tree import (
    HIDDEN,
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
    listing,
)
from headstart.chat.json_chats import Bundle
from headstart.errors import Translatable

_FOR_READERS = ("", "all")  # other recipients are tools
_OF_THE_PROGRAM = ("model_editable_context", "app_pairing_content")  # what the model was told of earlier chats
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue2ff]")


def _entries(content: object) -> Sequence[object] | None:
    return entries_with(content, _is_chat)


def _is_chat(entry: JsonRecord) -> bool:
    return isinstance(entry.get("mapping"), Mapping | list) or isinstance(entry.get("linear_conversation"), list)


def _read(chat: JsonRecord, left_out: LeftOut) -> Bundle | None:
    if not _is_chat(chat):
        return None
    default = chat.text("default_model_slug")
    nodes = chat.get("mapping") or chat.get("linear_conversation")
    keyed = nodes.items() if isinstance(nodes, Mapping) else [(None, node) for node in listing(nodes)]
    return bundle(
        [_node(key, JsonRecord(node), default, left_out) for key, node in keyed],
        chat.key("current_node"),
        chat.text("title"),
        created=chat.seconds("create_time"),
        updated=chat.seconds("update_time"),
        archived=chat.is_true("is_archived"),
        pinned=chat.is_true("is_starred") or bool(chat.get("pinned_time")),
        source=chat.text("conversation_id", "id"),
    )


def _node(key: str | None, node: JsonRecord, default_model: str, left_out: LeftOut) -> MessageNode:
    message = node.record("message")
    metadata = message.record("metadata")
    role = message.record("author").text("role") or message.text("role")
    own_key = key or node.key("id") or message.key("id") or f"unnamed {id(node)}"
    parent = node.key("parent") or metadata.key("parent_id")
    children = node.keys("children")
    parts = _parts(role, message, left_out)
    files: tuple[Attachment, ...] = ()
    if role in ("user", "assistant"):
        files = attached([(file.text("name"), "") for file in metadata.records("attachments")], left_out)
    if metadata.is_true("is_visually_hidden_from_user") and role != "system":
        left_out.add(HIDDEN, 1 if parts else 0)
        return MessageNode(own_key, parent, "", children=children)
    model = metadata.text("model_slug") or default_model
    return MessageNode(own_key, parent, role, parts, message.seconds("create_time"), model, files, children)


def _parts(role: str, message: JsonRecord, left_out: LeftOut) -> tuple[Part, ...]:
    """Return the parts of a message. A part of an unknown kind without text is counted in `left_out`."""
    whole = message.get("content")
    content = JsonRecord({"content_type": "text", "parts": [whole]} if isinstance(whole, str) else whole)
    kind = content.text("content_type") or "text"
    if kind in _OF_THE_PROGRAM or (kind in ("thoughts", "reasoning_recap") and role == "assistant"):
        return _thoughts(content)
    text = _text(kind, content, message.record("metadata"), left_out)
    if not text.strip():
        if kind not in ("text", "code", "multimodal_text", "execution_output", "tether_browsing_display") and content:
            left_out.add(Translatable("messages of the unknown kind {kind}", kind=kind[:40]))
        return ()
    recipient = message.text("recipient")
    if role == "assistant" and recipient not in _FOR_READERS:
        return (ImportedCall(recipient, text),)
    if role == "tool":
        return (Result(text, name=message.record("author").text("name"), failed=kind == "system_error"),)
    if kind == "code":
        language = content.text("language")
        return (f"```{'' if language == 'unknown' else language}\n{text}\n```",)
    return (text,)


def _thoughts(content: JsonRecord) -> tuple[Part, ...]:
    """Return the thoughts of a node, each under its summary, without the time that they took."""
    texts: list[str] = []
    for thought in content.records("thoughts"):
        summary = thought.text("summary")
        texts += [f"**{summary}**" if summary else "", thought.text("content")]
    return tuple(Thought(text) for text in texts if text)


def _text(kind: str, content: JsonRecord, metadata: JsonRecord, left_out: LeftOut) -> str:
    if kind == "user_editable_context":  # what you told of yourself
        return "\n\n".join(filter(None, map(content.text, ("user_profile", "user_instructions"))))
    if kind == "tether_quote":
        head = " · ".join(filter(None, map(content.text, ("title", "url", "domain"))))
        return "\n\n".join(filter(None, (head, content.text("text"))))
    pieces = [_piece(part, left_out) for part in content.listing("parts")]
    pieces += map(content.text, ("text", "result", "summary", "content", "name"))
    return _without_citations("\n\n".join(filter(None, pieces)), metadata)


def _piece(part: object, left_out: LeftOut) -> str:
    """Return the text of a part. Images and sounds are counted, and a mark takes their place."""
    if isinstance(part, str):
        return part
    kind, spoken = JsonRecord(part).text("content_type"), JsonRecord(part).text("text")
    if spoken:
        return spoken
    name = kind.partition("_")[0]
    if name:
        known = {"image": IMAGES, "audio": RECORDINGS, "real": RECORDINGS, "video": RECORDINGS}
        left_out.add(known.get(name, Translatable("parts of the unknown kind {kind}", kind=kind[:40])))
    return f"[{'audio' if name == 'real' else name}]" if name else ""


def _without_citations(text: str, metadata: JsonRecord) -> str:
    """Replace citation marks by the links of their sources."""
    if not re.search("[\ue200-\ue2ff]", text):
        return text
    for reference in metadata.records("content_references"):
        mark = reference.text("matched_text")
        if "\ue200" in mark:
            text = text.replace(mark, reference.text("alt"))
    return _CITATION.sub("", text)


PROGRAM = ForeignProgram("ChatGPT", _entries, _read)
