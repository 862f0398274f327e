"""Search: what is found, what is marked, and that nothing typed is an operator."""

import dataclasses
import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.chat import search
from headstart.chat.conversation import AnswerOutcome, Attachment, Chat, ChatMessage, Conversation, Role
from headstart.chat.history.store import Store, open_store
from tests.chat.history.trees import QUOTING
from tests.support.junk import fuzz


def _save_chat(store: Store, *texts: str, title: str = "") -> str:
    """Save a chat with these messages, each below the one before."""
    tree = Conversation()
    for text in texts:
        tree = tree.ask(text)
    chat = store.create_chat(title)
    store.save(chat.id, Conversation(), tree)
    return chat.id


def _marked(hit: search.Snippet) -> list[str]:
    return [hit.text[start:end] for start, end in hit.ranges]


FOUND = [
    ("我昨天看见老虎了", "老虎", ["老虎"]),
    ("東京タワーに行く", "タワー", ["タワー"]),
    ("한국어 문장", "국어", ["국어"]),
    ("你好world今天", "world", ["world"]),
    ("你好world今天", "你好world", ["你好world"]),
    ("𠮷野家", "𠮷", ["𠮷"]),
    ("한국 하기", "한", ["한"]),
    ("かばん が ある", "が", ["が"]),
    ("สวัสดีครับ ผมชื่อสมชาย", "ชื่อ", ["ชื่อ"]),
    ("ພາສາລາວ", "ລາວ", ["ລາວ"]),
    ("ភាសាខ្មែរ", "ខ្មែរ", ["ខ្មែរ"]),
    ("हिन्दी में एक वाक्य", "वाक्य", ["वाक्य"]),
    ("Ένα άρθρο", "αρθρο", ["άρθρο"]),
    ("Über Größe", "größe", ["Größe"]),
    ("Українська мова", "мов", ["мов"]),
    ("שלום עולם", "עולם", ["עולם"]),
    ("اللغة العربية", "العربية", ["العربية"]),
    ("Nice Café", "cafe", ["Café"]),
    ("plain cafe", "CAFÉ", ["cafe"]),
    ("ＡＢＣ１２３", "abc123", ["ＡＢＣ１２３"]),
    ("speculative decoding", "spec deco", ["spec", "deco"]),
    ("good 👍🏽 work", "👍", ["👍"]),
    ("I ❤️ you", "❤", ["❤"]),
    ("use C++ here", "c++", ["C++"]),
    ("call a.b(x) now", "a.b(", ["a.b("]),
    ("what?! really", "?!", ["?!"]),
    ("snake_case_name", "snake_case", ["snake_case"]),
    ('she said "hi there" twice', '"hi there"', ["hi there"]),
    ("don’t panic", "don't", ["don’t"]),
    ("line one\nline two", '"one line"', ["one line"]),
    ("a AND b NOT c OR NEAR", "NOT AND NEAR OR", ["AND", "NOT", "OR", "NEAR"]),
    ("100% sure", "100%", ["100%"]),
    ("x\x00y marks", "marks", ["marks"]),
]
NOT_FOUND = [
    ("我昨天看见老虎了", "老鼠"),
    ("老 虎", "老鼠虎"),
    ("하기", "한"),
    ("use C here", "c++"),
    ("catalog", '"cat"'),
    ("concatenate", "cat"),
    ("alpha", "alpha beta"),
    ("anything", '"'),
    ("anything", '""'),
    ("anything", "   "),
    ("anything", "\x00"),
    ("anything", ""),
]


@pytest.mark.parametrize(("text", "query", "marked"), FOUND)
def test_text_is_found_and_its_words_are_marked(store: Store, text: str, query: str, marked: list[str]) -> None:
    _save_chat(store, "other words entirely", text)
    (hit,) = store.search(query)
    assert hit.message == 2
    assert _marked(hit.snippet) == marked


@pytest.mark.parametrize(("text", "query"), NOT_FOUND)
def test_missing_words_are_not_found(store: Store, text: str, query: str) -> None:
    _save_chat(store, text)
    assert store.search(query) == ()


@pytest.mark.parametrize(
    "text", ["Ｗｈａｔ？！", "wait… don’t", "‼ “so”", "c﹖", "ＡＢ１％", "plain ascii?!", "漢字，？！（a）", "é ﬁne!"]
)
@pytest.mark.parametrize("query", ["?!", "...", "don't", "!!", "'\"so", "c?", "B1%", "(a)", ",", "Ne!", "é!", "，"])
def test_literal_search_equals_full_folding(text: str, query: str) -> None:
    for literal in search.literals(query):
        assert search.holds(text, literal) == (literal in search._normalize(text))


