"""Drafts, and the interface of drafters."""

from collections import abc
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from headstart.engine.engine import Origin
from headstart.engine.runners.runner import Branch, common_prefix
from headstart.engine.sampling import Guess
from headstart.engine.sequence import Sequence


@dataclass(frozen=True)
class Draft:
    """Guesses at the next tokens: first those with a confidence, then those copied from earlier text."""

    tokens: tuple[int, ...] = ()
    confidences: tuple[float, ...] = ()  # in (0, 1], as the drafter itself believes
    match_length: int = 0  # tokens before the copied ones that agree
    probabilities: tuple[float, ...] = ()  # of a model's tokens, without noise, if the request needs them
    runners_up: tuple[tuple[Guess, ...], ...] = ()  # of each token of a model, the likeliest first
    branches: tuple[Branch, ...] = ()  # runners-up that are checked, too; place 1 is that of the first token
    origin: Origin = Origin.NGRAM  # of the tokens with a confidence

    @property
    def size(self) -> int:
        """Tokens to be checked."""
        return len(self.tokens) + len(self.branches)

    @property
    def copied(self) -> tuple[int, ...]:
        """The tokens without a confidence."""
        return self.tokens[len(self.confidences) :]

    @property
    def origins(self) -> list[Origin]:
        return [self.origin] * len(self.confidences) + [Origin.NGRAM] * len(self.copied)

    def beginning(self, count: int) -> "Draft":
        """Return the first `count` tokens."""
        return replace(self, tokens=self.tokens[:count], confidences=self.confidences[:count])

    def branch_taken(self, chosen: abc.Sequence[int]) -> int | None:
        """Return the number of the branch that the target chose. `chosen`: tokens that held, and what followed."""
        count = common_prefix(self.tokens, chosen)
        taken = [Branch(1 + count, token) for token in chosen[count : count + 1]]
        return next((number for number, branch in enumerate(self.branches) if branch in taken), None)


NO_DRAFT = Draft()

ShouldContinue = Callable[[Draft], bool]  # the draft so far -> one more token?


class Drafter(Protocol):
    """Guesses what the target will write. The target checks each guess, so a wrong one costs only time."""

    @property
    def name(self) -> str:
        """The key of its account and of its learned figures."""

    @property
    def can_share(self) -> bool:
        """Return True if it can draft while the same models write other answers."""

    def begin(self, sequence: Sequence) -> None:
        """Read a prompt."""

    def can_draft(self, sequence: Sequence) -> bool:
        """Return whether it can draft at the end of the text."""

    def uncached_tokens(self, sequence: Sequence) -> int:
        """Return how many tokens a model must read before its first guess; 0 if it needs no model."""

    def propose(self, sequence: Sequence, should_continue: ShouldContinue) -> Draft:
        """Draft from the end of the text on. A model asks `should_continue` before each token.

        May raise Interrupted.
        """

    def accept(self, sequence: Sequence, held: int) -> None:
        """Follow the text after a round. Of what was read, the first `held` tokens of the text are still valid."""
