"""Random orders of questions and commands, interrupted at random: no traceback, and the conversation is as shown."""

import random
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from headstart.chat.conversation import Attachment, Role, State
from headstart.cli import answer_view, chat, render
from headstart.cli.chat import Session, converse
from headstart.cli.options import RequestSettings
from headstart.cli.render import Screen
from headstart.errors import ChatTemplateError, EngineLostError
from tests.stand_ins.fakes import ScriptedEngine, deliver
from tests.stand_ins.model_folders import write_model

_STEPS = 40
_ACTIONS = (
    *["ask"] * 4,
    *["regenerate", "go_on", "interrupt"] * 2,
    *["start_new", "set_system", "set_length", "save", "load", "fail", "lose", "help", "mistype", "stats", "attach"],
)
# What a second of Ctrl+C could only meet within microseconds, and what `converse` itself does.
_SHIELDED = {"converse", "_answer", "_finish", "<listcomp>", "<genexpr>", "end_answer", "_close", "_end_waiting"}
_FILES = (chat.__file__, render.__file__, answer_view.__file__)


class _Interrupter:
    """Ctrl+C at a line of the terminal's code, counted from the beginning of a command."""

    def __init__(self, line: int) -> None:
        self._left = line

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename not in _FILES or frame.f_code.co_name in _SHIELDED:
            return None
        if event == "line":
            self._left -= 1
            if self._left == 0:
                deliver(signal.SIGINT)
        return self


class _Person:
    """A person at the terminal, with what the conversation must have."""

    def __init__(self, folder: Path, seed: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.random, self.folder, self.capsys = random.Random(seed), folder, capsys
        self.engine = ScriptedEngine()
        self.session = Session(self.engine, "smol", Screen(), RequestSettings(), is_saved=True)
        self.count = 0
        self.waiting: tuple[Attachment, ...] = ()  # files that were not sent yet
        self.saved = dict[Path, list[tuple[Role, str]]]()
        self.interrupter: _Interrupter | None = None

    @property
    def path(self) -> list[tuple[Role, str]]:
        return [(message.role, message.text) for message in self.session.conversation.path]

    def type(self, line: str) -> tuple[str, str]:
        """Type a line, and return what is shown on standard output and as remarks."""
        self.capsys.readouterr()
        interrupter, self.interrupter = self.interrupter, None
        before = sys.gettrace()
        if interrupter:
            sys.settrace(interrupter)
        try:
            converse(self.session, [line])
        finally:
            sys.settrace(before)
        return self.capsys.readouterr()

    def word(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def interrupt(self) -> None:
        """Press Ctrl+C some time within the next command."""
        self.interrupter = _Interrupter(self.random.randrange(1, 400))

    def ask(self) -> None:
        self.script()
        self._ask()

    def lose(self) -> None:
        """Ask, and lose the engine meanwhile."""
        last = self.random.randrange(1, 5)

        def die(_request: int, number: int) -> None:
            if number == last:
                raise EngineLostError("The engine stopped unexpectedly.")

        self.script()
        self.engine.before_round = die
        self._ask()
        self.engine.before_round = lambda *_: None

    def _ask(self) -> None:
        before, question = self.path, self.word()
        shown, _ = self.type(question)
        if shown.strip() or self.path != before:
            assert self.path == [*before, (Role.USER, question), (Role.ASSISTANT, shown.removesuffix("\n"))]
            assert self.session.conversation.path[-2].attachments == self.waiting
            self.waiting = ()
            assert self.engine.requests[-1].messages[-1].content.endswith(question)

    def regenerate(self) -> None:
        before = self.path
        self.script()
        shown, remarks = self.type("/regenerate")
        if shown.strip() or self.path != before:
            assert self.path == [*before[:-1], (Role.ASSISTANT, shown.removesuffix("\n"))]
        assert "the question was taken back" not in remarks

    def go_on(self) -> None:
        before = self.path
        self.script()
        shown, remarks = self.type("/continue")
        if shown.strip() or self.path != before:
            assert self.path == [*before[:-1], (Role.ASSISTANT, before[-1][1] + shown.removesuffix("\n"))]
        assert "the question was taken back" not in remarks

    def script(self) -> None:
        """Let the next answer be new words."""
        words = " ".join(self.word() for _ in range(self.random.randrange(1, 12)))
        self.engine.scripts = (words,)
        self.engine.requests.clear()

    def start_new(self) -> None:
        self.type("/new")

    def set_system(self) -> None:
        self.type(self.random.choice(("/system", "/system Be brief.")))

    def set_length(self) -> None:
        self.type(self.random.choice(("/set max-new-tokens 3", "/set max-new-tokens")))

    def save(self) -> None:
        path = self.folder / f"{self.word()}.json"
        remarks = self.type(f"/save {path}")[1]
        if remarks:
            assert path.exists() == ("Saved to" in remarks)
            self.saved[path] = self.path

    def load(self) -> None:
        if self.saved:
            path = self.random.choice(list(self.saved))
            before = self.path
            remarks = self.type(f"/load {path}")[1]
            assert self.path == self.saved[path] or (self.path == before and "goes on" not in remarks)

    def fail(self) -> None:
        before = self.path
        self.engine.scripts = (ChatTemplateError("The template is broken."),)
        self.engine.requests.clear()
        self.type(self.random.choice((self.word(), "/regenerate", "/continue")))
        assert self.path == before

    def help(self) -> None:
        self.type("/help")

    def mistype(self) -> None:
        self.type(self.random.choice(("/sing", "/set temperature hot", "/set speculation fixed", "/load")))

    def stats(self) -> None:
        self.type("/stats")

    def attach(self) -> None:
        """Go on with a file that goes before the next message, as after a start with --file."""
        self.waiting = self.session.attachments = (*self.waiting, Attachment(f"{self.word()}.txt", "what a file says"))


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 40))])
def test_conversation_is_as_shown(
    seed: int, tmp_path: Path, headstart_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(headstart_home / "models" / "smol")
    person, done = _Person(tmp_path, str(seed), capsys), list[str]()
    for _ in range(_STEPS):
        done.append(person.random.choice(_ACTIONS))
        try:
            getattr(person, done[-1])()
            path = person.session.conversation.path
            assert [message.role for message in path] == [Role.USER, Role.ASSISTANT] * (len(path) // 2)
            assert State.STREAMING not in {message.state for message in path}
            assert person.session.attachments == person.waiting
        except AssertionError as error:
            raise AssertionError(f"{done}: {error}") from error
