"""Exports of other programs, of every age: what comes over, what is counted as left out, and what is refused."""

import copy
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.chat.conversation import Attachment, Chat, Conversation, Project, Role, ToolCall
from headstart.chat.imports.files import parse, read_file
from headstart.chat.json_chats import Imported, MalformedError, to_json
from headstart.errors import ExchangeError
from tests.support.junk import JUNK, changed, fuzz

Json = dict[str, Any]


def _import(content: object) -> Imported:
    return parse(json.dumps(content).encode())


def _one(content: object) -> tuple[Chat, Conversation]:
    (bundle,) = _import(content).chats
    return bundle


def _said(tree: Conversation) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in tree.path]


# ChatGPT
def _message(role: str, content: object, **others: object) -> Json:
    return {"author": {"role": role}, "content": content, **others}


def _text(role: str, *parts: object, **others: object) -> Json:
    return _message(role, {"content_type": "text", "parts": list(parts)}, **others)


def _chain(*messages: Json) -> Json:
    """Return an export of one chat whose nodes name their parents and children."""
    keys = [f"node {number}" for number in range(len(messages))]
    nodes = {
        key: {"id": key, "parent": above, "children": [below] if below else [], "message": message}
        for key, above, below, message in zip(keys, [None, *keys], [*keys[1:], None], messages, strict=False)
    }
    return {"title": "Tigers", "create_time": 1.5e9, "mapping": nodes, "current_node": keys[-1]}


TALK = (_text("user", "one"), _text("assistant", "two"), _text("user", "three"), _text("assistant", "four"))
SAID = [("user", "one"), ("assistant", "two"), ("user", "three"), ("assistant", "four")]
MISSING: list[tuple[str, ...]] = [
    ("children",), ("parent",), ("children", "parent"), ("id",), ("current_node",), ("title", "create_time"),
    ("children", "current_node"), ("parent", "current_node"), ("children", "parent", "id", "current_node"),
]  # fmt: skip


@pytest.mark.parametrize("missing", MISSING, ids="+".join)
@pytest.mark.parametrize("is_empty", [False, True])
def test_chatgpt_chat_needs_no_field_that_another_implies(missing: tuple[str, ...], *, is_empty: bool) -> None:
    chat = _chain(*TALK)
    for holder in (chat, *chat["mapping"].values()):
        for name in missing:
            if name in holder:
                holder[name] = [] if is_empty and name == "children" else None
                if not is_empty:
                    del holder[name]
    imported = _import([_chain(*TALK), chat])
    assert [_said(tree) for _, tree in imported.chats] == [SAID, SAID]
    assert not imported.left_out


def test_chatgpt_chat_may_be_alone_and_its_nodes_a_list() -> None:
    chat = _chain(*TALK)
    chat["mapping"] = list(chat["mapping"].values())
    assert _said(_one(chat)[1]) == SAID
    shared = {"title": "x", "linear_conversation": list(_chain(*TALK)["mapping"].values())}
    assert _said(_one([shared])[1]) == SAID


def test_chatgpt_nodes_in_a_circle_are_kept() -> None:
    chat = _chain(*TALK)
    chat["mapping"]["node 0"]["parent"] = "node 3"
    assert sorted(message.text for message in _one([chat])[1].messages.values()) == ["four", "one", "three", "two"]


def test_chatgpt_tools_become_calls_of_their_answer() -> None:
    code = {"content_type": "code", "language": "python", "text": "1 + 1"}
    chat = _chain(
        _text("system", ""),
        _text("user", "1 + 1?"),
        _text("assistant", "Let me see."),
        _message("assistant", code, recipient="python"),
        _message("tool", {"content_type": "execution_output", "text": "2"}, author={"role": "tool", "name": "python"}),
        _message("assistant", {"content_type": "code", "text": '{"q": "two"}'}, recipient="browser"),
        _message("tool", {"content_type": "tether_quote", "url": "http://two", "title": "Two", "text": "It is even."}),
        _message("tool", {"content_type": "system_error", "name": "Error", "text": "boom"}),
        _text("assistant", "Two.", metadata={"model_slug": "gpt-5"}),
    )
    _, tree = _one([chat])
    _, answer = tree.path
    assert (answer.text, answer.model) == ("Let me see.\n\nTwo.", "gpt-5")
    assert answer.calls == (
        ToolCall(11, "python", '{"input": "1 + 1"}', "2"),
        ToolCall(11, "browser", '{"q": "two"}', "Two · http://two\n\nIt is even."),
        ToolCall(11, "tool", "{}", "boom\n\nError", failed=True),
    )


