"""Tags in the history: made, renamed, removed, searched within, exported; chats always stay."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart.chat.conversation import Conversation
from headstart.chat.exchange.files import MalformedError
from headstart.chat.exchange.json_chats import parse_chats, to_json
from headstart.chat.reader import Tag
from headstart.chat.store import Store, open_store
from headstart.errors import HistoryError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty history."""
    opened = open_store(tmp_path / "history")
    yield opened
    opened.close()


def _chats(store: Store, *titles: str) -> list[str]:
    return [store.create_chat(title).id for title in titles]


def _tags(store: Store, chat: str) -> tuple[str, ...]:
    found = store.chat(chat)
    assert found
    return found.tags


def test_a_chat_has_several_tags_and_a_tag_several_chats(store: Store) -> None:
    a, b = _chats(store, "a", "b")
    store.create_tag("work", [a, b])
    store.create_tag("home", [a])
    store.create_tag("empty")
    assert store.tags() == (Tag("empty", 0), Tag("home", 1), Tag("work", 2))
    assert (_tags(store, a), _tags(store, b)) == (("home", "work"), ("work",))
    store.untag("work", [a])
    assert _tags(store, a) == ("home",)


def test_case_and_spaces_make_no_other_tag(store: Store) -> None:
    a, b = _chats(store, "a", "b")
    assert store.create_tag("  My \n work ", [a]) == "My work"
    store.create_tag("my WORK", [b])
    assert store.tags() == (Tag("My work", 2),)
    assert len(store.create_tag("x" * 99)) == 40
    with pytest.raises(HistoryError, match="needs a name"):
        store.create_tag(" \t ")


def test_a_tag_is_renamed_but_never_into_another(store: Store) -> None:
    (a,) = _chats(store, "a")
    store.create_tag("work", [a])
    store.create_tag("home")
    assert store.rename_tag("work", "Work") == "Work"
    with pytest.raises(HistoryError, match="already is a tag “home”"):
        store.rename_tag("Work", "home")
    with pytest.raises(HistoryError, match="no tag “gone”"):
        store.rename_tag("gone", "x")
    assert _tags(store, a) == ("Work",)


def test_removing_a_tag_leaves_the_chats_and_can_be_undone(store: Store) -> None:
    chats = _chats(store, "a", "b", "c")
    store.create_tag("work", chats[:2])
    had = store.delete_tag("work")
    assert sorted(had) == sorted(chats[:2])
    assert store.tags() == ()
    assert len(store.chats()) == 3
    store.create_tag("work", had)
    assert _tags(store, chats[1]) == ("work",)


def test_a_deleted_chat_counts_for_no_tag_and_comes_back_with_its_own(store: Store) -> None:
    a, b = _chats(store, "a", "b")
    store.create_tag("work", [a, b])
    store.delete(a, b)
    assert store.tags() == (Tag("work", 0),)
    store.restore(a, b)
    assert store.tags() == (Tag("work", 2),)
    store.delete(a)
    store.purge()
    assert store.tags() == (Tag("work", 1),)


def test_search_can_stay_within_a_tag_and_hits_name_theirs(store: Store) -> None:
    a, b = _chats(store, "tiger a", "tiger b")
    for chat in (a, b):
        store.save(chat, Conversation(), Conversation().ask("a tiger sleeps?!"))
    store.create_tag("zoo", [a])
    for query in ("tiger", "?!"):
        assert {hit.chat.id for hit in store.search(query)} == {a, b}
        assert {(hit.chat.id, hit.chat.tags) for hit in store.search(query, tag="zoo")} == {(a, ("zoo",))}


def test_a_search_ends_early_when_interrupted(store: Store) -> None:
    (chat,) = _chats(store, "talk")
    tree = Conversation()
    for number in range(300):
        tree = tree.ask(f"needle {number}")
    store.save(chat, Conversation(), tree)
    hits = store.message_hits("needle", limit=300)
    next(hits)
    store.interrupt()
    assert list(hits) == []
    assert len(store.search("needle", limit=300)) == 300


def test_tags_go_with_exported_chats(store: Store) -> None:
    (a,) = _chats(store, "a")
    store.create_tag("work", [a])
    chat = store.chat(a)
    assert chat
    ((read, conversation),) = parse_chats(to_json([(chat, Conversation())]).encode())
    store.delete_tag("work")
    store.add(read, conversation)
    assert store.tags() == (Tag("work", 1),)


def test_a_folder_of_an_older_file_becomes_a_tag(store: Store) -> None:
    (a,) = _chats(store, "a")
    chat = store.chat(a)
    assert chat
    document = json.loads(to_json([(chat, Conversation())]))
    (entry,) = document["chats"]
    del entry["tags"]
    entry["folder"] = "zoo"
    ((read, _),) = parse_chats(json.dumps(document).encode())
    assert read.tags == ("zoo",)
    entry["tags"] = "zoo"
    with pytest.raises(MalformedError, match="no list"):
        parse_chats(json.dumps(document).encode())
