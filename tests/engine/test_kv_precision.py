"""Keys and values in 8 bits: asked for, honoured by the paged runner, kept away from exact numerics and branches."""

from pathlib import Path

import numpy as np
import pytest

from headstart import manifest as manifests
from headstart.engine import memory
from headstart.engine.engine import KvPrecision, LoadOptions, Numerics
from headstart.engine.loading import Place, load_model
from headstart.engine.runners.paged import BranchingRunner, PagedRunner
from headstart.engine.runners.precision import probe_ids
from headstart.errors import SettingsError


@pytest.mark.parametrize(("kv", "kinds"), [(KvPrecision.F16, {"f16", "bf16"}), (KvPrecision.U8, {"u8"})])
def test_the_cache_is_kept_as_asked_and_a_context_fits_into_it(
    tiny_target: Path, measured: Path, kv: KvPrecision, kinds: set[str]
) -> None:
    runner = load_model(tiny_target, Place("CPU", Numerics.FAST, 100, kv=kv), measured).runner
    assert isinstance(runner, PagedRunner)
    assert isinstance(runner, BranchingRunner) == (kv is KvPrecision.F16)
    assert {cache.element_type.get_type_name() for cache in runner.caches} <= kinds
    assert runner.block == 32
    ids = probe_ids(runner.vocabulary, 100, seed=1)
    at_once = runner.forward(ids, rows=1).copy()
    runner.rollback(0)
    runner.forward(ids[:70])
    in_parts = runner.forward(ids[70:], rows=1).copy()
    assert np.abs(at_once - in_parts).max() < 0.2 * at_once.std()


def test_eight_bits_take_less_as_the_budget_says(tiny_target: Path) -> None:
    known = manifests.read_model(tiny_target)
    full, less = (memory.need([known], 512, kv).context for kv in (KvPrecision.AUTO, KvPrecision.U8))
    saved = memory.cache([known], 512, KvPrecision.F16) - memory.cache([known], 512, KvPrecision.U8)
    assert full - less == saved > 0


def test_exact_numerics_take_no_eight_bits() -> None:
    with pytest.raises(SettingsError, match="Exact numerics need keys and values in 16 bits"):
        LoadOptions(Path("target"), numerics=Numerics.EXACT, kv_precision=KvPrecision.U8)
