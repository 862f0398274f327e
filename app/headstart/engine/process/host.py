"""The engine's process: orders on standard input, reports on standard output.

One thread reads orders, so that a cancel is seen at once. One loads and answers. One counts tokens meanwhile. Several
answers at the same time have a thread each. The local server has threads of its own; its requests wait in the same
queues as the orders.
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
from headstart.engine.bench.race import RaceCancelled
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import ConversationRequest, Engine, Event, Finish, FinishReason, Prefill, Request, Step
from headstart.engine.loading import memory
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
_SIGN_OF_LIFE_S = 0.5  # between two reports of an answer for the server
_END_OF_PROMPT = object()
_IDLE_S = 5.0  # without an order, before the process measures the model


class QueuedRequest:
    """A request of the local server: queued on the server's thread, answered on the thread of the model."""

    def __init__(self, request: Request, cancel: CancelEvent) -> None:
        self.request, self._cancel = request, cancel
        self._events: queue.SimpleQueue[Event | HeadstartError | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._begun = self._withdrawn = False

    def events(self) -> Iterator[Event]:
        """Yield the events of the answer; none if it was cancelled while it waited. Raises what the engine raises."""
        with self._cancel.calling(self._withdraw):
            while (event := self._events.get()) is not None:
                if isinstance(event, HeadstartError):
                    raise event
                yield event

    def write(self, engine: Engine) -> Iterator[Event]:
        """Write the answer and yield its events; the caller must call `end` afterwards."""
        with self._lock:
            self._begun = not self._withdrawn
        if self._begun:
            for event in engine.generate(self.request, self._cancel):
                self._events.put(event)
                yield event

    def end(self, error: HeadstartError | None = None) -> None:
        """Complete the answer, or fail it with `error`."""
        self._events.put(error)

    def _withdraw(self) -> None:
        with self._lock:
            self._withdrawn = not self._begun
        if self._withdrawn:
            self._events.put(None)


class SharedEngine:
    """The loaded model as the server sees it; its requests wait in one queue with the orders."""

    def __init__(self, enqueue: Callable[[QueuedRequest], None]) -> None:
        self._enqueue = enqueue

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        queued = QueuedRequest(request, cancel or CancelEvent())
        self._enqueue(queued)
        yield from queued.events()


class EnginePool:
    """Engines over one model, for answers at the same time. The first one has all drafters and is preferred."""

    def __init__(self, engines: Sequence[Engine] = ()) -> None:
        self._all = tuple(engines)
        self._free = set(range(len(engines)))
        self._changed = threading.Condition()

    @property
    def has_several(self) -> bool:
        return len(self._all) > 1

    @property
    def is_free(self) -> bool:
        """True while no answer is being written."""
        return len(self._free) == len(self._all)

    def acquire(self) -> int:
        """Wait for a free engine and return its number."""
        with self._changed:
            self._changed.wait_for(lambda: self._free)
            number = min(self._free)
            self._free.remove(number)
            return number

    def engine(self, number: int) -> Engine:
        return self._all[number]

    def release(self, number: int) -> bool:
        """Free an engine; return whether all are free now."""
        with self._changed:
            self._free.add(number)
            self._changed.notify_all()
            return self.is_free

    def wait_until_free(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.is_free)


class IdleMarker:
    """A queue entry that wakes the worker when the last of several answers has ended."""


class ServerHandle(Protocol):
    """The local server, which sends its own reports."""

    def stop(self) -> None:
        """End the server and wait until it has ended."""


Serve = Callable[[StartServer, SharedEngine, ModelInfo, Callable[[ServerReport], None]], ServerHandle]
Work = Order | QueuedRequest | IdleMarker
Verbs = Mapping[type[Work], Callable[[Any], None]]


class Host:
    """Carries out orders one after the other. A new verb is a message in `protocol` and a line in `_verbs`."""

    def __init__(self, models: ModelSource, send: Send, log: str, serve: Serve | None = None) -> None:
        """Create a host that is not serving yet.

        `send` takes every report. `log` is the file that errors name to you; `serve` starts the local server.
        """
        self._models = models
        self._send = send
        self._log = log
        self._serve = serve
        self._server: ServerHandle | None = None
        self._last_sign = 0.0
        self._opened: LoadedEngine | None = None
        self._pool = EnginePool()
        self._num_queued = 0  # requests of the server at work
        self._queued_lock = threading.Lock()
        self._cancels: dict[int, CancelEvent] = {}  # the reader adds them: a cancel may come before the work begins
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._side_orders: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
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
            QueuedRequest: self._write_queued,
            IdleMarker: lambda _: None,
        }

    def receive(self, line: bytes) -> None:
        """Handle a line from the client, on the reader's thread."""
        try:
            order = decode_order(line)
        except HeadstartError as error:
            self._send(failure(error))
            return
        match order:
            case Cancel(number):
                self._cancels.get(number, CancelEvent()).set()
            case CountTokens() | Describe() | RecallTuned() | ForgetTuned() | StartServer() | StopServer():
                self._side_orders.put(order)
            case Generate(number, request):
                self._cancels[number] = CancelEvent()
                self._queue_for(request).put(order)
            case Bench(number) | Tune(number):
                self._cancels[number] = CancelEvent()
                self._work.put(order)
            case _:
                self._work.put(order)

    def _queue_for(self, request: Request) -> "queue.SimpleQueue[Work | None]":
        """Return the queue for a request. One that only asks for tokens waits for no answer once a model is loaded."""
        return self._side_orders if request.tokens_only and self._opened else self._work

    def serve(self) -> None:
        """Work until `close`."""
        threading.Thread(target=self._loop, args=(self._side_orders,), daemon=True, name="asides").start()
        self._send(Ready(os.getpid(), __version__))
        self._loop(self._work)

    def close(self) -> None:
        """Cancel all work and let `serve` return."""
        for cancel in tuple(self._cancels.values()):  # copied: other threads remove some
            cancel.set()
        self._stop_server()
        self._work.put(None)
        self._side_orders.put(None)

    def _loop(self, orders: queue.SimpleQueue[Work | None]) -> None:
        while order := self._next(orders):
            if orders is self._work and self._pool.has_several:
                if isinstance(order, Generate | QueuedRequest):
                    number = self._pool.acquire()
                    threading.Thread(
                        target=self._write_in_thread, args=(order, number), daemon=True, name="answer"
                    ).start()
                    continue
                if not isinstance(order, ReadAhead | WriteTitle | IdleMarker):  # no client waits for these
                    self._pool.wait_until_free()
            self._carry_out(order)

    def _write_in_thread(self, order: Generate | QueuedRequest, number: int) -> None:
        """Write an answer beside others."""
        try:
            write = self._generate if isinstance(order, Generate) else self._write_queued
            self._carry_out(order, partial(write, engine=self._pool.engine(number)))
        finally:
            if self._pool.release(number):
                self._work.put(IdleMarker())

    def _carry_out(self, order: Work, verb: Callable[[Any], None] | None = None) -> None:
        """Carry out an order, as another verb if given; report the error if it fails."""
        try:
            (verb or self._verbs[type(order)])(order)
        except HeadstartError as error:
            fault = memory.instead_of(error, loading=isinstance(order, Load)) or error
            self._send(failure(fault, order))
        except Exception as error:  # noqa: BLE001 - a bug is reported, and the process continues
            _log.exception("%s failed", type(order).__name__)
            fault = memory.instead_of(error, loading=isinstance(order, Load)) or self._internal_error()
            self._send(failure(fault, order))

    def _next(self, orders: queue.SimpleQueue[Work | None]) -> Work | None:
        """Return the next order, or None to end. Store prompts and measure the model while there is none."""
        if orders is self._side_orders or not self._opened or not self._pool.is_free:
            return orders.get()
        try:
            while orders.empty() and self._opened.store_one():
                pass
        except Exception:  # noqa: BLE001 - without it prompts are only read again
            _log.exception("what was read cannot be kept")
        try:
            return orders.get(timeout=_IDLE_S)
        except queue.Empty:
            with self._opened.idle():
                return orders.get()

    def _load(self, order: Load) -> None:
        self._free()
        self._opened = self._models.open(order.options, self._send)
        self._pool = EnginePool([self._opened.engine, *self._opened.others])
        self._send(Loaded(self._opened.model_info))

    def _generate(self, order: Generate, engine: Engine | None = None) -> None:
        try:
            for event in (engine or self._model().engine).generate(order.request, self._cancels[order.generation]):
                self._send(_REPORTS[type(event)](order.generation, event))
        finally:
            del self._cancels[order.generation]

    def _read_ahead(self, order: ReadAhead) -> None:
        """Read a prompt. Errors are not reported: the request itself will meet them again."""
        with suppress(HeadstartError):
            if self._try_read(order.request):
                self._send(PromptRead(order.ticket))

    def _try_read(self, request: ConversationRequest) -> bool:
        """Read the prompt; return False if the engine cannot do so in steps or another order came first."""
        if self._opened is None or self._opened.read_ahead is None or not self._pool.is_free:
            return False
        steps = self._opened.read_ahead(request)
        while self._work.empty():
            if next(steps, _END_OF_PROMPT) is _END_OF_PROMPT:
                return True
        return False

    def _write_title(self, order: WriteTitle) -> None:
        """Write a title. Errors are not reported: no client waits for it."""
        text: str | None = ""
        with suppress(HeadstartError):
            if self._opened and self._opened.read_ahead:
                text = self._write_while_idle(order.request) if self._try_read(order.request) else None
        self._send(TitleWritten(order.ticket, text))

    def _write_while_idle(self, request: Request) -> str | None:
        """Return the answer, "" if it has no natural end, or None if another order came first."""
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

    def _write_queued(self, queued: QueuedRequest, engine: Engine | None = None) -> None:
        """Answer a request of the server.

        Its client gets the errors. They are reported to this process's user only if the process is not reliable
        any more.
        """
        self._count_queued(1)
        try:
            for event in queued.write(engine or self._model().engine):
                self._report_progress(event)
        except Exception as error:
            fault = memory.instead_of(error, loading=False) or error
            queued.end(fault if isinstance(fault, HeadstartError) else self._internal_error())
            if not isinstance(fault, HeadstartError) or isinstance(fault, OutOfMemoryError):
                raise
        else:
            queued.end()
        finally:
            self._count_queued(-1)

    def _count_queued(self, more: int) -> None:
        """Update the number of the server's answers at work, and report it in the same order."""
        with self._queued_lock:
            self._num_queued += more
            if more > 0:
                self._send(TurnTaken(Prefill(0, 0)))
            elif not self._num_queued:
                self._send(TurnEnded())

    def _report_progress(self, event: Event) -> None:
        if isinstance(event, Prefill):
            self._send(TurnTaken(event))
        elif isinstance(event, Step) and time.monotonic() - self._last_sign >= _SIGN_OF_LIFE_S:
            self._last_sign = time.monotonic()
            self._send(TurnTaken())

    def _start_server(self, order: StartServer) -> None:
        assert self._serve, "this process has no local server"
        model_info = self._model().model_info
        self._stop_server()
        engine = SharedEngine(lambda queued: self._queue_for(queued.request).put(queued))
        self._server = self._serve(order, engine, model_info, self._send)

    def _stop_server(self, order: StopServer | None = None) -> None:
        server, self._server = self._server, None
        if server:
            server.stop()
        elif order:
            self._send(ServerEnded())

    def _count(self, order: CountTokens) -> None:
        model = self._model()
        self._send(Counted(order.ticket, model.count(order.request, order.text), model.model_info.context))

    def _forget_chats(self, order: Forget) -> None:
        if self._opened:
            self._opened.forget(order.chats)

    def _describe(self, order: Describe) -> None:
        self._send(Described(order.ticket, self._models.describe()))

    def _bench(self, order: Bench) -> None:
        result = self._run_job(order.ticket, lambda stop: self._model().bench(order, self._send, stop))
        self._send(Benched(order.ticket, result))

    def _tune(self, order: Tune) -> None:
        self._free()
        findings = self._run_job(order.ticket, lambda stop: self._models.tune(order, self._send, stop))
        self._send(TuneEnded(order.ticket, findings))

    def _recall(self, order: RecallTuned) -> None:
        self._send(TunedKnown(order.ticket, self._models.recall(order.load)))

    def _forget(self, order: ForgetTuned) -> None:
        self._models.forget(order.load)
        self._send(TunedKnown(order.ticket, None))

    def _run_job(self, ticket: int, work: Callable[[CancelEvent], _T]) -> _T | None:
        try:
            return work(self._cancels[ticket])
        except RaceCancelled:
            return None
        finally:
            del self._cancels[ticket]

    def _free(self) -> None:
        opened, self._opened, self._pool = self._opened, None, EnginePool()
        if opened:
            opened.engine.close()

    def _model(self) -> LoadedEngine:
        if self._opened is None:
            raise ModelNotFoundError("No model is loaded; choose one first.")
        return self._opened

    def _internal_error(self) -> EngineLostError:
        return EngineLostError("The engine failed. Details are in the log: {path}", path=self._log)


