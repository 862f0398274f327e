"""OpenVINO GenAI as an engine, on tiny models: the same texts as ours, however it guesses, and what it refuses.

No NPU has run this yet: its plugin is played.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headstart import manifest as manifests
from headstart.engine import opening
from headstart.engine.backends.genai import pipelines
from headstart.engine.backends.genai.engine import GenaiEngine, Guessing, guessing, load, npu_context
from headstart.engine.backends.genai.pipelines import StreamedWriter, Way
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Drafter,
    Engine,
    EngineKind,
    Finish,
    FinishReason,
    KvPrecision,
    LoadOptions,
    Message,
    Mode,
    Numerics,
    Origin,
    Prefill,
    Request,
    Sampling,
    Speculation,
    Step,
    Tracing,
)
from headstart.engine.local import LocalEngine
from headstart.engine.runtime import openvino, openvino_genai
from headstart.errors import BrokenModelError, ContextOverflowError, DeviceError, EngineLostError, SettingsError
from tests.openvino_core import CPU, NPU, FakeCore, plug_in

QUESTION = Request((Message("user", "Question 1: what is new?"),), max_new_tokens=24)
LOOKUP = Speculation(drafter=Drafter.NGRAM)


@dataclass(frozen=True)
class Told:
    """An answer with its events."""

    text: str
    steps: Sequence[Step]
    finish: Finish


def told(engine: Engine, request: Request = QUESTION) -> Told:
    """A whole answer."""
    first, *rest = engine.generate(request)
    assert isinstance(first, Prefill)
    steps = [event for event in rest if isinstance(event, Step)]
    finish = rest[-1]
    assert isinstance(finish, Finish)
    assert finish.token_ids == tuple(token.id for step in steps for token in step.round.tokens)[: len(finish.token_ids)]
    assert all("".join(piece.text for piece in step.pieces) == step.text for step in steps)
    return Told("".join(step.text for step in steps), steps, finish)


@pytest.fixture(scope="module")
def plain(tiny_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GenaiEngine]:
    """The tiny target alone."""
    yield from _opened(LoadOptions(tiny_target, numerics=Numerics.EXACT), tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def drafting(tiny_target: Path, tiny_draft: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GenaiEngine]:
    """The tiny pair."""
    yield from _opened(LoadOptions(tiny_target, tiny_draft, numerics=Numerics.EXACT), tmp_path_factory.mktemp("home"))


def _opened(options: LoadOptions, home: Path) -> Iterator[GenaiEngine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_HOME", str(home))
        engine = load(options)
    yield engine
    engine.close()
    engine.close()  # closing again does nothing


def test_plain_decoding_writes_what_our_engine_writes(plain: GenaiEngine, lone_engine: LocalEngine) -> None:
    ours, theirs = told(lone_engine), told(plain)
    assert theirs.text == ours.text
    assert theirs.finish.token_ids == ours.finish.token_ids
    stats = theirs.finish.stats
    assert (stats.output_tokens, stats.rounds, stats.drafted) == (24, 23, 0)
    assert stats.prompt_tokens == ours.finish.stats.prompt_tokens
    assert stats.by_origin == {"target": 24}
    assert stats.speedup is None
    assert stats.ttft_ms > 0
    assert stats.decode_ms > 0


def test_a_repetition_ends_an_answer(
    plain: GenaiEngine, drafting: GenaiEngine, lone_engine: LocalEngine, hasty: int
) -> None:
    ours = told(lone_engine)
    for engine in (plain, drafting):
        theirs = told(engine)
        assert (theirs.finish.reason, theirs.finish.stats.repeats) == (FinishReason.REPETITION, 4)
        assert len(theirs.finish.token_ids) == hasty
        assert (theirs.text, theirs.finish.token_ids) == (ours.text, ours.finish.token_ids)
        whole = told(engine, replace(QUESTION, stop_on_repetition=False)).finish
        assert (whole.reason, len(whole.token_ids)) == (FinishReason.LENGTH, QUESTION.max_new_tokens)


def test_what_a_request_leaves_open_is_the_model_s_own(plain: GenaiEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Sampling(temperature=0.9, seed=99)
    monkeypatch.setattr(plain, "sampling", own)
    left = told(plain, replace(QUESTION, sampling=Sampling(seed=3, automatic=("temperature",))))
    assert left.text == told(plain, replace(QUESTION, sampling=replace(own, seed=3))).text
    assert left.text != told(plain).text


@pytest.mark.parametrize("length", [None, 1, 3])
def test_a_draft_guesses_and_its_tokens_are_told(
    drafting: GenaiEngine, lone_engine: LocalEngine, length: int | None
) -> None:
    found = told(drafting, replace(QUESTION, speculation=Speculation(num_assistant_tokens=length)))
    assert found.text == told(lone_engine).text
    stats = found.finish.stats
    assert 0 < stats.accepted < stats.drafted
    assert stats.by_origin == {"draft": stats.accepted, "target": stats.rounds + 1}
    for step in (step for step in found.steps[1:] if step.round.tokens):
        assert len(step.round.tokens) == step.round.accepted + 1
        assert step.round.accepted <= step.round.drafted <= (length or 5)
    assert found.steps[0].round.drafted == 0  # the prompt's own pass gives the first token


def test_the_guesses_counted_are_those_that_genai_counts(drafting: GenaiEngine) -> None:
    stats = told(drafting, replace(QUESTION, speculation=Speculation(num_assistant_tokens=3))).finish.stats
    config = openvino_genai().GenerationConfig(
        max_new_tokens=24, do_sample=False, ignore_eos=False, stop_token_ids={2, 0}, num_assistant_tokens=3
    )
    prompt = openvino().Tensor(np.array([drafting.tokenizer.prompt(QUESTION.messages)], np.int64))
    writer = drafting._writer_for(Way.DRAFT)
    (result,) = writer._pipeline.generate([prompt], [config])
    metrics = result.extended_perf_metrics
    assert (stats.drafted, stats.accepted) == (metrics.get_num_draft_tokens(), metrics.get_num_accepted_tokens())


def test_the_text_itself_guesses(drafting: GenaiEngine, lone_engine: LocalEngine) -> None:
    copying = tuple(told(lone_engine).finish.token_ids)
    question = replace(
        QUESTION,
        messages=(Message("user", lone_engine.tokenizer.decode(copying)), *QUESTION.messages),
        speculation=LOOKUP,
    )
    found = told(drafting, question)
    assert found.text == told(lone_engine, replace(question, speculation=Speculation())).text
    stats = found.finish.stats
    assert set(stats.by_origin) <= {"n-gram", "target"}
    assert stats.by_origin.get("n-gram", 0) == stats.accepted


def test_a_way_of_guessing_is_a_matter_of_each_request(drafting: GenaiEngine) -> None:
    texts = {
        told(drafting, replace(QUESTION, speculation=speculation)).text
        for speculation in (Speculation(), Speculation(Mode.OFF), LOOKUP, Speculation(Mode.FIXED, 2))
    }
    assert len(texts) == 1


def test_a_seed_chooses_the_answer_with_guesses_from_the_text_too(plain: GenaiEngine) -> None:
    def drawn(seed: int, speculation: Speculation) -> str:
        return told(
            plain, replace(QUESTION, sampling=Sampling(temperature=3.0, seed=seed), speculation=speculation)
        ).text

    assert drawn(1, Speculation()) == drawn(1, Speculation()) == drawn(1, LOOKUP)
    assert drawn(1, Speculation()) != drawn(2, Speculation())


def test_filters_reach_the_sampler(plain: GenaiEngine) -> None:
    narrow = (
        Sampling(temperature=1.0, top_p=1e-6),
        Sampling(temperature=5.0, top_k=1),
        Sampling(temperature=1.0, min_p=0.999),
        Sampling(),
    )
    assert len({told(plain, replace(QUESTION, sampling=sampling)).text for sampling in narrow}) == 1


def test_a_repetition_penalty_is_ours(plain: GenaiEngine, lone_engine: LocalEngine) -> None:
    wary = replace(QUESTION, sampling=Sampling(repetition_penalty=1.7))
    assert told(plain, wary).text == told(lone_engine, wary).text != told(plain).text


@pytest.mark.parametrize("drafts", [False, True])
def test_a_stop_string_ends_an_answer_and_not_the_next(
    plain: GenaiEngine, drafting: GenaiEngine, lone_engine: LocalEngine, *, drafts: bool
) -> None:
    engine = drafting if drafts else plain
    text = told(lone_engine).text
    stopped = replace(QUESTION, stop=(text[10:13],))
    found = told(engine, stopped)
    assert found.text == text[: text.index(text[10:13])]
    assert found.finish.reason is FinishReason.STOP
    assert found.finish.token_ids == told(lone_engine, stopped).finish.token_ids
    assert told(engine).text == text


@pytest.mark.parametrize("drafts", [False, True])
def test_cancelling_ends_an_answer_before_another_round(
    plain: GenaiEngine, drafting: GenaiEngine, *, drafts: bool
) -> None:
    engine = drafting if drafts else plain
    cancel = CancelEvent()
    steps = 0
    for event in engine.generate(replace(QUESTION, max_new_tokens=500), cancel):
        if isinstance(event, Step) and event.round.tokens:
            steps += 1
            cancel.set()
        if isinstance(event, Finish):
            assert event.reason is FinishReason.CANCELLED
    assert steps == 1
    assert told(engine).finish.reason is FinishReason.LENGTH


def test_a_long_prompt_is_cancelled_between_its_parts(plain: GenaiEngine) -> None:
    cancel = CancelEvent()
    cancel.set()
    events = list(plain.generate(replace(QUESTION, messages=(Message("user", "word " * 200),)), cancel))
    assert [type(event) for event in events] == [Prefill, Finish]


def test_an_answer_that_nobody_reads_on_is_given_up(plain: GenaiEngine) -> None:
    events = plain.generate(replace(QUESTION, max_new_tokens=500))
    assert [type(next(events)) for _ in range(2)] == [Prefill, Step]
    events.close()  # type: ignore[attr-defined]
    assert told(plain).finish.reason is FinishReason.LENGTH


def test_a_prompt_too_long_and_an_answer_that_fills_the_context(tiny_target: Path, lone_engine: LocalEngine) -> None:
    prompt = len(lone_engine.tokenizer.prompt(QUESTION.messages))
    small = load(LoadOptions(tiny_target, context=prompt + 4))
    found = told(small, replace(QUESTION, max_new_tokens=100))
    assert found.finish.reason is FinishReason.CONTEXT
    assert found.finish.stats.output_tokens == 5  # the last one need not be read
    with pytest.raises(ContextOverflowError, match=rf"but the context holds {prompt + 4}"):
        told(small, replace(QUESTION, messages=(Message("user", "word " * 50),)))


def test_what_failed_is_built_anew(plain: GenaiEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("gone")

    monkeypatch.setattr(plain._writer_for(Way.PLAIN), "_pipeline", SimpleNamespace(add_request=fail))
    with pytest.raises(EngineLostError, match="gone"):
        told(plain)
    assert told(plain).finish.reason is FinishReason.LENGTH


def test_a_trace_and_an_absent_device_are_refused(tiny_target: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--engine headstart"):
        load(LoadOptions(tiny_target, tracing=Tracing(tmp_path / "trace")))
    with pytest.raises(DeviceError, match=r"no device GPU\.7 here"):
        load(LoadOptions(tiny_target, device="GPU.7"))


def test_a_damaged_model_is_named(tiny_target: Path, altered: Any) -> None:
    folder = altered(tiny_target)
    (folder / "openvino_model.bin").write_bytes(b"")
    with pytest.raises(BrokenModelError, match="damaged"):
        load(LoadOptions(folder))


def test_a_draft_that_genai_refuses_is_no_crash(tiny_target: Path, tiny_other: Path) -> None:
    with pytest.raises(DeviceError, match=r"OpenVINO GenAI cannot run target \(draft\) on CPU"):
        load(LoadOptions(tiny_target, tiny_other, engine=EngineKind.GENAI))


def test_the_stateful_pipeline_streams_and_can_be_stopped(
    tiny_target: Path, lone_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an NPU runs, on a CPU."""

    def stateful(options: LoadOptions, chosen: dict[str, object]) -> object:
        return openvino_genai().LLMPipeline(str(options.target), "CPU", ATTENTION_BACKEND="SDPA", **chosen)

    monkeypatch.setattr(pipelines, "stepped", stateful)
    monkeypatch.setattr(pipelines, "SteppedWriter", StreamedWriter)
    engine = load(LoadOptions(tiny_target, numerics=Numerics.EXACT))
    found = told(engine)
    assert found.text == told(lone_engine).text
    assert found.finish.stats.by_origin == {Origin.TARGET.value: 24}
    text = found.text
    assert told(engine, replace(QUESTION, stop=(text[10:13],))).text == text[: text.index(text[10:13])]
    cancel = CancelEvent()
    for event in engine.generate(replace(QUESTION, max_new_tokens=900), cancel):
        if isinstance(event, Step) and event.round.tokens:
            cancel.set()
        if isinstance(event, Finish):
            assert event.reason is FinishReason.CANCELLED
            assert len(event.token_ids) == 1
    assert told(engine).text == text


