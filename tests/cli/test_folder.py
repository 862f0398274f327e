"""`headstart chat --folder`: what is asked, shown, done and taken back."""

import io
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from headstart import paths
from headstart.cli import main
from headstart.engine.engine import written_call
from headstart.tools.loop import REFUSED
from headstart.workspace.folder import IS_SUPPORTED
from tests.cli.test_tools import Terminal
from tests.stand_ins.fakes import RecordingLoad, Script, ScriptedEngine
from tests.stand_ins.model_folders import write_model
from tests.workspace.working import call

EDIT = written_call(call("edit_file", path="notes.txt", old="two", new="2"))
READ = written_call(call("read_file", path="notes.txt"))
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if not IS_SUPPORTED:
        pytest.skip("folders can be confined on Linux and macOS")
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    write_model(paths.models_folder() / "smol")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("one\ntwo\n", encoding="utf-8")
    return folder


def chat(folder: Path, *arguments: str, scripts: Sequence[Script]) -> ScriptedEngine:
    engine = ScriptedEngine(scripts)
    main(["chat", "--model", "smol", "--folder", str(folder), *arguments], load=RecordingLoad(engine))
    return engine


@pytest.mark.parametrize(("typed", "text"), [("y\n", "one\n2\n"), ("\n", "one\ntwo\n"), ("no\n", "one\ntwo\n")])
def test_change_is_asked_for_with_its_diff(
    folder: Path, typed: str, text: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    chat(folder, "change it", scripts=(EDIT, "Done."))
    out, err = capsys.readouterr()
    assert "--- a/notes.txt" in err
    assert "\n-two\n+2\n" in err
    assert all(key in out + err for key in ("[a]", "[e]"))
    assert (folder / "notes.txt").read_text(encoding="utf-8") == text
    assert ("/undo" in err) == (typed == "y\n")


def test_always_is_for_reading_or_for_changes(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("a\nn\n"))
    engine = chat(folder, "read it", scripts=(READ, READ, EDIT, "Done."))
    assert [request.messages[-1].content for request in engine.requests[1:]] == [
        *["one\ntwo\n"] * 2,
        REFUSED.text,
    ]
    assert "".join(capsys.readouterr()).count("Allow it?") == 2


def test_text_is_edited_before_it_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("e\ny\n"))
    monkeypatch.setattr(click, "edit", lambda text: text.replace("2", "II"))
    chat(folder, "change it", scripts=(EDIT, "Done."))
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "one\nII\n"


def test_nothing_is_done_where_nobody_can_be_asked(folder: Path, capsys: Captured) -> None:
    engine = chat(folder, "change it", scripts=(READ, EDIT, "Done."))
    assert all(request.messages[-1].content == REFUSED.text for request in engine.requests[1:])
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    err = capsys.readouterr().err
    assert "allow it with --allow-tool folder/read." in err
    assert "allow it with --allow-tool folder/edit." in err


def test_unattended_changes_are_allowed_by_a_flag_but_no_command(folder: Path, capsys: Captured) -> None:
    command = written_call(call("run_command", command="rm notes.txt"))
    flags = ("--allow-tool", "folder/read", "--allow-tool", "folder/edit")
    engine = chat(folder, "change it", *flags, scripts=(EDIT, command, "Done."))
    assert engine.requests[2].messages[-1].content == REFUSED.text
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "one\n2\n"
    assert "--allow-tool" not in capsys.readouterr().err  # there is none for commands


def test_answer_is_taken_back(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("change it\n/undo\n/undo\n/log\n"))
    chat(folder, "--allow-tool", "folder/edit", scripts=(EDIT, "Done."))
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    err = capsys.readouterr().err
    assert err.count("As before: notes.txt") == 1  # the second time there is nothing to undo
    assert "Change notes.txt: done, allowed" in err


def test_skill_is_switched_and_used(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("/skills letter\nwrite a letter\n/skills letter\n/skills\n"))
    engine = chat(folder, scripts=(written_call(call("use_skill", name="letter")), "Done."))
    assert "A letter from notes" in engine.requests[1].messages[-1].content
    err = capsys.readouterr().err
    assert "letter (on; comes with Headstart)" in err
    assert err.rindex("letter (off;") > err.rindex("letter (on;")


def test_commands_of_a_folder_need_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("/undo\n"))
    main(["chat", "--model", "smol"], load=RecordingLoad(ScriptedEngine()))
    assert "--folder DIR" in capsys.readouterr().err


def test_missing_folder_is_refused(tmp_path: Path, capsys: Captured) -> None:
    chat(tmp_path / "missing", "hello", scripts=("Hi.",))
    assert "There is no" in capsys.readouterr().err
