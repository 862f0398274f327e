"""Mixtures of experts: only the experts that a token asks for are read, by our own products.

A model holds each mixture as one operation, which `replace_experts` replaces before the model is compiled.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware.runtime import EXPERTS, computed_operation, openvino
from headstart.engine.kernels.blocks import weights_of
from headstart.engine.kernels.library import Activation, Kind, Library, Weights
from headstart.engine.kernels.operation import CompiledSteps, Layout, PlannedStep, pack

Floats = NDArray[np.float32]

SILU, CLAMPED = "silu", "clamped"  # activations; the second one is gpt-oss's
_LIMIT, _STEEPNESS = 7.0, 1.702  # of the clamped one
_INPUTS = ("x", "router", "gate", "up", "down")
_BIASES = ("router_bias", "gate_bias", "up_bias", "down_bias")


def inputs_of(node: Any) -> dict[str, Any]:
    """Return the inputs of a mixture by their names."""
    names = (*_INPUTS, *_BIASES) if node.get_input_size() > len(_INPUTS) else _INPUTS
    return dict(zip(names, node.input_values(), strict=True))


def replace_experts(model: Any, library: Library | None, threads: int) -> list[CompiledSteps]:
    """Replace all mixtures of a model: by our own operation where the library can compute them, else by OpenVINO's.

    Return the pieces of our own. OpenVINO computes all experts for every token.
    """
    pieces: list[CompiledSteps] = []
    nodes = [node for node in model.get_ordered_ops() if node.get_type_name() == EXPERTS]
    for node in nodes:
        mixture = _Mixture.of(library, node, threads) if library else None
        if mixture:
            pieces += [piece for expert in mixture.experts for piece in expert]
            new = _operation()([node.input_value(0)], mixture)
        else:
            new = plain(inputs_of(node), node.get_attributes())
        new.set_friendly_name(node.get_friendly_name())
        for reader in list(node.output(0).get_target_inputs()):
            reader.replace_source_output(new.output(0))
    if nodes:
        model.validate_nodes_and_infer_types()
    return pieces


def plain(inputs: Mapping[str, Any], attributes: Mapping[str, Any]) -> Any:
    """Return a mixture as a graph of OpenVINO's operations: [.., width].

    All experts are computed. `inputs`: x [.., width], router [experts, width], gate and up [experts, inner, width],
    down [experts, width, inner]; biases [experts] and [experts, 1, inner or width].
    """
    ops = openvino().opset13
    numbers = _numbers
    experts, width = (int(size) for size in inputs["router"].get_shape())
    shape = ops.shape_of(inputs["x"])
    x = ops.reshape(inputs["x"], numbers(-1, width), special_zero=False)
    logits = _biased(ops.matmul(x, inputs["router"], transpose_a=False, transpose_b=True), inputs.get("router_bias"))
    scores = logits if attributes["is_normed"] else ops.softmax(logits, 1)
    top = ops.topk(scores, _number(attributes["used"]), 1, "max", "value", index_element_type="i64")
    weights = ops.softmax(top.output(0), 1).output(0) if attributes["is_normed"] else top.output(0)
    nothing = ops.broadcast(ops.constant(np.float32(0.0)), ops.shape_of(logits))
    routed = ops.scatter_elements_update(nothing, top.output(1), weights, _number(1))  # [tokens, experts]
    routed = ops.unsqueeze(ops.transpose(routed, numbers(1, 0)), _number(2))
    copies = ops.reshape(ops.tile(x, numbers(experts, 1)), numbers(experts, -1, width), special_zero=False)
    products = {
        name: _biased(ops.matmul(copies, inputs[name], transpose_a=False, transpose_b=True), inputs.get(f"{name}_bias"))
        for name in ("gate", "up")
    }
    inner = _activated(products["gate"], products["up"], attributes["activation"])
    y = ops.matmul(inner, inputs["down"], transpose_a=False, transpose_b=True)
    y = ops.multiply(_biased(y, inputs.get("down_bias")), routed)
    return ops.reshape(ops.reduce_sum(y, numbers(0), keep_dims=False), shape, special_zero=False)


def _number(value: int) -> Any:
    return openvino().opset13.constant(np.array(value, np.int64))


def _numbers(*values: int) -> Any:
    return openvino().opset13.constant(np.array(values, np.int64))


def _biased(value: Any, bias: Any | None) -> Any:
    return value if bias is None else openvino().opset13.add(value, bias)


def _activated(gate: Any, up: Any, activation: str) -> Any:
    ops = openvino().opset13
    if activation == SILU:
        return ops.multiply(ops.swish(gate), up)
    gate = ops.minimum(gate, ops.constant(np.float32(_LIMIT)))
    up = ops.add(ops.clamp(up, -_LIMIT, _LIMIT), ops.constant(np.float32(1.0)))
    return ops.multiply(up, ops.swish(gate, ops.constant(np.float32(_STEEPNESS))))


@dataclass
class _Mixture:
    """The experts of a layer, and the router that chooses among them."""

    experts: Sequence[
        Sequence[CompiledSteps]
    ]  # of each: all in one piece, or the products before and behind the activation
    inner: int
    router: Floats  # [experts, width]
    bias: Floats  # [experts]
    used: int
    is_normed: bool
    activation: str

    @classmethod
    def of(cls, library: Library, node: Any, threads: int) -> "_Mixture | None":
        """Pack the experts of a node; None for weights that the library does not know."""
        inputs, attributes = inputs_of(node), node.get_attributes()
        found = [weights_of(inputs[name].get_node()) for name in ("gate", "up", "down")]
        if any(weights is None or not library.block_size(weights) for weights in found):
            return None
        gate, up, down = (weights for weights in found if weights is not None)
        router = np.array(inputs["router"].get_node().data, np.float32)
        count, biases = len(router), [_constant(inputs.get(name), len(router)) for name in _BIASES[1:]]
        layouts = [
            layout
            for expert in range(count)
            for layout in _layouts(
                [_of_expert(weights, expert, count) for weights in (gate, up, down)],
                [None if bias is None else bias[expert] for bias in biases],
                attributes["activation"],
            )
        ]
        pieces, each = pack(library, layouts, threads), len(layouts) // count
        bias = _constant(inputs.get("router_bias"), count)
        return cls(
            [pieces[start : start + each] for start in range(0, len(pieces), each)],
            gate.rows // count,
            router,
            np.zeros(count, np.float32) if bias is None else bias.reshape(-1),
            int(attributes["used"]),
            bool(attributes["is_normed"]),
            attributes["activation"],
        )

    def run(self, x: Floats, out: Floats) -> None:
        """Compute the mixture of [tokens, width].

        Each token has the same bits in every pass: what it is given does not depend on the others, and the experts
        are added in the order of their numbers.
        """
        chosen, weights = self.route(x)
        out[...] = 0.0
        for number in np.unique(chosen).tolist():
            rows, places = np.nonzero(chosen == number)
            out[rows] += self._expert(number, x[rows]) * weights[rows, places, None]

    def route(self, x: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Return the experts of each token, in order, and their weights: [tokens, used] each."""
        logits = np.empty((len(x), len(self.router)), np.float32)
        for token, row in enumerate(x):  # one by one: BLAS would sum in another order for several
            np.einsum("ew,w->e", self.router, row, out=logits[token])
        logits += self.bias
        chosen = np.sort(np.argsort(-logits, axis=1, kind="stable")[:, : self.used], axis=1)
        weights = np.exp(logits - logits.max(1, keepdims=True))
        taken = np.take_along_axis(weights, chosen, 1)
        return chosen, taken / (taken if self.is_normed else weights).sum(1, keepdims=True)

    def _expert(self, number: int, x: Floats) -> Floats:
        pieces, y = self.experts[number], np.empty_like(x)
        if len(pieces) == 1:
            pieces[0].run([x, y])
            return y
        gate, up = np.empty((len(x), self.inner), np.float32), np.empty((len(x), self.inner), np.float32)
        pieces[0].run([x, gate, up])
        if self.activation == CLAMPED:
            np.minimum(gate, _LIMIT, out=gate)
            up = np.clip(up, -_LIMIT, _LIMIT) + np.float32(1.0)
        steepness = np.float32(_STEEPNESS if self.activation == CLAMPED else 1.0)
        with np.errstate(over="ignore"):  # what is infinite there gives 0
            inner = up * (gate / (np.float32(1.0) + np.exp(-steepness * gate)))
        pieces[1].run([inner, y])
        return y


