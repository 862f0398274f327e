"""Drafters: n-grams, a draft model, one that guesses among fewer tokens, and a table of usual words."""

import dataclasses
import json
import random
import shutil
import sys
import tracemalloc
from collections import abc
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters import table as usual_words
from headstart.engine.drafters.base import NO_DRAFT, Draft, ShouldContinue
from headstart.engine.drafters.draft_model import CHUNK, MAX_DRAFTED, DraftModel
from headstart.engine.drafters.ngram import NgramDrafter
from headstart.engine.drafters.table import Table, TableDrafter
from headstart.engine.engine import Drafter, LoadOptions, Mode, Origin, Sampling, Speculation, Timing
from headstart.engine.loading.loading import read_shortlist
from headstart.engine.loading.validation import Verdict, store_verdict
from headstart.engine.local import LocalEngine
from headstart.engine.policy import cost_model
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import RoundState
from headstart.engine.runners.precision import plain
from headstart.engine.runners.runner import Interrupted, Logits
from headstart.engine.sampling import Ids, Sampler
from headstart.engine.sequence import Sequence
from headstart.engine.speculative import Decoder
from headstart.errors import BrokenModelError
from headstart.library import manifest
from headstart_export import cli
from headstart_export import table as counting
from tests.engine.answers import LIST, PLAIN, ask, forget, load, request
from tests.engine.policy.rounds import copied, outcome, tokens
from tests.engine.test_exactness import TABLE, VOCABULARY, random_sequence, write
from tests.stand_ins.toy import ToyRunner

SIZES = (8, 6, 4, 3, 2)
LONGEST_TOLD = 32
# Few tokens, so that much repeats; of two, so that matches are long.
TEXTS = st.one_of(st.lists(st.integers(0, 3), max_size=60), st.lists(st.integers(0, 1), min_size=20, max_size=120))
GREEDY = Sampling()
WARM = Sampling(temperature=0.9, top_k=8, seed=5)


@settings(deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=4), TEXTS, st.integers(0, 60), st.integers(1, 11))
def test_ngrams_propose_the_latest_match(
    prompt: list[int], rounds: list[list[int]], rest: list[int], kept: int, length: int
) -> None:
    drafter, text = NgramDrafter(), list(prompt)
    drafter.read(prompt)
    for added in [[], *rounds]:
        drafter.extend(added)
        text += added
        assert drafter.look_up(length) == searched(text, length)
    drafter.read(text[:kept] + rest)
    assert drafter.look_up(length) == searched(text[:kept] + rest, length)


@settings(deadline=None)
@given(TEXTS, st.lists(st.integers(0, 3), min_size=1, max_size=16), st.integers(1, 15))
def test_ngrams_continue_drafted_tokens_without_keeping_them(text: list[int], guessed: list[int], length: int) -> None:
    drafter = NgramDrafter()
    drafter.read(text)
    assert drafter.look_up(length, guessed) == searched(text, length, guessed)
    assert drafter.look_up(length) == searched(text, length)


def test_ngram_index_takes_little_memory() -> None:
    text, drafter = random.Random(1).choices(range(50_000), k=10_000), NgramDrafter()
    tracemalloc.start()
    drafter.read(text)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken / len(text) < 300  # bytes a token; a tuple for each size of n-gram took 680


