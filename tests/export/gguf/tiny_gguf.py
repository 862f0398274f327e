"""Writes a tiny Hugging Face model as a GGUF file, as llama.cpp's converter does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

NORMAL, CONTROL, UNUSED = 1, 3, 5
NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


Edit = Callable[[dict[str, Any]], object]  # of the metadata: `gguf.GGUFValue`s by key


def write(folder: Path, path: Path, edit: Edit | None = None, tensors: int = 0) -> None:
    """Write the Qwen2 model that `folder` holds as safetensors as a GGUF file, with Q8_0 weights.

    `tensors`: so many go into each of several files.
    """
    import gguf  # noqa: PLC0415

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    writer = gguf.GGUFWriter(path, "qwen2", split_max_tensors=tensors)
    _write_architecture(writer, config)
    write_tokenizer(writer, json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")), config["vocab_size"])
    writer.add_chat_template((folder / "chat_template.jinja").read_text(encoding="utf-8"))
    if edit:
        edit(writer.kv_data[0])
    _write_weights(writer, folder / "model.safetensors")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_tokenizer(writer: Any, data: dict[str, Any], rows: int, splitting: str = "gpt-2") -> None:
    """Write the `tokenizer.ggml` fields for a `tokenizer.json`; rows beyond its vocabulary are padding."""
    vocabulary = dict(data["model"]["vocab"])
    special = {token["content"]: token["id"] for token in data["added_tokens"]}
    by_id = {index: token for token, index in {**vocabulary, **special}.items()}
    tokens = [by_id.get(index, f"[PAD{index}]") for index in range(rows)]
    kinds = [
        CONTROL if token in special else NORMAL if index in by_id else UNUSED for index, token in enumerate(tokens)
    ]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(splitting)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(merge) for merge in data["model"]["merges"]])
    writer.add_eos_token_id(special["<|im_end|>"])
    writer.add_pad_token_id(special["<|endoftext|>"])
    writer.add_add_bos_token(value=False)


def _write_architecture(writer: Any, config: dict[str, Any]) -> None:
    writer.add_name("tiny")
    writer.add_license("apache-2.0")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])


def _write_weights(writer: Any, path: Path) -> None:
    import gguf  # noqa: PLC0415
    from safetensors.numpy import load_file  # noqa: PLC0415

    for name, weights in load_file(path).items():
        data = weights.astype("float32")
        if data.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(_gguf_name(name), gguf.quantize(data, kind), raw_dtype=kind)
        else:
            writer.add_tensor(_gguf_name(name), data)


def _gguf_name(name: str) -> str:
    stem, _, suffix = name.rpartition(".")
    if stem.startswith("model.layers."):
        _, _, layer, part = stem.split(".", 3)
        return f"blk.{layer}.{NAMES[part]}.{suffix}"
    return f"{NAMES[stem]}.{suffix}"
