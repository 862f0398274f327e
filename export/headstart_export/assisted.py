"""Writes answers with transformers' own generation, plain, assisted or by prompt lookup, for a benchmark to time.

`python -m headstart_export.assisted` reads one JSON object a line: first {"target", "draft"} (folders or .gguf files;
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

from headstart_export import quiet
from headstart_export.convert import first_line

_LOOKUP = 10  # candidates of prompt lookup, as in the documentation of transformers
_PLAIN, _ASSISTED, _SEARCHED = "plain", "assisted", "lookup"


class Clock:
    """Takes the place of a streamer: notes when tokens come. The prompt is put first."""

    def __init__(self) -> None:
        """Started at the call of `generate`."""
        self.started = time.perf_counter()
        self.times: list[float] = []

    def put(self, _tokens: Any) -> None:
        """Some tokens are there."""
        self.times.append(time.perf_counter())

    def end(self) -> None:
        """All are."""


class Writer:
    """The models in memory."""

    def __init__(self, target: Path, draft: Path | None) -> None:
        """Raises ImportError, OSError or ValueError when they cannot be had."""
        quiet.prepare()
        import torch  # noqa: PLC0415

        self._torch = torch
        self._target = _load(target)
        self._draft = _load(draft) if draft else None

    @property
    def modes(self) -> list[str]:
        """Transformers let only a model whose head is as wide assist with tokens."""
        assists = self._draft is not None and self._draft.config.vocab_size == self._target.config.vocab_size
        return [_PLAIN, *([_ASSISTED] if assists else []), _SEARCHED]

    def write(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """One greedy answer. `tokens` are without stop ids."""
        ids = self._torch.tensor([order["ids"]])
        clock = Clock()
        with self._torch.inference_mode():
            output = self._target.generate(
                ids,
                attention_mask=self._torch.ones_like(ids),
                generation_config=self._config(order),
                streamer=clock,
                **self._guessing(order["mode"]),
            )
        ended = time.perf_counter()
        first = clock.times[1] if len(clock.times) > 1 else ended
        stop_ids = set(order["stop_ids"])
        return {
            "tokens": [token for token in output[0, ids.shape[1] :].tolist() if token not in stop_ids],
            "ttft_ms": (first - clock.started) * 1000.0,
            "decode_ms": (ended - first) * 1000.0,
        }

    def _config(self, order: Mapping[str, Any]) -> Any:
        from transformers import GenerationConfig  # noqa: PLC0415

        # A new one: the model's own would bring its sampling and penalties.
        stop_ids = list(order["stop_ids"])
        pad = stop_ids[0] if stop_ids else None
        return GenerationConfig(
            do_sample=False, max_new_tokens=order["tokens"], eos_token_id=stop_ids or None, pad_token_id=pad
        )

    def _guessing(self, mode: str) -> dict[str, Any]:
        assert mode in self.modes, mode
        if mode == _ASSISTED:
            return {"assistant_model": self._draft}
        return {"prompt_lookup_num_tokens": _LOOKUP} if mode == _SEARCHED else {}


def answer(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """A reply for each line."""
    first = json.loads(next(lines))
    draft = first["draft"]
    try:
        writer = Writer(Path(first["target"]), Path(draft) if draft else None)
    except (ImportError, OSError, ValueError) as error:
        yield {"unavailable": first_line(error)}
        return
    yield {"modes": writer.modes}
    for line in lines:
        yield writer.write(json.loads(line))


def main(orders: TextIO = sys.stdin, replies: TextIO = sys.stdout) -> None:
    """Until the orders end."""
    for reply in _muted(answer(iter(orders))):
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _muted(replies: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the libraries print must not get between the replies."""
    while True:
        with quiet.muted(io.StringIO()):
            reply = next(replies, None)
        if reply is None:
            return
        yield reply


def _load(source: Path) -> Any:
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    is_file = source.suffix == ".gguf"
    folder, more = (source.parent, {"gguf_file": source.name}) if is_file else (source, {})
    if not source.exists():
        raise OSError(f"{source} does not exist")
    return AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype="auto", **more).eval()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
