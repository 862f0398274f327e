"""Stretches of speech in a recording, found by the Silero model, and the cuts at pauses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headstart.engine.hardware.runtime import core

_FRAME = 512  # samples that get one probability
_BEFORE = 64  # samples before a frame that the model reads with it
_FRAMES = 4096  # that are computed at a time
_SPEECH, _SILENCE = 0.5, 0.35  # probabilities at which speech begins and ends
_MARGIN = 3  # frames around speech that are kept
_PAUSE = 10  # frames; a shorter silence is no pause
_STATE = (1, 1, 128)


class SpeechSpan(NamedTuple):
    """A stretch of speech, in samples."""

    start: int
    end: int


class Pauses:
    """Voice activity detection by the Silero model, loaded from its file."""

    def __init__(self, path: Path) -> None:
        """Load the model. Raises RuntimeError for a file that is not one."""
        compiled = core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        self._request = compiled.create_infer_request()

    def speech(self, samples: Any) -> list[SpeechSpan]:
        """Return the stretches of speech, apart from each other by a pause."""
        return [
            SpeechSpan(max(start - _MARGIN, 0) * _FRAME, min((end + _MARGIN) * _FRAME, len(samples)))
            for start, end in _stretches(self.probabilities(samples))
        ]

    def probabilities(self, samples: Any) -> Any:
        """Return the probability of speech in each frame."""
        frames = np.zeros((-(-len(samples) // _FRAME), _FRAME), np.float32)
        frames.reshape(-1)[: len(samples)] = samples
        before = np.zeros((len(frames), _BEFORE), np.float32)
        before[1:] = frames[:-1, -_BEFORE:]
        rows, states, found = np.concatenate([before, frames], 1), (np.zeros(_STATE, np.float32),) * 2, []
        for start in range(0, len(rows), _FRAMES):
            results = self._request.infer([rows[start : start + _FRAMES], *states])
            found.append(results[0].copy())
            states = results[1].copy(), results[2].copy()
        return np.concatenate(found) if found else np.zeros(0, np.float32)


def _stretches(probabilities: Any) -> Iterator[tuple[int, int]]:
    """Yield first and last + 1 frame of each stretch of speech."""
    start, end = None, 0  # of a stretch; its end is the first frame of the silence that may end it
    for frame, probability in enumerate(probabilities.tolist()):
        if probability >= _SPEECH or (start is not None and end == frame and probability >= _SILENCE):
            start, end = frame if start is None else start, frame + 1
        elif start is not None and frame - end >= _PAUSE:
            yield start, end
            start = None
    if start is not None:
        yield start, end


def chunks(speech: list[SpeechSpan], max_samples: int) -> Iterator[SpeechSpan]:
    """Join stretches of speech to chunks of `max_samples` samples; cut one that is longer."""
    chunk: SpeechSpan | None = None
    for span in speech:
        for start in range(span.start, span.end, max_samples):
            end = min(start + max_samples, span.end)
            if chunk and end - chunk.start <= max_samples:
                chunk = SpeechSpan(chunk.start, end)
            else:
                if chunk:
                    yield chunk
                chunk = SpeechSpan(start, end)
    if chunk:
        yield chunk
