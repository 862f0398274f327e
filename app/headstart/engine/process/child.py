"""One child process that speaks the engine's protocol, and the threads that read it. Never restarts it."""

import contextlib
import queue
import subprocess
import threading
from collections.abc import Sequence
from typing import IO

from headstart.engine.process.watch import LOOK, Patience, Watch
from headstart.engine.protocol import LineSplitter, Logged, Order, Report, decode_report, encode
from headstart.engine.supervision import CLOSE_GRACE, KILL_GRACE, OUT_OF_MEMORY, Journal, processor_seconds, signal_name
from headstart.errors import EngineLostError, HeadstartError

_CHUNK = 65536  # bytes


class EngineProcess:
    """Orders go in, reports come out; what else it prints goes to the journal."""

    def __init__(self, command: Sequence[str], journal: Journal, patience: Patience | None = None) -> None:
        """Start it. Raises EngineLostError when there is no such program."""
        self._journal = journal
        self._watch = Watch(patience)
        self._reports: queue.SimpleQueue[Report | HeadstartError | None] = queue.SimpleQueue()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise EngineLostError(
                "The engine cannot be started ({error}); install Headstart again.", error=error
            ) from None
        self.pid = self._process.pid
        readers = ((self._read_reports, self._process.stdout), (self._read_errors, self._process.stderr))
        self._threads = [threading.Thread(target=target, args=(pipe,), daemon=True) for target, pipe in readers]
        for thread in self._threads:
            thread.start()

    def send(self, order: Order) -> None:
        """Send one order; to a dead process nothing, as its end is noticed on reading."""
        assert self._process.stdin
        self._watch.note_order(order)
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(encode(order))

    def next(self, timeout: float | None) -> Report | None:
        """The next report, None when there is none in time.

        Raises ProtocolError, and EngineLostError at the end and for one that hangs.
        """
        try:
            report = self._wait(timeout)
        except queue.Empty:
            return None
        if report is None:
            ending = self._ending()
            if ending == OUT_OF_MEMORY:
                raise EngineLostError(
                    "The engine stopped unexpectedly ({ending}, as the system does when memory runs out); it "
                    "starts again when it is needed.",
                    ending=ending,
                )
            raise EngineLostError(
                "The engine stopped unexpectedly ({ending}); see {path}.", ending=ending, path=self._journal.path
            )
        if isinstance(report, HeadstartError):
            raise report
        self._watch.note_report(report)
        return report

    def close(self, grace: float = CLOSE_GRACE) -> None:
        """Close its input, wait `grace` seconds, then kill."""
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._wait_for_its_end()
        for thread in self._threads:
            thread.join(KILL_GRACE)

    def _wait(self, timeout: float | None) -> Report | HeadstartError | None:
        while True:
            try:
                return self._reports.get(timeout=LOOK if timeout is None else timeout)
            except queue.Empty:
                self._require_sign()
                if timeout is not None:
                    raise

    def _require_sign(self) -> None:
        silence = self._watch.look(lambda: processor_seconds(self.pid))
        if silence:
            raise EngineLostError(silence.sentence)

    def _wait_for_its_end(self) -> None:
        try:
            self._process.wait(KILL_GRACE)
        except subprocess.TimeoutExpired:
            self._journal.write(f"process {self.pid} does not end although it was killed; it is left alone")

    def _ending(self) -> str:
        code = self._process.wait()
        return signal_name(-code) if code < 0 else f"exit code {code}"

    def _read_reports(self, pipe: IO[bytes]) -> None:
        lines = LineSplitter()
        with pipe:
            while chunk := pipe.read(_CHUNK):
                for line in lines.push(chunk):
                    self._take(line)
        self._reports.put(None)

    def _take(self, line: bytes) -> None:
        try:
            report = decode_report(line)
        except HeadstartError as error:
            self._reports.put(error)
            return
        if isinstance(report, Logged):
            self._journal.write(f"{report.level} {report.source}: {report.text}")
        else:
            self._reports.put(report)

    def _read_errors(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                self._journal.write(line.decode("utf-8", "replace"))
