"""The search for the parts of a model's graph that the library can compute."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.kernels.blocks import weights_of
from headstart.engine.kernels.graph import (
    Graph,
    Key,
    OvConstant,
    OvNode,
    OvOutput,
    constant,
    is_row_of_numbers,
    key_of,
    numbers,
    operands,
    row,
    scalar,
    unmoved,
    unwrapped,
)
from headstart.engine.kernels.library import Activation, Format, Kind, Library, Weights

PAGED_ATTENTION = "PagedAttentionExtension"
# Its inputs, as in hk_sequences: the tokens of each sequence, the places of its keys and values and, in a graph with
# branches, the tokens of a pass that each token sees.
PLACES = ("past_lens", "subsequence_begins", "block_indices", "block_indices_begins", "qq_bias", "qq_bias_begins")
_FIRST_PLACE, _SCALE_AT, _WINDOW_AT, _SINKS_AT = 5, 9, 10, 20  # among its inputs
_KEYS_AND_VALUES = (1, 2)
_RANK = 4  # of queries, keys and values by head
_INT4_GROUPS = (32, 64, 128)  # columns of INT4 weights that share a scale
_STEP = 32  # columns that are multiplied at a time; the width of a product is a multiple


@dataclass(frozen=True)
class Node:
    """A step in the graph: it computes the value `output` from these `inputs`."""

    kind: Kind
    output: OvOutput
    inputs: tuple[Key, ...]
    weights: tuple[Weights, ...] = ()  # of a gated product two: gate, up
    bias: NDArray[np.float32] | None = None
    gain: NDArray[np.float32] | None = None
    epsilon: float = 0.0
    activation: Activation = Activation.NONE
    residual: Key | None = None
    attention: "Heads | None" = None
    inside: frozenset[str] = frozenset()  # names of the nodes that it replaces

    @property
    def key(self) -> Key:
        return key_of(self.output)

    @property
    def sources(self) -> tuple[Key, ...]:
        return (*self.inputs, self.residual) if self.residual else self.inputs

    @property
    def width(self) -> int:
        return int(self.output.get_partial_shape()[-1].get_length())


@dataclass(frozen=True)
class Heads:
    """The heads of an attention.

    The node's inputs are q, k, v; cos and sin, if they are rotated; factors of the queries, if there are any.
    """

    queries: int
    keys: int  # and values
    size: int  # numbers of each
    scale: float
    caches: tuple[str, str]  # names of the model's inputs for keys and values
    window: int = 0  # keys that a query sees, its own among them; 0: all before it
    # Gains of RMS norms of each head, before they are rotated: [size]
    query_gain: NDArray[np.float32] | None = None
    key_gain: NDArray[np.float32] | None = None
    epsilon: float = 0.0
    sinks: NDArray[np.float32] | None = None  # a score of each head that has no value


def find(graph: Graph, library: Library, *, attention: bool) -> list[Node]:
    """Return all patterns that the library can compute, in the order of the graph, each as large as possible."""
    nodes: dict[Key, Node] = {}

    def add(node: Node, *merged: Node) -> None:
        for pattern in merged:
            del nodes[pattern.key]
        nodes[node.key] = replace(node, inside=node.inside.union(*(pattern.inside for pattern in merged)))

    for node in graph.nodes:
        match node.get_type_name():
            case "MatMul":
                weights = _weights(node, library)
                if weights is not None:
                    inside = frozenset([node.get_name()])
                    value, layout = unmoved(node.input_value(0))
                    is_attention = key_of(value) in nodes and nodes[key_of(value)].kind is Kind.ATTENTION
                    inside |= layout if is_attention else set()
                    source = key_of(value if is_attention else node.input_value(0))
                    add(Node(Kind.LINEAR, node.output(0), (source,), (weights,), inside=inside))
            case "PagedAttentionExtension" if attention:
                attended = _attention(graph, node, nodes)
                if attended is not None:
                    add(*attended)
            case "Multiply":
                gated = _gated(graph, node, nodes) or _norm(graph, node)
                if gated is not None:
                    add(*gated)
            case "Add":
                summed = _biased(graph, node, nodes) or _sum(graph, node, nodes)
                if summed is not None:
                    add(*summed)
    return list(nodes.values())


def _weights(product: OvNode, library: Library) -> Weights | None:
    """Return the compressed weights of a product in a form that the library takes."""
    attributes = product.get_attributes()
    shape = product.input_value(1).get_partial_shape()
    if attributes["transpose_a"] or not attributes["transpose_b"] or shape.is_dynamic or len(shape) != 2:
        return None
    blocks = weights_of(product.input_value(1).get_node())
    if blocks is not None:
        return blocks if library.block_size(blocks) else None
    rows, cols = (int(size.get_length()) for size in shape)
    parts = _compressed(product.input_value(1))
    if parts is None:
        return None
    values, scales, zeros = parts
    stored = [int(size) for size in values.get_output_shape(0)]
    kind, groups = values.get_element_type().get_type_name(), math.prod(stored[:-1])
    factors = np.asarray(scales.data).reshape(-1).astype(np.float16)
    # Each row, or each group of a row, has one scale and, if any, one zero point; nothing is spread over anything else.
    is_whole = stored[0] == rows and math.prod(stored) == rows * cols
    of_groups = [
        [int(size) for size in constant.get_output_shape(0)] for constant in (scales, zeros) if constant is not None
    ]
    if not is_whole or any(shape != [*stored[:-1], 1] for shape in of_groups):
        return None
    if not np.array_equal(factors.astype(np.float32), np.asarray(scales.data, np.float32).reshape(-1)):
        return None
    scale, raw = factors.reshape(rows, -1), values.data
    points_kind = zeros.get_element_type().get_type_name() if zeros is not None else ""
    if (kind, points_kind) in {("i8", ""), ("u8", "u8")} and groups == rows:
        points = None if zeros is None else np.asarray(zeros.data, np.uint8).reshape(-1)
        weights = Weights(Format.INT8, 0, rows, cols, raw, scale, points)
    elif (kind, points_kind) == ("i4", "") and stored[-1] in _INT4_GROUPS:
        weights = Weights(Format.INT4, stored[-1], rows, cols, raw.reshape(-1).view(np.uint8), scale)
    elif kind == "u4" and points_kind in {"u4", "f16"} and zeros is not None and stored[-1] % _STEP == 0:
        points = zeros.data if points_kind == "f16" else _halves(zeros.data)[: scale.size]
        minimums = -scale.astype(np.float32) * np.asarray(points, np.float32).reshape(scale.shape)
        spread = [np.repeat(each, stored[-1] // _STEP, axis=1).astype(np.float16) for each in (scale, minimums)]
        weights = Weights(Format.INT4_MIN, _STEP, rows, cols, raw.reshape(-1).view(np.uint8), *spread)
    else:
        return None
    return weights if library.block_size(weights) else None


def _compressed(value: OvOutput) -> tuple[OvConstant, OvConstant, OvConstant | None] | None:
    """Return the constants behind decompressed weights: values, scales and, if there are any, zero points."""
    node = unwrapped(value)
    if node.get_type_name() != "Multiply":
        return None
    packed, scales = (constant(each) for each in node.input_values())
    shifted, points = unwrapped(node.input_value(0)), None
    if shifted.get_type_name() == "Subtract":
        packed, points = (constant(each) for each in shifted.input_values())
        if points is None:
            return None
    return None if packed is None or scales is None else (packed, scales, points)


def _halves(packed: NDArray[Any]) -> NDArray[np.uint8]:
    """Unpack unsigned 4-bit numbers, two a byte with the lower half first."""
    data = np.ascontiguousarray(packed).reshape(-1).view(np.uint8)
    return np.stack([data & 15, data >> 4], axis=1).reshape(-1)


def _gated(graph: Graph, node: OvNode, nodes: Mapping[Key, Node]) -> tuple[Node, ...] | None:
    """Return activation(gate) * up as one product, if both multiply the same values with weights of one kind."""
    for function, other in operands(node):
        up = nodes.get(key_of(other))
        activation = _activation(function.get_node())
        gate = nodes.get(key_of(function.get_node().input_value(0))) if activation else None
        if gate is None or up is None or activation is None or not graph.is_read_once(function):
            continue
        if gate.width != up.width:
            continue
        inside = frozenset([node.get_name(), function.get_node().get_name()])
        alike = gate.inputs == up.inputs and are_alike(gate, up)
        if alike and _is_bare(graph, gate) and _is_bare(graph, up):
            weights = (*gate.weights, *up.weights)
            fused = Node(Kind.GATED, node.output(0), gate.inputs, weights, activation=activation, inside=inside)
            return fused, gate, up
        inputs = (gate.key, up.key)
        return (Node(Kind.GATE, node.output(0), inputs, activation=activation, inside=inside),)
    return None


def are_alike(first: Node, second: Node) -> bool:
    """Tell if the weights of two plain products can be packed into one matrix."""
    if Kind.GATED in {first.kind, second.kind} or not (first.weights and second.weights):
        return False
    one, other = first.weights[0], second.weights[0]
    return (one.format, one.group, one.cols) == (other.format, other.group, other.cols)


def _activation(node: OvNode) -> Activation | None:
    if node.get_type_name() == "Swish" and (node.get_input_size() == 1 or scalar(node.input_value(1)) == 1.0):
        return Activation.SILU
    if node.get_type_name() == "Gelu" and node.get_attributes().get("approximation_mode") == "TANH":
        return Activation.GELU_TANH
    return None


def _is_bare(graph: Graph, node: Node) -> bool:
    """Return True for a product that nothing was added to, and that one node reads."""
    is_product = node.kind is Kind.LINEAR and node.bias is None and node.residual is None
    return is_product and graph.is_read_once(node.output)


def _norm(graph: Graph, node: OvNode) -> tuple[Node] | None:
    """Return an RMS norm, given its last multiplication, the one by the gain."""
    for by, value in operands(node):
        gain, scaled = row(by), value.get_node()
        if gain is None or scaled.get_type_name() != "Multiply":
            continue
        for source, reciprocal in operands(scaled):
            epsilon, inside = _root_mean_square(source, reciprocal.get_node())
            width = source.get_partial_shape()[-1]
            if epsilon is None or width.is_dynamic or width.get_length() != gain.size or gain.size % _STEP:
                continue
            if not graph.is_read_once(scaled.output(0)):
                continue
            names = frozenset([node.get_name(), scaled.get_name(), *inside])
            return (
                Node(Kind.NORM, node.output(0), (key_of(source),), gain=gain, epsilon=float(epsilon), inside=names),
            )
    return None


def _root_mean_square(source: OvOutput, node: OvNode) -> tuple[float | None, Sequence[str]]:
    """Match 1 / sqrt(mean(source^2) + epsilon); return epsilon and the names of the nodes, or None."""
    inside = [node.get_name()]
    if node.get_type_name() == "Divide" and scalar(node.input_value(0)) == 1.0:
        node = node.input_value(1).get_node()
        inside.append(node.get_name())
        if node.get_type_name() != "Sqrt":
            return None, ()
    elif not (node.get_type_name() == "Power" and scalar(node.input_value(1)) == -0.5):
        return None, ()
    total = node.input_value(0).get_node()
    if total.get_type_name() != "Add":
        return None, ()
    mean, epsilon = total.input_value(0).get_node(), scalar(total.input_value(1))
    if mean.get_type_name() != "ReduceMean" or epsilon is None:
        return None, ()
    square = mean.input_value(0).get_node()
    last = len(source.get_partial_shape()) - 1
    is_square = square.get_type_name() == "Power" and scalar(square.input_value(1)) == 2.0
    axes = numbers(mean.input_value(1))
    if not is_square or key_of(square.input_value(0)) != key_of(source) or axes is None or axes.size != 1:
        return None, ()
    if int(axes[0]) not in {-1, last}:
        return None, ()
    return epsilon, [*inside, total.get_name(), mean.get_name(), square.get_name()]


def windows(model: Any) -> Iterator[tuple[int, int]]:
    """Yield for each paged attention with a window: its length, and how many numbers a token's keys and values have."""
    for node in model.get_ordered_ops():
        if node.get_type_name() == PAGED_ATTENTION and (window := scalar(node.input_value(_WINDOW_AT))):
            widths = [node.input_value(number).get_partial_shape()[-1] for number in _KEYS_AND_VALUES]
            yield int(window), sum(width.get_length() for width in widths)


