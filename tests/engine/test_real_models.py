"""Proof 3 of exactness, and the behaviour of trained weights alone: real texts, real acceptance, real refusals."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from bench.passes.forward import ForwardPlan, measure_forward
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Drafter,
    Event,
    Finish,
    FinishReason,
    Keep,
    LoadOptions,
    Message,
    Mode,
    Origin,
    Prefill,
    Sampling,
    Speculation,
    Step,
)
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.kernels.selftest import proven
from headstart.engine.loading.validation import Subject, Trial, find_verdict, limit_of
from headstart.engine.local import LocalEngine
from headstart.engine.runners.precision import own_kernels
from headstart.errors import MismatchedDraftError
from headstart.library import library, manifest
from tests.conftest import KERNEL_SOURCES, proven_once, sources_of
from tests.engine.answers import PLAIN, Answer, ask, load, request

AUTO = Speculation()
FIXED = Speculation(Mode.FIXED, 5)
EDIT = "Repeat this function exactly, then add a docstring:\n\ndef area(width, height):\n    return width * height\n"
TRANSLATE = "Write the numbers from one to five in Chinese characters, each followed by a fitting emoji."


@pytest.fixture(scope="module")
def smollm2(real_smollm2: Path) -> Iterator[LocalEngine]:
    """SmolLM2 without a draft model, which only n-grams help."""
    with closing(load(LoadOptions(real_smollm2))) as engine:
        yield engine


def test_smollm2_copies_what_it_was_given(smollm2: LocalEngine) -> None:
    answer = ask(smollm2, request(EDIT, speculation=AUTO, tokens=80))
    assert "def area(width, height)" in answer.text
    assert answer.stats.by_origin.get(Origin.NGRAM, 0) > 0
    assert answer.stats.plain_ms
    assert answer.stats.speedup


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.8, top_p=0.95, seed=4)])
def test_head_of_smollm2_drafts_and_changes_no_text(real_smollm2: Path, sampling: Sampling) -> None:
    by_head = [Speculation(drafter=Drafter.HEAD), Speculation(Mode.FIXED, 3, drafter=Drafter.HEAD)]
    with closing(load(LoadOptions(real_smollm2))) as engine:
        for question in (EDIT, "Write a Python function that merges two sorted lists."):
            plain = ask(engine, request(question, speculation=PLAIN, sampling=sampling, tokens=64))
            for speculation in by_head:
                answer = ask(engine, request(question, speculation=speculation, sampling=sampling, tokens=64))
                assert answer.ids == plain.ids
            assert answer.stats.by_origin[Origin.HEAD] > 5


def test_head_of_smollm2_drafts_for_answers_at_the_same_time(real_smollm2: Path) -> None:
    by_head = Speculation(Mode.FIXED, 3, drafter=Drafter.HEAD)
    wanted = [request(text, speculation=by_head, tokens=64) for text in (EDIT, TRANSLATE, "Write a sorting function.")]
    with closing(load(LoadOptions(real_smollm2, parallel=3))) as engine, ThreadPoolExecutor(3) as pool:
        alone = [ask(engine, structs.replace(each, speculation=PLAIN)).ids for each in wanted]
        answers = list(pool.map(ask, [engine, *engine.others], wanted))
    assert [answer.ids for answer in answers] == alone
    assert all(answer.stats.by_origin[Origin.HEAD] > 5 for answer in answers)


@pytest.mark.skipif(not proven(), reason="this computer does not use our own kernels")
def test_own_kernels_pass_their_trial(real_smollm2: Path, real_pair: Path, tmp_path: Path) -> None:
    def prove() -> None:
        for folder in folders:
            subject = Subject(folder, "CPU", "branching", limit_of(None), 2.0, Measurements(tmp_path, folder.name, {}))
            Trial().run(subject, [own_kernels()], timed=False)
            verdict = find_verdict(subject.measurements, own_kernels())
            assert verdict
            assert not verdict.reason

    folders = (real_smollm2, real_pair / "target")
    weights = "-".join(manifest.read_model(folder).files["openvino_model.bin"].sha256[:8] for folder in folders)
    proven_once(f"trial-{weights}", [*sources_of("app/headstart/engine"), *KERNEL_SOURCES, Path(__file__)], prove)


def test_forward_times_smollm2_and_its_head(smollm2: LocalEngine, real_smollm2: Path) -> None:
    plan = ForwardPlan(LoadOptions(real_smollm2), tokens=(1, 4), contexts=(16,), repeats=1)
    target, head = measure_forward(smollm2, plan, lambda _: None).models
    assert [target.role, *target.by_tokens, *target.by_context] == ["target", 1, 4, 16]
    assert [head.role, *head.by_tokens] == [Origin.HEAD, 1]  # it reads one token at a time, behind no others
    assert not head.by_context


def test_cancel_ends_the_reading_of_a_prompt(smollm2: LocalEngine) -> None:
    long = request("\n\n".join(prompt.text for prompt in read_prompts(3)), speculation=PLAIN)
    smollm2.forget_all()
    cancel, events = CancelEvent(), list[Event]()
    for event in smollm2.generate(long, cancel):
        events.append(event)
        if isinstance(event, Prefill) and event.done:
            threading.Timer(0.05, cancel.set).start()  # in the middle of the next pass
    finish = events[-1]
    assert isinstance(finish, Finish)
    assert finish.reason is FinishReason.CANCELLED
    assert not any(isinstance(event, Step) for event in events)


@pytest.mark.parametrize(
    "sampling", [Sampling(), Sampling(temperature=0.9, top_p=0.95, seed=4)], ids=["greedy", "sampled"]
)
def test_smollm2_writes_the_plain_text(real_smollm2: Path, sampling: Sampling) -> None:
    with closing(load(LoadOptions(real_smollm2))) as engine:
        for prompt in (EDIT, TRANSLATE):
            plain = ask(engine, request(prompt, sampling=sampling, speculation=PLAIN, tokens=60))
            for speculation in (AUTO, FIXED):
                guessed = ask(engine, request(prompt, sampling=sampling, speculation=speculation, tokens=60))
                assert guessed.essence == plain.essence


@pytest.mark.parametrize("speculation", [PLAIN, AUTO])
def test_smollm2_chat_is_the_same_after_a_restart(real_smollm2: Path, speculation: Speculation) -> None:
    begun = [Message("user", "\n\n".join(prompt.text for prompt in read_prompts(3)))]
    with closing(load(LoadOptions(real_smollm2))) as engine:

        def answer(conversation: list[Message]) -> Answer:
            wanted = request(conversation, speculation=speculation, tokens=40)
            return ask(engine, structs.replace(wanted, keep=Keep("chat", 2**30)))

        longer = [*begun, Message("assistant", answer(begun).text), Message("user", "Go on.")]
        uninterrupted = answer(longer)
        engine.forget(["chat"])
        engine.forget_all()
        answer(begun)
        while engine.store_one():
            pass
        engine.forget_all()
        restored = answer(longer)
    assert restored.stats.reused_tokens > 600
    assert restored.essence == uninterrupted.essence


def test_draft_of_the_pair_guesses_code_and_changes_no_text(real_pair: Path) -> None:
    parts = library.choose(str(real_pair), None)
    assert parts.draft is not None
    prompt = read_prompts(1)[0]
    with closing(load(LoadOptions(parts.target.folder, parts.draft.folder))) as engine:
        plain = ask(engine, request(prompt.text, speculation=PLAIN, tokens=64))
        guessed = ask(engine, request(prompt.text, speculation=AUTO, tokens=64))
        # How many guesses pay hangs on the processor; how many are right does not.
        always = ask(engine, request(prompt.text, speculation=FIXED, tokens=64))
    assert guessed.essence == plain.essence
    assert always.essence == plain.essence
    assert always.stats.acceptance_rate
    assert always.stats.acceptance_rate > 0.4
    assert always.stats.rounds < plain.stats.rounds / 2


def test_chinese_answer_of_the_pair_is_the_plain_one(real_pair: Path) -> None:
    parts = library.choose(str(real_pair), None)
    assert parts.draft is not None
    if parts.draft.manifest.shortlist is None:
        pytest.skip("this pair was exported without a list of tokens")
    chinese = "请解释为什么天空是蓝色的。"
    options = LoadOptions(parts.target.folder, parts.draft.folder, draft_vocab=16384)
    with closing(load(options)) as engine:
        plain = ask(engine, request(chinese, speculation=PLAIN, tokens=40))
        guessed = ask(engine, request(chinese, speculation=FIXED, tokens=40))
    assert plain.essence == guessed.essence
    assert guessed.stats.accepted > 0


def test_smollm2_is_no_draft_for_qwen(real_pair: Path, real_smollm2: Path) -> None:
    with pytest.raises(MismatchedDraftError, match=r"id \d+ is .+ here and .+ there"):
        library.choose(str(real_pair / "target"), str(real_smollm2))