@pytest.mark.parametrize(
    ("speculation", "drafting", "expected"),
    [
        (Speculation(), Way.PLAIN, Guessing(Way.PLAIN)),
        (Speculation(Mode.OFF), Way.DRAFT, Guessing(Way.PLAIN)),
        (Speculation(drafter=Drafter.DRAFT), Way.PLAIN, Guessing(Way.PLAIN)),
        (Speculation(), Way.DRAFT, Guessing(Way.DRAFT, {"num_assistant_tokens": 5}, 5)),
        (Speculation(Mode.FIXED, 3), Way.DRAFT, Guessing(Way.DRAFT, {"num_assistant_tokens": 3}, 3)),
        (Speculation(), Way.EAGLE, Guessing(Way.EAGLE, {"num_assistant_tokens": 5}, 5)),
        (
            Speculation(drafter=Drafter.NGRAM),
            Way.DRAFT,
            Guessing(Way.LOOKUP, {"num_assistant_tokens": 5, "max_ngram_size": 3}, 5),
        ),
        (
            Speculation(Mode.FIXED, 2),
            Way.PLAIN,
            Guessing(Way.LOOKUP, {"num_assistant_tokens": 2, "max_ngram_size": 3}, 2),
        ),
    ],
)
def test_each_wish_has_its_way(speculation: Speculation, drafting: Way, expected: Guessing) -> None:
    assert guessing(replace(QUESTION, speculation=speculation), drafting, npu=False) == expected


