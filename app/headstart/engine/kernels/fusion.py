"""The graph pass that replaces products of compressed weights, and the nodes between them, by our own operations.

One operation takes all that lies between two others that the library does not know: where it knows the attention, all
layers of a decoder, else nearly a whole layer, from the output projection of an attention to the next layer's q, k and
v. So a pass calls few of them, and the 15 microseconds that each costs, being written in Python, do not count.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware import devices
from headstart.engine.hardware.runtime import core
from headstart.engine.kernels.blocks import replace_blocks, weights_of
from headstart.engine.kernels.experts import replace_experts
from headstart.engine.kernels.graph import Graph, Key, OvNode, key_of
from headstart.engine.kernels.library import OUTPUTS, KernelAttention, Kind, Library, Tickets, Weights, library
from headstart.engine.kernels.operation import (
    CompiledSteps,
    KvCache,
    Layout,
    PlannedStep,
    Rows,
    lookup_operation,
    operation,
    pack,
)
from headstart.engine.kernels.patterns import PAGED_ATTENTION, PLACES, Heads, Node, are_alike, find
from headstart.engine.kernels.selftest import proven, unsupported_reason
from headstart.engine.kernels.states import States, replace_recurrences
from headstart.engine.kernels.windows import Windows

_KV_BITS = {"f16": 16, "u8": 8}  # of the keys and values of our own attention
KERNELS = "HEADSTART_KERNELS"  # among the properties of a compiled model, not one of OpenVINO's: see compile_model


@dataclass(frozen=True)
class Compiled:
    model: Any
    tickets: Tickets  # of its passes
    states: States  # of layers that keep more of a text than keys and values
    attentions: Sequence[KernelAttention] = ()  # our own, in the order of the layers; empty if OpenVINO's are used
    windows: Windows | None = None  # of our own attention; None: no layer has one

    def kv_cache(self, blocks: int) -> KvCache:
        """Make room for the keys and values of our own attention. Call it once."""
        own = library()
        assert own is not None
        return KvCache(own, self.attentions, blocks, self.windows)


def compile_model(model: Any, device: str, properties: Mapping[str, str]) -> Compiled:
    """Compile a model as OpenVINO does; if the properties have KERNELS, with our own kernels.

    Raises RuntimeError if OpenVINO refuses it, or if our own kernels are not used on this computer.
    """
    own = {name: value for name, value in properties.items() if name != KERNELS}
    pieces: Sequence[CompiledSteps] = ()
    kernels = proven() if properties.get(KERNELS) else None
    states = replace_recurrences(model, kernels)
    if properties.get(KERNELS):
        if kernels is None:
            raise RuntimeError(f"our own kernels are not used: {unsupported_reason()}")
        pieces = fuse(
            model, kernels, devices.cores(), kv_bits=_KV_BITS.get(properties.get("KV_CACHE_PRECISION", ""), 0)
        )
    replace_experts(model, None, 1)
    replace_blocks(model)
    compiled, tickets = core().compile_model(model, device, own), Tickets()
    attentions = [attention for piece in pieces for attention in piece.attentions]
    widest = max((attention.window for attention in attentions), default=0)
    windows = Windows(widest) if widest else None
    threads = int(compiled.get_property("INFERENCE_NUM_THREADS"))
    states.use(threads)
    for piece in pieces:
        piece.tickets, piece.windows, piece.threads = tickets, windows, threads
    return Compiled(compiled, tickets, states, attentions, windows)


def fuse(model: Any, kernels: Library, threads: int, *, kv_bits: int = 0) -> Sequence[CompiledSteps]:
    """Replace supported subgraphs by our own operations, and return these. Without any, the model is unchanged.

    Call it on the model in its final form: an output head that is edited later would not be found. `kv_bits`, 16 or 8:
    replace paged attention, too, if all of it can be, and keep keys and values in so many bits; inputs of the model for
    them then go.
    """
    experts = replace_experts(model, kernels, threads)
    graph = Graph(model)
    nodes = find(graph, kernels, attention=kv_bits > 0)
    paged = sum(node.get_type_name() == PAGED_ATTENTION for node in graph.nodes)
    if kv_bits and sum(node.kind is Kind.ATTENTION for node in nodes) < paged:
        nodes = find(graph, kernels, attention=False)
    regions = [region for region in _regions(graph, nodes) if any(each.weights for each in region)]
    layouts = [_layout(graph, region, kv_bits) for region in regions]
    lookups = [(node, weights) for node in graph.nodes if (weights := _table(node)) and kernels.block_size(weights)]
    places_of_tables = [_place_of(weights, layouts) for _, weights in lookups]
    pieces = pack(kernels, [layout for layout, _, _ in layouts], threads)
    for (lookup, weights), place in zip(lookups, places_of_tables, strict=True):
        if place is None:
            rows = Rows.packed(kernels, weights, threads)
        else:
            owner, step = pieces[place[0]], place[1]
            rows = Rows(kernels, owner.matrix(step), weights.rows, owner)
        node = lookup_operation()([lookup.input_value(1)], rows)
        _replace(lookup.output(0), node.output(0))
        graph.outputs[key_of(lookup.output(0))] = node.output(0)
    for piece, (_, sources, targets) in zip(pieces, layouts, strict=True):
        places = [graph.parameters[name] for name in PLACES if name in graph.parameters] if piece.attentions else []
        node = operation()([*(graph.outputs[key] for key in sources), *places], piece)
        for number, key in enumerate(targets):
            _replace(graph.outputs[key], node.output(number))
            graph.outputs[key] = node.output(number)
    for name in (name for node in nodes if node.attention for name in node.attention.caches):
        model.remove_parameter(graph.parameters[name].get_node())
    if regions or lookups:
        model.validate_nodes_and_infer_types()
    return [*pieces, *experts]


def _table(node: OvNode) -> Weights | None:
    """Return the table in blocks of which a node takes rows; None for any other node."""
    return weights_of(node.input_value(0).get_node()) if node.get_type_name() == "Gather" else None


def _place_of(table: Weights, layouts: Sequence[tuple[Layout, Any, Any]]) -> tuple[int, int] | None:
    """Return the layout and the step that multiply by the same weights and by no others; None if there is none."""
    for number, (layout, _, _) in enumerate(layouts):
        for place, step in enumerate(layout.steps):
            if len(step.weights) == 1 and step.weights[0].values.ctypes.data == table.values.ctypes.data:
                return number, place
    return None


def _regions(graph: Graph, nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Yield connected sets of nodes that no path leaves and enters again.

    A node's level is the number of nodes not in `nodes` between it and the inputs, along the path that has the most of
    them behind nodes in `nodes`. Any node on a path between two nodes of one level has that level, too, so it is in
    `nodes`.
    """
    by_key = {node.key: node for node in nodes}
    hidden = {name for node in nodes for name in node.inside}
    level: dict[Key, int] = {}
    for each in graph.nodes:
        for output in each.outputs():
            key = key_of(output)
            if key in by_key:
                level[key] = max((level[source] for source in by_key[key].sources), default=0)
            elif each.get_name() not in hidden:
                level[key] = max(
                    (level.get(key_of(value), 0) + (key_of(value) in by_key) for value in each.input_values()),
                    default=0,
                )
    joined: dict[str, str] = {}

    def root(tag: str) -> str:
        while joined.setdefault(tag, tag) != tag:
            tag = joined[tag]
        return tag

    def tag(node: Node, key: Key) -> str:  # nodes that read the same value at one level belong together, too
        return f"{level[node.key]} {key}"

    for node in nodes:
        for key in node.sources:
            joined[root(tag(node, key))] = root(tag(node, node.key))
    regions: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        regions[root(tag(node, node.key))].append(node)
    yield from regions.values()


