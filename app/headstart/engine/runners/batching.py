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
        ...

    @property
    def is_done(self) -> bool: ...


W = TypeVar("W", bound=Work)


class Schedule:
    """The turns of a target, and of models that draft for it, on the same cores."""

    def __init__(self, target: "Batcher[Any]") -> None:
        self.changed = threading.Condition()
        self.at_work = set[int]()  # numbers of sequences
        self.is_busy = False
        self.ended = 0.0  # when the last pass ended
        self._target = target
        self._due: dict[Batcher[Any], set[int]] = {target: set()}  # sequences that the next pass of each waits for

    def add(self, drafting: "Batcher[Any]") -> None:
        """Let a model that drafts take turns with the others."""
        self._due[drafting] = set()

    def is_due(self, batcher: "Batcher[Any]") -> bool:
        """Return whether a pass is to wait for a sequence, unless that takes too long."""
        return bool(self._due[batcher]) and time.monotonic() < self.ended + _PATIENCE

    def arrive(self, batcher: "Batcher[Any]", work: Work) -> None:
        """Note that a sequence wants a pass. The target waits for one that drafts, but not while its text is read."""
        waits = batcher is not self._target and work.count <= JOINED
        for each, due in self._due.items():
            if each is not self._target or not waits:
                due.discard(work.sequence)
        self.changed.notify_all()

    def leave(self, sequence: int) -> None:
        """Note that a sequence is no longer at work."""
        self.at_work.discard(sequence)
        for due in self._due.values():
            due.discard(sequence)
        self.changed.notify_all()

    def end(self, batcher: "Batcher[Any]", together: Sequence[Work]) -> None:
        """Note the end of a pass. After one of the target, each of its sequences drafts, or comes back at once."""
        sequences = {work.sequence for work in together} & self.at_work
        for each in self._due if batcher is self._target else (batcher,):
            self._due[each] = set(sequences)
        self.is_busy, self.ended = False, time.monotonic()
        self.changed.notify_all()


class Batcher(Generic[W]):
    """Makes the batches of one model. A single sequence does not wait for others."""

    def __init__(self) -> None:
        self.schedule = Schedule(self)
        self._waiting: list[W] = []

    @property
    def sharing(self) -> int:
        """The sequences at work, at least 1."""
        return max(len(self.schedule.at_work), 1)

    def draft_for(self, target: "Batcher[Any]") -> None:
        """Take turns with a target, of which each sequence has one here."""
        self.schedule = target.schedule
        self.schedule.add(self)

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
            schedule.arrive(self, current)
            together = self._wait(current, cancel)
        if together:
            try:
                self._read(together, cancel)
            finally:
                with schedule.changed:
                    schedule.end(self, together)
        if current.error is not None:
            raise current.error
        return current

    def _read(self, together: Sequence[W], cancel: CancelEvent | None) -> None:
        """Make one pass. An error is stored in each work, and not raised."""
        raise NotImplementedError

    def _wait(self, current: W, cancel: CancelEvent | None) -> list[W]:
        """Wait until the pass is made, or until its thread is to make it. Return the batch then."""
        schedule = self.schedule
        while not current.is_done:
            if current in self._waiting:
                if cancel is not None and cancel.is_set():
                    self._waiting.remove(current)
                    raise Interrupted
                # Nobody waits for a sequence that reads or ends a prompt, nor a second time for a late one.
                is_time = not schedule.is_due(self) and not schedule.is_busy
                if is_time and current in (together := self._together()):
                    self._waiting = [work for work in self._waiting if work not in together]
                    schedule.is_busy = True
                    return together
            schedule.changed.wait(_LOOK)
        return []

    def _together(self) -> list[W]:
        """Return the works of the next pass: the one that waits longest, and as many others as there is room for."""
        together, room = list[W](), JOINED
        for work in self._waiting:
            if not together or work.count <= room:
                together.append(work)
                room -= work.count
        return together
