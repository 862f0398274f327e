"""What a race leaves behind: two lanes with their times, and the proof that they wrote the same. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

from headstart.engine.engine import Finish, Step


@dataclass(frozen=True)
class Lane:
    """One answer as it came: its rounds and how it ended."""

    steps: tuple[Step, ...]
    finish: Finish

    @property
    def moments(self) -> tuple[float, ...]:
        """Milliseconds from the request to the end of each round, by the engine's clock."""
        stats = self.finish.stats
        spent = [0.0, *(step.round.timing.total_ms for step in self.steps[1:])]  # the first comes with the prompt
        total = sum(spent)
        # What passes between two rounds belongs to the answer, too: the last round ends when the answer does.
        scale = stats.decode_ms / total if total else 0.0
        return tuple(stats.ttft_ms + scale * elapsed for elapsed in accumulate(spent[: len(self.steps)]))

    @property
    def total_ms(self) -> float:
        """From the request to the end."""
        return self.finish.stats.ttft_ms + self.finish.stats.decode_ms

    @property
    def tokens(self) -> int:
        """Tokens written."""
        return self.finish.stats.output_tokens


@dataclass(frozen=True)
class Proof:
    """Two answers compared token by token. `first` is the place of the first difference, from 0."""

    equal: int
    total: int
    first: int | None

    @property
    def holds(self) -> bool:
        """Whether both are the same."""
        return self.first is None


def prove(plain: Sequence[int], other: Sequence[int]) -> Proof:
    """Compare token ids; of the longer answer every token counts."""
    alike = [mine == theirs for mine, theirs in zip_longest(plain, other)]
    return Proof(sum(alike), len(alike), alike.index(False) if False in alike else None)


@dataclass(frozen=True)
class RaceResult:
    """Both lanes of one request."""

    plain: Lane
    speculative: Lane

    @property
    def repeats(self) -> bool:
        """Whether the model repeated itself: to be fast at that is no gain."""
        return bool(self.plain.finish.stats.repeats or self.speculative.finish.stats.repeats)

    @property
    def speedup(self) -> float | None:
        """Plain milliseconds per token over speculative ones, after the first token; None where none is told."""
        if self.repeats:
            return None
        plain, speculative = self.plain.finish.stats.tpot_ms, self.speculative.finish.stats.tpot_ms
        return plain / speculative if plain and speculative else None

    @property
    def proof(self) -> Proof:
        """Whether both lanes wrote the same."""
        return prove(self.plain.finish.token_ids, self.speculative.finish.token_ids)
