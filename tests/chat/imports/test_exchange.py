"""Exports and imports: round trips change nothing, pages run nothing, and bad files are refused in one sentence."""

import dataclasses
import html
import json
import re
import stat
from datetime import UTC
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.chat.conversation import AnswerOutcome, Attachment, Chat, Conversation, Role, Run, State, ToolCall
from headstart.chat.documents import Wording, to_html, to_html_all, to_markdown, to_markdown_all, write_export
from headstart.chat.imports.files import parse, read_chats
from headstart.chat.json_chats import MalformedError, to_json
from headstart.errors import ExchangeError
from tests.chat.history.trees import CONVERSATIONS, PATIENT, QUOTING
from tests.support.junk import JUNK, fuzz, places

CHAT = Chat(
    "id",
    "On <tigers>",
    1.5,
    2.25,
    pinned=True,
    tags=("At home", "zoo"),
    settings={"system_prompt": "Be kind.", "seed": 3},
)
WORDS = Wording(user="Ich", zone=UTC)


def _talk(question: str, answer: str, thinking: str = "") -> Conversation:
    begun = Conversation().ask(question, [Attachment("a <b>.py", "x = '<script>'\n")]).begin_answer("pair", {"seed": 3})
    stats = {"speedup": 1.23456, "parts": {"a": 1}}
    return begun.finish(2, AnswerOutcome(answer, State.STOPPED, (Run(3, "draft"),), stats, thinking=thinking))


@PATIENT
@given(CONVERSATIONS)
def test_json_export_is_imported_unchanged(conversation: Conversation) -> None:
    text = to_json([(CHAT, conversation)])
    ((chat, read),) = parse(text.encode()).chats
    assert read == conversation
    assert dataclasses.replace(chat, id=CHAT.id) == CHAT
    assert to_json([(dataclasses.replace(chat, id=CHAT.id), read)]) == text
    assert chat.id != CHAT.id


def test_several_chats_are_one_document() -> None:
    chats = [(CHAT, _talk("first?", "one")), (dataclasses.replace(CHAT, title="Second"), _talk("second?", "two"))]
    text = to_markdown_all(chats, WORDS)
    assert text.split("\n---\n\n") == [to_markdown(chat, talk, WORDS) for chat, talk in chats]
    page = to_html_all(chats, WORDS)
    assert page.count("<html>") == page.count("</body>") == 1
    assert page.index("<h1>On &lt;tigers&gt;</h1>") < page.index("<hr>") < page.index("<h1>Second</h1>")
    assert "<script>" not in page
    assert to_html_all([], WORDS).count("<body>") == 1


def test_unfinished_answer_is_imported_as_interrupted() -> None:
    begun = Conversation().ask("why").begin_answer().write(2, "be")
    ((_, read),) = parse(to_json([(CHAT, begun)]).encode()).chats
    assert (read.messages[2].text, read.messages[2].state) == ("be", State.INTERRUPTED)


def test_non_finite_numbers_become_null() -> None:
    tree = Conversation().ask("why").begin_answer().finish(2, AnswerOutcome("x", stats={"rate": [float("nan"), 1.5]}))
    ((_, read),) = parse(to_json([(CHAT, tree)]).encode()).chats
    assert read.messages[2].stats == {"rate": [None, 1.5]}


def test_tool_calls_are_in_every_document() -> None:
    call = ToolCall(0, "add", '{"a": "<b>"}', "3 <i>")
    tree = Conversation().ask("1 + 2?").begin_answer().finish(2, AnswerOutcome("It is 3.", calls=(call,)))
    assert 'Tool: add {"a": "<b>"}\n\n```\n3 <i>\n```\n\nIt is 3.' in to_markdown(CHAT, tree, WORDS)
    page = to_html(CHAT, tree, WORDS)
    assert "<summary>Tool: add {&quot;a&quot;: &quot;&lt;b&gt;&quot;}</summary><pre>3 &lt;i&gt;</pre>" in page
    ((_, read),) = parse(to_json([(CHAT, tree)]).encode()).chats
    assert read.messages[2].calls == (call,)


