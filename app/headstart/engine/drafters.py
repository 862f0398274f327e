"""Who guesses ahead: the text itself (n-grams) or a draft model. Knows nothing of when guessing pays."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice

from headstart.engine.engine import Origin
from headstart.engine.runner import PREFILL_CHUNK, Branch, Runner, common_prefix, is_finite
from headstart.engine.sampling import Guess, Ids, Row, Sampler
from headstart.engine.shortlist import Shortlist

_log = logging.getLogger(__name__)

WantsMore = Callable[[Sequence[int], Sequence[float]], bool]  # candidates so far, their confidences -> one more?

_GRAM_SIZES = (8, 6, 4, 3, 2)  # longest first: the longest match wins
_LONGEST_MATCH = 32  # how far back a match is followed to tell how long it really is
NGRAM_REACH = 15  # candidates an n-gram match can offer
MOST_DRAFTED = 16  # candidates a draft model makes in one round


@dataclass(frozen=True)
class Proposal:
    """Candidates for the next tokens; `confidences` has one value in (0, 1] for each token of a draft model.

    So has `probabilities`, where they were asked for: what the draft gave to each token, without noise. Tokens behind
    those of the draft model are an n-gram's.
    """

    tokens: tuple[int, ...] = ()
    confidences: tuple[float, ...] = ()
    origin: Origin = Origin.TARGET
    match_length: int = 0  # of an n-gram: tokens before it that agree
    probabilities: tuple[float, ...] = ()
    runners_up: tuple[tuple[Guess, ...], ...] = ()  # what the draft model would have guessed instead of each
    branches: tuple[Branch, ...] = ()  # those of them that are checked, too; place 1 is that of the first candidate

    @property
    def size(self) -> int:
        """Tokens to be checked."""
        return len(self.tokens) + len(self.branches)

    def branch_taken(self, chosen: Sequence[int]) -> int | None:
        """Which branch came, `chosen` being the candidates that held and what followed: None if no one did."""
        held = common_prefix(self.tokens, chosen)
        wanted = [Branch(1 + held, token) for token in chosen[held : held + 1]]
        return next((number for number, branch in enumerate(self.branches) if branch in wanted), None)


NO_PROPOSAL = Proposal()


class _Index:
    """A text and where each of its n-grams went on last; an entry a token, no search."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._places: dict[tuple[int, ...], int] = {}

    def append(self, token: int) -> None:
        # An entry is made once the token after the n-gram is known, so a lookup never finds the text's own end.
        end = len(self.tokens)
        for size in _GRAM_SIZES:
            if size <= end:
                self._places[tuple(self.tokens[end - size :])] = end
        self.tokens.append(token)

    def match(self, ending: Sequence[int]) -> tuple[int, int] | None:
        """The place after the longest, latest n-gram that `ending` ends with, and how many tokens before it agree."""
        for size in _GRAM_SIZES:
            place = self._places.get(tuple(ending[-size:])) if size <= len(ending) else None
            if place is not None:
                return place, self._agreement(place, size, ending)
        return None

    def _agreement(self, place: int, size: int, ending: Sequence[int]) -> int:
        limit = min(place, _LONGEST_MATCH, len(ending))
        while size < limit and self.tokens[place - size - 1] == ending[-size - 1]:
            size += 1
        return size


