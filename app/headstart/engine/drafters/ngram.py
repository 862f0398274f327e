"""N-grams of the text as a drafter: it proposes the tokens that followed the same tokens before."""

from collections import abc
from itertools import cycle, islice

from headstart.engine.drafters.base import NO_DRAFT, Draft, ShouldContinue
from headstart.engine.engine import Origin
from headstart.engine.runners.runner import common_prefix
from headstart.engine.sequence import Sequence

_SIZES = (2, 3, 4, 6, 8)  # of n-grams: the longest match wins, the latest of equally long ones
_MAX_PLACES = 256  # compared in one look-up
_MAX_MATCH = 32  # tokens that a match is followed back
NGRAM_REACH = 15  # tokens drafted at most


class _Index:
    """A text, with the last place of each pair of tokens and, by place, the one before that."""

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

    def match(self, ending: abc.Sequence[int]) -> tuple[int, int] | None:
        """Find the longest n-gram that `ending` ends with, the latest of these.

        Return the place after it, and how many tokens before that place agree.
        """
        best = place = self._last.get(_pair(ending), 0) if len(ending) > 1 else 0
        if not place:
            return None
        longer = [size for size in _SIZES if self._agreement(place, ending, size) < size <= len(ending)]
        for _ in range(_MAX_PLACES):
            place = self._before[place]
            if not place or not longer:
                break
            if place >= longer[0] and self.tokens[place - longer[0]] == ending[-longer[0]]:
                agreement = self._agreement(place, ending, longer[-1])
                if agreement >= longer[0]:
                    best, longer = place, [size for size in longer if size > agreement]
        return best, self._agreement(best, ending, _MAX_MATCH)

    def _agreement(self, place: int, ending: abc.Sequence[int], limit: int) -> int:
        size, limit = 2, min(place, limit, len(ending))
        while size < limit and self.tokens[place - size - 1] == ending[-size - 1]:
            size += 1
        return size


def _pair(tokens: abc.Sequence[int]) -> int:
    """Return the last two tokens as one number."""
    return tokens[-2] << 32 | tokens[-1]


class NgramDrafter:
    """Continues the text as it went on after the same tokens before, or as the request predicts."""

    def __init__(self) -> None:
        self._text = _Index()
        self._prediction = _Index()

    name = Origin.NGRAM
    can_share = True

    def begin(self, sequence: Sequence) -> None:
        """Read the prompt and the request's prediction."""
        self.read(sequence.context)
        self.predict(sequence.prediction)

    def can_draft(self, _sequence: Sequence) -> bool:
        return True

    def uncached_tokens(self, _sequence: Sequence) -> int:
        return 0

    def propose(self, sequence: Sequence, _should_continue: ShouldContinue) -> Draft:
        return self.tail(sequence, ())

    def tail(self, sequence: Sequence, drafted: abc.Sequence[int]) -> Draft:
        """Return tokens to check after drafted ones."""
        room = min(NGRAM_REACH, sequence.max_candidates - len(drafted))
        return self.look_up(room, drafted) if room > 0 else NO_DRAFT

    def accept(self, sequence: Sequence, _held: int) -> None:
        """Read what was written."""
        self.extend(sequence.context[len(self._text.tokens) :])

    def read(self, context: abc.Sequence[int]) -> None:
        """Index the new tokens of a text; rebuild the index if it is another text."""
        count = len(self._text.tokens)
        if count > len(context) or common_prefix(self._text.tokens, context) < count:
            self._text, count = _Index(), 0
        self.extend(context[count:])

    def predict(self, tokens: abc.Sequence[int]) -> None:
        """Index a predicted continuation of the text."""
        self._prediction = _Index()
        for token in [*self._text.tokens[-_SIZES[-1] :], *tokens] if tokens else ():
            self._prediction.append(token)

    def extend(self, tokens: abc.Sequence[int]) -> None:
        """Add tokens that follow what was read."""
        for token in tokens:
            self._text.append(token)

    def look_up(self, length: int, after: abc.Sequence[int] = ()) -> Draft:
        """Return up to `length` tokens that followed the longest match; past the text's end they repeat its period.

        `after`: drafted tokens, which the result continues. The prediction wins over the text if it matches as far; it
        is not repeated.
        """
        ending = [*self._text.tokens[-_MAX_MATCH:], *after]
        predicted, match = self._prediction.match(ending), self._text.match(ending)
        if predicted and (match is None or predicted[1] >= match[1]):
            place, agreement = predicted
            return Draft(tuple(self._prediction.tokens[place : place + length]), match_length=agreement)
        if match is None:
            return NO_DRAFT
        return Draft(self._copy(match[0], length, after), match_length=match[1])

    def _copy(self, place: int, length: int, after: abc.Sequence[int]) -> tuple[int, ...]:
        run = self._text.tokens[place : place + length]
        if len(run) < length:
            run += after
        return tuple(islice(cycle(run), length))