def test_chatgpt_kinds_of_content() -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "x"}
    spoken = {"content_type": "audio_transcription", "text": "spoken"}
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Cats", "content": "They sleep."}]}
    cited = "Yes\ue200cite\ue202turn0search1\ue201. Also\ue200cite\ue202turn9\ue201."
    reference = {"matched_text": "\ue200cite\ue202turn0search1\ue201", "alt": " ([source](http://s))"}
    about = {"content_type": "user_editable_context", "user_profile": "I am Ann.", "user_instructions": "Be brief."}
    chat = _chain(
        _message("user", about, metadata={"is_visually_hidden_from_user": True}),
        _message("user", {"content_type": "multimodal_text", "parts": ["see", image, spoken]}),
        _message("assistant", thoughts),
        _message("assistant", {"content_type": "reasoning_recap", "content": "Thought for 5 s"}),
        _text("assistant", cited, metadata={"content_references": [reference]}),
        _text("user", "hidden", metadata={"is_visually_hidden_from_user": True}),
        _message("assistant", {"content_type": "code", "language": "py", "text": "x"}, recipient="all"),
        _message("assistant", {"content_type": "hologram", "text": "words"}),
        _message("assistant", {"content_type": "hologram", "waves": [1]}),
    )
    imported = _import([chat])
    ((_, tree),) = imported.chats
    question, answer = tree.path
    assert question.text == "see\n\n[image]\n\nspoken"
    assert answer.thinking == "**Cats**\n\nThey sleep."
    assert answer.text == "Yes ([source](http://s)). Also.\n\n```py\nx\n```\n\nwords"
    assert imported.program == "ChatGPT"
    assert sorted(imported.left_out) == [
        "hidden messages (2)",
        "images, which are no text (1)",
        "messages of the unknown kind hologram (1)",
    ]


def test_chatgpt_versions_of_an_answer_with_tools_stay_apart() -> None:
    chat = _chain(_text("user", "q"), _text("assistant", "begin"), _text("assistant", "end one"))
    chat["mapping"]["other"] = {"parent": "node 1", "message": _text("assistant", "end two")}
    chat["mapping"]["user"] = {"parent": "node 1", "message": _text("user", "go on")}
    _, tree = _one([chat])
    assert [message.text for message in tree.versions(2)] == ["begin\n\nend one", "begin\n\nend two", "begin"]
    assert _said(tree) == [("user", "q"), ("assistant", "begin\n\nend one")]


# The archive
ACCOUNT = {"user.json": {"id": "x"}, "chat.html": "<html></html>", "message_feedback.json": []}


