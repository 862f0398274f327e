"""Edits of a model's graph before it is compiled: logits only for chosen rows. Knows nothing of caches or devices."""

from typing import Any

import numpy as np

from headstart.engine.runtime import openvino

CHOSEN_ROWS = "sampled_tokens_indices"  # the name that OpenVINO's own pipelines use for this input
_ELEMENTWISE = {"Add", "Convert", "Divide", "Multiply", "Tanh"}  # what stands between the head and the result


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


def output_head(model: Any) -> Any | None:
    """The MatMul that makes the logits, found from the result back through softcaps and scales."""
    node = model.get_results()[0].input_value(0).get_node()
    while node.get_type_name() in _ELEMENTWISE:
        node = _data_input(node)
        if node is None:
            return None
    return node if node.get_type_name() == "MatMul" and node.input_value(0).get_partial_shape().rank == 3 else None


def _data_input(node: Any) -> Any | None:
    """The input that carries the logits: the one that does not come from a constant."""
    sources = [node.input_value(index).get_node() for index in range(node.get_input_size())]
    return next((source for source in sources if not _is_constant(source)), None)


def _is_constant(node: Any) -> bool:
    kind = node.get_type_name()
    return kind == "Constant" or (kind == "Convert" and _is_constant(node.input_value(0).get_node()))