class NgramDrafter:
    """Continues the text as it went on after the same last tokens before, or as it was foretold."""

    def __init__(self) -> None:
        """Start with no text."""
        self._text = _Index()
        self._foretold = _Index()

    def read(self, context: Sequence[int]) -> None:
        """Follow the text: usually a few tokens were added; anything else is indexed anew."""
        known = len(self._text.tokens)
        if known > len(context) or common_prefix(self._text.tokens, context) < known:
            self._text, known = _Index(), 0
        self.extend(context[known:])

    def foretell(self, tokens: Sequence[int]) -> None:
        """What may follow the text that was read; nothing for an answer of which nothing is known."""
        self._foretold = _Index()
        for token in [*self._text.tokens[-_GRAM_SIZES[0] :], *tokens] if tokens else ():
            self._foretold.append(token)

    def extend(self, tokens: Sequence[int]) -> None:
        """Add tokens that follow what was read."""
        for token in tokens:
            self._text.append(token)

    def propose(self, length: int, after: Sequence[int] = ()) -> Proposal:
        """Up to `length` tokens that followed the longest match; past the text's end they repeat its period.

        `after`: tokens that are only guessed; the offer continues them. What was foretold comes before the text where
        it matches as far, and ends where it does.
        """
        ending = [*self._text.tokens[-_LONGEST_MATCH:], *after]
        foretold, found = self._foretold.match(ending), self._text.match(ending)
        if foretold and (found is None or foretold[1] >= found[1]):
            place, agreement = foretold
            return Proposal(tuple(self._foretold.tokens[place : place + length]), (), Origin.NGRAM, agreement)
        if found is None:
            return NO_PROPOSAL
        return Proposal(self._copy(found[0], length, after), (), Origin.NGRAM, found[1])

    def _copy(self, place: int, length: int, after: Sequence[int]) -> tuple[int, ...]:
        run = self._text.tokens[place : place + length]
        if len(run) < length:
            run += after
        return tuple(islice(cycle(run), length))


@dataclass
class DraftModel:
    """A small model that writes ahead, token by token, with the target's noise."""

    runner: Runner
    vocabulary: int  # ids the target knows; a wider draft head is cut
    shortlist: Shortlist | None = None  # what the logits stand for where the runner's head is trimmed
    _set_aside: bool = field(default=False, init=False)  # for this answer: what it gave was not a number

    def begin(self, context: Sequence[int]) -> None:
        """Keep what the cache shares with a new prompt."""
        self._set_aside = False
        self.runner.rollback(common_prefix(self.runner.tokens, context))

    def lag(self, context_length: int) -> int | None:
        """Tokens to read before the first guess; None when it is set aside or a round would not fit its context."""
        fits = not self._set_aside and context_length + MOST_DRAFTED <= self.runner.context
        return context_length - len(self.runner.tokens) if fits else None

    def propose(
        self,
        context: Sequence[int],
        sampler: Sampler,
        wants_more: WantsMore,
        cancel: threading.Event | None = None,
        *,
        with_probabilities: bool = False,
    ) -> Proposal:
        """Draft until `wants_more` says no. Raises Interrupted when `cancel` is set while a long text is read."""
        tokens: list[int] = []
        confidences: list[float] = []
        probabilities: list[float] = []
        others: list[tuple[Guess, ...]] = []
        pending = self._read(context, cancel)
        while wants_more(tokens, confidences):
            row, ids = self._scored(self.runner.forward(pending)[0])
            if not is_finite(row):
                self._give_up()
                break
            guess = sampler.guess(row, len(context) + len(tokens), tokens, ids)
            if with_probabilities:
                probabilities.append(sampler.probability(row, guess.token, tokens, ids))
            tokens.append(guess.token)
            confidences.append(guess.confidence)
            others.append(guess.runners_up)
            pending = [guess.token]
        return Proposal(
            tuple(tokens),
            tuple(confidences),
            Origin.DRAFT,
            probabilities=tuple(probabilities),
            runners_up=tuple(others),
        )

    def settle(self, valid: int) -> None:
        """Forget guesses past the first `valid` tokens of the text."""
        self.runner.rollback(valid)

    def _give_up(self) -> None:
        """A guess must never end an answer; nor can what the cache holds be trusted."""
        _log.warning("the draft model gave what is not a number: it is set aside for this answer")
        self._set_aside = True
        self.runner.rollback(0)

    def _scored(self, row: Row) -> tuple[Row, Ids | None]:
        if self.shortlist is None:
            return row[: self.vocabulary], None
        return self.shortlist.scored(row)

    def _read(self, context: Sequence[int], cancel: threading.Event | None) -> list[int]:
        """Read all but the last few tokens of what the cache lacks; return those."""
        # The target may use rows of its head that pad the vocabulary; a draft may have fewer of them.
        missing = [min(token, self.runner.vocabulary - 1) for token in context[len(self.runner.tokens) :]]
        while len(missing) > PREFILL_CHUNK:
            self.runner.forward(missing[:PREFILL_CHUNK], cancel=cancel)
            missing = missing[PREFILL_CHUNK:]
        return missing