def _zip(path: Path, files: Mapping[str, object]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return path


@pytest.mark.parametrize("folder", ["", "export of mine/"])
def test_chatgpt_archive_is_imported_as_it_was_downloaded(tmp_path: Path, folder: str) -> None:
    files = {**ACCOUNT, "conversations.json": [_chain(*TALK)], "file-x.png": b"\x89PNG", "__MACOSX/._a.json": b"\0"}
    imported = read_file(_zip(tmp_path / "a.zip", {folder + name: content for name, content in files.items()}))
    assert [_said(tree) for _, tree in imported.chats] == [SAID]
    assert imported.program == "ChatGPT"
    assert list(imported.left_out) == ["other files of the archive (1)"]


def test_split_export_is_imported_whole(tmp_path: Path) -> None:
    parts: Json = {f"conversations-{number:03}.json": [_chain(*TALK)] for number in range(3)}
    imported = read_file(_zip(tmp_path / "a.zip", {**parts, **ACCOUNT}))
    assert len(imported.chats) == 3
    assert not imported.left_out


def test_archive_of_our_own_is_imported(tmp_path: Path) -> None:
    chat = Chat("id", "mine", 1.0, 2.0)
    path = _zip(tmp_path / "a.zip", {"chats.headstart.json": to_json([(chat, Conversation().ask("hello"))])})
    assert read_file(path).program == "Headstart"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"user.json": {}, "x.json": {}}, "no chat in it"),
        ({"photo.png": b"\x89PNG"}, "no chat in it"),
        ({"conversations.json": [{"mapping": {}}]}, r"no chat in it that can be read: chats without messages \(1\)"),
        ({"conversations.json": "{"}, "is not JSON"),
    ],
)
def test_archive_without_chats_is_refused(tmp_path: Path, files: Mapping[str, object], reason: str) -> None:
    with pytest.raises(ExchangeError, match=reason):
        read_file(_zip(tmp_path / "a.zip", files))


def test_damaged_file_does_not_take_the_others_along(tmp_path: Path) -> None:
    imported = read_file(_zip(tmp_path / "a.zip", {"one.json": [_chain(*TALK)], "two.json": '[{"mapping"'}))
    assert [_said(tree) for _, tree in imported.chats] == [SAID]
    assert list(imported.left_out) == ["damaged files of the archive (1)"]


def test_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = _zip(tmp_path / "a.zip", {"conversations.json": [_chain(*TALK)]})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ExchangeError, match="damaged archive"):
        read_file(path)


def test_bomb_is_not_imported(tmp_path: Path) -> None:
    path = _zip(tmp_path / "a.zip", {"conversations.json": b" " * (300 * 2**20)})
    assert path.stat().st_size < 2**20
    with pytest.raises(ExchangeError, match="it has 300 MB and at most 256 MB are read"):
        read_file(path)


def test_one_bad_chat_does_not_take_the_others_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headstart.chat.json_chats.MAX_CHARACTERS", 100)
    imported = _import([_chain(*TALK), _chain(_text("user", "x" * 200)), {"mapping": {}}, "odd"])
    assert len(imported.chats) == 1
    assert list(imported.left_out) == [
        "chats of which a text in it has more than 100 characters (1)",
        "chats without messages (1)",
        "entries that are no chats (1)",
    ]


# Claude
CLAUDE = {
    "uuid": "c",
    "name": "Tigers",
    "created_at": "2025-03-29T07:06:35.552627Z",
    "updated_at": "2025-03-30T07:06:35Z",
    "chat_messages": [
        {
            "uuid": "a",
            "sender": "human",
            "text": "one",
            "content": [{"type": "text", "text": "one"}],
            "attachments": [{"file_name": "notes.txt", "extracted_content": "Notes"}],
            "files": [{"file_name": "photo.png"}],
            "created_at": "2025-03-29T07:06:36Z",
            "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
        },
        {
            "uuid": "b",
            "sender": "assistant",
            "text": "Let me see. This block is not supported on your current device yet. two",
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t", "name": "web_search", "input": {"query": "tigers"}},
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "found"}]},
                {"type": "text", "text": "two"},
                {"type": "token_budget"},
                {"type": "hologram"},
            ],
            "parent_message_uuid": "a",
        },
        {"uuid": "b2", "sender": "assistant", "text": "other", "parent_message_uuid": "a"},
    ],
    "current_leaf_message_uuid": "b",
}


def test_claude_chat_comes_over() -> None:
    imported = _import([CLAUDE])
    ((chat, tree),) = imported.chats
    assert (chat.title, chat.created, chat.updated) == ("Tigers", 1743231995.553, 1743318395.0)
    question, answer = tree.path
    assert question.attachments == (Attachment("notes.txt", "Notes"), Attachment("photo.png", ""))
    assert (answer.text, answer.thinking) == ("Let me see.\n\ntwo", "Hm.")
    assert answer.calls == (ToolCall(11, "web_search", '{"query": "tigers"}', "found", thought_at=3),)
    assert [message.text for message in tree.versions(2)] == ["Let me see.\n\ntwo", "other"]
    assert imported.program == "Claude"
    assert list(imported.left_out) == [
        "files of which the export has only the names (1)",
        "parts of the unknown kind hologram (1)",
    ]


