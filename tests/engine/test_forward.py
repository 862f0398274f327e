"""What passes cost beside the memory's limit: arithmetic, the weights counted from a graph, a whole tiny run."""

import json
import threading
from pathlib import Path

import pytest

from headstart.engine.bench.bandwidth import Bandwidth, measure_bandwidth
from headstart.engine.bench.footprint import bytes_each_step
from headstart.engine.bench.forward import ForwardPlan, ModelForward, Timed, as_json, limit_ms, measure_forward
from headstart.engine.bench.race import RaceCancelled
from headstart.engine.engine import LoadOptions
from headstart.engine.local import load


def test_the_limit_is_what_must_be_read_over_what_the_memory_gives() -> None:
    assert limit_ms(1_500_000_000, 500_000_000, 40e9) == pytest.approx(50.0)


def test_a_step_as_fast_as_the_memory_has_a_share_of_one() -> None:
    timed = {16: Timed(50.0, 48.0), 64: Timed(100.0, 90.0)}
    model = ModelForward("m", "target", {}, 1, 1, {}, timed, {16: 50.0, 64: 60.0})
    assert model.share_of_limit == {16: 1.0, 64: pytest.approx(0.6)}


def test_bandwidth_counts_all_threads() -> None:
    measured = measure_bandwidth(threads=2, size=3 * 2**20, passes=2)
    assert measured.threads == 2
    assert measured.read > 1e8
    assert measured.copy > 1e8


def test_the_limit_is_the_best_of_what_was_measured_at_several_times() -> None:
    joined = Bandwidth(2, (30e9,), 20e9).joined(Bandwidth(2, (40e9,), 10e9))
    assert joined == Bandwidth(2, (30e9, 40e9), 20e9)
    assert joined.read == 40e9


def test_the_weights_of_a_step_leave_out_tables_of_which_it_takes_a_row(tiny_target: Path) -> None:
    rows, width = 640, 64
    table = rows * width * 2
    all_weights = (tiny_target / "openvino_model.bin").stat().st_size
    read = bytes_each_step(tiny_target)
    # The head is as large as the embedding, and is read. Some small constants share their bytes in the file.
    assert read == pytest.approx(all_weights - table, abs=4096)


@pytest.mark.slow
@pytest.mark.parametrize("with_draft", [True, False])
def test_a_whole_run_of_tiny_models(tiny_target: Path, tiny_draft: Path, with_draft: bool) -> None:
    options = LoadOptions(tiny_target, tiny_draft if with_draft else None, context=256)
    engine, stages = load(options), list[str]()
    plan = ForwardPlan(options, tokens=(1, 2, 64, 512), contexts=(100, 16, 256), repeats=2)
    result = measure_forward(engine, plan, stages.append)
    assert [model.role for model in result.models] == (["target", "draft"] if with_draft else ["target"])
    for model in result.models:
        assert list(model.by_tokens) == [1, 2, 64]  # 512 do not fit
        assert list(model.by_context) == [16, 100]
        assert all(0.0 < timed.least <= timed.median for timed in model.by_tokens.values())
        assert model.limit_ms[16] < model.limit_ms[100]
    assert not engine.target.runner.tokens
    assert len(result.bandwidth.reads) == 2
    assert any("memory" in stage for stage in stages)
    data = json.loads(json.dumps(as_json(result)))
    assert set(data["models"][0]["share_of_limit"]) == {"16", "100"}
    engine.close()


@pytest.mark.slow
def test_it_can_be_cancelled(tiny_target: Path) -> None:
    options, cancel = LoadOptions(tiny_target, context=256), threading.Event()
    engine = load(options)
    cancel.set()
    with pytest.raises(RaceCancelled):
        measure_forward(engine, ForwardPlan(options, (1,), (16,), 1), lambda _: None, cancel)
    engine.close()
