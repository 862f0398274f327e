"""A Hydra head (Ankner et al. 2024): it guesses from a hidden state of its target and the next token."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from headstart.engine.kernels.fusion import compile_model
from headstart.engine.runners.graph import HIDDEN_STATES, Ids
from headstart.engine.runners.head import NEXT, read_one_state, tokens_of_rows
from headstart.engine.runners.runner import Hidden, Inputs, Logits
from headstart.engine.runtime import core


class HydraRunner:
    """A head without keys and values. The matrix that makes one hidden state of several is in the target's graph."""

    tokens: Sequence[int] = ()  # it keeps none
    context = 1  # it reads one at a time

    def __init__(self, folder: Path, device: str, properties: Mapping[str, str]) -> None:
        """Compile a head. Raises RuntimeError if the model is none."""
        model = core().read_model(folder / "openvino_model.xml")
        self.listed: Ids = tokens_of_rows(model)
        self.width = read_one_state(model)
        self.vocabulary = int(self.listed[-1]) + 1
        compiled = compile_model(model, device, properties).model
        self._request = compiled.create_infer_request()
        self._inputs = Inputs(self._request, compiled)

    def read(self, token: int, hidden: Hidden) -> tuple[Logits, Hidden]:
        """Return the logits after a token, [1, rows], and the hidden state for the next guess.

        The logits are valid until the next call. `hidden`: the hidden state of the token before, [1, width].
        """
        self._inputs.write(HIDDEN_STATES, hidden[None])
        self._inputs.write(NEXT, [token])
        self._request.infer()
        logits, further = (self._request.get_output_tensor(number).data for number in range(2))
        return logits, further.copy()

    def forward(self, ids: Sequence[int], **_rows: int) -> Logits:
        """Read the last token without a hidden state, to time a pass."""
        return self.read(ids[-1], np.zeros((1, self.width), np.float32))[0]

    def rollback(self, _length: int) -> None:
        """Do nothing: no tokens are kept."""