def test_older_claude_chat_has_only_texts() -> None:
    messages = [{"sender": "human", "text": "one"}, {"sender": "assistant", "text": "two"}]
    assert _said(_one([{"name": "", "chat_messages": messages}])[1]) == SAID[:2]


def test_files_of_one_name_stay_apart() -> None:
    pastes = [{"file_name": "", "extracted_content": text} for text in ("one", "two")]
    named = {"sender": "human", "text": "a", "attachments": pastes, "files": [{"file_name": ""}]}
    (question,) = _one([{"name": "", "chat_messages": [named]}])[1].path
    assert [attachment.text for attachment in question.attachments] == ["one", "two"]


def test_claude_archive_brings_its_projects(tmp_path: Path) -> None:
    project = {"name": "Thesis", "prompt_template": "Be brief.", "docs": [{"filename": "a.md", "content": "A"}]}
    files = {"conversations.json": [CLAUDE], "projects.json": [project], "users.json": [], "memories.json": []}
    imported = read_file(_zip(tmp_path / "a.zip", files))
    assert imported.projects == (Project("Thesis", {"system_prompt": "Be brief."}, (Attachment("a.md", "A"),)),)
    assert len(imported.chats) == 1


# Open WebUI
REASONING = (
    '<details type="reasoning" done="true" duration="5">\n<summary>Thought for 5 seconds</summary>\n'
    "&gt; Hm &lt;b&gt;.\n&gt; So.\n</details>\n"
)
TOOL = (
    '<details type="tool_calls" done="true" id="t" name="add" arguments="{&quot;a&quot;: 1}" result="3">\n'
    "<summary>Tool Executed</summary>\n</details>\n"
)
OPEN_WEBUI = {
    "id": "c",
    "title": "Tigers",
    "created_at": 1700000000,
    "updated_at": 1700000001,
    "pinned": True,
    "archived": False,
    "meta": {"tags": ["zoo", {"name": "cats"}]},
    "chat": {
        "params": {"system": "Be kind."},
        "history": {
            "currentId": "b",
            "messages": {
                "a": {
                    "id": "a",
                    "parentId": None,
                    "childrenIds": ["b", "c"],
                    "role": "user",
                    "content": "one <details>mine</details>",
                    "timestamp": 1700000000,
                    "files": [
                        {"type": "file", "name": "a.txt", "file": {"data": {"content": "A"}}},
                        {"type": "image", "url": "data:"},
                    ],
                },
                "b": {"role": "assistant", "parentId": "a", "model": "llama", "content": f"{REASONING}{TOOL}two"},
                "c": {"role": "assistant", "parentId": "a", "content": "<think>\nhm\n</think>\nother"},
            },
        },
        "messages": [],
    },
}


def test_open_webui_chat_comes_over() -> None:
    imported = _import([OPEN_WEBUI])
    ((chat, tree),) = imported.chats
    assert (chat.title, chat.pinned, chat.tags, chat.settings) == (
        "Tigers", True, ("cats", "zoo"), {"system_prompt": "Be kind."},
    )  # fmt: skip
    question, answer = tree.path
    assert (question.text, question.attachments) == ("one <details>mine</details>", (Attachment("a.txt", "A"),))
    assert (answer.text, answer.thinking, answer.model) == ("two", "Hm <b>.\nSo.", "llama")
    assert answer.calls == (ToolCall(0, "add", '{"a": 1}', "3", thought_at=11),)
    assert [(message.thinking, message.text) for message in tree.versions(2)][1] == ("hm", "other")
    assert imported.program == "Open WebUI"
    assert list(imported.left_out) == ["images, which are no text (1)"]


