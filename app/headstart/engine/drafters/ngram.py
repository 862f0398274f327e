"""The text itself as a drafter: it goes on as it did after the same last tokens before."""

from collections.abc import Sequence
from itertools import cycle, islice

from headstart.engine.drafters.base import NO_DRAFT, Draft, WantsMore
from headstart.engine.engine import Origin
from headstart.engine.runner import common_prefix
from headstart.engine.sequence import Sequence as Text

_GRAM_SIZES = (8, 6, 4, 3, 2)  # longest first: the longest match wins
_LONGEST_MATCH = 32  # how far back a match is followed to tell how long it really is
NGRAM_REACH = 15  # tokens that a match can offer


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

    name = origin = Origin.NGRAM

    def begin(self, text: Text) -> None:
        """Read the prompt, and what may follow it."""
        self.read(text.context)
        self.foretell(text.job.foretold)

    def price(self, _text: Text) -> int:
        """Nothing."""
        return 0

    def propose(self, text: Text, _wants_more: WantsMore) -> Draft:
        """See Drafter.propose."""
        return self.tail(text, ())

    def tail(self, text: Text, drafted: Sequence[int]) -> Draft:
        """What may be checked behind tokens that were guessed."""
        room = min(NGRAM_REACH, text.most_candidates - len(drafted))
        return self.look_up(room, drafted) if room > 0 else NO_DRAFT

    def accept(self, text: Text, _held: int) -> None:
        """Read what was written."""
        self.extend(text.context[len(self._text.tokens) :])

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

    def look_up(self, length: int, after: Sequence[int] = ()) -> Draft:
        """Up to `length` tokens that followed the longest match; past the text's end they repeat its period.

        `after`: tokens that are only guessed; the offer continues them. What was foretold comes before the text where
        it matches as far, and ends where it does.
        """
        ending = [*self._text.tokens[-_LONGEST_MATCH:], *after]
        foretold, found = self._foretold.match(ending), self._text.match(ending)
        if foretold and (found is None or foretold[1] >= found[1]):
            place, agreement = foretold
            return Draft(tuple(self._foretold.tokens[place : place + length]), match_length=agreement)
        if found is None:
            return NO_DRAFT
        return Draft(self._copy(found[0], length, after), match_length=found[1])

    def _copy(self, place: int, length: int, after: Sequence[int]) -> tuple[int, ...]:
        run = self._text.tokens[place : place + length]
        if len(run) < length:
            run += after
        return tuple(islice(cycle(run), length))
