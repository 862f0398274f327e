"""Thirty tasks on small folders with a model that does each right, and with somebody who refuses."""

from pathlib import Path

import pytest

from bench.files.folder_tasks import TASKS, Task, is_done, prepare
from headstart.workspace import sandbox
from headstart.workspace.tools import Workspace
from tests.workspace.working import refuse, tree, work

every_task = pytest.mark.parametrize("task", TASKS, ids=[str(number) for number in range(len(TASKS))])


def test_there_are_thirty_tasks() -> None:
    assert len({task.prompt for task in TASKS}) == 30


@every_task
def test_perfect_model_does_the_task_and_the_answer_is_undone(task: Task, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    prepare(task, folder)
    before = tree(folder)
    if sandbox.program() is None and any(call.name == "run_command" for call in task.calls):
        pytest.skip("bubblewrap does not work here")
    workspace = Workspace(folder)
    done = work(workspace, task.calls)
    assert len(done.results) == len(task.calls)
    assert is_done(task, folder, f"Done. {task.answer}"), done.results
    if tree(folder) != before:
        workspace.record.undo()
    assert tree(folder) == before
    workspace.close()


@every_task
def test_refusal_is_kept(task: Task, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    prepare(task, folder)
    before = tree(folder)
    workspace = Workspace(folder)
    done = work(workspace, task.calls, refuse)
    asked = [call for call in task.calls if call.name != "plan"]
    assert len(done.questions) + len(done.failed) >= len(asked)
    assert not [
        result for call, result in zip(task.calls, done.results, strict=True) if call in asked and not result.failed
    ]
    assert tree(folder) == before
    workspace.close()