def test_open_webui_chat_without_versions_comes_over() -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "t"},
        {"type": "function_call_output", "call_id": "t", "output": [{"type": "input_text", "text": "3"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "two"}]},
    ]
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two", "output": output}]
    _, tree = _one({"chat": {"title": "x", "messages": messages}})
    assert _said(tree) == SAID[:2]
    assert tree.path[1].calls == (ToolCall(0, "add", "{}", "3", thought_at=2),)


# LM Studio
LM_STUDIO = {
    "name": "Tigers",
    "pinned": True,
    "createdAt": 1700000000000,
    "systemPrompt": "Be kind.",
    "lastUsedModel": {"identifier": "qwen3"},
    "messages": [
        {
            "currentlySelected": 0,
            "versions": [
                {
                    "type": "singleStep",
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "one"},
                        {"type": "file", "fileIdentifier": "1 - a.pdf", "fileType": "text/plain"},
                        {"type": "file", "fileIdentifier": "2.png", "fileType": "image"},
                    ],
                }
            ],
        },
        {
            "currentlySelected": 1,
            "versions": [
                {"type": "multiStep", "role": "assistant", "steps": [{"type": "contentBlock", "content": "old"}]},
                {
                    "type": "multiStep",
                    "role": "assistant",
                    "senderInfo": {"senderName": "qwen3-8b"},
                    "steps": [
                        {
                            "type": "contentBlock",
                            "style": {"type": "thinking"},
                            "content": [{"type": "text", "text": "Hm."}],
                        },
                        {
                            "type": "contentBlock",
                            "content": [{"type": "toolCallRequest", "callId": 7, "name": "add", "arguments": {"a": 1}}],
                        },
                        {"type": "toolStatus"},
                        {
                            "type": "contentBlock",
                            "content": [{"type": "toolCallResult", "callId": 7, "content": "3"}],
                        },
                        {"type": "contentBlock", "content": [{"type": "text", "text": "two"}]},
                        {"type": "debugInfoBlock", "debugInfo": "x"},
                        {"type": "hologram"},
                    ],
                },
            ],
        },
        {"versions": [{"role": "user", "content": [{"type": "text", "text": "three"}]}], "currentlySelected": 9},
    ],
}


def test_lm_studio_chat_comes_over() -> None:
    imported = _import(LM_STUDIO)
    ((chat, tree),) = imported.chats
    assert (chat.title, chat.created, chat.pinned, chat.settings) == (
        "Tigers", 1700000000.0, True, {"system_prompt": "Be kind."},
    )  # fmt: skip
    question, answer, last = tree.path
    assert (question.text, question.attachments) == ("one\n\n[image]", (Attachment("1 - a.pdf", ""),))
    assert (answer.text, answer.thinking, answer.model) == ("two", "Hm.", "qwen3-8b")
    assert answer.calls == (ToolCall(0, "add", '{"a": 1}', "3", thought_at=3),)
    assert [message.text for message in tree.versions(answer.id)] == ["old", "two"]
    assert last.text == "three"
    assert imported.program == "LM Studio"
    assert sorted(imported.left_out) == [
        "files of which the export has only the names (1)",
        "images, which are no text (1)",
        "parts of the unknown kind hologram (1)",
    ]


# Jan
THREAD = {
    "id": "t",
    "object": "thread",
    "title": "Tigers",
    "created": 1700000000,
    "updated": 1700000005,
    "assistants": [{"model": {"id": "qwen3"}, "instructions": "Be kind."}],
}
JAN_CALL = {
    "tool": {"id": "c", "function": {"name": "add", "arguments": '{"a": 1}'}},
    "response": {"content": [{"type": "text", "text": "3"}]},
}
JAN: list[Json] = [
    {
        "id": "a",
        "object": "thread.message",
        "thread_id": "t",
        "role": "user",
        "content": [{"type": "text", "text": {"value": "one", "annotations": []}}, {"type": "image_url"}],
        "created_at": 1700000001000,
    },
    {
        "id": "b",
        "object": "thread.message",
        "thread_id": "t",
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": {"value": "Hm."}},
            {"type": "text", "text": {"value": "two"}},
        ],
        "metadata": {"tool_calls": [JAN_CALL]},
    },
]


