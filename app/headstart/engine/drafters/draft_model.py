"""A small model that drafts token by token, with the target's noise."""

import logging
from collections import abc
from dataclasses import dataclass, field

import numpy as np

from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.base import NO_DRAFT, Draft, ShouldContinue
from headstart.engine.drafters.ngram import NgramDrafter
from headstart.engine.engine import Origin
from headstart.engine.prefix_cache import PrefixCache
from headstart.engine.runners.hydra import HydraRunner
from headstart.engine.runners.runner import Logits, Runner, common_prefix, is_finite
from headstart.engine.sampling import Guess, Ids
from headstart.engine.sequence import Sequence

_log = logging.getLogger(__name__)

MAX_DRAFTED = 16  # tokens in one round
CHUNK = 512  # tokens that are read at a time; more save a small model nothing
WINDOW, HEAD = 2048, 96  # tokens that are read of a longer uncached text: the most, and those at its start


@dataclass
class ModelDrafter:
    """A drafter with a model. It drafts as long as the plan allows, and n-grams continue its tokens."""

    runner: Runner | HydraRunner
    vocabulary: int  # ids the target knows; a wider output head is cut
    draft_vocab: Ids | None = None  # rising ids of the logits, if the output head is trimmed
    ngram: NgramDrafter | None = None
    is_disabled: bool = field(default=False, init=False)  # for this answer

    name = Origin.DRAFT
    can_share = True

    def __post_init__(self) -> None:
        """Drop the token ids that one of the models does not know."""
        if self.draft_vocab is not None:
            width = min(self.vocabulary, self.runner.vocabulary)
            self.draft_vocab = self.draft_vocab[: np.searchsorted(self.draft_vocab, width)]

    def read(self, sequence: Sequence) -> list[int]:
        """Read all but the last few tokens that the cache lacks of the text; return those."""
        raise NotImplementedError

    def forward(self, pending: abc.Sequence[int], cancel: CancelEvent | None) -> Logits:
        """Read tokens; return [1, vocabulary] logits after the last of them. Raises Interrupted after `cancel`."""
        raise NotImplementedError

    def propose(self, sequence: Sequence, should_continue: ShouldContinue) -> Draft:
        draft, sampler = NO_DRAFT, sequence.sampler
        is_tolerant = sequence.speculation.acceptance_threshold < 1.0
        guesses: list[Guess] = []
        probabilities: list[float] = []
        pending = self.read(sequence)
        while should_continue(draft):
            ids = self.draft_vocab
            # The passes of others may come first.
            cancel = sequence.cancel if self.runner.sharing > 1 else None
            row = self.forward(pending, cancel)[0][: self.vocabulary if ids is None else ids.size]
            if not is_finite(row):
                self.disable("gave what is not a number")
                break
            tokens = [guess.token for guess in guesses]
            guess = sampler.guess(row, len(sequence.context) + len(tokens), tokens, ids)
            if is_tolerant:
                probabilities.append(sampler.probability(row, guess.token, tokens, ids))
            guesses.append(guess)
            pending = [guess.token]
            draft = self._draft(sequence, guesses, probabilities)
        return draft

    def disable(self, reason: str) -> None:
        """Stop drafting in this answer, as a failing draft must never end it."""
        _log.warning("the draft model %s: it is set aside for this answer", reason)
        self.is_disabled = True

    def _draft(self, sequence: Sequence, guesses: abc.Sequence[Guess], probabilities: abc.Sequence[float]) -> Draft:
        tokens = tuple(guess.token for guess in guesses)
        tail = self.ngram.tail(sequence, tokens) if self.ngram else NO_DRAFT
        return Draft(
            tokens + tail.tokens,
            tuple(guess.confidence for guess in guesses),
            tail.match_length,
            tuple(probabilities),
            tuple(guess.runners_up for guess in guesses),
            origin=self.name,
        )


