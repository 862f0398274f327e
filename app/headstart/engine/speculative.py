"""Exact speculative decoding in tokens: guess, check in one pass, keep what the target would have written anyway.

Knows nothing of text, of files, or of OpenVINO.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from headstart.engine.bigram import BIGRAM_REACH, BigramDrafter, Chain
from headstart.engine.drafters import NGRAM_REACH, NO_PROPOSAL, DraftModel, NgramDrafter, Proposal
from headstart.engine.engine import FinishReason, Origin, Prefill, Round, Sampling, Speculation, Timing, Token
from headstart.engine.policy import Policy
from headstart.engine.rounds import NgramOffer, Outcome, Plan, Situation
from headstart.engine.runner import (
    PREFILL_CHUNK,
    Branch,
    Interrupted,
    Logits,
    Runner,
    common_prefix,
    require_finite,
)
from headstart.engine.sampling import Constraint, Row, Sampler


@dataclass(frozen=True)
class Job:
    """One answer in tokens. The prompt must be shorter than the target's context.

    `foretold` is what may come; `constraint` what the answer must keep to. `witness` sees the row that each token was
    chosen from, and the token; after the last one of the answer maybe some more. `written` is the answer's beginning
    where it goes on after a fault.
    """

    prompt: tuple[int, ...]
    max_new_tokens: int
    stop_ids: frozenset[int]
    sampling: Sampling
    speculation: Speculation
    foretold: tuple[int, ...] = ()
    constraint: Constraint | None = None
    witness: Callable[[Row, int], None] | None = None
    written: tuple[int, ...] = ()


class Answer:
    """The text so far, in tokens, and whether it is finished."""

    def __init__(self, job: Job, context_limit: int) -> None:
        """Nothing is written yet."""
        self.job = job
        self.context = [*job.prompt, *job.written]
        self.sampler = Sampler(job.sampling, job.prompt, job.constraint)
        for token in job.written:
            self.sampler.commit(token)
        self.finish: FinishReason | None = None
        self._limit = context_limit

    @property
    def remaining(self) -> int:
        """Tokens that may still be written."""
        return self.job.max_new_tokens - (len(self.context) - len(self.job.prompt))

    @property
    def most_candidates(self) -> int:
        """Candidates worth checking: one more token always follows them, and the pending token needs a place too."""
        return max(0, min(self.remaining - 1, self._limit - len(self.context)))

    def write(self, tokens: Sequence[int]) -> list[int]:
        """Append what may stand: up to a stop id, the length asked for, or the end of the context."""
        written = []
        for token in tokens:
            if token in self.job.stop_ids:
                self.finish = FinishReason.STOP
                break
            self.context.append(token)
            self.sampler.commit(token)
            written.append(token)
            if self.remaining == 0:
                self.finish = FinishReason.LENGTH
                break
        if self.finish is None and len(self.context) > self._limit:
            self.finish = FinishReason.CONTEXT
        return written


@dataclass(frozen=True)
class Offers:
    """The guesses that cost nothing: what the text copies from itself, and what a table looks up."""

    copied: Proposal
    looked_up: Chain


class Decoder:
    """Writes answers one at a time; the caches keep the last one for the next prompt to build on."""

    def __init__(
        self, target: Runner, draft: DraftModel | None, policy: Policy, table: BigramDrafter | None = None
    ) -> None:
        """`draft` None: n-grams only, and a table of likely next tokens where there is one."""
        self._target = target
        self._draft = draft
        self._ngram = NgramDrafter()
        self._table = table
        self._policy = policy

    def run(self, job: Job, cancel: threading.Event) -> Iterator[Prefill | Round | FinishReason]:
        """Yield the progress of the prompt, then each round, then the reason of the end."""
        answer = Answer(job, self._target.context)
        self._policy.begin_answer(job.speculation)
        try:
            logits = yield from self._read_prompt(tuple(answer.context), cancel)
            self._ngram.foretell(job.foretold)
            yield self._first_round(answer, logits)
            while answer.finish is None and not cancel.is_set():
                yield self._round(answer, cancel)
        except Interrupted:
            pass
        yield answer.finish or FinishReason.CANCELLED

    def _round(self, answer: Answer, cancel: threading.Event) -> Round:
        """Guess ahead, check all guesses in one pass, keep those that the target would have written, and one more."""
        started = time.perf_counter()
        before = len(answer.context)
        offers = self._offers(answer)
        plan = self._policy.plan(self._situation(answer, offers))
        guesses = self._guess(answer, plan, offers, cancel)
        checked = self._worth_verifying(guesses)
        guessed = time.perf_counter()

        logits = require_finite(self._verify(answer, checked))
        verified = time.perf_counter()

        chosen = self._choose(answer, checked, logits)
        accepted = len(chosen) - 1
        self._settle(before, checked, chosen)
        tokens = answer.write(chosen)
        self._ngram.extend(tokens)

        timing = _timing(guesses.origin, started, guessed, verified)
        self._policy.learn(_outcome(guesses, offers, chosen, checked, timing))
        _show(answer.job, checked, chosen, logits)  # no part of what a round costs: few ask for it
        labels = _label(tokens, accepted, guesses)
        drafter = guesses.origin if checked.size else Origin.TARGET
        return Round(labels, checked.size, accepted, drafter, timing, self._policy.ledger_ms)

    def _read_prompt(self, prompt: Sequence[int], cancel: threading.Event) -> Generator[Prefill, None, Logits]:
        """Bring the caches to the whole prompt, reusing what they share with it; return the last token's logits."""
        target = self._target
        target.rollback(min(common_prefix(target.tokens, prompt), len(prompt) - 1))
        self._ngram.read(prompt)
        if self._draft is not None:
            self._draft.begin(prompt)
        yield Prefill(len(target.tokens), len(prompt))
        while len(prompt) - len(target.tokens) > PREFILL_CHUNK:
            done = len(target.tokens)
            target.forward(prompt[done : done + PREFILL_CHUNK], cancel=cancel)
            yield Prefill(len(target.tokens), len(prompt))
        return require_finite(target.forward(prompt[len(target.tokens) :], cancel=cancel))

    def _first_round(self, answer: Answer, logits: Logits) -> Round:
        """The prompt's own pass already gives the first token."""
        started = time.perf_counter()
        chosen = self._choose(answer, NO_PROPOSAL, logits)
        tokens = answer.write(chosen)
        self._ngram.extend(tokens)
        timing = Timing(other_ms=_ms(started, time.perf_counter()))
        _show(answer.job, NO_PROPOSAL, chosen, logits)
        return Round(_label(tokens, 0, NO_PROPOSAL), 0, 0, Origin.TARGET, timing, self._policy.ledger_ms)

    def _offers(self, answer: Answer) -> Offers:
        copied = self._ngram.propose(min(NGRAM_REACH, answer.most_candidates))
        length = min(BIGRAM_REACH, answer.most_candidates)
        return Offers(copied, self._table.propose(answer.context, length) if self._table else Chain())

    def _situation(self, answer: Answer, offers: Offers) -> Situation:
        context = len(answer.context)
        lag = self._draft.lag(context) if self._draft and answer.most_candidates else None
        return Situation(context, answer.most_candidates + 1, _offer(offers.copied), lag, offers.looked_up.chances)

    def _guess(self, answer: Answer, plan: Plan, offers: Offers, cancel: threading.Event) -> Proposal:
        if plan.drafter is Origin.DRAFT:
            return self._draft_with_tail(answer, cancel)
        if plan.drafter is Origin.NGRAM:
            return replace(offers.copied, tokens=offers.copied.tokens[: plan.length])
        if plan.drafter is Origin.BIGRAM:
            return Proposal(offers.looked_up.tokens[: plan.length], (), Origin.BIGRAM)
        return NO_PROPOSAL

    def _draft_with_tail(self, answer: Answer, cancel: threading.Event) -> Proposal:
        """What the draft model guesses as far as the policy wants, then what the text itself offers behind that."""
        assert self._draft is not None, "the policy chose a draft model that is not there"

        def wants_more(tokens: Sequence[int], confidences: Sequence[float]) -> bool:
            return self._policy.wants_more(confidences, _offer(self._tail(answer, tokens)) if tokens else None)

        tolerant = answer.job.speculation.acceptance_threshold < 1.0
        drafted = self._draft.propose(answer.context, answer.sampler, wants_more, cancel, with_probabilities=tolerant)
        tail = self._tail(answer, drafted.tokens)
        return replace(drafted, tokens=drafted.tokens + tail.tokens, match_length=tail.match_length)

    def _tail(self, answer: Answer, drafted: Sequence[int]) -> Proposal:
        room = min(NGRAM_REACH, answer.most_candidates - len(drafted))
        return self._ngram.propose(room, drafted) if room > 0 else NO_PROPOSAL

    def _worth_verifying(self, guesses: Proposal) -> Proposal:
        """Of what the draft model guessed, the beginning that pays, with the branches that pay beside it."""
        if guesses.origin is not Origin.DRAFT:
            return guesses
        tail = replace(guesses, tokens=guesses.tokens[len(guesses.confidences) :])
        kept = self._policy.kept(guesses.confidences, _offer(tail))
        chosen: Sequence[tuple[int, int]] = ()
        if self._target.can_branch:
            shares = [[each.confidence for each in others] for others in guesses.runners_up]
            chosen = self._policy.branches(shares, kept)
        # In a pass the pending token stands before the candidates.
        branches = tuple(Branch(1 + place, guesses.runners_up[place][rank].token) for place, rank in chosen)
        return replace(guesses, tokens=guesses.tokens[:kept], branches=branches)

    def _verify(self, answer: Answer, checked: Proposal) -> Logits:
        """The logits after the pending token, after each candidate, then after each branch."""
        ids = [answer.context[-1], *checked.tokens]
        return self._target.forward(ids, checked.branches, rows=len(ids))

    def _choose(self, answer: Answer, proposal: Proposal, logits: Logits) -> list[int]:
        """The candidates that hold, then the target's own token. `logits`: [1 + candidates + branches, vocabulary]."""
        chosen: list[int] = []
        in_line = 1 + len(proposal.tokens)
        for row, candidate in zip_longest(logits[:in_line], proposal.tokens):
            token = answer.sampler.choose(row, len(answer.context) + len(chosen), chosen)
            if token != candidate and candidate is not None and self._tolerated(answer, proposal, row, chosen):
                token = candidate
            chosen.append(token)
            if token != candidate:
                break
        branch = proposal.branch_taken(chosen)
        if branch is not None:  # the target's token is a branch: what the target writes behind it is known as well
            row = logits[in_line + branch]
            chosen.append(answer.sampler.choose(row, len(answer.context) + len(chosen), chosen))
        return chosen

    def _tolerated(self, answer: Answer, proposal: Proposal, row: Row, chosen: Sequence[int]) -> bool:
        """The opt-in shortcut: accept another token where p_target / p_draft reaches the threshold. It alters text."""
        threshold = answer.job.speculation.acceptance_threshold
        if threshold >= 1.0:
            return False
        place = len(chosen)
        # An n-gram is sure of itself.
        p_draft = proposal.probabilities[place] if place < len(proposal.probabilities) else 1.0
        return answer.sampler.probability(row, proposal.tokens[place], chosen) >= threshold * p_draft

    def _settle(self, length: int, checked: Proposal, chosen: Sequence[int]) -> None:
        """Behind the text as it was, `length` tokens, the caches keep what holds. The draft did not read branches."""
        held = length + common_prefix(checked.tokens, chosen)
        self._target.rollback(held, checked.branch_taken(chosen))
        if self._draft is not None:
            self._draft.settle(held)


