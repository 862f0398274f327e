"""What passes cost, in a whole run of tiny models."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from headstart.engine.bench.forward import ForwardPlan, measure_forward
from headstart.engine.bench.race import RaceCancelled
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import LoadOptions
from headstart.engine.local import load


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
    assert not engine.target.runner.tokens
    assert any("number of tokens" in stage for stage in stages)
    data = json.loads(json.dumps(asdict(result)))
    assert set(data["models"][0]["by_context"]) == {"16", "100"}
    engine.close()


@pytest.mark.slow
def test_it_can_be_cancelled(tiny_target: Path) -> None:
    options, cancel = LoadOptions(tiny_target, context=256), CancelEvent()
    engine = load(options)
    cancel.set()
    with pytest.raises(RaceCancelled):
        measure_forward(engine, ForwardPlan(options, (1,), (16,), 1), lambda _: None, cancel)
    engine.close()
