"""The real program on a real (pseudo) terminal: typing, Ctrl+C, Ctrl+D, history."""

import json
import os
import select
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from headstart import paths
from headstart.chat.history import encryption
from headstart.chat.history.store import open_store
from headstart.cli import main
from headstart.engine.engine import Keep
from headstart.settings import Settings, save
from tests.source.source_tree import ROOT
from tests.stand_ins.fakes import RecordingLoad, ScriptedEngine
from tests.stand_ins.model_folders import write_model
from tests.support.waiting import PATIENCE

if sys.platform == "win32":
    pytest.skip("needs a Unix terminal", allow_module_level=True)

import pty
import termios

CTRL_C, CTRL_D, UP, TAB = "\x03", "\x04", "\x1b[A", "\t"
PROMPT = "\x1b[?2004h"  # the editor asks for bracketed paste when it is ready
SLOW = " ".join(f"word{number}" for number in range(1, 1000))  # would take half a minute
PROGRAM = """
import json, sys
from headstart.cli import main
from headstart.engine.engine import Keep
from headstart.settings import Settings
from headstart.settings import save
from tests.stand_ins.fakes import RecordingLoad, ScriptedEngine
scripts = json.loads(sys.argv.pop(1))
sys.exit(main(sys.argv[1:], RecordingLoad(ScriptedEngine(scripts, pause=0.1))))
"""
# The new session takes the terminal as its own, so that Ctrl+C becomes a signal there.
PRELUDE = "import fcntl, termios\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"


