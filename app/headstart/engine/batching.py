"""Many answers from one loaded model: what is asked of whoever writes them, and Headstart's own way, one by one."""

import threading
from collections.abc import Iterable, Iterator
from typing import Protocol

from headstart.engine.engine import Engine, Event, Request
from headstart.errors import ChatTemplateError, ContextOverflowError

Keyed = tuple[int, Request]
Refusal = ContextOverflowError | ChatTemplateError  # of one request; the others can be answered
Reported = tuple[int, Event | Refusal]  # with the key of the request


class Batcher(Protocol):
    """Answers requests, maybe several at once."""

    @property
    def size(self) -> int:
        """How many answers are written at once."""
        ...

    def answers(self, requests: Iterable[Keyed], cancel: threading.Event) -> Iterator[Reported]:
        """The events of all answers, each with its key; a Finish or a refusal is the last of its key.

        `requests` are taken one by one as there is room, so whoever makes them can end the batch after the present
        answers by giving none. Setting `cancel` ends the present ones, too, within one round.
        """
        ...

    def close(self) -> None:
        """Free the memory."""
        ...


class OneByOne:
    """An engine that answers the requests in turn, each with all the speculation it asks for."""

    size = 1

    def __init__(self, engine: Engine) -> None:
        """Closes the engine in the end."""
        self._engine = engine

    def answers(self, requests: Iterable[Keyed], cancel: threading.Event) -> Iterator[Reported]:
        """See Batcher.answers."""
        for key, request in requests:
            try:
                for event in self._engine.generate(request, cancel):
                    yield key, event
            except (ContextOverflowError, ChatTemplateError) as refusal:
                yield key, refusal

    def close(self) -> None:
        """See Batcher.close."""
        self._engine.close()
