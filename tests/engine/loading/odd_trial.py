"""`python -m tests.engine.loading.odd_trial`: a trial whose toy runners go wrong as their properties say."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine.loading import validation
from headstart.engine.runners.precision import Properties
from headstart.engine.runners.runner import Logits
from tests.stand_ins.toy import BranchingToy

VOCABULARY = 640  # of the tiny target, whose tokenizer reads the text


class OddRunner(BranchingToy):
    """A runner whose rows become NaN after so many tokens, or are somewhat wrong."""

    def __init__(self, context: int, broken_at: int | None, shift: float, forgets: bool) -> None:
        super().__init__(VOCABULARY, context)
        self._broken_at, self._shift, self._forgets = broken_at, shift, forgets

    def forward(self, *arguments: Any, **named: Any) -> Logits:
        logits = super().forward(*arguments, **named)
        if self._broken_at is not None and len(self.tokens) >= self._broken_at:
            logits[-1, 3] = np.nan
        logits[:, ::2] += self._shift
        return logits

    def rollback(self, length: int, branch: int | None = None) -> None:
        if not self._forgets:
            length += 1
        super().rollback(length, branch)


def build(kind: str, _folder: Path, device: str) -> validation.Build:
    """Return a runner with the fault that a test has put among the properties."""
    assert (kind, device) == ("branching", "CPU")

    def compile_model(chosen: Properties, context: int) -> OddRunner:
        fault = chosen.get("FAULT", "")
        if fault == "crash":
            os.kill(os.getpid(), signal.SIGFPE)
        if fault == "hang":
            time.sleep(600)
        if fault == "refuse":
            raise RuntimeError("Exception from somewhere:\nno kernel for it")
        broken_at = {"nan": 1, "late nan": 100}.get(fault)
        return OddRunner(context, broken_at, {"off": 1.0}.get(fault, 0.0), fault != "stale")

    return compile_model


if __name__ == "__main__":
    validation.answer(sys.stdin.buffer, sys.stdout.buffer, build)
