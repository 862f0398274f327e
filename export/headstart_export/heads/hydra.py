"""A trained Hydra head: its file, the target's rows, and its OpenVINO graph."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import Path as ZipPath

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware.runtime import GGUF_WEIGHTS, core, openvino
from headstart.engine.kernels.blocks import decompressed
from headstart.engine.runners.graph import HIDDEN_STATES
from headstart.engine.runners.head import MAPPING, NEXT
from headstart.errors import ExportError
from headstart.library import manifest
from headstart_export import provenance
from headstart_export.conversion.convert import MODEL_FILE

LEAN_FILE = "head.safetensors"  # what a head learned, without the target's rows
_SCALES = ".scales"  # behind the name of a matrix: what its rows are multiplied by
_BLOCK = 4096  # rows of a table that are unpacked at once
_EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
_NAMED = re.compile(r"^__module\.(?:model\.)?(?P<name>(?:layers\.\d+\.\w+(?:\.\w+)?|embed_tokens|norm|lm_head))/")
_WEIGHT_AT = {"MatMul": 1, "Gather": 0, "Multiply": 0}  # the input that is a weight


@dataclass(frozen=True)
class HeadWeights:
    """The weights of a head. Matrices are [outputs, inputs]."""

    learned: Mapping[str, NDArray[np.float32]]  # by name; fc.weight has the divisors of the target's states in it
    chosen: NDArray[np.int64]  # tokens that the head guesses among, rising
    rows: NDArray[np.float16]  # of the target's output, one for each chosen token: [chosen, hidden]
    vocabulary: int  # of the target
    epsilon: float  # of its norms

    @property
    def parameters(self) -> int:
        return sum(weights.size for weights in self.learned.values())


class TargetWeights:
    """Weights of an exported model, dequantized from its graph, by their names on the hub."""

    def __init__(self, folder: Path) -> None:
        self._openvino, self._core = openvino(), core()
        self._model = self._core.read_model(folder / MODEL_FILE)
        self._sources: dict[str, Any] = {}
        for node in self._model.get_ordered_ops():
            named, kind = _NAMED.search(node.get_friendly_name()), node.get_type_name()
            if named and kind in _WEIGHT_AT:
                source = node.input_value(_WEIGHT_AT[kind])
                if not source.get_partial_shape().is_dynamic:
                    self._sources[named["name"]] = source

    def output_rows(self, ids: NDArray[np.int64]) -> NDArray[np.float16]:
        """Return rows of the output head, dequantized block by block. Raises ExportError if there is none."""
        source = self._sources.get("lm_head", self._sources.get("embed_tokens"))
        if source is None:
            raise ExportError("Models of this kind can have no head: their output rows were not found.")
        if source.get_node().get_type_name() == GGUF_WEIGHTS:
            source = decompressed(source.get_node())
        ops = self._openvino.opset13
        chosen = ops.parameter([-1], np.int64, name="ids")
        rows = ops.gather(source, chosen, ops.constant(np.array(0, np.int64)))
        model = self._openvino.Model([ops.result(rows)], [chosen])
        session = self._core.compile_model(model, "CPU", _EXACT).create_infer_request()
        blocks = []
        for start in range(0, len(ids), _BLOCK):
            session.infer([ids[start : start + _BLOCK]])
            blocks.append(session.get_output_tensor(0).data.astype(np.float16))
        return np.concatenate(blocks)


def save_lean(head: HeadWeights, folder: Path) -> None:
    """Save the trained matrices of a head in 8 bits, without what the target has."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Any] = {"chosen": head.chosen.astype(np.int32)}
    for name, weights in head.learned.items():
        if weights.ndim < 2:
            tensors[name] = weights
        else:
            tensors[name], tensors[name + _SCALES] = to_8_bits(weights)
    save_file(tensors, folder / LEAN_FILE, {"format": "pt"})


