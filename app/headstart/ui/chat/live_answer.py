"""An answer while it is being written: its text, who proposed which part, and its rounds. Knows no widget or file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

from headstart.chat.conversation import Message, Run, extended
from headstart.engine.engine import Step
from headstart.ui.chat.answer_report import ROUNDS
from headstart.ui.chat.message import OriginRun, RoundNote


@dataclass
class LiveAnswer:
    """Grows by steps of the engine. `text` includes what a continued answer had before."""

    message: int
    generation: int
    text: str = ""
    runs: tuple[Run, ...] = ()
    rounds: list[list[object]] = field(default_factory=list)  # [characters, drafter, drafted, accepted]
    saved: int = 0  # characters that are on disk

    def grow(self, steps: Iterable[Step]) -> None:
        """Take the text of further rounds."""
        for step in steps:
            made = step.round
            for piece in step.pieces:
                self.text += piece.text
                self.runs = extended(self.runs, len(piece.text), piece.origin.value)
            self.rounds.append([len(step.text), made.drafter.value, made.drafted, made.accepted])


def resumed(message: Message, generation: int) -> LiveAnswer:
    """The live form of a message that is being written, with what it had before."""
    earlier = message.stats.get(ROUNDS)
    rounds = list(earlier) if isinstance(earlier, list) else []
    return LiveAnswer(message.id, generation, message.text, message.origins, rounds, len(message.text))


class KeptOrigins(Sequence[OriginRun]):
    """The stored origins of a message with the rounds that they came from, where those were kept.

    Put together when somebody looks: of a long chat only what is near the eye is ever shown.
    """

    def __init__(self, message: Message) -> None:
        self._message = message

    @overload
    def __getitem__(self, index: int) -> OriginRun: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[OriginRun]: ...
    def __getitem__(self, index: int | slice) -> OriginRun | Sequence[OriginRun]:
        return self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    @cached_property
    def _runs(self) -> tuple[OriginRun, ...]:
        message = self._message
        kept = message.stats.get(ROUNDS)
        rounds = [_read(item) for item in kept] if isinstance(kept, list) else []
        if sum(length for length, _ in rounds) != sum(run.characters for run in message.origins):
            return tuple(OriginRun(run.characters, run.origin) for run in message.origins)
        return tuple(_joined(message.origins, rounds))


def _joined(runs: Iterable[Run], rounds: list[tuple[int, RoundNote]]) -> Iterable[OriginRun]:
    """Cut the runs where a round ends."""
    waiting = [(length, note) for length, note in reversed(rounds) if length]
    for run in runs:
        left = run.characters
        while left:
            length, note = waiting.pop()
            taken = min(left, length)
            yield OriginRun(taken, run.origin, note)
            left -= taken
            if length > taken:
                waiting.append((length - taken, note))


def _read(item: object) -> tuple[int, RoundNote]:
    assert isinstance(item, list), "rounds are kept as lists"
    characters, drafter, drafted, accepted = item
    return int(characters), RoundNote(str(drafter), int(drafted), int(accepted))
