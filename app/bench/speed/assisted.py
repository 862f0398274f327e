"""Writes answers with transformers' own generation, plain, assisted or by prompt lookup, for a benchmark to time.

`python app/bench/speed/assisted.py` reads one JSON object a line: first {"target", "draft"} (folders or .gguf files;
the draft may be null), then orders {"mode", "ids", "tokens", "stop_ids"}. The first gets {"modes": [...]} back or
{"unavailable": "..."}, the others {"tokens", "ttft_ms", "decode_ms"}.
"""

import contextlib
import io
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from headstart_export import process
from headstart_export.conversion.convert import first_line

_LOOKUP = 10  # candidates of prompt lookup, as in the documentation of transformers


class TokenClock:
    """A streamer that notes the time of each token. The first call has the prompt."""

    def __init__(self) -> None:
        """Start the clock, just before `generate` is called."""
        self.started = time.perf_counter()
        self.times: list[float] = []

    def put(self, _tokens: Any) -> None:
        """Note the time of some tokens."""
        self.times.append(time.perf_counter())

    def end(self) -> None:
        """Do nothing: all tokens have been noted."""


def answer(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Yield a reply for each line."""
    first = json.loads(next(lines))
    process.prepare()
    try:
        target = _load(Path(first["target"]))
        draft = _load(Path(first["draft"])) if first["draft"] else None
    except (ImportError, OSError, ValueError) as error:
        yield {"unavailable": first_line(error)}
        return
    modes: dict[str, dict[str, Any]] = {"plain": {}}
    if draft is not None and draft.config.vocab_size == target.config.vocab_size:
        modes["assisted"] = {"assistant_model": draft}  # others transformers lets not assist with tokens
    modes["lookup"] = {"prompt_lookup_num_tokens": _LOOKUP}
    yield {"modes": [*modes]}
    for order in map(json.loads, lines):
        yield _write(target, order, modes[order["mode"]])


def _write(target: Any, order: Mapping[str, Any], guessing: Mapping[str, Any]) -> dict[str, Any]:
    """Return one greedy answer; its `tokens` lack stop ids."""
    import torch
    from transformers import GenerationConfig

    ids, stop_ids = torch.tensor([order["ids"]]), list(order["stop_ids"])
    # A new one: the model's own would bring its sampling and penalties.
    config = GenerationConfig(
        do_sample=False,
        max_new_tokens=order["tokens"],
        eos_token_id=stop_ids or None,
        pad_token_id=stop_ids[0] if stop_ids else None,
    )
    clock = TokenClock()
    with torch.inference_mode():
        output = target.generate(
            ids, attention_mask=torch.ones_like(ids), generation_config=config, streamer=clock, **guessing
        )
    ended = time.perf_counter()
    first = clock.times[1] if len(clock.times) > 1 else ended
    return {
        "tokens": [token for token in output[0, ids.shape[1] :].tolist() if token not in stop_ids],
        "ttft_ms": (first - clock.started) * 1000.0,
        "decode_ms": (ended - first) * 1000.0,
    }


def main(orders: TextIO = sys.stdin, replies: TextIO = sys.stdout) -> None:
    """Answer orders until they end."""
    for reply in _muted(answer(iter(orders))):
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _muted(replies: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Context manager that keeps the libraries' output out of the replies."""
    while True:
        with process.muted(io.StringIO()):
            reply = next(replies, None)
        if reply is None:
            return
        yield reply


def _load(source: Path) -> Any:
    from transformers import AutoModelForCausalLM

    if not source.exists():
        raise OSError(f"{source} does not exist")
    folder, more = source, {"dtype": "auto"}
    if source.suffix == ".gguf":  # it does not say the type; in 32 bits a model takes twice the memory and time
        folder, more = source.parent, {"gguf_file": source.name, "dtype": _quick_type()}
    return AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, **more).eval()


def _quick_type() -> Any:
    """Return bf16 where the processor computes in it, else f32."""
    import torch

    return torch.bfloat16 if torch.ops.mkldnn._is_mkldnn_bf16_supported() else torch.float32  # noqa: SLF001 - no other


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
