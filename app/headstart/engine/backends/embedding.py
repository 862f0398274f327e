"""Models that turn texts into vectors, by OpenVINO. Texts are computed one at a time, without padding."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Event,
    Finish,
    FinishReason,
    Prefill,
    Request,
    VectorsRequest,
    no_stats,
)
from headstart.engine.hardware import devices
from headstart.engine.hardware.runtime import core, openvino_genai
from headstart.engine.loading import loading, memory
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.errors import ContextOverflowError, MakesVectorsError, SettingsError, UnloadableModelError
from headstart.library.manifest import EmbeddingSpec, Manifest

_IDS, _MASK = "input_ids", "attention_mask"  # other inputs are zero for a text without a pair


def load(resolved: ResolvedOptions) -> "EmbeddingEngine":
    """Load an embedding model. Raises BrokenModelError, DeviceError and MemoryBudgetError."""
    target = resolved.target
    device = devices.require(resolved.options.device)
    memory.require(resolved)
    loading.verify_files(target, device)
    try:
        # 16-bit arithmetic would round, and these vectors are compared with others that were not rounded.
        exact = {"INFERENCE_PRECISION_HINT": "f32"} if devices.kind(device) == "CPU" else {}
        compiled = core().compile_model(target.folder / "openvino_model.xml", device, exact)
        tokenizer = openvino_genai().Tokenizer(str(target.folder))
    except RuntimeError as error:  # OpenVINO has no other kind
        raise UnloadableModelError(target.manifest.name, error) from None
    return EmbeddingEngine(target.manifest, compiled, tokenizer)


class EmbeddingEngine:
    """An Engine that answers only requests for vectors."""

    def __init__(self, model: Manifest, compiled: Any, tokenizer: Any) -> None:
        assert model.embedding, "it was exported for this"
        self.model, self.context = model, model.context_length
        self._embedding: EmbeddingSpec = model.embedding
        self._names = [port.any_name for port in compiled.inputs]
        self._request, self._tokenizer = compiled.create_infer_request(), tokenizer

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """Yield the progress, then the vectors. Raises MakesVectorsError for any other request."""
        if not isinstance(request, VectorsRequest):
            raise MakesVectorsError(self.model.name)
        texts = [self._ids(text, place) for place, text in enumerate(request.inputs)]
        total, done, vectors = sum(map(len, texts)), 0, list[bytes]()
        yield Prefill(0, total)
        for ids in texts:
            if cancel and cancel.is_set():
                yield Finish(FinishReason.CANCELLED, no_stats(), ())
                return
            vectors.append(self._vector(ids).astype("<f4").tobytes())
            done += len(ids)
            yield Prefill(done, total)
        stats = replace(no_stats(), prompt_tokens=total, context_length=self.context)
        yield Finish(FinishReason.STOP, stats, (), tuple(vectors))

    def count(self, request: ConversationRequest | None, text: str) -> int:
        """Count the tokens of a text. Raises MakesVectorsError for a request."""
        if request:
            raise MakesVectorsError(self.model.name)
        return len(self._tokenizer.encode(text).input_ids.data[0])

    def close(self) -> None:
        self._request = None

    def _ids(self, text: str | Sequence[int], place: int) -> Sequence[int]:
        """Encode a text. Raises SettingsError and ContextOverflowError."""
        ids = self._tokenizer.encode(text).input_ids.data[0].tolist() if isinstance(text, str) else text
        if not ids or max(ids) >= self.model.tokenizer.vocabulary:
            raise SettingsError("Text {place} has no token that the model knows: correct it.", place=place)
        if len(ids) > self.context:
            raise ContextOverflowError(
                "Text {place} has {count} tokens, but the model reads {room} at a time: send it in pieces.",
                place=place,
                count=len(ids),
                room=self.context,
            )
        return ids

    def _vector(self, ids: Sequence[int]) -> Any:
        row = np.array([ids], np.int64)
        fed = {name: row if name == _IDS else np.full_like(row, int(name == _MASK)) for name in self._names}
        states = self._request.infer(fed)[0][0]  # [tokens, width]
        match self._embedding.pooling:
            case "cls":
                pooled = states[0]
            case "last":
                pooled = states[-1]
            case _:
                pooled = states.mean(axis=0, dtype=np.float64)
        return pooled / max(float(np.linalg.norm(pooled)), 1e-12) if self._embedding.normalized else pooled
