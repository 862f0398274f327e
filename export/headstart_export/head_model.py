"""A Hydra head (Ankner et al. 2024): a small network that guesses tokens from a hidden state.

The first guess reads the target's hidden state of a token, and the next token; each further guess reads the head's own
last state, and its last guess. It reads nothing else, so it needs no KV cache, and a guess costs little more than the
output rows of the tokens it guesses among. These rows are the target's own, and embed tokens, too.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from headstart.engine.runners.graph import HIDDEN_STATES
from headstart.engine.runners.head import MAPPING, NEXT
from headstart.errors import ExportError
from headstart_export.convert import MODEL_FILE
from headstart_export.features import STATES, Text

LEAN_FILE = "head.safetensors"  # the learned weights, without the target's rows
_BLOCK = 4096  # rows that are unpacked at once
_WEIGHT_SPREAD = 0.005  # standard deviation of the initial weights of `fc`
_OUTER_SCALE = 0.1  # factor on the usual initial weights of `outer`
_STATE_SCALE = 0.5  # initial size of normed states, relative to the target's hidden states
_SCALES = ".scales"  # suffix of the scales of a matrix's rows


@dataclass(frozen=True)
class HeadSizes:
    """The sizes of a head. `config`: the config.json of its target."""

    config: Mapping[str, Any]
    inner: int  # neurons
    rows: int  # tokens that it guesses among

    @property
    def hidden(self) -> int:
        return int(self.config["hidden_size"])


class Head(nn.Module):  # type: ignore[misc]
    """A head in training. Its buffers are frozen."""

    rows: Tensor  # [rows, hidden], the target's output rows
    chosen: Tensor  # [rows], the token of each
    # [STATES * hidden], the usual size of each channel that `fc` reads; some are a hundred times as large as others
    reading: Tensor

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__()
        hidden, linear = sizes.hidden, partial(nn.Linear, bias=False)
        norm = partial(nn.RMSNorm, hidden, eps=float(sizes.config.get("rms_norm_eps", 1e-6)))
        self.sizes = sizes
        self.fc = linear(STATES * hidden, hidden)
        self.token_norm, self.hidden_norm, self.norm = norm(), norm(), norm()
        self.inner = linear(2 * hidden, 2 * sizes.inner)
        self.outer = linear(sizes.inner, hidden)
        for name, buffer in {
            "rows": torch.zeros(sizes.rows, hidden, dtype=torch.bfloat16),
            "chosen": torch.arange(sizes.rows),
            "reading": torch.ones(STATES * hidden),
        }.items():
            self.register_buffer(name, buffer, persistent=False)

    def unroll(self, texts: Sequence[Text], steps: int) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Guess `steps` tokens ahead from each place of the texts, as if all guesses before were accepted.

        Yield for each step the normed states that the rows score, [places of all texts, hidden], and for each text the
        places of the tokens before the guessed ones.
        """
        spans = [torch.arange(text.given - 1, len(text.ids) - steps) for text in texts]
        read = [text.states[span.numpy()] for text, span in zip(texts, spans, strict=True)]
        ids = [torch.tensor(text.ids) for text in texts]
        hidden = self.fc(torch.from_numpy(np.concatenate(read)).float() / self.reading).float()
        for step in range(1, steps + 1):
            tokens = torch.cat([row[span + step] for row, span in zip(ids, spans, strict=True)])
            read_and_held = torch.cat([self.token_norm(self._embedded(tokens)), self.hidden_norm(hidden)], dim=-1)
            gate, up = self.inner(read_and_held).chunk(2, dim=-1)
            hidden = hidden + self.outer(functional.silu(gate) * up).float()
            yield self.norm(hidden), [span + step for span in spans]

    def _embedded(self, tokens: Tensor) -> Tensor:
        """Return the rows of tokens; zeros for a token without a row."""
        row = torch.searchsorted(self.chosen, tokens).clamp(max=len(self.chosen) - 1)
        return self.rows[row].float() * (self.chosen[row] == tokens)[:, None]


