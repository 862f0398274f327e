"""Random orders of what a person does with files, tools and a working folder: nothing is lost, or done unasked."""

import json
import logging
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Attachment, Role, State
from headstart.chat.history.store import UNSENT
from headstart.tools.servers import ServerTool
from headstart.ui.chat.chat_session import ChatSession
from headstart.ui.composer.attachments import AttachmentChip
from headstart.ui.program import Program
from headstart.workspace.folder import IS_SUPPORTED
from tests.tools.test_servers import CLOCK
from tests.ui.person import WAIT, ChatPerson, texts, write

pytestmark = pytest.mark.skipif(not IS_SUPPORTED, reason="folders can be confined on Linux and macOS")
_STEPS = 60
_ACTIONS = (
    *["send", "write_file", "decide", "attach"] * 5,
    *["read_file", "add", "remove_chip", "give", "give", "take_back", "settle", "open_chat"] * 2,
    *["edit", "cancel_edit", "regenerate", "resume", "delete_message", "undo", "undo_in_folder", "stop", "open_new"],
    *["switch_tools", "edit_servers", "kill_server", "change_disk", "vanish", "restart", "restart_engine", "wait"],
)
_THROWING_AWAY = {"remove_chip", "cancel_edit", "delete_message"}
_WAYS = ("once", "once", "always", "refuse", "refuse")


