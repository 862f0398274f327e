"""Estimates of memory, errors without memory, and mapped weights that are given back."""

import errno
import mmap
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from bench.toy import PROGRAM
from headstart import cli
from headstart.engine.engine import ConversationRequest, KvPrecision, LoadOptions, Message, Step
from headstart.engine.hardware import devices
from headstart.engine.kernels.windows import kept_tokens
from headstart.engine.loading import memory
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.engine.loading.memory import instead_of, release, released
from headstart.engine.opening import resolve
from headstart.engine.process.client import EngineClient
from headstart.engine.runners.runner import PREFILL_CHUNK
from headstart.engine.supervision import Journal, program
from headstart.errors import BrokenModelError, EngineLostError, HeadstartError, MemoryBudgetError, OutOfMemoryError
from headstart.library import manifest
from headstart.library.manifest import Manifest, ModelSpec, StateSize, TokenizerSpec
from tests.engine.answers import load
from tests.stand_ins.model_folders import write_model, write_pair

MIB = 2**20
OPTIONS = LoadOptions(Path("target"), Path("draft"))


def sized(model: Manifest, size: int, kv: int, context: int, vocabulary: int) -> Manifest:
    tokenizer = TokenizerSpec("", vocabulary, ())
    return replace(model, size_bytes=size, kv_bytes_per_token=kv, context_length=context, tokenizer=tokenizer)


@pytest.fixture
def some(tmp_path: Path) -> Manifest:
    return manifest.read_model(write_model(tmp_path / "some"))


@pytest.fixture
def qwen(some: Manifest) -> tuple[Manifest, Manifest]:
    """Return the manifests of the measured pair: 1.5B INT8 and 0.5B INT4."""
    target = replace(sized(some, 1_802_169_745, 28_672, 32_768, 151_665), name="qwen-1.5b")
    return target, replace(sized(some, 479_561_501, 12_288, 32_768, 151_665), name="qwen-0.5b")


# Resident memory in MiB with the context full, as `app/bench/passes/memory.py` found it on two cores of an Intel Xeon.
@pytest.mark.parametrize(("context", "measured"), [(1024, 2525), (2048, 2633), (8192, 3010)])
def test_estimate_of_the_measured_pair_is_within_five_percent(
    qwen: tuple[Manifest, Manifest], context: int, measured: int
) -> None:
    assert memory.need(qwen, context).resident / MIB == pytest.approx(measured, rel=0.05)


def test_estimate_of_a_small_model_is_within_five_percent(some: Manifest) -> None:
    smollm2 = sized(some, 144_630_840, 23_040, 8192, 49_152)
    assert memory.need([smollm2], 4096).resident / MIB == pytest.approx(517, rel=0.05)


def test_estimate_counts_the_context_of_target_and_draft(qwen: tuple[Manifest, Manifest]) -> None:
    target, draft = qwen
    shorter = replace(draft, context_length=2048)
    both, one = memory.need((target, shorter), 8192), memory.need([target], 8192)
    assert both.context - one.context == 2048 * (12_288 + 8000)
    assert both.program == one.program
    assert memory.need(qwen) == memory.need(qwen, memory.DEFAULT_CONTEXT)