def _lines(records: Sequence[object]) -> str:
    return "\n".join(map(json.dumps, records)) + "\n"


@pytest.mark.parametrize("is_packed", [True, False])
def test_jan_thread_comes_over(tmp_path: Path, *, is_packed: bool) -> None:
    if is_packed:
        files = {"threads/t/messages.jsonl": _lines(JAN), "threads/t/thread.json": THREAD}
        path = _zip(tmp_path / "threads.zip", files)
    else:
        path = tmp_path / "messages.jsonl"
        path.write_text(_lines(JAN), encoding="utf-8")
        (tmp_path / "thread.json").write_text(json.dumps(THREAD), encoding="utf-8")
    imported = read_file(path)
    ((chat, tree),) = imported.chats
    assert (chat.title, chat.created, chat.updated) == ("Tigers", 1700000000.0, 1700000005.0)
    assert chat.settings == {"system_prompt": "Be kind."}
    question, answer = tree.path
    assert (question.text, question.created) == ("one\n\n[image]", 1700000001.0)
    assert (answer.text, answer.thinking, answer.model) == ("two", "Hm.", "qwen3")
    assert answer.calls == (ToolCall(3, "add", '{"a": 1}', "3", thought_at=3),)
    assert imported.program == "Jan"
    assert list(imported.left_out) == ["images, which are no text (1)"]


def test_lines_may_be_one_and_have_any_character(tmp_path: Path) -> None:
    (tmp_path / "messages.jsonl").write_text(_lines(JAN[:1]), encoding="utf-8")
    assert len(read_file(tmp_path / "messages.jsonl").chats) == 1
    text = json.dumps(JAN[0], ensure_ascii=False).replace("one", "o\u2028{ne") + "\n"
    (tmp_path / "messages.jsonl").write_text(text * 2, encoding="utf-8")
    ((_, tree),) = read_file(tmp_path / "messages.jsonl").chats
    assert tree.path[0].text.startswith("o\u2028{ne")


def test_jan_messages_without_their_thread_come_over() -> None:
    imported = parse(_lines([*JAN, {**JAN[0], "thread_id": "other"}]).encode())
    assert [len(tree.messages) for _, tree in imported.chats] == [2, 1]


# llama.cpp
CONVERSATION: Json = {"id": "c", "name": "Tigers", "lastModified": 1700000005000, "currNode": "b"}
LLAMA = [
    {"id": "r", "type": "root", "role": "system", "parent": None, "children": ["s"], "content": ""},
    {"id": "s", "type": "text", "role": "system", "parent": "r", "children": ["a"], "content": "Be kind."},
    {
        "id": "a",
        "type": "text",
        "role": "user",
        "timestamp": 1700000001000,
        "parent": "s",
        "children": ["b", "c"],
        "content": "one",
        "extra": [{"type": "TEXT", "name": "a.txt", "content": "A"}, {"type": "IMAGE", "name": "b.png"}],
    },
    {
        "id": "b",
        "role": "assistant",
        "parent": "a",
        "children": ["t"],
        "content": "Let me see.",
        "reasoningContent": "Hm.",
        "model": "qwen3",
        "toolCalls": '[{"id": "x", "type": "function", "function": {"name": "add", "arguments": "{\\"a\\": 1}"}}]',
    },
    {"id": "t", "role": "tool", "parent": "b", "children": ["d"], "content": "3", "toolCallId": "x"},
    {"id": "d", "role": "assistant", "parent": "t", "children": [], "content": "two"},
    {"id": "c", "role": "assistant", "parent": "a", "children": [], "content": "other", "thinking": "Oh."},
]
LLAMA_LINES = _lines(
    [
        {"harness": "llama.cpp", "type": "session", **CONVERSATION},
        *({"type": "message", "message": message} for message in LLAMA),
        {"harness": "llama.cpp", "type": "session", **CONVERSATION},
        {"type": "message", "message": {"role": "user", "content": "again"}},
    ]
)


