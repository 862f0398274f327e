"""GenAI's pipelines for CPU and GPU, driven step by step: a step is a round, and between two an answer can end."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from headstart.engine.backends.genai.configuration import lost
from headstart.engine.backends.genai.writing import Assignment, Batch, End
from headstart.engine.cancelling import CancelEvent
from headstart.engine.runtime import openvino

_ENDS = {"STOP": End.STOP, "LENGTH": End.LENGTH}
_REMEDY = "ask again, or use --engine headstart"


class SteppedWriter:
    """Writes one answer at a time; the cache of beginnings that GenAI keeps serves the next prompt."""

    rounds_told = True

    def __init__(self, pipeline: Any) -> None:
        """`pipeline` is an `openvino_genai.ContinuousBatchingPipeline`."""
        self._pipeline = pipeline
        self._keys = itertools.count()

    def write(self, assignment: Assignment, cancel: CancelEvent) -> Iterator[Batch]:
        """See Writer.write. Each step reads a piece of the prompt, or makes a round."""
        handle = self._begun(assignment)
        ended = False
        try:
            while not ended and not cancel.is_set():
                batch = self._step(handle)
                ended = batch.end is not None
                yield batch
        finally:
            if not ended:
                handle.cancel()
                self._settle()
        if not ended:
            yield Batch((), 0.0, End.CANCELLED)

    def _begun(self, assignment: Assignment) -> Any:
        ids = openvino().Tensor(np.array([assignment.prompt], np.int64))
        try:
            return self._pipeline.add_request(next(self._keys), ids, assignment.configuration)
        except RuntimeError as error:
            raise lost(error, _REMEDY) from None

    def _step(self, handle: Any) -> Batch:
        started = time.perf_counter()
        try:
            self._pipeline.step()
        except RuntimeError as error:
            raise lost(error, _REMEDY) from None
        spent = (time.perf_counter() - started) * 1000.0
        return received(handle, spent, "load the model with a smaller --context")

    def _settle(self) -> None:
        """One more step lets go of a cancelled answer."""
        try:
            self._pipeline.step()
        except RuntimeError as error:
            raise lost(error, _REMEDY) from None


def received(handle: Any, milliseconds: float, remedy: str) -> Batch:
    """What the last step gave to one answer. Raises EngineLostError where its keys and values found no memory."""
    tokens: list[int] = []
    end = None
    while handle.can_read():
        for output in handle.read().values():
            tokens += output.generated_ids
            end = _ENDS.get(output.finish_reason.name, end)
    if handle.get_status().name == "IGNORED":
        raise lost(RuntimeError("no memory is left for its cache"), remedy)
    return Batch(tuple(tokens), milliseconds, end)
