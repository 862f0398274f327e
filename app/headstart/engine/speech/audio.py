"""Sound as a model reads it: mono, 16,000 samples a second from -1 to 1, from a recording or a microphone."""

import math
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from headstart.errors import AudioError

RATE = 16_000  # samples a second
MAX_HOURS = 4
_BLOCK_S = 600  # of a recording that are decoded at a time
_QUIET = 5.0  # powers of ten from a quiet room to the loudest sound
_MICROPHONE_MS = 100  # of sound that arrive at a time


def read(path: Path) -> Any:
    """Return the sound of a recording. Raises AudioError."""
    import soundfile  # noqa: PLC0415 - only needed for a recording

    if not path.is_file():
        raise AudioError("There is no file {path}; check the path.", path=path)
    try:
        with soundfile.SoundFile(path) as file:
            if file.frames > MAX_HOURS * 3600 * file.samplerate:
                raise AudioError(
                    "{name} is longer than {hours} hours; cut it, and take the parts one after the other.",
                    name=path.name,
                    hours=MAX_HOURS,
                )
            blocks = file.blocks(_BLOCK_S * file.samplerate, dtype="float32", always_2d=True)
            parts = [_resampled(block.mean(axis=1), file.samplerate) for block in blocks]
    except (soundfile.SoundFileError, OSError, ValueError):
        raise AudioError(
            "{name} is no recording that can be read here; save it as WAV, MP3, FLAC, Ogg or Opus, and take that.",
            name=path.name,
        ) from None
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _resampled(samples: Any, rate: int) -> Any:
    if rate == RATE:
        return samples
    import miniaudio  # noqa: PLC0415 - likewise

    kind = miniaudio.SampleFormat.FLOAT32
    sound = miniaudio.convert_frames(kind, 1, rate, samples.astype("<f4").tobytes(), kind, 1, RATE)
    return np.frombuffer(sound, "<f4").copy()


def listen(stop: threading.Event, on_level: Callable[[float], object] = lambda _: None) -> Iterator[Any]:
    """Yield the sound of the microphone, as it arrives, until `stop` is set. Raises AudioError if there is none.

    `on_level` is told how loud it is, from 0 to 1, on another thread.
    """
    import miniaudio  # noqa: PLC0415 - likewise

    arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def take() -> Generator[None, bytes, None]:
        while True:
            block = np.frombuffer((yield), "<i2").astype(np.float32) / 32768
            on_level(level(block))
            arrived.put(block)

    taker = take()
    next(taker)
    try:
        device = miniaudio.CaptureDevice(
            input_format=miniaudio.SampleFormat.SIGNED16,
            nchannels=1,
            sample_rate=RATE,
            buffersize_msec=_MICROPHONE_MS,
            app_name="Headstart",
        )
        device.start(taker)
    except miniaudio.MiniaudioError:
        raise AudioError(
            "No microphone can be used: connect one, and allow Headstart to use it in the settings of your system."
        ) from None
    try:
        while not stop.is_set():
            try:
                blocks = [arrived.get(timeout=1)]
            except queue.Empty:
                continue
            while not arrived.empty():  # what arrived while the caller was at work
                blocks.append(arrived.get())
            yield np.concatenate(blocks)
    finally:
        device.close()


def play(path: Path, stop: threading.Event, on_level: Callable[[float], object] = lambda _: None) -> Iterator[Any]:
    """Yield the sound of a recording at the pace of a microphone. Raises AudioError."""
    sound, started, place = read(path), time.monotonic(), 0
    while place < len(sound) and not stop.wait(_MICROPHONE_MS / 1000):
        due = min(int((time.monotonic() - started) * RATE), len(sound))
        on_level(level(sound[place:due]))
        yield sound[place:due]
        place = due


def level(block: Any) -> float:
    """Return the perceived loudness of a sound from 0 to 1, by decibels above a quiet room."""
    power = float(np.square(block).mean()) if len(block) else 0.0
    return min(max(1 + math.log10(power + 1e-12) / _QUIET, 0.0), 1.0)