@pytest.mark.parametrize("kind", ["one", "list", "lines", "zip"])
def test_llama_cpp_conversation_comes_over(tmp_path: Path, kind: str) -> None:
    single = {"conv": CONVERSATION, "messages": LLAMA}
    if kind == "zip":
        imported = read_file(_zip(tmp_path / "a.zip", {"one.jsonl": LLAMA_LINES}))
    else:
        content = {"one": json.dumps(single), "list": json.dumps([single]), "lines": LLAMA_LINES}[kind]
        imported = parse(content.encode())
    chat, tree = imported.chats[0]
    assert (chat.title, chat.created, chat.updated) == ("Tigers", 1700000001.0, 1700000005.0)
    assert chat.settings == {"system_prompt": "Be kind."}
    question, answer = tree.path
    assert (question.text, question.attachments) == ("one", (Attachment("a.txt", "A"),))
    assert (answer.text, answer.thinking, answer.model) == ("Let me see.\n\ntwo", "Hm.", "qwen3")
    assert answer.calls == (ToolCall(11, "add", '{"a": 1}', "3", thought_at=3),)
    assert [(message.text, message.thinking) for message in tree.versions(answer.id)][1] == ("other", "Oh.")
    assert imported.program == "llama.cpp"
    assert list(imported.left_out) == ["images, which are no text (1)"]


def test_old_llama_cpp_conversation_has_numbers_for_keys() -> None:
    messages = [
        {"id": 1, "type": "root", "role": "system", "parent": -1, "children": [2], "content": ""},
        {"id": 2, "role": "user", "parent": 1, "children": [3], "content": "one"},
        {"id": 3, "role": "assistant", "parent": 2, "children": [], "content": "two"},
    ]
    conversation: Json = {**CONVERSATION, "currNode": 3}
    assert _said(_one({"conv": conversation, "messages": messages})[1]) == SAID[:2]


def test_quoted_mark_of_thinking_stays_text() -> None:
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "Write `<think>` and </think>."}]
    _, tree = _one({"conv": CONVERSATION, "messages": messages})
    assert (tree.path[1].text, tree.path[1].thinking) == ("Write `<think>` and </think>.", "")


SAMPLES: dict[str, Any] = {
    "ChatGPT": [_chain(*TALK)],
    "Claude": [CLAUDE],
    "Open WebUI": [OPEN_WEBUI],
    "LM Studio": LM_STUDIO,
    "Jan": JAN,
    "llama.cpp": {"conv": CONVERSATION, "messages": LLAMA},
}


@fuzz("exports of other programs", 300)
@given(st.data())
def test_odd_export_of_another_program_is_read_or_refused(data: st.DataObject) -> None:
    source = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    content = changed(data, {"": copy.deepcopy(source)}, JUNK).get("")
    try:
        imported = _import(content)
    except MalformedError:
        return
    for chat, tree in imported.chats:
        again = parse(to_json([(chat, tree)]).encode()).chats[0][1]
        assert again == tree
        assert all(tree.messages[id_] in tree.show(id_).path for id_ in tree.messages)
        assert all(message.role in Role for message in tree.messages.values())


def test_half_a_character_is_replaced_wherever_it_stands() -> None:
    broken = copy.deepcopy(SAMPLES["llama.cpp"])
    for message in broken["messages"]:
        message |= {"model": "qwen\ud83d", "content": "\ud83d hello"}
    ((_, tree),) = _import(broken).chats
    texts = [text for message in tree.messages.values() for text in (message.model, message.text) if text]
    assert "\ufffd" in "".join(texts)
    assert all(text.encode() for text in texts)


@pytest.mark.parametrize("program", SAMPLES)
def test_every_program_is_told_from_the_others(program: str) -> None:
    assert _import(SAMPLES[program]).program == program


@pytest.mark.parametrize("content", [{}, [], [{}], 5, [{"messages": []}], {"chat": {}}], ids=repr)
def test_other_json_is_refused(content: object) -> None:
    with pytest.raises(MalformedError, match="is not an export of chats"):
        _import(content)
