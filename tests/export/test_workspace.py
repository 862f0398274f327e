"""An export appears whole or not at all, whatever ends it."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from headstart.errors import ExportError
from headstart_export import workspace

MARK = "manifest.json"


def finish(space: workspace.Workspace, text: str) -> None:
    """What an export does at its end."""
    (space.result / MARK).write_text(text, encoding="utf-8")
    space.move_into_place()


def make_old(output: Path) -> None:
    """An older export."""
    output.mkdir(parents=True)
    (output / MARK).write_text("old", encoding="utf-8")


def make_leftover(output: Path, owner: object) -> Path:
    """A workspace as a killed process leaves it."""
    root = output.parent / f"{workspace.PREFIX}{output.name}-x1y2z3"
    (root / "result").mkdir(parents=True)
    (root / workspace.OWNER_FILE).write_text(json.dumps(owner), encoding="utf-8")
    return root


def test_the_result_moves_into_place_and_nothing_else_stays(tmp_path: Path) -> None:
    output = tmp_path / "models" / "new"
    with workspace.opened(output, replace=False) as space:
        assert Path(tempfile.gettempdir()) == space.scratch
        assert not output.exists()
        finish(space, "new")
    assert (output / MARK).read_text(encoding="utf-8") == "new"
    assert list(output.parent.iterdir()) == [output]
    assert Path(tempfile.gettempdir()) != space.scratch


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_nothing_and_keeps_the_old(tmp_path: Path, failure: type[BaseException]) -> None:
    output = tmp_path / "model"
    make_old(output)

    def fail_half_way() -> None:
        with workspace.opened(output, replace=True) as space:
            (space.result / MARK).write_text("half", encoding="utf-8")
            raise failure

    with pytest.raises(failure):
        fail_half_way()
    assert (output / MARK).read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [output]


def test_force_replaces_an_older_export(tmp_path: Path) -> None:
    output = tmp_path / "model"
    make_old(output)
    with workspace.opened(output, replace=True) as space:
        finish(space, "new")
    assert (output / MARK).read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [output]


def test_an_existing_output_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "model"
    make_old(output)
    with (
        pytest.raises(ExportError, match="exists already; add --force to replace it"),
        workspace.opened(output, replace=False),
    ):
        pytest.fail("opened")


def test_what_is_no_export_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with (
        pytest.raises(ExportError, match="is not an exported model, so it is not replaced"),
        workspace.opened(tmp_path, replace=True),
    ):
        pytest.fail("opened")
    assert (tmp_path / "thesis.txt").exists()


def test_the_leftovers_of_the_dead_are_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    output = tmp_path / "model"
    unsigned = make_leftover(output, {"pid": dead.pid, "started": 1.0})
    other = tmp_path / f"{workspace.PREFIX}another-x1y2z3"
    other.mkdir()
    workspace.clean_leftovers(output)
    assert not unsigned.exists()
    assert other.exists()


def test_a_process_with_the_same_number_is_not_the_owner(tmp_path: Path) -> None:
    root = make_leftover(tmp_path / "model", {"pid": os.getpid(), "started": 1.0})
    workspace.clean_leftovers(tmp_path / "model")
    assert not root.exists()


def test_the_workspace_of_a_running_export_is_left_alone(tmp_path: Path) -> None:
    output = tmp_path / "model"
    with workspace.opened(output, replace=False) as space:
        workspace.clean_leftovers(output)
        assert space.result.is_dir()


def test_an_old_result_caught_between_two_moves_is_put_back(tmp_path: Path) -> None:
    output = tmp_path / "model"
    root = make_leftover(output, {"pid": 0, "started": 1.0})
    make_old(root / "replaced")
    workspace.clean_leftovers(output)
    assert (output / MARK).read_text(encoding="utf-8") == "old"
    assert not root.exists()


def test_an_impossible_place_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(ExportError, match=r"cannot be written to \(.+\); choose another --output"),
        workspace.opened(tmp_path / "file" / "model", replace=False),
    ):
        pytest.fail("opened")
