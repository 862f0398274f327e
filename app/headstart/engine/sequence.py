"""One answer in tokens: the prompt, the text so far, and whether it is finished."""

from collections import abc
from collections.abc import Callable
from dataclasses import dataclass, field

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import FinishReason, Keep, Sampling, Speculation
from headstart.engine.sampling import Constraint, Row, Sampler


@dataclass(eq=False)
class Sequence:
    """The text so far, prompt included, and how its next token is chosen. `replace` begins the same answer anew."""

    prompt: tuple[int, ...]
    max_new_tokens: int
    stop_ids: frozenset[int]
    sampling: Sampling
    speculation: Speculation
    context_length: int  # tokens that prompt and answer together fill at most
    prediction: tuple[int, ...] = ()  # what the answer may contain
    constraint: Constraint | None = None
    on_logits: Callable[[Row, int], None] | None = None  # called with each token and its row; maybe past the end, too
    written: tuple[int, ...] = ()  # the answer's beginning, if it continues after a fault
    keep: Keep | None = None  # where keys and values may be kept on disk
    on_prompt_logits: Callable[[Row, int], None] | None = None  # the same for the prompt, of which all is read
    cancel: CancelEvent = field(default_factory=CancelEvent)
    finish: FinishReason | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.context = [*self.prompt, *self.written]
        self.sampler = Sampler(self.sampling, self.prompt, self.constraint)
        for token in self.written:
            self.sampler.commit(token)

    @property
    def is_finished(self) -> bool:
        return self.finish is not None or self.cancel.is_set()

    @property
    def remaining(self) -> int:
        """Tokens that may still be written."""
        asked_for = self.max_new_tokens - (len(self.context) - len(self.prompt))
        return min(asked_for, self.context_length - len(self.context))

    @property
    def room(self) -> int:
        """Tokens that a pass may hold, the pending one included."""
        return self.context_length - len(self.context) + 1

    @property
    def max_candidates(self) -> int:
        """The most candidates that are worth checking, as one more token always follows them."""
        return max(0, self.remaining - 1)

    def choose(self, row: Row, run: abc.Sequence[int] = ()) -> int:
        """Return the token that follows the text and then `run`."""
        return self.settle(self.sampler.choose(row, len(self.context) + len(run), run), run)

    def settle(self, token: int, run: abc.Sequence[int] = ()) -> int:
        """Return the token to write after the text and `run`: `token`, or what the constraint makes of it."""
        room = self.remaining - len(run)
        return self.constraint.settle(token, run, room) if self.constraint else token

    def write(self, tokens: abc.Sequence[int]) -> list[int]:
        """Append tokens up to a stop id, the length asked for, or the end of the context. Return those appended."""
        written = []
        for token in tokens:
            if token in self.stop_ids:
                is_cut = self.constraint is not None and self.constraint.is_cut
                self.finish = FinishReason.LENGTH if is_cut else FinishReason.STOP
                break
            self.context.append(token)
            self.sampler.commit(token)
            written.append(token)
            if self.remaining == 0:
                has_all = len(self.context) - len(self.prompt) == self.max_new_tokens
                self.finish = FinishReason.LENGTH if has_all else FinishReason.CONTEXT
                break
        return written