def _layout(graph: Graph, region: Sequence[Node], kv_bits: int) -> tuple[Layout, Sequence[Key], Sequence[Key]]:
    """Return the steps of a region over numbered buffers, the values that it reads and the values that it computes."""
    by_key = {node.key: node for node in region}
    inside = {name for node in region for name in node.inside}
    sources = list(dict.fromkeys(key for node in region for key in node.sources if key not in by_key))
    targets = [node.key for node in region if set(graph.readers[node.key]) - inside]
    # Products round their activations anyway, so they also compute a norm that nothing else reads.
    norms = {node.key: node for node in region if node.kind is Kind.NORM}
    others = [node for node in region if node.kind is not Kind.NORM]
    needed = {key for node in others if not node.weights for key in node.inputs} | set(targets)
    needed |= {node.residual for node in others if node.residual}
    needed |= {node.inputs[0] for node in norms.values()}
    written = [node for node in region if node.key not in norms or node.key in needed]
    keys = [*sources, *targets, *(node.key for node in written if node.key not in targets)]
    numbers = {key: number for number, key in enumerate(keys)}
    widths = [int(graph.outputs[key].get_partial_shape()[-1].get_length()) for key in keys]
    layout = Layout(widths, len(sources), len(targets))
    for group in _joined(written):
        first = group[0]
        norm = norms.get(first.inputs[0]) if first.weights else None
        source = norm or first if first.kind is Kind.NORM or norm else None
        second = first.inputs[1] if first.kind in {Kind.ADD, Kind.GATE} else first.residual
        planned = PlannedStep(
            kind=first.kind,
            activation=first.activation,
            input=numbers[(norm or first).inputs[0]],
            residual=numbers[second] if second else -1,
            outputs=[numbers[node.key] for node in group],
            weights=[weights for node in group for weights in node.weights],
            biases=[node.bias for node in group],
            gain=source.gain if source else None,
            epsilon=source.epsilon if source else 0.0,
        )
        if first.attention:
            attention, arrays = _attention(first.attention, [numbers[place] for place in first.inputs[1:]], kv_bits)
            planned = replace(planned, attention=attention, arrays=arrays)
        layout.steps.append(planned)
    return layout.shared(), sources, targets


