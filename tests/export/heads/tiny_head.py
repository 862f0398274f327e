"""Writes tiny EAGLE-3 heads as their authors publish them: no embeddings, no tokenizer. Needs no torch."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

ROWS = 400  # tokens that a head guesses among
FIRST = 3  # of them: those before are special
_HIDDEN, _INNER, _HEADS, _KV_HEADS, _SIZE = 64, 128, 4, 2, 16


def write(folder: Path, target: Path, **fields: object) -> Path:
    """Write a head for a tiny target's Hugging Face folder; return `folder`. `fields`: changed configuration.

    It guesses that the last token but one comes again, as tiny targets tend to say things over and over.
    """
    folder.mkdir(parents=True)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    kept = ("vocab_size", "hidden_size", "max_position_embeddings", "bos_token_id", "eos_token_id", "pad_token_id")
    made = {name: config[name] for name in kept} | {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "draft_vocab_size": ROWS,
        "intermediate_size": _INNER,
        "num_hidden_layers": 1,
        "num_attention_heads": _HEADS,
        "num_key_value_heads": _KV_HEADS,
        "tie_word_embeddings": False,
    }
    (folder / "config.json").write_text(json.dumps(made | fields), encoding="utf-8")
    save_file(_weights(load_file(target / "model.safetensors")), folder / "model.safetensors", {"format": "pt"})
    return folder


def add_weight(head: Path, name: str) -> Path:
    """Give a head a weight that only newer kinds have; return its folder."""
    weights = load_file(head / "model.safetensors")
    save_file(weights | {name: np.ones(_HIDDEN, np.float16)}, head / "model.safetensors", {"format": "pt"})
    return head


def _weights(target: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(5)

    def matrix(rows: int, columns: int) -> NDArray[np.float16]:
        return np.asarray(0.1 * columns**-0.5 * random.standard_normal((rows, columns)), np.float16)

    one = np.ones(_HIDDEN, np.float16)
    nothing = np.zeros((_HIDDEN, _HIDDEN), np.float16)
    chosen = np.arange(FIRST, FIRST + ROWS)
    known = np.zeros(len(target["lm_head.weight"]), np.bool_)
    known[chosen] = True
    return {
        "fc.weight": np.concatenate([np.eye(_HIDDEN, dtype=np.float16), nothing, nothing], axis=1),  # an early layer
        "midlayer.self_attn.q_proj.weight": matrix(_HEADS * _SIZE, 2 * _HIDDEN),
        "midlayer.self_attn.k_proj.weight": matrix(_KV_HEADS * _SIZE, 2 * _HIDDEN),
        "midlayer.self_attn.v_proj.weight": matrix(_KV_HEADS * _SIZE, 2 * _HIDDEN),
        "midlayer.self_attn.o_proj.weight": matrix(_HIDDEN, _HEADS * _SIZE),
        "midlayer.mlp.gate_proj.weight": matrix(_INNER, _HIDDEN),
        "midlayer.mlp.up_proj.weight": matrix(_INNER, _HIDDEN),
        "midlayer.mlp.down_proj.weight": matrix(_HIDDEN, _INNER),
        **{f"midlayer.{name}.weight": one for name in ("hidden_norm", "input_layernorm", "post_attention_layernorm")},
        "norm.weight": one,
        "lm_head.weight": target["model.embed_tokens.weight"][chosen],
        "d2t": chosen - np.arange(ROWS),
        "t2d": known,
    }
