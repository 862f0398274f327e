"""Batch invariance: found by a self-test, reached by padding, remembered, and denied where it cannot be reached."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headstart.cli.checks import doctor
from headstart.engine import opening
from headstart.engine.engine import LoadOptions
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.loading import loading, validation
from headstart.engine.loading.loading import RunnerConfig, load_model
from headstart.engine.loading.validation import Verdict
from headstart.engine.opening import resolve
from headstart.engine.runners.paged import BranchingRunner, PagedRunner
from headstart.engine.runners.precision import OWN, VERIFY, plain, probe_ids, properties, reference
from headstart.engine.runners.selftest import MAX_CONTEXT, Invariance, batch_invariance
from headstart.engine.runners.stateful import StatefulRunner
from headstart.library.manifest import ModelSpec
from tests.engine.answers import load

PLACE = RunnerConfig("CPU", 512)


@pytest.fixture(scope="module")
def stock(tiny_quantized: Path) -> BranchingRunner:
    """Compressed weights with OpenVINO's own kernels."""
    return BranchingRunner.load(tiny_quantized, "CPU", plain(), 512, sequences=2)


def test_own_kernels_need_no_padding(tiny_quantized: Path) -> None:
    runner = BranchingRunner.load(tiny_quantized, "CPU", properties(OWN), 512, sequences=2)
    found = batch_invariance(runner)
    assert found == Invariance(1, branches=True, context=512)
    assert found.apply(runner)
    assert (runner.min_tokens, runner.can_branch, list(runner.tokens)) == (1, True, [])


def test_openvino_s_kernels_agree_once_passes_of_one_token_are_padded(stock: BranchingRunner) -> None:
    found = batch_invariance(stock)
    assert found.min_tokens == 2
    assert found.apply(stock)
    assert batch_invariance(stock).min_tokens == 1, "with padding, one token has the same bits"
    assert [each.can_branch for each in (stock, *stock.others)] == [found.branches] * 2


def test_padding_leaves_no_trace_up_to_the_end_of_the_context(tiny_quantized: Path) -> None:
    padded, whole = (PagedRunner.load(tiny_quantized, "CPU", plain(), 70) for _ in range(2))
    padded.min_tokens = 2
    ids = probe_ids(padded.vocabulary, 70, seed=1)
    expected = whole.forward(ids, rows=70).copy()
    for place, token in enumerate(ids):
        assert np.array_equal(padded.forward([token])[0], expected[place])
    assert list(padded.tokens) == list(ids)


def test_logits_of_one_row_have_the_bits_of_several(stock: BranchingRunner) -> None:
    Invariance(2, branches=False, context=512).apply(stock)
    ids = probe_ids(stock.vocabulary, 9, seed=1)
    expected = stock.forward(ids, rows=9).copy()
    stock.rollback(0)
    assert np.array_equal(stock.forward(ids), expected[-1:])
    stock.rollback(0)


def test_pass_for_two_sequences_pads_each(stock: BranchingRunner) -> None:
    Invariance(2, branches=False, context=512).apply(stock)
    first, second = stock, stock.others[0]
    ids = probe_ids(stock.vocabulary, 9, seed=1)
    expected = first.forward(ids, rows=9).copy()
    for each in (first, second):
        each.rollback(0)
    first.forward(ids[:8])
    second.forward(ids[:4])
    passes = first.forward_together([(first, ids[8:]), (second, ids[4:5])])
    for read, place in zip(passes, (8, 4), strict=True):
        assert read.logits is not None
        assert np.array_equal(read.logits[0], expected[place])
    for runner in (first, second):
        runner.rollback(0)


def test_cache_that_rounds_together_is_detected(tiny_quantized: Path) -> None:
    runner = PagedRunner.load(tiny_quantized, "CPU", {**plain(), "KV_CACHE_PRECISION": "u8"}, 512)
    found = batch_invariance(runner)
    assert found.min_tokens == 0
    assert not found.apply(runner)
    assert runner.min_tokens == 1, "padding would cost and give nothing"


def test_branch_that_differs_is_given_up_alone(tiny_quantized: Path) -> None:
    class Odd(BranchingRunner):
        def forward(self, ids, branches=(), rows=1, cancel=None):  # type: ignore[no-untyped-def]
            logits = super().forward(ids, branches, rows, cancel)
            return logits + len(branches)

    runner = Odd.load(tiny_quantized, "CPU", properties(OWN), 512)
    found = batch_invariance(runner)
    assert (found.min_tokens, found.branches) == (1, False)
    assert found.apply(runner)
    assert not runner.can_branch