def test_cache_of_8_bits_makes_room_for_nearly_twice_the_context(
    qwen: tuple[Manifest, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_16_bits = memory.cache(qwen, 8192, 16)
    for has_kernels, share in ((True, 0.57), (False, 0.6)):
        monkeypatch.setattr(
            "headstart.engine.kernels.library.library", lambda has_kernels=has_kernels: has_kernels or None
        )
        assert memory.cache(qwen, 8192, 8) / in_16_bits == pytest.approx(share, abs=0.001)


def test_estimate_counts_what_layers_with_a_window_keep(
    qwen: tuple[Manifest, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = qwen[0]
    windowed = replace(target, window=512, window_kv_bytes_per_token=24_576)
    monkeypatch.setattr("headstart.engine.kernels.library.library", lambda: True)
    kept = kept_tokens(512, PREFILL_CHUNK)
    for context in (kept - 1, 32_768):
        fallen = max(context - kept, 0)
        assert memory.cache([target], context, 16) - memory.cache([windowed], context, 16) == 24_576 * fallen
        assert memory.cache([windowed], context, 16, is_own=False) == memory.cache([target], context, 16)
    free = memory.need([target], 16_384).total
    fitting = memory.largest_context([windowed], free)
    assert fitting
    assert fitting > 32_768
    assert memory.bytes_beside_others(windowed, 32_768) < memory.bytes_beside_others(target, 32_768)
    assert memory.room([windowed], 32_768, 16, 2**34) == memory.room([target], 32_768, 16, 2**34)
    monkeypatch.setattr("headstart.engine.kernels.library.library", lambda: None)
    assert memory.cache([windowed], 32_768, 16) == memory.cache([target], 32_768, 16)


def test_estimate_counts_states(qwen: tuple[Manifest, Manifest]) -> None:
    """Large states are kept at few places of a text, so they grow little with it."""
    target = qwen[0]
    small, large = (replace(target, states=(StateSize(size, 2048),)) for size in (4096, 2**20))
    grown = {
        model.states[0].size: memory.cache([model], 8192, 16) - memory.cache([target], 8192, 16)
        for model in (small, large)
    }
    assert grown[4096] == 4 * ((1 + 32 + 96 + 4) * 4096 + 192 * 2048)
    assert 16 * MIB * 4 < grown[2**20] < 24 * MIB * 4


def test_largest_context_fits(qwen: tuple[Manifest, Manifest]) -> None:
    free = 2900 * MIB
    fitting = memory.largest_context(qwen, free)
    assert fitting
    assert fitting % 256 == 0
    assert memory.need(qwen, fitting).total <= free < memory.need(qwen, fitting + 256).total
    assert memory.largest_context(qwen, 1500 * MIB) is None


def test_prefix_cache_takes_the_memory_that_is_left(qwen: tuple[Manifest, Manifest]) -> None:
    wanted = memory.need(qwen, 8192).total
    assert memory.room(qwen, 8192, 16, wanted - 1) == 8192
    assert memory.room(qwen, 8192, 16, wanted + 800 * MIB) == 8192 + 100 * MIB // 28_672
    assert memory.room(qwen, 8192, 16, wanted + 80_000 * MIB) == 8192 + 512 * MIB // 28_672


def require(models: tuple[Manifest, Manifest], options: LoadOptions) -> None:
    memory.require(ResolvedOptions(options, *(ModelSpec(Path(model.name), model) for model in models)))


def test_too_large_model_is_refused_with_ways_out(
    qwen: tuple[Manifest, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 3_000_000_000)
    monkeypatch.setattr("headstart.engine.kernels.library.library", lambda: True)
    fitting, in_8_bits = (memory.largest_context(qwen, 3_000_000_000, bits) for bits in (16, 8))
    with pytest.raises(
        MemoryBudgetError, match=rf"about 4\.6 GB of memory, but 3\.0 GB is free: .*\({fitting} tokens would"
    ) as refusal:
        require(qwen, replace(OPTIONS, context=32_768))
    assert f"{in_8_bits} with a cache precision of 8 bits" in str(refusal.value)
    with pytest.raises(MemoryBudgetError, match=rf"\({in_8_bits} tokens would fit\)"):
        require(qwen, replace(OPTIONS, context=32_768, kv_precision=KvPrecision.U8))
    require(qwen, replace(OPTIONS, context=32_768, ignore_memory=True))
    require(qwen, replace(OPTIONS, context=fitting))


def test_estimate_counts_the_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "model")
    target = manifest.read_model(folder)
    monkeypatch.setattr(memory, "free_memory", lambda: memory.need((target,), 256).total)
    memory.require(resolve(LoadOptions(folder, context=256)))
    write_model(folder / manifest.HEAD_FOLDER)
    with pytest.raises(MemoryBudgetError):
        memory.require(resolve(LoadOptions(folder, context=256)))


@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize("has_draft", [False, True])
def test_head_is_loaded_with_and_without_a_draft(tmp_path: Path, parallel: int, *, has_draft: bool) -> None:
    pair = write_pair(tmp_path / "pair")
    target, draft = (pair / part for part in (manifest.TARGET_FOLDER, manifest.DRAFT_FOLDER))
    write_model(target / manifest.HEAD_FOLDER)
    found = resolve(LoadOptions(target, draft if has_draft else None, context=256, parallel=parallel))
    assert found.head is not None
    assert (found.draft is not None) is has_draft


def test_estimate_uses_the_memory_of_the_device(
    qwen: tuple[Manifest, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "memory", lambda name: 2_000_000_000 if name == "GPU.1" else None)
    with pytest.raises(MemoryBudgetError, match=r"takes about 2\.5 GB of memory, but GPU\.1 has 2\.0 GB"):
        require(qwen, replace(OPTIONS, device="GPU.1", draft_device="CPU", context=16_384))
    monkeypatch.setattr(memory, "free_memory", lambda: 1_400_000_000)
    require(qwen, replace(OPTIONS, device="GPU.1", draft_device="CPU", context=1024))


def test_load_checks_memory_before_it_reads_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "big")
    monkeypatch.setattr(memory, "free_memory", lambda: 0)
    with pytest.raises(MemoryBudgetError, match="but 0 MB is free"):
        load(LoadOptions(folder))


def test_terminal_names_its_flag(headstart_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_model(headstart_home / "models" / "big")
    manifest.write(folder, replace(manifest.read_model(folder), size_bytes=10**15))
    assert cli.main(["chat", "--prompt", "Hi"]) == cli.FAILED
    assert capsys.readouterr().err.count("--ignore-memory") == 1


CODES = ("std::bad_alloc", "[GPU] clFinish, error code: -5 CL_OUT_OF_RESOURCES", "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY")


@pytest.mark.parametrize("code", CODES)
def test_out_of_memory_is_known_by_type_and_code(code: str) -> None:
    told = instead_of(RuntimeError(f"Exception from node.cpp:823:\n{code}\n"), loading=False)
    assert "so the engine starts again" in str(told)
    assert "while the model was loaded" in str(instead_of(RuntimeError(code), loading=True))
    assert instead_of(OSError(errno.ENOMEM, "any words"), loading=True)


def test_failure_without_free_memory_is_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RuntimeError("could not create a primitive")
    assert instead_of(error, loading=True) is None
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2**20))
    assert instead_of(error, loading=True)
    assert instead_of(ValueError("of no OpenVINO"), loading=True) is None


def test_out_of_memory_is_found_as_a_cause() -> None:
    def fail() -> None:
        try:
            raise RuntimeError("std::bad_alloc")
        except RuntimeError:
            raise BrokenModelError("Export it again.") from None

    with pytest.raises(BrokenModelError) as caught:
        fail()
    assert instead_of(caught.value, loading=True)
    assert instead_of(MemoryError(), loading=True)


def test_other_errors_are_not_out_of_memory() -> None:
    named = RuntimeError("the layer 'out of memory' cannot allocate its name")
    for error in (
        RuntimeError("no such layer"),
        named,
        BrokenModelError("bad_alloc, says a name"),
        ValueError("alloc"),
    ):
        assert instead_of(error, loading=True) is None


def text(client: EngineClient, words: str) -> str:
    request = ConversationRequest((Message("user", words),), max_new_tokens=8)
    return "".join(event.text for event in client.generate(request) if isinstance(event, Step))


def test_failed_allocation_replaces_the_process(tmp_path: Path) -> None:
    with closing(EngineClient(PROGRAM, Journal(tmp_path / "log"))) as client:
        client.load(LoadOptions(Path("toy")))
        before = client.pid
        with pytest.raises(OutOfMemoryError, match="Memory ran out"):
            text(client, "toy: memory")
        assert client.pid is None
        assert text(client, "next") == "You wrote: next "
        assert client.pid != before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits what a process may take")
def test_model_without_room_is_not_called_broken(tiny_target: Path, tmp_path: Path) -> None:
    limited = ("sh", "-c", 'ulimit -d 120000; exec "$@"', "sh", *program())
    with closing(EngineClient(limited, Journal(tmp_path / "log"))) as client:
        with pytest.raises(HeadstartError) as caught:
            client.load(LoadOptions(tiny_target))
        assert isinstance(caught.value, OutOfMemoryError | EngineLostError)
        assert "Export it again" not in str(caught.value)


linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are given back on Linux only")
SIZE = 64 * 2**20


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "openvino_model.bin"
    path.write_bytes(b"\x07" * SIZE)
    return path


def shared_bytes() -> int:
    return int(psutil.Process().memory_info().shared)


@linux_only
def test_released_pages_can_be_read_again(weights: Path) -> None:
    with weights.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        assert view[:].count(7) == SIZE
        before = shared_bytes()
        release(weights)
        assert before - shared_bytes() > 0.9 * SIZE
        assert view[SIZE // 2] == 7


@linux_only
def test_release_keeps_changed_pages(weights: Path) -> None:
    with weights.open("r+b") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as view:
        view[5] = 9
        release(weights)
        assert view[5] == 9


def fail_with_pages_read(view: mmap.mmap, weights: Path) -> None:
    with released(weights):
        assert view[:].count(7) == SIZE
        raise RuntimeError("refused")


@linux_only
def test_load_releases_pages_after_an_error(weights: Path) -> None:
    with weights.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        before = shared_bytes()
        with pytest.raises(RuntimeError, match="refused"):
            fail_with_pages_read(view, weights)
        assert shared_bytes() - before < 0.1 * SIZE
    assert not [thread for thread in threading.enumerate() if thread.name == "release-weights"]
