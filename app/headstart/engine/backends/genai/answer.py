"""One answer that GenAI writes: its rounds, as far as GenAI tells them, and why it ended. Knows no pipeline."""

from dataclasses import dataclass, field

from headstart.engine.backends.genai.guessing import Guessing, Way
from headstart.engine.backends.genai.writing import Assignment, Batch, End
from headstart.engine.engine import FinishReason, Origin, Prefill, Round, Step, Timing, Token
from headstart.engine.steps import step_of
from headstart.engine.tally import Tally
from headstart.engine.text import AnswerText


@dataclass
class Answer:
    """`most`: tokens that it may have; `limit`: why it ends there."""

    assignment: Assignment
    most: int
    limit: FinishReason
    guessing: Guessing
    stop_ids: frozenset[int]
    text: AnswerText
    rounds_told: bool = True  # whether what comes at once is a round
    reason: FinishReason = FinishReason.STOP
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        """GenAI does not say how much of the prompt it knows from before."""
        self.tally.read(Prefill(0, self.prompt_tokens))

    @property
    def prompt_tokens(self) -> int:
        """How long the prompt is."""
        return len(self.assignment.prompt)

    def take(self, batch: Batch) -> Step | None:
        """What came; a step where there is text in it to come."""
        if batch.end is not None:
            self.reason = self._reason(batch.end)
        done = self._round(batch)
        if not done.tokens:
            return None
        step = step_of(done, self.text)
        self.tally.add(step.round)
        return step

    def _reason(self, end: End) -> FinishReason:
        if end is End.LENGTH:
            return self.limit
        return FinishReason.CANCELLED if end is End.CANCELLED else FinishReason.STOP

    def _round(self, batch: Batch) -> Round:
        """GenAI does not say which part of the time went into guesses."""
        ids = [token for token in batch.tokens if token not in self.stop_ids]
        timing = Timing(verify_ms=batch.milliseconds)
        if self.guessing.way is Way.PLAIN or not self.rounds_told:
            origin = Origin.TARGET if self.guessing.way is Way.PLAIN else Origin.UNKNOWN
            return Round(tuple(Token(token, origin) for token in ids), 0, 0, origin, timing)
        accepted, drafted = max(0, len(batch.tokens) - 1), self._checked()
        labels = [self.guessing.origin] * accepted + [Origin.TARGET]
        tokens = tuple(Token(token, origin) for token, origin in zip(ids, labels, strict=False))
        return Round(tokens, drafted, accepted, self.guessing.origin if drafted else Origin.TARGET, timing)

    def _checked(self) -> int:
        """Candidates of a round: as many as were asked for, but one token always follows; none beside the prompt.

        Where prompt lookup finds fewer, GenAI checks as many rows all the same.
        """
        return min(self.guessing.most, self.most - self.tally.written - 1) if self.tally.written else 0
