"""The third engine: a server on another computer answers. Loads nothing and knows no tokenizer."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing

from headstart import keys
from headstart.engine.engine import (
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Origin,
    Piece,
    Remote,
    Request,
    Round,
    Step,
    Timing,
)
from headstart.engine.remote import asking, faults, models
from headstart.engine.remote.connection import Connection
from headstart.engine.remote.meter import Meter
from headstart.engine.remote.models import RemoteModel
from headstart.engine.remote.reading import AnswerReader, Chunk, StrangeAnswerError
from headstart.engine.text import StopStrings

_ROUND = Round((), 0, 0, Origin.UNKNOWN, Timing())  # a server tells neither tokens nor rounds


class RemoteEngine:
    """A model of a server. A step is what came in one chunk; token ids are not told."""

    def __init__(self, connection: Connection, model: RemoteModel) -> None:
        """The connection is closed with the engine."""
        self.model = model
        self._connection = connection

    @property
    def remote(self) -> Remote:
        """The server."""
        return self._connection.remote

    def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        """See Engine.generate; also raises RemoteError, and what came before it is the part of the answer to keep."""
        asking.require_conversation(request, self.remote)
        stopped = cancel or threading.Event()
        meter = Meter(self.model.context)
        reason: FinishReason | None = None
        stops = StopStrings(request.stop)  # some servers show the stop string, too
        for chunk in self._chunks(request, stopped):
            meter.add(chunk)
            reason = chunk.reason or reason
            text, at_stop = stops.push(chunk.text)
            yield from _steps(text)
            if at_stop:
                reason = FinishReason.STOP
                break
        yield from _steps(stops.flush())
        if reason is None:
            reason = FinishReason.CANCELLED if stopped.is_set() else FinishReason.STOP
        yield Finish(reason, meter.stats(), ())

    def close(self) -> None:
        """See Engine.close."""
        self._connection.close()

    def _chunks(self, request: Request, stopped: threading.Event) -> Iterator[Chunk]:
        reader = AnswerReader()
        with closing(self._connection.stream(asking.body(request, self.model.name), stopped)) as answer:
            for data in answer:
                try:
                    yield from reader.push(data)
                except StrangeAnswerError as error:
                    raise faults.of_strange_answer(self.remote, str(error)) from None
        if not reader.is_done and not stopped.is_set():
            raise faults.of_break(self.remote)


def _steps(text: str) -> Iterator[Step]:
    if text:
        yield Step(text, _ROUND, (Piece(text, Origin.UNKNOWN),))


def connect(remote: Remote) -> Connection:
    """A connection with the server's key. Raises SettingsError for a key or certificate that cannot be used."""
    key = keys.find(remote.name)
    return Connection(remote, key.secret if key else None)


def load(options: LoadOptions) -> RemoteEngine:
    """Make sure that the server is there and has the model. Raises RemoteError, ModelNotFoundError, SettingsError."""
    assert options.remote, "the caller asks for a remote model"
    with ExitStack() as undoing:
        connection = undoing.enter_context(closing(connect(options.remote)))
        engine = RemoteEngine(connection, models.chosen(connection))
        undoing.pop_all()
    return engine
