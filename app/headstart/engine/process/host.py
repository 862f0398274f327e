"""The engine's process: orders on standard input, reports on standard output.

Three threads: one reads (and so can cancel), one loads and answers, one counts tokens while an answer is written. Where
several answers are written at the same time, each has a thread. The local server has threads of its own; its answers
wait in the same queue as the orders.
"""

import argparse
import faulthandler
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, Protocol, TypeVar

from headstart import __version__
from headstart.engine import memory
from headstart.engine.bench.race import RaceCancelled
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Engine, Event, Finish, FinishReason, Prefill, Request, Step
from headstart.engine.opening import LoadedEngine, LocalModels, ModelSource
from headstart.engine.protocol import (
    Bench,
    Benched,
    Cancel,
    Counted,
    CountTokens,
    Describe,
    Described,
    Finished,
    Forget,
    Generate,
    LineSplitter,
    Load,
    Loaded,
    Logged,
    ModelInfo,
    Order,
    Prefilled,
    PromptRead,
    ReadAhead,
    Ready,
    Report,
    ServerEnded,
    ServerReport,
    StartServer,
    Stepped,
    StopServer,
    TitleWritten,
    TurnEnded,
    TurnTaken,
    WriteTitle,
    decode_order,
    encode,
    failure,
)
from headstart.engine.tuning.messages import ForgetTuned, RecallTuned, Tune, TunedKnown, TuneEnded
from headstart.errors import EngineLostError, HeadstartError, ModelNotFoundError, OutOfMemoryError

Send = Callable[[Report], None]
_T = TypeVar("_T")
_REPORTS: Mapping[type[Event], Callable[[int, Any], Report]] = {Prefill: Prefilled, Step: Stepped, Finish: Finished}
_log = logging.getLogger(__name__)
_CHUNK = 65536  # bytes
_SIGN = 0.5  # seconds between two signs of life of an answer for the server
_END = object()
_IDLE = 5.0  # seconds without an order, after which the process may measure


