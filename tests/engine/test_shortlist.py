"""A draft that guesses among fewer tokens: it alters nothing, misses only what is outside, and widens when it must."""

import dataclasses
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart import manifest
from headstart.engine import local, shortlist
from headstart.engine.drafters import DraftModel, WantsMore
from headstart.engine.engine import LoadOptions, Mode, Numerics, Origin, Sampling, Speculation
from headstart.engine.local import LocalEngine, load
from headstart.engine.runner import Logits
from headstart.engine.sampling import Ids, Row, Sampler
from headstart.engine.shortlist import RestHead, Shortlist
from headstart.errors import BrokenModelError
from tests.engine.answers import LIST, PLAIN, ask, drafter, forget, request
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


@pytest.fixture
def narrow(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> LocalEngine:
    """Never widens."""
    monkeypatch.setattr(shortlist, "_WIDEN", 2.0)
    drafter(engine).wide = False
    return engine


@any_sampling
@pytest.mark.parametrize("speculation", [Speculation(), FIXED], ids=["auto", "fixed"])
def test_a_trimmed_draft_alters_no_answer(engine: LocalEngine, sampling: Sampling, speculation: Speculation) -> None:
    plain = ask(forget(engine), request(LIST, sampling=sampling, speculation=PLAIN))
    assert ask(forget(engine), request(LIST, sampling=sampling, speculation=speculation)).essence == plain.essence


@any_sampling
def test_every_guess_inside_the_list_holds_and_none_outside(narrow: LocalEngine, sampling: Sampling) -> None:
    """The draft is the target, and noise belongs to the token: only tokens outside the list end a run of guesses."""
    assert narrow.draft is not None
    assert narrow.draft.kept is not None
    inside = set(narrow.draft.kept.tolist())
    given = ask(forget(narrow), request(LIST, sampling=sampling, speculation=FIXED, tokens=120))
    rounds = [step.round for step in given.steps if step.round.drafter is Origin.DRAFT]
    assert len(rounds) > 10
    for each in rounds:
        own = [token.id for token in each.tokens if token.origin is Origin.TARGET]
        assert all(token.id in inside for token in each.tokens if token.origin is Origin.DRAFT)
        if each.accepted < each.drafted and len(own) == 1:
            assert own[0] not in inside
    assert any(each.accepted < each.drafted for each in rounds)


@any_sampling
def test_once_widened_the_draft_guesses_every_token(engine: LocalEngine, sampling: Sampling) -> None:
    used = drafter(engine)
    used.follow([-1] * 256)
    assert used.wide
    used._rest.get()
    used._rest.wait()
    given = ask(forget(engine), request(LIST, sampling=sampling, speculation=FIXED, tokens=100))
    assert used.wide  # 240 of 640 tokens are outside
    assert given.stats.drafted == given.stats.accepted > 60


def test_text_of_other_tokens_widens_by_itself(engine: LocalEngine) -> None:
    used = drafter(engine)
    used.follow([int(used.ids[0])] * 256)
    assert not used.wide
    ask(forget(engine), request(LIST, speculation=FIXED, tokens=60))
    assert used.wide


@pytest.mark.parametrize(("rows", "kept"), [(None, LISTED), (50, 50), (500, 500), (9999, 500), (0, None)])
def test_as_many_rows_are_kept_as_were_asked_for(listed_draft: Path, rows: int | None, kept: int | None) -> None:
    ids = shortlist.read(listed_draft, manifest.read_model(listed_draft), rows)
    assert (None if ids is None else ids.size) == kept
    assert ids is None or (np.diff(ids) > 0).all()


def test_without_a_list_the_head_is_whole(tiny_draft: Path) -> None:
    assert shortlist.read(tiny_draft, manifest.read_model(tiny_draft), 100) is None


def test_a_list_of_all_tokens_trims_nothing(tiny_draft: Path, tmp_path: Path) -> None:
    folder = with_list(Path(shutil.copytree(tiny_draft, tmp_path / "all")), np.arange(624), 624)
    assert shortlist.read(folder, manifest.read_model(folder)) is None


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
        shortlist.read(folder, manifest.read_model(folder))


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
def test_a_draft_model_guesses_among_the_listed_until_it_is_wide(sampling: Sampling) -> None:
    runner, context = TrimmedToy(), [3, 1, 4]
    draft = DraftModel(runner, 24, Shortlist(KEPT, 24, RestHead(lambda: lambda: runner.last[OTHERS])))
    draft.begin(context)
    narrow = draft.propose(context, Sampler(sampling, context), up_to(8))
    assert set(narrow.tokens) <= set(KEPT.tolist())
    context += [int(token) for token in OTHERS[:10]]
    draft.settle(0)
    draft.propose(context, Sampler(sampling, context), up_to(1))  # asks for the rest of the head
    assert draft.shortlist is not None
    draft.shortlist._rest.wait()
    draft.settle(0)
    wide = draft.propose(context, Sampler(sampling, context), up_to(8))
    assert wide.tokens == DraftModel(ToyRunner(), 24).propose(context, Sampler(sampling, context), up_to(8)).tokens


def test_a_prompt_in_another_script_alone_does_not_widen() -> None:
    draft = DraftModel(TrimmedToy(), 24, Shortlist(KEPT, 24, RestHead(unavailable)))
    prompt = OTHERS.tolist()
    draft.begin(prompt)
    draft.propose([*prompt, 1], Sampler(GREEDY, prompt), up_to(2))
    assert draft.shortlist is not None
    assert not draft.shortlist.wide


def test_rare_words_do_not_widen_and_a_window_of_listed_tokens_narrows() -> None:
    listed = Shortlist(KEPT, 24, RestHead(unavailable))
    listed.follow([0, *[1] * 40])
    assert not listed.wide
    listed.follow([0])
    assert listed.wide  # two in less than 128
    listed.follow([1] * 210)
    assert listed.wide  # two in 252: below 1.5 %, but not below half of that
    listed.follow([1] * 60)
    assert not listed.wide


def test_tokens_that_the_target_lacks_are_cut() -> None:
    wide_head = Shortlist(KEPT, 10, RestHead(lambda: lambda: np.arange(17, dtype=np.float32)))
    row, ids = wide_head.scored(np.arange(7, dtype=np.float32))
    assert ids is not None
    assert (ids.tolist(), row.tolist()) == ([1, 2, 3, 5, 8], [0, 1, 2, 3, 4])
    wide_head.follow([0, 0])
    wide_head._rest.get()
    wide_head._rest.wait()
    row, ids = wide_head.scored(100 + np.arange(7, dtype=np.float32))
    assert ids is None
    assert row.tolist() == [0, 100, 101, 102, 1, 103, 2, 3, 104, 4]


def test_a_rest_that_cannot_be_made_is_done_without(caplog: pytest.LogCaptureFixture) -> None:
    listed = Shortlist(KEPT, 24, RestHead(unavailable))
    listed.follow([0] * 10)
    row = np.arange(7, dtype=np.float32)
    for _ in range(2):
        assert listed.scored(row)[1] is listed.ids
        listed._rest.wait()
    assert caplog.messages == ["the draft keeps to its shortlist: no memory"]


class TrimmedToy(ToyRunner):
    """Gives the logits of KEPT and remembers all of them."""

    last: Row

    def forward(self, ids: Sequence[int], rows: int = 1, cancel: threading.Event | None = None) -> Logits:
        logits = super().forward(ids, rows, cancel)
        self.last = logits[-1]
        return logits[:, KEPT]


def unavailable() -> Callable[[], Row]:
    """As where the memory is used up."""
    raise RuntimeError("no memory")


def up_to(count: int) -> WantsMore:
    """Draft this many."""
    return lambda _tokens, confidences: len(confidences) < count
