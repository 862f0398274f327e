"""One answer in tokens: the request, the text so far, and whether it is finished."""

from collections import abc
from collections.abc import Callable
from dataclasses import dataclass

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import FinishReason, Keep, Sampling, Speculation
from headstart.engine.sampling import Constraint, Row, Sampler


@dataclass(frozen=True)
class Job:
    """A request in tokens."""

    prompt: tuple[int, ...]  # within the target's context, together with the answer
    max_new_tokens: int
    stop_ids: frozenset[int]
    sampling: Sampling
    speculation: Speculation
    prediction: tuple[int, ...] = ()  # what the answer may contain
    constraint: Constraint | None = None
    on_logits: Callable[[Row, int], None] | None = None  # called with each token and its row; maybe past the end, too
    written: tuple[int, ...] = ()  # the answer's beginning, if it continues after a fault
    keep: Keep | None = None  # where keys and values may be kept on disk
    on_prompt_logits: Callable[[Row, int], None] | None = None  # the same for the prompt, of which all is read


class Sequence:
    """The text so far, prompt included, and how its next token is chosen."""

    def __init__(self, job: Job, context_limit: int, cancel: CancelEvent | None = None) -> None:
        self.job = job
        self.cancel = cancel or CancelEvent()
        self.context = [*job.prompt, *job.written]
        self.sampler = Sampler(job.sampling, job.prompt, job.constraint)
        for token in job.written:
            self.sampler.commit(token)
        self.finish: FinishReason | None = None
        self._limit = context_limit

    @property
    def is_finished(self) -> bool:
        return self.finish is not None or self.cancel.is_set()

    @property
    def remaining(self) -> int:
        """Tokens that may still be written. Prompt and answer together fill the context at most."""
        asked_for = self.job.max_new_tokens - (len(self.context) - len(self.job.prompt))
        return min(asked_for, self._limit - len(self.context))

    @property
    def room(self) -> int:
        """Tokens that a pass may hold, the pending one included."""
        return self._limit - len(self.context) + 1

    @property
    def max_candidates(self) -> int:
        """Candidates worth checking: one more token always follows them."""
        return max(0, self.remaining - 1)

    def choose(self, row: Row, run: abc.Sequence[int] = ()) -> int:
        """Return the token that follows the text and then `run`."""
        return self.settle(self.sampler.choose(row, len(self.context) + len(run), run), run)

    def settle(self, token: int, run: abc.Sequence[int] = ()) -> int:
        """Return the token to write after the text and `run` if `token` is chosen: what the constraint makes of it."""
        room = self.remaining - len(run)
        return self.job.constraint.settle(token, run, room) if self.job.constraint else token

    def write(self, tokens: abc.Sequence[int]) -> list[int]:
        """Append tokens up to a stop id, the length asked for, or the end of the context. Return those appended."""
        written = []
        for token in tokens:
            if token in self.job.stop_ids:
                is_cut = self.job.constraint is not None and self.job.constraint.is_cut
                self.finish = FinishReason.LENGTH if is_cut else FinishReason.STOP
                break
            self.context.append(token)
            self.sampler.commit(token)
            written.append(token)
            if self.remaining == 0:
                has_all = len(self.context) - len(self.job.prompt) == self.job.max_new_tokens
                self.finish = FinishReason.LENGTH if has_all else FinishReason.CONTEXT
                break
        return written
