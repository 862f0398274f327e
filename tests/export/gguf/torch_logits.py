"""Logits that transformers computes of a GGUF file.

`python -m tests.export.gguf.torch_logits FILE TOKENS OUT` reads the fixed text and saves [TOKENS, vocabulary] as f32;
run it in a process of its own, because it loads torch.
"""

import sys
from pathlib import Path

from headstart_export import process
from headstart_export.checks import quality
from headstart_export.gguf import metadata, tokenizer_model


def text_ids(path: Path, limit: int) -> list[int]:
    """Return the fixed text in tokens of the file."""
    text = quality.TEXT_FILE.read_text(encoding="utf-8")
    ids: list[int] = tokenizer_model.build(metadata.read(path), path.name).encode(text).ids
    return ids[:limit]


def main(path: Path, tokens: int, out: Path) -> None:
    """Write the logits."""
    process.prepare()
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float16)
    quality.write_reference(model.eval(), text_ids(path, tokens), out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
