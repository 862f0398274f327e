"""N-grams propose what a naive search finds; a draft model writes ahead and forgets what did not hold."""

import random
import time
import tracemalloc
from collections import abc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.base import NO_DRAFT, Draft, WantsMore
from headstart.engine.drafters.draft_model import MOST_DRAFTED, DraftModel
from headstart.engine.drafters.ngram import NgramDrafter
from headstart.engine.engine import Sampling, Speculation
from headstart.engine.runners.runner import PREFILL_CHUNK, Branch, Interrupted, Logits
from headstart.engine.sampling import Sampler
from headstart.engine.sequence import Job, Sequence
from tests.toy import ToyRunner

SIZES = (8, 6, 4, 3, 2)
LONGEST_TOLD = 32
TEXTS = st.lists(st.integers(0, 3), max_size=60)  # few tokens, so that much repeats
GREEDY = Sampling()
WARM = Sampling(temperature=0.9, top_k=8, seed=5)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 11))
def test_ngrams_propose_what_a_search_finds(text: list[int], length: int) -> None:
    drafter = NgramDrafter()
    drafter.read(text)
    assert drafter.look_up(length) == searched(text, length)


@settings(deadline=None)
@given(st.lists(st.integers(0, 1), min_size=20, max_size=120), st.integers(1, 11))
def test_long_matches_are_told_in_full(text: list[int], length: int) -> None:
    drafter = NgramDrafter()
    drafter.read(text)
    assert drafter.look_up(length) == searched(text, length)


@settings(deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=6), st.integers(1, 11))
def test_text_may_come_in_parts(prompt: list[int], rounds: list[list[int]], length: int) -> None:
    drafter = NgramDrafter()
    drafter.read(prompt)
    text = list(prompt)
    for tokens in rounds:
        drafter.extend(tokens)
        text += tokens
        assert drafter.look_up(length) == searched(text, length)


@settings(deadline=None)
@given(TEXTS, TEXTS, st.integers(0, 60))
def test_another_text_replaces_what_was_read(first: list[int], rest: list[int], kept: int) -> None:
    second = first[:kept] + rest
    drafter = NgramDrafter()
    drafter.read(first)
    drafter.read(second)
    assert drafter.look_up(5) == searched(second, 5)


@settings(deadline=None)
@given(TEXTS, st.lists(st.integers(0, 3), min_size=1, max_size=16), st.integers(1, 15))
def test_guessed_tokens_are_continued_and_not_kept(text: list[int], guessed: list[int], length: int) -> None:
    drafter = NgramDrafter()
    drafter.read(text)
    assert drafter.look_up(length, guessed) == searched(text, length, guessed)
    assert drafter.look_up(length) == searched(text, length)


def test_an_index_of_a_long_text_takes_little_memory() -> None:
    text, drafter = random.Random(1).choices(range(50_000), k=10_000), NgramDrafter()
    tracemalloc.start()
    drafter.read(text)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken / len(text) < 300  # bytes a token; a tuple for each size of n-gram took 680


def test_a_look_up_of_what_stands_everywhere_ends_soon() -> None:
    drafter = NgramDrafter()
    drafter.read([token for place in range(20_000) for token in (1, 2, 3 + place)])
    drafter.extend([1, 2])
    assert drafter.look_up(3).tokens[0] == 3 + 19_999
    started = time.process_time()
    for _ in range(20):
        drafter.look_up(3)
    assert (time.process_time() - started) / 20 < 0.002


def test_a_period_is_continued_past_the_end_of_the_text() -> None:
    drafter = NgramDrafter()
    drafter.read([1, 2, 3, 1, 2, 3, 1, 2])
    assert drafter.look_up(7).tokens == (3, 1, 2, 3, 1, 2, 3)


@pytest.mark.parametrize("text", [[], [1], [1, 2], [1, 2, 3, 4, 5, 1]])
def test_nothing_is_proposed_where_nothing_repeats(text: list[int]) -> None:
    drafter = NgramDrafter()
    drafter.read(text)
    assert drafter.look_up(5) == NO_DRAFT


@pytest.fixture
def draft() -> DraftModel:
    """A draft over a toy of the target's vocabulary."""
    return DraftModel(ToyRunner(), 24)