class Sender:
    """Writes reports as whole lines, from any thread; ends the process if the pipe is closed."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    def __call__(self, report: Report) -> None:
        line = encode(report)
        with self._lock:
            try:
                self._out.write(line)
                self._out.flush()
            except OSError:  # the other side has ended
                os._exit(0)


class _SendingLog(logging.Handler):
    """Sends log records as reports, so that they reach the other side's log file as whole lines."""

    def __init__(self, send: Send) -> None:
        super().__init__(logging.INFO)
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        self._send(Logged(record.levelname, record.name, self.format(record)))


def main(argv: Sequence[str] | None = None, models: ModelSource | None = None, serve: Serve | None = None) -> None:
    """Run the process until standard input ends.

    `models` replaces those of this computer; `serve` starts the local server.
    """
    parser = argparse.ArgumentParser(prog="headstart-engine", description=__doc__, allow_abbrev=False)
    parser.add_argument("--validate", action="store_true", help="try how a model computes, for another process")
    parser.add_argument("--check-kernels", action="store_true", help="try the matrix products, for another process")
    parser.add_argument("--log", default="", help="the file of standard error, which errors name")
    arguments = parser.parse_args(argv)
    if arguments.check_kernels:  # for `selftest.proven`
        from headstart.engine.kernels import selftest  # noqa: PLC0415 - numpy, which few processes need at once

        sys.exit(selftest.check() or None)
    orders, reports = _take_the_pipes()
    if arguments.validate:  # for `validation.Trial`
        from headstart.engine.loading import validation  # noqa: PLC0415 - numpy and more, which the engine loads with a model
        from headstart.engine.loading.loading import builder  # noqa: PLC0415

        with os.fdopen(orders, "rb") as orders_pipe, os.fdopen(reports, "wb") as fault:
            validation.answer(orders_pipe, fault, builder)
        return
    faulthandler.enable()  # writes the stack to standard error if native code crashes
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other side handles Ctrl+C and cancels
    send = Sender(os.fdopen(reports, "wb"))
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[_SendingLog(send)])
    host = Host(models or LocalModels(), send, arguments.log, serve)
    threading.Thread(target=_read, args=(orders, host), daemon=True, name="reader").start()
    host.serve()


def _take_the_pipes() -> tuple[int, int]:
    """Take over standard input and output, so that native libraries cannot write to them. Return both descriptors."""
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
    os._exit(0)  # the other side has ended: never outlive it