def load_lean(source: Path | ZipPath, target: Path) -> HeadWeights:
    """Read the head in the file `source`, for the exported model in `target`. Raises ExportError if they do not fit."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    hidden = int(config["hidden_size"])
    try:
        stored = load(source.read_bytes())
        chosen = stored.pop("chosen").astype(np.int64)
        for name in [name for name in stored if name.endswith(_SCALES)]:
            matrix = name.removesuffix(_SCALES)
            stored[matrix] = stored[matrix].astype(np.float32) * stored.pop(name).astype(np.float32)
        learned = {name: weights.astype(np.float32) for name, weights in stored.items()}
        if len(learned["fc.weight"]) != hidden:
            raise ValueError(f"it reads states of {len(learned['fc.weight'])} numbers, not {hidden}")
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise ExportError(
            "The head in {folder} is not one for this model ({error}).", folder=source, error=error
        ) from None
    rows = TargetWeights(target).output_rows(chosen)
    return HeadWeights(learned, chosen, rows, int(config["vocab_size"]), float(config.get("rms_norm_eps", 1e-6)))


def save(head: HeadWeights, path: Path) -> None:
    """Write the graph of a head, with weights of 8 bits.

    Inputs: HIDDEN_STATES [1, places, states] and NEXT [places]. Outputs: logits [places, rows], the next hidden state
    [places, hidden], and MAPPING, the difference between a row's token and its number.
    """
    import openvino

    ops, learned = openvino.opset13, head.learned

    def constant(values: Any, kind: Any = np.float32) -> Any:
        return ops.constant(np.asarray(values, kind))

    def packed(weights: NDArray[Any]) -> tuple[Any, Any]:
        values, scales = to_8_bits(weights)
        return constant(values, np.int8), constant(scales, np.float16)

    def linear(data: Any, weights: tuple[Any, Any]) -> Any:
        unpacked = ops.convert(ops.multiply(ops.convert(weights[0], "f16"), weights[1]), "f32")
        return ops.matmul(data, unpacked, transpose_a=False, transpose_b=True)

    def normalized(data: Any, name: str) -> Any:
        square = ops.reduce_mean(ops.multiply(data, data), constant(-1, np.int64), keep_dims=True)
        root = ops.sqrt(ops.add(square, constant(head.epsilon)))
        return ops.multiply(ops.divide(data, root), constant(learned[f"{name}.weight"]))

    rows, first = packed(head.rows), constant(0, np.int64)
    states = ops.parameter([-1, -1, learned["fc.weight"].shape[1]], np.float32, name=HIDDEN_STATES)
    token = ops.parameter([-1], np.int64, name=NEXT)
    row_of = np.full(head.vocabulary, len(head.chosen), np.int32)
    row_of[head.chosen] = np.arange(len(head.chosen))
    row = ops.gather(constant(row_of, np.int32), token, first)
    values, scales = (ops.convert(ops.gather(part, row, first), "f32") for part in rows)  # zeros beyond the last row
    hidden = ops.squeeze(linear(states, packed(learned["fc.weight"])), first)
    read = ops.concat([normalized(ops.multiply(values, scales), "token_norm"), normalized(hidden, "hidden_norm")], -1)
    gate, up = ops.split(linear(read, packed(learned["inner.weight"])), constant(-1, np.int64), 2).outputs()
    hidden = ops.add(hidden, linear(ops.multiply(ops.swish(gate), up), packed(learned["outer.weight"])))
    mapping = constant(head.chosen - np.arange(len(head.chosen)), np.int64)
    results = {"logits": linear(normalized(hidden, "norm"), rows), "hidden": hidden, MAPPING: mapping}
    for name, node in {HIDDEN_STATES: states, NEXT: token, **results}.items():
        node.output(0).set_names({name})
    model = openvino.Model([ops.result(each) for each in results.values()], [states, token], "hydra")
    openvino.save_model(model, path, compress_to_fp16=False)


def describe(
    head: HeadWeights, folder: Path, target: manifest.Manifest, learned: manifest.LearnedHead | None = None
) -> None:
    """Write the manifest of a Hydra head beside its graph."""
    files = manifest.hash_files(folder)
    size = sum(file.size for file in files.values())
    described = replace(
        target,
        name=f"{target.name}-head",
        role="draft",
        source=replace(target.source, path=None),
        is_checked=True,
        architecture=manifest.HYDRA,
        parameters=head.parameters,
        precision=manifest.Precision("int8", "int8_sym"),
        logit_rows=len(head.chosen),
        size_bytes=size,
        ram_bytes=size,
        kv_bytes_per_token=0,
        quality=None,
        files=files,
        versions=provenance.versions(),
        created=provenance.now(),
        shortlist=None,
        table=None,
        learned=learned,
        adapter=None,
        notes=(),
    )
    manifest.write(folder, described)


def to_8_bits(matrix: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Round to 8 bits. Return integers [rows, columns], and the scale of each row [rows, 1]."""
    values = matrix.astype(np.float32)
    scales = np.maximum(np.abs(values).max(axis=1, keepdims=True) / 127, 1e-7).astype(np.float16)
    return np.round(values / scales.astype(np.float32)).clip(-127, 127).astype(np.int8), scales
