"""Exports that are imported again: nothing twice, only what is new, and what was changed or deleted here stays so."""

import json
from pathlib import Path
from typing import Any

import pytest

from headstart.chat.conversation import AnswerOutcome, Conversation, Project
from headstart.chat.history.reader import Group
from headstart.chat.history.store import Store, open_store
from headstart.chat.imports.files import parse
from headstart.chat.json_chats import to_json
from headstart.chat.merging import Import
from tests.chat.imports.test_imports import CLAUDE, TALK, _chain, _text

OTHERS: list[Any] = [
    [CLAUDE],
    {"conv": {"id": "c1", "name": "x", "lastModified": 1}, "messages": [{"id": "m", "role": "user", "content": "hi"}]},
    [{"id": "w", "title": "x", "chat": {"messages": [{"id": "1", "role": "user", "content": "hi"}]}}],
    {
        "createdAt": 5,
        "name": "x",
        "messages": [{"versions": [{"role": "user", "content": [{"type": "text", "text": "h"}]}]}],
    },
    [{"object": "thread.message", "thread_id": "t", "id": "1", "role": "user", "content": "hi"}],
]


def chat(number: int, *messages: Any) -> dict[str, Any]:
    return {**_chain(*(messages or TALK)), "conversation_id": f"id {number}", "title": f"chat {number}"}


def bring(store: Store, *content: Any) -> Import:
    imported = parse(json.dumps(list(content) if len(content) > 1 else content[0]).encode())
    return store.import_chats(imported.chats, imported.projects)


def texts(store: Store, chat_id: str) -> list[str]:
    return [message.text for message in store.conversation(chat_id).path]


def test_same_export_adds_nothing(store: Store) -> None:
    chats = [chat(number) for number in range(40)]
    assert len(bring(store, *chats).added) == 40
    again = bring(store, *chats)
    assert (again.added, again.extended, again.known) == ([], {}, 40)
    assert len(store.chats()) == 40


@pytest.mark.parametrize("content", OTHERS, ids=["claude", "llama.cpp", "open webui", "lm studio", "jan"])
def test_every_program_is_known_again(store: Store, content: Any) -> None:
    assert len(bring(store, content).added) == 1
    assert bring(store, content).known == 1


def test_later_export_adds_what_is_new(store: Store) -> None:
    bring(store, chat(1), chat(2))
    (first, second) = store.chats()
    store.rename(first.id, "mine")
    store.create_tag("work", [first.id])
    longer = (*TALK, _text("user", "five"), _text("assistant", "six"))
    number = int(first.title.split()[1])
    done = bring(store, chat(number, *longer), chat(3 - number), chat(3))
    assert len(done.added) == 1
    assert list(done.extended) == [first.id]
    assert texts(store, first.id) == ["one", "two", "three", "four", "five", "six"]
    kept = store.chat(first.id)
    assert kept
    assert (kept.title, kept.tags) == ("mine", ("work",))
    assert texts(store, second.id) == ["one", "two", "three", "four"]


def test_what_was_deleted_here_stays_so(store: Store) -> None:
    bring(store, chat(1), chat(2), chat(3))
    by_title = {each.title: each.id for each in store.chats()}
    store.delete(by_title["chat 1"])
    store.destroy(by_title["chat 2"])
    third = by_title["chat 3"]
    before = store.conversation(third)
    store.save(third, before, before.remove(2))
    done = bring(store, chat(1), chat(2), chat(3, *TALK, _text("user", "five")))
    assert (done.added, done.known, done.deleted) == ([], 1, 1)
    assert [each.title for each in store.chats()] == ["chat 3"]
    assert texts(store, third) == ["one", "three", "four", "five"]


def test_answer_written_here_stays_shown(store: Store) -> None:
    (chat_id,) = bring(store, chat(1)).added
    before = store.conversation(chat_id)
    store.save(chat_id, before, before.ask("my own question"))
    bring(store, chat(1, *TALK, _text("user", "five")))
    assert texts(store, chat_id)[-1] == "my own question"
    assert "five" in [message.text for message in store.conversation(chat_id).messages.values()]


