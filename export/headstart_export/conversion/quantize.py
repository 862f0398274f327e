"""Compression of an IR's weights, and their precision as the result itself states it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from headstart.engine.hardware.runtime import core
from headstart.engine.kernels import patterns, states
from headstart.errors import ExportError
from headstart.library.manifest import BLOCKS, Precision, StateSize
from headstart_export import process

INT4 = "int4"
GROUP_SIZE = 128  # INT4 weights that share a scale; in a matrix of 576 columns 64, which divides them
MODES = {"int8": "int8_asym", "int8-sym": "int8_sym", INT4: "int4_sym"}
# The names in manifests. "int4" is asymmetric there: exports were, until symmetric groups proved faster.
_NAMES = {"int8_asym": "int8", "int8_sym": "int8-sym", "int4_asym": "int4", "int4_sym": "int4-sym", BLOCKS: "gguf"}
RATIOS = (1.0, 0.8, 0.6)  # shares of INT4, tried in turn until a model is good enough
_TEXTS = 128  # for calibration, NNCF's own limit

Calibration = Literal["none", "awq", "gptq"]
CALIBRATIONS = get_args(Calibration)
_CALIBRATED = ("awq", "scale_estimation", "gptq")  # NNCF's names


@dataclass(frozen=True)
class Int4:
    """Options of INT4 weights."""

    calibration: Calibration = "none"  # "awq" has scale estimation, "gptq" has both
    ratio: float | None = None  # of the layers' weights in INT4, others in INT8; None: as many as are good enough
    group_size: int = GROUP_SIZE  # weights that share a scale; -1: a row


USUAL = Int4()


def compress(source: Path, weights: str, target: Path, int4: Int4 = USUAL, texts: Sequence[Sequence[int]] = ()) -> None:
    """Compress the 16-bit IR at `source` to the precision `weights`, and write it to `target`.

    INT4 leaves embeddings and output head in INT8. `texts`: ids to calibrate INT4 with.
    """
    process.prepare()
    import nncf
    import openvino

    model = openvino.Core().read_model(source)
    if weights != "fp16":
        try:
            settings = _settings(nncf, weights, int4)
            if texts and weights == INT4 and int4.calibration != "none":
                settings |= _calibrated(nncf, model, int4, texts)
            model = nncf.compress_weights(model, **settings)
        except (RuntimeError, nncf.InvalidGroupSizeError, nncf.UnsupportedModelError, nncf.ValidationError) as error:
            raise ExportError(
                "These weights cannot be compressed to {weights} ({error}); try another --weights or --group-size.",
                weights=weights,
                error=error,
            ) from None
        if model.has_rt_info(["runtime_options", "KV_CACHE_PRECISION"]):
            # A remainder of the 16-bit export, which compressed models of other exporters do not have.
            options = {key: value.astype(str) for key, value in model.get_rt_info()["runtime_options"].items()}
            options.pop("KV_CACHE_PRECISION")
            model.set_rt_info(options, "runtime_options")
    openvino.save_model(model, target, compress_to_fp16=True)


def read_back(path: Path) -> Precision:
    """Return the precision that the IR states; "fp16" if nothing was compressed."""
    process.prepare()
    model = core().read_model(path)
    if not model.has_rt_info(["nncf", "weight_compression"]):
        return Precision("fp16")
    mode = _field(model, "mode")
    return Precision(
        weights=_NAMES.get(str(mode), str(mode)),
        mode=mode,
        group_size=_number(_field(model, "group_size"), int),
        ratio=_number(_field(model, "ratio"), float),
        backup_mode=_field(model, "backup_mode"),
        all_layers=_field(model, "all_layers") == "True",
        calibration=tuple(name for name in _CALIBRATED if _field(model, name) == "True"),
    )


def shapes(path: Path) -> tuple[int, int]:
    """Return the rows of the output head, and the bytes of f16 keys and values per token, by the IR."""
    process.prepare()
    model = core().read_model(path)
    numbers = 0
    for variable in model.get_variables():
        shape = variable.info.data_shape  # [?, kv heads, ?, head size]
        numbers += shape[1].get_length() * shape[3].get_length()
    return model.output("logits").partial_shape[2].get_length(), 2 * numbers


@dataclass(frozen=True)
class CacheSpec:
    """The memory of layers that do not keep all of a text: sliding windows and states."""

    window: int  # tokens that the widest window has; 0: there is none
    kv_bytes_per_token: int  # f16 keys and values of layers with a window
    states: tuple[StateSize, ...]  # of layers that keep states


def cache_spec(path: Path) -> CacheSpec:
    """Return what layers of an IR keep that do not keep all of a text. Windows are found if attention can be paged."""
    from openvino._offline_transformations import paged_attention_transformation

    model = core().read_model(path)
    sizes = tuple(StateSize(size, width) for size, width in states.sizes(model))
    try:
        paged_attention_transformation(model)
    except RuntimeError:
        return CacheSpec(0, 0, sizes)
    windows = tuple(patterns.windows(model))
    widest = max((window for window, _ in windows), default=0)
    return CacheSpec(widest, 2 * sum(numbers for _, numbers in windows), sizes)


def require(mode: str | None, precision: Precision) -> None:
    """Raise ExportError unless the IR has the requested mode, by NNCF's name; None: 16 bits."""
    if precision.mode != mode:
        raise ExportError(
            "The weights should have become {asked}, but the converted model says {weights}; "
            "nothing was kept. Please report this with the versions of nncf and openvino.",
            asked=_NAMES[mode] if mode else "fp16",
            weights=precision.weights,
        )


def inputs_for(ports: Any, ids: Sequence[int], past: int = 0, mask: Sequence[int] = ()) -> dict[str, Any]:
    """Return the inputs of a model with these `ports` for ids after `past` others. `mask`: see `quality.read`."""
    inputs = {
        "input_ids": np.array([ids], np.int64),
        "attention_mask": np.array([[*(mask or [1] * past), *[1] * len(ids)]], np.int64),
        "position_ids": np.arange(past, past + len(ids), dtype=np.int64)[None],
        "beam_idx": np.zeros(1, np.int32),
    }
    names = {name for port in ports for name in port.names}
    return {name: value for name, value in inputs.items() if name in names}


def _settings(nncf: Any, weights: str, int4: Int4) -> dict[str, Any]:
    mode = nncf.CompressWeightsMode(MODES[weights])
    if weights != INT4:
        return {"mode": mode}
    from nncf.quantization.advanced_parameters import GroupSizeFallbackMode

    adjust = nncf.AdvancedCompressionParameters(group_size_fallback_mode=GroupSizeFallbackMode.ADJUST)
    ratio = RATIOS[0] if int4.ratio is None else int4.ratio
    return {"mode": mode, "group_size": int4.group_size, "ratio": ratio, "advanced_parameters": adjust}


def _calibrated(nncf: Any, model: Any, int4: Int4, texts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return NNCF's arguments for calibration; the texts also find the most sensitive layers."""
    dataset = nncf.Dataset([inputs_for(model.inputs, ids) for ids in texts[:_TEXTS]])
    return {"dataset": dataset, "awq": True, "scale_estimation": True, "gptq": int4.calibration == "gptq"}


def _field(model: Any, name: str) -> str | None:
    place = ["nncf", "weight_compression", name]
    return str(model.get_rt_info(place).astype(str)) if model.has_rt_info(place) else None


def _number(text: str | None, kind: Any) -> Any:
    try:
        value = None if text is None else kind(float(text))
    except ValueError:
        return None
    return None if value is not None and value <= 0 else value
