"""Self-tests of a runner: rollbacks, branches, and whether logits depend on how tokens are split into passes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import probe_ids
from headstart.engine.runners.runner import Branch, Logits, Runner

_PROMPT, _REJECTED, _ROWS = 40, 5, 4
ROOM = 2 * _PROMPT  # tokens of context that `self_test` needs
# Standard deviations of the logits: pages gave 0, a mask 0.0009, a rollback that does not forget 0.7 and 2.3.
_MAX_ERROR = 0.01
# Parts of the effect of one token too many on the logits. Pages gave 0 to 0.06 in any arithmetic; a branch that sees
# its neighbours, or is kept where it was computed, 0.95 to 11.
_MAX_BRANCH_ERROR = 0.25

MAX_CONTEXT = 2048  # tokens of the longest context that `batch_invariance` tries
_PART = 256  # tokens of a part of that context; whole blocks of every runner
_SHORT = 40  # tokens of the shorter context that it tries
_TAIL = 16  # tokens that are read again in passes of every size up to this one


@dataclass(frozen=True)
class Invariance:
    """A finding about whether a token's logits have the same bits in every pass that reads it."""

    min_tokens: int  # the logits agree in passes of this many tokens or more, 1 or 2; 0: they do not agree
    branches: bool  # they agree beside branches, too
    context: int  # tokens of the longest context that was tried

    def apply(self, runner: Runner) -> bool:
        """Make the runner pad its passes and check no branches, if all passes agree then. Return True if they do."""
        if not isinstance(runner, PagedRunner):
            return self.min_tokens == 1
        runner.min_tokens = max(self.min_tokens, 1)
        for each in (runner, *runner.others):
            each.can_branch = runner.can_branch and (self.branches or not self.min_tokens)
        return self.min_tokens > 0


def self_test(runner: Runner) -> str:
    """Return the reason why this runner must not be used; empty if there is none."""
    error = rollback_error(runner)
    if error > _MAX_ERROR:
        return f"logits differ by {error:.1%} of their deviation after a rollback"
    error = branch_error(runner) if runner.can_branch else 0.0
    return f"a branch is wrong by {error:.0%} of what one token too many does" if error > _MAX_BRANCH_ERROR else ""


def branch_error(runner: Runner) -> float:
    """Return how far the logits change when a token is checked as a branch and kept, relative to one token too many.

    The larger of two: for the branch's own logits, and for those of what follows once it is kept. What comes before it
    is a single token, so that each of the others counts for much.
    """
    prompt = probe_ids(runner.vocabulary, 1, seed=1)
    ids = probe_ids(runner.vocabulary, _ROWS, seed=2)
    token, *following = probe_ids(runner.vocabulary, _ROWS, seed=3)
    rows = 1 + len(following)
    runner.forward(prompt)
    expected = runner.forward([ids[0], token, *following], rows=rows).copy()
    runner.rollback(len(prompt))
    control = runner.forward([*ids[:2], token, *following], rows=rows).copy()
    runner.rollback(len(prompt))
    beside = runner.forward(ids, [Branch(2, token), Branch(1, token)])[-1:].copy()
    runner.rollback(len(prompt) + 1, branch=1)
    logits = np.concatenate([beside, runner.forward(following, rows=len(following))])
    runner.rollback(0)
    return max(
        float(np.linalg.norm(logits[part] - expected[part]) / np.linalg.norm(control[part] - expected[part]))
        for part in (slice(1), slice(1, rows))
    )


def rollback_error(runner: Runner) -> float:
    """Return the largest difference that rejected tokens leave in later logits, in their standard deviations."""
    prompt = probe_ids(runner.vocabulary, _PROMPT, seed=1)
    rejected = probe_ids(runner.vocabulary, _REJECTED, seed=2)
    ids = probe_ids(runner.vocabulary, _ROWS, seed=3)
    runner.forward(prompt)
    clean = runner.forward(ids, rows=len(ids)).copy()
    runner.rollback(0)
    runner.forward(prompt)
    runner.forward(rejected)
    runner.rollback(len(prompt))
    after_rollback = runner.forward(ids, rows=len(ids)).copy()
    runner.rollback(0)
    return float(np.abs(after_rollback - clean).max() / clean.std())


