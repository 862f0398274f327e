"""Work on a folder: what is asked, shown, done, logged and undone."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from headstart import paths
from headstart.chat.conversation import Excerpt
from headstart.engine.cancelling import CancelEvent
from headstart.errors import WorkspaceError
from headstart.tools.loop import REFUSED, ToolResult
from headstart.workspace import sandbox
from headstart.workspace.tools import EDIT, READ, Proposal, Workspace
from tests.workspace.working import allow, call, refuse, tree, work

needs_sandbox = pytest.mark.skipif(sandbox.program() is None, reason="bubblewrap does not work here")
EDIT_TWO = call("edit_file", path="notes.txt", old="two", new="2")


def propose(workspace: Workspace, name: str, **arguments: object) -> Proposal:
    proposal = workspace.propose(call(name, **arguments))
    assert isinstance(proposal, Proposal)
    return proposal


def test_change_is_shown_before_it_is_made(workspace: Workspace, place: Path) -> None:
    proposal = propose(workspace, "edit_file", path="notes.txt", old="two", new="2")
    assert proposal.diff == "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    assert proposal.needs_question
    assert (place / "notes.txt").read_text(encoding="utf-8") == "one\ntwo\nthree\n"


def test_diff_of_a_new_file_without_a_last_line_end(workspace: Workspace) -> None:
    proposal = propose(workspace, "write_file", path="a.txt", content="x")
    assert proposal.diff == "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"


def test_refused_change_is_not_made(workspace: Workspace, place: Path) -> None:
    before = tree(place)
    done = work(workspace, [EDIT_TWO], refuse)
    assert done.results[0] == REFUSED
    assert tree(place) == before
    assert not workspace.record.can_undo


def test_edited_change_is_made_as_the_user_wants_it(workspace: Workspace, place: Path) -> None:
    proposal = workspace.propose(EDIT_TWO)
    assert isinstance(proposal, Proposal)
    result = workspace.run(proposal.edited("one\nTWO\nthree\n"), CancelEvent())
    assert (place / "notes.txt").read_text(encoding="utf-8") == "one\nTWO\nthree\n"
    assert "+TWO" in result.text


def test_permissions_are_for_reading_for_edits_and_for_one_command(workspace: Workspace) -> None:
    reading, writing = propose(workspace, "list_files"), propose(workspace, "make_folder", path="a")
    assert (reading.permission, writing.permission) == (READ, EDIT)
    workspace.allow(reading)
    assert not propose(workspace, "read_file", path="notes.txt").needs_question
    assert propose(workspace, "write_file", path="a.txt", content="").needs_question
    workspace.allow(writing)
    assert not propose(workspace, "move_file", source="notes.txt", target="b.txt").needs_question
    assert propose(workspace, "run_command", command="ls").needs_question


@needs_sandbox
def test_command_is_allowed_by_its_exact_text(workspace: Workspace) -> None:
    workspace.allow(propose(workspace, "run_command", command="ls"))
    assert not propose(workspace, "run_command", command="ls").needs_question
    assert propose(workspace, "run_command", command="ls ").needs_question


def test_command_without_a_sandbox_is_always_asked_for(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "program", lambda: None)
    proposal = propose(workspace, "run_command", command="echo $((6 * 7)); exit 3")
    assert "no working bubblewrap" in proposal.warnings[0]
    workspace.allow(proposal)
    assert propose(workspace, "run_command", command="echo $((6 * 7)); exit 3").needs_question
    assert workspace.run(proposal, CancelEvent()) == ToolResult("42\n(exit code 3)", failed=True)


@pytest.mark.parametrize(
    "made",
    [
        call("read_file", path=".env"),
        call("edit_file", path=".env", old="PASSWORD=hunter2", new=""),
        call("edit_file", path=".env", old="PASSWORD=other", new=""),
        call("write_file", path=".env", content=""),
        call("move_file", source=".env", target="env.txt"),
        call("move_file", source=".ssh", target="ssh"),
        call("read_file", path="harmless.txt"),
    ],
)
def test_secret_is_asked_for_whatever_is_allowed(workspace: Workspace, place: Path, made: object) -> None:
    (place / ".env").write_text("PASSWORD=hunter2\n", encoding="utf-8")
    (place / ".ssh").mkdir()
    (place / "harmless.txt").write_text("-----BEGIN RSA PRIVATE KEY-----\n", encoding="utf-8")
    workspace.allowed |= {READ, EDIT}
    done = work(workspace, [made], refuse)  # type: ignore[list-item]
    assert len(done.questions) == 1
    assert done.questions[0].warnings
    assert "hunter2" not in done.results[0].text


def test_search_does_not_show_secrets(workspace: Workspace, place: Path) -> None:
    (place / ".env").write_text("PASSWORD=hunter2\n", encoding="utf-8")
    (place / "password.md").write_text("Ask for the PASSWORD.\n", encoding="utf-8")
    (result,) = work(workspace, [call("search_files", text="password")]).results
    assert result.text == "password.md\npassword.md:1: Ask for the PASSWORD."


def test_search_by_meaning_shows_passages_of_the_folder_alone(workspace: Workspace, place: Path) -> None:
    assert not workspace.has("search_meaning")
    (place / "key.txt").write_text("-----BEGIN RSA PRIVATE KEY-----\n", encoding="utf-8")
    (place / "link.txt").symlink_to(place.parent / "outside" / "file.txt")
    found = [place / "notes.txt", place / "key.txt", place / "link.txt", place / "gone.txt", place.parent, place]
    found.append(place.parent / "outside" / "file.txt")
    workspace.find_passages = lambda _question: [Excerpt(str(path), path.name, 0, 2, f" in {path}\n") for path in found]
    assert "search_meaning" in [tool.name for tool in workspace.tools]
    asked = call("search_meaning", question="What is below one?")
    assert work(workspace, [asked], refuse).results == [REFUSED]
    (result,) = work(workspace, [asked]).results
    assert result.text == f"notes.txt, line 2:\nin {place / 'notes.txt'}"
    workspace.find_passages = lambda _question: []
    assert work(workspace, [asked]).results[0].text == "Nothing was found."


def test_what_git_runs_is_not_changed(workspace: Workspace, place: Path) -> None:
    (place / ".git").mkdir()
    calls = [
        call("write_file", path=".git/hooks/pre-commit", content="x"),
        call("move_file", source="notes.txt", target=".git/config"),
        call("make_folder", path=".git/hooks"),
    ]
    assert len(work(workspace, calls).failed) == 3
    assert list((place / ".git").iterdir()) == []


@pytest.mark.parametrize(("old", "fault"), [("four", "does not have"), ("", "does not have"), ("e", "3 times")])
def test_edit_needs_one_place(workspace: Workspace, old: str, fault: str) -> None:
    (result,) = work(workspace, [call("edit_file", path="notes.txt", old=old, new="x")]).results
    assert result.failed
    assert fault in result.text


def test_edit_of_all_places_keeps_line_ends(workspace: Workspace, place: Path) -> None:
    (place / "dos.txt").write_bytes(b"a\r\nb\r\na\r\nb\r\n")
    work(workspace, [call("edit_file", path="dos.txt", old="a\nb", new="c\nd", all=True)])
    assert (place / "dos.txt").read_bytes() == b"c\r\nd\r\nc\r\nd\r\n"


def test_answer_is_undone_at_once(workspace: Workspace, place: Path) -> None:
    before = tree(place)
    calls = [
        EDIT_TWO,
        call("write_file", path="a/b/new.txt", content="x"),
        call("move_file", source="notes.txt", target="a/moved.txt"),
        call("edit_file", path="a/moved.txt", old="2", new="II"),
        call("make_folder", path="c"),
    ]
    assert not work(workspace, calls).failed
    assert (place / "a/moved.txt").read_text(encoding="utf-8") == "one\nII\nthree\n"
    restored, kept = workspace.record.undo()
    assert tree(place) == before
    assert "notes.txt" in restored
    assert not kept


def test_undo_goes_back_answer_by_answer(workspace: Workspace, place: Path) -> None:
    work(workspace, [EDIT_TWO])
    work(workspace, [call("edit_file", path="notes.txt", old="three", new="3")])
    workspace.record.undo()
    assert (place / "notes.txt").read_text(encoding="utf-8") == "one\n2\nthree\n"
    workspace.record.undo()
    assert (place / "notes.txt").read_text(encoding="utf-8") == "one\ntwo\nthree\n"
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        workspace.record.undo()


def test_undo_survives_a_restart(workspace: Workspace, place: Path) -> None:
    work(workspace, [EDIT_TWO])
    other = Workspace(place)
    other.record.undo()
    other.close()
    assert (place / "notes.txt").read_text(encoding="utf-8") == "one\ntwo\nthree\n"


def test_undo_keeps_what_you_changed_since(workspace: Workspace, place: Path) -> None:
    work(workspace, [EDIT_TWO, call("write_file", path="new.txt", content="x")])
    (place / "notes.txt").write_text("mine\n", encoding="utf-8")
    assert workspace.record.undo() == (["new.txt"], ["notes.txt"])
    assert (place / "notes.txt").read_text(encoding="utf-8") == "mine\n"


@needs_sandbox
def test_command_is_undone(workspace: Workspace, place: Path) -> None:
    (place / "sub").mkdir()
    (place / "sub/x").write_text("x", encoding="utf-8")
    (place / "link").symlink_to("notes.txt")
    (place / ".git").mkdir()
    (place / ".git/index").write_text("old", encoding="utf-8")
    before = tree(place)
    command = "echo 4 >> notes.txt; rm -r sub link; mkdir sub2; touch sub2/y; ln -s / link; echo new > .git/index"
    (result,) = work(workspace, [call("run_command", command=command)]).results
    assert not result.failed, result.text
    assert tree(place) != before
    workspace.record.undo()
    assert tree(place) == before


@needs_sandbox
def test_command_sees_and_changes_the_folder_alone(workspace: Workspace, place: Path) -> None:
    (place / ".env").write_text("PASSWORD=hunter2\n", encoding="utf-8")
    (place / ".ssh").mkdir()
    (place / ".ssh/id").write_text("hunter2", encoding="utf-8")
    (place / "link").hardlink_to(place / "../outside/file.txt")
    (place / "out").symlink_to("../outside/file.txt")
    command = (
        "cat .env .ssh/id out ../outside/file.txt; mv .env e; mv .ssh s; cat e s/id; echo x > link; ls -A /home /root"
    )
    (result,) = work(workspace, [call("run_command", command=command)]).results
    assert "hunter2" not in result.text
    assert "outside of the folder" not in result.text
    assert (place / "../outside/file.txt").read_text(encoding="utf-8") == "outside of the folder"


@needs_sandbox
def test_command_has_no_network(workspace: Workspace) -> None:
    (result,) = work(workspace, [call("run_command", command="tail -n +3 /proc/net/dev | cut -d: -f1")]).results
    assert result.text.strip() == "lo"


@needs_sandbox
def test_programs_of_a_command_have_limits(place: Path) -> None:
    command = "ulimit -v; ulimit -u 2>/dev/null || ulimit -p"
    memory, processes = sandbox.run(command, place, sandbox.ProtectedPaths((), ()), CancelEvent()).output.split()
    assert int(memory) * 1024 <= max(sandbox.MIN_MEMORY, psutil.virtual_memory().total // 2)
    assert int(processes) == sandbox.MAX_PROCESSES


@needs_sandbox
@pytest.mark.slow
def test_command_is_ended_after_its_time(place: Path) -> None:
    outcome = sandbox.run("sleep 60 & sleep 60", place, sandbox.ProtectedPaths((), ()), CancelEvent(), seconds=0.5)
    assert "ended after" in outcome.reason


@needs_sandbox
def test_long_output_is_cut_in_the_middle(place: Path) -> None:
    command = "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo last"
    outcome = sandbox.run(command, place, sandbox.ProtectedPaths((), ()), CancelEvent())
    assert len(outcome.output) < 2 * sandbox.MAX_OUTPUT
    assert outcome.output.startswith("first")
    assert outcome.output.rstrip().endswith("last")


def test_log_has_what_was_asked_and_done(workspace: Workspace) -> None:
    work(workspace, [call("list_files"), EDIT_TWO, call("read_file", path="../x")], allow)
    work(workspace, [EDIT_TWO], refuse)
    lines = [(line["tool"], line["result"]) for line in workspace.record.lines()]
    assert lines[:2] == [("list_files", "done"), ("edit_file", "done")]
    assert str(lines[2][1]).startswith("impossible")
    assert workspace.record.lines()[1]["what"] == "Change notes.txt"


def test_record_is_outside_of_the_folder_and_private(workspace: Workspace, place: Path) -> None:
    work(workspace, [EDIT_TWO])
    files = [path for path in paths.workspaces_folder().rglob("*") if path.is_file()]
    assert files
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert sorted(path.name for path in place.iterdir()) == ["notes.txt"]


def test_folder_of_headstart_is_refused(tmp_path: Path) -> None:
    for path in (paths.data_folder() / "history", tmp_path, Path("/")):
        path.mkdir(parents=True, exist_ok=True)
        with pytest.raises(WorkspaceError, match="choose a smaller one"):
            Workspace(path)


@pytest.mark.parametrize("arguments", ["[]", "{}", '{"path": 3}', '{"path": null}', '{"steps": [1]}', '{"steps": 1}'])
@pytest.mark.parametrize("name", ["read_file", "edit_file", "write_file", "move_file", "run_command", "plan"])
def test_senseless_arguments_are_a_failed_call(workspace: Workspace, name: str, arguments: str) -> None:
    made = call(name)
    result = workspace.propose(type(made)(name, arguments))
    assert isinstance(result, ToolResult)
    assert result.failed


def test_document_and_other_encodings_are_read(workspace: Workspace, place: Path) -> None:
    (place / "old.txt").write_bytes("Grüße aus Köln, und viele weitere Wörter".encode("cp1252"))
    (place / "image.bin").write_bytes(bytes(range(256)))
    results = work(workspace, [call("read_file", path="old.txt"), call("read_file", path="image.bin")]).results
    assert results[0].text.startswith("Grüße aus Köln")
    assert results[1].failed


def test_long_file_is_read_in_parts(workspace: Workspace, place: Path) -> None:
    (place / "long.txt").write_text("".join(f"{number}\n" for number in range(1, 1001)), encoding="utf-8")
    first, rest = work(
        workspace, [call("read_file", path="long.txt"), call("read_file", path="long.txt", first_line=990)]
    ).results
    assert first.text.splitlines()[1] == "1"
    assert rest.text.splitlines()[1:] == [str(number) for number in range(990, 1001)]


def test_plan_is_a_checklist_without_a_question(workspace: Workspace) -> None:
    steps = [{"step": "Read", "done": True}, {"step": "Write", "done": False}]
    done = work(workspace, [call("plan", steps=steps)], refuse)
    assert done.results[0].text == "- [x] Read\n- [ ] Write"
    assert not done.questions


def test_nothing_of_it_is_loaded_without_a_folder() -> None:
    program = (
        "import sys, headstart.cli.chat, headstart.ui.program; print([n for n in sys.modules if '.workspace.' in n])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(done.stdout)
    assert [name for name in loaded if name.startswith("headstart.workspace")] == []


def test_tools_are_objects_with_all_properties_declared(workspace: Workspace) -> None:
    for tool in workspace.tools:
        schema = json.loads(tool.parameters)
        assert set(schema["required"]) <= schema["properties"].keys()