@dataclass
class DraftModel(ModelDrafter):
    """A separate draft model, which reads the text itself.

    It drafts for one answer at a time: beside others its passes cost all of them about as much as they save.
    """

    runner: Runner
    reads: int = 1  # tokens of a pass; if fewer are new, those before them are read again
    prefixes: PrefixCache | None = None  # what the runner has read before; None: the last text
    _known: int = field(default=0, init=False)  # tokens of the text that it is sure to be able to read
    _skipped: int = field(default=0, init=False)  # tokens of the text, after its start, that it does not read

    can_share = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._prefixes = self.prefixes or PrefixCache(self.runner)

    def begin(self, sequence: Sequence) -> None:
        """Keep what the cache shares with a new prompt; begin near its end if little of it is cached."""
        self.is_disabled, self._known = False, 0
        context = sequence.context
        if common_prefix(self.runner.tokens, self._seen(context)) < self._window // 2:  # the text is another one
            self._skipped = 0
        if self._lack(sequence) > WINDOW or not self._has_room(context):
            self._skip(context)
        self._prefixes.reuse(self._seen(context), sequence.keep)
        self._check_vocabulary(context)

    def can_draft(self, sequence: Sequence) -> bool:
        """Return whether the drafter is enabled and its context has room for a round."""
        return not self.is_disabled and sequence.max_candidates > 0 and self._has_room(sequence.context)

    def uncached_tokens(self, sequence: Sequence) -> int:
        return len(sequence.context) - self._skipped - len(self.runner.tokens)

    def accept(self, sequence: Sequence, held: int) -> None:
        """Forget guesses that did not hold, and begin near the end again where the text fills the draft's context."""
        context = sequence.context
        self.runner.rollback(held - self._skipped)
        if not self._has_room(context):
            self._skip(context)
            self.runner.rollback(common_prefix(self.runner.tokens, self._seen(context)))
        self._check_vocabulary(context)

    def read(self, sequence: Sequence) -> list[int]:
        missing = self._seen(sequence.context)[len(self.runner.tokens) :]
        while len(missing) > CHUNK:
            self.runner.forward(missing[:CHUNK], cancel=sequence.cancel)
            missing = missing[CHUNK:]
        return missing

    def forward(self, pending: abc.Sequence[int], cancel: CancelEvent | None) -> Logits:
        """Read tokens in passes of one size, since a change of size may cost more than a token."""
        cached = self.runner.tokens
        again = max(min(self.reads - len(pending), len(cached)), 0)
        ids = [*cached[len(cached) - again :], *pending]
        self.runner.rollback(len(cached) - again)
        return self.runner.forward(ids, cancel=cancel)

    def disable(self, reason: str) -> None:
        """Disable the drafter and distrust its cache."""
        super().disable(reason)
        self._prefixes.clear()

    @property
    def _window(self) -> int:
        return min(WINDOW, self.runner.context // 2)

    def _has_room(self, context: abc.Sequence[int]) -> bool:
        """Return whether the text it reads, and a round, fit its context."""
        return len(context) - self._skipped + MAX_DRAFTED <= self.runner.context

    def _skip(self, context: abc.Sequence[int]) -> None:
        """Keep the start and the end of a text, at most half of the draft's context."""
        self._skipped = max(len(context) - self._window, 0)

    def _seen(self, context: abc.Sequence[int]) -> list[int]:
        """Return the part of the text that the draft reads."""
        start = min(HEAD, self._window // 2)
        return [*context[:start], *context[start + self._skipped :]] if self._skipped else list(context)

    def _lack(self, sequence: Sequence) -> int:
        """Return how many tokens of the text the draft has not read."""
        text = self._seen(sequence.context)
        return len(text) - self._prefixes.known(text, sequence.keep)

    def _check_vocabulary(self, context: abc.Sequence[int]) -> None:
        """Disable the drafter if it cannot read a token: the target's vocabulary may be larger."""
        if not self.is_disabled and max(context[self._known :], default=0) >= self.runner.vocabulary:
            self.disable("cannot read a token of the text")
        self._known = len(context)
