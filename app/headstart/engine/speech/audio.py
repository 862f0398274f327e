"""Sound as a model reads it: one channel, 16,000 numbers from -1 to 1 a second, of a recording or a microphone."""

import queue
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from headstart.errors import AudioError

RATE = 16_000  # samples a second
MAX_HOURS = 4
_BLOCK_S = 600  # of a recording that are decoded at a time
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


def listen(stop: threading.Event) -> Iterator[Any]:
    """Yield the sound of the microphone, as it arrives, until `stop` is set. Raises AudioError if there is none."""
    import miniaudio  # noqa: PLC0415 - likewise

    arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def take() -> Generator[None, bytes, None]:
        while True:
            data = yield
            arrived.put(data)

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
                data = arrived.get(timeout=1)
            except queue.Empty:
                continue
            yield np.frombuffer(data, "<i2").astype(np.float32) / 32768
    finally:
        device.close()
