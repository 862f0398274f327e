"""Loads the weights of a GGUF file as a PyTorch model, through transformers. Knows nothing of tokenizers."""

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headstart_export import gguf_file


def load(path: Path, **options: Any) -> Any:
    """What `from_pretrained` gives for these options, the weights in f16; raises what that raises."""
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    with _spared_work(path):
        return AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float16, **options)


@contextlib.contextmanager
def _spared_work(path: Path) -> Iterator[None]:
    """WORKAROUND transformers 5.5 reads the vocabulary twice and holds all weights in f32 before it makes them f16.

    It takes these three functions from `gguf` anew at each call, so others can stand in for the time of one load:
    the file is read once, quickly; weights become f16 one by one, which halves the memory; and the table of names,
    made once per module otherwise, is kept. The result is the same, bit by bit.
    """
    import gguf  # noqa: PLC0415

    reader, dequantize, names = gguf.GGUFReader, gguf.dequantize, gguf.get_tensor_name_map
    already = gguf_file.read(path)

    def as_half(data: Any, kind: Any) -> Any:
        weights = dequantize(data, kind)
        return weights.astype("float16") if weights.ndim == 2 else weights

    gguf.GGUFReader = lambda _path: already
    gguf.dequantize, gguf.get_tensor_name_map = as_half, functools.cache(names)
    try:
        yield
    finally:
        gguf.GGUFReader, gguf.dequantize, gguf.get_tensor_name_map = reader, dequantize, names
