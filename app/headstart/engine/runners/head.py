"""An EAGLE-3 head (Li et al. 2025, EAGLE-3): a decoder layer that guesses from what its target computes anyway.

It reads a token together with the target's hidden states of the token before it, and behind these its own guesses
together with its own hidden states. The matrix that makes one hidden state of three runs within the target's graph.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine.cancelling import CancelEvent
from headstart.engine.hardware.runtime import core, openvino
from headstart.engine.runners.graph import HIDDEN_STATES, MIN_LAYERS, Ids, add_taps, count_layers, tapped_layers
from headstart.engine.runners.paged import PagedModel, PagedRunner
from headstart.engine.runners.passes import Pass
from headstart.engine.runners.runner import Branch, Hidden, Logits

NEXT = "next_token"  # input of a Hydra head: the token after the one of the hidden state
MAPPING = "d2t"  # output: the offset from a row's number to its token


class HeadEdit:
    """An edit of a head's graph: it reads one hidden state in place of three, and outputs the layer's own."""

    listed: Ids  # tokens that its logits score, rising
    width: int  # of a hidden state

    def __call__(self, model: Any) -> None:
        """Edit the head. Raises RuntimeError if the model is none."""
        self.listed, self.width = tokens_of_rows(model), read_one_state(model)
        sums = [node for node in model.get_ordered_ops() if node.get_type_name() == "Add"]
        last = [node for node in sums if ".midlayer/" in node.get_friendly_name()][-1]
        model.add_results([openvino().opset13.result(last)])
        model.validate_nodes_and_infer_types()


class HeadRunner(PagedRunner):
    """A head with keys and values of its own. It has no branches: the target checks what it guesses."""

    def __init__(self, model: PagedModel, number: int = 0) -> None:
        """`model` was edited by a HeadEdit."""
        edit = model.edit
        assert isinstance(edit, HeadEdit)
        self.listed, self.width = edit.listed, edit.width
        self._hidden_input: Hidden | None = None
        super().__init__(model, number)

    def read(self, ids: Sequence[int], hidden: Hidden, cancel: CancelEvent | None = None) -> Logits:
        """Append tokens, each with the hidden state of the token before it: [tokens, width]. Otherwise as `forward`."""
        self._hidden_input = hidden
        try:
            return self.forward(ids, cancel=cancel)
        finally:
            self._hidden_input = None

    def _pass(self, ids: Sequence[int], branches: Sequence[Branch], rows: int) -> Pass:
        hidden_input = self._hidden_input
        if hidden_input is not None:  # a long text is read in parts
            hidden_input, self._hidden_input = hidden_input[: len(ids)], hidden_input[len(ids) :]
        return replace(super()._pass(ids, branches, rows), hidden_input=hidden_input)


class Taps:
    """An edit of a target's graph that gives the hidden states as a head reads them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, model: Any) -> None:
        """Edit the target. Raises RuntimeError if the head does not fit."""
        layers, head = count_layers(model), core().read_model(self._folder / "openvino_model.xml")
        is_hydra = any(NEXT in parameter.output(0).get_names() for parameter in head.get_parameters())
        if layers < MIN_LAYERS or not add_taps(model, tapped_layers(layers), with_head=is_hydra):
            raise RuntimeError("it has no layers that a head can read")
        weights = _first_matrix(head).input_value(1)
        operations = openvino().opset13
        result = next(output for output in model.get_results() if HIDDEN_STATES in output.input_value(0).get_names())
        taps = result.input_value(0)
        if taps.get_partial_shape()[-1] != weights.get_partial_shape()[-1]:
            raise RuntimeError(f"{self._folder.name} is a head for another model")
        taps.set_names(set())
        product = operations.matmul(taps, weights, transpose_a=False, transpose_b=True)
        product.output(0).set_names({HIDDEN_STATES})
        result.input(0).replace_source_output(product.output(0))
        model.validate_nodes_and_infer_types()


def read_one_state(model: Any) -> int:
    """Make a head read one hidden state in place of several. Return its width."""
    old, matrix = _given_states(model), _first_matrix(model)
    width: int = matrix.get_output_partial_shape(0)[-1].get_length()
    states = openvino().opset13.parameter([-1, -1, width], np.float32, name=HIDDEN_STATES)
    states.output(0).set_names({HIDDEN_STATES})
    matrix.output(0).replace(states.output(0))
    model.remove_parameter(old)
    model.add_parameters([states])
    model.validate_nodes_and_infer_types()
    return width


def _given_states(model: Any) -> Any:
    """Return the input for the target's hidden states. Raises RuntimeError."""
    for node in model.get_parameters():
        if node.get_friendly_name() == HIDDEN_STATES:
            return node
    raise RuntimeError("it is no head")


def _first_matrix(model: Any) -> Any:
    """Return the matrix that makes one hidden state of the target's three. Raises RuntimeError."""
    node = _given_states(model)
    while node.get_type_name() != "MatMul":
        following = list(node.output(0).get_target_inputs())
        if not following:
            raise RuntimeError("it is no head")
        node = following[0].get_node()
    return node


def tokens_of_rows(model: Any) -> Ids:
    """Return the token of each row of the logits, and remove the mapping from the model. Raises RuntimeError."""
    result = next((each for each in model.get_results() if MAPPING in each.input_value(0).get_names()), None)
    source = result.input_value(0).get_node() if result else None
    if result is None or source is None or source.get_type_name() != "Constant":
        raise RuntimeError("it does not say which tokens it guesses")
    offsets = np.asarray(source.data, np.int64)
    listed: Ids = np.arange(offsets.size) + offsets
    if np.any(np.diff(listed) <= 0):
        raise RuntimeError("the tokens that it guesses are not in order")
    model.remove_result(result)
    return listed