class TargetWeights:
    """Weights of an exported model, unpacked from its graph, by their names on the hub."""

    def __init__(self, folder: Path) -> None:
        """Find the weights in the graph of the model in `folder`."""
        import openvino  # noqa: PLC0415

        self._openvino = openvino
        self._core = openvino.Core()
        self._model = self._core.read_model(folder / MODEL_FILE)
        self._sources: dict[str, Any] = {}
        for node in self._model.get_ordered_ops():
            match, kind = _WEIGHT_NAME.search(node.get_friendly_name()), node.get_type_name()
            if match and kind in _WEIGHT_INPUT:
                source = node.input_value(_WEIGHT_INPUT[kind])
                if not source.get_partial_shape().is_dynamic:
                    self._sources[match["name"]] = source

    def has(self, name: str) -> bool:
        return name in self._sources

    def get(self, name: str) -> Tensor:
        """Return a weight as f32."""
        operations = self._openvino.opset13
        model = self._openvino.Model([operations.result(operations.convert(self._source(name), "f32"))], [])
        values = self._core.compile_model(model, "CPU", _EXACT)({})[0]
        return torch.from_numpy(values.copy()).squeeze()

    def rows_of(self, name: str, ids: NDArray[np.int64]) -> Tensor:
        """Return some rows of a matrix as bfloat16, unpacked in blocks."""
        operations = self._openvino.opset13
        chosen = operations.parameter([-1], np.int64, name="ids")
        rows = operations.gather(self._source(name), chosen, operations.constant(np.array(0, np.int64)))
        model = self._openvino.Model([operations.result(rows)], [chosen])
        session = self._core.compile_model(model, "CPU", _EXACT).create_infer_request()
        blocks = []
        for start in range(0, len(ids), _BLOCK):
            session.infer([ids[start : start + _BLOCK]])
            blocks.append(torch.from_numpy(session.get_output_tensor(0).data.copy()).to(torch.bfloat16))
        return torch.cat(blocks)

    def _source(self, name: str) -> Any:
        if name not in self._sources:
            raise ExportError("Models of this kind cannot have a head: {name} was not found in it.", name=name)
        return self._sources[name]


_EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
_WEIGHT_NAME = re.compile(r"^__module\.(?:model\.)?(?P<name>(?:layers\.\d+\.\w+(?:\.\w+)?|embed_tokens|norm|lm_head))/")
_WEIGHT_INPUT = {"MatMul": 1, "Gather": 0, "Multiply": 0}  # the input that is a weight


def begin(head: Head, weights: TargetWeights, chosen: NDArray[np.int64], texts: Sequence[Text]) -> None:
    """Set the frozen parts and the initial weights of a head.

    `chosen`: the tokens that it guesses among, rising. `texts`: their states give the usual size of each channel.
    """
    states = torch.from_numpy(np.concatenate([text.states[text.given :] for text in texts])).float()
    with torch.no_grad():
        _take_rows(head, weights, chosen)
        head.reading.copy_(states.pow(2).mean(dim=0).sqrt() + 1e-3)
        head.fc.weight.normal_(0, _WEIGHT_SPREAD)
        head.norm.weight.fill_(_STATE_SCALE * float(states[:, -head.sizes.hidden :].pow(2).mean().sqrt()))
        head.outer.weight.mul_(_OUTER_SCALE)


def _take_rows(head: Head, weights: TargetWeights, chosen: NDArray[np.int64]) -> None:
    head.chosen.copy_(torch.from_numpy(chosen))
    head.rows.copy_(weights.rows_of("lm_head" if weights.has("lm_head") else "embed_tokens", chosen))


