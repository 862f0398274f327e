"""The interface of drafters, and their drafts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from headstart.engine.engine import Origin
from headstart.engine.runners.runner import Branch, common_prefix
from headstart.engine.sampling import Guess
from headstart.engine.sequence import Sequence as Text


@dataclass(frozen=True)
class Draft:
    """Guesses at the next tokens: first those with a confidence each, behind them those copied from earlier text.

    A confidence in (0, 1] is what the drafter itself believes. `probabilities` are what a draft model gave to its
    tokens without noise, where that is asked for.
    """

    tokens: tuple[int, ...] = ()
    confidences: tuple[float, ...] = ()
    match_length: int = 0  # of what is copied: tokens before it that agree
    probabilities: tuple[float, ...] = ()
    runners_up: tuple[tuple[Guess, ...], ...] = ()  # what a draft model would have guessed instead of each
    branches: tuple[Branch, ...] = ()  # those of them that are checked, too; place 1 is that of the first token

    @property
    def size(self) -> int:
        """Tokens to be checked."""
        return len(self.tokens) + len(self.branches)

    @property
    def copied(self) -> tuple[int, ...]:
        """The tokens without a confidence."""
        return self.tokens[len(self.confidences) :]

    def beginning(self, count: int) -> "Draft":
        """The first `count` tokens."""
        return replace(self, tokens=self.tokens[:count], confidences=self.confidences[:count])

    def branch_taken(self, chosen: Sequence[int]) -> int | None:
        """The number of the branch that the target chose; None: none. `chosen`: tokens that held, and what followed."""
        held = common_prefix(self.tokens, chosen)
        wanted = [Branch(1 + held, token) for token in chosen[held : held + 1]]
        return next((number for number, branch in enumerate(self.branches) if branch in wanted), None)


NO_DRAFT = Draft()

WantsMore = Callable[[Draft], bool]  # the draft so far -> one more token?


class Drafter(Protocol):
    """Guesses what the target will write. The target checks each guess, so a wrong one costs time and no exactness."""

    @property
    def name(self) -> str:
        """What its account and what was learned of it are kept under."""
        ...

    @property
    def origin(self) -> Origin:
        """What its accepted tokens are labelled with."""
        ...

    def begin(self, text: Text) -> None:
        """A prompt was taken in."""
        ...

    def price(self, text: Text) -> int | None:
        """Tokens that a model must read before a first guess; 0 where guesses cost nothing; None: it has none now."""
        ...

    def propose(self, text: Text, wants_more: WantsMore) -> Draft:
        """Guess on from the end of the text. One whose guesses cost time asks `wants_more` before each of them.

        May raise Interrupted.
        """
        ...

    def accept(self, text: Text, held: int) -> None:
        """Tokens were written. Of what was guessed and read, the first `held` tokens of the text still hold."""
        ...
