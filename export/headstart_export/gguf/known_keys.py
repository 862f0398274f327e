"""The meaning of each key and type of a GGUF file: used, harmless, or refused by name unless it is neutral."""

import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from headstart.errors import ExportError

SAMPLING = "general.sampling."


class Mark(Enum):
    """The meaning of a key: it is used, or it changes nothing that is computed."""

    USED = "used"
    HARMLESS = "harmless"


USED, HARMLESS = Mark.USED, Mark.HARMLESS
# A tuple has the values at which a key changes nothing; with another one, the file is refused.
Meaning = Mark | tuple[Any, ...]
_OFF: Meaning = (0, "", "none", ())  # False is 0
_ONE: Meaning = (0, 1)  # factors
_MARKS_OF_GAPS = ("pre", "suf", "mid", "pad", "rep", "sep")

GENERAL: Mapping[str, Meaning] = {
    **dict.fromkeys(("architecture", "alignment", "name", "license"), USED),
    "type": ("model",),
    "quantization_version": (2,),  # the layout of the blocks
    "file_type": HARMLESS,  # each tensor names its own type
    **dict.fromkeys(("author", "version", "organization", "finetune", "basename", "description", "url"), HARMLESS),
    **dict.fromkeys(
        ("quantized_by", "size_label", "license.name", "license.link", "doi", "uuid", "repo_url"), HARMLESS
    ),
    **dict.fromkeys(("source.url", "source.doi", "source.uuid", "source.repo_url", "tags", "languages"), HARMLESS),
    **dict.fromkeys(("base_model", "dataset"), HARMLESS),
    "sampling": USED,
}
TOKENIZER: Mapping[str, Meaning] = {
    **dict.fromkeys(("ggml.model", "ggml.pre", "ggml.tokens", "ggml.token_type", "ggml.scores", "ggml.merges"), USED),
    **{f"ggml.{mark}_token_id": USED for mark in ("bos", "eos", "eot", "eom", "unknown", "padding")},
    **dict.fromkeys(("ggml.add_bos_token", "ggml.add_space_prefix", "chat_template", "chat_templates"), USED),
    # The marks of gaps are known by their texts; the others have no part in a text that a model continues.
    **{f"ggml.{mark}_token_id": HARMLESS for mark in ("seperator", "mask", "cls", "prefix", "suffix", "middle")},
    **{f"ggml.fim_{mark}_token_id": HARMLESS for mark in _MARKS_OF_GAPS},
    "huggingface.json": HARMLESS,  # says the same as the other keys
    "ggml.token_type_count": (0, 1),
    **dict.fromkeys(("ggml.add_eos_token", "ggml.add_sep_token", "ggml.remove_extra_whitespaces"), _OFF),
    **dict.fromkeys(("ggml.precompiled_charsmap", "rwkv.world"), _OFF),
}
MODEL: Mapping[str, Meaning] = {  # below the name of the architecture
    **dict.fromkeys(("context_length", "embedding_length", "block_count", "feed_forward_length"), USED),
    **dict.fromkeys(("attention.head_count", "attention.head_count_kv", "attention.key_length"), USED),
    **dict.fromkeys(("attention.value_length", "attention.layer_norm_rms_epsilon", "attention.sliding_window"), USED),
    **dict.fromkeys(("attention.sliding_window_pattern", "rope.freq_base", "rope.freq_base_swa"), USED),
    **dict.fromkeys(("rope.dimension_count", "rope.scaling.type", "rope.scaling.factor"), USED),
    **{f"rope.scaling.{name}": USED for name in ("original_context_length", "yarn_attn_factor")},
    **{f"rope.scaling.yarn_beta_{name}": USED for name in ("fast", "slow")},
    "attention.causal": (True,),
    # The table of the tokens has its size; the other norms' epsilon and facts of the training are not read.
    **dict.fromkeys(("vocab_size", "attention.layer_norm_epsilon", "rope.scaling.finetuned"), HARMLESS),
    "tensor_data_layout": ("", "Meta AI original pth"),
    **dict.fromkeys(("logit_scale", "residual_scale", "embedding_scale", "attention.output_scale"), _ONE),
    **dict.fromkeys(("rope.scaling.attn_factor", "rope.scaling.alpha"), _ONE),
    "rope.scaling.yarn_ext_factor": (1, -1),
}
_EXPERTS: Mapping[str, Meaning] = {
    **dict.fromkeys(("expert_count", "expert_used_count", "expert_feed_forward_length"), USED),
    "expert_weights_scale": _ONE,
}
_GRANITE = dict.fromkeys(
    ("logit_scale", "residual_scale", "embedding_scale", "attention.scale", "rope.scaling.finetuned"), USED
)
KINDS: Mapping[str, Mapping[str, Meaning]] = {  # what only some architectures use
    "gemma2": dict.fromkeys(("attn_logit_softcapping", "final_logit_softcapping"), USED),
    "gemma3": {"final_logit_softcapping": USED},
    "granite": {**_GRANITE, **_EXPERTS},
    "granitemoe": {**_GRANITE, **_EXPERTS, "expert_shared_feed_forward_length": USED},
    "lfm2": {"shortconv.l_cache": USED},
    "llama": _EXPERTS,
    "mistral3": {
        **dict.fromkeys(("attention.temperature_scale", "rope.scaling.yarn_log_multiplier"), USED),
        **_EXPERTS,
    },
    "phi3": {"rope.scaling.attn_factor": USED},
    "qwen35": {
        **{f"ssm.{key}": USED for key in ("conv_kernel", "inner_size", "state_size", "time_step_rank", "group_count")},
        **dict.fromkeys(("full_attention_interval", "nextn_predict_layers"), USED),
        "rope.dimension_sections": HARMLESS,  # text has one position in all of them
    },
    "qwen3moe": {**_EXPERTS, "expert_weights_norm": (True,), "expert_gating_func": (1,)},
    "olmoe": {**_EXPERTS, "expert_gating_func": (1,)},
    "gpt-oss": {**_EXPERTS, "expert_gating_func": (1, 3)},
}
OTHERS: Mapping[str, Meaning] = {
    **dict.fromkeys(("split.no", "split.count", "split.tensors.count"), USED),
    **dict.fromkeys(("imatrix", "quantize"), HARMLESS),  # how the file was made
    **dict.fromkeys(("adapter", "clip", "diffusion", "xielu"), _OFF),
}
# The types that only ik_llama.cpp writes, by number.
# fmt: off
FOREIGN_TYPES = {
    36: "I2_S", 97: "Q8_0_X4", 98: "Q8_1_X4", 133: "Q6_0", 134: "IQ1_BN", 135: "IQ2_BN", 136: "Q8_K64",
    137: "IQ2_K", 138: "IQ3_K", 139: "IQ4_K", 140: "IQ5_K", 141: "IQ6_K", 144: "IQ4_KS", 145: "IQ2_KS",
    146: "IQ4_KSS", 147: "Q8_K16", 148: "Q8_K32", 149: "Q8_KR8", 150: "Q8_K128", 151: "Q8_KV", 152: "IQ5_KS",
    153: "IQ2_KT", 154: "IQ3_KT", 155: "IQ4_KT", 156: "IQ3_KS", 157: "IQ2_KL", 158: "IQ1_KT", 202: "Q4_0_R8",
    206: "Q5_0_R4", 208: "Q8_0_R8", 210: "Q2_K_R4", 211: "Q3_K_R4", 212: "Q4_K_R4", 213: "Q5_K_R4",
    214: "Q6_K_R4", 216: "IQ2_XXS_R4", 217: "IQ2_XS_R4", 218: "IQ3_XXS_R4", 219: "IQ1_S_R4", 220: "IQ4_NL_R4",
    221: "IQ3_S_R4", 222: "IQ2_S_R4", 223: "IQ4_XS_R8", 229: "IQ1_M_R4", 230: "BF16_R16", 233: "Q6_0_R4",
    335: "IQ2_BN_R4", 337: "IQ2_K_R4", 338: "IQ3_K_R4", 339: "IQ4_K_R4", 340: "IQ5_K_R4", 344: "IQ4_KS_R4",
    352: "IQ5_KS_R4", 398: "Q8_KV_R8", 399: "Q8_K_R8",
}
# fmt: on