class Turn:
    """One answer: asked for on a thread of the server, written on that of the process."""

    def __init__(self, request: Request, cancel: CancelEvent) -> None:
        """Nothing is written yet."""
        self._request, self._cancel = request, cancel
        self._events: queue.SimpleQueue[Event | HeadstartError | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._begun = self._withdrawn = False

    def events(self) -> Iterator[Event]:
        """The events of the answer; none if it was cancelled before its turn. Raises what the engine raised."""
        with self._cancel.calling(self._withdraw):
            while (event := self._events.get()) is not None:
                if isinstance(event, HeadstartError):
                    raise event
                yield event

    def write(self, engine: Engine) -> Iterator[Event]:
        """Write it, and yield its events; `end` must follow."""
        with self._lock:
            self._begun = not self._withdrawn
        if self._begun:
            for event in engine.generate(self._request, self._cancel):
                self._events.put(event)
                yield event

    def end(self, error: HeadstartError | None = None) -> None:
        """The answer is complete, or has failed."""
        self._events.put(error)

    def _withdraw(self) -> None:
        with self._lock:
            self._withdrawn = not self._begun
        if self._withdrawn:
            self._events.put(None)


class Shared:
    """The loaded model for the server, one answer at a time, so that orders have their turn between two answers."""

    def __init__(self, enqueue: Callable[[Turn], None]) -> None:
        """`enqueue` puts a turn behind what waits already."""
        self._enqueue = enqueue

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        turn = Turn(request, cancel or CancelEvent())
        self._enqueue(turn)
        yield from turn.events()


class Places:
    """Engines over one model, for answers at the same time. The first has all drafters, and is taken if it is free."""

    def __init__(self, engines: Sequence[Engine] = ()) -> None:
        """All are free."""
        self._all = tuple(engines)
        self._free = set(range(len(engines)))
        self._changed = threading.Condition()

    @property
    def are_several(self) -> bool:
        """Whether answers can be written at the same time."""
        return len(self._all) > 1

    @property
    def are_free(self) -> bool:
        """Whether nothing is being written."""
        return len(self._free) == len(self._all)

    def take(self) -> int:
        """The number of one, as soon as one is free."""
        with self._changed:
            self._changed.wait_for(lambda: self._free)
            place = min(self._free)
            self._free.remove(place)
            return place

    def engine(self, place: int) -> Engine:
        """That of a number."""
        return self._all[place]

    def give_back(self, place: int) -> bool:
        """It is free again; whether now all are."""
        with self._changed:
            self._free.add(place)
            self._changed.notify_all()
            return self.are_free

    def wait(self) -> None:
        """Until all are free."""
        with self._changed:
            self._changed.wait_for(lambda: self.are_free)


class Rest:
    """The last of several answers is written: there may be time for other things."""


class RunningServer(Protocol):
    """The local server, which sends its reports itself."""

    def stop(self) -> None:
        """End it, and wait for that."""
        ...


Serve = Callable[[StartServer, Shared, ModelInfo, Callable[[ServerReport], None]], RunningServer]
Work = Order | Turn | Rest
Verbs = Mapping[type[Work], Callable[[Any], None]]


class Host:
    """Carries out orders one after the other. A new verb is a message in `protocol` and a line in `_verbs`."""

    def __init__(self, models: ModelSource, send: Send, log: str, serve: Serve | None = None) -> None:
        """`log` is the file that errors name to the user; `serve` starts a local server."""
        self._models = models
        self._send = send
        self._log = log
        self._serve = serve
        self._server: RunningServer | None = None
        self._sign_of_life = 0.0
        self._opened: LoadedEngine | None = None
        self._places = Places()
        self._turns = 0  # of the server, at work
        self._turn_changes = threading.Lock()
        self._cancels: dict[int, CancelEvent] = {}  # made by the reader: a cancel may come before the work begins
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._asides: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._verbs: Verbs = {
            Load: self._load,
            Generate: self._generate,
            ReadAhead: self._read_ahead,
            WriteTitle: self._write_title,
            CountTokens: self._count,
            Forget: self._forget_chats,
            Describe: self._describe,
            Bench: self._bench,
            Tune: self._tune,
            RecallTuned: self._recall,
            ForgetTuned: self._forget,
            StartServer: self._start_server,
            StopServer: self._stop_server,
            Turn: self._write,
            Rest: lambda _: None,
        }

    def receive(self, line: bytes) -> None:
        """Take one line from the other side; on the reader's thread."""
        try:
            order = decode_order(line)
        except HeadstartError as error:
            self._send(failure(error))
            return
        match order:
            case Cancel(number):
                self._cancels.get(number, CancelEvent()).set()
            case CountTokens() | Describe() | RecallTuned() | ForgetTuned() | StartServer() | StopServer():
                self._asides.put(order)
            case Generate(number) | Bench(number) | Tune(number):
                self._cancels[number] = CancelEvent()
                self._work.put(order)
            case _:
                self._work.put(order)

    def serve(self) -> None:
        """Work until `close`, or for as long as the process lives."""
        threading.Thread(target=self._loop, args=(self._asides,), daemon=True, name="asides").start()
        self._send(Ready(os.getpid(), __version__))
        self._loop(self._work)

    def close(self) -> None:
        """Stop all work, and let `serve` return."""
        for cancel in tuple(self._cancels.values()):  # of which the other thread takes some away
            cancel.set()
        self._stop_server()
        self._work.put(None)
        self._asides.put(None)

    def _loop(self, orders: queue.SimpleQueue[Work | None]) -> None:
        while order := self._next(orders):
            if orders is self._work and self._places.are_several:
                if isinstance(order, Generate | Turn):
                    place = self._places.take()
                    threading.Thread(target=self._write_beside, args=(order, place), daemon=True, name="answer").start()
                    continue
                if not isinstance(order, ReadAhead | WriteTitle | Rest):  # which keep nobody waiting
                    self._places.wait()
            self._carry_out(order)

    def _write_beside(self, order: Generate | Turn, place: int) -> None:
        """An answer at the same time as others."""
        try:
            write = self._generate if isinstance(order, Generate) else self._write
            self._carry_out(order, partial(write, engine=self._places.engine(place)))
        finally:
            if self._places.give_back(place):
                self._work.put(Rest())

    def _carry_out(self, order: Work, verb: Callable[[Any], None] | None = None) -> None:
        """`verb`: another one than the usual."""
        try:
            (verb or self._verbs[type(order)])(order)
        except HeadstartError as error:
            told = memory.instead_of(error, loading=isinstance(order, Load)) or error
            self._send(failure(told, order))
        except Exception as error:  # noqa: BLE001 - a bug is reported, and the process goes on
            _log.exception("%s failed", type(order).__name__)
            told = memory.instead_of(error, loading=isinstance(order, Load)) or self._bug()
            self._send(failure(told, order))

    def _next(self, orders: queue.SimpleQueue[Work | None]) -> Work | None:
        """The next order; None to end. Until it comes, what was read is written to disk, and the model is measured."""
        if orders is self._asides or not self._opened or not self._places.are_free:
            return orders.get()
        try:
            while orders.empty() and self._opened.store_one():
                pass
        except Exception:  # noqa: BLE001 - without it prompts are only read again
            _log.exception("what was read cannot be kept")
        try:
            return orders.get(timeout=_IDLE)
        except queue.Empty:
            with self._opened.idle():
                return orders.get()

    def _load(self, order: Load) -> None:
        self._free()
        self._opened = self._models.open(order.options, self._send)
        self._places = Places([self._opened.engine, *self._opened.others])
        self._send(Loaded(self._opened.facts))

    def _generate(self, order: Generate, engine: Engine | None = None) -> None:
        try:
            for event in (engine or self._model().engine).generate(order.request, self._cancels[order.generation]):
                self._send(_REPORTS[type(event)](order.generation, event))
        finally:
            del self._cancels[order.generation]

    def _read_ahead(self, order: ReadAhead) -> None:
        """A fault is not told: the same request will meet it again."""
        with suppress(HeadstartError):
            if self._has_read(order.request):
                self._send(PromptRead(order.ticket))

    def _has_read(self, request: Request) -> bool:
        """Read the prompt; False where this engine cannot do so bit by bit, or where something else is asked for."""
        if self._opened is None or self._opened.read_ahead is None or not self._places.are_free:
            return False
        steps = self._opened.read_ahead(request)
        while self._work.empty():
            if next(steps, _END) is _END:
                return True
        return False

    def _write_title(self, order: WriteTitle) -> None:
        """A fault is not told: nobody waits for this."""
        text: str | None = ""
        with suppress(HeadstartError):
            if self._opened and self._opened.read_ahead:
                text = self._written_meanwhile(order.request) if self._has_read(order.request) else None
        self._send(TitleWritten(order.ticket, text))

    def _written_meanwhile(self, request: Request) -> str | None:
        """The answer, "" if it has no end; None where something else is asked for before that."""
        cancel, parts, reason = CancelEvent(), list[str](), None
        for event in self._model().engine.generate(request, cancel):
            if isinstance(event, Step):
                parts.append(event.text)
            elif isinstance(event, Finish):
                reason = event.reason
            if not self._work.empty():
                cancel.set()
        if reason is FinishReason.CANCELLED:
            return None
        return "".join(parts) if reason is FinishReason.STOP else ""

    def _write(self, turn: Turn, engine: Engine | None = None) -> None:
        """Errors go to the client; to the user of this process only if it is not reliable any more."""
        self._change_turns(1)
        try:
            for event in turn.write(engine or self._model().engine):
                self._give_sign(event)
        except Exception as error:
            told = memory.instead_of(error, loading=False) or error
            turn.end(told if isinstance(told, HeadstartError) else self._bug())
            if not isinstance(told, HeadstartError) or isinstance(told, OutOfMemoryError):
                raise
        else:
            turn.end()
        finally:
            self._change_turns(-1)

    def _change_turns(self, more: int) -> None:
        """Tell of it in the same order."""
        with self._turn_changes:
            self._turns += more
            if more > 0:
                self._send(TurnTaken(Prefill(0, 0)))
            elif not self._turns:
                self._send(TurnEnded())

    def _give_sign(self, event: Event) -> None:
        if isinstance(event, Prefill):
            self._send(TurnTaken(event))
        elif isinstance(event, Step) and time.monotonic() - self._sign_of_life >= _SIGN:
            self._sign_of_life = time.monotonic()
            self._send(TurnTaken())

    def _start_server(self, order: StartServer) -> None:
        assert self._serve, "this process has no local server"
        facts = self._model().facts
        self._stop_server()
        self._server = self._serve(order, Shared(self._work.put), facts, self._send)

    def _stop_server(self, order: StopServer | None = None) -> None:
        server, self._server = self._server, None
        if server:
            server.stop()
        elif order:
            self._send(ServerEnded())

    def _count(self, order: CountTokens) -> None:
        model = self._model()
        self._send(Counted(order.ticket, model.count(order.request, order.text), model.facts.context))

    def _forget_chats(self, order: Forget) -> None:
        if self._opened:
            self._opened.forget(order.chats)

    def _describe(self, order: Describe) -> None:
        self._send(Described(order.ticket, self._models.describe()))

    def _bench(self, order: Bench) -> None:
        result = self._unless_stopped(order.ticket, lambda stop: self._model().bench(order, self._send, stop))
        self._send(Benched(order.ticket, result))

    def _tune(self, order: Tune) -> None:
        self._free()
        findings = self._unless_stopped(order.ticket, lambda stop: self._models.tune(order, self._send, stop))
        self._send(TuneEnded(order.ticket, findings))

    def _recall(self, order: RecallTuned) -> None:
        self._send(TunedKnown(order.ticket, self._models.recall(order.load)))

    def _forget(self, order: ForgetTuned) -> None:
        self._models.forget(order.load)
        self._send(TunedKnown(order.ticket, None))

    def _unless_stopped(self, ticket: int, work: Callable[[CancelEvent], _T]) -> _T | None:
        try:
            return work(self._cancels[ticket])
        except RaceCancelled:
            return None
        finally:
            del self._cancels[ticket]

    def _free(self) -> None:
        opened, self._opened, self._places = self._opened, None, Places()
        if opened:
            opened.engine.close()

    def _model(self) -> LoadedEngine:
        if self._opened is None:
            raise ModelNotFoundError("No model is loaded; choose one first.")
        return self._opened

    def _bug(self) -> EngineLostError:
        return EngineLostError("The engine failed. Details are in the log: {path}", path=self._log)


class Sender:
    """Writes reports as whole lines, from any thread; ends the process if the pipe is closed."""

    def __init__(self, out: BinaryIO) -> None:
        """`out` is the pipe to the other side."""
        self._out = out
        self._lock = threading.Lock()

    def __call__(self, report: Report) -> None:
        """Send one report."""
        line = encode(report)
        with self._lock:
            try:
                self._out.write(line)
                self._out.flush()
            except OSError:  # the pipe is broken: the other side has gone
                os._exit(0)


class _SendingLog(logging.Handler):
    """Log records as reports, which reach the log file of the other side as whole lines."""

    def __init__(self, send: Send) -> None:
        super().__init__(logging.INFO)
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        self._send(Logged(record.levelname, record.name, self.format(record)))


def main(argv: Sequence[str] | None = None, models: ModelSource | None = None, serve: Serve | None = None) -> None:
    """Run the process; it ends when standard input does. `models`: others than this computer's; `serve`: see Host."""
    parser = argparse.ArgumentParser(prog="headstart-engine", description=__doc__, allow_abbrev=False)
    parser.add_argument("--validate", action="store_true", help="try how a model computes, for another process")
    parser.add_argument("--check-kernels", action="store_true", help="try the matrix products, for another process")
    parser.add_argument("--log", default="", help="the file of standard error, which errors name")
    arguments = parser.parse_args(argv)
    if arguments.check_kernels:  # what `selftest.proven` starts this program for
        from headstart.engine.kernels import selftest  # noqa: PLC0415 - numpy, which few processes need at once

        sys.exit(selftest.check() or None)
    orders, reports = _take_the_pipes()
    if arguments.validate:  # what `validation.Trial` starts this program for
        from headstart.engine import validation  # noqa: PLC0415 - numpy and more, which the engine loads with a model
        from headstart.engine.loading import builder  # noqa: PLC0415

        with os.fdopen(orders, "rb") as asked, os.fdopen(reports, "wb") as told:
            validation.answer(asked, told, builder)
        return
    faulthandler.enable()  # where it was when native code crashed; goes to standard error
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is meant for the other side, which then cancels
    send = Sender(os.fdopen(reports, "wb"))
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[_SendingLog(send)])
    host = Host(models or LocalModels(), send, arguments.log, serve)
    threading.Thread(target=_read, args=(orders, host), daemon=True, name="reader").start()
    host.serve()


def _take_the_pipes() -> tuple[int, int]:
    """Own descriptors for orders and reports, which no other code, native code included, can read or write."""
    orders, reports = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return orders, reports


def _read(orders: int, host: Host) -> None:
    lines = LineSplitter()
    while chunk := os.read(orders, _CHUNK):
        for line in lines.push(chunk):
            host.receive(line)
    os._exit(0)  # the other side has ended: never outlive it, whatever the other threads do
