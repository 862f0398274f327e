"""The model that turns texts into vectors, in an engine process of its own."""

from collections.abc import Sequence

from headstart.chat.folders.folder_files import lower_priority
from headstart.engine.engine import Finish, LoadOptions, VectorsRequest
from headstart.engine.process.client import EngineClient
from headstart.errors import ContextOverflowError
from headstart.library.library import Model, installed


def find_model() -> Model | None:
    """Return the installed model that turns texts into vectors; of several, the one that was made last."""
    models = [entry for entry in installed() if isinstance(entry, Model) and entry.manifest.embedding]
    return max(models, key=lambda model: model.manifest.created, default=None)


def installed_embedder() -> "EngineEmbedder | None":
    """Return an embedder of the model that `find_model` finds; None if there is none."""
    model = find_model()
    return EngineEmbedder(model) if model else None


class EngineEmbedder:
    """An embedding model whose process starts when it is needed."""

    def __init__(self, model: Model, *, in_background: bool = True) -> None:
        """`in_background`: other programs go first."""
        self.name = model.name
        self._model, self._in_background = model, in_background
        self._client = EngineClient()

    def start(self) -> None:
        """Load the model if it is not. Raises HeadstartError."""
        if self._client.pid is None:
            self._client.load(LoadOptions(self._model.folder))
            if self._in_background:
                lower_priority(self._client.pid)

    def embed(self, texts: Sequence[str], *, are_questions: bool = False) -> Sequence[bytes]:
        """Return a vector for each text; of one that is too long, for its beginning. Raises HeadstartError."""
        self.start()
        assert self._model.manifest.embedding, "it was found for this"
        prefix = self._model.manifest.embedding.query if are_questions else self._model.manifest.embedding.passage
        try:
            return self._vectors([prefix + text for text in texts])
        except ContextOverflowError:
            if len(texts) == 1:
                texts = [texts[0][: len(texts[0]) // 2]]
            return [vector for text in texts for vector in self.embed([text], are_questions=are_questions)]

    def close(self) -> None:
        """End the process; what another thread waits for fails."""
        self._client.close()

    def _vectors(self, texts: Sequence[str]) -> Sequence[bytes]:
        events = list(self._client.generate(VectorsRequest(inputs=tuple(texts)))) if texts else []
        return events[-1].vectors if events and isinstance(events[-1], Finish) else ()