_SAMPLING: Mapping[
    str, tuple[str, Callable[[float], bool]]
] = {  # the name in generation_config.json, and what is a value of it
    "temp": ("temperature", lambda value: 0 <= value <= 100),
    "top_k": ("top_k", lambda value: value >= 0 and value == int(value)),
    "top_p": ("top_p", lambda value: 0 < value <= 1),
    "min_p": ("min_p", lambda value: 0 <= value < 1),
    "penalty_repeat": ("repetition_penalty", lambda value: 0 < value <= 10),
}
# Samplers that Headstart does not have, and the values at which they do nothing.
_OTHER_SAMPLERS = {"xtc_probability": 0, "mirostat": 0}


def meaning(key: str, architecture: str) -> Meaning | None:
    space, _, name = key.partition(".")
    model = {**MODEL, **KINDS.get(architecture, {})}
    table = {"general": GENERAL, "tokenizer": TOKENIZER, architecture: model}.get(space)
    if table is None:
        return OTHERS.get(key, OTHERS.get(space))
    if known := table.get(name):
        return known
    if space == "tokenizer" and name.startswith("chat_template."):
        return USED
    if space == "general":
        return table.get(name.partition(".")[0])
    return _OFF


def require_known(
    keys: Iterable[str], value: Callable[[str], Any], name: str, architecture: str, *, with_model: bool
) -> list[str]:
    """Return notes on keys that nobody is known to read. Raises ExportError, by name, for what would be ignored.

    `with_model`: keys below the architecture's name count, too.
    """
    notes = []
    for key in keys:
        if key.startswith("GGUF.") or (key.startswith(f"{architecture}.") and not with_model):
            continue
        known = meaning(key, architecture)
        if known is None:
            notes.append(f"{name} says {_shown(key)}, which is not known here and is left alone.")
        elif isinstance(known, tuple) and not _is_neutral(value(key), known):
            raise ExportError(
                "{name} says {key} = {value}, which changes what the model computes and is not known here; take "
                "another file of the model, or its Hugging Face folder.",
                name=name,
                key=_shown(key),
                value=_shown(str(value(key))),
            )
    return notes


