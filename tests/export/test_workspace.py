"""An export has room or is refused, and appears whole or not at all, whatever ends it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from msgspec.structs import replace

from headstart.errors import ExportError, NotEnoughSpaceError
from headstart.library import export_leftovers
from headstart_export import workspace
from headstart_export.conversion.quantize import Int4
from headstart_export.sources import fetching
from headstart_export.sources.recipe import Arguments, HubSource, ModelOrder, parse_order

MARK = "manifest.json"
GB = 10**9


def make_old(output: Path) -> None:
    """Create an older export."""
    output.mkdir(parents=True)
    (output / MARK).write_text("old", encoding="utf-8")


@pytest.mark.parametrize("replace", [False, True])
def test_folder_that_appears_meanwhile_is_kept(tmp_path: Path, *, replace: bool) -> None:
    output = tmp_path / "model"
    with workspace.opened(output, replace=replace) as space:
        output.mkdir()
        (output / "thesis.txt").touch()
        with pytest.raises(ExportError, match="is not an exported model, so it is not replaced"):
            space.move_into_place(replace=replace)
    assert [path.name for path in output.iterdir()] == ["thesis.txt"]
    assert list(tmp_path.iterdir()) == [output]


def test_export_that_was_quicker_is_kept(tmp_path: Path) -> None:
    output = tmp_path / "model"
    with workspace.opened(output, replace=False) as space:
        make_old(output)
        with pytest.raises(ExportError, match="exists already"):
            space.move_into_place(replace=False)
    assert (output / MARK).read_text(encoding="utf-8") == "old"


def make_leftover(output: Path, pid: int) -> Path:
    """Create a workspace as a killed process leaves it."""
    root = output.parent / f"{export_leftovers.PREFIX}{output.name}-x1y2z3"
    (root / "result").mkdir(parents=True)
    (root / export_leftovers.OWNER_FILE).write_text(json.dumps({"pid": pid, "started": 1.0}), encoding="utf-8")
    return root


@pytest.mark.parametrize("is_replaced", [False, True])
def test_result_moves_into_place_alone(tmp_path: Path, *, is_replaced: bool) -> None:
    output = tmp_path / "models" / "new"
    if is_replaced:
        make_old(output)
    with workspace.opened(output, replace=is_replaced) as space:
        assert Path(tempfile.gettempdir()) == space.scratch
        with pytest.raises(ExportError, match=f"is being exported already, by process {os.getpid()}"):
            workspace.clean_leftovers(output)
        workspace.clean_leftovers(output.with_name("newer"))
        workspace.clean_leftovers(output.with_name("n"))
        (space.result / MARK).write_text("new", encoding="utf-8")
        space.move_into_place(replace=is_replaced)
    assert (output / MARK).read_text(encoding="utf-8") == "new"
    assert list(output.parent.iterdir()) == [output]
    assert Path(tempfile.gettempdir()) != space.scratch


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_failure_keeps_the_old_result(tmp_path: Path, failure: type[BaseException]) -> None:
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


@pytest.mark.parametrize(
    ("place", "replace", "sentence"),
    [
        ("old", False, "exists already; add --force to replace it"),
        ("mine", True, "is not an exported model, so it is not replaced"),
        ("mine/thesis.txt/model", False, r"cannot be written to \(.+\); choose another --output"),
    ],
)
def test_unusable_output_is_refused(tmp_path: Path, place: str, sentence: str, *, replace: bool) -> None:
    make_old(tmp_path / "old")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(ExportError, match=sentence), workspace.opened(tmp_path / place, replace=replace):
        pytest.fail("opened")
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_leftovers_of_killed_exports_are_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    other = tmp_path / f"{export_leftovers.PREFIX}another-x1y2z3"
    other.mkdir()
    for pid in (dead.pid, os.getpid()):  # the second is of a process that began at another time
        root = make_leftover(tmp_path / "model", pid)
        workspace.clean_leftovers(tmp_path / "model")
        assert not root.exists()
    assert other.exists()


def test_folder_without_an_owner_yet_is_kept(tmp_path: Path) -> None:
    root = tmp_path / f"{export_leftovers.PREFIX}model-x1y2z3"
    root.mkdir()
    workspace.clean_leftovers(tmp_path / "model")
    assert root.exists()
    os.utime(root, (0, 0))
    workspace.clean_leftovers(tmp_path / "model")
    assert not root.exists()


def test_old_result_between_two_moves_is_restored(tmp_path: Path) -> None:
    output = tmp_path / "model"
    root = make_leftover(output, 0)
    make_old(root / "replaced")
    workspace.clean_leftovers(output)
    assert (output / MARK).read_text(encoding="utf-8") == "old"
    assert not root.exists()


def give(monkeypatch: pytest.MonkeyPatch, *, disk: float = 100, memory: float = 100) -> None:
    """Simulate a computer with so many gigabytes free."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=int(disk * GB)))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=int(memory * GB)))


