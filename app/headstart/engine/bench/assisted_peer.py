"""Hugging Face's assisted generation as a peer: a child process of the exporter's package, asked in JSON lines.

Knows no torch: what the exporter needs may be absent, which the child then says in one sentence.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstart.engine.bench.peers import PeerOptions
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Run
from headstart.errors import PeerError

_COMMAND = (sys.executable, "-m", "headstart_export.assisted")
_GRACE = 10.0  # seconds to end by itself


@dataclass(frozen=True)
class AssistedMode:
    """One of the ways in which the child can write."""

    name: str
    mode: str
    source: "AssistedSource"
    options: PeerOptions

    def answer(self, prompt: BenchPrompt) -> Run:
        """See Contestant.answer. The child holds the clock; the pipe is not counted."""
        ids = self.options.encode(prompt)
        order = {
            "mode": self.mode,
            "ids": ids,
            "tokens": self.options.tokens,
            "stop_ids": sorted(self.options.stop_ids),
        }
        said = self.source.ask(order)
        return Run(tuple(said["tokens"]), said["ttft_ms"], said["decode_ms"], len(ids))


@dataclass
class AssistedSource:
    """`target` and `draft` are the source weights: a Hugging Face folder each, or a .gguf file."""

    target: Path | None
    draft: Path | None = None
    command: Sequence[str] = _COMMAND
    words: str = "Hugging Face transformers with the source weights"
    _child: subprocess.Popen[str] | None = field(default=None, init=False)

    def open(self, options: PeerOptions) -> Sequence[AssistedMode]:
        """See PeerSource.open."""
        if self.target is None:
            raise PeerError("Hugging Face transformers stay out: name the source weights with --source PATH.")
        if options.device != "CPU":
            raise PeerError(f"Hugging Face transformers stay out: they would run on the CPU, not on {options.device}.")
        # Its remarks on standard error are nobody's business; a failure it puts into words itself.
        self._child = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
        )
        said = self.ask({"target": str(self.target), "draft": str(self.draft) if self.draft else None})
        return tuple(AssistedMode(f"hf {mode}", mode, self, options) for mode in said["modes"])

    def ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """One line there, one line back. Raises PeerError with what the child says, or that it is gone."""
        child = self._child
        assert child is not None, "opened before it is asked"
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps(order) + "\n")
            child.stdin.flush()
            said: dict[str, Any] = json.loads(child.stdout.readline())
        except (OSError, json.JSONDecodeError):
            raise PeerError(
                'Hugging Face transformers stay out: their process ended; install headstart with the extra "export".'
            ) from None
        if "unavailable" in said:
            raise PeerError(f"Hugging Face transformers stay out: {said['unavailable']}.")
        return said

    def close(self) -> None:
        """See PeerSource.close."""
        child = self._child
        if child is None:
            return
        try:
            child.communicate(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
