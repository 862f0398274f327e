"""Random orders of what a person may do to chats: no word is lost, and the window shows what the history has."""

import logging
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Chat, Role
from headstart.chat.history.store import UNSENT
from headstart.chat.json_chats import to_json
from headstart.ui.program import Program
from headstart.ui.sidebar import projects
from tests.ui.person import WAIT, ChatPerson, texts, write

_STEPS = 40
_WORD = re.compile(r"\bw\d+\b")
_ACTIONS = (
    *["send"] * 4,
    *["edit", "wait", "open_chat", "undo"] * 2,
    *["type_words", "cancel_edit", "attach", "regenerate", "resume", "answer_last", "switch_version", "stop"],
    *["delete_message", "fork", "open_new", "ask_quickly", "archive", "move", "delete_project", "export_and_import"],
    *["delete_chat", "restore_chat", "empty_bin", "restart", "restart_engine", "list_project", "tell_the_model"],
)
_THROW_AWAY = {"cancel_edit", "delete_message", "empty_bin"}


class _Person(ChatPerson):
    """A person who acts at random and knows which words must still be somewhere."""

    def __init__(self, qtbot: QtBot, open_program: Callable[..., Program], folder: Path, seed: int) -> None:
        self.qtbot, self.open_program, self.folder = qtbot, open_program, folder
        self.random = random.Random(seed)
        self.app = open_program(pace=0.001)
        self.count = 0
        self.words: set[str] = set()  # that were typed and not thrown away

    def act(self) -> str:
        """Carry out a random action and return its name."""
        action = getattr(self, self.random.choice(_ACTIONS))
        action()
        self.qtbot.wait(self.random.choice((0, 0, 5, 30)))
        return str(action.__name__)

    def new_words(self) -> str:
        self.count += 1
        self.words.add(f"w{self.count}")
        return f"w{self.count}"

    def send(self) -> None:
        write(self.app, f" {self.new_words()} ")

    def type_words(self) -> None:
        composer = self.app.window.chat.composer
        composer.set_text(f"{composer.text()} {self.new_words()}")

    def edit(self) -> None:
        path = [each for each in self.app.chat_controller.session.path if each.role is Role.USER]
        if path:
            self.app.chat_controller.composing.begin_edit(self.random.choice(path).id)
            if self.app.chat_controller.composing._state.editing is not None:
                self.type_words()

    def switch_version(self) -> None:
        path = self.app.chat_controller.session.path
        if path:
            self.app.chat_controller.session.switch_version(self.random.choice(path).id, self.random.choice((-1, 1)))

    def fork(self) -> None:
        path = self.app.chat_controller.session.path
        if path:
            self.app.chats.fork(self.random.choice(path).id)

    def wait(self) -> None:
        self.qtbot.waitUntil(lambda: not self.is_answering, timeout=WAIT)

    @property
    def is_answering(self) -> bool:
        return any(session.is_answering for session in self.app.chats._sessions.values())

    def ask_quickly(self) -> None:
        word = self.new_words()
        if self.app.chats.ask(word) is None:
            self.words.discard(word)  # it stays in the field of the small window

    def delete_chat(self) -> None:
        chats = self.app.store.chats()
        if chats:
            self.app.chats.delete(self.random.choice(chats).id)

    def restore_chat(self) -> None:
        chats = self.app.store.chats(deleted=True)
        if chats:
            self.app.chats.restore(self.random.choice(chats).id)

    def archive(self) -> None:
        chats = self.app.store.chats()
        if chats:
            self.app.chats.archive(self.random.choice(chats).id)

    def move(self) -> None:
        chats = self.app.store.chats()
        if chats:
            self.app.chats.move([self.random.choice(chats).id], self.random.choice(("", "one", "two")))

    def export_and_import(self) -> None:
        """Import what another computer could have: a chat that goes on there."""
        chats = self.app.store.chats()
        if not chats:
            return
        chat = self.random.choice(chats)
        there = self.app.store.conversation(chat.id)
        if there.last and there.last.role is Role.ASSISTANT and not self.is_answering:
            there = there.ask(f"there {self.random.random()}")
            path = self.folder / "export.json"
            path.write_text(to_json([(chat, there)]), encoding="utf-8")
            self.app.import_file(str(path))

    def restart(self) -> None:
        self.app = self.open_program(pace=0.001)

    def answer_last(self) -> None:
        last = self.app.chat_controller.session.conversation.last
        if last and last.role is Role.USER:
            self.app.chat_controller.session.answer_last()

    def attach(self) -> None:
        path = self.folder / f"{self.random.randrange(5)}.txt"
        path.write_text("what a file says\n", encoding="utf-8")
        self.app.window.chat.files_dropped.emit([path])

    def delete_project(self) -> None:
        groups = self.app.store.projects()
        if groups:
            project = self.app.projects.read(self.random.choice(groups).name)
            assert project
            self.words -= set(_WORD.findall(_prompt(self.app.store.unbegun(project))))
            self.app.projects.delete(project.name)

    def list_project(self) -> None:
        self.app.chats.filter_project(self.random.choice(["", *(group.name for group in self.app.store.projects())]))

    def tell_the_model(self) -> None:
        """Change the system prompt of the chat."""
        session = self.app.chat_controller.session
        prompt = f"{_prompt(session.chat)} {self.new_words()}"
        session.change_settings({**session.chat.settings, "system_prompt": prompt})

    def empty_bin(self) -> None:
        self.app.chats.destroy()

    def places(self) -> Iterator[str]:
        """Yield every text that a person has written and can find again."""
        store = self.app.store
        yield self.app.window.chat.composer.text()
        yield store.recall(UNSENT) or ""
        for name in ("", *(group.name for group in store.projects())):
            yield _prompt(store.unbegun(store.project(name)))
        for chat in (*store.chats(), *store.chats(archived=True), *store.chats(deleted=True)):
            yield chat.draft
            yield _prompt(chat)
            yield from (edit.text for edit in store.edits(chat.id).values())
            messages = store.conversation(chat.id).messages.values()
            yield from (message.text for message in messages if message.role is Role.USER)  # answers repeat them

    def missing(self) -> set[str]:
        """Return the words that are nowhere any more."""
        return self.words - {word for text in self.places() for word in _WORD.findall(text)}


def _prompt(chat: Chat) -> str:
    return str(chat.settings.get("system_prompt", ""))


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))])
def test_no_word_is_lost(
    qtbot: QtBot,
    open_program: Callable[..., Program],
    tmp_path: Path,
    seed: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(projects, "confirm", lambda *_: True)
    person = _Person(qtbot, open_program, tmp_path, seed)
    done: list[str] = []
    for _ in range(_STEPS):
        done.append(person.act())
        missing = person.missing()
        assert not missing or done[-1] in _THROW_AWAY, done
        person.words -= missing
        assert person.app.window.chat.unsaved.isHidden(), done
        if not person.is_answering:
            assert texts(person.app) == [each.text.strip() for each in person.app.chat_controller.session.path], done
    person.wait()
    session = person.app.chat_controller.session
    if session.is_stored:
        stored = person.app.store.chat(session.chat.id)
        assert stored, done
        assert session.chat.settings == stored.settings, done
        assert session.conversation == person.app.store.conversation(session.chat.id), done
        assert session.edits == person.app.store.edits(session.chat.id), done
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR], done