def _is_neutral(value: Any, neutral: tuple[Any, ...]) -> bool:
    return value in neutral or value == []


def sampling(keys: Iterable[str], value: Callable[[str], Any], name: str) -> tuple[dict[str, float], list[str]]:
    """Return the author's sampling values, as generation_config.json names them, and notes on what is left out."""
    values, notes = dict[str, float](), list[str]()
    for key in keys:
        if not key.startswith(SAMPLING):
            continue
        field, content = key.removeprefix(SAMPLING), value(key)
        is_number = isinstance(content, int | float) and not isinstance(content, bool) and math.isfinite(content)
        if field not in _SAMPLING:
            if _OTHER_SAMPLERS.get(field, content) != content:
                notes.append(f"{name} asks for {_shown(key)}, a sampler that Headstart does not have: it is left out.")
            continue
        known, is_valid = _SAMPLING[field]
        if is_number and is_valid(content):
            # The file has floats of 32 bits: 0.2 stands there as 0.20000000298.
            values[known] = int(content) if known == "top_k" else float(f"{content:.6g}")
        else:
            notes.append(f"{name} says {_shown(key)} = {_shown(str(content))}, which is no such value: it is left out.")
    return values, notes


def _shown(text: str) -> str:
    return "".join(filter(str.isprintable, text))[:100]
