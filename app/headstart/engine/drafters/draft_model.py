"""A small model that writes ahead, token by token, with the target's noise."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from headstart.engine.drafters.base import NO_DRAFT, Draft, WantsMore
from headstart.engine.drafters.ngram import NgramDrafter
from headstart.engine.engine import Origin
from headstart.engine.prefix_cache import PrefixCache
from headstart.engine.runners.hydra import HydraRunner
from headstart.engine.runners.runner import Logits, Runner, common_prefix, is_finite
from headstart.engine.sampling import Guess, Ids
from headstart.engine.sequence import Sequence as Text

_log = logging.getLogger(__name__)

MOST_DRAFTED = 16  # tokens in one round
CHUNK = 512  # tokens that are read at a time; more save a small model nothing
WINDOW, HEAD = 2048, 96  # tokens that are read of a text of which more is unknown: so many in all, those at its start


@dataclass
class ModelDrafter:
    """Writes ahead as far as it is asked to; behind its own tokens come those that `copier` offers for nothing."""

    runner: Runner | HydraRunner
    vocabulary: int  # ids the target knows; a wider output head is cut
    listed: Ids | None = None  # rising: what the logits stand for where the runner's head is trimmed
    copier: NgramDrafter | None = None
    is_set_aside: bool = field(default=False, init=False)  # for this answer

    def __post_init__(self) -> None:
        """A token outside the list cannot be guessed, nor one that the target does not know."""
        if self.listed is not None:
            width = min(self.vocabulary, self.runner.vocabulary)
            self.listed = self.listed[: np.searchsorted(self.listed, width)]

    def read(self, text: Text) -> list[int]:
        """Read all but the last few tokens of what the cache lacks of the text; return those."""
        raise NotImplementedError

    def forward(self, pending: Sequence[int]) -> Logits:
        """Read these; the logits after the last of them."""
        raise NotImplementedError

    def propose(self, text: Text, wants_more: WantsMore) -> Draft:
        """See Drafter.propose."""
        draft, sampler, tolerant = NO_DRAFT, text.sampler, text.job.speculation.acceptance_threshold < 1.0
        guesses: list[Guess] = []
        probabilities: list[float] = []
        pending = self.read(text)
        while wants_more(draft):
            ids = self.listed
            row = self.forward(pending)[0][: self.vocabulary if ids is None else ids.size]
            if not is_finite(row):
                self.give_up("gave what is not a number")
                break
            tokens = [guess.token for guess in guesses]
            guess = sampler.guess(row, len(text.context) + len(tokens), tokens, ids)
            if tolerant:
                probabilities.append(sampler.probability(row, guess.token, tokens, ids))
            guesses.append(guess)
            pending = [guess.token]
            draft = self._draft(text, guesses, probabilities)
        return draft

    def give_up(self, reason: str) -> None:
        """A guess must never end an answer."""
        _log.warning("the draft model %s: it is set aside for this answer", reason)
        self.is_set_aside = True

    def _draft(self, text: Text, guesses: Sequence[Guess], probabilities: Sequence[float]) -> Draft:
        tokens = tuple(guess.token for guess in guesses)
        tail = self.copier.tail(text, tokens) if self.copier else NO_DRAFT
        return Draft(
            tokens + tail.tokens,
            tuple(guess.confidence for guess in guesses),
            tail.match_length,
            tuple(probabilities),
            tuple(guess.runners_up for guess in guesses),
        )


@dataclass
class DraftModel(ModelDrafter):
    """A model of its own, which reads the text by itself."""

    runner: Runner
    reads: int = 1  # tokens of a pass; where fewer are new, those before them are read again
    prefixes: PrefixCache | None = None  # what the runner has read before; None: the last text
    _known: int = field(default=0, init=False)  # tokens of the text that it is sure to be able to read
    _skipped: int = field(default=0, init=False)  # tokens of the text, behind its head, that it does not read

    name = origin = Origin.DRAFT

    def __post_init__(self) -> None:
        """See ModelDrafter."""
        super().__post_init__()
        self._prefixes = self.prefixes or PrefixCache(self.runner)

    def begin(self, text: Text) -> None:
        """Keep what the cache shares with a new prompt, or begin near its end where little is known of it."""
        self.is_set_aside, self._known = False, 0
        context = text.context
        if common_prefix(self.runner.tokens, self._seen(context)) < WINDOW // 2:  # the text is another one
            self._skipped = 0
        if self._lack(text) > WINDOW:
            self._skipped = len(context) - WINDOW
        self._prefixes.reuse(self._seen(context), text.job.keep)
        self._look_at(text.context)

    def price(self, text: Text) -> int | None:
        """See Drafter.price. None when it is set aside or a round would not fit its context."""
        length = len(text.context) - self._skipped
        if self.is_set_aside or not text.most_candidates or length + MOST_DRAFTED > self.runner.context:
            return None
        return length - len(self.runner.tokens)

    def accept(self, text: Text, held: int) -> None:
        """Forget guesses that did not hold."""
        self.runner.rollback(held - self._skipped)
        self._look_at(text.context)

    def read(self, text: Text) -> list[int]:
        """See ModelDrafter.read."""
        missing = self._seen(text.context)[len(self.runner.tokens) :]
        while len(missing) > CHUNK:
            self.runner.forward(missing[:CHUNK], cancel=text.cancel)
            missing = missing[CHUNK:]
        return missing

    def forward(self, pending: Sequence[int]) -> Logits:
        """Passes of one size: another size than that of the last pass may cost more than a token."""
        known = self.runner.tokens
        again = max(min(self.reads - len(pending), len(known)), 0)
        ids = [*known[len(known) - again :], *pending]
        self.runner.rollback(len(known) - again)
        return self.runner.forward(ids)

    def give_up(self, reason: str) -> None:
        """What its cache holds cannot be trusted either."""
        super().give_up(reason)
        self._prefixes.clear()

    def _seen(self, context: Sequence[int]) -> list[int]:
        """What it reads of the text."""
        return [*context[:HEAD], *context[HEAD + self._skipped :]] if self._skipped else list(context)

    def _lack(self, text: Text) -> int:
        """Tokens that it would have to read."""
        seen = self._seen(text.context)
        return len(seen) - self._prefixes.known(seen, text.job.keep)

    def _look_at(self, context: Sequence[int]) -> None:
        """A target may write tokens, of rows that pad its vocabulary, that a draft cannot read."""
        if not self.is_set_aside and max(context[self._known :], default=0) >= self.runner.vocabulary:
            self.give_up("cannot read a token of the text")
        self._known = len(context)
