"""The text itself as a drafter: it goes on as it did after the same last tokens before."""

from collections.abc import Sequence
from itertools import cycle, islice

from headstart.engine.drafters.base import NO_DRAFT, Draft, WantsMore
from headstart.engine.engine import Origin
from headstart.engine.runners.runner import common_prefix
from headstart.engine.sequence import Sequence as Text

_SIZES = (2, 3, 4, 6, 8)  # of n-grams: the longest match wins, of matches as long the latest
_MOST_PLACES = 256  # that one look-up compares
_LONGEST_MATCH = 32  # how far back a match is followed to tell how long it really is
NGRAM_REACH = 15  # tokens that a match can offer


class _Index:
    """A text, and for each of its tokens where the pair that ends before it ended last; an entry a token, no search."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._last: dict[int, int] = {}  # by pair: the place after it
        self._before: list[int] = []  # by place: the place after the same pair, one occurrence earlier; 0: none

    def append(self, token: int) -> None:
        # An entry is made once the token after the pair is known, so a lookup never finds the text's own end.
        end = len(self.tokens)
        pair = _pair(self.tokens) if end > 1 else -1
        self._before.append(self._last.get(pair, 0))
        if end > 1:
            self._last[pair] = end
        self.tokens.append(token)

    def match(self, ending: Sequence[int]) -> tuple[int, int] | None:
        """The place after the longest, latest n-gram that `ending` ends with, and how many tokens before it agree."""
        best = place = self._last.get(_pair(ending), 0) if len(ending) > 1 else 0
        if not place:
            return None
        longer = [size for size in _SIZES if self._agreement(place, ending, size) < size <= len(ending)]
        for _ in range(_MOST_PLACES):
            place = self._before[place]
            if not place or not longer:
                break
            if place >= longer[0] and self.tokens[place - longer[0]] == ending[-longer[0]]:
                agreement = self._agreement(place, ending, longer[-1])
                if agreement >= longer[0]:
                    best, longer = place, [size for size in longer if size > agreement]
        return best, self._agreement(best, ending, _LONGEST_MATCH)

    def _agreement(self, place: int, ending: Sequence[int], most: int) -> int:
        size, limit = 2, min(place, most, len(ending))
        while size < limit and self.tokens[place - size - 1] == ending[-size - 1]:
            size += 1
        return size


def _pair(tokens: Sequence[int]) -> int:
    """The last two tokens as one number."""
    return tokens[-2] << 32 | tokens[-1]


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
        for token in [*self._text.tokens[-_SIZES[-1] :], *tokens] if tokens else ():
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
