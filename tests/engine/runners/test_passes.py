"""Several answers at once: their passes are shared, their logits and texts are those of answers written alone."""

import gc
import itertools
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Finish,
    FinishReason,
    LoadOptions,
    Mode,
    Origin,
    Sampling,
    Speculation,
    Step,
)
from headstart.engine.kernels.library import Tickets
from headstart.engine.local import LocalEngine
from headstart.engine.runners import batching, passes
from headstart.engine.runners.paged import BranchingRunner
from headstart.engine.runners.precision import probe_ids, reference
from headstart.engine.runners.runner import Branch, Interrupted, Logits, infer
from tests.engine.answers import CODE, LIST, PLAIN, Answer, ask, load, request
from tests.support.waiting import PATIENCE, wait_until

SEQUENCES = 3
CONTEXT = 500
FLOOR = 1e-3  # see test_runner


@pytest.fixture(scope="module")
def compiled(tiny_target: Path) -> list[BranchingRunner]:
    """Three sequences of one model, and a separate model for comparison."""
    shared = BranchingRunner.load(tiny_target, "CPU", reference(), CONTEXT, sequences=SEQUENCES)
    alone = BranchingRunner.load(tiny_target, "CPU", reference(), CONTEXT)
    others = [other for other in shared.others if isinstance(other, BranchingRunner)]
    return [shared, *others, alone]


@pytest.fixture
def shared(compiled: list[BranchingRunner]) -> list[BranchingRunner]:
    for runner in compiled:
        runner.rollback(0)
    return compiled[:SEQUENCES]


@pytest.fixture
def alone(compiled: list[BranchingRunner]) -> BranchingRunner:
    return compiled[-1]


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of sequences in each pass."""
    counts = list[int]()

    def counting(wanted: Any, tickets: Tickets, cancel: CancelEvent | None) -> None:
        counts.append(wanted.get_tensor("past_lens").size)
        infer(wanted, tickets, cancel)

    monkeypatch.setattr("headstart.engine.runners.passes.infer", counting)
    return counts


def at_once(works: Sequence[Callable[[], Any]], runner: BranchingRunner | None = None) -> list[Any]:
    """Run each function on its own thread. With `runner`, no pass of its model begins before all want one."""
    with ThreadPoolExecutor(len(works)) as pool, hold(runner, len(works)) if runner else nullcontext():
        results = [pool.submit(work) for work in works]
    return [result.result() for result in results]


@contextmanager
def hold(runner: BranchingRunner, count: int) -> Iterator[None]:
    """Context manager that holds back passes of the model until `count` sequences want one."""
    shared = runner.batcher
    shared.schedule.is_busy = True
    try:
        yield
        wait_until(lambda: len(shared._waiting) == count)
    finally:
        shared.schedule.is_busy = False


@pytest.fixture
def stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make sequences that were in one pass wait for each other without a limit."""
    monkeypatch.setattr(batching, "_PATIENCE", 2 * PATIENCE)


def torment(runner: BranchingRunner, seed: int) -> list[Logits]:
    """Run rounds with branches, rejections and stops. Return all logits."""
    rng, seen = random.Random(seed), list[Logits]()
    with runner.at_work():
        runner.forward(probe_ids(640, 300, seed))
        for number in range(25):
            past, ids = len(runner.tokens), probe_ids(640, rng.randint(1, 8), seed + number)
            branches = [Branch(rng.randrange(1, len(ids)), rng.randrange(640)) for _ in ids[1:3]]
            if rng.random() < 0.2:
                stopped = CancelEvent()
                stopped.set()
                with pytest.raises(Interrupted):
                    runner.forward(ids, branches, cancel=stopped)
            seen.append(runner.forward(ids, branches, rows=len(ids)).copy())
            if branches and rng.random() < 0.5:
                runner.rollback(past + branches[0].place, 0)
            else:
                runner.rollback(past + rng.randint(1, len(ids)))
    return seen


@pytest.mark.usefixtures("stay_together")
def test_shared_passes_give_the_logits_of_single_ones(
    shared: list[BranchingRunner], alone: BranchingRunner, together: list[int]
) -> None:
    given = at_once([partial(torment, runner, 100 * seed) for seed, runner in enumerate(shared)], shared[0])
    assert max(together) == SEQUENCES
    for seed, logits in enumerate(given):
        alone.rollback(0)
        for got, expected in zip(logits, torment(alone, 100 * seed), strict=True):
            assert np.abs(got - expected).max() < FLOOR


