"""Passes timed by number of tokens and by context."""

import json
from pathlib import Path

import pytest

from bench.passes import forward
from bench.passes.forward import ForwardPlan, measure_forward
from headstart.engine.engine import LoadOptions
from headstart.engine.local import load
from headstart.engine.opening import resolve

Captured = pytest.CaptureFixture[str]


@pytest.mark.slow
def test_forward_prints_and_writes_json(tiny_pair: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "forward.json"
    sizes = ["--most-tokens", "4", "--most-context", "64", "--repeats", "1"]
    assert forward.main(["--model", str(tiny_pair), *sizes, "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "tiny-draft, ms" in shown
    data = json.loads(file.read_text(encoding="utf-8"))
    assert [set(model["by_tokens"]) for model in data["models"]] == [{"1", "2", "3", "4"}] * 2


@pytest.mark.slow
def test_forward_times_passes_of_tiny_models(tiny_target: Path, tiny_draft: Path) -> None:
    options = LoadOptions(tiny_target, tiny_draft, context=256)
    engine, stages = load(resolve(options)), list[str]()
    plan = ForwardPlan(options, tokens=(1, 2, 64, 512), contexts=(100, 16, 256), repeats=2)
    result = measure_forward(engine, plan, stages.append)
    assert [model.role for model in result.models] == ["target", "draft"]
    for model in result.models:
        assert list(model.by_tokens) == [1, 2, 64]  # 512 do not fit
        assert list(model.by_context) == [16, 100]
        assert all(0.0 < timed.least <= timed.median for timed in model.by_tokens.values())
    assert not engine.target.runner.tokens
    assert any("number of tokens" in stage for stage in stages)
    engine.close()