@pytest.mark.parametrize("sampling", [GREEDY, WARM])
def test_a_draft_writes_what_it_would_write_alone(draft: DraftModel, sampling: Sampling) -> None:
    context = [3, 1, 4, 1, 5]
    proposal = draft.propose(begun(context, sampling), up_to(6))
    assert proposal.tokens == written_alone(context, 6, sampling)
    assert len(proposal.confidences) == 6
    assert all(0.0 < confidence <= 1.0 for confidence in proposal.confidences)


def test_a_draft_asks_before_each_token_and_may_be_told_to_stop_at_once(draft: DraftModel) -> None:
    seen: list[int] = []

    def wants_more(draft: Draft) -> bool:
        seen.append(len(draft.tokens))
        return len(draft.tokens) < 3

    context = [3, 1, 4]
    assert len(draft.propose(begun(context), wants_more).tokens) == 3
    assert seen == [0, 1, 2, 3]
    draft.accept(begun(context), 0)
    assert draft.propose(begun(context, GREEDY), up_to(0)).tokens == ()


@pytest.mark.parametrize("accepted", range(6))
def test_a_draft_goes_on_after_any_number_of_accepted_tokens(draft: DraftModel, accepted: int) -> None:
    context = [3, 1, 4, 1, 5]
    guesses = draft.propose(begun(context, GREEDY), up_to(5)).tokens
    held = len(context) + accepted
    context = [*context, *guesses[:accepted], 7]
    draft.accept(begun(context), held)
    assert draft.price(begun(context)) == (2 if accepted == 5 else 1)
    assert draft.propose(begun(context, GREEDY), up_to(4)).tokens == written_alone(context, 4, GREEDY)


def test_a_draft_keeps_what_a_new_prompt_shares(draft: DraftModel) -> None:
    context = list(range(20))
    draft.propose(begun(context, GREEDY), up_to(2))
    edited = [*range(12), 5, 5, 5]
    draft.begin(begun(edited))
    assert list(draft.runner.tokens) == list(range(12))
    assert draft.price(begun(edited)) == 3
    assert draft.propose(begun(edited, GREEDY), up_to(3)).tokens == written_alone(edited, 3, GREEDY)


def test_a_draft_whose_context_would_overflow_says_so() -> None:
    draft = DraftModel(ToyRunner(context=100), 24)
    assert draft.price(begun([1] * (100 - MOST_DRAFTED))) == 100 - MOST_DRAFTED
    assert draft.price(begun([1] * (100 - MOST_DRAFTED + 1))) is None


def test_a_whole_round_fits_where_the_lag_says_that_it_does() -> None:
    draft = DraftModel(ToyRunner(context=100), 24)
    context = [1] * (100 - MOST_DRAFTED)
    assert len(draft.propose(begun(context, GREEDY), up_to(MOST_DRAFTED)).tokens) == MOST_DRAFTED


def test_a_wider_head_proposes_no_token_that_the_target_lacks() -> None:
    draft = DraftModel(ToyRunner(vocabulary=40), 10)
    context = [1, 2, 3]
    for seed in range(20):
        text = begun(context, Sampling(temperature=2.0, seed=seed))
        assert max(draft.propose(text, up_to(5)).tokens) < 10
        draft.accept(text, 0)


def test_a_draft_that_cannot_read_a_token_of_the_text_does_not_guess(caplog: pytest.LogCaptureFixture) -> None:
    draft = DraftModel(ToyRunner(vocabulary=10), 24)
    draft.begin(begun([1, 23, 3]))
    assert draft.price(begun([1, 23, 3])) is None
    assert "cannot read a token of the text" in caplog.text
    draft.begin(begun([1, 2, 3]))
    assert draft.price(begun([1, 2, 3])) == 3
    draft.accept(begun([1, 2, 3, 10]), 3)
    assert draft.price(begun([1, 2, 3, 10])) is None


def test_a_long_text_is_read_in_parts_and_can_be_cancelled_between_them() -> None:
    runner = CancellingRunner(context=4096)
    draft = DraftModel(runner, 24)
    context = [1, 2, 3, 4] * 200
    with pytest.raises(Interrupted):
        draft.propose(begun(context, GREEDY, runner.cancel), up_to(3))
    assert runner.calls == [PREFILL_CHUNK, PREFILL_CHUNK]
    runner.cancel.clear()
    assert draft.price(begun(context)) == len(context) - 2 * PREFILL_CHUNK
    proposal = draft.propose(begun(context, GREEDY), up_to(3))
    assert proposal.tokens == written_alone(context, 3, GREEDY)


