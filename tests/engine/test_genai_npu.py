"""What an NPU asks for, against a plugin that is only played: no NPU has run this yet."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headstart import manifest as manifests
from headstart.engine import selection
from headstart.engine.backends.genai import npu, pipelines
from headstart.engine.backends.genai.engine import GenaiEngine
from headstart.engine.engine import (
    Drafter,
    Engine,
    Finish,
    FinishReason,
    KvPrecision,
    LoadOptions,
    Message,
    Numerics,
    Request,
    Sampling,
    Speculation,
    Step,
)
from headstart.errors import ContextOverflowError, DeviceError, EngineLostError, SettingsError
from tests.openvino_core import CPU, NPU, FakeCore, plug_in

ASKED = Request((Message("user", "Hello"),), max_new_tokens=8)


@dataclass
class PlayedPipeline:
    """GenAI's stateful pipeline as an NPU would run it: two tokens at a time. `fault`: what it says instead."""

    fault: str = ""
    built: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)

    def build(self, folder: str, device: str, **properties: Any) -> "PlayedPipeline":
        """In place of `openvino_genai.LLMPipeline`."""
        if self.fault:
            raise RuntimeError(f"Exception from npu.cpp:1:\n{self.fault}")
        self.built.append((folder, device, properties))
        return self

    def generate(self, inputs: Any, config: Any, streamer: Any) -> Any:
        """Some tokens of the vocabulary, until they suffice."""
        assert inputs.input_ids.shape[1] > 0
        if self.fault:
            raise RuntimeError(f"Exception from npu.cpp:1:\n{self.fault}")
        for start in range(10, 10 + config.max_new_tokens, 2):
            streamer.write([start, start + 1])
        streamer.end()
        return SimpleNamespace(finish_reasons=[SimpleNamespace(name="LENGTH")])


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> PlayedPipeline:
    """A machine with an NPU."""
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "NPU": NPU}))
    played = PlayedPipeline()
    monkeypatch.setattr(pipelines, "_stateful", lambda o, chosen: played.build(str(o.target), o.device, **chosen))
    return played


def _last(engine: Engine, request: Request = ASKED) -> tuple[list[Step], Finish]:
    events = list(engine.generate(request))
    assert isinstance(events[-1], Finish)
    return [event for event in events if isinstance(event, Step)], events[-1]


def test_the_longest_prompt_is_compiled_in(tiny_target: Path, pipeline: PlayedPipeline) -> None:
    engine = selection.load(LoadOptions(tiny_target, device="NPU"))
    assert pipeline.built == [(str(tiny_target), "NPU", {"MAX_PROMPT_LEN": 512, "MIN_RESPONSE_LEN": 512})]
    assert engine.context == 1024
    assert isinstance(engine, GenaiEngine)
    assert engine.reason == "OpenVINO GenAI answers: an NPU runs nothing else."
    steps, finish = _last(engine)
    assert finish.reason is FinishReason.LENGTH
    assert finish.stats.by_origin == {"target": 8}
    assert steps


def test_a_longer_prompt_is_refused_and_not_garbled(tiny_target: Path, pipeline: PlayedPipeline) -> None:
    engine = selection.load(LoadOptions(tiny_target, device="npu", context=256))
    assert pipeline.built[0][2] == {"MAX_PROMPT_LEN": 128, "MIN_RESPONSE_LEN": 128}
    with pytest.raises(ContextOverflowError) as caught:
        _last(engine, replace(ASKED, messages=(Message("user", "word " * 50),)))
    assert "but the NPU was compiled for prompts of at most 128: start a new chat, shorten the text" in str(
        caught.value
    )


def test_nobody_says_who_proposed_a_token_with_a_draft(
    tiny_target: Path, tiny_draft: Path, pipeline: PlayedPipeline
) -> None:
    engine = selection.load(LoadOptions(tiny_target, tiny_draft, "NPU"))
    assert "draft_model" in pipeline.built[0][2]
    _, finish = _last(engine)
    assert finish.stats.by_origin == {"unknown": 8}
    assert finish.stats.acceptance_rate is None
    with pytest.raises(SettingsError, match="garbles sampled answers"):
        _last(engine, replace(ASKED, sampling=Sampling(temperature=1.0)))
    with pytest.raises(SettingsError, match="An NPU takes no guesses from the text"):
        _last(engine, replace(ASKED, speculation=Speculation(drafter=Drafter.NGRAM)))
    with pytest.raises(SettingsError, match="cannot bound its guesses under a confidence threshold"):
        _last(engine, replace(ASKED, speculation=Speculation(assistant_confidence_threshold=0.5)))


@pytest.mark.parametrize("weights", ["int8", "int4"])
def test_weights_that_it_cannot_compute_with_are_named(
    tiny_target: Path, altered: Any, pipeline: PlayedPipeline, weights: str
) -> None:
    folder = altered(tiny_target, precision=manifests.Precision(weights))
    with pytest.raises(DeviceError) as caught:
        selection.load(LoadOptions(folder, device="NPU"))
    assert str(caught.value) == (
        f"An NPU computes with symmetric weights, but tiny-target has {weights}: export it with --weights int4-sym, "
        "or use --device CPU."
    )
    assert not pipeline.built


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [
        ({"numerics": Numerics.EXACT}, "An NPU has arithmetic of its own: leave out --numerics exact, or use --device"),
        ({"kv_precision": KvPrecision.U8}, "An NPU decides itself how it keeps keys and values: leave out --kv-prec"),
        ({"draft_device": "CPU"}, "With an NPU, model and draft run on it together: leave out --draft-device"),
    ],
)
def test_what_it_leaves_nobody_to_choose(
    tiny_target: Path, pipeline: PlayedPipeline, wishes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SettingsError, match=sentence):
        selection.load(LoadOptions(tiny_target, device="NPU", **wishes))
    assert not pipeline.built


def test_too_small_a_context_is_refused(tiny_target: Path, pipeline: PlayedPipeline) -> None:
    with pytest.raises(DeviceError, match="An NPU needs a context of at least 128 tokens, not 100"):
        selection.load(LoadOptions(tiny_target, device="NPU", context=100))
    assert not pipeline.built


def test_without_a_wish_the_context_is_what_compiles_soon(tiny_target: Path) -> None:
    long = replace(manifests.read_model(tiny_target), context_length=32768)
    assert npu.capacity(long, None) == npu.Capacity(1024, 1024)
    assert npu.capacity(long, 5000) == npu.Capacity(2496, 2504)


def test_a_driver_that_refuses_has_a_way_out(tiny_target: Path, pipeline: PlayedPipeline) -> None:
    pipeline.fault = "VCL compiler loading failed, aborting."
    with pytest.raises(DeviceError) as caught:
        selection.load(LoadOptions(tiny_target, device="NPU"))
    assert str(caught.value) == (
        "OpenVINO GenAI cannot run target (plain) on NPU (VCL compiler loading failed, aborting); use --device CPU."
    )


def test_a_failure_in_an_answer_builds_it_anew(tiny_target: Path, pipeline: PlayedPipeline) -> None:
    engine = selection.load(LoadOptions(tiny_target, device="NPU"))
    pipeline.fault = "device lost"
    with pytest.raises(EngineLostError, match=r"OpenVINO GenAI failed \(device lost\); ask again, or use --device CPU"):
        _last(engine)
    pipeline.fault = ""
    assert _last(engine)[1].reason is FinishReason.LENGTH
    assert len(pipeline.built) == 2
