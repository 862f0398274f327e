"""A trimmed head gives the logits that the whole one gives, however its weights are stored and whoever shares them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.engine.engine import Numerics
from headstart.engine.runners.graph import Ids, keep_rows
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import properties
from headstart.engine.runners.stateful import StatefulRunner
from headstart.engine.runtime import core, openvino

VOCABULARY, WIDTH, GROUPS = 11, 12, 3  # an odd number of groups: rows of zero points end inside a byte
EXACT = properties(Numerics.EXACT)
KEPT = np.array([0, 3, 4, 10])
TEXT = [5, 1, 9, 9, 0]
Store = Callable[[Any], Any]  # the opset -> weights as numbers, [VOCABULARY, WIDTH]
Tail = Callable[[Any, Any], Any]


def _int4(ops: Any) -> Any:
    """As NNCF stores them: groups with scales and zero points."""
    weights = ops.convert(_packed((VOCABULARY, GROUPS, WIDTH // GROUPS)), "f16")
    zeros = ops.convert(_packed((VOCABULARY, GROUPS, 1)), "f16")
    scales = np.random.default_rng(2).uniform(0.1, 1.0, (VOCABULARY, GROUPS, 1)).astype(np.float16)
    scaled = ops.multiply(ops.subtract(weights, zeros), ops.constant(scales))
    shape = ops.constant(np.array([VOCABULARY, WIDTH], np.int64))
    return ops.convert(ops.reshape(scaled, shape, special_zero=False), "f32")


def _int8(ops: Any) -> Any:
    weights = ops.constant(np.random.default_rng(1).integers(0, 255, (VOCABULARY, WIDTH), np.uint8))
    zeros = ops.constant(np.full((VOCABULARY, 1), 127, np.uint8))
    scales = ops.constant(np.random.default_rng(2).uniform(0.01, 0.1, (VOCABULARY, 1)).astype(np.float16))
    return ops.convert(
        ops.multiply(ops.subtract(ops.convert(weights, "f16"), ops.convert(zeros, "f16")), scales), "f32"
    )


def _half(ops: Any) -> Any:
    return ops.convert(
        ops.constant(np.random.default_rng(1).normal(size=(VOCABULARY, WIDTH)).astype(np.float16)), "f32"
    )


STORES: dict[str, Store] = {"int4": _int4, "int8": _int8, "half": _half}
TAILS: dict[str, Tail] = {
    "bare": lambda ops, logits: logits,
    "scaled": lambda ops, logits: ops.multiply(ops.tanh(logits), ops.constant(np.float32(30.0))),
}


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_a_trimmed_head_gives_what_the_whole_head_gives(store: Store, tail: Tail) -> None:
    """With weights that the embeddings share: any token can still be read."""
    whole = run(model_with(store, tail))[0]
    trimmed = model_with(store, tail)
    assert keep_rows(trimmed, KEPT)
    np.testing.assert_array_equal(run(trimmed)[0], whole[..., KEPT])


def _bias(ops: Any, logits: Any) -> Any:
    return ops.add(logits, ops.constant(np.arange(VOCABULARY, dtype=np.float32)))


def _permuted(ops: Any) -> Any:
    weights = np.ones((WIDTH, VOCABULARY), np.float32)
    return ops.transpose(ops.constant(weights), ops.constant(np.array([1, 0], np.int64)))


@pytest.mark.parametrize(
    ("store", "tail"), [(_half, _bias), (_permuted, TAILS["bare"])], ids=["a bias for each token", "turned weights"]
)
def test_a_head_of_another_kind_is_left_alone(store: Store, tail: Tail) -> None:
    model = model_with(store, tail)
    before = run(model)
    assert not keep_rows(model, KEPT)
    assert len(model.outputs) == 1
    np.testing.assert_array_equal(run(model)[0], before[0])


@pytest.mark.parametrize("kind", [PagedRunner, StatefulRunner])
def test_a_runner_with_a_trimmed_head_gives_the_same_logits(tiny_draft: Path, kind: Any) -> None:
    kept: Ids = np.arange(3, 600, 7)
    whole, trimmed = (kind(tiny_draft, "CPU", EXACT, 128, ids) for ids in (None, kept))
    assert (whole.kept, trimmed.kept is kept) == (None, True)
    assert whole.vocabulary == trimmed.vocabulary == 624
    expected = whole.forward(TEXT, rows=3)
    np.testing.assert_allclose(trimmed.forward(TEXT, rows=3), expected[:, kept], atol=1e-5)


def model_with(store: Store, tail: Tail) -> Any:
    """Tokens [?, ?] -> embeddings -> head with the same weights -> tail."""
    ov = openvino()
    ops = ov.opset13
    tokens = ops.parameter([-1, -1], np.int64, name="tokens")
    weights = store(ops)
    embedded = ops.gather(weights, tokens, ops.constant(np.array(0, np.int64)))
    logits = ops.matmul(embedded, weights, transpose_a=False, transpose_b=True)
    return ov.Model([ops.result(tail(ops, logits))], [tokens])


def run(model: Any) -> list[Any]:
    """All outputs for TEXT."""
    compiled = core().compile_model(model.clone(), "CPU", dict(EXACT))
    results = compiled(np.array([TEXT], np.int64))
    return [result.copy() for result in results.values()]


def _packed(shape: tuple[int, ...]) -> Any:
    """Half bytes."""
    ov = openvino()
    content = np.random.default_rng(len(shape) + shape[-1]).integers(0, 256, -(-int(np.prod(shape)) // 2), np.uint8)
    return ov.op.Constant(ov.Tensor(content, ov.Shape(shape), ov.Type.u4), shared_memory=False)