class CancellingRunner(ToyRunner):
    """Is cancelled while it reads the second part."""

    cancel = CancelEvent()

    def forward(
        self,
        ids: abc.Sequence[int],
        branches: abc.Sequence[Branch] = (),
        rows: int = 1,
        cancel: CancelEvent | None = None,
    ) -> Logits:
        result = super().forward(ids, branches, rows, cancel)
        if len(self.calls) == 2:
            self.cancel.set()
        return result


def searched(read: abc.Sequence[int], length: int, after: abc.Sequence[int] = ()) -> Draft:
    """The latest place in what was read after the longest of the n-gram sizes that all ends with."""
    text = [*read, *after]
    end = len(text)
    for size in SIZES:
        for place in range(len(read) - 1, size - 1, -1):
            if list(text[place - size : place]) == list(text[end - size :]):
                return Draft(continued(text, place, length), match_length=agreement(text, place))
    return NO_DRAFT


def continued(text: abc.Sequence[int], place: int, length: int) -> tuple[int, ...]:
    """What follows `place`, and what was copied once the text ends."""
    extended = list(text)
    for step in range(length):
        extended.append(extended[place + step])
    return tuple(extended[len(text) :])


def agreement(text: abc.Sequence[int], place: int) -> int:
    """How many tokens before `place` are those before the end."""
    sizes = range(1, min(place, LONGEST_TOLD) + 1)
    return max(size for size in sizes if list(text[place - size : place]) == list(text[len(text) - size :]))


def up_to(count: int) -> WantsMore:
    """Draft this many."""
    return lambda draft: len(draft.tokens) < count


def begun(context: abc.Sequence[int], sampling: Sampling = GREEDY, cancel: CancelEvent | None = None) -> Sequence:
    """An answer with nothing but its prompt."""
    return Sequence(Job(tuple(context), 100, frozenset(), sampling, Speculation()), 4096, cancel)


def written_alone(context: abc.Sequence[int], count: int, sampling: Sampling) -> tuple[int, ...]:
    """What the toy writes token by token."""
    toy, sampler = ToyRunner(), Sampler(sampling, context)
    text = list(context)
    for _ in range(count):
        text.append(sampler.choose(toy.row(text), len(text)))
        sampler.commit(text[-1])
    return tuple(text[len(context) :])


def test_probabilities_are_those_of_the_draft_without_noise() -> None:
    context, sampling = [1, 2, 3], Sampling(temperature=0.8, top_k=6, seed=2)
    toy = ToyRunner()
    tolerant = Speculation(acceptance_threshold=0.5)
    text = Sequence(Job(tuple(context), 100, frozenset(), sampling, tolerant), 4096)
    proposal, sampler = DraftModel(ToyRunner(), 24).propose(text, up_to(4)), text.sampler
    rows = [toy.row([*context, *proposal.tokens[:place]]) for place in range(4)]
    expected = [sampler.probability(row, token) for row, token in zip(rows, proposal.tokens, strict=True)]
    assert proposal.probabilities == pytest.approx(expected)
    assert proposal.probabilities != pytest.approx(proposal.confidences)


def test_what_was_foretold_is_proposed_from_the_answer_s_first_token_on() -> None:
    drafter = NgramDrafter()
    drafter.read([1, 2, 3])
    drafter.foretell([7, 8, 9, 10])
    drafter.extend([7])
    assert drafter.look_up(5) == Draft((8, 9, 10), match_length=4)
    drafter.extend([0, 8, 9])
    assert drafter.look_up(5).tokens == (10,)
    drafter.extend([10])
    assert drafter.look_up(5) == NO_DRAFT
    drafter.foretell([])
    drafter.extend([7, 8])
    assert drafter.look_up(5) == NO_DRAFT


def test_a_longer_match_in_the_text_comes_before_what_was_foretold() -> None:
    drafter = NgramDrafter()
    drafter.read([1, 2, 3, 4, 5])
    drafter.foretell([3, 4, 9])
    drafter.extend([0, 1, 2, 3, 4])
    assert drafter.look_up(1).tokens == (5,)
    drafter.extend([6, 3, 4])
    assert drafter.look_up(1).tokens == (9,)
