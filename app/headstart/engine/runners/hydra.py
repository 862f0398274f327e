"""A Hydra head (Ankner et al. 2024): it guesses from a hidden state of its target and the next token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from headstart.engine.cancelling import CancelEvent
from headstart.engine.hardware.runtime import core
from headstart.engine.kernels.fusion import Compiled, compile_model
from headstart.engine.runners.batching import Batcher
from headstart.engine.runners.graph import HIDDEN_STATES, Ids
from headstart.engine.runners.head import NEXT, read_one_state, tokens_of_rows
from headstart.engine.runners.runner import Hidden, Inputs, Logits, infer


@dataclass(eq=False)
class HeadPass:
    """One guess for a sequence, as its part of a pass."""

    token: int
    hidden_input: Hidden  # the hidden state of the token before: [1, width]
    sequence: int  # its number
    logits: Logits | None = None  # [1, rows]
    hidden: Hidden | None = None  # for the next guess: [1, width]
    error: BaseException | None = None
    count = 1

    @property
    def is_done(self) -> bool:
        return self.logits is not None or self.error is not None


class _Guesses(Batcher[HeadPass]):
    """One inference request that sequences share."""

    def __init__(self, compiled: Compiled) -> None:
        super().__init__()
        self._request, self._tickets = compiled.model.create_infer_request(), compiled.tickets
        self._inputs = Inputs(self._request, compiled.model)

    def _read(self, together: Sequence[HeadPass], _cancel: CancelEvent | None) -> None:
        try:
            self._inputs.write(HIDDEN_STATES, np.concatenate([work.hidden_input for work in together])[None])
            self._inputs.write(NEXT, [work.token for work in together])
            infer(self._request, self._tickets, None)
            logits, hidden = (self._request.get_output_tensor(number).data.copy() for number in range(2))
        except BaseException as error:  # noqa: BLE001 - every thread raises it that waits for this pass
            for work in together:
                work.error = error
            return
        for row, work in enumerate(together):
            work.hidden, work.logits = hidden[row : row + 1], logits[row : row + 1]  # with logits it is done


@dataclass(frozen=True, eq=False)
class HydraRunner:
    """A head without keys and values. The matrix that makes one hidden state of several is in the target's graph."""

    listed: Ids  # tokens that its logits score, rising
    width: int  # of a hidden state
    batcher: _Guesses
    others: Sequence["HydraRunner"] = ()  # the same head for further sequences
    number: int = 0  # of the sequence

    tokens: ClassVar[Sequence[int]] = ()  # it keeps none
    context: ClassVar = 1  # it reads one at a time

    @classmethod
    def load(cls, folder: Path, device: str, properties: Mapping[str, str], sequences: int = 1) -> "HydraRunner":
        """Compile a head. Raises RuntimeError if the model is none."""
        model = core().read_model(folder / "openvino_model.xml")
        listed, width = tokens_of_rows(model), read_one_state(model)
        batcher = _Guesses(compile_model(model, device, properties))
        return cls(listed, width, batcher, [cls(listed, width, batcher, (), each) for each in range(1, sequences)])

    @property
    def vocabulary(self) -> int:
        """The tokens up to the last one that it guesses."""
        return int(self.listed[-1]) + 1

    @property
    def sharing(self) -> int:
        return self.batcher.sharing

    def read(self, token: int, hidden: Hidden, cancel: CancelEvent | None = None) -> tuple[Logits, Hidden]:
        """Return the logits after a token, [1, rows], and the hidden state for the next guess.

        `hidden`: the hidden state of the token before, [1, width]. Raises Interrupted when `cancel` is set before.
        """
        done = self.batcher.run(HeadPass(token, hidden, self.number), cancel)
        assert done.logits is not None
        assert done.hidden is not None
        return done.logits, done.hidden

    def forward(self, ids: Sequence[int], **_rows: int) -> Logits:
        """Read the last token without a hidden state, to time a pass."""
        return self.read(ids[-1], np.zeros((1, self.width), np.float32))[0]

    def rollback(self, _length: int) -> None:
        """Do nothing: no tokens are kept."""