@pytest.mark.usefixtures("stay_together")
def test_pass_does_not_wait_for_a_new_sequence(shared: list[BranchingRunner]) -> None:
    with shared[0].at_work(), shared[1].at_work():
        shared[0].forward([1, 2, 3])
        started = time.monotonic()
        shared[0].forward([4])
        assert time.monotonic() - started < PATIENCE


def test_pass_waits_once_for_an_absent_sequence(
    shared: list[BranchingRunner], together: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "_PATIENCE", 0.5)
    with shared[0].at_work(), shared[1].at_work():
        read_together(shared[:2])
        started = time.monotonic()
        shared[0].forward([0])
        assert time.monotonic() - started > 0.4
        monkeypatch.setattr(batching, "_PATIENCE", 2 * PATIENCE)
        for token in range(3):
            shared[0].forward([token])
        assert time.monotonic() - started < PATIENCE
    assert together == [2, 1, 1, 1, 1]


def read_together(runners: Sequence[BranchingRunner]) -> None:
    """Let them read a token in one pass."""
    at_once([partial(runner.forward, [1]) for runner in runners], runners[0])


@pytest.mark.usefixtures("stay_together")
def test_writing_sequences_stay_in_step(shared: list[BranchingRunner], together: list[int]) -> None:
    def write(runner: BranchingRunner, pause: float) -> None:
        with runner.at_work():
            for token in range(12):
                runner.forward([token])
                time.sleep(pause)

    at_once([partial(write, runner, 0.02 * number) for number, runner in enumerate(shared)], shared[0])
    assert together == [SEQUENCES] * 12


@pytest.mark.usefixtures("stay_together")
def test_short_prompt_shares_passes_with_writing(shared: list[BranchingRunner], together: list[int]) -> None:
    writes, has_read = threading.Event(), threading.Event()

    def write() -> None:
        with shared[0].at_work():
            while not has_read.is_set():
                shared[0].forward([1])
                shared[0].rollback(0)
                writes.set()

    def read() -> None:
        assert writes.wait(PATIENCE)
        with shared[1].at_work():
            for seed in range(5):
                shared[1].forward(probe_ids(640, 40, seed))
                shared[1].rollback(0)
        has_read.set()

    at_once([write, read])
    assert together.count(2) == 5


