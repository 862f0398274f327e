"""Counts the tokens that a finished target writes, in a process of its own. Knows nothing of drafts.

It answers a committed set of prompts, then reads its answers again: minutes of writing name only a few thousand
tokens, but at each place the model also says what else it might have written, which names the others.

`python -m headstart_export.counting` reads one JSON request on standard input and prints how many tokens it wrote.
"""

import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headstart_export import own_process, quiet, writing
from headstart_export.convert import MODEL_FILE

TOKENS = 64  # longest answer
_MINUTES = 120
_TEMPERATURE = 0.8  # of the writing: some variety, as users have it
_SOFTNESS = 2.0  # temperature at which alternatives count; 1 and 1.5 left more of other texts' tokens out, 3 as many
_ROWS = 32  # positions at once

Counts = NDArray[np.float64]  # [2, logit rows]: times each token was written, and the sum of its softened chances


@dataclass(frozen=True)
class Request:
    """Which model is to write, to which prompts, and the .npy file for the counts."""

    folder: str
    output: str
    prompts: list[str]
    tokens: int = TOKENS


def count(request: Request) -> Counts:
    """Have a child process write and count. Raises ExportError when it fails."""
    failure = "The target cannot write the texts whose tokens are counted ({}); --draft-vocab full does without."
    own_process.ask("counting", dataclasses.asdict(request), minutes=_MINUTES, failure=failure)
    counts: Counts = np.load(request.output)
    return counts


def _read_again(folder: str, texts: list[writing.Text]) -> Counts:
    import openvino  # noqa: PLC0415

    from headstart_export import trial  # noqa: PLC0415

    model = openvino.Core().compile_model(Path(folder) / MODEL_FILE, "CPU")
    session = model.create_infer_request()
    counts = np.zeros((2, model.output("logits").partial_shape[2].get_length()))
    for prompt, answer in texts:
        session.reset_state()
        np.add.at(counts[0], answer, 1.0)
        logits = trial.read(session, prompt + answer)[len(prompt) - 1 : -1]
        for start in range(0, len(answer), _ROWS):
            counts[1] += _chances(logits[start : start + _ROWS]).sum(axis=0)
    return counts


def _chances(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / np.float32(_SOFTNESS))
    chances: NDArray[np.float32] = weights / weights.sum(axis=1, keepdims=True)
    return chances


def main() -> None:
    """Answer the request on standard input."""
    quiet.prepare()
    request = Request(**json.load(sys.stdin))
    texts = writing.answers(writing.Request(request.folder, request.prompts, request.tokens, _TEMPERATURE))
    np.save(request.output, _read_again(request.folder, texts))
    print(sum(len(answer) for _, answer in texts))


if __name__ == "__main__":
    main()
