"""Exact speculative decoding in tokens: guess, check in one pass, keep what the target would have written anyway."""

import time
from collections.abc import Generator, Iterable, Iterator
from itertools import pairwise, zip_longest

from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.base import NO_DRAFT, Draft, Drafter
from headstart.engine.engine import FinishReason, Origin, Prefill, Round, Timing, Token
from headstart.engine.policy.policy import DraftPlan, Policy
from headstart.engine.policy.rounds import Situation
from headstart.engine.prefix_cache import PrefixCache
from headstart.engine.runners.runner import PREFILL_CHUNK, Interrupted, Logits, Runner, common_prefix, require_finite
from headstart.engine.sampling import Row
from headstart.engine.sequence import Job, Sequence

_WITNESSED = 128  # tokens of a prompt in a call, where each has its row: 80 MB at a vocabulary of 150,000


class Decoder:
    """Writes answers one at a time; the caches keep the last one for the next prompt to build on."""

    def __init__(
        self, target: Runner, drafters: Iterable[Drafter], policy: Policy, prefixes: PrefixCache | None = None
    ) -> None:
        """Without drafters it decodes plainly. `prefixes`: what the target has read before; by itself the last text."""
        self._target = target
        self._prefixes = prefixes or PrefixCache(target)
        self._drafters = {drafter.name: drafter for drafter in drafters}
        self._policy = policy

    def run(self, job: Job, cancel: CancelEvent) -> Iterator[Prefill | Round | FinishReason]:
        """Yield the progress of the prompt, then each round, then the reason of the end."""
        sequence = Sequence(job, self._target.context, cancel)
        self._policy.begin_answer(job.speculation)
        try:
            logits = yield from self._read_prompt(sequence)
            if job.max_new_tokens:
                yield self._first_round(sequence, logits)
            else:
                sequence.finish = FinishReason.LENGTH
            while not sequence.is_finished:
                yield self._round(sequence)
        except Interrupted:
            pass
        yield sequence.finish or FinishReason.CANCELLED

    def _round(self, sequence: Sequence) -> Round:
        """Guess ahead, check all guesses in one pass, keep those that the target would have written, learn from it."""
        clock = [time.perf_counter()]
        plan = self._plan(sequence)
        draft = plan.trim(plan.offer or self._drafters[plan.drafter].propose(sequence, plan.wants_more))
        clock.append(time.perf_counter())

        logits = self._verify(sequence, draft, plan.size)
        clock.append(time.perf_counter())

        chosen = self._choose(sequence, draft, logits)
        tokens = self._keep(sequence, draft, chosen)
        clock.append(time.perf_counter())

        timing = _timing(clock, is_drafted=plan.offer is None)
        is_shared = max(plan.situation.sharing, self._target.sharing) > 1
        # What others do, and the wait for them, is none of its doing.
        outcome = plan.outcome(chosen, self._policy.usual(plan) if is_shared else timing)
        self._policy.observe(plan, outcome, self._target.joined if is_shared else None)
        _show(sequence, draft, chosen, logits)  # no part of what a round costs: few ask for it
        drafter = self._drafters[plan.drafter].origin if draft.size else Origin.TARGET
        labels = self._labels(tokens, plan, outcome.accepted)
        return Round(labels, draft.size, outcome.accepted, drafter, timing, self._policy.ledger_ms)

    def _plan(self, sequence: Sequence) -> DraftPlan:
        """What is guessed for nothing is guessed first; whether a draft model is to guess, the plan says."""
        offers: dict[str, Draft] = {}
        lags: dict[str, int] = {}
        for name, drafter in self._drafters.items():
            price = drafter.price(sequence)
            if price and self._target.sharing > 1:  # a model that drafts would keep others waiting
                continue
            if price:
                lags[name] = price
            elif price == 0 and (offer := drafter.propose(sequence, lambda _: True)).tokens:
                offers[name] = offer
        situation = Situation(
            context=len(sequence.context),
            remaining=sequence.most_candidates + 1,
            offers=offers,
            lags=lags,
            room=sequence.room,
            can_branch=self._target.can_branch,
            can_pad=self._target.can_pad,
            sharing=self._target.sharing,
        )
        return self._policy.plan(situation)

    def _verify(self, sequence: Sequence, draft: Draft, size: int) -> Logits:
        """One pass of the target; tokens that say nothing fill it up to `size`, behind those of the draft.

        The logits of the branches are the last ones: [size, vocabulary].
        """
        pending = sequence.context[-1]
        filler = [pending] * (size - 1 - draft.size)
        ids = [pending, *draft.tokens, *filler]
        cancel = sequence.cancel if self._target.sharing > 1 else None  # others' passes may come first, and take long
        return require_finite(self._target.forward(ids, draft.branches, len(ids), cancel))

    def _choose(self, sequence: Sequence, draft: Draft, logits: Logits) -> list[int]:
        """The guesses that hold, then the target's own token. `logits`: see `_verify`."""
        chosen: list[int] = []
        for row, guess in zip_longest(logits[: 1 + len(draft.tokens)], draft.tokens):
            token = sequence.choose(row, chosen)
            if token != guess and guess is not None and self._tolerated(sequence, draft, row, chosen):
                token = guess
            chosen.append(token)
            if token != guess:
                break
        branch = draft.branch_taken(chosen)
        if branch is not None:  # the target's token is a branch: what the target writes behind it is known as well
            chosen.append(sequence.choose(logits[branch - len(draft.branches)], chosen))
        return chosen

    def _tolerated(self, sequence: Sequence, draft: Draft, row: Row, chosen: list[int]) -> bool:
        """The opt-in shortcut: accept another token where p_target / p_draft reaches the threshold. It alters text."""
        threshold = sequence.job.speculation.acceptance_threshold
        if threshold >= 1.0:
            return False
        place = len(chosen)
        # What is copied is sure of itself.
        p_draft = draft.probabilities[place] if place < len(draft.probabilities) else 1.0
        return sequence.sampler.probability(row, draft.tokens[place], chosen) >= threshold * p_draft

    def _keep(self, sequence: Sequence, draft: Draft, chosen: list[int]) -> list[int]:
        """Keep in the caches what holds of the guesses and write what was chosen, as far as it may stand."""
        held = len(sequence.context) + common_prefix(draft.tokens, chosen)
        self._target.rollback(held, draft.branch_taken(chosen))
        tokens = sequence.write(chosen)
        for drafter in self._drafters.values():
            drafter.accept(sequence, held)
        return tokens

    def _read_prompt(self, sequence: Sequence) -> Generator[Prefill, None, Logits]:
        """Bring the caches to the whole prompt, reusing what they share with it; return the last token's logits."""
        target, prompt, witness = self._target, tuple(sequence.context), sequence.job.prompt_witness
        chunk = _WITNESSED if witness else PREFILL_CHUNK
        self._prefixes.reuse(prompt, sequence.job.keep)
        if witness:
            target.rollback(0)
        for drafter in self._drafters.values():
            drafter.begin(sequence)
        yield Prefill(len(target.tokens), len(prompt))
        while True:
            done = len(target.tokens)
            part = prompt[done : done + chunk]
            logits = target.forward(part, rows=len(part) if witness else 1, cancel=sequence.cancel)
            if witness:
                for row, token in zip(logits, prompt[done + 1 :], strict=False):
                    witness(row, token)
            if len(target.tokens) == len(prompt):
                return require_finite(logits[-1:])
            yield Prefill(len(target.tokens), len(prompt))

    def _first_round(self, sequence: Sequence, logits: Logits) -> Round:
        """The prompt's own pass already gives the first token."""
        started = time.perf_counter()
        chosen = self._choose(sequence, NO_DRAFT, logits)
        tokens = self._keep(sequence, NO_DRAFT, chosen)
        timing = Timing(other_ms=1000.0 * (time.perf_counter() - started))
        _show(sequence, NO_DRAFT, chosen, logits)
        labels = tuple(Token(token, Origin.TARGET) for token in tokens)
        return Round(labels, 0, 0, Origin.TARGET, timing, self._policy.ledger_ms)

    def _labels(self, tokens: list[int], plan: DraftPlan, accepted: int) -> tuple[Token, ...]:
        """Of the accepted ones the first are their drafter's; what was copied behind them follows."""
        guessed = len(plan.guessed.confidences)
        drafter = self._drafters[plan.drafter].origin if guessed else Origin.NGRAM
        origins = [drafter] * min(guessed, accepted) + [Origin.NGRAM] * (accepted - guessed) + [Origin.TARGET]
        return tuple(Token(token, origin) for token, origin in zip(tokens, origins, strict=False))


def _show(sequence: Sequence, draft: Draft, chosen: list[int], logits: Logits) -> None:
    """Have the witness see what was chosen; `logits` as in Decoder._choose."""
    if sequence.job.witness is None:
        return
    places, branch = list(range(len(chosen))), draft.branch_taken(chosen)
    if branch is not None:
        places[-1] = branch - len(draft.branches)
    for place, token in zip(places, chosen, strict=True):
        sequence.job.witness(logits[place], token)


def _timing(clock: list[float], *, is_drafted: bool) -> Timing:
    """Guessing counts as draft time where a model did it; else it is bookkeeping."""
    guessing, verifying, rest = (1000.0 * (end - start) for start, end in pairwise(clock))
    return Timing(guessing, verifying, rest) if is_drafted else Timing(0.0, verifying, guessing + rest)
