"""The output head is found behind scales and softcaps, and computed for the chosen rows only."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headstart.engine.runners.graph import CHOSEN_ROWS, gather_rows
from headstart.engine.runtime import openvino

HIDDEN, VOCABULARY = 4, 6
Tail = Callable[[Any, Any], Any]  # (opset, logits) -> result


def _softcap(ops: Any, logits: Any) -> Any:
    cap = np.float32(30.0)
    return ops.multiply(ops.tanh(ops.divide(logits, ops.constant(cap))), ops.constant(cap))


def _constant_first(ops: Any, logits: Any) -> Any:
    return ops.multiply(ops.convert(ops.constant(np.float16(0.5)), "f32"), logits)


def _bias(ops: Any, logits: Any) -> Any:
    return ops.convert(ops.add(logits, ops.constant(np.arange(VOCABULARY, dtype=np.float32))), "f32")


TAILS: dict[str, Tail] = {
    "bare": lambda ops, logits: logits,
    "softcap": _softcap,
    "constant first": _constant_first,
    "bias": _bias,
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
@pytest.mark.parametrize("axis", [0, 1])
def test_chosen_rows_are_rows_of_the_whole(tail: Tail, axis: int) -> None:
    hidden = np.random.default_rng(0).normal(size=(7, 1, HIDDEN) if axis == 0 else (1, 7, HIDDEN)).astype(np.float32)
    whole = run(model_with(tail), hidden=hidden)
    edited = model_with(tail)
    assert gather_rows(edited, axis)
    rows = np.array([1, 4, 6], np.int64)
    chosen = run(edited, hidden=hidden, **{CHOSEN_ROWS: rows})
    assert chosen.shape[axis] == 3
    np.testing.assert_allclose(chosen, whole.take(rows, axis), rtol=1e-6)


def _no_head(ops: Any, logits: Any) -> Any:
    return ops.softmax(logits, 2)


def _sliced(ops: Any, logits: Any) -> Any:
    return ops.squeeze(logits, ops.constant(np.array([0], np.int64)))


@pytest.mark.parametrize("tail", [_no_head, _sliced])
def test_a_model_without_a_known_head_is_left_alone(tail: Tail) -> None:
    model = model_with(tail)
    hidden = np.ones((1, 3, HIDDEN), np.float32)
    before = run(model, hidden=hidden)
    assert not gather_rows(model, axis=1)
    assert [port.any_name for port in model.inputs] == ["hidden"]
    np.testing.assert_array_equal(run(model, hidden=hidden), before)


def test_a_matrix_product_of_two_axes_is_no_head() -> None:
    ov = openvino()
    ops = ov.opset13
    hidden = ops.parameter([-1, HIDDEN], np.float32, name="hidden")
    logits = ops.matmul(
        hidden, ops.constant(np.ones((HIDDEN, VOCABULARY), np.float32)), transpose_a=False, transpose_b=False
    )
    model = ov.Model([ops.result(logits)], [hidden])
    assert not gather_rows(model, axis=0)


def model_with(tail: Tail) -> Any:
    """hidden [?, ?, HIDDEN] -> head -> tail."""
    ov = openvino()
    ops = ov.opset13
    hidden = ops.parameter([-1, -1, HIDDEN], np.float32, name="hidden")
    hidden.output(0).set_names({"hidden"})
    weights = np.random.default_rng(1).normal(size=(VOCABULARY, HIDDEN)).astype(np.float32)
    logits = ops.matmul(hidden, ops.constant(weights), transpose_a=False, transpose_b=True)
    return ov.Model([ops.result(tail(ops, logits))], [hidden])


def run(model: Any, **inputs: Any) -> Any:
    """The only output."""
    compiled = openvino().Core().compile_model(model.clone(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled(inputs)[0].copy()