class Terminal:
    """A program on a pseudo terminal; `expect` waits for a text after the earlier expected ones."""

    def __init__(self, child: "subprocess.Popen[bytes]", descriptor: int) -> None:
        self.output = ""
        self._child, self._descriptor, self._read_to = child, descriptor, 0

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._descriptor, keys.encode())

    def expect(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while (found := self.output.find(text, self._read_to)) < 0:
            assert time.monotonic() < deadline, f"{text!r} did not come:\n{self.output}"
            assert self._read_more(), f"the program ended before {text!r}:\n{self.output}"
        self._read_to = found + len(text)

    def exit_code(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while self._read_more():
            assert time.monotonic() < deadline, f"the program did not end:\n{self.output}"
        return self._child.wait(PATIENCE)

    def _read_more(self) -> bool:
        """Read more output. Return False once the program has ended and everything was read."""
        if not select.select([self._descriptor], [], [], 0.05)[0]:
            return True
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # Linux says so where others return nothing
            return False
        self.output += data.decode(errors="replace")
        return bool(data)


Start = Callable[..., AbstractContextManager[Terminal]]


@pytest.fixture
def start(headstart_home: Path) -> Start:
    """A function that runs the program with a library of one model and these answers."""
    write_model(headstart_home / "models" / "smol")

    @contextmanager
    def run(scripts: Sequence[str], *arguments: str) -> Iterator[Terminal]:
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        # Cursor position requests would go unanswered: nobody draws this terminal.
        variables = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1"}
        command = [sys.executable, "-c", PRELUDE + PROGRAM, json.dumps(scripts), *arguments]
        with subprocess.Popen(
            command, cwd=ROOT, env=variables, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        ) as child:
            os.close(slave)
            try:
                yield Terminal(child, master)
            finally:
                child.kill()
                os.close(master)

    return run


def test_ctrl_c_stops_only_the_answer(start: Start, tmp_path: Path) -> None:
    saved = tmp_path / "talk.md"
    with start([SLOW, "Second answer."], "chat") as terminal:
        terminal.expect("Loading smol on CPU")
        terminal.expect("/help lists the commands")
        terminal.expect(PROMPT)
        terminal.send("Count.\r")
        terminal.expect("word3")
        terminal.send(CTRL_C)
        terminal.expect("Stopped.")
        terminal.expect(PROMPT)
        terminal.send("Next\r")
        terminal.expect("Second answer.")
        terminal.expect(PROMPT)
        terminal.send(f"/save {saved}\r")
        terminal.expect("Saved to")
        terminal.expect(PROMPT)
        terminal.send(CTRL_D)
        assert terminal.exit_code() == 0
    text = saved.read_text(encoding="utf-8")
    assert "word1 word2 word3" in text
    assert "word999" not in text
    assert "## You\n\nNext\n\n## smol\n\nSecond answer.\n" in text


def test_typing_during_an_answer_reaches_the_editor(start: Start) -> None:
    with start(["One two three four five six.", "Second answer.", "Third answer."], "chat") as terminal:
        terminal.expect(PROMPT)
        terminal.send("Count.\r")
        terminal.expect("two")
        terminal.send("Next\rAnd next\r" + CTRL_D)
        terminal.expect("six.")  # without what was typed in between
        terminal.expect("Next")
        terminal.expect("Second answer.")
        terminal.expect("And next")
        terminal.expect("Third answer.")
        assert terminal.exit_code() == 0
    answer = terminal.output.partition("two")[2].partition("six.")[0]
    assert "Next" not in answer


def _talk(start: Start, *flags: str) -> None:
    with start(["First answer."], "chat", *flags) as terminal:
        terminal.expect(PROMPT)
        terminal.send("remember me\r")
        terminal.expect("First answer.")
        terminal.expect(PROMPT)
        terminal.send(CTRL_D)
        assert terminal.exit_code() == 0


def test_continue_resumes_the_last_conversation(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    load = RecordingLoad(ScriptedEngine(("Second answer.", "Third answer.")))
    assert main(["chat", "-c", "--prompt", "Next"], load) == 2
    assert "no conversation" in capsys.readouterr().err
    _talk(start, "--system", "Be brief.")
    assert stat.S_IMODE(paths.last_chat().stat().st_mode) == 0o600
    assert main(["chat", "--prompt", "Another"], load) == 0  # what a program reads is not kept
    assert main(["chat", "-c", "--prompt", "Next"], load) == 0
    assert main(["chat", "-c", "--temporary", "--prompt", "Last"], load) == 0
    assert main(["chat", "-c", "--prompt", "Last"], load) == 0
    said = [[message.content for message in request.messages] for request in load.engine.requests[1:]]
    assert said[0] == ["Be brief.", "remember me", "First answer.", "Next"]
    assert said[1] == said[2] == [*said[0], "Third answer.", "Last"]


@pytest.mark.parametrize("reason", ["asked for", "encrypted"])
def test_nothing_is_stored_where_nothing_may_be(reason: str, start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    if reason == "encrypted":
        open_store(paths.history_folder()).close()
        encryption.encrypt(paths.history_folder(), "a long passphrase")
    _talk(start, *(["--temporary"] if reason == "asked for" else []))
    assert not paths.last_chat().exists()
    assert not paths.typed_lines().exists()
    if reason == "encrypted":
        assert main(["chat", "-c", "--prompt", "Next"], RecordingLoad()) == 2
        assert "encrypted" in capsys.readouterr().err


@pytest.mark.parametrize("share", [2.0, 0.0])
def test_last_conversation_keeps_its_prefix(start: Start, share: float) -> None:
    save(Settings(prompt_cache_gb=share))
    _talk(start)
    wanted = Keep("terminal", 2_000_000_000) if share else None
    old = paths.kept_prompts() / "model" / "terminal"
    old.mkdir(parents=True)
    load = RecordingLoad(ScriptedEngine(("Second answer.", "Third answer.")))
    assert main(["chat", "-c", "--prompt", "Next"], load) == 0
    assert old.exists()
    assert main(["chat", "-c", "--temporary", "--prompt", "Next"], load) == 0
    assert [request.keep for request in load.engine.requests] == [wanted, None]
    _talk(start)  # a new one takes its place
    assert not old.exists()


def test_editor_has_history_and_completion(start: Start) -> None:
    with start(["Quick answer."], "chat") as terminal:
        terminal.expect(PROMPT)
        terminal.send("remember me\r")
        terminal.expect(PROMPT)
        terminal.send("/he" + TAB)
        terminal.expect("lp")  # alone or with what was typed
        terminal.send("\r")
        terminal.expect("this list")
        terminal.expect(PROMPT)
        terminal.send(CTRL_D)
        assert terminal.exit_code() == 0
    with start(["Quick answer."], "chat") as terminal:
        terminal.expect(PROMPT)
        terminal.send(UP)
        terminal.expect("/help")
        terminal.send(UP)
        terminal.expect("remember me")
        terminal.send("\r")
        terminal.expect("Quick answer.")