@pytest.mark.parametrize("arguments", ["[]", "{", "[" * 100_000])
def test_malformed_tool_calls_are_refused(arguments: str) -> None:
    tree = (
        Conversation().ask("?").begin_answer().finish(2, AnswerOutcome("", calls=(ToolCall(0, "add", arguments, ""),)))
    )
    with pytest.raises(MalformedError):
        parse(to_json([(CHAT, tree)]).encode())


def test_markdown_reads_like_the_chat() -> None:
    text = to_markdown(CHAT, _talk("Do they *sleep*?", "Yes."), WORDS)
    assert text == (
        "# On <tigers>\n\n1970-01-01 00:00 +0000\n\n"
        "## Ich\n\nAttachment: a <b>.py\n\n```\nx = '<script>'\n```\n\nDo they *sleep*?\n\n"
        "## pair (stopped)\n\nYes.\n"
    )
    more = to_markdown(CHAT, _talk("Do they *sleep*?", "Yes."), WORDS, with_remarks=True)
    assert more == f"{text}\n> Settings: seed 3\n\n> Statistics: speedup 1.235\n"
    pages = [to_html(CHAT, _talk("q", "Yes."), WORDS, with_remarks=more) for more in (False, True)]
    assert ["speedup 1.235" in page for page in pages] == [False, True]


