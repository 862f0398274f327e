"""The output head is computed for chosen rows or kept tokens only, and gives what the whole one gives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from headstart.engine.hardware.runtime import core, openvino
from headstart.engine.runners.graph import (
    CHOSEN_ROWS,
    HIDDEN_STATES,
    Ids,
    add_taps,
    gather_rows,
    keep_rows,
    tapped_layers,
)
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import reference
from headstart.engine.runners.stateful import StatefulRunner

VOCABULARY, WIDTH, GROUPS = 11, 12, 3  # an odd number of groups: rows of zero points end inside a byte
EXACT = reference()
KEPT = np.array([0, 3, 4, 10])
TEXT = np.array([[5, 1, 9, 9, 0, 2, 7]])
Store = Callable[[Any], Any]  # the opset -> weights as numbers, [VOCABULARY, WIDTH]
Tail = Callable[[Any, Any], Any]  # (opset, logits) -> result


def numbers(*shape: int) -> Any:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def packed(*shape: int) -> Any:
    ov = openvino()
    content = np.random.default_rng(len(shape) + shape[-1]).integers(0, 256, -(-int(np.prod(shape)) // 2), np.uint8)
    return ov.op.Constant(ov.Tensor(content, ov.Shape(shape), ov.Type.u4), shared_memory=False)


def int4(ops: Any) -> Any:
    """Return INT4 weights as NNCF stores them: groups with scales and zero points."""
    weights = ops.convert(packed(VOCABULARY, GROUPS, WIDTH // GROUPS), "f16")
    zeros = ops.convert(packed(VOCABULARY, GROUPS, 1), "f16")
    scaled = ops.multiply(ops.subtract(weights, zeros), ops.constant(numbers(VOCABULARY, GROUPS, 1).astype(np.float16)))
    shape = ops.constant(np.array([VOCABULARY, WIDTH], np.int64))
    return ops.convert(ops.reshape(scaled, shape, special_zero=False), "f32")


def int8(ops: Any) -> Any:
    weights = ops.constant(np.random.default_rng(1).integers(0, 255, (VOCABULARY, WIDTH), np.uint8))
    zeros = ops.convert(ops.constant(np.full((VOCABULARY, 1), 127, np.uint8)), "f16")
    scales = ops.constant(numbers(VOCABULARY, 1).astype(np.float16))
    return ops.convert(ops.multiply(ops.subtract(ops.convert(weights, "f16"), zeros), scales), "f32")


def half(ops: Any) -> Any:
    return ops.convert(ops.constant(numbers(VOCABULARY, WIDTH).astype(np.float16)), "f32")


def turned(ops: Any) -> Any:
    return ops.transpose(ops.constant(numbers(WIDTH, VOCABULARY)), ops.constant(np.array([1, 0], np.int64)))


def bare(_ops: Any, logits: Any) -> Any:
    return logits


def softcap(ops: Any, logits: Any) -> Any:
    cap = ops.constant(np.float32(30.0))
    return ops.multiply(ops.tanh(ops.divide(logits, cap)), cap)


def constant_first(ops: Any, logits: Any) -> Any:
    return ops.multiply(ops.convert(ops.constant(np.float16(0.5)), "f32"), logits)


def bias(ops: Any, logits: Any) -> Any:
    return ops.convert(ops.add(logits, ops.constant(np.arange(VOCABULARY, dtype=np.float32))), "f32")


def softmax(ops: Any, logits: Any) -> Any:
    return ops.softmax(logits, 2)


def squeezed(ops: Any, logits: Any) -> Any:
    return ops.squeeze(logits, ops.constant(np.array([0], np.int64)))


def model_with(store: Store, tail: Tail) -> Any:
    """Return a model: tokens [?, ?] -> embeddings -> head with the same weights -> tail."""
    ov = openvino()
    ops = ov.opset13
    tokens = ops.parameter([-1, -1], np.int64, name="tokens")
    tokens.output(0).set_names({"tokens"})
    weights = store(ops)
    embedded = ops.gather(weights, tokens, ops.constant(np.array(0, np.int64)))
    logits = ops.matmul(embedded, weights, transpose_a=False, transpose_b=True)
    return ov.Model([ops.result(tail(ops, logits))], [tokens])


def run(model: Any, text: Any = TEXT, **inputs: Any) -> Any:
    return core().compile_model(model.clone(), "CPU", dict(EXACT))({"tokens": text, **inputs})[0].copy()


@pytest.mark.parametrize("tail", [bare, softcap, constant_first, bias])
@pytest.mark.parametrize("axis", [0, 1])
def test_chosen_rows_are_rows_of_the_whole_output(tail: Tail, axis: int) -> None:
    text, rows = TEXT.T if axis == 0 else TEXT, np.array([1, 4, 6], np.int64)
    whole, edited = run(model_with(half, tail), text), model_with(half, tail)
    assert gather_rows(edited, axis)
    np.testing.assert_allclose(run(edited, text, **{CHOSEN_ROWS: rows}), whole.take(rows, axis), rtol=1e-6)


@pytest.mark.parametrize("tail", [softmax, squeezed])
def test_model_without_a_known_head_is_unchanged(tail: Tail) -> None:
    model = model_with(half, tail)
    before = run(model)
    assert not gather_rows(model, axis=1)
    np.testing.assert_array_equal(run(model), before)


def test_matrix_product_of_two_axes_is_no_head() -> None:
    ov = openvino()
    hidden = ov.opset13.parameter([-1, WIDTH], np.float32, name="hidden")
    logits = ov.opset13.matmul(hidden, half(ov.opset13), transpose_a=False, transpose_b=True)
    assert not gather_rows(ov.Model([ov.opset13.result(logits)], [hidden]), axis=0)


@pytest.mark.parametrize("store", [int4, int8, half])
@pytest.mark.parametrize("tail", [bare, softcap])
def test_trimmed_head_gives_the_logits_of_the_whole_head(store: Store, tail: Tail) -> None:
    whole, trimmed = run(model_with(store, tail)), model_with(store, tail)
    assert keep_rows(trimmed, KEPT)
    np.testing.assert_array_equal(run(trimmed), whole[..., KEPT])


@pytest.mark.parametrize(("store", "tail"), [(half, bias), (turned, bare)])
def test_head_of_another_kind_is_unchanged(store: Store, tail: Tail) -> None:
    model = model_with(store, tail)
    before = run(model)
    assert not keep_rows(model, KEPT)
    np.testing.assert_array_equal(run(model), before)


@pytest.mark.parametrize("load_runner", [PagedRunner.load, StatefulRunner])
def test_runner_with_a_trimmed_head_gives_the_same_logits(tiny_draft: Path, load_runner: Any) -> None:
    kept: Ids = np.arange(3, 600, 7)
    whole, trimmed = (load_runner(tiny_draft, "CPU", EXACT, 128, ids) for ids in (None, kept))
    assert (whole.draft_vocab, trimmed.draft_vocab is kept) == (None, True)
    assert whole.vocabulary == trimmed.vocabulary == 624
    expected = whole.forward([5, 1, 9, 9, 0], rows=3)
    np.testing.assert_allclose(trimmed.forward([5, 1, 9, 9, 0], rows=3), expected[:, kept], atol=1e-5)


def test_layers_of_a_head_are_those_of_openvino_genai() -> None:
    assert [tapped_layers(layers) for layers in (10, 28, 30)] == [(2, 5, 7), (2, 14, 25), (2, 15, 27)]


def test_taps_are_the_output_of_a_layer(tiny_target: Path, tiny_source: Path) -> None:
    """Behind the last layer stand only the norm and the output head."""
    model = core().read_model(tiny_target / "openvino_model.xml")
    assert add_taps(model, (0, 1))
    compiled = core().compile_model(model, "CPU", dict(EXACT))
    places = np.arange(TEXT.size)[None]
    inputs = {
        "input_ids": TEXT,
        "attention_mask": np.ones_like(TEXT),
        "position_ids": places,
        "beam_idx": np.zeros(1, np.int32),
    }
    found = compiled(inputs)
    first, last = np.split(found[HIDDEN_STATES], 2, axis=-1)
    assert np.abs(last - first).max() > 0.1
    weights = load_file(tiny_source / "model.safetensors")
    scale = np.sqrt((last**2).mean(axis=-1, keepdims=True) + 1e-6)
    expected = last / scale * weights["model.norm.weight"].astype(np.float32) @ weights["lm_head.weight"].T
    np.testing.assert_allclose(found[0], expected, rtol=1e-2, atol=1e-2)


def test_taps_of_a_missing_layer_change_nothing(tiny_target: Path) -> None:
    model = core().read_model(tiny_target / "openvino_model.xml")
    assert not add_taps(model, (0, 2))
    assert len(model.outputs) == 1
