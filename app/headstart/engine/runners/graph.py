"""Edits of a model's graph before it is compiled: logits of chosen places and tokens, hidden states beside them."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware.runtime import GGUF_WEIGHTS, openvino

Ids = NDArray[np.int64]

CHOSEN_ROWS = "sampled_tokens_indices"  # OpenVINO's own pipelines use this name
HIDDEN_STATES = "hidden_states"  # the output that `add_taps` adds
MIN_LAYERS = 10  # of a model that an EAGLE-3 head can read; OpenVINO GenAI refuses fewer
_ELEMENTWISE = {"Add", "Convert", "Divide", "Multiply", "Tanh"}  # nodes between the head and the result
_UNPACKING = {"Convert", "Multiply", "Reshape", "Subtract", GGUF_WEIGHTS}  # nodes that decompress weights


def gather_rows(model: Any, axis: int) -> bool:
    """Compute the output head only for the positions that a new int64 input names: [rows] along `axis`.

    Returns False, leaving the model as it was, when no output head is found (the logits then come for every position).
    """
    head = output_head(model)
    if head is None:
        return False
    ov = openvino()
    operations = ov.opset13
    rows = operations.parameter([-1], np.int64, name=CHOSEN_ROWS)
    rows.output(0).set_names({CHOSEN_ROWS})
    chosen = operations.gather(head.input_value(0), rows, operations.constant(np.array(axis, np.int64)))
    head.input(0).replace_source_output(chosen.output(0))
    model.add_parameters([rows])
    model.validate_nodes_and_infer_types()
    return True


def tapped_layers(layers: int) -> tuple[int, int, int]:
    """Return the decoder layers, from 0, whose outputs an EAGLE-3 head reads in a model with this many layers.

    OpenVINO GenAI reads the same ones (`extract_eagle3_info_from_config`), so heads run in both.
    """
    assert layers >= MIN_LAYERS
    return 2, layers // 2, layers - 3


def add_taps(model: Any, layers: Sequence[int], *, with_head: bool = False) -> bool:
    """Add an output HIDDEN_STATES: the residual stream after each of these decoder layers (from 0), side by side.

    It is [..., len(layers) * hidden size], for every position, whatever `gather_rows` does to the logits. `with_head`:
    the input of the output head follows. Call it on the model as it was read, before a transformation to paged
    attention. Returns False, and leaves the model as it was, if a layer or the head is not found.
    """
    ends, head = _ends_of_layers(model), output_head(model)
    if not set(layers) <= set(ends) or (with_head and head is None):
        return False
    ov = openvino()
    read_by_head = [head.input_value(0)] if with_head and head else []
    taps = ov.opset13.concat([*(ends[layer].output(0) for layer in layers), *read_by_head], -1)
    taps.output(0).set_names({HIDDEN_STATES})
    model.add_results([ov.opset13.result(taps)])
    model.validate_nodes_and_infer_types()
    return True


def count_layers(model: Any) -> int:
    """Return the number of decoder layers of a model as it was read."""
    return len(_ends_of_layers(model))


def _ends_of_layers(model: Any) -> dict[int, Any]:
    """Return the last sum of each layer: the one of its second half."""
    ends: dict[int, Any] = {}
    for node in model.get_ordered_ops():
        match = _SUM_OF_A_LAYER.search(node.get_friendly_name())
        if match and node.get_type_name() == "Add":
            ends[int(match["layer"])] = node
    return ends


_SUM_OF_A_LAYER = re.compile(r"\.layers\.(?P<layer>\d+)/")


def output_head(model: Any) -> Any | None:
    """Return the MatMul that makes the logits, found from the result back through softcaps and scales."""
    node = model.get_results()[0].input_value(0).get_node()
    while node.get_type_name() in _ELEMENTWISE:
        node = _data_input(node)
        if node is None:
            return None
    return node if node.get_type_name() == "MatMul" and node.input_value(0).get_partial_shape().rank == 3 else None


def _data_input(node: Any) -> Any | None:
    """Return the input that carries the logits: the one that does not come from a constant."""
    sources = [node.input_value(index).get_node() for index in range(node.get_input_size())]
    return next((source for source in sources if not _is_constant(source)), None)


def _is_constant(node: Any) -> bool:
    kind = node.get_type_name()
    return kind == "Constant" or (kind == "Convert" and _is_constant(node.input_value(0).get_node()))


def keep_rows(model: Any, ids: Ids) -> bool:
    """Cut the output head down to the rows `ids`. Embeddings that share its weights stay.

    A draft need not score tokens that hardly ever come. Rows of a compressed head do not depend on each other, so the
    remaining logits are unchanged. Returns False, and leaves the model as it was, for a head that cannot be trimmed.
    """
    head = output_head(model)
    if head is None or not head.get_attributes()["transpose_b"] or not _treats_all_alike(model, head):
        return False
    weights = head.input_value(1)
    trimmed = _trimmed(weights.get_node(), ids, weights.get_shape()[0])
    if trimmed is None:
        return False
    head.input(1).replace_source_output(trimmed.output(0))
    model.validate_nodes_and_infer_types()
    return True


def _treats_all_alike(model: Any, head: Any) -> bool:
    """Return True if the nodes after the head treat all tokens alike. A bias does not."""
    node = model.get_results()[0].input_value(0).get_node()
    while node.get_friendly_name() != head.get_friendly_name():
        sources = [node.input_value(index) for index in range(node.get_input_size())]
        if any(np.prod(source.get_shape()) != 1 for source in sources if not source.get_partial_shape().is_dynamic):
            return False
        node = next(source for source in sources if source.get_partial_shape().is_dynamic).get_node()
    return True


def _trimmed(node: Any, ids: Ids, width: int) -> Any | None:
    """Return a copy of the chain that unpacks compressed weights, with fewer rows; None if a node is unknown."""
    operations, kind = openvino().opset13, node.get_type_name()
    if kind == "Constant":
        return _rows(node, ids) if node.get_output_shape(0)[:1] == [width] else node
    if kind == "Reshape":
        sources = [_trimmed(node.input_value(0).get_node(), ids, width)]
    else:
        sources = [_trimmed(value.get_node(), ids, width) for value in node.input_values()]
    if None in sources or kind not in _UNPACKING:
        return None
    if kind == GGUF_WEIGHTS:
        return node.clone_with_new_inputs([source.output(0) for source in sources if source])
    if kind == "Convert":
        return operations.convert(sources[0], node.get_output_element_type(0))
    if kind == "Reshape":
        shape = np.array([len(ids), *node.get_output_shape(0)[1:]], np.int64)
        return operations.reshape(sources[0], operations.constant(shape), special_zero=False)
    return getattr(operations, kind.lower())(*sources)


def _rows(constant: Any, ids: Ids) -> Any:
    ov = openvino()
    shape, kind = list(constant.get_output_shape(0)), constant.get_output_element_type(0)
    values = int(np.prod(shape[1:]))
    packed = np.ascontiguousarray(constant.data).reshape(-1).view(np.uint8)
    if values * kind.bitwidth % 8 == 0:
        chosen = packed.reshape(shape[0], -1)[ids].reshape(-1)
    else:
        chosen = _odd_rows(packed, ids, values)
    tensor = ov.Tensor(chosen, ov.Shape([len(ids), *shape[1:]]), kind)
    return ov.op.Constant(tensor, shared_memory=False)


def _odd_rows(packed: NDArray[np.uint8], ids: Ids, values: int) -> NDArray[np.uint8]:
    """Return rows of an odd number of half bytes, the lower half first."""
    halves = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)
    chosen = halves[ids[:, None] * values + np.arange(values)].reshape(-1)
    pairs = np.append(chosen, np.zeros(chosen.size % 2, np.uint8)).reshape(-1, 2)
    joined: NDArray[np.uint8] = pairs[:, 0] | pairs[:, 1] << np.uint8(4)
    return joined
