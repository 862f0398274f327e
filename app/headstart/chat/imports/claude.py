"""The conversations.json and projects.json of claude.ai."""

from collections.abc import Iterable, Sequence

from headstart.chat.conversation import Attachment, Project, clean_name
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
    records,
)
from headstart.chat.json_chats import Bundle, long_text

_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_WITHOUT_CONTENT = ("token_budget", "flag")


def _entries(content: object) -> Sequence[object] | None:
    return entries_with(content, lambda entry: isinstance(entry.get("chat_messages"), list))


def _read(chat: JsonRecord, left_out: LeftOut) -> Bundle | None:
    if not isinstance(chat.get("chat_messages"), list):
        return None
    model = chat.text("model")
    return bundle(
        [_node(number, message, model, left_out) for number, message in enumerate(chat.records("chat_messages"))],
        chat.key("current_leaf_message_uuid"),
        chat.text("name", "title"),
        created=chat.seconds("created_at"),
        updated=chat.seconds("updated_at"),
        pinned=chat.is_true("is_starred"),
        project=clean_name(chat.record("project").text("name")),
        source=chat.text("uuid"),
    )


def _node(number: int, message: JsonRecord, model: str, left_out: LeftOut) -> MessageNode:
    parts = [part for block in message.records("content") for part in _parts(block, left_out)]
    if not any(isinstance(part, str) and part.strip() for part in parts):
        parts.append(message.text("text"))  # older exports have no more
    named = message.records("attachments") + message.records("files")
    files = dict.fromkeys((_name(file), file.text("extracted_content")) for file in named)
    with_text = {name for name, text in files if text}
    return MessageNode(
        message.key("uuid") or f"message {number}",
        message.key("parent_message_uuid"),
        _ROLES.get(message.text("sender"), ""),
        tuple(parts),
        message.seconds("created_at"),
        model,
        attached([(name, text) for name, text in files if text or name not in with_text], left_out),
    )


def _name(file: JsonRecord) -> str:
    return file.text("file_name") or ("pasted.txt" if file.get("extracted_content") else "")


def _parts(block: JsonRecord, left_out: LeftOut) -> Iterable[Part]:
    kind, id_ = block.text("type"), block.text("id", "tool_use_id")
    match kind:
        case "text":
            yield block.text("text")
        case "thinking":
            yield Thought(block.text("thinking"))
        case "tool_use":
            yield ImportedCall(block.text("name") or "tool", block.get("input"), id_)
        case "tool_result":
            shown = _result(block.get("content"), left_out)
            yield Result(shown, id_, block.text("name"), failed=block.is_true("is_error"))
        case "image":
            yield left_out.image()
        case _ if text := block.text("text"):
            yield text
        case _ if kind not in _WITHOUT_CONTENT:
            left_out.add_unknown(kind)


def _result(content: object, left_out: LeftOut) -> str:
    if isinstance(content, str):
        return content
    texts = []
    for block in records(content):
        text = block.text("text", "content", "title")
        texts.append(left_out.image() if not text and block.get("type") == "image" else text)
    return "\n\n".join(filter(None, texts))


def projects(content: object) -> tuple[Project, ...] | None:
    """Return the projects of a projects.json with their instructions and files; None for another document."""
    entries = entries_with(content, lambda entry: "prompt_template" in entry or isinstance(entry.get("docs"), list))
    if entries is None:
        return None
    found = map(_project, records(entries))
    return tuple(project for project in found if project.name)


def _project(entry: JsonRecord) -> Project:
    prompt = long_text(entry.text("prompt_template"))
    docs = ((long_text(doc.text("filename")), long_text(doc.text("content"))) for doc in entry.records("docs"))
    settings = {"system_prompt": prompt} if prompt else {}
    return Project(clean_name(entry.text("name")), settings, tuple(Attachment(*doc) for doc in docs))


PROGRAM = ForeignProgram("Claude", _entries, _read)