def _attention(
    heads: Heads, buffers: Sequence[int], bits: int
) -> tuple[KernelAttention, Sequence[NDArray[np.float32]]]:
    """Return the attention over these buffers, and the arrays that it points to."""
    key, value, *further = buffers
    angles, factor = further[:2] if len(further) > 1 else (-1, -1), further[-1] if len(further) % 2 else -1
    attention = KernelAttention(heads.queries, heads.keys, heads.size, key, value, *angles, factor, bits, heads.window)
    attention.scale, attention.epsilon = heads.scale, heads.epsilon
    given = {"query_gain": heads.query_gain, "key_gain": heads.key_gain, "sinks": heads.sinks}
    arrays = {name: np.ascontiguousarray(array, np.float32) for name, array in given.items() if array is not None}
    for name, array in arrays.items():
        setattr(attention, name, array.ctypes.data)
    return attention, list(arrays.values())


def _joined(region: Sequence[Node]) -> Iterator[list[Node]]:
    """Return the nodes in order, with plain products of the same values, such as q, k and v, next to each other."""
    joined: set[Key] = set()
    for node in region:
        if node.key in joined:
            continue
        group = [node]
        if node.kind is Kind.LINEAR and node.residual is None:
            plain = [linear for linear in region if linear.kind is Kind.LINEAR and linear.residual is None]
            others = [linear for linear in plain if linear.key != node.key and linear.inputs == node.inputs]
            group = [node, *(linear for linear in others if are_alike(node, linear))][:OUTPUTS]
        joined |= {linear.key for linear in group}
        yield group


def _replace(old: Any, new: Any) -> None:
    names = old.get_names()
    for reader in list(old.get_target_inputs()):
        reader.replace_source_output(new)
    new.set_names(names)
