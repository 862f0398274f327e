"""The interface of a compiled model with its keys and values, and helpers of its implementations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.engine.cancelling import CancelEvent
from headstart.engine.kernels.library import Tickets

Logits = NDArray[np.float32]  # [rows, vocabulary]
Hidden = NDArray[np.float32]  # hidden states: [tokens, width]
Saved = NDArray[np.uint8]  # keys and values of some tokens in their runner's layout: [bytes]

PREFILL_CHUNK = 1024  # tokens a call: app/bench/research/NOTES.md has the time and the memory of fewer


class Interrupted(Exception):  # noqa: N818 - stopping is not an error; this unwinds one call into the runner
    """`cancel` was set before or while the model ran. The cache is as before the call, or empty; see `tokens`."""


class NonFiniteError(Exception):
    """A model returned NaN or infinity. Its cache is invalid."""


def is_finite(row: NDArray[np.float32]) -> bool:
    """Return True if the logits of one row, [vocabulary], can be chosen from."""
    return bool(np.isfinite(row.max()))


def require_finite(logits: Logits) -> Logits:
    """Return the logits. Raises NonFiniteError if a row of them cannot be chosen from."""
    if not np.isfinite(logits.max(axis=1)).all():
        raise NonFiniteError
    return logits


@dataclass(frozen=True, slots=True)
class Branch:
    """A token that may come instead of the one at `place` of a pass. Place 0 can have no branch."""

    place: int
    token: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A pass for several sequences. All figures count all of them together."""

    tokens: int
    context: int  # tokens before these
    ms: float
    is_switched: bool  # the previous pass had another size


class Runner(Protocol):
    """One sequence of a model. Every token in the cache is known, so a later prompt can reuse its beginning."""

    context: int  # most tokens in the cache
    vocabulary: int  # tokens that can be read; also the width of the logits unless the output head was trimmed
    can_branch: bool  # it can check more than one token for the same place
    can_pad: bool  # tokens that are forgotten at once cost only the pass that reads them
    can_save: bool  # it can save keys and values, and restore them

    @property
    def tokens(self) -> Sequence[int]:
        """The tokens whose keys and values are in the cache, in order."""

    @property
    def known(self) -> int:
        """The first tokens behind which a pass reads only its own; they are all, unless a state or window was lost."""

    @property
    def others(self) -> Sequence["Runner"]:
        """Further sequences over the same model, for answers at the same time."""

    @property
    def sharing(self) -> int:
        """The answers that the same model is writing, so that they share passes; 1: this one alone."""

    @property
    def joined(self) -> Joined | None:
        """The last pass as a whole; None if this cannot be known."""

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

    def rollback(self, length: int, branch: int | None = None) -> None:
        """Forget all tokens after the first `length`; does nothing when there are no more than that.

        `branch`: the number of a branch of the last pass that replaces them; its token is appended.
        """

    def hold(self, *lengths: int) -> None:
        """Keep what is needed to go on from these places of the text, in place of those of the last call."""

    def save(self, start: int, stop: int) -> Saved:
        """Return a copy of the keys and values of the tokens from `start`, a multiple of 256, to `stop`.

        Some that fell out of a window may lack. Tokens are read again where a text goes on from these.
        """

    def restore(self, tokens: Sequence[int], saved: Saved) -> bool:
        """Append tokens whose keys and values were saved after the same text; `saved` may hold more than these.

        Returns False, and does nothing, if `saved` cannot be that.
        """


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many leading tokens two sequences share."""
    for place, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return place
    return min(len(first), len(second))


def raise_if_set(cancel: CancelEvent | None) -> None:
    """Raise Interrupted if `cancel` is set."""
    if cancel is not None and cancel.is_set():
        raise Interrupted


def infer(request: Any, tickets: Tickets, cancel: CancelEvent | None) -> None:
    """Run an OpenVINO request to its end, or raise Interrupted where setting `cancel` cuts it short.

    After Interrupted the model must first run over `unlike(...)` tokens.
    """
    with tickets.ticketed() as ticket:
        if cancel is None:
            request.infer()
            return
        with cancel.calling(ticket.cancel):
            request.start_async()
            with cancel.calling(request.cancel):  # which ends between two operations
                try:
                    request.wait()
                except RuntimeError:  # OpenVINO's report of a cancelled request, which can be used again at once
                    if not cancel.is_set():
                        raise
                    raise Interrupted from None


def unlike(finished: int, cancelled: int) -> int:
    """Return the tokens of a pass that makes a model whole again after a cancelled pass.

    WORKAROUND OpenVINO 2026.4.1: nodes of the CPU plugin that a cancelled pass did not reach keep the sizes of the last
    finished one. When that size comes again, they take themselves for up to date while others are not, and the pass
    fails or, worse, gives other logits. A pass of a third size updates them all.
    """
    return next(size for size in (1, 2, 3) if size not in (finished, cancelled))


class Inputs:
    """The input tensors of one inference request, looked up once. Each pass writes shapes and values into them."""

    def __init__(self, request: Any, compiled: Any) -> None:
        """Take the inputs of `request`, which the model `compiled` made."""
        self._request = request
        self._ports = {name: port for port in compiled.inputs for name in port.names}
        self._tensors: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._ports

    def write(self, name: str, values: ArrayLike) -> None:
        """Write an input of the next pass."""
        tensor = self._tensors.get(name)
        if tensor is None:
            tensor = self._tensors[name] = self._request.get_tensor(self._ports[name])
        tensor.shape = np.shape(values)
        tensor.data[...] = values