ODD = st.text("\"*()^:-+{}[]~'\\;,.&|!?%_ \x00\n\ud800ab虎👍ANDORNTE", max_size=12)


@fuzz("searches", 60)
@given(query=ODD)
def test_any_query_is_valid(query: str) -> None:
    assert _odd_store().search(query) is not None


@fuzz("searches", 60)
@given(text=ODD, query=ODD)
def test_marks_lie_in_the_text_in_order(text: str, query: str) -> None:
    found = search.ranges(text, query)
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(first.end <= second.start for first, second in itertools.pairwise(found))


_opened: list[Store] = []


def _odd_store() -> Store:
    return _opened[0]


@pytest.fixture(autouse=True, scope="module")
def _one_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    _opened.append(open_store(tmp_path_factory.mktemp("odd")))
    _save_chat(_opened[0], "a b AND OR 虎 👍 N T E", title="a")
    yield
    _opened.pop().close()


def test_titles_come_before_messages(store: Store) -> None:
    chat = _save_chat(store, "a tiger sleeps", title="Tiger")
    hits = store.search("tiger")
    assert [(hit.chat.id, hit.message) for hit in hits] == [(chat, None), (chat, 1)]
    assert _marked(hits[0].snippet) == ["Tiger"]


def test_newest_messages_come_first_up_to_a_limit(store: Store) -> None:
    _save_chat(store, *(f"needle {number}" for number in range(5)))
    assert [hit.snippet.text for hit in store.search("needle", limit=2)] == ["needle 4", "needle 3"]


@pytest.mark.parametrize("query", ["tiger", "tiger?!", "?!"])
def test_hits_are_sorted_by_date(store: Store, query: str) -> None:
    file = (Attachment("a.txt", "tiger?!"),)
    for number in (5, 9, 1, 7):
        message = ChatMessage(1, None, Role.USER, "tiger?!", 100.0 + number, attachments=file)
        chat = Chat(f"chat {number}", "tiger?!", 1.0, 200.0 + number)
        store.add(chat, Conversation({1: message}, {None: 1}))
    times = [209, 207, 205, 201, 109, 107, 105, 101, 109, 107, 105, 101]
    assert [hit.time for hit in store.search(query)] == times
    assert [hit.time for hit in store.search(query, limit=2)] == [209, 207, 109, 107, 109, 107]


def test_search_follows_every_change(store: Store) -> None:
    chat = _save_chat(store, "first words", title="old name")
    tree = store.conversation(chat)
    store.save(chat, tree, tree.edit(1, "second words").remove(1))
    store.rename(chat, "new name")
    assert [len(store.search(query)) for query in ("first", "second", "old", "new")] == [0, 1, 0, 1]
    store.delete(chat)
    assert not store.search("second")
    assert not store.search("new")
    store.restore(chat)
    assert len(store.search("second")) == 1
    store.delete(chat)
    assert store.purge() == 1
    assert not store.search("second")


def test_answer_is_found_once_finished(store: Store) -> None:
    chat = store.create_chat()
    begun = Conversation().ask("why").begin_answer()
    store.save(chat.id, Conversation(), begun)
    store.save_partial(chat.id, 2, "because tigers")
    assert not store.search("tigers")
    done = begun.finish(2, AnswerOutcome("because tigers sleep"))
    store.save(chat.id, begun, done)
    assert len(store.search("tigers")) == 1
    resumed = done.resume(2)
    store.save(chat.id, done, resumed)
    store.save_partial(chat.id, 2, "because tigers sleep well")
    store.save(chat.id, resumed, resumed.finish(2, AnswerOutcome("because tigers sleep here")))
    assert [len(store.search(query)) for query in ("tigers", "here", "well")] == [1, 1, 0]


def test_snippet_is_around_the_first_hit(store: Store) -> None:
    _save_chat(store, f"{'before ' * 50}needle\n{'after ' * 50}")
    (hit,) = store.search("needle")
    assert hit.snippet.text.startswith("…")
    assert hit.snippet.text.endswith("…")
    assert len(hit.snippet.text) <= 2 * search.AROUND + 8
    assert _marked(hit.snippet) == ["needle"]


def test_snippet_of_a_table_has_no_bars(store: Store) -> None:
    _save_chat(store, "| Animal | Legs |\n| --- | ---: |\n| Tiger | 4 |")
    (hit,) = store.search("tiger")
    assert hit.snippet.text == " Animal Legs Tiger 4 "
    assert _marked(hit.snippet) == ["Tiger"]
    (asked_for,) = store.search('"tiger |"')
    assert _marked(asked_for.snippet) == ["Tiger |"]