def batch_invariance(runner: Runner) -> Invariance:
    """Read the same tokens in passes of other sizes, in chunks, beside branches and other sequences; compare all bits.

    The runner's cache is empty afterwards. The longest context is `MAX_CONTEXT` tokens or what the runner has room for.
    """
    context = min(runner.context, MAX_CONTEXT)
    room = context - _TAIL - 2  # two branches need places, too
    part = probe_ids(runner.vocabulary, min(_PART, room // 2), seed=4)
    tail = probe_ids(runner.vocabulary, _TAIL, seed=5)
    agrees, takes_one, branches = _is_same_in_chunks(runner, part), True, True
    for is_long in (True, False):  # kernels may depend on the length of the context
        before = _fill(runner, part, room) if is_long else min(_SHORT, len(part))
        runner.rollback(before)
        expected = runner.forward(tail, rows=_TAIL).copy()
        is_same = partial(_is_same_in_passes, runner, before, tail, expected)
        agrees &= all(is_same(_passes(_TAIL, size)) for size in range(2, _TAIL))
        takes_one &= is_same([1] * _TAIL)
        branches &= not runner.can_branch or _is_same_beside_branches(runner, before, tail, expected)
    runner.rollback(0)
    agrees &= _is_same_beside_others(runner, tail)
    return Invariance((1 if takes_one else 2) if agrees else 0, branches, context)


def _is_same_in_passes(
    runner: Runner, before: int, tail: Sequence[int], expected: Logits, sizes: Sequence[int]
) -> bool:
    """Compare the tokens of `tail`, after the first `before`, read in passes of these sizes."""
    runner.rollback(before)
    return all(_same(rows, expected[place:]) for place, rows in _rows(runner, tail, sizes))


def _is_same_in_chunks(runner: Runner, part: Sequence[int]) -> bool:
    """Compare the last logits of a prompt, and its keys and values if they are readable, read whole and in chunks.

    The prompt is left in the cache.
    """
    runner.rollback(0)
    whole = runner.forward(part, rows=2)[-1:].copy()  # the product of one row may have other bits
    saved = runner.save(0, len(part)) if runner.can_save else None
    runner.rollback(0)
    chunks = len(part) // 4, len(part) // 8 + 3
    *_, (_, rows) = _rows(runner, part, [*chunks, len(part) - sum(chunks)])
    return _same(rows[-1:], whole) and (saved is None or np.array_equal(saved, runner.save(0, len(part))))


def _fill(runner: Runner, part: Sequence[int], room: int) -> int:
    """Fill a cache that holds `part`, up to a place within a block, and return the tokens.

    Copies of `part` are restored where possible; further tokens are read.
    """
    if runner.can_save and len(part) == _PART:
        saved = runner.save(0, len(part))
        while len(runner.tokens) + len(part) <= room:
            runner.restore(part, saved)
    runner.forward(probe_ids(runner.vocabulary, 1 + (room - len(runner.tokens) - 1) % _PART, seed=6))
    return len(runner.tokens)


def _passes(count: int, size: int) -> list[int]:
    """Return the sizes of passes over `count` tokens: `size` each; only the last differs, and none is 1."""
    sizes, rest = [size] * (count // size), count % size
    if rest == 1:
        sizes[-1] += 1
    return [*sizes, rest] if rest > 1 else sizes


def _rows(runner: Runner, ids: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[int, Logits]]:
    """Yield the place of the first token of each pass and the logits of all its tokens."""
    for start, stop in pairwise([0, *np.cumsum(sizes).tolist()]):
        yield start, runner.forward(ids[start:stop], rows=stop - start)


def _same(rows: Logits, expected: Logits) -> bool:
    return np.array_equal(rows, expected[: len(rows)])


def _is_same_beside_branches(runner: Runner, before: int, tail: Sequence[int], expected: Logits) -> bool:
    """Compare the tokens before branches, a branch, and the tokens after an accepted branch."""
    other, *wrong = probe_ids(runner.vocabulary, 4, seed=7)
    runner.rollback(before)
    rows = runner.forward([*tail[:2], *wrong], [Branch(3, other), Branch(2, tail[2])], rows=5)
    is_same = _same(rows[:2], expected) and _same(rows[-1:], expected[2:])
    runner.rollback(before + 2, branch=1)
    return is_same and _same(runner.forward(tail[3:], rows=_TAIL - 3), expected[3:])


def _is_same_beside_others(runner: Runner, tail: Sequence[int]) -> bool:
    """Compare a pass for two sequences with one pass for each, if the runner has several."""
    if not isinstance(runner, PagedRunner) or not runner.others:
        return True
    other = runner.others[0]
    for each in (runner, other):
        each.forward(tail[:3])
    alone = runner.forward(tail[3:5], rows=2)[-1:].copy()
    runner.rollback(3)
    together = runner.forward_together([(runner, tail[3:5]), (other, tail[3:5])])
    is_same = all(each.logits is not None and _same(each.logits, alone) for each in together)
    for each in (runner, other):
        each.rollback(0)
    return is_same
