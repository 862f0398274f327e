"""A draft that guesses among fewer tokens: it alters nothing, and misses only what is outside."""

import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart import manifest
from headstart.engine import local
from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.draft_model import DraftModel
from headstart.engine.engine import LoadOptions, Mode, Numerics, Origin, Sampling, Speculation
from headstart.engine.loading import read_shortlist
from headstart.engine.local import LocalEngine, load
from headstart.engine.runners.runner import Branch, Logits
from headstart.engine.sampling import Ids, Sampler
from headstart.errors import BrokenModelError
from tests.engine.answers import LIST, PLAIN, ask, forget, request
from tests.engine.test_drafters import begun, up_to
from tests.toy import ToyRunner

LISTED = 400  # of 624 rows
FIXED = Speculation(Mode.FIXED, 5)
GREEDY, WARM = Sampling(), Sampling(temperature=0.8, seed=7)
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
    """Add a list to a model folder."""
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
    """The target with itself as a trimmed draft, both in exact numerics."""
    usual = local.draft_place
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(local, "draft_place", lambda *given: dataclasses.replace(usual(*given), numerics=Numerics.EXACT))
        with closing(load(LoadOptions(tiny_target, listed_draft, numerics=Numerics.EXACT))) as loaded:
            yield loaded


@any_sampling
@pytest.mark.parametrize("speculation", [Speculation(), FIXED], ids=["auto", "fixed"])
def test_a_trimmed_draft_alters_no_answer(engine: LocalEngine, sampling: Sampling, speculation: Speculation) -> None:
    plain = ask(forget(engine), request(LIST, sampling=sampling, speculation=PLAIN))
    assert ask(forget(engine), request(LIST, sampling=sampling, speculation=speculation)).essence == plain.essence


@any_sampling
def test_every_guess_inside_the_list_holds_and_none_outside(engine: LocalEngine, sampling: Sampling) -> None:
    """The draft is the target, and noise belongs to the token: only tokens outside the list end a run of guesses."""
    assert engine.draft is not None
    assert engine.draft.kept is not None
    inside = set(engine.draft.kept.tolist())
    given = ask(forget(engine), request(LIST, sampling=sampling, speculation=FIXED, tokens=120))
    rounds = [step.round for step in given.steps if step.round.drafter is Origin.DRAFT]
    assert len(rounds) > 10
    for each in rounds:
        own = [token.id for token in each.tokens if token.origin is Origin.TARGET]
        assert all(token.id in inside for token in each.tokens if token.origin is Origin.DRAFT)
        if each.accepted < each.drafted and len(own) == 1:
            assert own[0] not in inside
    assert any(each.accepted < each.drafted for each in rounds)


@pytest.mark.parametrize(("rows", "kept"), [(None, LISTED), (50, 50), (500, 500), (9999, 500), (0, None)])
def test_as_many_rows_are_kept_as_were_asked_for(listed_draft: Path, rows: int | None, kept: int | None) -> None:
    ids = read_shortlist(listed_draft, manifest.read_model(listed_draft), rows)
    assert (None if ids is None else ids.size) == kept
    assert ids is None or (np.diff(ids) > 0).all()


def test_without_a_list_the_head_is_whole(tiny_draft: Path) -> None:
    assert read_shortlist(tiny_draft, manifest.read_model(tiny_draft), 100) is None


def test_a_list_of_all_tokens_trims_nothing(tiny_draft: Path, tmp_path: Path) -> None:
    folder = with_list(Path(shutil.copytree(tiny_draft, tmp_path / "all")), np.arange(624), 624)
    assert read_shortlist(folder, manifest.read_model(folder)) is None


@pytest.mark.parametrize(
    ("ranked", "fault"),
    [
        (np.array([1, 2, 2]), "names a token twice"),
        (np.array([1, 624]), "names a token outside the model's 624"),
        (np.array([-1, 3]), "names a token outside the model's 624"),
        (np.array([[1, 2]]), "is not a list of token ids"),
        (np.array([]), "is not a list of token ids"),
        (np.array([0.5]), "is not a list of token ids"),
        (np.array(["a"]), "is not a list of token ids"),
        (np.array([None, {}], object), "cannot be read"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(tiny_draft: Path, tmp_path: Path, ranked: Any, fault: str) -> None:
    folder = with_list(Path(shutil.copytree(tiny_draft, tmp_path / "wrong")), ranked, 2)
    with pytest.raises(BrokenModelError, match=f"The list of draft tokens in .* {fault}.*export the model again"):
        read_shortlist(folder, manifest.read_model(folder))


def test_a_list_that_is_missing_or_altered_stops_the_loading(tiny_target: Path, listed_draft: Path) -> None:
    content = (listed_draft / "draft_vocab.npy").read_bytes()
    try:
        (listed_draft / "draft_vocab.npy").write_bytes(content[:-4] + b"\0\0\0\0")
        with pytest.raises(BrokenModelError, match=r"draft_vocab\.npy does not have the content"):
            load(LoadOptions(tiny_target, listed_draft))
        (listed_draft / "draft_vocab.npy").unlink()
        with pytest.raises(BrokenModelError, match=r"draft_vocab\.npy is missing"):
            load(LoadOptions(tiny_target, listed_draft))
    finally:
        (listed_draft / "draft_vocab.npy").write_bytes(content)


@pytest.mark.parametrize("sampling", [GREEDY, WARM, PENALISED, CUT], ids=["greedy", "warm", "penalised", "cut"])
def test_a_row_of_some_tokens_gives_what_a_row_without_the_others_gives(sampling: Sampling) -> None:
    """The slow way to leave tokens out: no probability."""
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
def test_a_draft_model_guesses_among_the_listed_whatever_it_read_before(sampling: Sampling) -> None:
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


def test_tokens_that_the_target_lacks_are_cut() -> None:
    listed = DraftModel(TrimmedToy(), 10, KEPT).listed
    assert listed is not None
    assert listed.tolist() == [1, 2, 3, 5, 8]


class TrimmedToy(ToyRunner):
    """Gives the logits of KEPT."""

    def forward(
        self, ids: Sequence[int], branches: Sequence[Branch] = (), rows: int = 1, cancel: CancelEvent | None = None
    ) -> Logits:
        return super().forward(ids, branches, rows, cancel)[:, KEPT]
