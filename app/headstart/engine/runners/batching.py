"""Batches: passes that several threads want of one model at the same time are made as one.

Each thread writes a sequence. After a batch, the next one waits a moment for all sequences that were in it and are
still at work. Models that draft for a target share its schedule: one pass at a time, as all run on the same cores.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from headstart.engine.cancelling import CancelEvent
from headstart.engine.runners.runner import Interrupted, raise_if_set

JOINED = 64  # most tokens of a pass for several sequences; a longer pass is for one, and can be cancelled
_PATIENCE = 0.03  # seconds after a pass to wait for its sequences; app/docs/policy.md explains both
_LOOK = 0.01  # seconds between two checks for a cancelled wait


class Work(Protocol):
    """The part of one thread in a pass."""

    sequence: int  # its number
    error: BaseException | None

    @property
    def count(self) -> int:
        """The tokens."""

    @property
    def is_done(self) -> bool: ...


W = TypeVar("W", bound=Work)


class Schedule:
    """The turns of a target, and of models that draft for it, on the same cores. The target has place 0.

    It refers to no model, so that a model which is dropped is freed at once.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.at_work = set[int]()  # numbers of sequences
        self.is_busy = False
        self._ended = 0.0  # when the last pass ended
        self._due = [set[int]()]  # by place: sequences that the next pass waits for

    def add(self) -> int:
        """Let a model that drafts take turns with the others. Return its place."""
        self._due.append(set())
        return len(self._due) - 1

    def is_due(self, place: int) -> bool:
        """Return whether a pass is to wait for a sequence, unless that takes too long."""
        return bool(self._due[place]) and time.monotonic() < self._ended + _PATIENCE

    def arrive(self, place: int, work: Work) -> None:
        """Note that a sequence is ready for a pass. The target waits for drafting ones, but not for a prompt."""
        target, *drafting = self._due
        for due in drafting:
            due.discard(work.sequence)
        if place == 0 or work.count > JOINED:
            target.discard(work.sequence)
        self.changed.notify_all()

    def leave(self, sequence: int) -> None:
        """Note that a sequence is no longer at work."""
        self.at_work.discard(sequence)
        for due in self._due:
            due.discard(sequence)
        self.changed.notify_all()

    def end(self, place: int, together: Sequence[Work]) -> None:
        """Note the end of a pass. After one of the target, each of its sequences drafts, or comes back at once."""
        sequences = {work.sequence for work in together} & self.at_work
        for each in [place] if place else range(len(self._due)):
            self._due[each] = set(sequences)
        self.is_busy, self._ended = False, time.monotonic()
        self.changed.notify_all()


class Batcher(Generic[W]):
    """The passes of one model, made in batches. A single sequence does not wait for others."""

    def __init__(self) -> None:
        self.schedule, self._place = Schedule(), 0
        self._waiting: list[W] = []

    @property
    def sharing(self) -> int:
        """The sequences at work, at least 1."""
        return max(len(self.schedule.at_work), 1)

    def draft_for(self, target: "Batcher[Any]") -> None:
        """Take turns with a target. Each of its sequences has a sequence here."""
        self.schedule, self._place = target.schedule, target.schedule.add()

    @contextmanager
    def at_work(self, sequence: int) -> Iterator[None]:
        """Let sequences that shared a pass with this one wait a moment for it before the next pass, while inside."""
        with self.schedule.changed:
            self.schedule.at_work.add(sequence)
        try:
            yield
        finally:
            with self.schedule.changed:
                self.schedule.leave(sequence)

    def run(self, current: W, cancel: CancelEvent | None) -> W:
        """Make a pass, alone or together with those of other threads.

        Raises Interrupted when `cancel` is set before its pass, or before the end of a pass of its own.
        """
        raise_if_set(cancel)
        schedule = self.schedule
        with schedule.changed:
            self._waiting.append(current)
            schedule.arrive(self._place, current)
            together = self._wait(current, cancel)
        if together:
            try:
                self._read(together, cancel)
            finally:
                with schedule.changed:
                    schedule.end(self._place, together)
        if current.error is not None:
            raise current.error
        return current

    def _read(self, together: Sequence[W], cancel: CancelEvent | None) -> None:
        """Make one pass. An error is stored in each work, and not raised."""
        raise NotImplementedError

    def _wait(self, current: W, cancel: CancelEvent | None) -> list[W]:
        """Wait until another thread has made the pass, or until this thread has to. Return the batch in that case."""
        schedule = self.schedule
        while not current.is_done:
            if current in self._waiting:
                if cancel is not None and cancel.is_set():
                    self._waiting.remove(current)
                    raise Interrupted
                # Nobody waits for a sequence that reads or ends a prompt, nor a second time for a late one.
                is_time = not schedule.is_due(self._place) and not schedule.is_busy
                if is_time and current in (together := self._together()):
                    self._waiting = [work for work in self._waiting if work not in together]
                    schedule.is_busy = True
                    return together
            schedule.changed.wait(_LOOK)
        return []

    def _together(self) -> list[W]:
        """Return the work of the next pass: the one that has waited longest, and as many others as fit."""
        together, room = list[W](), JOINED
        for work in self._waiting:
            if not together or work.count <= room:
                together.append(work)
                room -= work.count
        return together
