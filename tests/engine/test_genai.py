"""OpenVINO GenAI as an engine, on tiny models: the same texts as ours, however it guesses, and what it refuses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.engine.backends.genai import pipelines
from headstart.engine.backends.genai.engine import GenaiEngine
from headstart.engine.backends.genai.guessing import Way
from headstart.engine.backends.genai.loading import load
from headstart.engine.backends.genai.streaming import StreamedWriter
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Drafter,
    Engine,
    EngineKind,
    Finish,
    FinishReason,
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
    (result,) = writer._pipeline.generate([prompt], [config])  # type: ignore[attr-defined]
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
    writer = plain._writer_for(Way.PLAIN)

    def fail(_handle: object) -> None:
        raise EngineLostError("gone")

    monkeypatch.setattr(writer, "_step", fail)
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
