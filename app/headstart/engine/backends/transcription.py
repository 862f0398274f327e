"""Models that write down what is said in a recording."""

from collections.abc import Iterator
from math import ceil
from pathlib import Path

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Event,
    Finish,
    FinishReason,
    Prefill,
    Request,
    TranscriptionRequest,
    no_stats,
)
from headstart.engine.loading import memory
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.engine.speech import audio
from headstart.engine.speech.audio import RATE
from headstart.engine.speech.transcriber import Transcriber
from headstart.errors import TranscribesError, UnloadableModelError
from headstart.library.manifest import Manifest


def load(resolved: ResolvedOptions) -> "TranscriptionEngine":
    """Load a model that writes down speech. Raises BrokenModelError and MemoryBudgetError."""
    target = resolved.target
    memory.require(resolved)
    try:
        return TranscriptionEngine(target.manifest, Transcriber(target.folder))
    except (OSError, RuntimeError) as error:  # OpenVINO has no other kind
        raise UnloadableModelError(target.manifest.name, error) from None


class TranscriptionEngine:
    """An Engine that answers only requests for transcripts."""

    context = 0  # a recording may be of any length

    def __init__(self, model: Manifest, transcriber: Transcriber) -> None:
        self.model, self._transcriber = model, transcriber

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """Yield the progress, then the transcript. Raises TranscribesError for any other request."""
        if not isinstance(request, TranscriptionRequest):
            raise TranscribesError(self.model.name)
        self._transcriber.require(request.language, translate=request.translate)
        samples = audio.read(Path(request.recording))
        length, transcript = len(samples) / RATE, None
        yield Prefill(0, ceil(length))
        for transcript in self._transcriber.follow(
            samples,
            request.language,
            prompt=request.prompt,
            translate=request.translate,
            temperature=request.temperature,
        ):
            if cancel and cancel.is_set():
                yield Finish(FinishReason.CANCELLED, no_stats(), ())
                return
            yield Prefill(int(transcript.seconds), ceil(length))
        yield Finish(FinishReason.STOP, no_stats(), (), transcript=transcript)

    def count(self, _request: ConversationRequest | None, _text: str) -> int:
        """Raise TranscribesError: it reads no text."""
        raise TranscribesError(self.model.name)

    def close(self) -> None:
        """Do nothing: the model is freed with its last user."""
