"""GenAI's stateful pipeline, as an NPU runs it: it writes in a thread of its own and can be stopped at each token."""

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from headstart.engine.backends.genai.configuration import lost
from headstart.engine.backends.genai.writing import Assignment, Batch, End
from headstart.engine.cancelling import CancelEvent
from headstart.engine.runtime import openvino, openvino_genai

_REMEDY = "ask again, or use --device CPU"
_ENDS = {"STOP": End.STOP, "LENGTH": End.LENGTH}


class StreamedWriter:
    """Writes one answer at a time. What comes at once need not be a round, so origins are not told."""

    rounds_told = False

    def __init__(self, pipeline: Any) -> None:
        """`pipeline` is an `openvino_genai.LLMPipeline`."""
        self._pipeline = pipeline

    def write(self, assignment: Assignment, cancel: CancelEvent) -> Iterator[Batch]:
        """See Writer.write. Reading the prompt cannot be cut short: GenAI asks nobody until it is done."""
        answer = _Stream(self._pipeline, assignment)
        thread = threading.Thread(target=answer.run, name="genai-stream", daemon=True)
        thread.start()
        last = time.perf_counter()
        try:
            with cancel.calling(answer.end_waiting):
                while (tokens := answer.next()) is not None and not cancel.is_set():
                    now = time.perf_counter()
                    yield Batch(tokens, (now - last) * 1000.0)
                    last = now
        finally:
            answer.stop.set()
            thread.join()
        if answer.error is not None:
            raise lost(answer.error, _REMEDY)
        yield Batch((), 0.0, End.CANCELLED if cancel.is_set() else answer.end)


class _Stream:
    """One answer on its way from GenAI's thread to ours."""

    def __init__(self, pipeline: Any, assignment: Assignment) -> None:
        self.stop = threading.Event()
        self.error: RuntimeError | None = None
        self.end = End.STOP
        self._pipeline = pipeline
        self._assignment = assignment
        self._tokens: queue.SimpleQueue[tuple[int, ...] | None] = queue.SimpleQueue()

    def run(self) -> None:
        """In the thread that GenAI works in."""
        ids = np.array([self._assignment.prompt], np.int64)
        tensor = openvino().Tensor
        inputs = openvino_genai().TokenizedInputs(tensor(ids), tensor(np.ones_like(ids)))
        try:
            result = self._pipeline.generate(inputs, self._assignment.configuration, _streamer(self._take))
            self.end = _ENDS.get(result.finish_reasons[0].name, End.STOP)
        except RuntimeError as error:
            self.error = error
        self._tokens.put(None)

    def next(self) -> tuple[int, ...] | None:
        """What came next; None at the end, or when nobody wants more."""
        return self._tokens.get()

    def end_waiting(self) -> None:
        """Nobody wants more."""
        self._tokens.put(None)

    def _take(self, tokens: tuple[int, ...]) -> bool:
        """Whether to go on."""
        self._tokens.put(tokens)
        return not self.stop.is_set()


def _streamer(take: Any) -> Any:
    """GenAI wants an object of its own class, which only exists once it is loaded."""
    genai = openvino_genai()

    class Streamer(genai.StreamerBase):  # type: ignore[misc,name-defined]
        def write(self, token: int | list[int]) -> Any:
            tokens = (token,) if isinstance(token, int) else tuple(token)
            return genai.StreamingStatus.RUNNING if take(tokens) else genai.StreamingStatus.CANCEL

        def end(self) -> None:
            """Nothing is held back."""

    return Streamer()
