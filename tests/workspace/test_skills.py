"""Skills: where they are found, which are on, and what the model gets of them."""

from pathlib import Path

import pytest

from headstart import paths
from headstart.errors import WorkspaceError
from headstart.workspace import sandbox
from headstart.workspace.skills import MAX_TEXT, SkillSource, parse
from headstart.workspace.tools import Workspace
from tests.workspace.working import call, work

OWN = {"invoice-table", "letter", "minutes", "summarise-folder", "write-tests"}


def write_skill(place: Path, name: str, text: str = "Do it well.") -> Path:
    skill = place / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}.\n---\n{text}\n", encoding="utf-8")
    return skill


def names(workspace: Workspace) -> set[str]:
    return {skill.name for skill in workspace.skills.found}


def test_skills_are_found_in_home_and_folder(workspace: Workspace, place: Path) -> None:
    write_skill(paths.skills_folder(), "mine")
    write_skill(place / ".headstart/skills", "here")
    write_skill(place / ".claude/skills", "there")
    assert names(workspace) == {*OWN, "mine", "here", "there"}


def test_skills_of_headstart_are_whole(workspace: Workspace) -> None:
    assert names(workspace) == OWN
    for skill in workspace.skills.found:
        workspace.skills.switch(skill.name, on=True)
        text = workspace.skills.use(skill.name)
        assert skill.source is SkillSource.OWN
        assert text.startswith("# ")
        assert len(text) < MAX_TEXT
        assert "---" not in text.splitlines()


def test_skill_is_off_until_it_is_switched_on(workspace: Workspace) -> None:
    assert [tool.name for tool in workspace.tools if tool.name == "use_skill"] == []
    assert not work(workspace, [call("use_skill", name="letter")]).results
    workspace.skills.switch("letter", on=True)
    (tool,) = (tool for tool in workspace.tools if tool.name == "use_skill")
    assert "letter: Write a letter" in tool.description
    assert "minutes" not in tool.description
    (result,) = work(workspace, [call("use_skill", name="letter")]).results
    assert result.text.startswith("# A letter from notes")
    workspace.skills.switch("letter", on=False)
    assert not workspace.skills.on


def test_only_the_description_stands_in_the_prompt(workspace: Workspace, place: Path) -> None:
    write_skill(place / ".headstart/skills", "here", "x" * 100_000)
    workspace.skills.switch("here", on=True)
    (tool,) = workspace.skills.tools
    assert len(tool.description) + len(tool.parameters) < 500
    text = workspace.skills.use("here")
    assert len(text) < MAX_TEXT + 100
    assert text.endswith("characters left out]")


def test_changed_skill_is_off_again(workspace: Workspace, place: Path) -> None:
    skill = write_skill(place / ".headstart/skills", "here")
    (skill / "run.sh").write_text("echo 1", encoding="utf-8")
    workspace.skills.switch("here", on=True)
    work(workspace, [call("write_file", path=".headstart/skills/here/run.sh", content="echo 2")])
    assert not workspace.skills.on


def test_files_of_a_skill_are_read_in_it_alone(workspace: Workspace, place: Path) -> None:
    skill = write_skill(place / ".headstart/skills", "here")
    (skill / "more.md").write_text("More.", encoding="utf-8")
    (skill / "out.md").symlink_to(place / "../outside/file.txt")
    workspace.skills.switch("here", on=True)
    assert "more.md" in workspace.skills.use("here")
    assert workspace.skills.use("here", "more.md") == "More."
    for path in ("../../../notes.txt", "out.md", "/etc/passwd"):
        with pytest.raises(WorkspaceError):
            workspace.skills.use("here", path)


@pytest.mark.skipif(sandbox.program() is None, reason="bubblewrap does not work here")
def test_script_of_a_skill_is_a_command(workspace: Workspace, place: Path) -> None:
    workspace.skills.switch("invoice-table", on=True)
    rows = "date,number,sender,net,tax,total,currency,file\n,1,A,10.00,1.90,11.90,EUR,a\n,2,B,5,1,7,EUR,b\n"
    (place / "invoices.csv").write_text(rows, encoding="utf-8")
    done = work(workspace, [call("run_command", command="python3 /skills/invoice-table/check.py invoices.csv")])
    assert len(done.questions) == 1
    assert done.results[0].text == "line 3: 5 + 1 is 6, not 7: b\ntotal EUR: 18.90"


def test_broken_skill_is_left_out(workspace: Workspace, place: Path) -> None:
    for name, text in {
        "a": "no head",
        "b": "---\nname: b\n---\n",
        "c": "---\nname: ../x\ndescription: d\n---\n",
    }.items():
        (place / ".headstart/skills" / name).mkdir(parents=True)
        (place / ".headstart/skills" / name / "SKILL.md").write_text(text, encoding="utf-8")
    (place / ".headstart/skills/d").symlink_to(place / "../outside")
    assert names(workspace) == OWN


def test_unknown_skill_is_named(workspace: Workspace) -> None:
    with pytest.raises(WorkspaceError, match="There is no skill leter; there are invoice-table"):
        workspace.skills.switch("leter", on=True)


@pytest.mark.parametrize(
    ("head", "description"),
    [
        ("description: Plain words", "Plain words"),
        ('description: "With: a colon"', "With: a colon"),
        ("description: >-\n  Two\n  lines", "Two lines"),
        ("description: |\n  Two\n  lines\nlicense: MIT", "Two lines"),
        ("description: Words # a remark", "Words"),
        ("metadata:\n  version: 1\ndescription: Last", "Last"),
    ],
)
def test_head_of_a_skill_is_read(head: str, description: str) -> None:
    fields, text = parse(f"---\nname: a\n{head}\n---\nText\n")
    assert (fields["name"], fields["description"], text) == ("a", description, "Text\n")
