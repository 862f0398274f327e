"""The schedule of a target and of a model that drafts for it: who waits for whom."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from headstart.engine.cancelling import CancelEvent
from headstart.engine.runners import batching
from headstart.engine.runners.batching import JOINED, Batcher
from tests.support.waiting import PATIENCE, wait_until

LATE = 0.05  # seconds


@dataclass(eq=False)
class Tokens:
    """The work of a sequence: some tokens."""

    sequence: int
    count: int = 1
    is_done: bool = False
    error: BaseException | None = None


class Noting(Batcher[Tokens]):
    """A model that records the sequences of each pass, and whether two models ran at once."""

    running = threading.Lock()

    def __init__(self) -> None:
        super().__init__()
        self.passes: list[list[int]] = []

    def _read(self, together: Sequence[Tokens], _cancel: CancelEvent | None) -> None:
        assert self.running.acquire(blocking=False), "two models ran at once"
        time.sleep(0.002)
        self.passes.append(sorted(work.sequence for work in together))
        for work in together:
            work.is_done = True
        self.running.release()


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Noting:
    """A target that always waits for its sequences."""
    monkeypatch.setattr(batching, "_PATIENCE", 2 * PATIENCE)
    return Noting()


@pytest.fixture
def draft(target: Noting) -> Noting:
    draft = Noting()
    draft.draft_for(target)
    return draft


def at_once(target: Noting, *works: Callable[[], None]) -> None:
    """Let the sequences read a token in one pass, then do their works."""

    def run(sequence: int) -> None:
        with target.at_work(sequence):
            target.run(Tokens(sequence), None)
            works[sequence]()

    target.schedule.is_busy = True
    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(run, sequence) for sequence in range(len(works))]
        wait_until(lambda: len(target._waiting) == len(works))
        target.schedule.is_busy = False
    for each in running:
        each.result()


def guess(target: Noting, draft: Noting, sequence: int, count: int, late: float = 0.0) -> None:
    """Draft some tokens, then have them checked."""
    time.sleep(late)
    for _ in range(count):
        draft.run(Tokens(sequence), None)
    target.run(Tokens(sequence, 1 + count), None)


@pytest.mark.parametrize(
    ("first", "second", "drafted"),
    [
        pytest.param((2, LATE), (2,), [[0, 1], [0, 1]], id="both draft together"),
        pytest.param((3,), (1,), [[0, 1], [0], [0]], id="one drafts longer"),
        pytest.param((1,), (0, LATE), [[0]], id="one drafts nothing"),
    ],
)
def test_target_waits_for_all_that_draft(
    target: Noting, draft: Noting, first: tuple[Any, ...], second: tuple[Any, ...], drafted: list[list[int]]
) -> None:
    at_once(target, partial(guess, target, draft, 0, *first), partial(guess, target, draft, 1, *second))
    assert draft.passes == drafted
    assert target.passes == [[0, 1], [0, 1]]


def test_target_does_not_wait_while_the_draft_reads_a_text(target: Noting, draft: Noting) -> None:
    went_on = threading.Event()

    def catch_up() -> None:
        draft.run(Tokens(0, JOINED + 1), None)
        assert went_on.wait(PATIENCE)

    def go_on() -> None:
        target.run(Tokens(1), None)
        went_on.set()

    at_once(target, catch_up, go_on)
    assert target.passes == [[0, 1], [1]]


def test_nobody_waits_for_an_answer_that_ended(target: Noting, draft: Noting) -> None:
    at_once(target, lambda: None, partial(guess, target, draft, 1, 2))
    assert draft.passes == [[1], [1]]
    assert target.passes == [[0, 1], [1]]
