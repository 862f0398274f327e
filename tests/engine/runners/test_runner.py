"""Both runners: after rejections and cancels, logits are those of a fresh prefill."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.engine.cancelling import CancelEvent
from headstart.engine.kernels.library import Library, Tickets
from headstart.engine.runners import runner as runners
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import OWN, probe_ids, properties, reference
from headstart.engine.runners.runner import Interrupted, Logits
from headstart.engine.runners.stateful import StatefulRunner

AnyRunner = PagedRunner | StatefulRunner
KINDS: tuple[Callable[..., AnyRunner], ...] = (PagedRunner.load, StatefulRunner)
CONTEXT = 500  # no multiple of a cache block
LONG_CONTEXT = 20_000  # one pass over it takes seconds
# Largest difference of logits (their deviation is 6) between batchings: 1.3e-4 and 4.1e-3 were measured; a token that
# wrongly counts makes several.
FLOOR = {PagedRunner: 1e-3, StatefulRunner: 2e-2}


@pytest.fixture(scope="module", params=KINDS, ids=["paged", "stateful"])
def compiled(request: pytest.FixtureRequest, tiny_target: Path) -> tuple[AnyRunner, AnyRunner]:
    """A runner to disturb, and another one of its kind for comparison."""
    kind = request.param
    first, second = (kind(tiny_target, "CPU", reference(), CONTEXT) for _ in range(2))
    return first, second


@pytest.fixture
def runner(compiled: tuple[AnyRunner, AnyRunner]) -> AnyRunner:
    compiled[0].rollback(0)
    return compiled[0]


@pytest.fixture
def fresh(compiled: tuple[AnyRunner, AnyRunner]) -> AnyRunner:
    compiled[1].rollback(0)
    return compiled[1]


@pytest.fixture(params=KINDS, ids=["paged", "stateful"])
def long_runner(request: pytest.FixtureRequest, tiny_target: Path) -> AnyRunner:
    """A runner that can be kept busy."""
    made: AnyRunner = request.param(tiny_target, "CPU", reference(), LONG_CONTEXT)
    return made


def test_forward_gives_the_logits_of_the_last_rows(runner: AnyRunner) -> None:
    ids = ids_of(12, seed=1)
    every = runner.forward(ids, rows=12).copy()
    assert every.shape == (12, runner.vocabulary) == (12, 640)
    runner.rollback(0)
    assert np.array_equal(runner.forward(ids, rows=3), every[-3:])
    runner.rollback(0)
    assert np.array_equal(runner.forward(ids), every[-1:])


def test_tokens_follow_forward_and_rollback(runner: AnyRunner) -> None:
    runner.forward([5, 6, 7])
    runner.rollback(9)
    assert list(runner.tokens) == [5, 6, 7]
    runner.rollback(2)
    runner.forward([8, 9])
    assert list(runner.tokens) == [5, 6, 8, 9]
    runner.rollback(0)
    assert list(runner.tokens) == []


def test_logits_do_not_depend_on_the_pass_size(runner: AnyRunner, fresh: AnyRunner) -> None:
    ids = ids_of(80, seed=2)
    together = runner.forward(ids, rows=80).copy()
    singly = np.concatenate([fresh.forward([token]).copy() for token in ids])
    assert difference(together, singly) < FLOOR[type(runner)]
    assert together.std() > 1.0  # else the floor would prove nothing


def test_context_has_the_requested_size(runner: AnyRunner, fresh: AnyRunner) -> None:
    assert runner.context == CONTEXT
    ids = ids_of(CONTEXT, seed=3)
    runner.forward(ids[:-1])
    last = runner.forward(ids[-1:]).copy()
    assert difference(last, fresh.forward(ids)) < FLOOR[type(runner)]
    with pytest.raises(AssertionError):
        runner.forward([5])


OPERATIONS = st.one_of(
    st.tuples(st.just("round"), st.integers(1, 16), st.integers(0, 16)),  # tokens checked, of which rejected
    st.tuples(st.just("cut"), st.integers(0, 60), st.just(0)),  # an edited message: tokens forgotten
    st.tuples(st.just("cancel"), st.integers(1, 40), st.just(0)),
)


@settings(deadline=None, max_examples=60)
@given(operations=st.lists(OPERATIONS, min_size=1, max_size=40), seed=st.integers(0, 2**32))
def test_rejected_and_cancelled_tokens_leave_no_trace(
    compiled: tuple[AnyRunner, AnyRunner], operations: Sequence[tuple[str, int, int]], seed: int
) -> None:
    tormented, untouched = compiled
    tormented.rollback(0)
    untouched.rollback(0)
    tormented.forward(ids_of(30, seed))
    for number, operation in enumerate(operations):
        torment(tormented, operation, seed + number)
    expected_same(tormented, untouched, seed)


def test_paged_rollback_is_exact_to_the_bit(tiny_target: Path) -> None:
    runner = PagedRunner.load(tiny_target, "CPU", reference(), CONTEXT)
    prompt, rejected, following = ids_of(37, seed=5), ids_of(9, seed=6), ids_of(4, seed=7)
    runner.forward(prompt)
    clean = runner.forward(following, rows=4).copy()
    for _ in range(5):
        runner.rollback(len(prompt))
        runner.forward(rejected)
    runner.rollback(len(prompt))
    assert np.array_equal(runner.forward(following, rows=4), clean)


def test_stateful_cache_closes_holes(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = StatefulRunner(tiny_target, "CPU", reference(), CONTEXT)
    fresh = StatefulRunner(tiny_target, "CPU", reference(), CONTEXT)
    compactions: list[int] = []
    compact = runner._compact

    def counted() -> None:
        compactions.append(len(runner._mask))
        compact()

    monkeypatch.setattr(runner, "_compact", counted)
    runner.forward(ids_of(100, seed=8))
    for number in range(30):
        torment(runner, ("round", 8, 6), number)
        holes = len(runner._mask) - len(runner.tokens)
        assert holes <= max(32, 0.25 * len(runner._mask))
        assert sum(runner._mask) == len(runner.tokens)
    assert 3 <= len(compactions) <= 30 * 6 / 32
    assert runner._request.query_state()[0].state.shape[2] == len(runner._mask)
    expected_same(runner, fresh, seed=9)


def module_of(runner: AnyRunner) -> str:
    """Return the module that makes the passes of a runner."""
    return type(getattr(runner, "batcher", runner)).__module__


def test_cancelled_pass_does_not_spoil_the_next(long_runner: AnyRunner) -> None:
    before = ids_of(300, seed=13)
    for size in (1, 4, 256):
        following = ids_of(size, seed=20)
        long_runner.rollback(0)
        long_runner.forward(before)
        clean = long_runner.forward(following).copy()
        long_runner.rollback(len(before))
        long_runner.forward(following)  # the same again: nothing of the model changes its size
        long_runner.rollback(len(before))
        owner: Any = getattr(long_runner, "batcher", long_runner)
        request = owner._request = Counting(owner._request)
        cancel_midway(long_runner)
        assert not request.passes  # whoever stops an answer does not wait for a recovery
        owner._request = request.counted
        assert list(long_runner.tokens) in ([], before)
        if not long_runner.tokens:
            long_runner.forward(before)
        assert difference(long_runner.forward(following), clean) < FLOOR[type(long_runner)]


def test_pass_cancelled_at_the_end_can_be_repeated(runner: AnyRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = ids_of(CONTEXT, seed=21)
    runner.forward(ids[:-1])
    clean = runner.forward(ids[-1:]).copy()
    runner.rollback(CONTEXT - 1)
    with monkeypatch.context() as patch:
        patch.setattr(f"{module_of(runner)}.infer", _is_interrupted)
        with pytest.raises(Interrupted):
            runner.forward(ids[-1:])
    again = runner.forward(ids[len(runner.tokens) :])
    assert difference(again, clean) < FLOOR[type(runner)]


def test_failed_pass_leaves_no_tokens(runner: AnyRunner, fresh: AnyRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    runner.forward(ids_of(20, seed=17))
    with monkeypatch.context() as patch:
        patch.setattr(f"{module_of(runner)}.infer", _computes_then_fails)
        with pytest.raises(RuntimeError, match="out of memory"):
            runner.forward(ids_of(5, seed=18))
    expected_same(runner, fresh, seed=19)


def test_infer_is_cancelled_by_the_event() -> None:
    cancel = CancelEvent()
    request = SlowRequest(on_wait=lambda: None)
    runners.infer(request, Tickets(), cancel)
    assert request.log == ["start", "wait"]
    request = SlowRequest(on_wait=cancel.set)
    with pytest.raises(Interrupted):
        runners.infer(request, Tickets(), cancel)
    assert request.log == ["start", "wait", "cancel"]


def test_failed_infer_is_not_interrupted() -> None:
    def fail() -> None:
        raise RuntimeError("no such operation")

    with pytest.raises(RuntimeError, match="no such operation"):
        runners.infer(SlowRequest(on_wait=fail), Tickets(), CancelEvent())


class Counting:
    """An inference request that counts the passes without cancellation."""

    def __init__(self, counted: Any) -> None:
        self.counted = counted
        self.passes = 0

    def __getattr__(self, name: str) -> Any:
        self.passes += name == "infer"
        return getattr(self.counted, name)


class SlowRequest:
    """An inference request that calls a function while it is waited for."""

    def __init__(self, on_wait: Callable[[], None]) -> None:
        self.log: list[str] = []
        self._on_wait = on_wait

    def start_async(self) -> None:
        self.log.append("start")

    def wait(self) -> None:
        self.log.append("wait")
        self._on_wait()
        if "cancel" in self.log:
            raise RuntimeError("Infer Request was canceled")

    def cancel(self) -> None:
        self.log.append("cancel")


class CancelMidway(CancelEvent):
    """An event that is set soon after a pass has begun."""

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        with super().calling(callback):
            timer = threading.Timer(0.05, self.set)
            timer.start()
            yield
            timer.join()


def cancel_midway(runner: AnyRunner) -> None:
    """Begin a pass that would take seconds."""
    with pytest.raises(Interrupted):
        runner.forward(ids_of(15_000, seed=15), cancel=CancelMidway())


def torment(runner: AnyRunner, operation: tuple[str, int, int], seed: int) -> None:
    """Do one thing that may happen between prompts and rounds, if it fits."""
    name, count, rejected = operation
    length = len(runner.tokens)
    if name == "cut":
        runner.rollback(max(length - count, 0))
    elif length + count > runner.context - 4:
        return
    elif name == "round":
        runner.forward(ids_of(count, seed), rows=count)
        runner.rollback(length + count - min(rejected, count))
    else:
        cancel = CancelEvent()
        cancel.set()
        with pytest.raises(Interrupted):
            runner.forward(ids_of(count, seed), cancel=cancel)


def expected_same(tormented: AnyRunner, fresh: AnyRunner, seed: int) -> None:
    """Require that the next four rows of logits equal those of a fresh prefill."""
    following = ids_of(4, seed + 1)
    if tormented.tokens:
        fresh.forward(list(tormented.tokens))
    expected = fresh.forward(following, rows=4).copy()
    assert difference(tormented.forward(following, rows=4), expected) < FLOOR[type(tormented)]


def difference(first: Logits, second: Logits) -> float:
    return float(np.abs(first - second).max())


def ids_of(count: int, seed: int) -> list[int]:
    return list(probe_ids(600, count, seed))


def _computes_then_fails(request: Any, _tickets: Tickets, _cancel: threading.Event | None) -> None:
    request.infer()
    raise RuntimeError("out of memory")


def _is_interrupted(request: Any, _tickets: Tickets, _cancel: threading.Event | None) -> None:
    request.infer()
    raise Interrupted


def test_callback_of_a_set_event_is_called_at_once() -> None:
    cancel, called = CancelEvent(), list[int]()
    cancel.set()
    with cancel.calling(lambda: called.append(1)):
        assert called == [1]


def test_cancel_between_the_start_of_a_pass_and_its_kernels_is_not_lost(
    tiny_quantized: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, stop, reports = (
        PagedRunner.load(tiny_quantized, "CPU", properties(OWN), CONTEXT),
        CancelEvent(),
        list[str](),
    )
    expected = runner.forward([1, 2, 3]).copy()
    runner.rollback(0)
    run = Library.run

    def cancelled_before(*arguments: Any) -> None:
        stop.set()
        try:
            run(*arguments)
        except RuntimeError as error:
            reports.append(str(error))
            raise

    with monkeypatch.context() as patch:
        patch.setattr(Library, "run", cancelled_before)
        with pytest.raises(Interrupted):
            runner.forward([1, 2, 3], cancel=stop)
    assert reports == ["the run was cancelled"]
    assert np.array_equal(runner.forward([1, 2, 3]), expected)
