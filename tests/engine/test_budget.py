"""What loading takes: the arithmetic, the measured pair that it was fitted to, and the refusal."""

from dataclasses import replace
from pathlib import Path

import pytest

from headstart import cli, manifest
from headstart.engine import devices, memory
from headstart.engine.engine import LoadOptions
from headstart.engine.local import load
from headstart.errors import MemoryBudgetError
from headstart.manifest import Manifest, Tokenizer
from tests.model_folders import write_model

MIB = 2**20
OPTIONS = LoadOptions(Path("target"), Path("draft"))


def like(model: Manifest, size: int, kv: int, context: int, vocabulary: int) -> Manifest:
    tokenizer = Tokenizer("", vocabulary, ())
    return replace(model, size_bytes=size, kv_bytes_per_token=kv, context_length=context, tokenizer=tokenizer)


@pytest.fixture
def some(tmp_path: Path) -> Manifest:
    return manifest.read_model(write_model(tmp_path / "some"))


@pytest.fixture
def qwen(some: Manifest) -> tuple[Manifest, Manifest]:
    """What the manifests of the measured pair say: 1.5B INT8 and 0.5B INT4."""
    target = replace(like(some, 1_801_997_298, 28_672, 32_768, 151_665), name="qwen-1.5b")
    return target, replace(like(some, 361_525_243, 12_288, 32_768, 151_665), name="qwen-0.5b")


# Resident memory in MiB with the context full, as `app/bench/memory.py` found it on two cores of an AMD EPYC.
@pytest.mark.parametrize(("context", "measured"), [(1024, 2214), (2048, 2280), (8192, 2651)])
def test_the_measured_pair_is_told_within_a_tenth(qwen: tuple[Manifest, Manifest], context: int, measured: int) -> None:
    assert memory.need(qwen, context).resident / MIB == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("context", "measured"), [(512, 353), (2048, 400), (8192, 563)])
def test_a_small_model_is_told_within_a_seventh(some: Manifest, context: int, measured: int) -> None:
    small = like(some, 143_999_447, 23_040, 8192, 49_152)
    assert memory.need([small], context).resident / MIB == pytest.approx(measured, rel=1 / 7)


def test_the_context_counts_for_both_models_each_within_its_own(qwen: tuple[Manifest, Manifest]) -> None:
    target, draft = qwen
    shorter = replace(draft, context_length=2048)
    both, one = memory.need((target, shorter), 8192), memory.need([target], 8192)
    assert both.context - one.context == 2048 * (12_288 + 8000)
    assert both.program == one.program
    assert memory.need(qwen) == memory.need(qwen, memory.DEFAULT_CONTEXT)


def test_loading_counts_where_it_takes_more_than_an_empty_context(some: Manifest) -> None:
    need = memory.need([some], 1)
    assert need.total == need.loading > need.resident
    assert memory.need([some], 4096).weights == need.weights


def test_the_largest_context_that_fits_really_fits(qwen: tuple[Manifest, Manifest]) -> None:
    free = 2600 * MIB
    fitting = memory.largest_context(qwen, free)
    assert fitting
    assert fitting % 256 == 0
    assert memory.need(qwen, fitting).total <= free < memory.need(qwen, fitting + 256).total
    assert memory.largest_context(qwen, 1500 * MIB) is None


def test_too_big_is_refused_with_both_numbers_and_three_ways_out(
    qwen: tuple[Manifest, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 2_600_000_000)
    with pytest.raises(MemoryBudgetError) as caught:
        memory.require(*qwen, replace(OPTIONS, context=32_768))
    fitting = memory.largest_context(qwen, 2_600_000_000)
    assert str(caught.value) == (
        "Loading qwen-1.5b and qwen-0.5b with 32768 tokens of context takes about 4.2 GB of memory, "
        f"but 2.6 GB is free: choose a smaller context ({fitting} tokens would fit), "
        "a smaller draft or none, or a smaller model."
    )
    memory.require(*qwen, replace(OPTIONS, context=32_768, ignore_memory=True))
    memory.require(*qwen, replace(OPTIONS, context=fitting))


def test_where_no_context_fits_none_is_named(some: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 300_000_000)
    with pytest.raises(MemoryBudgetError, match="300 MB is free: choose a smaller context, INT4 weights, or a smaller"):
        memory.require(some, None, LoadOptions(Path("target")))


def test_a_device_with_memory_of_its_own_is_asked_for_its_share(
    qwen: tuple[Manifest, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "memory", lambda name: 2_000_000_000 if name == "GPU.1" else None)
    with pytest.raises(MemoryBudgetError, match=r"takes about 2\.3 GB of memory, but GPU\.1 has 2\.0 GB"):
        memory.require(*qwen, replace(OPTIONS, device="GPU.1", draft_device="CPU", context=16_384))
    monkeypatch.setattr(memory, "free_memory", lambda: 1_200_000_000)
    memory.require(*qwen, replace(OPTIONS, device="GPU.1", draft_device="CPU", context=1024))


def test_a_processor_has_no_memory_of_its_own() -> None:
    assert devices.memory("CPU") is None
    assert devices.memory("NOPE") is None


def test_loading_asks_before_it_reads_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "big")
    monkeypatch.setattr(memory, "free_memory", lambda: 0)
    with pytest.raises(MemoryBudgetError, match="but 0 MB is free"):
        load(LoadOptions(folder))


def test_the_terminal_names_its_flag(headstart_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_model(headstart_home / "models" / "big")
    manifest.write(folder, replace(manifest.read_model(folder), size_bytes=10**15))
    assert cli.main(["chat", "--prompt", "Hi"]) == cli.FAILED
    assert capsys.readouterr().err.endswith("or a smaller model. Add --ignore-memory to try anyway.\n")