def save_lean(head: Head, folder: Path) -> None:
    """Write the learned weights of a head, matrices in 8 bits. The target has the frozen ones."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {"chosen": head.chosen.to(torch.int32)}
    for name, weight in _weights(head).items():
        if weight.dim() < 2:
            tensors[name] = weight
            continue
        values, scales = _in_8_bits(weight)
        tensors |= {name: torch.from_numpy(values), name + _SCALES: torch.from_numpy(scales)}
    save_file(tensors, folder / LEAN_FILE, {"format": "pt"})


def load_lean(source: Path, target: Path) -> Head:
    """Load the head in `source` for the exported model in `target`. Raises ExportError if it does not fit."""
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    try:
        stored = load_file(source / LEAN_FILE)
        chosen = stored.pop("chosen")
        for name in [name for name in stored if name.endswith(_SCALES)]:
            matrix = name.removesuffix(_SCALES)
            stored[matrix] = stored[matrix].float() * stored.pop(name).float()
        head = Head(HeadSizes(config, stored["outer.weight"].shape[1], len(chosen)))
        head.load_state_dict(stored)
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        raise ExportError(
            "The head in {folder} is not one for this model ({error}).", folder=source, error=error
        ) from None
    with torch.no_grad():
        _take_rows(head, TargetWeights(target), chosen.numpy().astype(np.int64))
    return head


def save(head: Head, path: Path) -> None:
    """Write the graph of a head, with 8-bit weights.

    Inputs: HIDDEN_STATES [1, places, states] and NEXT [places]. Outputs: logits [places, rows], the next hidden state
    [places, hidden], and MAPPING [rows]: a row's token less its number.
    """
    import openvino  # noqa: PLC0415

    ops, learned = openvino.opset13, _weights(head)

    def constant(values: Any, kind: Any = np.float32) -> Any:
        return ops.constant(np.asarray(values, kind))

    def packed(weight: Tensor) -> tuple[Any, Any]:
        values, scales = _in_8_bits(weight)
        return constant(values, np.int8), constant(scales, np.float16)

    def linear(inputs: Any, weight: tuple[Any, Any]) -> Any:
        unpacked = ops.convert(ops.multiply(ops.convert(weight[0], "f16"), weight[1]), "f32")
        return ops.matmul(inputs, unpacked, transpose_a=False, transpose_b=True)

    def normed(inputs: Any, name: str) -> Any:
        square = ops.reduce_mean(ops.multiply(inputs, inputs), constant(-1, np.int64), keep_dims=True)
        root = ops.sqrt(ops.add(square, constant(head.norm.eps)))
        return ops.multiply(ops.divide(inputs, root), constant(learned[f"{name}.weight"].numpy()))

    rows, first = packed(head.rows), constant(0, np.int64)
    states = ops.parameter([-1, -1, head.fc.in_features], np.float32, name=HIDDEN_STATES)
    token = ops.parameter([-1], np.int64, name=NEXT)
    row_of = np.full(int(head.sizes.config["vocab_size"]), len(head.chosen), np.int32)
    row_of[head.chosen.numpy()] = np.arange(len(head.chosen))
    row = ops.gather(constant(row_of, np.int32), token, first)
    values, scales = (ops.convert(ops.gather(part, row, first), "f32") for part in rows)  # zeros beyond the last row
    hidden = ops.squeeze(linear(states, packed(learned["fc.weight"])), first)
    read = ops.concat([normed(ops.multiply(values, scales), "token_norm"), normed(hidden, "hidden_norm")], -1)
    gate, up = ops.split(linear(read, packed(learned["inner.weight"])), constant(-1, np.int64), 2).outputs()
    hidden = ops.add(hidden, linear(ops.multiply(ops.swish(gate), up), packed(learned["outer.weight"])))
    mapping = constant(head.chosen.numpy() - np.arange(len(head.chosen)), np.int64)
    results = {"logits": linear(normed(hidden, "norm"), rows), "hidden": hidden, MAPPING: mapping}
    for name, node in {HIDDEN_STATES: states, NEXT: token, **results}.items():
        node.output(0).set_names({name})
    model = openvino.Model([ops.result(each) for each in results.values()], [states, token], "hydra")
    openvino.save_model(model, path, compress_to_fp16=False)


def _weights(head: Head) -> dict[str, Tensor]:
    """Return the learned weights; those of `fc` include the divisors of the target's states."""
    weights = {name: weight.detach().float() for name, weight in head.named_parameters()}
    return weights | {"fc.weight": weights["fc.weight"] / head.reading}


def _in_8_bits(matrix: Tensor) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Return the matrix as int8 [rows, columns], and the scale of each row [rows, 1]."""
    values = matrix.float().numpy()
    scales = np.maximum(np.abs(values).max(axis=1, keepdims=True) / 127, 1e-7).astype(np.float16)
    return np.round(values / scales.astype(np.float32)).clip(-127, 127).astype(np.int8), scales
