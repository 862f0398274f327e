"""OpenVINO GenAI's continuous batching with a tiny model: the same texts as ours, stops, limits and refusals."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from headstart import manifest as manifests
from headstart.engine import memory
from headstart.engine.backends.genai.batching import ContinuousBatching, difference
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Mode,
    Numerics,
    Request,
    Sampling,
    Speculation,
    Step,
    Tracing,
)
from headstart.engine.local import LocalEngine
from headstart.errors import ContextOverflowError, DeviceError, MemoryBudgetError

OPTIONS = LoadOptions(Path("target"))
HELLO = (Message("user", "Hello"),)
QUESTIONS = tuple((Message("user", f"Question {number}: what is new?"),) for number in range(5))


@pytest.fixture(scope="module")
def batcher(tiny_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContinuousBatching]:
    """The tiny target, three answers at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_HOME", str(tmp_path_factory.mktemp("home")))
        made = ContinuousBatching(LoadOptions(tiny_target), 3, longest=256)
    yield made
    made.close()
    made.close()  # closing again does nothing


@dataclass
class Asked:
    """Hands out requests and notes how many were taken."""

    requests: Iterable[Request]
    taken: int = 0

    def __iter__(self) -> Iterator[tuple[int, Request]]:
        for key, request in enumerate(self.requests):
            self.taken += 1
            yield key, request


def texts(reported: Iterable[tuple[int, object]]) -> Mapping[int, tuple[str, Finish]]:
    """Each answer by key."""
    parts: dict[int, str] = {}
    found = {}
    for key, event in reported:
        if isinstance(event, Step):
            parts[key] = parts.get(key, "") + event.text
        if isinstance(event, Finish):
            found[key] = (parts.get(key, ""), event)
    return found


def answered(batcher: ContinuousBatching, *requests: Request) -> Mapping[int, tuple[str, Finish]]:
    """All answers."""
    return texts(batcher.answers(iter(enumerate(requests)), CancelEvent()))


def test_a_batch_writes_what_our_engine_writes(batcher: ContinuousBatching, lone_engine: LocalEngine) -> None:
    requests = [Request(messages, max_new_tokens=12) for messages in QUESTIONS]
    ours = texts((key, event) for key, request in enumerate(requests) for event in lone_engine.generate(request))
    theirs = answered(batcher, *requests)
    assert theirs.keys() == ours.keys()
    assert [theirs[key][0] for key in ours] == [text for text, _ in ours.values()]
    assert [theirs[key][1].token_ids for key in ours] == [finish.token_ids for _, finish in ours.values()]
    assert {finish.reason for _, finish in theirs.values()} == {FinishReason.LENGTH}
    stats = theirs[0][1].stats
    assert (stats.prompt_tokens, stats.output_tokens) == (ours[0][1].stats.prompt_tokens, 12)
    assert stats.ttft_ms > 0
    assert stats.decode_ms > 0


def test_a_repetition_ends_an_answer_and_no_other(batcher: ContinuousBatching, hasty: int) -> None:
    ending = Request(QUESTIONS[0], max_new_tokens=16)
    found = answered(batcher, ending, replace(ending, stop_on_repetition=False))
    assert [finish.reason for _, finish in found.values()] == [FinishReason.REPETITION, FinishReason.LENGTH]
    assert [len(finish.token_ids) for _, finish in found.values()] == [hasty, 16]
    assert {finish.stats.repeats for _, finish in found.values()} == {4}


def test_so_many_at_once_and_the_next_where_one_ends(batcher: ContinuousBatching) -> None:
    lengths = (2, 9, 9, 3, 3)
    requests = Asked([Request(QUESTIONS[0], max_new_tokens=length) for length in lengths])
    begun, most = set[int](), 0
    for key, event in batcher.answers(iter(requests), CancelEvent()):
        (begun.discard if isinstance(event, Finish) else begun.add)(key)
        most = max(most, len(begun))
    assert most == 3
    assert requests.taken == 5


