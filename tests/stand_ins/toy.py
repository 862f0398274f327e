"""A model without weights: logits are a fixed function of the last tokens, so texts can be checked exactly."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.base import Drafter
from headstart.engine.drafters.registry import Sources, drafters_of
from headstart.engine.engine import Keep
from headstart.engine.prefix_cache import PrefixCache
from headstart.engine.runners.runner import Branch, Interrupted, Logits, Runner, Saved

_MEMORY = 3  # tokens that the next one depends on


class ToyRunner:
    """Implements Runner. Two toys of one `seed` agree; `blur` adds noise of its own, so that a draft errs sometimes."""

    can_branch = can_pad = can_save = False
    sharing, joined = 1, None
    others: Sequence[Runner] = ()

    def __init__(self, vocabulary: int = 24, context: int = 4096, seed: int = 0, blur: float = 0.0) -> None:
        """`blur` is the standard deviation added to logits whose own is 2."""
        self.vocabulary = vocabulary
        self.context = context
        self.calls: list[int] = []  # tokens of each forward
        self._seed = seed
        self._blur = blur
        self._tokens: list[int] = []

    @property
    def tokens(self) -> Sequence[int]:
        """The tokens in the cache."""
        return self._tokens

    @property
    def known(self) -> int:
        return len(self._tokens)

    def forward(
        self,
        ids: Sequence[int],
        branches: Sequence[Branch] = (),
        rows: int = 1,
        cancel: CancelEvent | None = None,
    ) -> Logits:
        assert 1 <= rows <= len(ids) <= self.context - len(self._tokens)
        assert all(0 <= token < self.vocabulary for token in ids)
        assert self.can_branch or not branches
        if cancel is not None and cancel.is_set():
            raise Interrupted
        self.calls.append(len(ids))
        self._tokens.extend(ids)
        end = len(self._tokens)
        return np.stack([self.row(self._tokens[:length]) for length in range(end - rows + 1, end + 1)])

    def rollback(self, length: int, branch: int | None = None) -> None:
        del self._tokens[length:]

    def hold(self, *lengths: int) -> None:
        pass

    def save(self, start: int, stop: int) -> Saved:
        raise NotImplementedError

    def restore(self, tokens: Sequence[int], saved: Saved) -> bool:
        raise NotImplementedError

    def row(self, prefix: Sequence[int]) -> Logits:
        """Return the logits after `prefix`: [vocabulary]."""
        return _row(self.vocabulary, self._seed, self._blur, tuple(prefix[-_MEMORY:])).copy()


@cache
def _row(vocabulary: int, seed: int, blur: float, last: tuple[int, ...]) -> Logits:
    exact = np.random.default_rng([seed, *last]).normal(0.0, 2.0, vocabulary)
    noise = np.random.default_rng([seed + 1, 77, *last]).normal(0.0, 1.0, vocabulary)
    return (exact + blur * noise).astype(np.float32)


class BranchingToy(ToyRunner):
    """A toy that checks branches; `taken` counts the kept ones."""

    can_branch = can_pad = True
    taken = 0

    def forward(
        self,
        ids: Sequence[int],
        branches: Sequence[Branch] = (),
        rows: int = 1,
        cancel: CancelEvent | None = None,
    ) -> Logits:
        past = list(self._tokens)
        assert len(past) + len(ids) + len(branches) <= self.context
        in_line = super().forward(ids, (), rows, cancel)
        self._fork = [([*past, *ids[: branch.place]], branch.token) for branch in branches]
        return np.stack([*in_line, *(self.row([*before, token]) for before, token in self._fork)])

    def rollback(self, length: int, branch: int | None = None) -> None:
        super().rollback(length)
        if branch is not None:
            before, token = self._fork[branch]
            assert len(before) == length
            self._tokens[:] = [*before, token]
            self.taken += 1


class RememberingToy(ToyRunner):
    """A toy whose logits follow from what its cache holds of each token: a hash of the token and all before it."""

    can_save = True

    def __init__(self) -> None:
        super().__init__(vocabulary=6, context=64)
        self.values: list[int] = []

    def forward(
        self,
        ids: Sequence[int],
        branches: Sequence[Branch] = (),
        rows: int = 1,
        cancel: CancelEvent | None = None,
    ) -> Logits:
        for token in ids:
            self.values.append(hash((self.values[-1] if self.values else 0, token)))
        super().forward(ids, branches, rows, cancel)
        return np.array([self.values[-rows:]], np.float32)

    def rollback(self, length: int, branch: int | None = None) -> None:
        super().rollback(length, branch)
        del self.values[length:]

    def save(self, start: int, stop: int) -> Saved:
        return np.array(self.values[start:stop], np.int64).view(np.uint8)

    def restore(self, tokens: Sequence[int], saved: Saved) -> bool:
        if saved.size % 8 or saved.size // 8 < len(tokens):
            return False
        self._tokens.extend(tokens)
        self.values.extend(saved.view(np.int64)[: len(tokens)].tolist())
        return True


def read(runner: RememberingToy, cache: PrefixCache, prompt: Sequence[int], chat: Keep | None = None) -> int:
    """Read a prompt, and check the cache. Return how many of its tokens were known."""
    cache.reuse(prompt, chat)
    known = len(runner.tokens)
    runner.forward(prompt[known:])
    fresh = RememberingToy()
    fresh.forward(prompt)
    assert (runner.tokens, runner.values) == (list(prompt), fresh.values)
    return known


def toy_drafters(target: ToyRunner, draft: ToyRunner | None = None) -> list[Drafter]:
    """Return the drafters of a target without a folder."""
    return drafters_of(Sources(target, draft=draft))