def model(name: str) -> ModelOrder:
    """Return the order of one recipe."""
    order = parse_order(Arguments(name))
    assert isinstance(order, ModelOrder)
    return order


@pytest.mark.parametrize(
    ("free", "sentence"),
    [
        ({"disk": 1}, r"qwen3-0\.6b-int8 needs \d\.\d GB of disk space at .*, but only 1\.0 GB is free; make room"),
        ({"memory": 1}, r"qwen3-0\.6b-int8 needs about 2\.6 GB of memory, but only 1\.0 GB is free; close"),
    ],
)
def test_low_disk_space_is_refused_with_both_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: dict[str, float], sentence: str
) -> None:
    give(monkeypatch, **free)
    order = parse_order(Arguments("qwen3-0.6b", weights="int8"))
    with pytest.raises(NotEnoughSpaceError, match=sentence):
        workspace.require_room(order, tmp_path / "out", tmp_path / "cache")


@pytest.mark.parametrize(("disk", "is_enough"), [(5.5, False), (7, True)])
def test_pair_needs_space_for_sources_and_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, disk: float, is_enough: bool
) -> None:
    # Twice 1.6 GB of sources, as packages are joined, results of 1.1 and 0.6, and the first of them again, on one disk.
    give(monkeypatch, disk=disk)
    with nullcontext() if is_enough else pytest.raises(NotEnoughSpaceError):
        workspace.require_room(parse_order(Arguments("qwen2.5-coder")), tmp_path / "out", tmp_path / "cache")


@pytest.mark.parametrize(("disk", "is_enough"), [(5, False), (6.5, True)])
def test_copy_of_the_target_is_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, disk: float, is_enough: bool
) -> None:
    # 2 GB of sources, results of 1.1 and 0.9 and an intermediate of 2.1 GB and more.
    give(monkeypatch, disk=disk)
    monkeypatch.setattr(fetching, "size", lambda source: 2 * GB if source == HubSource("org/model") else 0)
    assert workspace.parameters(model("org/model")) == GB
    with nullcontext() if is_enough else pytest.raises(NotEnoughSpaceError):
        order = parse_order(Arguments("org/model", draft="org/model", draft_weights="int4"))
        workspace.require_room(order, tmp_path / "out", tmp_path / "cache")


def test_memory_suffices_for_the_measured_export(tmp_path: Path) -> None:
    target, draft = model("qwen2.5-coder-1.5b-instruct"), model("qwen2.5-coder-0.5b-instruct")
    assert 5.8e9 < workspace.memory(target, 1_777_088_000, is_imported=False) < 7e9
    assert 2.6e9 < workspace.memory(draft, 630_167_424, is_imported=False) < 4e9
    assert workspace.memory(target, 1_777_088_000, is_imported=True) < 1e9
    folder = model(str(tmp_path))
    assert 2.9e9 < workspace.memory(folder, 1_777_088_000, is_imported=False) < 4.5e9
    assert 1.9e9 < workspace.memory(folder, 630_167_424, is_imported=False) < 3e9
    calibrated = replace(folder, weights="int4", int4=Int4("awq"))
    assert 1.9e9 < workspace.memory(calibrated, 134_515_008, is_imported=False) < 3e9


def test_local_model_needs_no_download_space(tiny_source: Path) -> None:
    assert workspace.parameters(model(str(tiny_source))) > 640 * 64 * 2