def test_a_stop_string_ends_one_answer_and_not_the_others(batcher: ContinuousBatching) -> None:
    (text, _), *_ = answered(batcher, Request(QUESTIONS[0], max_new_tokens=12)).values()
    stop = text[len(text) // 2 :][:3]
    found = answered(
        batcher, Request(QUESTIONS[0], max_new_tokens=12, stop=(stop,)), Request(QUESTIONS[1], max_new_tokens=12)
    )
    assert found[0][0] == text[: text.index(stop)]
    assert found[0][1].reason is FinishReason.STOP
    assert len(found[1][1].token_ids) == 12


def test_a_sampled_answer_depends_on_its_seed_and_not_on_its_neighbours(batcher: ContinuousBatching) -> None:
    first, second = (
        Request(QUESTIONS[0], max_new_tokens=12, sampling=Sampling(temperature=5.0, seed=seed)) for seed in (1, 2)
    )
    alone = answered(batcher, first)[0]
    together = answered(batcher, Request(QUESTIONS[1], 5), second, first)
    assert together[2][1].token_ids == alone[1].token_ids
    assert together[1][1].token_ids != alone[1].token_ids


def test_filters_reach_the_sampler(batcher: ContinuousBatching) -> None:
    narrow = (Sampling(temperature=1.0, top_p=1e-6), Sampling(temperature=5.0, top_k=1), Sampling())
    found = answered(batcher, *(Request(QUESTIONS[0], 4, sampling) for sampling in narrow))
    assert len({text for text, _ in found.values()}) == 1


def test_a_prompt_that_is_too_long_is_refused_alone(batcher: ContinuousBatching) -> None:
    long = Request((Message("user", "word " * 2000),))
    events = list(batcher.answers(enumerate([long, Request(QUESTIONS[0], 2)]), CancelEvent()))
    refused = [event for key, event in events if key == 0]
    assert [type(event) for event in refused] == [ContextOverflowError]
    assert texts(events)[1][1].reason is FinishReason.LENGTH


def test_an_answer_ends_where_the_context_is_full(tiny_target: Path, lone_engine: LocalEngine) -> None:
    prompt = len(lone_engine.tokenizer.prompt(QUESTIONS[0]))
    small = ContinuousBatching(LoadOptions(tiny_target, context=prompt + 4), 1, longest=64)
    (text, finish) = answered(small, Request(QUESTIONS[0], max_new_tokens=100))[0]
    small.close()
    assert text
    assert finish.reason is FinishReason.CONTEXT
    assert finish.stats.output_tokens == 5  # the last one need not be read


def test_when_no_request_follows_the_present_ones_end_whole(batcher: ContinuousBatching) -> None:
    asked = Asked(itertools.islice(itertools.repeat(Request(QUESTIONS[0], 4)), 2))
    assert {finish.reason for _, finish in texts(batcher.answers(iter(asked), CancelEvent())).values()} == {
        FinishReason.LENGTH
    }


def test_cancelling_ends_all_at_once_and_leaves_a_pipeline_that_works(batcher: ContinuousBatching) -> None:
    cancel = CancelEvent()
    reasons = []
    for _key, event in batcher.answers(enumerate([Request(QUESTIONS[0], 500)] * 2), cancel):
        if isinstance(event, Step):
            cancel.set()
        if isinstance(event, Finish):
            reasons.append(event.reason)
    assert reasons == [FinishReason.CANCELLED] * 2
    assert answered(batcher, Request(QUESTIONS[1], 3))[0][1].stats.output_tokens == 3


def test_fewer_at_once_where_the_memory_holds_no_more(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, options = manifests.read_model(tiny_target), LoadOptions(tiny_target)
    free = memory.need([manifest], 256).total
    monkeypatch.setattr(memory, "free_memory", lambda: free)
    fitting = (memory.largest_context([manifest], free) or 0) // 256
    assert ContinuousBatching(options, 2 * fitting, longest=256).size == fitting
    assert ContinuousBatching(options, 2, longest=256).size == 2
    monkeypatch.setattr(memory, "free_memory", lambda: 2**20)
    with pytest.raises(MemoryBudgetError):
        ContinuousBatching(options, 16, longest=256)
    assert ContinuousBatching(replace(options, ignore_memory=True), 16, longest=256).size == 16


def test_a_device_that_is_absent_is_named(tiny_target: Path) -> None:
    with pytest.raises(DeviceError, match=r"GPU\.7"):
        ContinuousBatching(LoadOptions(tiny_target, device="GPU.7"), 2, longest=64)


@pytest.mark.parametrize(
    ("request_", "seeded", "words"),
    [
        (Request(HELLO), True, ""),
        (Request(HELLO, speculation=Speculation(Mode.OFF)), False, ""),
        (Request(HELLO, sampling=Sampling(temperature=0.8, top_p=0.9)), False, ""),
        (Request(HELLO, sampling=Sampling(temperature=0.8, top_k=20)), False, ""),
        (Request(HELLO, sampling=Sampling(temperature=0.8)), True, "a seed"),
        (Request(HELLO, sampling=Sampling(temperature=0.8, min_p=0.1)), False, "min-p"),
        (Request(HELLO, sampling=Sampling(temperature=1, top_k=5, top_p=0.5)), False, "top-k together with top-p"),
        (Request(HELLO, sampling=Sampling(presence_penalty=0.5)), False, "penalties"),
        (Request(HELLO, speculation=Speculation(acceptance_threshold=0.5)), False, "speculation of their own"),
    ],
)
def test_what_batches_do_otherwise_is_named(request_: Request, seeded: bool, words: str) -> None:
    assert difference(OPTIONS, request_, seeded=seeded) == words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (LoadOptions(Path("target"), Path("draft")), ""),
        (LoadOptions(Path("target"), numerics=Numerics.EXACT), "exact numerics"),
        (LoadOptions(Path("target"), tracing=Tracing(Path("rounds.jsonl"))), "a trace"),
        (LoadOptions(Path("target"), device="npu"), "the NPU"),
    ],
)
def test_what_a_model_is_loaded_with_may_differ_too(options: LoadOptions, words: str) -> None:
    assert difference(options, Request(HELLO), seeded=False) == words
