"""What the decoding loop asks of one compiled model and its keys and values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.engine.cancelling import CancelEvent
from headstart.engine.kernels.library import cancel_run

Logits = NDArray[np.float32]  # [rows, vocabulary]
Hidden = NDArray[np.float32]  # hidden states: [tokens, width]
Saved = NDArray[np.uint8]  # keys and values of some tokens, as their runner laid them out: [bytes]

PREFILL_CHUNK = 1024  # tokens a call: app/docs/speed.md has the time and the memory of fewer


class Interrupted(Exception):  # noqa: N818 - stopping is no error; this unwinds one call into the runner
    """`cancel` was set before or while the model ran; the cache is as before the call, or empty: `tokens` tells."""


class NonFiniteError(Exception):
    """A model gave what is not a number: its arithmetic is broken here, and nothing in its cache can be trusted."""


def is_finite(row: NDArray[np.float32]) -> bool:
    """Whether the logits of one row can be chosen from: [vocabulary]. A row without NaN has no NaN as its largest."""
    return bool(np.isfinite(row.max()))


def require_finite(logits: Logits) -> Logits:
    """The same logits. Raises NonFiniteError where a row of them cannot be chosen from."""
    if not np.isfinite(logits.max(axis=1)).all():
        raise NonFiniteError
    return logits


@dataclass(frozen=True, slots=True)
class Branch:
    """A token that may come instead of the one at `place` of a pass; 0, the first, is no place for one."""

    place: int
    token: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A pass that was made for several sequences; all figures are those of all of them together."""

    tokens: int
    context: int  # tokens before these
    ms: float
    is_switched: bool  # whether the pass before it had another size


class Runner(Protocol):
    """One sequence of a model. Every token in the cache is known, so that a later prompt can reuse its beginning."""

    context: int  # most tokens the cache holds
    vocabulary: int  # tokens that can be read, and the width of the logits unless the output head was trimmed
    can_branch: bool  # whether it can check more than one token for the same place
    can_pad: bool  # whether tokens that are forgotten at once cost no more than the pass that reads them
    can_save: bool  # whether it can hand out keys and values, and take them back

    @property
    def tokens(self) -> Sequence[int]:
        """The tokens whose keys and values are in the cache, in order."""
        ...

    @property
    def sharing(self) -> int:
        """Answers that are being written by the same model, so that they share passes; 1: this one alone."""
        ...

    @property
    def joined(self) -> Joined | None:
        """What the last pass was as a whole; None where this cannot be known."""
        ...

    def forward(
        self,
        ids: Sequence[int],
        branches: Sequence[Branch] = (),
        rows: int = 1,
        cancel: CancelEvent | None = None,
    ) -> Logits:
        """Append `ids`; return the logits after the last `rows` of them, then after each branch: [.., vocabulary].

        Branches are not appended, but take their room while the pass is made; none where not `can_branch`. The array
        is the model's own memory: valid until the next call. Raises Interrupted when `cancel` is set before the end.
        `len(tokens) + len(ids) + len(branches)` must not pass `context`.
        """
        ...

    def rollback(self, length: int, branch: int | None = None) -> None:
        """Forget all tokens after the first `length`; does nothing when there are no more than that.

        `branch`: append that one of the last pass, by number, which belongs there.
        """
        ...

    def save(self, start: int, stop: int) -> Saved:
        """A copy of the keys and values of the tokens from `start`, a multiple of 256, to `stop`."""
        ...

    def restore(self, tokens: Sequence[int], saved: Saved) -> bool:
        """Append tokens whose keys and values were saved behind the same text; `saved` may hold more than these.

        False, and nothing is done, where `saved` cannot be that.
        """
        ...


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading tokens two sequences share."""
    limit = min(len(first), len(second))
    differing = np.nonzero(np.asarray(first[:limit]) != np.asarray(second[:limit]))[0]
    return int(differing[0]) if differing.size else limit


def raise_if_set(cancel: CancelEvent | None) -> None:
    """Raise Interrupted when there is no need to begin."""
    if cancel is not None and cancel.is_set():
        raise Interrupted


def infer(request: Any, cancel: CancelEvent | None) -> None:
    """Run an OpenVINO request to its end, or raise Interrupted where setting `cancel` cuts it short.

    After Interrupted the model must first run over `unlike(...)` tokens.
    """
    if cancel is None:
        request.infer()
        return
    request.start_async()
    with cancel.calling(request.cancel), cancel.calling(cancel_run):  # OpenVINO ends between two operations
        try:
            request.wait()
        except RuntimeError:  # how OpenVINO reports a cancelled request; it can be used again at once
            if not cancel.is_set():
                raise
            raise Interrupted from None


def unlike(finished: int, cancelled: int) -> int:
    """Tokens of a pass that makes a model whole again whose last pass was cancelled.

    WORKAROUND OpenVINO 2026.4.1: nodes of the CPU plugin that a cancelled pass did not reach keep the sizes of the last
    finished one. When that size comes again, they take themselves for up to date while others are not, and the pass
    fails or, worse, gives other logits. A pass of a third size updates them all.
    """
    return next(size for size in (1, 2, 3) if size not in (finished, cancelled))


class Inputs:
    """The input tensors of one inference request, looked up once; each pass writes shapes and values into them."""

    def __init__(self, request: Any, compiled: Any) -> None:
        """Those of `request`, which was made by the model `compiled`."""
        self._request = request
        self._ports = {name: port for port in compiled.inputs for name in port.names}
        self._tensors: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        """Whether the model has such an input."""
        return name in self._ports

    def write(self, name: str, values: ArrayLike) -> None:
        """What the next pass reads there."""
        tensor = self._tensors.get(name)
        if tensor is None:
            tensor = self._tensors[name] = self._request.get_tensor(self._ports[name])
        tensor.shape = np.shape(values)
        tensor.data[...] = values