@pytest.mark.usefixtures("stay_together")
def test_shared_pass_has_a_maximum_size(shared: list[BranchingRunner], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = list[int]()

    def counting(wanted: Any, tickets: Tickets, cancel: CancelEvent | None) -> None:
        sizes.append(wanted.get_tensor("input_ids").size)
        infer(wanted, tickets, cancel)

    def write(runner: BranchingRunner) -> None:
        with runner.at_work():
            runner.forward([1])
            runner.forward(probe_ids(640, 30, seed=1))

    monkeypatch.setattr(batching, "JOINED", 60)
    monkeypatch.setattr(passes, "infer", counting)
    at_once([partial(write, runner) for runner in shared], shared[0])
    assert sizes == [3, 60, 30]


def test_long_prompt_is_read_in_chunks(
    shared: list[BranchingRunner], together: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headstart.engine.runners.paged.CHUNK", 64)
    with shared[0].at_work(), shared[1].at_work():
        shared[0].forward(probe_ids(640, 300, seed=1))
    assert len(together) == 5
    assert len(shared[0].tokens) == 300


def test_cancelled_prompt_leaves_nothing_in_the_cache(
    shared: list[BranchingRunner], alone: BranchingRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headstart.engine.runners.paged.CHUNK", 64)
    stop, made = CancelEvent(), list[int]()

    def stopping(wanted: Any, tickets: Tickets, cancel: CancelEvent | None) -> None:
        made.append(len(shared[0].tokens))
        if len(made) == 4:
            stop.set()
        infer(wanted, tickets, cancel)

    monkeypatch.setattr("headstart.engine.runners.passes.infer", stopping)
    with shared[0].at_work(), shared[1].at_work():
        shared[1].forward([9, 8, 7])
        with pytest.raises(Interrupted):
            shared[0].forward(probe_ids(640, 300, seed=1), cancel=stop)
        assert list(shared[0].tokens) == []
        following = shared[1].forward([5, 6], rows=2).copy()
    alone.forward([9, 8, 7])
    assert np.abs(following - alone.forward([5, 6], rows=2)).max() < FLOOR


@pytest.mark.usefixtures("stay_together")
def test_waiting_sequence_can_be_cancelled(shared: list[BranchingRunner]) -> None:
    stop = CancelEvent()
    with shared[0].at_work(), shared[1].at_work(), ThreadPoolExecutor(1) as pool:
        read_together(shared[:2])
        before = list(shared[0].tokens)
        waiting = pool.submit(shared[0].forward, [1, 2], cancel=stop)
        wait_until(lambda: shared[0].batcher._waiting)
        stop.set()
        with pytest.raises(Interrupted):
            waiting.result(PATIENCE)
    assert list(shared[0].tokens) == before


def test_dropped_model_is_freed_at_once(tiny_target: Path) -> None:
    runner = BranchingRunner.load(tiny_target, "CPU", reference(), CONTEXT)
    runner.forward([1])
    request = weakref.ref(runner.batcher)
    gc.disable()  # there may be no room for two models until it runs
    try:
        del runner
        assert request() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(("owner", "step"), [(passes, "infer"), (passes.Passes, "_hand_out")])
def test_failed_pass_raises_in_every_sequence(
    shared: list[BranchingRunner], owner: Any, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("out of memory")

    def work(runner: BranchingRunner) -> str:
        with runner.at_work(), pytest.raises(RuntimeError, match="out of memory") as caught:
            runner.forward([1])
        return str(caught.value)

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, broken)
        assert at_once([partial(work, runner) for runner in shared], shared[0]) == ["out of memory"] * SEQUENCES
    assert shared[1].forward([1]).shape == (1, 640)


def test_sequence_restores_what_another_saved(shared: list[BranchingRunner]) -> None:
    ids = probe_ids(640, 256, seed=4)
    shared[1].forward([3] * 300)
    shared[0].forward(ids)
    assert shared[2].restore(ids, shared[0].save(0, 256))
    assert np.abs(shared[2].forward([7]).copy() - shared[0].forward([7])).max() < FLOOR


@pytest.fixture(scope="module")
def engines(tiny_target: Path) -> Iterator[list[LocalEngine]]:
    with closing(load(LoadOptions(tiny_target, context=2048, parallel=3))) as engine:
        yield [engine, *engine.others]


@pytest.mark.parametrize("sampling", [Sampling(0.0), Sampling(0.8, seed=5)], ids=["greedy", "sampled"])
def test_parallel_answers_equal_single_ones(engines: list[LocalEngine], sampling: Sampling) -> None:
    asked = {LIST: Speculation(), CODE: Speculation(), "one two three": PLAIN}
    wanted = [request(text, sampling=sampling, tokens=60, speculation=how) for text, how in asked.items()]
    alone = [ask(engines[0], each) for each in wanted]
    assert [each.essence for each in write(engines, wanted)] == [each.essence for each in alone]


def test_draft_model_guesses_only_for_an_answer_that_is_alone(tiny_target: Path, tiny_draft: Path) -> None:
    wanted = request(LIST, tokens=40, speculation=Speculation(Mode.FIXED, 3))
    with closing(load(LoadOptions(tiny_target, tiny_draft, context=1024, parallel=2))) as engine:
        alone, other = ask(engine, wanted), engine.others[0].target.runner
        assert isinstance(other, BranchingRunner)
        with other.at_work():
            beside = ask(engine, wanted)
        assert engine.draft
        assert isinstance(engine.draft.runner, BranchingRunner)
        assert engine.draft.runner.batcher.schedule is other.batcher.schedule  # they run in turns
    assert beside.essence == alone.essence
    assert alone.stats.by_origin.get(Origin.DRAFT, 0) > 5
    assert Origin.DRAFT not in beside.stats.by_origin


def stop_at(number: int | None) -> Callable[[Any], bool]:
    """Return a function that tells whether an event is the one with this number."""
    events = itertools.count(1)
    return lambda _: next(events) == number


def test_answers_that_start_and_stop_at_random_are_exact(tiny_target: Path, tiny_draft: Path) -> None:
    """Each thread asks for one text after the other, drafted in one way or another, and cancels some."""
    ways = [PLAIN, Speculation(), Speculation(Mode.FIXED, 2), Speculation(Mode.FIXED, 7)]
    wanted = [request(text, tokens=40) for text in (LIST, CODE, "one two three", "word " * 180)]
    with closing(load(LoadOptions(tiny_target, tiny_draft, context=1024, parallel=3))) as engine:
        expected = [ask(engine, each).ids for each in wanted]

        def differing(one: LocalEngine, rng: random.Random) -> int:
            wrong = 0
            for _ in range(15):
                number, last = rng.randrange(len(wanted)), rng.choice([None, None, rng.randint(1, 10)])
                answer = ask(one, structs.replace(wanted[number], speculation=rng.choice(ways)), stop_at(last))
                whole = answer.reason is not FinishReason.CANCELLED
                wrong += answer.ids != (expected[number] if whole else expected[number][: len(answer.ids)])
                time.sleep(rng.random() / 50)
            return wrong

        works = [partial(differing, one, random.Random(seed)) for seed, one in enumerate([engine, *engine.others])]
        assert at_once(works) == [0, 0, 0]


def write(engines: list[LocalEngine], wanted: Sequence[ConversationRequest]) -> list[Answer]:
    return at_once([partial(ask, engine, each) for each, engine in zip(wanted, engines, strict=True)])


def test_cancelled_answer_does_not_stop_others(engines: list[LocalEngine]) -> None:
    long = request(CODE, tokens=120, speculation=PLAIN)
    first = partial(ask, engines[0], long, lambda event: isinstance(event, Step))
    stopped, whole = at_once([first, partial(ask, engines[1], long)])
    assert stopped.reason is FinishReason.CANCELLED
    assert whole.essence == ask(engines[2], long).essence


def test_prefix_cache_is_shared_by_sequences(engines: list[LocalEngine]) -> None:
    wanted = request(f"{LIST} Then say it again, {CODE}", tokens=20)
    first = ask(engines[0], wanted)
    second = ask(engines[2], wanted)
    assert second.essence == first.essence
    assert second.stats.reused_tokens == first.stats.prompt_tokens - 1


@pytest.mark.usefixtures("stay_together")
def test_long_prompt_alternates_with_writing(shared: list[BranchingRunner], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headstart.engine.runners.paged.CHUNK", 64)
    begun, read = threading.Event(), list[int]()

    def counting(wanted: Any, tickets: Tickets, cancel: CancelEvent | None) -> None:
        read.append(int(wanted.get_tensor("input_ids").size))
        if not begun.is_set():
            begun.set()
            wait_until(lambda: shared[0].batcher._waiting)
        infer(wanted, tickets, cancel)

    def write() -> None:
        assert begun.wait(PATIENCE)
        for token in range(4):
            shared[1].forward([token])

    monkeypatch.setattr(passes, "infer", counting)
    with shared[0].at_work(), shared[1].at_work():
        at_once([partial(shared[0].forward, probe_ids(640, 300, seed=1)), write])
    assert read == [64, 1, 64, 1, 64, 1, 64, 45]


def test_logits_survive_the_pass_of_another_sequence(shared: list[BranchingRunner]) -> None:
    with shared[0].at_work():
        logits = shared[0].forward([1, 2, 3])
        before = logits.copy()
        with shared[1].at_work():
            shared[1].forward([7, 8, 9])
        assert np.array_equal(logits, before)


def test_cancel_does_not_wait_for_the_prompt_of_another(
    engines: list[LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads_prompt, stopped, stop = threading.Event(), threading.Event(), CancelEvent()
    runner = engines[0].target.runner
    assert isinstance(runner, BranchingRunner)

    def waiting(wanted: Any, tickets: Tickets, cancel: CancelEvent | None) -> None:
        if wanted.get_tensor("input_ids").size > 100:
            reads_prompt.set()
            wait_until(lambda: runner.batcher._waiting)
            stop.set()
            assert stopped.wait(PATIENCE)
        infer(wanted, tickets, cancel)

    def stop_early() -> FinishReason:
        reason = FinishReason.STOP
        for event in engines[1].generate(request(CODE, tokens=500, speculation=PLAIN), stop):
            if isinstance(event, Step) and not reads_prompt.is_set():
                with monkeypatch.context() as patch:
                    patch.setattr(passes, "infer", waiting)
                    prompt.start()
                    assert reads_prompt.wait(PATIENCE)
            elif isinstance(event, Finish):
                reason = event.reason
        stopped.set()
        return reason

    prompt = threading.Thread(target=ask, args=(engines[0], request("word " * 150, tokens=2)))
    assert stop_early() is FinishReason.CANCELLED
    prompt.join()