def test_disturbing_sequence_is_detected(stock: BranchingRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    apart = stock.forward_together

    def disturbed(passes):  # type: ignore[no-untyped-def]
        first, *others = apart(passes)
        assert first.logits is not None
        first.logits = first.logits + np.float32(1e-6)
        return [first, *others]

    monkeypatch.setattr(stock, "forward_together", disturbed)
    assert batch_invariance(stock).min_tokens == 0


def test_masks_take_no_padding(tiny_quantized: Path) -> None:
    assert not Invariance(2, branches=True, context=512).apply(StatefulRunner(tiny_quantized, "CPU", reference(), 80))


def test_load_tries_once_and_again_for_a_longer_context(tiny_quantized: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[int]()

    def noting(runner: PagedRunner) -> Invariance:
        tried.append(runner.context)
        return batch_invariance(runner)

    monkeypatch.setattr(loading, "batch_invariance", noting)
    for context in (512, 512, 300, 1024, 512, MAX_CONTEXT, 2 * MAX_CONTEXT):
        loaded = load_model(ModelSpec.read(tiny_quantized), RunnerConfig("CPU", context))
        assert loaded.is_batch_invariant
        assert not loaded.runner.tokens
    assert tried == [512, 1024, MAX_CONTEXT]


def test_what_decides_no_text_is_not_tried(tiny_quantized: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(loading, "batch_invariance")
    assert not load_model(ModelSpec.read(tiny_quantized), replace(PLACE, decides=False)).is_batch_invariant


def test_arithmetic_whose_passes_agree_is_preferred_if_it_is_almost_as_fast(tiny_quantized: Path) -> None:
    known: Measurements = load_model(ModelSpec.read(tiny_quantized), PLACE).measurements
    for hint, ms in ((OWN, 9.0), ("f16", 8.5), ("f32", 8.0)):
        validation.store_verdict(known, properties(hint), Verdict(ms={1: ms, VERIFY: ms}))
        agrees = Invariance(0 if hint == "f32" else 2, branches=True, context=MAX_CONTEXT)
        validation.store_invariance(known, properties(hint), agrees)
    assert load_model(ModelSpec.read(tiny_quantized), PLACE).properties == properties("f16")
    validation.store_verdict(known, properties("f32"), Verdict(ms={1: 7.0, VERIFY: 7.0}))
    loaded = load_model(ModelSpec.read(tiny_quantized), PLACE)
    assert loaded.properties == properties("f32")
    assert not loaded.is_batch_invariant


def test_own_kernels_stay_if_they_were_timed_beside_busy_programs(tiny_quantized: Path) -> None:
    known: Measurements = load_model(ModelSpec.read(tiny_quantized), PLACE).measurements
    for hint, ms in ((OWN, 90.0), ("bf16", 8.0)):
        validation.store_verdict(known, properties(hint), Verdict(ms={1: ms, VERIFY: ms}, is_disturbed=hint == OWN))
    assert load_model(ModelSpec.read(tiny_quantized), PLACE).properties == properties(OWN)


def test_arithmetic_that_may_change_a_word_is_reported(
    tiny_quantized: Path, headstart_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = LoadOptions(tiny_quantized, context=512)
    info = opening._model_info(load(options), resolve(options))
    assert (info.is_batch_invariant, info.arithmetic, info.notes) == (True, OWN, ())
    for path in (headstart_home / "measured").glob("*.json"):
        path.unlink()
    monkeypatch.setattr(loading, "batch_invariance", lambda _: Invariance(0, branches=False, context=512))
    info = opening._model_info(load(options), resolve(options))
    assert not info.is_batch_invariant
    assert len(info.notes) == 1


def test_doctor_says_which_models_have_the_same_bits(headstart_home: Path) -> None:
    known = Measurements(headstart_home / "measured", "toy", {"model": "toy", "device": "CPU"})
    for hint, least in ((OWN, 1), ("bf16", 0)):
        validation.store_invariance(known, properties(hint), Invariance(least, branches=True, context=MAX_CONTEXT))
    sound, odd = doctor._invariances()
    assert (sound.level, odd.level) == (doctor.Level.OK, doctor.Level.NOTE)
    assert OWN in sound.text
    assert "bf16" in odd.text
