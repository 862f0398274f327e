"""Tiny decoders with random weights as GGUF files, and the logits that transformers computes from the same weights.

`python -m tests.export.gguf.tiny_decoders FOLDER` writes `KIND.gguf` and `KIND.npy` for every kind; run it in a process
of its own, because it loads torch. The names, the order of rows and the settings are those of llama.cpp's converter.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart_export import process
from tests.export.gguf.tiny_gguf import NAMES

Array = NDArray[np.float32]

IDS = tuple(range(7, 47))  # longer than the windows
WINDOW = 8
HEAD, HEADS, KV_HEADS, LAYERS = 64, 4, 2, 4
COMMON = {
    "vocab_size": 64,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
}
LLAMA_3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "partial_rotary_factor": 0.75,
    "original_max_position_embeddings": 32,  # fewer than IDS has, for which the long factors count
    "short_factor": [1.0] * 24,
    "long_factor": np.geomspace(1.0, 4.0, 24).tolist(),
}
ALTERNATING = ["sliding_attention", "full_attention"] * (LAYERS // 2)
EXPERTS = {"num_experts": 8, "num_local_experts": 8, "num_experts_per_tok": 3}
# By the architecture in the file and, if there are several, a word: configuration class of transformers without its
# "Config", and options.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {"tie_word_embeddings": True}),
    "llama 3.1": ("Llama", {"rope_parameters": LLAMA_3, "attention_bias": True, "tie_word_embeddings": False}),
    "qwen2": ("Qwen2", {"tie_word_embeddings": False}),
    "qwen3": ("Qwen3", {"tie_word_embeddings": True, "head_dim": 2 * HEAD}),
    "gemma": ("Gemma", {"num_key_value_heads": 1}),
    "gemma3": (
        "Gemma3Text",
        {
            "sliding_window": WINDOW,
            "layer_types": ALTERNATING,
            "final_logit_softcapping": 5.0,
            "query_pre_attn_scalar": HEAD,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 4.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
        },
    ),
    "phi3": ("Phi3", {"sliding_window": WINDOW, "tie_word_embeddings": False}),
    "phi3 4": ("Phi3", {"sliding_window": None, "original_max_position_embeddings": 32, "rope_parameters": LONGROPE}),
    "smollm3": ("SmolLM3", {"tie_word_embeddings": True}),
    "qwen3 yarn": ("Qwen3", {"tie_word_embeddings": False, "rope_parameters": {**YARN, "beta_fast": 8.0}}),
    "mistral3": (
        "Ministral3",
        {
            "tie_word_embeddings": False,
            "rope_parameters": {**YARN, "llama_4_scaling_beta": 0.3, "mscale": 1.0, "mscale_all_dim": 1.0},
        },
    ),
    "olmo2": ("Olmo2", {"tie_word_embeddings": False}),
    "olmo2 olmo3": (
        "Olmo3",
        {"tie_word_embeddings": False, "sliding_window": WINDOW, "layer_types": ALTERNATING},
    ),
    "granite": (
        "Granite",
        {
            "tie_word_embeddings": True,
            "embedding_multiplier": 12.0,
            "attention_multiplier": 0.1,
            "residual_multiplier": 0.22,
            "logits_scaling": 8.0,
        },
    ),
    "llama mixtral": ("Mixtral", {"tie_word_embeddings": False, **EXPERTS}),
    "qwen3moe": (
        "Qwen3Moe",
        {"tie_word_embeddings": False, "moe_intermediate_size": 32, "norm_topk_prob": True, **EXPERTS},
    ),
    "gemma2": (
        "Gemma2",
        {
            "sliding_window": WINDOW,
            "layer_types": ALTERNATING,
            "attn_logit_softcapping": 4.0,
            "final_logit_softcapping": 5.0,
            "query_pre_attn_scalar": HEAD,
        },
    ),
    "lfm2": (
        "Lfm2",
        {
            "tie_word_embeddings": True,
            "layer_types": ["conv", "full_attention"] * (LAYERS // 2),
            "block_auto_adjust_ff_dim": False,
            "conv_L_cache": 3,
        },
    ),
    "qwen35": (
        "Qwen3_5Text",
        {
            "tie_word_embeddings": False,
            "head_dim": 2 * HEAD,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "linear_key_head_dim": 32,
            "linear_value_head_dim": 32,
        },
    ),
    "olmoe": ("Olmoe", {"tie_word_embeddings": False, "norm_topk_prob": False, **EXPERTS}),
    "granitemoe": (
        "GraniteMoeShared",
        {
            "tie_word_embeddings": True,
            "attention_multiplier": 0.1,
            "residual_multiplier": 0.5,
            "shared_intermediate_size": 32,
            **EXPERTS,
        },
    ),
    "gpt-oss": (
        "GptOss",
        {
            "tie_word_embeddings": False,
            "sliding_window": WINDOW,
            "layer_types": ALTERNATING,
            "rope_parameters": {**YARN, "truncate": False},
            **EXPERTS,
        },
    ),
}
SETTINGS: dict[str, dict[str, Any]] = {  # beside those that the configuration gives, by kind
    "gemma3": {
        "attention.sliding_window_pattern": 2,
        "rope.scaling.type": "linear",
        "rope.scaling.factor": 4.0,
        "final_logit_softcapping": 5.0,
    },
    "phi3": {"rope.dimension_count": HEAD, "rope.scaling.original_context_length": 128},
    "phi3 4": {
        "rope.dimension_count": HEAD * 3 // 4,
        "rope.scaling.original_context_length": 32,
        "rope.scaling.attn_factor": math.sqrt(1 + math.log(4) / math.log(32)),
    },
    "llama": {"rope.dimension_count": HEAD, "vocab_size": 64},
    "gemma2": {"attn_logit_softcapping": 4.0, "final_logit_softcapping": 5.0},
    "lfm2": {"attention.head_count_kv": [0, KV_HEADS] * (LAYERS // 2), "shortconv.l_cache": 3},
    "qwen35": {
        "rope.dimension_count": 2 * HEAD // 4,
        "rope.dimension_sections": [6, 5, 5, 0],
        "full_attention_interval": 4,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 128,
        "ssm.state_size": 32,
        "ssm.time_step_rank": 4,
        "ssm.group_count": 2,
    },
    "mistral3": {"attention.temperature_scale": 0.3, "rope.scaling.yarn_log_multiplier": 1.0},
    "olmo2 olmo3": {"attention.sliding_window_pattern": [True, False] * (LAYERS // 2)},
    "granitemoe": {"attention.scale": 0.1, "residual_scale": 0.5, "expert_shared_feed_forward_length": 32},
    "qwen3moe": {"expert_feed_forward_length": 32},
    "granite": {"embedding_scale": 12.0, "attention.scale": 0.1, "residual_scale": 0.22, "logit_scale": 8.0},
}
# The converter puts numbers that turn together side by side.
PAIRED = {"llama", "mistral3", "granite", "granitemoe", "smollm3"}
_FURTHER = {
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.qkv_proj": "attn_qkv",
    "mlp.gate_up_proj": "ffn_up",
    "self_attn.sinks": "attn_sinks",
    "mlp.gate": "ffn_gate_inp",
    "mlp.router": "ffn_gate_inp",
    "block_sparse_moe.router.layer": "ffn_gate_inp",
    "mlp.experts.down_proj": "ffn_down_exps",
    "block_sparse_moe.output_linear": "ffn_down_exps",
    "shared_mlp.output_linear": "ffn_down_shexp",
}
_SPLIT = {  # one tensor of transformers, two of a file
    "mlp.experts.gate_up_proj": ("ffn_gate_exps", "ffn_up_exps"),
    "block_sparse_moe.input_linear": ("ffn_gate_exps", "ffn_up_exps"),
    "shared_mlp.input_linear": ("ffn_gate_shexp", "ffn_up_shexp"),
}
UNROUNDED = ("ffn_gate_inp.weight", "conv.weight", "conv1d.weight")  # matrices that are no products' weights
_SANDWICH = {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
_RENAMED = {
    **dict.fromkeys(("gemma2", "gemma3", "olmo2"), _SANDWICH),
    "lfm2": {
        "model.embedding_norm": "token_embd_norm",
        "operator_norm": "attn_norm",
        "ffn_norm": "ffn_norm",
        "self_attn.q_layernorm": "attn_q_norm",
        "self_attn.k_layernorm": "attn_k_norm",
        "self_attn.out_proj": "attn_output",
        "feed_forward.w1": "ffn_gate",
        "feed_forward.w3": "ffn_up",
        "feed_forward.w2": "ffn_down",
        **{f"conv.{name}": f"shortconv.{name}" for name in ("conv", "in_proj", "out_proj")},
    },
    "qwen35": {
        "post_attention_layernorm": "post_attention_norm",
        "linear_attn.in_proj_qkv": "attn_qkv",
        "linear_attn.in_proj_z": "attn_gate",
        "linear_attn.in_proj_a": "ssm_alpha",
        "linear_attn.in_proj_b": "ssm_beta",
        "linear_attn.conv1d": "ssm_conv1d",
        "linear_attn.dt": "ssm_dt",
        "linear_attn.A_log": "ssm_a",
        "linear_attn.norm": "ssm_norm",
        "linear_attn.out_proj": "ssm_out",
    },
    "gpt-oss": {"post_attention_layernorm": "post_attention_norm"},
}


def main(folder: Path, *kinds: str) -> None:
    """Write a file and its logits for some kinds, or for every kind."""
    process.prepare()
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    for kind in kinds or KINDS:
        name, options = KINDS[kind]
        torch.manual_seed(0)
        config = getattr(transformers, f"{name}Config")(**{**COMMON, **options}, attn_implementation="eager")
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                spread = torch.randn_like(parameter)  # halves, which fp16 stores as they are
                parameter.copy_((0.15 * spread if parameter.ndim > 1 else parameter + 0.2 * spread).half().float())
            logits = model(torch.tensor([IDS])).logits[0]
        np.save(folder / f"{kind}.npy", logits.numpy())
        write(folder / f"{kind}.gguf", kind, config, model.state_dict())


def write(path: Path, kind: str, config: Any, state: dict[str, Any], *, is_in_blocks: bool = False) -> None:
    """Write weights of transformers as llama.cpp's converter does; `is_in_blocks`: those of products in Q8_0."""
    import gguf  # noqa: PLC0415

    q8_0 = gguf.GGMLQuantizationType.Q8_0

    architecture = kind.partition(" ")[0]
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    if "attention.head_count_kv" not in SETTINGS.get(kind, {}):
        writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(HEAD if architecture in {"phi3", "lfm2"} else config.head_dim)
    writer.add_layer_norm_rms_eps(getattr(config, "norm_eps", 0) or config.rms_norm_eps)
    rotation = config.rope_parameters
    rotation = rotation.get("full_attention", rotation)
    writer.add_rope_freq_base(rotation["rope_theta"])
    if rotation["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rotation["factor"])
        writer.add_rope_scaling_orig_ctx_len(rotation["original_max_position_embeddings"])
        if "beta_fast" in rotation:
            writer.add_rope_scaling_yarn_beta_fast(rotation["beta_fast"])
    if getattr(config, "num_experts_per_tok", None):
        writer.add_expert_count(EXPERTS["num_experts"])
        writer.add_expert_used_count(config.num_experts_per_tok)
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    adders: dict[type, Callable[..., None]] = {
        str: writer.add_string,
        float: writer.add_float32,
        int: writer.add_uint32,
        list: writer.add_array,
    }
    for key, value in SETTINGS.get(kind, {}).items():
        add = adders[type(value)]
        add(f"{architecture}.{key}", value)
    for name, data in _tensors(architecture, config, state):
        if (
            is_in_blocks
            and data.ndim > 1
            and not name.endswith(("ffn_gate_inp.weight", "conv.weight", "conv1d.weight"))
        ):
            writer.add_tensor(name, gguf.quants.quantize(data, q8_0), raw_dtype=q8_0)
        else:
            writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(architecture: str, config: Any, state: dict[str, Any]) -> Iterator[tuple[str, Array]]:
    names = {**NAMES, **_FURTHER, **_RENAMED.get(architecture, {})}
    for key, weights in state.items():
        stem, suffix = _parts(key)
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        data = np.ascontiguousarray(weights.numpy())
        part = stem.split(".", 3)[-1] if ".layers." in stem else stem
        if architecture in PAIRED and part in {"self_attn.q_proj", "self_attn.k_proj"}:
            halves = data.reshape(-1, 2, config.head_dim // 2, *data.shape[1:])
            data = halves.swapaxes(1, 2).reshape(data.shape)
        if architecture.startswith(("gemma", "qwen35")) and part.endswith("norm") and part != "linear_attn.norm":
            data = data + 1
        if part.startswith(("conv.", "linear_attn.")):
            data = _recurrent(part, data, config)
        at = f"blk.{stem.split('.')[2]}." if ".layers." in stem else ""
        if architecture == "gpt-oss" and "experts" in part and suffix == "weight":
            data = data.swapaxes(1, 2)
        if part in _SPLIT:
            axis = 1 if data.ndim == 3 or suffix == "bias" else 0
            parts: Sequence[Array] = np.split(data, 2, axis)
            if architecture == "gpt-oss":
                parts = data[:, ::2], data[:, 1::2]
            for name, half in zip(_SPLIT[part], parts, strict=True):
                yield f"{at}{name}.{suffix}", np.ascontiguousarray(half)
            continue
        yield f"{at}{names[part]}.{suffix}".removesuffix("."), np.ascontiguousarray(data)
    yield from _rotations(config)


def _rotations(config: Any) -> Iterator[tuple[str, Array]]:
    if config.rope_parameters.get("rope_type") == "llama3":
        yield "rope_freqs.weight", np.array(list(_factors(config.rope_parameters)), np.float32)
    if config.rope_parameters.get("rope_type") == "longrope":
        for length in ("long", "short"):
            yield f"rope_factors_{length}.weight", np.array(config.rope_parameters[f"{length}_factor"], np.float32)


def _recurrent(part: str, data: Array, config: Any) -> Array:
    """Return the weights of a layer with a state in the converter's form.

    Of a delta rule, the first head of each group comes first, then the second of each.
    """
    data = data.squeeze(1) if data.ndim == 3 else data
    if part.startswith("conv.") or part == "linear_attn.norm":
        return data
    data = -np.exp(data) if part == "linear_attn.A_log" else data
    groups = config.linear_num_key_heads
    times = config.linear_num_value_heads // groups

    def tiled(rows: Array) -> Array:
        return rows.reshape(groups, times, -1, *rows.shape[1:]).swapaxes(0, 1).reshape(rows.shape)

    before = 2 * groups * config.linear_key_head_dim if part.endswith(("in_proj_qkv", "conv1d")) else 0
    if part.endswith("out_proj"):
        return np.ascontiguousarray(tiled(np.ascontiguousarray(data.T)).T)
    return np.concatenate([data[:before], tiled(data[before:])])


def _parts(key: str) -> tuple[str, str]:
    """Return the name of transformers' tensor, and the suffix that a file gives it."""
    if key.endswith("_bias"):
        return key.removesuffix("_bias"), "bias"
    if key.endswith(".A_log"):
        return key, ""
    stem, _, suffix = key.rpartition(".")
    return (stem, suffix) if suffix in {"weight", "bias"} else (key, "weight")


def _factors(rotation: dict[str, Any]) -> Iterator[float]:
    """Return the divisor of each frequency, as llama.cpp's converter computes it."""
    context, low, high = (
        rotation[key] for key in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor")
    )
    for place in range(0, HEAD, 2):
        length = 2 * math.pi * rotation["rope_theta"] ** (place / HEAD)
        if length < context / high:
            yield 1.0
        elif length > context / low:
            yield rotation["factor"]
        else:
            share = (context / length - low) / (high - low)
            yield 1 / ((1 - share) / rotation["factor"] + share)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