def test_own_export_over_its_original_adds_nothing(store: Store, tmp_path: Path) -> None:
    made = store.create_chat("mine")
    store.save(made.id, Conversation(), Conversation().ask("hello"))
    saved = to_json([(made, store.conversation(made.id))])
    for _ in range(2):
        assert store.import_chats(parse(saved.encode()).chats).known == 1
    other = open_store(tmp_path / "other")
    assert other.import_chats(parse(saved.encode()).chats).added == [made.id]
    before = other.conversation(made.id)
    other.save(made.id, before, before.ask("more"))
    longer = to_json([(made, other.conversation(made.id))])
    other.close()
    assert list(store.import_chats(parse(longer.encode()).chats).extended) == [made.id]
    assert len(store.chats()) == 1


def test_import_is_undone_whole(store: Store) -> None:
    (first,) = bring(store, chat(1)).added
    done = bring(store, chat(1, *TALK, _text("user", "five")), chat(2))
    store.undo_import(done)
    assert [each.id for each in store.chats()] == [first]
    assert texts(store, first) == ["one", "two", "three", "four"]
    again = bring(store, chat(1, *TALK, _text("user", "five")), chat(2))
    assert (len(again.added), list(again.extended)) == (1, [first])


def test_chat_that_goes_on_stays_when_its_import_is_undone(store: Store) -> None:
    chats = [chat(1), chat(2), chat(3)]
    done = bring(store, *chats)
    answered, drafted, _ = done.added
    before = store.conversation(answered)
    store.save(answered, before, before.ask("mine"))
    store.save_draft(drafted, "begun")
    assert store.undo_import(done) == 2
    assert {each.id for each in store.chats()} == {answered, drafted}
    again = bring(store, *chats)
    assert (len(again.added), again.known) == (1, 2)


def test_chat_that_stays_keeps_its_project(store: Store) -> None:
    done = bring(store, {**CLAUDE, "project": {"name": "Cooking"}})
    store.save_draft(done.added[0], "begun")
    store.undo_import(done)
    assert store.projects() == (Group("Cooking", 1),)


def test_equal_answers_are_no_reason_to_keep_a_chat(store: Store) -> None:
    made = store.create_chat("twice")
    asked = Conversation().ask("hello")
    twice = asked.begin_answer().finish(2, AnswerOutcome("same")).regenerate(2).finish(3, AnswerOutcome("same"))
    store.save(made.id, Conversation(), twice)
    saved = to_json([(made, store.conversation(made.id))])
    store.destroy(made.id)
    done = bring(store, json.loads(saved.replace(made.id, "another")))
    assert store.undo_import(done) == 0
    assert not store.chats()


def test_project_that_comes_back_has_its_chats(store: Store) -> None:
    made = [store.create_chat(title) for title in ("inside", "moved")]
    for each in made:
        store.save(each.id, Conversation(), Conversation().ask(each.title))
    store.move([each.id for each in made], "Thesis")
    saved = to_json([(kept, store.conversation(kept.id)) for kept in store.chats()])
    store.move([made[1].id], "Other")
    assert bring(store, json.loads(saved)).projects == []
    store.delete_project("Thesis")
    done = store.import_chats(parse(saved.encode()).chats, [Project("Thesis")])
    assert store.projects() == (Group("Other", 1), Group("Thesis", 1))
    store.undo_import(done)
    assert [group.name for group in store.projects()] == ["Other"]
    assert len(store.chats()) == 2


def test_undo_removes_the_projects_of_chats(store: Store) -> None:
    done = bring(store, {**CLAUDE, "project": {"name": "Cooking"}})
    assert [group.name for group in store.projects()] == ["Cooking"]
    store.undo_import(done)
    assert store.projects() == ()