def _attention(graph: Graph, node: OvNode, nodes: Mapping[Key, Node]) -> tuple[Node, ...] | None:
    """Match paged attention, and the norms of heads that it takes in; None if the library lacks a part."""
    values = node.input_values()
    names = [value.get_node().get_friendly_name() for value in values]
    if tuple(names[_FIRST_PLACE:_SCALE_AT]) != PLACES[: _SCALE_AT - _FIRST_PLACE]:
        return None
    scale, window, sinks = scalar(values[_SCALE_AT]), scalar(values[_WINDOW_AT]), numbers(values[_SINKS_AT])
    behind = {number: value for number, value in enumerate(values) if number > _WINDOW_AT and number != _SINKS_AT}
    further = [numbers(value) for number, value in behind.items() if names[number] not in {"max_context_len", *PLACES}]
    if scale is None or window is None or sinks is None:
        return None
    if any(each is None or np.any(each) for each in further):  # as a bias by distance
        return None
    q, k, v = (_projected(graph, value, nodes) for value in values[:3])
    norms, size = [each.norm for each in (q, k) if each.norm], k.size
    if not all(each.key in nodes for each in (q, k, v)) or {q.size, k.size, v.size} != {size}:
        return None
    if not size or size % _STEP or q.angles != k.angles or v.angles or v.norm or k.factor or v.factor:
        return None
    if not all(set(graph.readers[each.key]) <= each.inside for each in (q, k)):  # they are changed in place
        return None
    queries, keys = (nodes[each.key].width // size for each in (q, k))
    if nodes[v.key].width != keys * size or sinks.size not in {0, queries} or len({norm.epsilon for norm in norms}) > 1:
        return None
    heads = Heads(
        queries,
        keys,
        size,
        scale,
        (names[3], names[4]),
        window=int(window),
        query_gain=q.norm.gain if q.norm else None,
        key_gain=k.norm.gain if k.norm else None,
        epsilon=norms[0].epsilon if norms else 0.0,
        sinks=sinks if sinks.size else None,
    )
    inside = frozenset([node.get_name()]).union(q.inside, k.inside, v.inside)
    inputs = (q.key, k.key, v.key, *q.angles, *q.factor)
    return Node(Kind.ATTENTION, node.output(0), inputs, attention=heads, inside=inside), *norms


@dataclass(frozen=True)
class _Projected:
    """Queries, keys or values on their way to the attention. `angles`: cos and sin; `size`: numbers of a head."""

    key: Key  # what they come from: a product, or a norm of all heads together
    size: int
    norm: Node | None  # of each head
    angles: tuple[Key, ...]
    factor: tuple[Key, ...]  # by which they are multiplied: a number for each token
    inside: frozenset[str]


def _projected(graph: Graph, value: OvOutput, nodes: Mapping[Key, Node]) -> _Projected:
    """Walk back from an input of the attention to the projection that it comes from."""
    heads = value.get_node().input_value(0).get_partial_shape() if value.get_node().get_input_size() else None
    size = int(heads[-1].get_length()) if heads is not None and len(heads) == _RANK and not heads[-1].is_dynamic else 0
    value, inside = unmoved(value)
    factor: tuple[Key, ...] = ()
    for first, second in operands(value.get_node()) if value.get_node().get_type_name() == "Multiply" else ():
        by, layout = unmoved(first)
        if not factor and all(axis == 1 for axis in list(by.get_partial_shape())[1:]) and constant(by) is None:
            inside |= {value.get_node().get_name(), *layout}
            (value, moved), factor = unmoved(second), (key_of(by),)
            inside |= moved
    value, angles, rotating = _rotated(value)
    value, layout = unmoved(value)
    inside |= rotating | layout
    norm = nodes.get(key_of(value))
    if norm and norm.kind is Kind.NORM:
        value, layout = unmoved(graph.outputs[norm.inputs[0]])
        if layout:
            return _Projected(key_of(value), size, norm, angles, factor, frozenset(inside | layout | norm.inside))
        return _Projected(norm.key, size, None, angles, factor, frozenset(inside))
    return _Projected(key_of(value), size, None, angles, factor, frozenset(inside))


def _rotated(value: OvOutput) -> tuple[OvOutput, tuple[Key, ...], set[str]]:
    """Match x * cos + (-x[half:], x[:half]) * sin (Su et al. 2021, as Hugging Face computes it).

    Return x, cos and sin, and the names of the nodes; the value itself if it is anything else.
    """
    node, plain = value.get_node(), (value, (), set[str]())
    if node.get_type_name() != "Add":
        return plain
    terms = [each.get_node() for each in node.input_values()]
    if any(term.get_type_name() != "Multiply" for term in terms):
        return plain
    turned = next((term for term in terms if term.input_value(0).get_node().get_type_name() == "Concat"), None)
    straight = next((term for term in terms if term is not turned), None)
    if turned is None or straight is None:
        return plain
    x, join = straight.input_value(0), turned.input_value(0).get_node()
    negative, positive = (each.get_node() for each in join.input_values())
    size = x.get_partial_shape()[-1]
    if negative.get_type_name() != "Multiply" or scalar(negative.input_value(1)) != -1.0 or size.is_dynamic:
        return plain
    half, upper = size.get_length() // 2, negative.input_value(0).get_node()
    if not (_is_slice(upper, x, half, None) and _is_slice(positive, x, 0, half)):
        return plain
    angles = [unmoved(term.input_value(1))[0] for term in (straight, turned)]
    if any(angle.get_partial_shape()[-1] != size for angle in angles):
        return plain
    names = {each.get_name() for each in (node, *terms, join, negative, positive, upper)}
    return x, tuple(key_of(angle) for angle in angles), names


def _is_slice(node: OvNode, source: OvOutput, start: int, stop: int | None) -> bool:
    """Return True if a node slices the last axis of a source from `start` to `stop`; None: to the end."""
    if node.get_type_name() != "Slice" or key_of(node.input_value(0)) != key_of(source):
        return False
    begin, end, step, axis = (scalar(value) for value in node.input_values()[1:5])
    last = len(source.get_partial_shape()) - 1
    ends = end == stop if stop is not None else end is not None and end >= source.get_partial_shape()[-1].get_length()
    return begin == start and step == 1.0 and axis in {-1.0, float(last)} and ends


def _biased(graph: Graph, node: OvNode, nodes: Mapping[Key, Node]) -> tuple[Node, ...] | None:
    """Return a product plus a constant for each of its rows."""
    for value, other in operands(node):
        product, bias = nodes.get(key_of(value)), row(other)
        if product is None or bias is None or not _is_bare(graph, product) or bias.size != product.width:
            continue
        inside = frozenset([node.get_name()])
        return replace(product, output=node.output(0), bias=bias, inside=inside), product
    return None


def _sum(graph: Graph, node: OvNode, nodes: Mapping[Key, Node]) -> tuple[Node, ...] | None:
    """Return the sum of two values of one shape. A product that nothing else reads adds the other value itself."""
    first, second = node.input_values()
    if not is_row_of_numbers(first) or str(first.get_partial_shape()) != str(second.get_partial_shape()):
        return None
    inside = frozenset([node.get_name()])
    for value, other in operands(node):
        product = nodes.get(key_of(value))
        if product and product.kind is Kind.LINEAR and product.residual is None and graph.is_read_once(product.output):
            return replace(product, output=node.output(0), residual=key_of(other), inside=inside), product
    if {key_of(first), key_of(second)} & nodes.keys():
        return (Node(Kind.ADD, node.output(0), (key_of(first), key_of(second)), inside=inside),)
    return None
