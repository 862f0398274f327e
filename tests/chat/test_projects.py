"""Projects: what they hold, chats that come and go, and that exports and backups carry them."""

from pathlib import Path

import pytest

from headstart.chat.conversation import LONGEST_NAME, Attachment, Conversation, Project
from headstart.chat.history import backups
from headstart.chat.history.reader import Group
from headstart.chat.history.store import Store, open_store
from headstart.chat.imports.files import parse
from headstart.chat.json_chats import MalformedError, to_json
from headstart.errors import HistoryError

THESIS = Project("Thesis", {"system_prompt": "Be brief.", "model": "pair"}, (Attachment("a.md", "A"),))


def test_project_keeps_settings_and_files(store: Store) -> None:
    assert store.add_project(THESIS) == "Thesis"
    assert store.project("thesis") == THESIS
    assert store.project("other") is None
    with pytest.raises(HistoryError, match="already is a project “THESIS”"):
        store.add_project(Project("THESIS"))
    with pytest.raises(HistoryError, match="needs a name"):
        store.add_project(Project(" \n "))
    assert store.add_project(Project("x" * 99)) == "x" * LONGEST_NAME


def test_chats_are_moved_and_listed_by_project(store: Store) -> None:
    first, second, third = (store.create_chat(title).id for title in "abc")
    store.move([first, second, "gone"], "Thesis")
    assert {chat.id for chat in store.chats(project="thesis")} == {first, second}
    assert store.projects() == (Group("Thesis", 2),)
    store.move([first], "Home")
    store.move([second], "")
    store.delete(first)
    assert store.projects() == (Group("Home", 0), Group("Thesis", 0))
    assert store.chat(third) is not None
    store.restore(first)
    found = store.chat(first)
    assert found
    assert found.project == "Home"


def test_search_stays_within_a_project(store: Store) -> None:
    for name in ("Zoo", "Home"):
        chat = store.create_chat(f"walrus of {name}")
        store.save(chat.id, Conversation(), Conversation().ask("a walrus", [Attachment("w.txt", "walrus")]))
        store.move([chat.id], name)
    hits = store.search("walrus", project="zoo")
    assert [(hit.chat.project, hit.message, hit.file) for hit in hits] == [
        ("Zoo", None, None),
        ("Zoo", 1, None),
        ("Zoo", 1, "w.txt"),
    ]


def test_project_cannot_take_the_name_of_another(store: Store) -> None:
    store.add_project(THESIS)
    store.add_project(Project("Home"))
    chat = store.create_chat("a")
    store.move([chat.id], "Thesis")
    assert store.change_project("Thesis", Project("thesis 2", {"model": "x"})) == "thesis 2"
    assert store.project("thesis 2") == Project("thesis 2", {"model": "x"})
    assert [each.title for each in store.chats(project="thesis 2")] == ["a"]
    with pytest.raises(HistoryError, match="already is a project “home”"):
        store.change_project("thesis 2", Project("home"))
    with pytest.raises(HistoryError, match="no project “Thesis” any more"):
        store.change_project("Thesis", THESIS)


def test_deleted_project_keeps_its_chats(store: Store) -> None:
    chat = store.create_chat("a")
    store.move([chat.id], "Thesis")
    store.delete_project("Thesis")
    assert store.projects() == ()
    assert [(each.title, each.project) for each in store.chats()] == [("a", "")]


def test_export_has_projects(store: Store) -> None:
    store.add_project(THESIS)
    chat = store.create_chat("a")
    store.move([chat.id], "Thesis")
    (kept,) = store.chats()
    text = to_json([(kept, Conversation().ask("why"))], [THESIS])
    found = parse(text.encode())
    assert found.projects == (THESIS,)
    assert found.chats[0][0].project == "Thesis"
    store.delete_project("Thesis")
    store.import_chats((), found.projects)
    store.import_chats((), [Project("Thesis", {"model": "another"})])  # what is there stays
    store.add(*found.chats[0])
    assert store.project("Thesis") == THESIS
    assert store.projects() == (Group("Thesis", 1),)


@pytest.mark.parametrize("projects", ["3", '[{"settings": {}}]', '[{"name": "x", "files": 3}]', '["x"]'])
def test_malformed_projects_are_refused(projects: str, store: Store) -> None:
    chat = store.create_chat("a")
    text = to_json([(chat, Conversation().ask("why"))])
    with pytest.raises(MalformedError):
        parse(text.replace('"projects": []', f'"projects": {projects}').encode())
    assert parse(text.encode()).chats[0][0].project == ""


def test_backup_has_projects(folder: Path, store: Store) -> None:
    store.add_project(THESIS)
    store.create_chat("a")
    assert backups.keep_up(folder, None)
    (backup,) = backups.list_backups(folder)
    store.delete_project("Thesis")
    store.close()
    backups.restore(folder, backup)
    again = open_store(folder)
    assert again.project("Thesis") == THESIS
    again.close()
