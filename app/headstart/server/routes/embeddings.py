"""OpenAI's API for embeddings, and the ranking of texts by them."""

import struct
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from operator import mul
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from headstart.engine.engine import Finish, VectorsRequest
from headstart.server.requests import fields
from headstart.server.requests.bodies import MAX_INT, ModelName, NonEmpty, TokenId, TokenIds
from headstart.server.requests.content import texts_or_tokens
from headstart.server.requests.fields import Unsupported

MAX_TEXTS = 2048  # texts of a request for embeddings, or tokens of a text sent as tokens, as in OpenAI's API
_Encoding = Annotated[Literal["float", "base64"], Meta(description="Numbers, or 32-bit floats in base64.")]
_Dimensions = Annotated[
    int, Meta(ge=1, le=MAX_INT, description="Numbers to cut the vectors to, which are then scaled to the length 1.")
]


@dataclass(frozen=True, kw_only=True)
class EmbeddingRequest:
    """Body of POST /v1/embeddings."""

    unsupported: ClassVar[Unsupported] = fields.EMBEDDINGS

    model: ModelName | None = None
    input: Annotated[
        NonEmpty | Annotated[list[NonEmpty | TokenId | TokenIds], Meta(min_length=1, max_length=MAX_TEXTS)],
        Meta(description="A text, its tokens, or a list of texts or of lists of tokens."),
    ]
    encoding_format: _Encoding | None = None
    dimensions: (
        Annotated[int, Meta(ge=1, le=MAX_INT, description="Cut the vectors to this length, and scale them to 1.")]
        | None
    ) = None
    user: Annotated[str, Meta(description="Has no effect.")] | None = None


@dataclass(frozen=True)
class Document:
    """A text to be ranked."""

    text: NonEmpty


@dataclass(frozen=True, kw_only=True)
class RerankRequest(EmbeddingRequest):
    """Body of POST /v1/rerank."""

    input: Annotated[str | list[str | TokenId | TokenIds], Meta(description="Made of the two fields below.")] = ""
    query: Annotated[NonEmpty, Meta(description="What the texts are compared with.")]
    documents: Annotated[list[NonEmpty | Document], Meta(min_length=1, max_length=MAX_TEXTS - 1)]
    top_n: Annotated[int, Meta(ge=1, le=MAX_INT, description="Default: all.")] | None = None
    return_documents: Annotated[bool, Meta(description="Return the texts, too.")] | None = None

    @property
    def texts(self) -> list[str]:
        return [document if isinstance(document, str) else document.text for document in self.documents]


def embedding_to_request(body: EmbeddingRequest) -> VectorsRequest:
    """Translate a request for the embeddings of texts. Raises RefusedError."""
    return VectorsRequest(inputs=tuple(texts_or_tokens(body.input, "input")))


EMBEDS = ("embedding",)  # capabilities of a model for embeddings


@dataclass(frozen=True)
class Embedding:
    """The vector of a text: numbers, or 32-bit floats in base64."""

    embedding: list[float] | str
    index: int
    object: Literal["embedding"] = "embedding"


@dataclass(frozen=True)
class EmbeddingUsage:
    """Tokens of all texts of a request."""

    prompt_tokens: int
    total_tokens: int


@dataclass(frozen=True)
class Embeddings:
    """Reply to POST /v1/embeddings."""

    data: list[Embedding]
    model: str
    usage: EmbeddingUsage
    object: Literal["list"] = "list"


@dataclass(frozen=True)
class RankedDocument:
    """The text of a document."""

    text: str


@dataclass(frozen=True)
class Ranking:
    """A document, by its place in the request, and the cosine of the angle between its vector and the query's."""

    index: int
    relevance_score: float
    document: RankedDocument | UnsetType = UNSET


@dataclass(frozen=True)
class Reranked:
    """Reply to POST /v1/rerank: the best document first."""

    model: str
    results: list[Ranking]
    usage: EmbeddingUsage


def embeddings_of(finish: Finish, model: str, dimensions: int | None, *, as_base64: bool) -> Embeddings:
    """Return the reply with the embeddings of a request.

    If `dimensions` is given, the vectors are cut to it and scaled back to the length 1.
    """
    vectors = [_shorten(vector, dimensions) if dimensions else vector for vector in finish.vectors]
    data = [
        Embedding(b64encode(vector).decode() if as_base64 else _floats(vector), index)
        for index, vector in enumerate(vectors)
    ]
    tokens = finish.stats.prompt_tokens
    return Embeddings(data, model, EmbeddingUsage(tokens, tokens))


def reranked(embeddings: Embeddings, texts: Sequence[str], limit: int | None, *, with_texts: bool) -> Reranked:
    """Rank texts by the embeddings of a query and of each text, all of them numbers; return `limit` of them."""
    query, *vectors = [each.embedding for each in embeddings.data if not isinstance(each.embedding, str)]
    results = [
        Ranking(index, _cosine(query, vector), RankedDocument(text) if with_texts else UNSET)
        for index, (vector, text) in enumerate(zip(vectors, texts, strict=True))
    ]
    results.sort(key=lambda each: -each.relevance_score)
    return Reranked(embeddings.model, results[:limit], embeddings.usage)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(map(mul, one, other))) / (hypot(*one) * hypot(*other) or 1.0)


def _shorten(vector: bytes, dimensions: int) -> bytes:
    numbers = _floats(vector)[:dimensions]
    length = hypot(*numbers) or 1.0
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


def _floats(vector: bytes) -> list[float]:
    return [number for (number,) in struct.iter_unpack("<f", vector)]
