"""Exact speculative decoding: draft, check in one pass, and keep what the target would have written anyway."""

import time
from collections.abc import Generator, Iterable, Iterator
from itertools import pairwise, zip_longest

from headstart.engine.drafters.base import NO_DRAFT, Draft, Drafter
from headstart.engine.engine import FinishReason, Origin, Prefill, Round, Timing, Token
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import Outcome, RoundState
from headstart.engine.prefix_cache import PrefixCache
from headstart.engine.runners.runner import PREFILL_CHUNK, Interrupted, Logits, Runner, common_prefix, require_finite
from headstart.engine.sampling import Row
from headstart.engine.sequence import Sequence

_LOGITS_CHUNK = 128  # tokens of a prompt in a pass that returns a row for each: 80 MB at a vocabulary of 150,000


class Decoder:
    """Writes answers one at a time; the caches keep the last one for the next prompt to build on."""

    def __init__(
        self, target: Runner, drafters: Iterable[Drafter], policy: Policy, prefixes: PrefixCache | None = None
    ) -> None:
        """`prefixes`: what the target has read before; None: the last text alone."""
        self._target = target
        self._prefixes = prefixes or PrefixCache(target)
        self._drafters = {drafter.name: drafter for drafter in drafters}
        self._policy = policy

    @property
    def context(self) -> int:
        """Tokens that prompt and answer together fill at most."""
        return self._target.context

    def run(self, sequence: Sequence) -> Iterator[Prefill | Round | FinishReason]:
        """Yield the progress of the prompt, then each round, then the reason of the end."""
        self._policy.begin_answer(sequence.speculation)
        try:
            logits = yield from self._read_prompt(sequence)
            if sequence.max_new_tokens:
                yield self._first_round(sequence, logits)
            else:
                sequence.finish = FinishReason.LENGTH
            while not sequence.is_finished:
                yield self._round(sequence)
        except Interrupted:
            pass
        yield sequence.finish or FinishReason.CANCELLED

    def _round(self, sequence: Sequence) -> Round:
        """Draft, check the draft in one pass, keep what the target would have written anyway, and learn from it."""
        clock = [time.perf_counter()]
        session = self._policy.begin_round(self._round_state(sequence))
        plan = session.plan
        draft = plan.free_draft
        if draft is None:
            draft = self._drafters[plan.drafter].propose(sequence, session.should_continue)
        selection = session.select(draft)
        clock.append(time.perf_counter())

        checked = selection.checked
        logits = self._verify(sequence, checked, selection.size)
        clock.append(time.perf_counter())

        chosen = self._choose(sequence, checked, logits)
        tokens = self._keep(sequence, checked, chosen)
        clock.append(time.perf_counter())

        timing = _timing(clock, is_drafted=plan.is_drafted)
        if max(plan.state.batch_size, self._target.sharing) > 1:
            # The time of a shared pass says nothing about this drafter's cost.
            outcome = Outcome(plan, selection, chosen, self._policy.shared_timing(plan, selection))
            self._policy.observe(outcome, self._target.joined)
        else:
            outcome = Outcome(plan, selection, chosen, timing)
            self._policy.observe(outcome)
        _report_logits(sequence, checked, chosen, logits)
        origins = [*draft.origins[: outcome.accepted], Origin.TARGET]
        return Round(
            tuple(Token(token, origin) for token, origin in zip(tokens, origins, strict=False)),
            checked.size,
            outcome.accepted,
            draft.origin if checked.size else Origin.TARGET,
            timing,
            self._policy.ledger_ms,
        )

    def _round_state(self, sequence: Sequence) -> RoundState:
        """Collect the free drafts and the models that can draft."""
        target, sharing = self._target, self._target.sharing
        free_drafts: dict[str, Draft] = {}
        uncached_tokens: dict[str, int] = {}
        for name, drafter in self._drafters.items():
            if not drafter.can_draft(sequence):
                continue
            count = drafter.uncached_tokens(sequence)
            if count and (sharing == 1 or drafter.can_share):  # else it would keep other answers waiting
                uncached_tokens[name] = count
            elif not count and (draft := drafter.propose(sequence, lambda _: True)).tokens:
                free_drafts[name] = draft
        return RoundState(
            context=len(sequence.context),
            remaining=sequence.max_candidates + 1,
            free_drafts=free_drafts,
            uncached_tokens=uncached_tokens,
            room=sequence.room,
            can_branch=target.can_branch,
            can_pad=target.can_pad,
            batch_size=sharing,
        )

    def _verify(self, sequence: Sequence, draft: Draft, size: int) -> Logits:
        """Make one pass of the target, padded to `size` tokens. Return [size, vocabulary] logits, branches last."""
        pending = sequence.context[-1]
        padding = [pending] * (size - 1 - draft.size)
        ids = [pending, *draft.tokens, *padding]
        cancel = sequence.cancel if self._target.sharing > 1 else None  # the passes of others may come first
        return require_finite(self._target.forward(ids, draft.branches, len(ids), cancel))

    def _choose(self, sequence: Sequence, draft: Draft, logits: Logits) -> list[int]:
        """Return the candidates that hold, then the target's own token. `logits`: as `_verify` returns them."""
        chosen: list[int] = []
        for row, guess in zip_longest(logits[: 1 + len(draft.tokens)], draft.tokens):
            token = sequence.choose(row, chosen)
            if token != guess and guess is not None and self._is_tolerated(sequence, draft, row, chosen):
                token = guess
            chosen.append(token)
            if token != guess:
                break
        branch = draft.branch_taken(chosen)
        if branch is not None:  # the target's token is a branch, so the token after it is known as well
            chosen.append(sequence.choose(logits[branch - len(draft.branches)], chosen))
        return chosen

    def _is_tolerated(self, sequence: Sequence, draft: Draft, row: Row, chosen: list[int]) -> bool:
        """Return whether p_target / p_draft of another token reaches the user's threshold. This alters the text."""
        threshold = sequence.speculation.acceptance_threshold
        place = len(chosen)
        if threshold >= 1.0 or sequence.settle(draft.tokens[place], chosen) != draft.tokens[place]:
            return False
        # N-grams give their tokens no probability: it counts as 1.
        p_draft = draft.probabilities[place] if place < len(draft.probabilities) else 1.0
        return sequence.sampler.probability(row, draft.tokens[place], chosen) >= threshold * p_draft

    def _keep(self, sequence: Sequence, draft: Draft, chosen: list[int]) -> list[int]:
        """Roll the caches back to what holds, and write the chosen tokens. Return those that were written."""
        length = len(sequence.context) + common_prefix(draft.tokens, chosen)
        self._target.rollback(length, draft.branch_taken(chosen))
        tokens = sequence.write(chosen)
        for drafter in self._drafters.values():
            drafter.accept(sequence, length)
        return tokens

    def _read_prompt(self, sequence: Sequence) -> Generator[Prefill, None, Logits]:
        """Read what the caches lack of the prompt. Return [1, vocabulary] logits after its last token."""
        target, prompt, on_logits = self._target, tuple(sequence.context), sequence.on_prompt_logits
        chunk = _LOGITS_CHUNK if on_logits else PREFILL_CHUNK
        self._prefixes.reuse(prompt, sequence.keep)
        if on_logits:
            target.rollback(0)
        for drafter in self._drafters.values():
            drafter.begin(sequence)
        yield Prefill(len(target.tokens), len(prompt))
        while True:
            count = len(target.tokens)
            part = prompt[count : count + chunk]
            logits = target.forward(part, rows=len(part) if on_logits else 1, cancel=sequence.cancel)
            if on_logits:
                for row, token in zip(logits, prompt[count + 1 :], strict=False):
                    on_logits(row, token)
            if len(target.tokens) == len(prompt):
                return require_finite(logits[-1:])
            yield Prefill(len(target.tokens), len(prompt))

    def _first_round(self, sequence: Sequence, logits: Logits) -> Round:
        """Take the first token from the prompt's own pass."""
        started = time.perf_counter()
        chosen = self._choose(sequence, NO_DRAFT, logits)
        tokens = self._keep(sequence, NO_DRAFT, chosen)
        timing = Timing(other_ms=1000.0 * (time.perf_counter() - started))
        _report_logits(sequence, NO_DRAFT, chosen, logits)
        labels = tuple(Token(token, Origin.TARGET) for token in tokens)
        return Round(labels, 0, 0, Origin.TARGET, timing, self._policy.ledger_ms)


def _report_logits(sequence: Sequence, draft: Draft, chosen: list[int], logits: Logits) -> None:
    """Report the row that each token was chosen from. `logits`: as `_verify` returns them."""
    if sequence.on_logits is None:
        return
    rows, branch = list(range(len(chosen))), draft.branch_taken(chosen)
    if branch is not None:
        rows[-1] = branch - len(draft.branches)
    for row, token in zip(rows, chosen, strict=True):
        sequence.on_logits(logits[row], token)


def _timing(clock: list[float], *, is_drafted: bool) -> Timing:
    """Return the times of a round by part. Time counts as drafting only if a model drafts."""
    drafting, verifying, rest = (1000.0 * (end - start) for start, end in pairwise(clock))
    return Timing(drafting, verifying, rest) if is_drafted else Timing(0.0, verifying, drafting + rest)