def test_who_proposed_is_known_by_the_way() -> None:
    origins = {way: Guessing(way).origin for way in Way}
    assert origins == {
        Way.PLAIN: Origin.TARGET,
        Way.DRAFT: Origin.DRAFT,
        Way.EAGLE: Origin.DRAFT,
        Way.LOOKUP: Origin.NGRAM,
    }


@pytest.mark.parametrize(
    ("request_", "drafting", "sentence"),
    [
        (
            replace(QUESTION, sampling=Sampling(temperature=0.7)),
            Way.DRAFT,
            "OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): "
            "use --engine headstart, --temperature 0 or --speculation off.",
        ),
        (
            replace(QUESTION, speculation=Speculation(assistant_confidence_threshold=0.4)),
            Way.DRAFT,
            "OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one round were seen: "
            "use --engine headstart, or --num-assistant-tokens alone.",
        ),
        (
            replace(QUESTION, speculation=Speculation(acceptance_threshold=0.5)),
            Way.DRAFT,
            "OpenVINO GenAI has no acceptance threshold: use --engine headstart.",
        ),
        (
            replace(QUESTION, speculation=Speculation(drafter=Drafter.BIGRAM)),
            Way.DRAFT,
            "OpenVINO GenAI has no table of likely next tokens: use --engine headstart.",
        ),
        (
            replace(QUESTION, sampling=Sampling(presence_penalty=0.5)),
            Way.PLAIN,
            "OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: "
            "use --engine headstart, or --repetition-penalty.",
        ),
        (
            replace(QUESTION, likeliest=0),
            Way.PLAIN,
            "OpenVINO GenAI is not asked how likely its tokens were: use --engine headstart, or leave out logprobs.",
        ),
        (
            replace(QUESTION, schema="{}"),
            Way.PLAIN,
            "OpenVINO GenAI is not asked to keep to a JSON schema: use --engine headstart, or leave the schema out.",
        ),
    ],
)
def test_what_it_does_wrong_is_refused(request_: Request, drafting: Way, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        guessing(request_, drafting, npu=False)
    assert str(caught.value) == sentence


def test_a_sampled_answer_is_free_to_go_without_a_draft() -> None:
    drawn = replace(QUESTION, sampling=Sampling(temperature=0.7), speculation=Speculation(Mode.OFF))
    assert guessing(drawn, Way.DRAFT, npu=False).way is Way.PLAIN
    looking = replace(drawn, speculation=Speculation(drafter=Drafter.NGRAM))
    assert guessing(looking, Way.DRAFT, npu=False).way is Way.LOOKUP


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
    monkeypatch.setattr(openvino_genai(), "LLMPipeline", played.build)
    return played


def test_the_longest_prompt_is_compiled_in(tiny_target: Path, pipeline: PlayedPipeline) -> None:
    engine = opening.load(LoadOptions(tiny_target, device="NPU"))
    assert pipeline.built == [(str(tiny_target), "NPU", {"MAX_PROMPT_LEN": 512, "MIN_RESPONSE_LEN": 512})]
    assert engine.context == 1024
    assert isinstance(engine, GenaiEngine)
    assert engine.reason.endswith("because Headstart's own engine cannot use an NPU.")
    finish = told(engine).finish
    assert finish.reason is FinishReason.LENGTH
    assert finish.stats.by_origin == {"target": 24}


def test_a_longer_prompt_is_refused_and_not_garbled(tiny_target: Path, pipeline: PlayedPipeline) -> None:
    engine = opening.load(LoadOptions(tiny_target, device="npu", context=300))
    assert pipeline.built[0][2] == {"MAX_PROMPT_LEN": 128, "MIN_RESPONSE_LEN": 172}
    with pytest.raises(ContextOverflowError) as caught:
        told(engine, replace(QUESTION, messages=(Message("user", "word " * 50),)))
    assert "but the NPU was compiled for prompts of at most 128: start a new chat, shorten the text" in str(
        caught.value
    )


def test_nobody_says_who_proposed_a_token_with_a_draft(
    tiny_target: Path, tiny_draft: Path, pipeline: PlayedPipeline
) -> None:
    engine = opening.load(LoadOptions(tiny_target, tiny_draft, "NPU"))
    assert "draft_model" in pipeline.built[0][2]
    stats = told(engine).finish.stats
    assert stats.by_origin == {"unknown": 24}
    assert stats.acceptance_rate is None
    with pytest.raises(SettingsError, match="garbles sampled answers"):
        told(engine, replace(QUESTION, sampling=Sampling(temperature=1.0)))
    with pytest.raises(SettingsError, match="An NPU takes no guesses from the text"):
        told(engine, replace(QUESTION, speculation=Speculation(drafter=Drafter.NGRAM)))
    with pytest.raises(SettingsError, match="cannot bound its guesses under a confidence threshold"):
        told(engine, replace(QUESTION, speculation=Speculation(assistant_confidence_threshold=0.5)))


@pytest.mark.parametrize("weights", ["int8", "int4"])
def test_weights_that_it_cannot_compute_with_are_named(
    tiny_target: Path, altered: Any, pipeline: PlayedPipeline, weights: str
) -> None:
    folder = altered(tiny_target, precision=manifests.Precision(weights))
    with pytest.raises(DeviceError) as caught:
        opening.load(LoadOptions(folder, device="NPU"))
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
        opening.load(LoadOptions(tiny_target, device="NPU", **wishes))
    assert not pipeline.built


def test_too_small_a_context_is_refused(tiny_target: Path, pipeline: PlayedPipeline) -> None:
    with pytest.raises(DeviceError, match="An NPU needs a context of at least 128 tokens, not 100"):
        opening.load(LoadOptions(tiny_target, device="NPU", context=100))
    assert not pipeline.built


def test_without_a_wish_the_context_is_what_compiles_soon(tiny_target: Path) -> None:
    long = replace(manifests.read_model(tiny_target), context_length=32768)
    assert npu_context(long, None) == 2048
    assert npu_context(long, 5000) == 5000


def test_a_driver_that_refuses_has_a_way_out(tiny_target: Path, pipeline: PlayedPipeline) -> None:
    pipeline.fault = "VCL compiler loading failed, aborting."
    with pytest.raises(DeviceError) as caught:
        opening.load(LoadOptions(tiny_target, device="NPU"))
    assert str(caught.value) == (
        "OpenVINO GenAI cannot run target (plain) on NPU (VCL compiler loading failed, aborting); use --device CPU."
    )


def test_a_failure_in_an_answer_builds_it_anew(tiny_target: Path, pipeline: PlayedPipeline) -> None:
    engine = opening.load(LoadOptions(tiny_target, device="NPU"))
    pipeline.fault = "device lost"
    with pytest.raises(EngineLostError, match=r"OpenVINO GenAI failed \(device lost\); ask again, or use --device CPU"):
        told(engine)
    pipeline.fault = ""
    assert told(engine).finish.reason is FinishReason.LENGTH
    assert len(pipeline.built) == 2
