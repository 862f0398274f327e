"""Compares tokenizers that are rebuilt from GGUF files with llama.cpp's own, text by text.

`python -m tests.export.gguf.llama_tokens FILES...` says for each file how many of 20,000 texts differ. The files may
lack weights, as those of llama.cpp's `models/` do: they get tiny ones. `python -m tests.end_to_end.foreign_servers`
installs llama.cpp's server.
"""

import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from headstart_export.checks import tokenizer_proof
from headstart_export.gguf import metadata, tokenizer_model
from tests.end_to_end import foreign_servers

TEXTS = 20_000
ROPE_FACTORS = np.array([1] * 8 + [4] * 8, np.float32)  # as Llama 3.1 has them
_WIDTH = 32
_ONES = ("attn_norm", "ffn_norm")
_SQUARES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


def differences(vocabulary: Path, count: int = TEXTS) -> list[tuple[str, list[int], list[int]]]:
    """Yield the texts that the rebuilt tokenizer and llama.cpp encode differently, llama.cpp's ids second."""
    ours = tokenizer_model.build(metadata.read(vocabulary), vocabulary.name)
    tried = texts(ours, count)
    found = [encoding.ids for encoding in ours.encode_batch(tried, add_special_tokens=False)]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "tiny.gguf"
        write_model(vocabulary, model)
        with foreign_servers.llama(model) as address, httpx.Client(base_url=address, trust_env=False) as client:
            theirs = [_read(client, text) for text in tried]
    rows = zip(tried, found, theirs, strict=True)
    return [(text, ids, expected) for text, ids, expected in rows if ids != expected]


def texts(tokenizer: Any, count: int) -> list[str]:
    """Return texts, always the same: half of the exports' proof, half runs of the vocabulary's own tokens."""
    lot = random.Random(3)
    runs = tokenizer_proof._vocabulary_texts(tokenizer)
    half = min(count // 2, len(runs))
    return [*lot.sample(tokenizer_proof.texts(), count - half), *lot.sample(runs, half)]


def _read(client: httpx.Client, text: str) -> list[int]:
    asked = {"content": text, "add_special": False, "parse_special": True}
    answer = client.post("/tokenize", json=asked, timeout=60)
    ids: list[int] = answer.raise_for_status().json()["tokens"]
    return ids


def write_model(vocabulary: Path, path: Path) -> None:
    """Write a model of one layer with another file's vocabulary."""
    import gguf as library  # noqa: PLC0415

    reader, writer = metadata.read(vocabulary), library.GGUFWriter(path, "llama")
    for name, field in reader.fields.items():
        if name.startswith("tokenizer.") and name != "tokenizer.chat_template":
            kinds = [*field.types, None]
            writer.add_key_value(name, metadata.value(reader, name), kinds[0], kinds[1])
    writer.add_name("pieces")
    writer.add_license("mit")
    writer.add_block_count(1)
    writer.add_context_length(1024)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    for name in _ONES:
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(_WIDTH, np.float32))
    writer.add_tensor("rope_freqs.weight", ROPE_FACTORS)
    lot = np.random.default_rng(0)
    for name in _SQUARES:
        writer.add_tensor(f"blk.0.{name}.weight", lot.standard_normal((_WIDTH, _WIDTH), np.float32))
    rows = len(metadata.value(reader, metadata.TOKENS))
    writer.add_tensor("token_embd.weight", lot.standard_normal((rows, _WIDTH), np.float32))
    writer.add_tensor("output_norm.weight", np.ones(_WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Print how many texts differ, and some of them."""
    for path in map(Path, sys.argv[1:]):
        unlike = differences(path)
        print(f"{path.name}: {len(unlike)} of {TEXTS} texts differ")
        for text, ours, theirs in unlike[:5]:
            print(f"  {text!r}: {ours}, llama.cpp {theirs}")


if __name__ == "__main__":
    main()
