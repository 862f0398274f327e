"""GGUF files as OpenVINO models, without PyTorch: what a file holds, whether it can be converted, and the conversion.

A file is converted only if all it says of its model is known here: each setting and each tensor, by name and shape.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from headstart.engine.kernels.states import CONVOLUTION
from headstart.errors import ExportError
from headstart.library.manifest import BLOCKS
from headstart_export import process
from headstart_export.gguf import known_keys, metadata, packing
from headstart_export.gguf.decoder import (
    ARCHITECTURES,
    Architecture,
    ExpertSizes,
    GraphBuilder,
    RecurrentSizes,
    Shape,
    Sizes,
    tensors,
)
from headstart_export.gguf.rotation import Rotation, yarn_gain
from headstart_export.progress import Advance, ignore

MODEL_FILE = "openvino_model.xml"
_STORE = "weights.part"  # beside the model while it is made
_ROPE_BASE = 10000.0
_GEMMA_27B = {"gemma2": 46, "gemma3": 62}  # layers, by which llama.cpp knows those that scale attention otherwise


@dataclass(frozen=True)
class _GGUFFile:
    """A readable file of a known kind."""

    reader: Any
    tensors: Mapping[str, Any]
    kind: Architecture
    sizes: Sizes


def inspect(path: Path) -> Sizes:
    """Return the sizes of a model. Raises ExportError, which names whatever is not supported."""
    file = _read(path)
    _config(file)
    return file.sizes


def convert(path: Path, folder: Path, weights: str, advance: Advance = ignore) -> None:
    """Write model and `config.json` to a folder, the weights in one of `gguf_weights.FORMS`. Raises ExportError.

    If the process is ended meanwhile, nothing is left but the folder. `advance` counts bytes of the file.
    """
    assert weights in packing.FORMS
    process.prepare()
    import openvino

    file = _read(path)
    folder.mkdir(exist_ok=True)
    store = folder / _STORE
    store.write_bytes(b"")
    model, stored = _build(file, weights, store, advance)
    for name, value in _compression(file, weights).items():
        model.set_rt_info(value, ["nncf", "weight_compression", name])
    config = json.dumps(_config(file), indent=2) + "\n"
    del file
    openvino.serialize(model, folder / MODEL_FILE)
    del model, stored
    store.unlink()
    (folder / "config.json").write_text(config, encoding="utf-8")


def exact(path: Path, store: Path) -> tuple[Any, packing.PackedTensors]:
    """Return a model that computes with the file's own weights in f32, and the tensors behind it, which must stay
    alive.

    `store`: a file to write, for weights in types that have no blocks.
    """
    store.write_bytes(b"")
    model, stored = _build(_read(path), packing.EXACT, store, ignore)
    packing.dequantize_when_read(model)
    return model, stored


def _build(file: _GGUFFile, weights: str, store: Path, advance: Advance) -> tuple[Any, packing.PackedTensors]:
    with packing.PackedTensors(file.tensors, weights, store, advance) as stored:
        return GraphBuilder(file.kind, file.sizes, stored).build(), stored


def _compression(file: _GGUFFile, weights: str) -> dict[str, str]:
    """Return the compression of the model's weights in NNCF's terms."""
    if weights == "fp16":
        return {}
    if weights == "gguf":
        return {"mode": BLOCKS, "group_size": "-1"}
    group, ratio = packing.four_bit_group_and_share(file.tensors, weights)
    if group is None:
        return {"mode": "int8_asym", "group_size": "-1"}
    return {"mode": "int4_sym", "group_size": str(group), "ratio": f"{ratio:.2f}"}


def _read(path: Path) -> _GGUFFile:
    reader = metadata.read(path)
    found = {tensor.name: tensor for tensor in reader.tensors}
    name = metadata.value(reader, "general.architecture")
    if not isinstance(name, str) or name not in ARCHITECTURES:
        raise ExportError(
            "{file} holds a model of the kind {name!r}, which is not read from GGUF files; known are {known}. Use the "
            "model's Hugging Face folder or hub id instead.",
            file=path.name,
            name=name,
            known=", ".join(ARCHITECTURES),
        )
    try:
        sizes = _sizes(reader, name, found)
    except (TypeError, ValueError, OverflowError) as error:
        raise ExportError(
            "{file} cannot be converted: {error}.", file=path.name, error=metadata.printable(str(error))
        ) from None
    blocks = range(sizes.layers, metadata.value(reader, f"{name}.block_count"))  # that guess tokens further ahead
    ahead = tuple(f"blk.{block}." for block in blocks)
    found = {tensor: each for tensor, each in found.items() if not tensor.startswith(ahead)}
    file = _GGUFFile(reader, found, ARCHITECTURES[name], sizes)
    _require_tensors(file, path.name)
    return file


class _Settings:
    """The settings of a file. A missing or absurd one raises ValueError, one of another type TypeError."""

    def __init__(self, reader: Any, name: str) -> None:
        self._reader, self._name = reader, name

    def __call__(self, key: str, default: Any = None) -> Any:
        value = metadata.value(self._reader, f"{self._name}.{key}", default)
        if value is None:
            raise ValueError(f"it does not say {self._name}.{key}")
        return value

    def count(self, key: str, default: int | None = None) -> int:
        number = self(key, default)
        if type(number) is not int or number < 1:
            raise ValueError(f"its {self._name}.{key} is {number}")
        return number

    def positive(self, key: str, default: float | None = None) -> float:
        number = self(key, default)
        if type(number) not in {int, float} or not 0 < number < math.inf:
            raise ValueError(f"its {self._name}.{key} is {number}")
        return float(number)

    def factor(self, key: str, neutral: float = 1.0) -> float:
        """Return a factor, or `neutral` for 0, which means none."""
        return self.positive(key, neutral) if self(key, neutral) else neutral


def _sizes(reader: Any, name: str, found: Mapping[str, Any]) -> Sizes:
    """Return the sizes of a model. Raises ValueError for a missing or absurd setting, TypeError for a wrong type."""
    of, kind = _Settings(reader, name), ARCHITECTURES[name]
    known_keys.require_known(reader.fields, partial(metadata.value, reader), reader.name, name, with_model=True)
    width, heads = of.count("embedding_length"), of.count("attention.head_count")
    blocks, ahead = of.count("block_count"), of("nextn_predict_layers", 0)
    if ahead and of.count("nextn_predict_layers") >= blocks:
        raise ValueError(f"{ahead} of its {blocks} layers guess further tokens")
    layers = blocks - ahead
    head = of.count("attention.key_length", width // heads)
    kv_heads = _kv_heads(of, kind, heads)
    context, table = of.count("context_length"), found.get("token_embd.weight")
    if table is None or len(table.shape) != 2 or layers > len(found):
        raise ValueError("it does not hold all weights")
    if (values := of.count("attention.value_length", head)) != head:
        raise ValueError(f"its {name}.attention.value_length is {values} and not {head}, the size of a head")
    if heads % kv_heads or head % 2:
        raise ValueError(f"{heads} heads of {head} numbers do not fit {kv_heads} heads of keys and values")
    window, period = _window(of("attention.sliding_window", 0), context), kind.window_period
    if window and period is None:
        raise ValueError(f"it has a window of {window} tokens, which is not known of the kind {name}")
    rotation = replace(_rotation(of, head, context), is_rounded=name != "gpt-oss")
    local = _windowed_layers(of("attention.sliding_window_pattern", period), layers) if window else ()
    local_base = of.positive("rope.freq_base_swa", _ROPE_BASE if name == "gemma3" else rotation.base)
    inner = of.count("feed_forward_length")
    scales = {key: of.factor(key) for key in ("embedding_scale", "residual_scale", "logit_scale")}
    if kind.scales_embeddings:
        scales["embedding_scale"] = math.sqrt(width)
    return Sizes(
        layers=layers,
        width=width,
        inner=inner,
        heads=heads,
        kv_heads=kv_heads,
        head=head,
        vocabulary=int(table.shape[1]),
        context=context,
        epsilon=of.positive("attention.layer_norm_rms_epsilon"),
        # Granite's converter says so of models whose positions count for nothing.
        rotation=None if name.startswith("granite") and not of("rope.scaling.finetuned", 1) else rotation,
        local_rotation=Rotation(rotation.size, local_base) if kind.two_rotations else None,
        factors=_factors(of, kind, context, found),
        scale=_attention_scale(of, name, layers, width / heads),
        window=window,
        local=local,
        experts=_experts(of, kind, inner),
        recurrence=_recurrence(of, kind, layers),
        cap=of.factor("final_logit_softcapping", 0.0),
        score_cap=of.factor("attn_logit_softcapping", 0.0),
        temperature=of.factor("attention.temperature_scale", 0.0),
        **scales,
    )


def _kv_heads(of: _Settings, kind: Architecture, heads: int) -> int:
    """Return the number of key and value heads; layers without attention may list 0."""
    listed = of("attention.head_count_kv", heads)
    if not kind.recurrence or not isinstance(listed, list):
        return of.count("attention.head_count_kv", heads)
    if len(counts := {count for count in listed if count}) != 1 or type(count := counts.pop()) is not int or count < 1:
        raise ValueError("its list of heads of keys and values does not fit its layers")
    return count


def _recurrence(of: _Settings, kind: Architecture, layers: int) -> RecurrentSizes | None:
    if not kind.recurrence:
        return None
    listed = of("attention.head_count_kv", 0)
    if not isinstance(listed, list):
        period = of.count("full_attention_interval", 4)
        listed = [(layer + 1) % period == 0 for layer in range(layers)]
    if len(listed) != layers:
        raise ValueError("its list of heads of keys and values does not fit its layers")
    recurrent = tuple(not count for count in listed)
    if kind.recurrence == CONVOLUTION:
        return RecurrentSizes(recurrent, of.count("shortconv.l_cache"))
    heads, key_heads, size = (of.count(f"ssm.{key}") for key in ("time_step_rank", "group_count", "state_size"))
    inner = of.count("ssm.inner_size")
    if heads % key_heads or inner != heads * size:
        raise ValueError(f"{heads} heads of {size} numbers do not fit {key_heads} heads of keys, or {inner} numbers")
    return RecurrentSizes(recurrent, of.count("ssm.conv_kernel"), heads, key_heads, size)


def _experts(of: _Settings, kind: Architecture, inner: int) -> ExpertSizes | None:
    if not kind.experts or (kind.experts == "may" and not of("expert_count", 0)):
        return None
    count, used = of.count("expert_count"), of.count("expert_used_count")
    if used > count:
        raise ValueError(f"it says that a token uses {used} of {count} experts")
    shared = of.count("expert_shared_feed_forward_length") if of("expert_shared_feed_forward_length", 0) else 0
    return ExpertSizes(count, used, of.count("expert_feed_forward_length", inner), shared)


def _rotation(of: _Settings, head: int, context: int) -> Rotation:
    size, base = of.count("rope.dimension_count", head), of.positive("rope.freq_base", _ROPE_BASE)
    if size % 2 or size > head:
        raise ValueError(f"it rotates {size} numbers of a head of {head}")
    rule, factor = of("rope.scaling.type", "none"), of.factor("rope.scaling.factor")
    rotation = Rotation(size, base, gain=of.factor("rope.scaling.attn_factor"))
    if rule in {"none", "longrope"}:
        return rotation
    if rule == "linear":
        return replace(rotation, factor=factor)
    if rule != "yarn":
        raise ValueError(f"it scales its positions by the rule {rule!r}, which is not known here")
    multiplier = of.factor("rope.scaling.yarn_log_multiplier", 0.0)
    gain = yarn_gain(factor) / yarn_gain(factor, multiplier) if multiplier else yarn_gain(factor)
    return replace(
        rotation,
        factor=factor,
        trained=of.count("rope.scaling.original_context_length", context),
        fast=of.positive("rope.scaling.yarn_beta_fast", 32.0),
        slow=of.positive("rope.scaling.yarn_beta_slow", 1.0),
        gain=of.factor("rope.scaling.yarn_attn_factor", gain),
    )


def _factors(of: _Settings, kind: Architecture, context: int, found: Mapping[str, Any]) -> str:
    """Return the tensor of factors that divide the frequencies; of two, the one for the longest texts."""
    present = [f"{name}.weight" for name in kind.factors if f"{name}.weight" in found]
    if not present:
        return ""
    return present[-1 if context > of.count("rope.scaling.original_context_length", context) else 0]


def _attention_scale(of: _Settings, name: str, layers: int, share: float) -> float:
    """Return the factor of the attention scores; 0 for the usual one. `share`: width divided by heads."""
    if layers == _GEMMA_27B.get(name):
        return 1.0 / math.sqrt(share)
    return of.factor("attention.scale", 0.0)


def _window(window: Any, context: int) -> int:
    """Return the number of tokens in the window of a layer; 0 if the window is as long as the context."""
    if not isinstance(window, int) or window < 0:
        raise ValueError(f"its window is {window}")
    return window if window < context else 0


def _windowed_layers(pattern: Any, layers: int) -> tuple[bool, ...]:
    """Return which layers have the window, from a list or a period whose last layer has none; all for a period of 0."""
    if isinstance(pattern, int) and pattern >= 0:
        return tuple(not pattern or (layer + 1) % pattern != 0 for layer in range(layers))
    if not isinstance(pattern, list) or len(pattern) != layers:
        raise ValueError("its list of layers with a window does not fit its layers")
    return tuple(map(bool, pattern))


def _require_tensors(file: _GGUFFile, name: str) -> None:
    required, optional = tensors(file.kind, file.sizes)
    for tensor in (*required, *(each for each in optional if each in file.tensors)):
        expected: Shape = required.get(tensor) or optional[tensor]
        if tensor not in file.tensors:
            raise ExportError(
                "{file} does not hold all weights of its kind: {tensor} is missing. Fetch it again, or choose another "
                "version of the model.",
                file=name,
                tensor=tensor,
            )
        shape = tuple(int(size) for size in reversed(file.tensors[tensor].shape))
        if shape != expected:
            raise ExportError(
                "{tensor} in {file} has the shape {shape} and not {expected}; choose another version of the model.",
                file=name,
                tensor=tensor,
                shape=list(shape),
                expected=list(expected),
            )
    for tensor in file.tensors:
        if tensor not in required and tensor not in optional:
            raise ExportError(
                "{file} holds weights that are not known of its kind, such as {tensor}; use the model's Hugging Face "
                "folder or hub id instead.",
                file=name,
                tensor=metadata.printable(tensor),
            )


def _config(file: _GGUFFile) -> dict[str, Any]:
    """Return the `config.json` that transformers would write."""
    kind, sizes = file.kind, file.sizes
    config = {
        "architectures": [kind.model_class],
        "attention_bias": bool(kind.biased) or "blk.0.attn_q.bias" in file.tensors,
        **{f"{name}_token_id": metadata.token_id(file.reader, name) for name in ("bos", "eos")},
        "head_dim": sizes.head,
        "hidden_act": "gelu_pytorch_tanh" if kind.activation == "gelu" else "silu",
        "hidden_size": sizes.width,
        "intermediate_size": sizes.inner,
        "max_position_embeddings": sizes.context,
        "model_type": kind.model_type,
        "num_attention_heads": sizes.heads,
        "num_hidden_layers": sizes.layers,
        "num_key_value_heads": sizes.kv_heads,
        "rms_norm_eps": sizes.epsilon,
        "rope_parameters": {"rope_theta": sizes.rotation.base, "rope_type": "default"} if sizes.rotation else None,
        "tie_word_embeddings": "output.weight" not in file.tensors,
        "vocab_size": sizes.vocabulary,
    }
    return {key: value for key, value in config.items() if value is not None}
