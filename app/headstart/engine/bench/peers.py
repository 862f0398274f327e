"""What a race asks of other programs: to be opened, to answer, to be closed again. Knows none of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Contestant


@dataclass(frozen=True)
class PeerOptions:
    """What a peer needs to answer as Headstart does. `encode` gives the prompt's tokens: the same for all."""

    device: str
    tokens: int  # longest answer
    stop_ids: frozenset[int]
    encode: Callable[[BenchPrompt], list[int]]
    context: int  # tokens of room


class PeerSource(Protocol):
    """One other program, not yet started."""

    words: str  # what it is, as in "loading ..."

    def open(self, options: PeerOptions) -> Sequence[Contestant]:
        """Load its models; the ways in which it can answer. Raises PeerError with the reason why it cannot."""
        ...

    def close(self) -> None:
        """End what was started; called once, whatever `open` did."""
        ...