def test_index_can_be_rebuilt(store: Store) -> None:
    _save_chat(store, "tigers", title="about tigers")
    store.rebuild_index()
    store.rebuild_index()
    assert len(store.search("tigers")) == 2


def test_ten_thousand_messages_are_searched(store: Store) -> None:
    chat = store.create_chat()
    texts = ("common words again", "一段关于森林的文字", "def f(x): return x + 1")
    messages = {id_: ChatMessage(id_, id_ - 1 or None, Role.USER, texts[id_ % 3], 1.0) for id_ in range(1, 10_001)}
    messages[777] = ChatMessage(777, 776, Role.USER, "这里有老虎", 1.0)
    chosen = {message.parent: message.id for message in messages.values()}
    store.save(chat.id, Conversation(), Conversation(messages, chosen))
    assert [hit.message for hit in store.search("老虎")] == [777]
    assert [hit.message for hit in store.search("common", limit=2)] == [9999, 9996]
    assert len(store.search("x): return", limit=50)) == 50
    assert not store.search("no:where")


def _attach(store: Store, *files: Attachment, text: str = "see this") -> str:
    chat = store.create_chat("talk")
    store.save(chat.id, Conversation(), Conversation().ask(text, files))
    return chat.id


def test_hit_in_an_attachment_names_the_file(store: Store) -> None:
    _attach(store, Attachment("a.txt", "cats"), Attachment("zoo.md", "# Zoo\nThe walrus sleeps, 老虎 eat.C++"))
    for query, marked in (("walr", "walr"), ("虎", "虎"), ("C++", "C++")):
        (hit,) = store.search(query)
        assert (hit.message, hit.file) == (1, "zoo.md")
        assert _marked(hit.snippet) == [marked]
    (hit,) = store.search("zoo.md")
    assert hit.file == "zoo.md"
    assert store.search("see")[0].file is None
    assert [hit.file for hit in store.search("see", tag="none")] == []


def test_index_of_attachments_follows_changes(store: Store) -> None:
    id_ = _attach(store, Attachment("a.txt", "walrus"))
    before = store.conversation(id_)
    after = before.edit(1, "see that", [Attachment("b.txt", "crab")])
    store.save(id_, before, after)
    assert [(hit.message, hit.file) for hit in store.search("crab")] == [(2, "b.txt")]
    store.save(id_, after, before)
    assert store.search("crab") == ()
    changed = dataclasses.replace(before.messages[1], attachments=(Attachment("c.txt", "tiger"),))
    store.save(id_, before, Conversation({1: changed}, before.chosen))
    assert store.search("walrus") == ()
    assert [hit.file for hit in store.search("tiger")] == ["c.txt"]
    store.rebuild_index()
    assert [hit.file for hit in store.search("tiger")] == ["c.txt"]
    store.delete(id_)
    assert store.search("tiger") == ()
    store.purge()
    store._connection.execute("INSERT INTO file_words (file_words) VALUES ('integrity-check')")
    count = "SELECT count(*) FROM file_words WHERE file_words MATCH 'tiger'"
    assert store._connection.execute(count).fetchone()[0] == 0


def test_thinking_is_found_and_shown_where_the_text_has_no_match(store: Store) -> None:
    chat = store.create_chat()
    begun = Conversation().ask("Why?").begin_answer()
    store.save(chat.id, Conversation(), begun)
    store.save_partial(chat.id, 2, "", thinking="Lions are cats.")
    tree = begun.finish(2, AnswerOutcome("Cats sleep (a lot).", thinking="Lions are cats. So..."))
    store.save(chat.id, begun, tree)
    for query, shown in (("lion", ["Lion"]), ("cats", ["Cats"]), ("lion sleep", ["sleep"]), ("...", ["..."])):
        (hit,) = store.search(query)
        assert _marked(hit.snippet) == shown
    store.save(chat.id, tree, tree.remove(2))
    assert store.search("lion") == ()


@pytest.mark.parametrize("text", QUOTING)
def test_quoted_marks_are_found_word_for_word(store: Store, text: str) -> None:
    chat = store.create_chat()
    begun = Conversation().ask("Why?").begin_answer()
    store.save(chat.id, Conversation(), begun.finish(2, AnswerOutcome(text, thinking="hm")))
    assert store.conversation(chat.id).messages[2].text == text
    for line in text.split("\n"):
        (hit,) = store.search(line)
        assert hit.snippet.text == " ".join(text.split())