class _Person(ChatPerson):
    """A person who acts at random, and knows which files were attached and which steps were allowed."""

    def __init__(self, qtbot: QtBot, open_program: Callable[..., Program], folder: Path, home: Path, seed: int) -> None:
        self.qtbot, self.open_program, self.home = qtbot, open_program, home
        self.random = random.Random(seed)
        self.places = [folder / "garden", folder / "thesis"]
        self.disk = folder / "downloads"
        for place in (*self.places, self.disk):
            place.mkdir()
        self.write_servers(clock=CLOCK)
        self.app = open_program(pace=0.001)
        self.count = 0
        self.attached: set[str] = set()  # words in files that were attached and not thrown away
        self.asked: dict[str, Path] = {}  # files that the model wanted to write, and where
        self.allowed: set[str] = set()
        self.may_be_free: set[Path] = set()  # folders in which steps may need no question any more
        self.done: list[str] = []

    def act(self) -> None:
        name = self.random.choice(_ACTIONS)
        self.done.append(name)
        print(name)  # pytest shows it where the test fails
        self.note_attached()
        getattr(self, name)()
        self.require_asked()
        missing = {word for word in self.attached if not any(word in text for text in self.kept())}
        assert not missing or name in _THROWING_AWAY, f"{missing} is lost"
        self.attached -= missing
        self.qtbot.wait(self.random.choice((0, 0, 5, 30)))

    @property
    def session(self) -> ChatSession:
        return self.app.chat_controller.session

    def new_word(self) -> str:
        self.count += 1
        return f"w{self.count}"

    # Messages

    def send(self) -> None:
        self.app.window.chat.composer.set_text("")
        write(self.app, f" {self.new_word()} ")

    def _call(self, tool: str, **arguments: object) -> None:
        self.app.window.chat.composer.set_text("")
        write(self.app, f"toy: call {tool} {json.dumps(arguments)}")

    def write_file(self) -> None:
        name = f"{self.new_word()}.txt"
        if self.session.folder.path:
            self.asked[name] = self.session.folder.path
            self._call("write_file", path=name, content="new")

    def read_file(self) -> None:
        self._call("read_file", path=self.random.choice(("a.txt", "none.txt", "../secret.txt")))

    def add(self) -> None:
        self._call("add", a=1, b=2)

    def edit(self) -> None:
        path = [each for each in self.session.path if each.role is Role.USER]
        if path:
            self.app.chat_controller.composing.begin_edit(self.random.choice(path).id)

    # Files of messages

    def attach(self) -> None:
        files = []
        for _ in range(self.random.choice((1, 1, 2))):
            word = self.new_word()
            files.append(self.disk / f"{word}{self.random.choice(('.txt', '.md', '.csv', '.html', '.html'))}")
            rest = "It is a long file.\n" * self.random.choice((0, 0, 0, 800))  # the model gets passages of a long one
            files[-1].write_text(f"<p>{word} is in it</p>\n{rest}", encoding="utf-8")
        if self.random.random() < 0.2:
            (self.disk / "odd.zip").write_bytes(b"PK\3\4")
            files.append(self.disk / "odd.zip")
        self.app.window.chat.files_dropped.emit(files)
        self.note_attached()
        if self.random.random() < 0.3:
            files[0].unlink()

    def note_attached(self) -> None:
        """Note the files in the message box; some are read in the background first."""
        self.attached |= {file.name.partition(".")[0] for file in self._files()} - {"odd"}

    def _files(self) -> tuple[Attachment, ...]:
        return self.app.window.chat.composer.attached

    def remove_chip(self) -> None:
        chips = [each for each in self.app.window.chat.composer.findChildren(AttachmentChip) if not each.isHidden()]
        if chips:
            self.random.choice(chips).remove.click()
            self.app.chat_controller.composing.save_draft()  # else the draft has it for another moment

    # Tools and the folder

    def give(self) -> None:
        folder = self.random.choice(self.places)
        if folder.exists():
            self.session.folder.give(folder)

    def take_back(self) -> None:
        if self.session.folder.path:
            self.app.window.chat.folder.take_back.click()

    def decide(self) -> None:
        page, pending = self.app.window.chat, self.session.pending_call
        if pending is None:
            return
        way = self.random.choice(_WAYS)
        self.done.append(way)
        bar = page.call if isinstance(pending[1], ServerTool) else page.proposal
        assert bar
        if bar is page.proposal:
            name = json.loads(pending[0].arguments).get("path", "")
            if way != "refuse" and name in self.asked:
                self.allowed.add(name)
        button = getattr(bar, way)
        if way == "always":
            if button.isHidden():
                return
            self.may_be_free.update(self.places)
        button.click()

    def undo_in_folder(self) -> None:
        self.app.chat_controller._undo_in_folder(self.session)

    def switch_tools(self) -> None:
        self.app.settings.change(tools=not self.app.settings.now.tools)

    def write_servers(self, **servers: object) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    def edit_servers(self) -> None:
        choices: tuple[dict[str, object], ...] = ({"clock": CLOCK}, {"clock": CLOCK, "other": CLOCK}, {}, {"odd": {}})
        self.write_servers(**self.random.choice(choices))
        if self.app.settings.now.tools:
            self.app.tools.restart()

    def kill_server(self) -> None:
        for child in psutil.Process().children(recursive=True):
            if "plain_server.py" in " ".join(child.cmdline()):
                child.kill()

    def change_disk(self) -> None:
        for place in self.places:
            if place.exists():
                (place / "a.txt").write_text(self.new_word(), encoding="utf-8")

    def vanish(self) -> None:
        """Take a folder away, or give it back."""
        place = self.random.choice(self.places)
        other = place.with_name(f"{place.name} elsewhere")
        if other.exists():
            if not place.exists():
                other.rename(place)
        elif place.exists():
            place.rename(other)

    # The program

    def restart(self) -> None:
        self.app = self.open_program(pace=0.001)

    def wait(self) -> None:
        self.qtbot.wait(100)

    def settle(self) -> None:
        """Wait until everything has ended, or waits for an answer to a question."""
        self.qtbot.waitUntil(lambda: not list(self.under_way()), timeout=WAIT)
        self.require_sound()

    def under_way(self) -> Iterator[str]:
        """Yield what is still going on."""
        app = self.app
        for name, is_going_on in (
            ("answering", any(each.live and not each.pending_call for each in app.chats._sessions.values())),
            ("loading", app.loader.status or app.link.is_restarting),
            ("starting tools", app.tools.is_starting or app.tools._pool.activeThreadCount()),
            ("reading", app.window.chat.composer.is_reading),
            ("counting", app.chat_controller.composing.count._callback),
        ):
            if is_going_on:
                yield name

    # What must hold

    def require_asked(self) -> None:
        """Fail if a file was written that nobody had allowed, or in another folder than was shown."""
        for place in [*self.places, *(each.with_name(f"{each.name} elsewhere") for each in self.places)]:
            for file in place.glob("w*.txt"):
                asked = self.asked[file.name]
                assert asked.name == place.name.partition(" ")[0], f"{file} was to be in {asked}"
                assert file.name in self.allowed or asked in self.may_be_free, f"{file} was not allowed"

    def require_sound(self) -> None:
        """Fail unless files are there, what is shown is stored, and a question has its bar."""
        app, page = self.app, self.app.window.chat
        assert texts(app) == [each.text.strip() for each in self.session.path]
        pending = self.session.pending_call
        assert bool(page.call.text) == bool(pending and isinstance(pending[1], ServerTool))
        has_question = page.proposal is not None and bool(page.proposal.question)
        assert has_question == bool(pending and not isinstance(pending[1], ServerTool))
        if self.session.is_stored and not self.session.live:
            stored = app.store.conversation(self.session.chat.id)
            assert self.session.conversation == stored
            assert not [each for each in stored.path if each.state is State.STREAMING]
        assert bool(page.composer._is_busy) == self.session.is_answering
        assert page.unsaved.isHidden()

    def kept(self) -> Iterator[str]:
        """Yield the texts of all files that a person can find again."""
        store = self.app.store
        yield from (file.text for file in self._files())
        yield store.recall(UNSENT) or ""
        yield from (file.text for file in store.draft_files(None))
        for chat in (*store.chats(), *store.chats(deleted=True)):
            yield from (file.text for file in store.draft_files(chat.id))
            yield from (file.text for edit in store.edits(chat.id).values() for file in edit.files)
            for message in store.conversation(chat.id).messages.values():
                yield from (file.text for file in message.attachments)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_nothing_is_lost_or_done_unasked(
    qtbot: QtBot,
    open_program: Callable[..., Program],
    tmp_path: Path,
    headstart_home: Path,
    seed: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = set(psutil.Process().children(recursive=True))
    person = _Person(qtbot, open_program, tmp_path, headstart_home, seed)
    for _ in range(_STEPS):
        person.act()
    while person.session.pending_call:
        person.session.decide(allowed=False)
        person.settle()
    person.settle()
    person.app.window.close()
    assert set(psutil.Process().children(recursive=True)) <= before
    failures = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert not [each for each in failures if "Generate failed" not in each.getMessage()]  # the toy's, of odd calls
