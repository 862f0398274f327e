"""A text with what every drafter would have offered at each of its places. Knows no model and no rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from headstart.engine.rounds import NgramOffer
from headstart.engine.sampling import Guess

_UNKNOWN = 0.5  # confidence of a candidate that nothing is known of


@dataclass(frozen=True)
class Offer:
    """An n-gram offer and how many of its candidates, from the first, are what the text says."""

    length: int
    match_length: int
    held: int

    @property
    def seen(self) -> NgramOffer:
        """What a policy is told of it."""
        return NgramOffer(self.length, self.match_length)


@dataclass(frozen=True)
class Text:
    """What would be guessed at each place, the text before it being given; all sequences are equally long.

    As the draft's guess at a place depends on nothing but the text before it, a round may begin anywhere.
    """

    right: Sequence[bool]  # whether the draft's guess is the text's token
    confidence: Sequence[float]  # of that guess
    offers: Sequence[Offer | None]  # of n-grams
    strays: Mapping[int, Sequence[float]] = field(default_factory=dict)  # confidences after the wrong guess at a place
    prompt: int = 1  # tokens before the first place; the draft has read none of them
    limit: int | None = None  # places that were allowed; None: as many as there are
    runners_up: Sequence[Sequence[Guess]] = ()  # to the guess at each place, the likeliest first; empty: not known
    came: Sequence[int | None] = ()  # which of these the text says
    stray_runners_up: Mapping[int, Sequence[Sequence[Guess]]] = field(default_factory=dict)  # like `strays`

    def __len__(self) -> int:
        """Places."""
        return len(self.right)

    def drafted(self, at: int, count: int) -> tuple[Sequence[float], int]:
        """Confidences of `count` candidates from place `at`, and how many from the first are right."""
        held = run_length(self.right[at : at + count])
        known = [*self.confidence[at : min(at + held + 1, at + count)], *self.strays.get(at + held, ())]
        known += [_UNKNOWN] * (count - len(known))
        return known[:count], held

    def beside(self, at: int, count: int) -> Sequence[Sequence[Guess]]:
        """The runners-up to `count` candidates from place `at`, as far as they are known."""
        held = run_length(self.right[at : at + count])
        known = [*self.runners_up[at : min(at + held + 1, at + count)], *self.stray_runners_up.get(at + held, ())]
        return known[:count] if self.runners_up else ()

    def without_runners_up(self) -> "Text":
        """As if no draft had any."""
        return replace(self, runners_up=(), came=(), stray_runners_up={})

    def tail(self, at: int, drafted: int) -> Offer | None:
        """What n-grams offer behind so many drafted candidates; behind a wrong one it is taken to be the same."""
        return self.offers[at + drafted] if at + drafted < len(self) else None

    def beginning(self, places: int) -> "Text":
        """The same text, ended after so many places."""
        return replace(
            self, right=self.right[:places], confidence=self.confidence[:places], offers=self.offers[:places]
        )


def run_length(flags: Sequence[bool]) -> int:
    """How many hold from the first on."""
    return next((i for i, flag in enumerate(flags) if not flag), len(flags))
