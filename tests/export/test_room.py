"""Too little disk or memory is refused before anything is fetched, with both numbers."""

import shutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from headstart.errors import NotEnoughSpaceError
from headstart_export import sources, workspace
from headstart_export.order import ModelOrder, PairOrder, Words, understand
from headstart_export.recipe import HubSource

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _computer(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, disk=100 * GIB, memory=100 * GIB)


def give(monkeypatch: pytest.MonkeyPatch, *, disk: int, memory: int) -> None:
    """A computer with this much free, in bytes."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=disk))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=memory))


def model(name: str) -> ModelOrder:
    """The order of one recipe."""
    order = understand(Words(name))
    assert isinstance(order, ModelOrder)
    return order


def test_a_small_disk_is_refused_with_both_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, disk=2 * GIB, memory=100 * GIB)
    with pytest.raises(
        NotEnoughSpaceError,
        match=r"Exporting qwen2\.5-coder-1\.5b-instruct needs \d\.\d GB of disk space at .*, but only 2\.1 GB is free;",
    ):
        workspace.require_room(model("qwen2.5-coder-1.5b-instruct"), tmp_path / "out", tmp_path / "cache")


def test_a_small_memory_is_refused_with_both_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, disk=100 * GIB, memory=GIB)
    with pytest.raises(
        NotEnoughSpaceError,
        match=r"smollm2-135m-instruct needs about 1\.8 GB of memory, but only 1\.1 GB is free; close",
    ):
        workspace.require_room(model("smollm2-135m-instruct"), tmp_path / "out", tmp_path / "cache")


def test_a_copy_of_the_target_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def size(source: HubSource) -> int:
        asked.append(source.id)
        return GIB

    monkeypatch.setattr(sources, "size", size)
    monkeypatch.setattr(sources, "offline", lambda: False)
    order = understand(Words("org/model", draft="self"))
    assert isinstance(order, PairOrder)
    assert len(workspace._downloads((order.target, order.draft), tmp_path)) == 1
    assert set(asked) == {"org/model"}


def test_memory_suffices_for_what_was_measured(tmp_path: Path) -> None:
    target, draft = model("qwen2.5-coder-1.5b-instruct").recipe, model("qwen2.5-coder-0.5b-instruct").recipe
    assert 5.8e9 < workspace.memory(target, 1_777_088_000) < 7e9
    assert 2.6e9 < workspace.memory(draft, 630_167_424) < 4e9
    folder = model(str(tmp_path)).recipe
    assert 2.9e9 < workspace.memory(folder, 1_777_088_000) < 4.5e9
    assert 1.9e9 < workspace.memory(folder, 630_167_424) < 3e9


@pytest.mark.parametrize(("disk", "is_enough"), [(11_000_000_000, False), (12_000_000_000, True)])
def test_a_pair_needs_room_for_its_sources_both_results_and_one_intermediate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, disk: int, is_enough: bool
) -> None:
    # Twice 1.6 GB of sources, results of 1.8 and 0.5 and an intermediate of 3.6 GB by a rough count, all on one disk.
    give(monkeypatch, disk=disk, memory=100 * GIB)
    with nullcontext() if is_enough else pytest.raises(NotEnoughSpaceError):
        workspace.require_room(understand(Words("qwen2.5-coder")), tmp_path / "out", tmp_path / "cache")


def test_the_hub_is_asked_for_the_size_of_an_unlisted_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "offline", lambda: False)
    monkeypatch.setattr(sources, "size", lambda source: 2000 if source.id == "org/model" else 0)
    assert workspace.parameters(model("org/model")) == 1000


def test_an_unreachable_hub_does_not_stop_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(_source: HubSource) -> int:
        raise sources.HubUnreachableError("no answer")

    monkeypatch.setattr(sources, "offline", lambda: False)
    monkeypatch.setattr(sources, "size", unreachable)
    assert workspace.parameters(model("org/model")) == 0


def test_a_local_model_is_counted_where_it_lies(tiny_source: Path) -> None:
    assert workspace.parameters(model(str(tiny_source))) > 640 * 64 * 2
