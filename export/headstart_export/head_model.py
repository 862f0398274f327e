"""The head itself: a Hydra head (Ankner et al. 2024), a small network that guesses on from a hidden state.

Its first guess reads what the target computed for a token, and the token behind that; each further one reads what the
head itself made, and its guess. It looks at nothing else, so it needs no keys and values, and a guess costs little more
than scoring the tokens it guesses among. Tokens are read and scored by the same rows: the target's own output rows.
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

LEAN_FILE = "head.safetensors"  # what a head learned, without the target's rows
_BLOCK = 4096  # rows of a table that are unpacked at once
_SMALL = 0.005  # spread of weights that start from nothing
_QUIET = 0.1  # what the network adds at first, beside what usual initial weights would
_QUIETER = 0.5  # than the target's hidden states: what is scored at first
_SCALES = ".scales"  # behind the name of a matrix: what its rows are multiplied by


@dataclass(frozen=True)
class Measures:
    """The sizes of a head. `config`: that of its target."""

    config: Mapping[str, Any]
    inner: int  # neurons
    rows: int  # tokens that it guesses among

    @property
    def hidden(self) -> int:
        """Numbers of a hidden state."""
        return int(self.config["hidden_size"])


class Head(nn.Module):  # type: ignore[misc]
    """A head that learns. Buffers are frozen: the `rows`, the token of each, and the scales."""

    rows: Tensor
    chosen: Tensor
    reading: Tensor  # usual size of each channel of the target's states, some of which are a hundred times as large

    def __init__(self, measures: Measures) -> None:
        super().__init__()
        hidden, linear = measures.hidden, partial(nn.Linear, bias=False)
        norm = partial(nn.RMSNorm, hidden, eps=float(measures.config.get("rms_norm_eps", 1e-6)))
        self.measures = measures
        self.fc = linear(STATES * hidden, hidden)
        self.token_norm, self.hidden_norm, self.norm = norm(), norm(), norm()
        self.inner = linear(2 * hidden, 2 * measures.inner)
        self.outer = linear(measures.inner, hidden)
        for name, buffer in {
            "rows": torch.zeros(measures.rows, hidden, dtype=torch.bfloat16),
            "chosen": torch.arange(measures.rows),
            "reading": torch.ones(STATES * hidden),
        }.items():
            self.register_buffer(name, buffer, persistent=False)

    def unroll(self, texts: Sequence[Text], steps: int) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Guess at each place of texts, `steps` tokens ahead, as in a chain of guesses that hold.

        Of each step: what the rows score, [places of all texts, hidden], and for each text the places in it of the
        token behind which each guess stands.
        """
        spans = [torch.arange(text.given - 1, len(text.ids) - steps) for text in texts]
        read = [text.states[span.numpy()] for text, span in zip(texts, spans, strict=True)]
        ids = [torch.tensor(text.ids) for text in texts]
        hidden = self.fc(torch.from_numpy(np.concatenate(read)).float() / self.reading).float()
        for step in range(1, steps + 1):
            tokens = torch.cat([each[span + step] for each, span in zip(ids, spans, strict=True)])
            read_and_held = torch.cat([self.token_norm(self._embedded(tokens)), self.hidden_norm(hidden)], dim=-1)
            gate, up = self.inner(read_and_held).chunk(2, dim=-1)
            hidden = hidden + self.outer(functional.silu(gate) * up).float()
            yield self.norm(hidden), [span + step for span in spans]

    def _embedded(self, tokens: Tensor) -> Tensor:
        """Zeros for a token that has no row."""
        row = torch.searchsorted(self.chosen, tokens).clamp(max=len(self.chosen) - 1)
        return self.rows[row].float() * (self.chosen[row] == tokens)[:, None]


class TargetWeights:
    """Weights of an exported model, unpacked from its graph, by the names that they have on the hub."""

    def __init__(self, folder: Path) -> None:
        """Raises ExportError where the model has no layers like Llama's."""
        import openvino  # noqa: PLC0415

        self._openvino = openvino
        self._core = openvino.Core()
        self._model = self._core.read_model(folder / MODEL_FILE)
        self._sources: dict[str, Any] = {}
        for node in self._model.get_ordered_ops():
            found, kind = _NAMED.search(node.get_friendly_name()), node.get_type_name()
            if found and kind in _WEIGHT_AT:
                source = node.input_value(_WEIGHT_AT[kind])
                if not source.get_partial_shape().is_dynamic:
                    self._sources[found["name"]] = source

    def has(self, name: str) -> bool:
        return name in self._sources

    def get(self, name: str) -> Tensor:
        """A whole one, as f32."""
        operations = self._openvino.opset13
        model = self._openvino.Model([operations.result(operations.convert(self._source(name), "f32"))], [])
        found = self._core.compile_model(model, "CPU", _EXACT)({})[0]
        return torch.from_numpy(found.copy()).squeeze()

    def rows_of(self, name: str, ids: NDArray[np.int64]) -> Tensor:
        """Chosen rows of a table in 16 bits, unpacked block by block."""
        operations = self._openvino.opset13
        chosen = operations.parameter([-1], np.int64, name="ids")
        rows = operations.gather(self._source(name), chosen, operations.constant(np.array(0, np.int64)))
        model = self._openvino.Model([operations.result(rows)], [chosen])
        session = self._core.compile_model(model, "CPU", _EXACT).create_infer_request()
        found = []
        for start in range(0, len(ids), _BLOCK):
            session.infer([ids[start : start + _BLOCK]])
            found.append(torch.from_numpy(session.get_output_tensor(0).data.copy()).to(torch.bfloat16))
        return torch.cat(found)

    def _source(self, name: str) -> Any:
        if name not in self._sources:
            raise ExportError("Models of this kind can have no head: {name} was not found in it.", name=name)
        return self._sources[name]


_EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
_NAMED = re.compile(r"^__module\.(?:model\.)?(?P<name>(?:layers\.\d+\.\w+(?:\.\w+)?|embed_tokens|norm|lm_head))/")
_WEIGHT_AT = {"MatMul": 1, "Gather": 0, "Multiply": 0}  # the input that is a weight


def begin(head: Head, weights: TargetWeights, chosen: NDArray[np.int64], texts: Sequence[Text]) -> None:
    """Give a head its frozen parts, and let it begin quietly.

    `chosen`: the tokens that it guesses among, rising. `texts`: some whose states tell the usual size of each channel.
    """
    states = torch.from_numpy(np.concatenate([text.states[text.given :] for text in texts])).float()
    with torch.no_grad():
        _take_rows(head, weights, chosen)
        head.reading.copy_(states.pow(2).mean(dim=0).sqrt() + 1e-3)
        head.fc.weight.normal_(0, _SMALL)
        head.norm.weight.fill_(_QUIETER * float(states[:, -head.measures.hidden :].pow(2).mean().sqrt()))
        head.outer.weight.mul_(_QUIET)


def _take_rows(head: Head, weights: TargetWeights, chosen: NDArray[np.int64]) -> None:
    head.chosen.copy_(torch.from_numpy(chosen))
    head.rows.copy_(weights.rows_of("lm_head" if weights.has("lm_head") else "embed_tokens", chosen))


def save_lean(head: Head, folder: Path) -> None:
    """Write what a head learned, its matrices in 8 bits. The target has the rest."""
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
    """The head in the folder `source`, for the exported model in `target`. Raises ExportError where it does not fit."""
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    try:
        stored = load_file(source / LEAN_FILE)
        chosen = stored.pop("chosen")
        for name in [name for name in stored if name.endswith(_SCALES)]:
            matrix = name.removesuffix(_SCALES)
            stored[matrix] = stored[matrix].float() * stored.pop(name).float()
        head = Head(Measures(config, stored["outer.weight"].shape[1], len(chosen)))
        head.load_state_dict(stored)
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        raise ExportError(
            "The head in {folder} is not one for this model ({error}).", folder=source, error=error
        ) from None
    with torch.no_grad():
        _take_rows(head, TargetWeights(target), chosen.numpy().astype(np.int64))
    return head


def save(head: Head, path: Path) -> None:
    """Write its graph with weights of 8 bits.

    It reads HIDDEN_STATES [1, places, states] and NEXT [places], and gives logits [places, rows], its next hidden
    state [places, hidden], and as MAPPING what to add to the number of a row to get its token.
    """
    import openvino  # noqa: PLC0415

    ops, learned = openvino.opset13, _weights(head)

    def constant(values: Any, kind: Any = np.float32) -> Any:
        return ops.constant(np.asarray(values, kind))

    def packed(weight: Tensor) -> tuple[Any, Any]:
        values, scales = _in_8_bits(weight)
        return constant(values, np.int8), constant(scales, np.float16)

    def linear(given: Any, weight: tuple[Any, Any]) -> Any:
        unpacked = ops.convert(ops.multiply(ops.convert(weight[0], "f16"), weight[1]), "f32")
        return ops.matmul(given, unpacked, transpose_a=False, transpose_b=True)

    def normed(given: Any, name: str) -> Any:
        square = ops.reduce_mean(ops.multiply(given, given), constant(-1, np.int64), keep_dims=True)
        root = ops.sqrt(ops.add(square, constant(head.norm.eps)))
        return ops.multiply(ops.divide(given, root), constant(learned[f"{name}.weight"].numpy()))

    rows, first = packed(head.rows), constant(0, np.int64)
    states = ops.parameter([-1, -1, head.fc.in_features], np.float32, name=HIDDEN_STATES)
    token = ops.parameter([-1], np.int64, name=NEXT)
    row_of = np.full(int(head.measures.config["vocab_size"]), len(head.chosen), np.int32)
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
    """Return the weights that were learned, `fc` with the divisors of the target's states in it."""
    weights = {name: weight.detach().float() for name, weight in head.named_parameters()}
    return weights | {"fc.weight": weights["fc.weight"] / head.reading}


def _in_8_bits(matrix: Tensor) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Return whole numbers [rows, columns], and the scale of each row [rows, 1]."""
    values = matrix.float().numpy()
    scales = np.maximum(np.abs(values).max(axis=1, keepdims=True) / 127, 1e-7).astype(np.float16)
    return np.round(values / scales.astype(np.float32)).clip(-127, 127).astype(np.int8), scales
