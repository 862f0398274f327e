"""What a pipeline of GenAI, of whichever kind, is asked to write, and what it gives. Knows no pipeline."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from headstart.engine.cancelling import CancelEvent


class End(StrEnum):
    """Why a pipeline stopped."""

    STOP = "stop"  # a stop id
    LENGTH = "length"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Assignment:
    """A prompt in tokens, and GenAI's configuration of the answer."""

    prompt: tuple[int, ...]
    configuration: Any


@dataclass(frozen=True)
class Batch:
    """Tokens that came at once; `milliseconds` since the ones before. Empty while the prompt is read."""

    tokens: tuple[int, ...]
    milliseconds: float
    end: End | None = None


class Writer(Protocol):
    """A pipeline that was built for one way of guessing."""

    rounds_told: bool  # whether a batch is a round: what was accepted, then the target's own token

    def write(self, assignment: Assignment, cancel: CancelEvent) -> Iterator[Batch]:
        """The answer as it comes; the last batch has an end. Closing the iterator ends the answer, too.

        Raises EngineLostError when GenAI fails; the writer cannot be used after that.
        """
        ...
