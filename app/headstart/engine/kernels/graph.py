"""The graph of a model: its nodes, who reads them, and what stands behind conversions and changes of shape."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware.runtime import openvino

Key = tuple[str, int]  # an output of a node, by the node's name and the output's number
_UNPACKING = {"Convert", "Reshape"}
_LAYOUT = {"Reshape", "Transpose", "Unsqueeze"}


# OpenVINO's own types are closed to mypy: its stubs begin with "type: ignore".
class OvOutput(Protocol):
    """The methods of `openvino.Output` that are used here."""

    def get_node(self) -> "OvNode": ...
    def get_index(self) -> int: ...
    def get_partial_shape(self) -> Any: ...
    def get_element_type(self) -> Any: ...


class OvNode(Protocol):
    """The methods of `openvino.Node` that are used here."""

    def get_name(self) -> str: ...
    def get_friendly_name(self) -> str: ...
    def get_type_name(self) -> str: ...
    def get_attributes(self) -> dict[str, Any]: ...
    def get_input_size(self) -> int: ...
    def input_value(self, index: int) -> OvOutput: ...
    def input_values(self) -> Sequence[OvOutput]: ...
    def output(self, index: int) -> OvOutput: ...
    def outputs(self) -> Sequence[OvOutput]: ...


class OvConstant(OvNode, Protocol):
    """The methods of OpenVINO's constants that are used here."""

    def get_element_type(self) -> Any: ...
    def get_output_shape(self, index: int) -> Sequence[int]: ...
    @property
    def data(self) -> NDArray[Any]: ...


class Graph:
    """The nodes in order, and the readers of each output."""

    def __init__(self, model: Any) -> None:
        self.nodes: Sequence[OvNode] = model.get_ordered_ops()
        self.parameters: dict[str, OvOutput] = {
            node.get_friendly_name(): node.output(0) for node in model.get_parameters()
        }
        self.outputs: dict[Key, OvOutput] = {}
        self.readers: dict[Key, list[str]] = defaultdict(list)
        for node in self.nodes:
            for output in node.outputs():
                self.outputs[key_of(output)] = output
            for value in node.input_values():
                self.readers[key_of(value)].append(node.get_name())

    def is_read_once(self, output: OvOutput) -> bool:
        return len(self.readers[key_of(output)]) == 1


def key_of(output: OvOutput) -> Key:
    return output.get_node().get_name(), output.get_index()


def operands(node: OvNode) -> Iterator[tuple[OvOutput, OvOutput]]:
    """Yield both operands of a node with two, in both orders."""
    first, second = node.input_values()
    yield from ((first, second), (second, first))


def unmoved(value: OvOutput) -> tuple[OvOutput, set[str]]:
    """Skip nodes that only reshape; return the value before them, and their names."""
    inside = set()
    while (node := value.get_node()).get_type_name() in _LAYOUT:
        if node.get_type_name() == "Transpose" and not _keeps_order(node):
            break
        inside.add(node.get_name())
        value = node.input_value(0)
    return value, inside


def _keeps_order(transpose: OvNode) -> bool:
    """Return True if a transposition only moves axes of size 1."""
    order, shape = numbers(transpose.input_value(1)), transpose.input_value(0).get_partial_shape()
    if order is None:
        return False
    long = [int(axis) for axis in order if shape[int(axis)].is_dynamic or shape[int(axis)].get_length() != 1]
    return long == sorted(long)


def unwrapped(value: OvOutput) -> OvNode:
    """Return the node before conversions and reshaping."""
    node = value.get_node()
    while node.get_type_name() in _UNPACKING:
        node = node.input_value(0).get_node()
    return node


def constant(value: OvOutput) -> OvConstant | None:
    """Return the constant before conversions and reshaping; None if it is anything else."""
    node = unwrapped(value)
    return cast("OvConstant", node) if node.get_type_name() == "Constant" else None


def numbers(value: OvOutput) -> NDArray[np.float32] | None:
    """Return a constant as a flat array; None for anything else."""
    found = constant(value)
    if found is None or found.get_element_type().bitwidth < 8:
        return None
    return np.asarray(found.data, np.float32).reshape(-1)


def row(value: OvOutput) -> NDArray[np.float32] | None:
    """Return a constant that has one number for each channel, and no other axis; None for anything else."""
    found, shape = numbers(value), value.get_partial_shape()
    return found if found is not None and len(shape) and shape[-1] == found.size else None


def scalar(value: OvOutput) -> float | None:
    """Return the number of a scalar constant, or of the product of two; None for anything else."""
    node = unwrapped(value)
    if node.get_type_name() == "Multiply":
        first, second = (scalar(each) for each in node.input_values())
        return None if first is None or second is None else first * second
    found = numbers(value)
    return float(found[0]) if found is not None and found.size == 1 else None


def is_row_of_numbers(value: OvOutput) -> bool:
    """Return True if a value is f32 [.., width] with a known width."""
    shape = value.get_partial_shape()
    is_known = not shape.rank.is_dynamic and len(shape) >= 2 and not shape[-1].is_dynamic
    return is_known and value.get_element_type() == openvino().Type.f32 and constant(value) is None
