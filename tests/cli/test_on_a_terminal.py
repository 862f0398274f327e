"""The real program on a real (pseudo) terminal: typing, Ctrl+C, Ctrl+D, history."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.model_folders import write_model

if sys.platform == "win32":
    pytest.skip("needs a Unix terminal", allow_module_level=True)

from tests.cli.pseudo_terminal import PseudoTerminal

CTRL_C, CTRL_D, UP, TAB = "\x03", "\x04", "\x1b[A", "\t"
PROMPT = "\x1b[?2004h"  # the editor asks for bracketed paste when it is ready
SLOW = " ".join(f"word{number}" for number in range(1, 1000))  # would take half a minute
PROGRAM = """
import json, sys
from headstart.cli import main
from tests.fakes import RecordingLoad, ScriptedEngine
scripts = json.loads(sys.argv.pop(1))
sys.exit(main(sys.argv[1:], RecordingLoad(ScriptedEngine(scripts, pause=0.1))))
"""
Start = Callable[..., PseudoTerminal]


@pytest.fixture
def start(headstart_home: Path) -> Start:
    """Starts the program with a library of one model and these answers."""
    write_model(headstart_home / "models" / "smol")

    def run(scripts: Sequence[str], *arguments: str) -> PseudoTerminal:
        return PseudoTerminal(PROGRAM, [json.dumps(scripts), *arguments], {"HEADSTART_HOME": str(headstart_home)})

    return run


def test_ctrl_c_stops_the_answer_and_not_the_program(start: Start, tmp_path: Path) -> None:
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


def test_ctrl_c_at_the_prompt_clears_what_was_typed(start: Start, tmp_path: Path) -> None:
    saved = tmp_path / "talk.md"
    with start(["Quick answer."], "chat") as terminal:
        terminal.expect(PROMPT)
        terminal.send("a mistake")
        terminal.expect("mistake")
        terminal.send(CTRL_C)
        terminal.expect(PROMPT)
        terminal.send("Hello\r")
        terminal.expect(PROMPT)
        terminal.send(f"/save {saved}\r")
        terminal.expect("Saved to")
        terminal.expect(PROMPT)
        terminal.send(CTRL_D)
        assert terminal.exit_code() == 0
    assert saved.read_text(encoding="utf-8") == (
        "# Conversation with smol\n\n## You\n\nHello\n\n## smol\n\nQuick answer.\n"
    )


def test_history_and_completion(start: Start) -> None:
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
