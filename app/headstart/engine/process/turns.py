"""Answers for clients of the local server, each written when its turn has come among the orders of the process."""

import queue
import threading
from collections.abc import Callable, Iterator

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Engine, Event, Request
from headstart.errors import HeadstartError


class Turn:
    """One answer: asked for on a thread of the server, written on that of the process."""

    def __init__(self, request: Request, cancel: CancelEvent) -> None:
        """Nothing is written yet."""
        self._request, self._cancel = request, cancel
        self._events: queue.SimpleQueue[Event | HeadstartError | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._begun = self._withdrawn = False

    def events(self) -> Iterator[Event]:
        """What is written; nothing where it was cancelled before its turn. Raises what the engine raised."""
        with self._cancel.calling(self._withdraw):
            while (event := self._events.get()) is not None:
                if isinstance(event, HeadstartError):
                    raise event
                yield event

    def write(self, engine: Engine) -> Iterator[Event]:
        """Write it, and tell how it goes; `end` is to follow."""
        with self._lock:
            self._begun = not self._withdrawn
        if self._begun:
            for event in engine.generate(self._request, self._cancel):
                self._events.put(event)
                yield event

    def end(self, error: HeadstartError | None = None) -> None:
        """It is written, or cannot be."""
        self._events.put(error)

    def _withdraw(self) -> None:
        with self._lock:
            self._withdrawn = not self._begun
        if self._withdrawn:
            self._events.put(None)


class Shared:
    """The loaded model for the server, which asks for one answer at a time: so others have their turn between two."""

    def __init__(self, enqueue: Callable[[Turn], None]) -> None:
        """`enqueue` puts a turn behind what waits already."""
        self._enqueue = enqueue

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        turn = Turn(request, cancel or CancelEvent())
        self._enqueue(turn)
        yield from turn.events()