def count_lines(call: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


def test_ngram_lookup_reads_few_of_many_places() -> None:
    drafter = NgramDrafter()
    drafter.read([token for place in range(20_000) for token in (1, 2, 3 + place)])
    drafter.extend([1, 2])
    assert drafter.look_up(3).tokens[0] == 3 + 19_999
    assert count_lines(lambda: drafter.look_up(3)) < 2000


@pytest.fixture
def draft() -> DraftModel:
    """A draft model over a toy with the target's vocabulary."""
    return DraftModel(ToyRunner(), 24)


@pytest.mark.parametrize("sampling", [GREEDY, WARM])
def test_draft_proposes_what_it_would_write_alone(draft: DraftModel, sampling: Sampling) -> None:
    context = [3, 1, 4, 1, 5]
    proposal = draft.propose(begun(context, sampling), up_to(6))
    assert proposal.tokens == written_alone(context, 6, sampling)
    assert len(proposal.confidences) == 6
    assert all(0.0 < confidence <= 1.0 for confidence in proposal.confidences)


def test_draft_asks_before_each_token(draft: DraftModel) -> None:
    seen: list[int] = []

    def should_continue(draft: Draft) -> bool:
        seen.append(len(draft.tokens))
        return len(draft.tokens) < 3

    context = [3, 1, 4]
    assert len(draft.propose(begun(context), should_continue).tokens) == 3
    assert seen == [0, 1, 2, 3]
    draft.accept(begun(context), 0)
    assert draft.propose(begun(context), up_to(0)).tokens == ()


@pytest.mark.parametrize("accepted", range(6))
def test_draft_continues_after_any_number_of_accepted_tokens(draft: DraftModel, accepted: int) -> None:
    context = [3, 1, 4, 1, 5]
    guesses = draft.propose(begun(context), up_to(5)).tokens
    held = len(context) + accepted
    context = [*context, *guesses[:accepted], 7]
    draft.accept(begun(context), held)
    assert draft.uncached_tokens(begun(context)) == (2 if accepted == 5 else 1)
    assert draft.propose(begun(context), up_to(4)).tokens == written_alone(context, 4)


def test_draft_keeps_the_shared_prefix(draft: DraftModel) -> None:
    context = list(range(20))
    draft.propose(begun(context), up_to(2))
    edited = [*range(12), 5, 5, 5]
    draft.begin(begun(edited))
    assert list(draft.runner.tokens) == list(range(12))
    assert draft.uncached_tokens(begun(edited)) == 3
    assert draft.propose(begun(edited), up_to(3)).tokens == written_alone(edited, 3)


def test_draft_reads_head_and_end_of_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headstart.engine.drafters.draft_model.WINDOW", 40)
    monkeypatch.setattr("headstart.engine.drafters.draft_model.HEAD", 8)
    draft, prompt = DraftModel(ToyRunner(context=100), 24), random.Random(4).choices(range(24), k=300)
    text = begun(prompt)
    draft.begin(text)
    assert draft.uncached_tokens(text) == 40
    guessed = draft.propose(text, up_to(3)).tokens
    assert draft.runner.tokens[:40] == [*prompt[:8], *prompt[-32:]]
    text.write([*guessed[:2], 5])
    draft.accept(text, len(prompt) + 2)
    assert draft.uncached_tokens(text) == 1
    assert draft.runner.tokens == [*prompt[:8], *prompt[-32:], *guessed[:2]]
    longer = begun([*text.context, 7, 7, 7])  # the next question goes on with what was read
    draft.begin(longer)
    assert draft.uncached_tokens(longer) == 4
    other = begun(prompt[:30])
    draft.begin(other)
    assert draft.uncached_tokens(other) == 30 - 8
    draft.propose(other, up_to(1))
    assert draft.runner.tokens[:30] == prompt[:30]


def test_draft_prices_the_tokens_that_it_has_to_read() -> None:
    draft, most = DraftModel(ToyRunner(context=100), 24), 100 - MAX_DRAFTED
    assert draft.uncached_tokens(begun([1] * most)) == most
    assert len(draft.propose(begun([1] * most), up_to(MAX_DRAFTED)).tokens) == MAX_DRAFTED


def test_draft_goes_on_behind_its_own_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headstart.engine.drafters.draft_model.HEAD", 8)
    draft, rng = DraftModel(ToyRunner(context=100), 24), random.Random(4)
    text = begun(rng.choices(range(24), k=90))  # too long for a round
    draft.begin(text)
    assert draft.uncached_tokens(text) == 50
    for _ in range(30):
        assert draft.can_draft(text)
        assert len(draft.propose(text, up_to(2)).tokens) == 2
        text.write(rng.choices(range(24), k=3))
        draft.accept(text, len(text.context) - 3)
    assert draft.runner.tokens[:8] == list(text.context[:8])
    assert draft.runner.tokens[8:] == list(text.context[-3 - len(draft.runner.tokens[8:]) : -3])


def test_draft_with_passes_of_one_size_proposes_the_same() -> None:
    context, once, again = [3, 1, 4, 1, 5], DraftModel(ToyRunner(), 24), DraftModel(ToyRunner(), 24, reads=2)
    assert again.propose(begun(context), up_to(5)) == once.propose(begun(context), up_to(5))
    for held in (5, 8):
        for draft in (once, again):
            draft.accept(begun([*context, 9, 9, 9]), held)
        after = begun([*context, *once.runner.tokens[5:], 7])
        assert again.propose(after, up_to(3)) == once.propose(after, up_to(3))
    runner = again.runner
    assert isinstance(runner, ToyRunner)
    assert set(runner.calls[1:]) == {2}


def test_draft_with_a_wider_head_proposes_known_tokens() -> None:
    draft = DraftModel(ToyRunner(vocabulary=40), 10)
    context = [1, 2, 3]
    for seed in range(20):
        text = begun(context, Sampling(temperature=2.0, seed=seed))
        assert max(draft.propose(text, up_to(5)).tokens) < 10
        draft.accept(text, 0)


def test_draft_without_a_token_of_the_text_is_disabled(caplog: pytest.LogCaptureFixture) -> None:
    draft = DraftModel(ToyRunner(vocabulary=10), 24)
    draft.begin(begun([1, 23, 3]))
    assert not draft.can_draft(begun([1, 23, 3]))
    assert len(caplog.records) == 1
    draft.begin(begun([1, 2, 3]))
    assert draft.uncached_tokens(begun([1, 2, 3])) == 3
    draft.accept(begun([1, 2, 3, 10]), 3)
    assert not draft.can_draft(begun([1, 2, 3, 10]))


def test_draft_reads_a_long_text_in_chunks() -> None:
    runner = CancellingRunner(context=4096)
    draft = DraftModel(runner, 24)
    context = [1, 2, 3, 4] * CHUNK
    with pytest.raises(Interrupted):
        draft.propose(begun(context, GREEDY, runner.cancel), up_to(3))
    assert runner.calls == [CHUNK, CHUNK]
    runner.cancel.clear()
    assert draft.uncached_tokens(begun(context)) == len(context) - 2 * CHUNK
    proposal = draft.propose(begun(context), up_to(3))
    assert proposal.tokens == written_alone(context, 3)


class CancellingRunner(ToyRunner):
    """A runner that is cancelled while it reads the second part."""

    cancel = CancelEvent()

    def forward(self, *arguments: Any, **named: Any) -> Logits:
        result = super().forward(*arguments, **named)
        if len(self.calls) == 2:
            self.cancel.set()
        return result


def searched(read: abc.Sequence[int], length: int, after: abc.Sequence[int] = ()) -> Draft:
    """Reference search: return the last position after the longest n-gram that the text ends with."""
    text = [*read, *after]
    end = len(text)
    for size in SIZES:
        for place in range(len(read) - 1, size - 1, -1):
            if list(text[place - size : place]) == list(text[end - size :]):
                return Draft(continued(text, place, length), match_length=agreement(text, place))
    return NO_DRAFT


def continued(text: abc.Sequence[int], place: int, length: int) -> tuple[int, ...]:
    """Return the tokens after `place`; past the end, the copied ones again."""
    extended = list(text)
    for step in range(length):
        extended.append(extended[place + step])
    return tuple(extended[len(text) :])


def agreement(text: abc.Sequence[int], place: int) -> int:
    """Return how many tokens before `place` equal those before the end."""
    sizes = range(1, min(place, LONGEST_TOLD) + 1)
    return max(size for size in sizes if list(text[place - size : place]) == list(text[len(text) - size :]))


def up_to(count: int) -> ShouldContinue:
    return lambda draft: len(draft.tokens) < count


def begun(context: abc.Sequence[int], sampling: Sampling = GREEDY, cancel: CancelEvent | None = None) -> Sequence:
    """Return an answer that has only its prompt."""
    return Sequence(tuple(context), 100, frozenset(), sampling, Speculation(), 4096, cancel=cancel or CancelEvent())


def written_alone(context: abc.Sequence[int], count: int, sampling: Sampling = GREEDY) -> tuple[int, ...]:
    """Return the tokens that the toy writes one by one."""
    toy, sampler = ToyRunner(), Sampler(sampling, context)
    text = list(context)
    for _ in range(count):
        text.append(sampler.choose(toy.row(text), len(text)))
        sampler.commit(text[-1])
    return tuple(text[len(context) :])


def test_confidences_are_probabilities_without_noise() -> None:
    context, sampling = [1, 2, 3], Sampling(temperature=0.8, top_k=6, seed=2)
    toy = ToyRunner()
    tolerant = Speculation(acceptance_threshold=0.5)
    text = Sequence(tuple(context), 100, frozenset(), sampling, tolerant, 4096)
    proposal, sampler = DraftModel(ToyRunner(), 24).propose(text, up_to(4)), text.sampler
    rows = [toy.row([*context, *proposal.tokens[:place]]) for place in range(4)]
    expected = [sampler.probability(row, token) for row, token in zip(rows, proposal.tokens, strict=True)]
    assert proposal.probabilities == pytest.approx(expected)
    assert proposal.probabilities != pytest.approx(proposal.confidences)


def test_prediction_is_proposed_from_the_first_token() -> None:
    drafter = NgramDrafter()
    drafter.read([1, 2, 3])
    drafter.predict([7, 8, 9, 10])
    drafter.extend([7])
    assert drafter.look_up(5) == Draft((8, 9, 10), match_length=4)
    drafter.extend([0, 8, 9])
    assert drafter.look_up(5).tokens == (10,)
    drafter.extend([10])
    assert drafter.look_up(5) == NO_DRAFT
    drafter.predict([])
    drafter.extend([7, 8])
    assert drafter.look_up(5) == NO_DRAFT


def test_longer_match_comes_before_the_prediction() -> None:
    drafter = NgramDrafter()
    drafter.read([1, 2, 3, 4, 5])
    drafter.predict([3, 4, 9])
    drafter.extend([0, 1, 2, 3, 4])
    assert drafter.look_up(1).tokens == (5,)
    drafter.extend([6, 3, 4])
    assert drafter.look_up(1).tokens == (9,)


LISTED = 400  # of 624 rows
FIXED = Speculation(Mode.FIXED, 5)
PENALISED = Sampling(temperature=0.7, repetition_penalty=1.3, frequency_penalty=0.2, seed=3)
CUT = Sampling(temperature=1.2, top_k=5, top_p=0.9, min_p=0.02, seed=11)
any_sampling = pytest.mark.parametrize("sampling", [GREEDY, WARM, PENALISED], ids=["greedy", "warm", "penalised"])
KEPT: Ids = np.array([1, 2, 3, 5, 8, 13, 21])
OTHERS: Ids = np.setdiff1d(np.arange(24), KEPT)


@pytest.fixture(scope="module")
def listed_draft(tiny_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The target itself as a draft, with a list of some of its tokens."""
    folder = tmp_path_factory.mktemp("listed") / "draft"
    shutil.copytree(tiny_target, folder)
    ranked = np.random.default_rng(4).permutation(640)[: LISTED + 100].astype(np.int32)
    return with_list(folder, ranked, LISTED)


def with_list(folder: Path, ranked: Any, rows: int) -> Path:
    """Add a list of tokens to a model folder."""
    np.save(folder / "draft_vocab.npy", ranked)
    described = dataclasses.replace(
        manifest.read_model(folder),
        files=manifest.hash_files(folder),
        shortlist=manifest.Shortlist("draft_vocab.npy", rows),
    )
    manifest.write(folder, described)
    return folder


@pytest.fixture(scope="module")
def engine(tiny_target: Path, listed_draft: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    """The target with itself as a trimmed draft."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_HOME", str(tmp_path_factory.mktemp("home")))
        with closing(load(LoadOptions(tiny_target, listed_draft))) as loaded:
            yield loaded


@any_sampling
@pytest.mark.parametrize("speculation", [Speculation(), FIXED], ids=["auto", "fixed"])
def test_trimmed_draft_changes_no_answer(engine: LocalEngine, sampling: Sampling, speculation: Speculation) -> None:
    plain = ask(forget(engine), request(LIST, sampling=sampling, speculation=PLAIN))
    assert ask(forget(engine), request(LIST, sampling=sampling, speculation=speculation)).essence == plain.essence


@any_sampling
def test_draft_vocab_bounds_the_guesses(engine: LocalEngine, sampling: Sampling) -> None:
    """The draft is the target, and noise belongs to the token: only tokens outside the list end a run of guesses."""
    assert engine.draft is not None
    assert engine.draft.draft_vocab is not None
    inside = set(engine.draft.draft_vocab.tolist())
    given = ask(forget(engine), request(LIST, sampling=sampling, speculation=FIXED, tokens=120))
    rounds = [step.round for step in given.steps if step.round.drafter is Origin.DRAFT]
    assert len(rounds) > 10
    for each in rounds:
        own = [token.id for token in each.tokens if token.origin is Origin.TARGET]
        assert all(token.id in inside for token in each.tokens if token.origin is Origin.DRAFT)
        if each.accepted < each.drafted and len(own) == 1:
            assert own[0] not in inside
    assert any(each.accepted < each.drafted for each in rounds)


@pytest.mark.parametrize(("first_ms", "most"), [(300.0, 100.0), (9000.0, 9000.0)])  # the second: busy just then
def test_trial_with_all_rows_prices_a_trimmed_head(
    tiny_target: Path, listed_draft: Path, headstart_home: Path, first_ms: float, most: float
) -> None:
    options = LoadOptions(tiny_target, listed_draft)
    times = {size: 300.0 + 20.0 * size for size in cost_model.SIZES} | {1: first_ms}
    with closing(load(options)) as loaded:
        shutil.rmtree(headstart_home / "measured")
        for model in loaded.slot.models.all:
            store_verdict(model.measurements, plain(), Verdict(ms=times, switch_ms=5.0))
    with closing(load(options)) as loaded:
        assert 0.0 < loaded.policy.costs.model(Origin.DRAFT).ms(1) < most


@pytest.mark.parametrize(("rows", "kept"), [(None, LISTED), (50, 50), (500, 500), (9999, 500), (0, None)])
def test_draft_vocab_has_the_requested_size(listed_draft: Path, rows: int | None, kept: int | None) -> None:
    ids = read_shortlist(manifest.ModelSpec.read(listed_draft), rows)
    assert (None if ids is None else ids.size) == kept
    assert ids is None or (np.diff(ids) > 0).all()


@pytest.mark.parametrize(
    ("ranked", "fault"),
    [
        (np.array([1, 2, 2]), "names a token twice"),
        *((np.array([1, outside]), "names a token outside the model's 624") for outside in (-1, 624)),
        *((np.array(no_list), "is not a list of token ids") for no_list in ([[1, 2]], [], [0.5], ["a"])),
        (np.array([None, {}], object), "cannot be read"),
    ],
)
def test_unfit_draft_vocab_is_refused(tiny_draft: Path, tmp_path: Path, ranked: Any, fault: str) -> None:
    folder = with_list(Path(shutil.copytree(tiny_draft, tmp_path / "wrong")), ranked, 2)
    with pytest.raises(BrokenModelError, match=f"The list of draft tokens in .* {fault}.*export the model again"):
        read_shortlist(manifest.ModelSpec.read(folder))


@pytest.mark.parametrize("sampling", [GREEDY, WARM, PENALISED, CUT], ids=["greedy", "warm", "penalised", "cut"])
def test_row_of_a_draft_vocab_equals_the_masked_row(sampling: Sampling) -> None:
    """The slow reference gives other tokens no probability."""
    context = [1, 5, 5, 7]
    for seed in range(50):
        row = np.random.default_rng(seed).normal(0.0, 2.0, 24).astype(np.float32)
        without = row.copy()
        without[OTHERS] = -1e6
        sampler = Sampler(sampling, context)
        sampler.commit(8)
        sparse, full = sampler.guess(row[KEPT], seed, [3, 7], KEPT), sampler.guess(without, seed, [3, 7])
        assert sparse.token == full.token
        assert sparse.confidence == pytest.approx(full.confidence, rel=1e-5)
        chance = sampler.probability(row[KEPT], sparse.token, [3, 7], KEPT)
        assert chance == pytest.approx(sampler.probability(without, full.token, [3, 7]), rel=1e-5)


@any_sampling
def test_draft_guesses_within_its_vocab(sampling: Sampling) -> None:
    """A text of other tokens alters nothing, neither for itself nor for the next one."""
    draft, text = DraftModel(TrimmedToy(), 24, KEPT), [3, 1, 4]
    given = begun(text, sampling)
    draft.begin(given)
    first = draft.propose(given, up_to(8))
    foreign = begun(text + [int(token) for token in OTHERS[:10]], sampling)
    draft.accept(given, 0)
    draft.begin(foreign)
    draft.propose(foreign, up_to(8))
    draft.accept(given, 0)
    draft.begin(given)
    again = draft.propose(given, up_to(8))
    assert set(first.tokens) <= set(KEPT.tolist())
    assert again == first


def test_tokens_without_a_place_in_the_target_are_cut() -> None:
    listed = DraftModel(TrimmedToy(), 10, KEPT).draft_vocab
    assert listed is not None
    assert listed.tolist() == [1, 2, 3, 5, 8]


class TrimmedToy(ToyRunner):
    """A toy that gives the logits of KEPT."""

    def forward(self, *arguments: Any, **named: Any) -> Logits:
        return super().forward(*arguments, **named)[:, KEPT]


TEXT = "the licence shall apply to the work. " * 30


def offered(held: int = 2) -> dict[str, Draft]:
    return {Origin.TABLE: Draft(tokens(2, right=held), (0.95, 0.9))}


OFFERED = RoundState(context=100, remaining=200, free_drafts=offered())


@pytest.fixture
def model(tiny_target: Path, tmp_path: Path) -> Path:
    """A model folder with a table of TEXT, made by the command."""
    folder, text = tmp_path / "model", tmp_path / "words.txt"
    shutil.copytree(tiny_target, folder)
    text.write_text(TEXT, encoding="utf-8")
    assert cli.main(["table", "--model", str(folder), "--text", str(text)]) == 0
    return folder


def rewrite(folder: Path, **columns: Any) -> None:
    path = folder / manifest.TABLE_FILE
    with np.load(path) as stored:
        parts = dict(stored)
    np.savez(path, **(parts | columns))


def columns(entries: dict[tuple[int, ...], tuple[int, int, int]]) -> dict[str, Any]:
    """Return the columns of a table from contexts, each with the next token, its count, and the count of any."""
    rows = sorted((manifest.table_key(before), *after) for before, after in entries.items())
    keys, tokens, hits, seen = zip(*rows, strict=True)
    types = {"keys": np.uint64, "tokens": np.int32, "hits": np.uint16, "seen": np.uint16}
    return {name: np.array(column, types[name]) for name, column in zip(types, (keys, tokens, hits, seen), strict=True)}


def a_table(entries: dict[tuple[int, ...], tuple[int, int, int]]) -> TableDrafter:
    """Return a drafter over a table with these entries."""
    return TableDrafter(Table(columns(entries)))


def play(policy: Policy, rounds: int, held: int, cost_ms: float = 0.0) -> list[str]:
    """Play rounds in which `held` of the offered tokens are accepted. Return who drafted."""
    drafters = []
    for _ in range(rounds):
        plan = policy.plan(replace(OFFERED, free_drafts=offered(held)))
        drafters.append(plan.drafter)
        found = min(held, plan.limit)
        timing = Timing(verify_ms=Curve(TABLE).ms(1 + plan.limit) + (cost_ms if plan.limit else 0.0))
        policy.observe(outcome(plan, plan.limit, found, ms=timing))
    return drafters


def a_policy(speculation: Speculation | None = None) -> Policy:
    policy = Policy(Costs(Curve(TABLE, switch_ms=0.0)))
    policy.begin_answer(speculation or Speculation())
    return policy


class TestTable:
    """Tables of n-grams as they are built and read."""

    def test_table_offers_and_chains_what_the_corpus_repeats(self, model: Path) -> None:
        described = manifest.read_model(model)
        assert not manifest.damaged_files(model, described, hashes=True)
        table = usual_words.read(model, described)
        assert table is not None
        ids = next(counting._tokenized(model, iter([TEXT]))).tolist()
        chain = TableDrafter(table).look_up(ids[:40], 4)
        assert chain.tokens == tuple(ids[40:44])
        assert min(chain.confidences) > 0.5

    def test_table_is_replaced_by_the_next_build(self, model: Path, tmp_path: Path) -> None:
        more = tmp_path / "more"
        more.mkdir()
        (more / "a.md").write_text(TEXT + "another work " * 9, encoding="utf-8")
        (more / "b.bin").write_bytes(b"\xff\xfe\xff")
        before = manifest.read_model(model).files[manifest.TABLE_FILE]
        assert cli.main(["table", "--model", str(model), "--text", str(more)]) == 0
        assert manifest.read_model(model).files[manifest.TABLE_FILE] != before
        table = usual_words.read(model, manifest.read_model(model))
        assert table is not None
        for text in (TEXT, "another work " * 9):  # both are known
            ids = next(counting._tokenized(model, iter([text]))).tolist()
            assert TableDrafter(table).look_up(ids[:20], 2).tokens == tuple(ids[20:22])

    def test_table_chain_ends_where_nothing_is_known(self) -> None:
        table = a_table({(1,): (2, 3, 5), (7, 1): (3, 9, 9), (1, 3): (4, 8, 9), (8, 7, 1): (5, 1, 1)})
        assert table.look_up([7, 1], 8).tokens == (3, 4)
        assert table.look_up([7, 1], 8).confidences == (0.9, 0.8)
        assert table.look_up([8, 7, 1], 8).tokens == (5,)
        assert table.look_up([9, 9, 1], 8).tokens == (2,)
        assert table.look_up([1], 8).tokens == (2,)
        assert table.look_up([7, 1], 1).tokens == (3,)
        assert table.look_up([4], 8).tokens == ()
        assert table.look_up([], 8).tokens == ()

    def test_table_counts_in_parts_as_at_once(self) -> None:
        rng = np.random.default_rng(3)
        pieces = [rng.integers(0, 4, 400) for _ in range(2)]
        once = counting.count(pieces)
        twice = counting.count(pieces[1:], counting.count(pieces[:1]))
        assert twice["keys"].tolist() == once["keys"].tolist()
        assert twice["seen"].tolist() == once["seen"].tolist()  # of hits, those of the other tokens are forgotten
        assert (twice["hits"] <= once["hits"]).all()

    def test_table_keeps_its_most_telling_entries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(counting, "MAX_ENTRIES", 4)
        often, once = np.array([1, 2, 3, 4] * 20), np.array([9, 8, 7, 6, 5])
        kept = counting.count([often, once])
        found = dict(zip(kept["keys"].tolist(), kept["hits"].tolist(), strict=True))
        best = [manifest.table_key(context) for context in ([3], [2, 3], [1, 2, 3])]
        (last,) = set(found) - set(best)
        assert last > manifest.table_key([9, 9, 9]) >> manifest.TABLE_BITS  # three tokens, which say more than fewer
        assert found.pop(last) == 19
        assert found == dict.fromkeys(best, 20)

    def test_table_acceptance_is_the_share_of_runs(self) -> None:
        known = columns({(1,): (2, 9, 9), (2,): (3, 9, 9), (3,): (4, 9, 9)})
        held, broken = np.array([0, 0, 1, 2, 3, 4]), np.array([0, 0, 1, 2, 9, 9])
        unknown = np.array([0, 0, 5, 2, 3, 4])
        assert counting.acceptance(known, [held, broken, unknown, held[:4]]) == ((2 / 3, 0.5, 1.0), 3)

    def test_older_table_of_pairs_is_ignored(self, tiny_target: Path, tmp_path: Path) -> None:
        folder = tmp_path / "older"
        shutil.copytree(tiny_target, folder)
        (folder / "bigram.npz").write_bytes(b"pairs")
        described = manifest.read_model(folder)
        listed = {"bigram.npz": manifest.File(manifest.hash_file(folder / "bigram.npz"), 5)}
        manifest.write(folder, replace(described, files={**described.files, **listed}))
        data = json.loads((folder / manifest.FILE_NAME).read_text(encoding="utf-8"))
        del data["table"]
        (folder / manifest.FILE_NAME).write_text(json.dumps(data), encoding="utf-8")
        described = manifest.read_model(folder)
        assert described.table is None
        assert usual_words.read(folder, described) is None
        assert not manifest.damaged_files(folder, described, hashes=True)

    def test_table_is_removed(self, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["table", "--model", str(model), "--remove"]) == 0
        assert capsys.readouterr().out == f"{model / manifest.TABLE_FILE}\n"
        described = manifest.read_model(model)
        assert usual_words.read(model, described) is None
        assert not manifest.damaged_files(model, described, hashes=True)
        assert not (model / manifest.TABLE_FILE).exists()
        assert cli.main(["table", "--model", str(model), "--remove"]) == 1
        assert "--text" in capsys.readouterr().err


class TestRefusals:
    """Errors of the command that builds a table."""

    def test_table_of_another_vocabulary_is_refused(self, model: Path) -> None:
        described = manifest.read_model(model)
        other = replace(described, tokenizer=replace(described.tokenizer, fingerprint="0"))
        with pytest.raises(BrokenModelError, match=r"was built for another vocabulary .*; export the model again"):
            usual_words.read(model, other)

    @pytest.mark.parametrize(
        "columns",
        [
            {**columns({(1,): (2, 1, 1), (2,): (2, 1, 1)}), "keys": np.array([2, 1], np.uint64)},
            columns({(1,): (640, 1, 1)}),
            columns({(1,): (2, 2, 1)}),
            {"tokens": np.zeros(3, np.int32)},
            {"hits": np.zeros(3)},
            {"header": np.frombuffer(b"{}", np.uint8)},
            {"header": np.frombuffer(b"no", np.uint8)},
            {"keys": np.array([{}], object)},
        ],
    )
    def test_table_with_unfit_columns_is_refused(self, model: Path, columns: dict[str, Any]) -> None:
        rewrite(model, **columns)
        with pytest.raises(BrokenModelError, match=r"is damaged .*; export the model again"):
            usual_words.read(model, manifest.read_model(model))

    def test_truncated_table_is_refused(self, model: Path) -> None:
        path = model / manifest.TABLE_FILE
        path.write_bytes(path.read_bytes()[:200])
        with pytest.raises(BrokenModelError, match="is damaged"):
            usual_words.read(model, manifest.read_model(model))
        assert manifest.damaged_files(model, manifest.read_model(model), hashes=False)

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [(b"it", "too short"), (b"\xff\xfe\xff", "is not UTF-8"), (None, "cannot be read")],
    )
    def test_table_without_useful_texts_is_refused(
        self, tiny_target: Path, tmp_path: Path, text: bytes | None, sentence: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path, output = tmp_path / "text", tmp_path / "table.npz"
        if text is not None:
            path.write_bytes(text)
        words = ["table", "--model", str(tiny_target), "--text", str(path), "--output", str(output)]
        assert cli.main(words) == 1
        assert sentence in capsys.readouterr().err.splitlines()[-1]
        assert not output.exists()


@pytest.mark.parametrize(("sharing", "guesser"), [(1, Origin.DRAFT), (2, Origin.HEAD)])
def test_draft_model_guesses_for_one_answer_and_head_for_several(
    sharing: int, guesser: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = ToyRunner(VOCABULARY, 4096, 3)
    monkeypatch.setattr(target, "sharing", sharing)
    draft, head = (DraftModel(ToyRunner(VOCABULARY, 4096, 3, 0.7), VOCABULARY) for _ in range(2))
    monkeypatch.setattr(head, "name", Origin.HEAD)
    monkeypatch.setattr(head, "can_share", True)
    price = Curve({1: 20.0})
    decoder = Decoder(target, [draft, head], Policy(Costs(Curve(TABLE), {Origin.DRAFT: price, Origin.HEAD: price})))
    answer = Sequence((1, 2, 3), 40, frozenset(), Sampling(0.0), Speculation(Mode.FIXED, 3), 4096)
    _, rounds, _ = write(decoder, answer)
    assert {done.drafter for done in rounds if done.drafted} == {guesser}


class TestPolicy:
    """Free guesses where nobody else offers, and never at a loss."""

    def test_right_table_is_used(self) -> None:
        assert play(a_policy(), 60, held=2)[-20:] == [Origin.TABLE] * 20

    def test_wrong_table_stays_unused_in_the_next_run(self) -> None:
        policy = a_policy()
        drafters = play(policy, 300, held=0)
        assert policy.ledger_ms > -TABLE[1]  # less than a plain step in 300
        assert Origin.TABLE not in drafters[-100:]
        kept = Policy.from_json(json.loads(json.dumps(policy.to_json())))
        assert kept is not None
        assert Origin.TABLE not in play(kept, 30, held=0)

    def test_drafter_option_excludes_the_table(self) -> None:
        for drafter in (Drafter.DRAFT, Drafter.NGRAM):
            assert Origin.TABLE not in play(a_policy(Speculation(drafter=drafter)), 40, held=2)
        alone = a_policy(Speculation(drafter=Drafter.TABLE))
        both = replace(OFFERED, free_drafts=copied(8, 8) | offered(), uncached_tokens={Origin.DRAFT: 1})
        assert alone.plan(both).drafter == Origin.TABLE
        assert a_policy().plan(both).drafter != Origin.TABLE


def tables(target: ToyRunner, rng: random.Random) -> abc.Sequence[TableDrafter]:
    """Return a table of the target's likeliest continuations, and an empty one."""
    pairs = [(a, b) for a in range(VOCABULARY) for b in range(VOCABULARY)]
    known = a_table({pair: (int(np.argmax(target.row([*pair]))), 9, 9) for pair in pairs})
    wrong = a_table({(token,): (rng.randrange(VOCABULARY), 99, 99) for token in range(VOCABULARY)})
    return known, wrong


@pytest.mark.parametrize("trial", range(12))
def test_table_changes_no_token(trial: int) -> None:
    rng = random.Random(trial)
    answer = random_sequence(rng, PLAIN)
    guessed = 0
    for table in tables(ToyRunner(VOCABULARY, 4096, 3), rng):
        decoder = Decoder(ToyRunner(VOCABULARY, 4096, 3), [NgramDrafter(), table], Policy(Costs(Curve(TABLE))))
        plain = write(decoder, answer)[0::2]
        for mode in (Mode.AUTO, Mode.FIXED):
            speculation = Speculation(mode, 3, drafter=rng.choice([Drafter.ANY, Drafter.TABLE]))
            written, rounds, reason = write(decoder, replace(answer, speculation=speculation))
            assert (written, reason) == plain
            guessed += sum(done.drafter is Origin.TABLE for done in rounds)
    assert guessed or len(plain[0]) < 8
