"""One answer in tokens: what was asked for, what is written, and whether it is finished."""

from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import FinishReason, Keep, Sampling, Speculation
from headstart.engine.sampling import Constraint, Row, Sampler


@dataclass(frozen=True)
class Job:
    """One answer in tokens. The prompt must be shorter than the target's context.

    `foretold` is what may come; `constraint` what the answer must keep to. `witness` sees the row that each token was
    chosen from, and the token; after the last one of the answer maybe some more. `written` is the answer's beginning
    where it goes on after a fault. `keep`: where what is read may be kept on disk. `bias`: see Request.
    `prompt_witness` sees the same of the prompt, but for its first token; the prompt is then read anew.
    """

    prompt: tuple[int, ...]
    max_new_tokens: int
    stop_ids: frozenset[int]
    sampling: Sampling
    speculation: Speculation
    foretold: tuple[int, ...] = ()
    constraint: Constraint | None = None
    witness: Callable[[Row, int], None] | None = None
    written: tuple[int, ...] = ()
    keep: Keep | None = None
    bias: Mapping[int, float] = field(default_factory=dict)
    prompt_witness: Callable[[Row, int], None] | None = None


class Sequence:
    """The text so far, prompt included, and how its next token is chosen."""

    def __init__(self, job: Job, context_limit: int, cancel: CancelEvent | None = None) -> None:
        """Nothing is written yet."""
        self.job = job
        self.cancel = cancel or CancelEvent()
        self.context = [*job.prompt, *job.written]
        self.sampler = Sampler(job.sampling, job.prompt, job.constraint, job.bias)
        for token in job.written:
            self.sampler.commit(token)
        self.finish: FinishReason | None = None
        self._limit = context_limit

    @property
    def is_finished(self) -> bool:
        """Whether the answer has ended or is cancelled."""
        return self.finish is not None or self.cancel.is_set()

    @property
    def remaining(self) -> int:
        """Tokens that may still be written."""
        return self.job.max_new_tokens - (len(self.context) - len(self.job.prompt))

    @property
    def room(self) -> int:
        """Tokens that a pass may hold, the pending one included."""
        return self._limit - len(self.context) + 1

    @property
    def most_candidates(self) -> int:
        """Candidates worth checking: one more token always follows them, and the pending token needs a place too."""
        return max(0, min(self.remaining - 1, self._limit - len(self.context)))

    def choose(self, row: Row, run: abc.Sequence[int] = ()) -> int:
        """The token that follows the text and then `run`."""
        return self.sampler.choose(row, len(self.context) + len(run), run)

    def write(self, tokens: abc.Sequence[int]) -> list[int]:
        """Append what may stand: up to a stop id, the length asked for, or the end of the context."""
        written = []
        for token in tokens:
            if token in self.job.stop_ids:
                self.finish = FinishReason.STOP
                break
            self.context.append(token)
            self.sampler.commit(token)
            written.append(token)
            if self.remaining == 0:
                self.finish = FinishReason.LENGTH
                break
        if self.finish is None and len(self.context) > self._limit:
            self.finish = FinishReason.CONTEXT
        return written
