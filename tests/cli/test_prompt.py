"""Lines from a pipe and from the editor."""

import io
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput
from prompt_toolkit.input.defaults import create_pipe_input
from prompt_toolkit.output import DummyOutput

from headstart.cli.chat import piped_lines, typed_lines, whole_text
from headstart.errors import SettingsError

ENTER, ALT_ENTER, CTRL_C, CTRL_D = "\r", "\x1b\r", "\x03", "\x04"


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        yield keyboard


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history"


@pytest.mark.parametrize(
    ("piped", "lines"),
    [
        ("one\ntwo\r\n", ["one", "two"]),
        ("one \\\ntwo\\\nthree\nfour", ["one \ntwo\nthree", "four"]),
        ("cut off\\", ["cut off\n"]),
        ("", []),
    ],
)
def test_a_pipe_gives_a_message_a_line(piped: str, lines: list[str]) -> None:
    assert list(piped_lines(io.StringIO(piped, newline=""))) == lines


@pytest.mark.parametrize("read", [whole_text, lambda stream: list(piped_lines(stream))])
def test_a_pipe_of_bytes_that_are_no_text_is_refused(read: object) -> None:
    assert callable(read)
    with pytest.raises(SettingsError, match="Standard input is no text in utf-8"):
        read(io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="utf-8"))


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        (f"one{ENTER}two{ENTER}", ["one", "two"]),
        (f"first{ALT_ENTER}second{ENTER}", ["first\nsecond"]),
        (f"first\\{ENTER}second{ENTER}", ["first\nsecond"]),
        (f"mistake{CTRL_C}right{ENTER}", ["right"]),
        (f"\x1b[200~pasted\nlines\x1b[201~{ENTER}", ["pasted\nlines"]),
    ],
)
def test_the_editor(keyboard: PipeInput, history: Path, keys: str, lines: list[str]) -> None:
    keyboard.send_text(keys + CTRL_D)
    assert list(typed_lines(history, ["/quit"])) == lines


def test_history_is_kept_in_a_file(keyboard: PipeInput, history: Path) -> None:
    keyboard.send_text(f"remember{ALT_ENTER}me{ENTER}{CTRL_D}")
    list(typed_lines(history, []))
    assert history.read_text(encoding="utf-8").endswith("\n+remember\n+me\n")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_history_is_for_its_owner_only(keyboard: PipeInput, history: Path) -> None:
    history.parent.mkdir()
    history.touch(0o644)
    keyboard.send_text(f"secret{ENTER}{CTRL_D}")
    list(typed_lines(history, []))
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_where_no_history_can_be_written_the_editor_works(keyboard: PipeInput, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    keyboard.send_text(f"one{ENTER}two{ENTER}{CTRL_D}")
    assert list(typed_lines(tmp_path / "file" / "history", [])) == ["one", "two"]