def _show(job: Job, checked: Proposal, chosen: Sequence[int], logits: Logits) -> None:
    """Have the witness see what was chosen; `logits` as in Decoder._choose."""
    if job.witness is None:
        return
    places, branch = list(range(len(chosen))), checked.branch_taken(chosen)
    if branch is not None:
        places[-1] = 1 + len(checked.tokens) + branch
    for place, token in zip(places, chosen, strict=True):
        job.witness(logits[place], token)


def _offer(copied: Proposal) -> NgramOffer | None:
    return NgramOffer(len(copied.tokens), copied.match_length) if copied.tokens else None


def _outcome(guesses: Proposal, offers: Offers, chosen: Sequence[int], checked: Proposal, timing: Timing) -> Outcome:
    drafted, copied, looked_up = len(guesses.confidences), offers.copied.tokens, offers.looked_up.tokens
    matched = common_prefix(guesses.tokens[:drafted], chosen) if guesses.origin is Origin.DRAFT else None
    return Outcome(
        tokens=len(chosen),
        verified=checked.size,
        accepted=len(chosen) - 1,
        verify_ms=timing.verify_ms,
        draft_ms=timing.draft_ms,
        other_ms=timing.other_ms,
        confidences=guesses.confidences,
        matched=matched,
        offer_matched=common_prefix(copied, chosen) if copied else None,
        bigram_matched=common_prefix(looked_up, chosen) if looked_up else None,
        runners_up=guesses.runners_up,
        runner_up=_runner_up(guesses, chosen, matched),
        branched=checked.branch_taken(chosen) is not None,
    )