class _Tags(HTMLParser):
    """A parser that collects elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


HARMLESS = {"html", "head", "meta", "title", "style", "body", "section", "h1", "h2", "h3", "hr", "br", "p", "a"}
HARMLESS |= {"pre", "code", "em", "strong", "s", "ul", "ol", "li", "blockquote", "details", "summary"}
HARMLESS |= {"table", "thead", "tbody", "tr", "th", "td", "div", "h4", "h5", "h6"}
HARMLESS |= {"math", "mrow", "mi", "mo", "mn", "mtext", "msup", "mfrac", "mpadded", "mstyle"}
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](http://tracker/x.png)",
    "[x](javascript:alert(1))",
    "[x](data:text/html,<script>1</script>)",
    "</section></body><iframe src=//x>",
    "<think><script>1</script></think>ok",
    "```html\n</code></pre><script>\n```",
    "| a |\n| - |\n| <b onclick=x> |",
    "<style>*{background:url(//x)}</style>",
    "$\\href{javascript:alert(1)}{x}$ $\\style{background:url(//x)}{x}$ $\\class{a}{x}$ $\\text{<img src=x>}^2$",
    "$\\unicode{<script>}$ $$\\frac{<img src=x>}{</math><script>}$$",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_page_runs_and_fetches_nothing(attack: str) -> None:
    chat = dataclasses.replace(CHAT, title=attack, settings={})
    page = _Tags(to_html(chat, _talk(attack, attack, attack), dataclasses.replace(WORDS, user=attack)))
    assert page.tags <= HARMLESS
    names = {name for name, _ in page.attributes}
    assert names <= {"charset", "http-equiv", "content", "name", "class", "href", "start", "title", "display"}
    addresses = [value for name, value in page.attributes if name == "href"]
    assert all(re.match(r"https?://", address) for address in addresses)


@fuzz("pages of exported chats", 60)
@given(st.text("<>&\"'`*[]()!:/\n javscript", max_size=40))
def test_no_text_makes_a_page_run_anything(text: str) -> None:
    page = _Tags(to_html(CHAT, _talk(text, text), WORDS))
    assert page.tags <= HARMLESS
    assert "src" not in {name for name, _ in page.attributes}


def test_page_shows_markdown_and_folds_thinking() -> None:
    page = to_html(CHAT, _talk("q", "**Yes** <b>", "hm *so*"), WORDS)
    assert "<details><summary>Thinking</summary><p>hm <em>so</em></p>" in page
    assert "<strong>Yes</strong> &lt;b&gt;" in page
    assert "<h1>On &lt;tigers&gt;</h1>" in page


def test_markdown_quotes_thinking() -> None:
    text = to_markdown(CHAT, _talk("q", "**Yes**", "hm\n\n*so*\n"), WORDS)
    assert "\n\nThinking:\n\n> hm\n>\n> *so*\n\n**Yes**\n" in text


@pytest.mark.parametrize("text", QUOTING)
def test_quoted_marks_are_exported_word_for_word(text: str) -> None:
    talk = _talk("q", text, "thought")
    assert f"> thought\n\n{text}\n" in to_markdown(CHAT, talk, WORDS)
    page = to_html(CHAT, talk, WORDS)
    assert all(html.escape(line) in page for line in text.split("\n"))
    assert page.count("<summary>Thinking") == 1
    ((_, read),) = parse(to_json([(CHAT, talk)]).encode()).chats
    assert read == talk


def test_thinking_in_the_text_of_an_older_file_becomes_its_own() -> None:
    content = json.loads(to_json([(CHAT, _talk("<think>no</think>", "<think>\nhm\n</think>\n\nYes"))]))
    for message in content["chats"][0]["messages"]:
        del message["thinking"]
    ((_, tree),) = _imported(content)
    assert [(message.thinking, message.text) for message in tree.path] == [("", "<think>no</think>"), ("hm", "Yes")]
    assert tree.path[1].origins == ()


def test_export_is_private_and_atomic(tmp_path: Path) -> None:
    path = tmp_path / "chat.md"
    write_export(path, "tiger 虎\n")
    assert path.read_bytes() == "tiger 虎\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ExchangeError, match="cannot be written"):
        write_export(tmp_path / "missing" / "chat.md", "x")
    assert list(tmp_path.iterdir()) == [path]


def _node(key: str, parent: str | None, children: list[str], message: object) -> dict[str, object]:
    return {"id": key, "parent": parent, "children": children, "message": message}


def _said(role: str, *parts: object, **others: object) -> dict[str, object]:
    content = {"content_type": "text", "parts": list(parts)}
    return {"author": {"role": role}, "content": content, "create_time": 5.5, "metadata": {}, **others}


PICTURE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
CHATGPT = {
    "title": "About tigers",
    "create_time": 1700000000.123456,
    "update_time": None,
    "current_node": "again",
    "mapping": {
        "root": _node("root", None, ["system"], None),
        "system": _node("system", "root", ["ask"], _said("system", "")),
        "ask": _node("ask", "system", ["answer", "tool", "nowhere"], _said("user", "Do they sleep?", PICTURE)),
        "answer": _node("answer", "ask", [], _said("assistant", "Yes.", metadata={"model_slug": "gpt-4o"})),
        "tool": _node("tool", "ask", ["result"], _said("assistant", "search()", recipient="browser")),
        "result": _node("result", "tool", ["again"], _said("tool", "pages")),
        "again": _node("again", "result", [], _said("assistant", "They do.", recipient="all")),
        "hidden": _node("hidden", "gone", [], _said("user", "x", metadata={"is_visually_hidden_from_user": True})),
        "odd": "not a node",
    },
}


def _imported(content: object) -> list[tuple[Chat, Conversation]]:
    return list(parse(json.dumps(content).encode()).chats)


def test_chatgpt_export_keeps_its_versions() -> None:
    ((chat, tree),) = _imported([CHATGPT, {"mapping": {}}, "odd"])
    assert (chat.title, chat.created, chat.updated) == ("About tigers", 1700000000.123, 1700000000.123)
    assert [message.text for message in tree.path] == ["Do they sleep?\n\n[image]", "They do."]
    assert [message.text for message in tree.versions(2)] == ["Yes.", "They do."]
    assert tree.messages[2].model == "gpt-4o"
    assert [message.role for message in tree.path] == [Role.USER, Role.ASSISTANT]


def test_thoughts_of_a_chatgpt_export_belong_to_their_answer() -> None:
    thoughts = [{"summary": "Cats", "content": "They are cats."}, {"summary": "", "content": "Cats sleep."}, "odd"]
    thought = {"author": {"role": "assistant"}, "content": {"content_type": "thoughts", "thoughts": thoughts}}
    recap = {"author": {"role": "assistant"}, "content": {"content_type": "reasoning_recap", "content": "Thought 5 s"}}
    mapping = {
        "ask": _node("ask", None, ["thoughts"], _said("user", "Do they?")),
        "thoughts": _node("thoughts", "ask", ["recap"], thought),
        "recap": _node("recap", "thoughts", ["answer"], recap),
        "answer": _node("answer", "recap", ["next"], _said("assistant", "Yes.")),
        "next": _node("next", "answer", ["last"], _said("user", "Why?")),
        "last": _node("last", "next", [], _said("assistant", "Cats.")),
    }
    ((_, tree),) = _imported([{"mapping": mapping}])
    thinking = "**Cats**\n\nThey are cats.\n\nCats sleep."
    assert [message.text for message in tree.path] == ["Do they?", "Yes.", "Why?", "Cats."]
    assert [message.thinking for message in tree.path] == ["", thinking, "", ""]


def test_chatgpt_export_with_a_cycle_ends() -> None:
    first, second = _said("user", "a"), _said("assistant", "b")
    mapping = {"r": _node("r", None, ["x", "x", "r"], first), "x": _node("x", "r", ["r", "x"], second)}
    ((_, tree),) = _imported([{"mapping": mapping}])
    assert [message.text for message in tree.messages.values()] == ["a", "b"]


@fuzz("imported chats")
@given(st.data())
def test_odd_export_is_read_or_refused(data: st.DataObject) -> None:
    source = [CHATGPT] if data.draw(st.booleans()) else json.loads(to_json([(CHAT, _talk("q", "a"))]))
    content = json.loads(json.dumps(source))
    holder, key = data.draw(st.sampled_from(places(content)))
    holder[key] = data.draw(JUNK)
    try:
        found = _imported(content)
    except MalformedError:
        return
    for chat, tree in found:
        (*chat.title.encode(), *to_json([(chat, tree)]).encode())
        assert all(tree.messages[id_] in tree.show(id_).path for id_ in tree.messages)


REFUSED = [
    (b"", "is not JSON"),
    (b"\xff\xfe", "is not UTF-8"),
    (b"[]", "not an export of chats"),
    (b'{"format": "other"}', "not an export of chats"),
    (b'[{"mapping": {}}]', "no chat in it"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"format": "headstart-chats", "version": 99}', "version 99"),
    (b'{"format": "headstart-chats", "version": 1}', "no list of chats"),
    (b'{"format": "headstart-chats", "version": 1, "chats": [NaN]}', "NaN"),
    (b'{"format": "headstart-chats", "version": 1, "chats": [{"messages": []}]}', "title is missing"),
]


@pytest.mark.parametrize(("content", "reason"), REFUSED)
def test_other_file_is_refused_with_a_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "import.json"
    path.write_bytes(content)
    with pytest.raises(ExchangeError, match=reason) as refusal:
        read_chats(path)
    assert "choose what Headstart, ChatGPT" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_missing_export_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExchangeError, match="cannot be read"):
        read_chats(tmp_path / "missing.json")


def test_message_without_its_parent_is_refused() -> None:
    content = json.loads(to_json([(CHAT, _talk("q", "a"))]))
    content["chats"][0]["messages"].reverse()
    with pytest.raises(MalformedError, match="does not follow its parent"):
        _imported(content)


def test_tags_are_imported_and_older_folders_become_tags() -> None:
    document = json.loads(to_json([(CHAT, Conversation())]))
    (entry,) = document["chats"]
    assert _imported(document)[0][0].tags == CHAT.tags
    del entry["tags"]
    entry["folder"] = "zoo"
    assert _imported(document)[0][0].tags == ("zoo",)
    entry["tags"] = "zoo"
    with pytest.raises(MalformedError, match="not a list"):
        _imported(document)


def test_too_large_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.json"
    path.write_text(to_json([(CHAT, _talk("q" * 100, "a"))]), encoding="utf-8")
    assert len(read_chats(path)) == 1
    for name in ("imports.files.MAX_BYTES", "json_chats.MAX_MESSAGES", "json_chats.MAX_CHARACTERS"):
        with monkeypatch.context() as patch:
            patch.setattr(f"headstart.chat.{name}", 1)
            with pytest.raises(ExchangeError, match=r"at most|more than"):
                read_chats(path)