def _constant(value: Any | None, count: int) -> Floats | None:
    """Return the values of a constant for each expert: [experts, values]."""
    return None if value is None else np.array(value.get_node().data, np.float32).reshape(count, -1)


def _of_expert(weights: Weights, number: int, count: int) -> Weights:
    rows = weights.rows // count
    blocks = weights.values.reshape(count, rows, -1)[number]
    return Weights(weights.format, weights.group, rows, weights.cols, blocks)


def _layouts(weights: Sequence[Weights], biases: Sequence[Floats | None], activation: str) -> list[Layout]:
    """Return the steps of an expert: in one layout if a step has the activation, else those before and behind it."""
    gate, up, down = weights
    width, inner = gate.cols, gate.rows

    def step(kind: Kind, source: int, targets: Sequence[int], *parts: int) -> PlannedStep:
        gated = Activation.SILU if kind is Kind.GATED else Activation.NONE
        chosen, added = [weights[part] for part in parts], [biases[part] for part in parts]
        return PlannedStep(kind, gated, source, -1, targets, chosen, added, None, 0.0)

    is_alike = (gate.format, gate.cols) == (up.format, up.cols)
    if is_alike and activation == SILU and all(bias is None for bias in biases):
        steps = [step(Kind.GATED, 0, [2], 0, 1), step(Kind.LINEAR, 2, [1], 2)]
        return [Layout([width, width, inner], 1, 1, steps)]
    if is_alike:
        products = [step(Kind.LINEAR, 0, [1, 2], 0, 1)]
    else:
        products = [step(Kind.LINEAR, 0, [1], 0), step(Kind.LINEAR, 0, [2], 1)]
    before = Layout([width, inner, inner], 1, 2, products)
    return [before, Layout([inner, down.rows], 1, 1, [step(Kind.LINEAR, 0, [1], 2)])]


@functools.cache
def _operation() -> Any:
    """Return the class of the operation that computes a mixture."""
    ov = openvino()

    class HeadstartExperts(computed_operation()):  # type: ignore[misc]
        def validate_and_infer_types(self) -> None:
            self.set_output_type(0, ov.Type.f32, self.get_input_partial_shape(0))

        def evaluate(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
            (mixture,), x = self.parts, inputs[0].data
            mixture.run(x.reshape(-1, x.shape[-1]), outputs[0].data.reshape(-1, x.shape[-1]))
            return True

    return HeadstartExperts