def _runner_up(guesses: Proposal, chosen: Sequence[int], matched: int | None) -> int | None:
    """Which of the runners-up to the first wrong candidate came."""
    if matched is None or matched >= min(len(guesses.runners_up), len(chosen)):
        return None
    ranked = [each.token for each in guesses.runners_up[matched]]
    return ranked.index(chosen[matched]) if chosen[matched] in ranked else None


def _label(tokens: Sequence[int], accepted: int, guesses: Proposal) -> tuple[Token, ...]:
    """Of the accepted ones the first are the draft model's, where it drafted; those that cost nothing follow."""
    drafted, free = len(guesses.confidences), Origin.BIGRAM if guesses.origin is Origin.BIGRAM else Origin.NGRAM
    origins = [Origin.DRAFT] * min(drafted, accepted) + [free] * (accepted - drafted) + [Origin.TARGET]
    return tuple(Token(token, origin) for token, origin in zip(tokens, origins, strict=False))


def _timing(origin: Origin, started: float, guessed: float, verified: float) -> Timing:
    """Guessing counts as draft time where a model did it; n-grams are bookkeeping."""
    guessing, rest = _ms(started, guessed), _ms(verified, time.perf_counter())
    draft_ms = guessing if origin is Origin.DRAFT else 0.0
    return Timing(draft_ms, _ms(guessed, verified), guessing - draft_ms + rest)


def _ms(start: float, end: float) -> float:
    return (end - start) * 1000.0
