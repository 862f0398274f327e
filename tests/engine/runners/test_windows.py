"""Texts of a model with a sliding window, whose old keys and values are not kept: the bits of one that keeps them."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Keep, KvPrecision
from headstart.engine.kernels import fusion
from headstart.engine.kernels.library import BLOCK
from headstart.engine.kernels.windows import BACK, kept_tokens
from headstart.engine.prefix_cache import PartFiles, PrefixCache
from headstart.engine.runners.paged import BranchingRunner, PagedRunner
from headstart.engine.runners.passes import Pass
from headstart.engine.runners.precision import OWN, properties
from headstart.engine.runners.runner import Branch, Interrupted, Logits, common_prefix
from tests.conftest import KERNEL_SOURCES, proven_once, sources_of

CONTEXT, WINDOW = 900, 24
KEEP = Keep("chat", 2**30)


@pytest.fixture(scope="module")
def windowed(tiny_models: Path) -> Path:
    return tiny_models / "windowed"


def load(folder: Path, kv: KvPrecision = KvPrecision.AUTO, sequences: int = 1) -> BranchingRunner:
    runner = BranchingRunner.load(folder, "CPU", properties(OWN, kv), CONTEXT, sequences=sequences)
    assert runner.model.windows is not None
    assert runner.model.windows.window == WINDOW
    return runner


@pytest.fixture(scope="module", params=[KvPrecision.AUTO, KvPrecision.U8])
def pair(request: pytest.FixtureRequest, windowed: Path) -> tuple[BranchingRunner, BranchingRunner]:
    """A runner of two sequences, and one that keeps all of its text."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fusion, "Windows", lambda _widest: None)
        keeping = BranchingRunner.load(windowed, "CPU", properties(OWN, request.param), CONTEXT)
    assert keeping.model.windows is None
    return load(windowed, request.param, sequences=2), keeping


def used(runner: PagedRunner) -> int:
    assert runner.model.windows is not None
    return runner.model.windows.used


def ids_of(count: int, seed: int) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(3, 600, count)]


@pytest.mark.parametrize("count", [3, 64])
def test_long_text_takes_the_memory_of_its_window(windowed: Path, count: int) -> None:
    runner, ids = load(windowed), ids_of(CONTEXT, 1)
    for start in range(0, CONTEXT - count, count):
        runner.forward(ids[start : start + count])
        assert used(runner) * BLOCK <= WINDOW + BACK + 3 * BLOCK + count
    assert used(runner) * BLOCK < 0.3 * CONTEXT
    assert kept_tokens(WINDOW, count) > used(runner) * BLOCK


def read(runner: PagedRunner, ids: Sequence[int]) -> Logits:
    """The logits of a text from nothing."""
    runner.rollback(0)
    return runner.forward(ids).copy()


def write(runner: PagedRunner, ids: Sequence[int]) -> None:
    runner.rollback(0)
    for start in range(0, len(ids), 50):
        runner.forward(ids[start : start + 50])


@pytest.mark.parametrize("place", [850, 820, 400, 31, 1])
@pytest.mark.parametrize("held", [(), (400, 800)])
def test_text_goes_on_at_any_place(
    pair: tuple[BranchingRunner, BranchingRunner], place: int, held: tuple[int, ...]
) -> None:
    (runner, keeping), ids = pair, ids_of(850, 1)
    runner.hold(*held)
    write(runner, ids)
    runner.rollback(place)
    found = runner.forward([7, 8]).copy()
    assert np.array_equal(found, read(keeping, [*ids[:place], 7, 8]))


def test_prompt_goes_on_where_the_window_is_known(windowed: Path) -> None:
    runner, ids = load(windowed), ids_of(850, 1)
    cache = PrefixCache(runner, 0, None)
    write(runner, ids)
    cache.reuse([*ids[:500], 7, 8])
    assert runner.known == len(runner.tokens) < 500  # what is read again counts as the rest of the prompt does
    cache.reuse(runner.tokens)
    runner.forward(ids[len(runner.tokens) : 500])
    cache.reuse([*ids[:499], 7, 8])
    assert len(runner.tokens) == 499


def test_text_that_was_stopped_while_it_was_read_again_goes_on(
    pair: tuple[BranchingRunner, BranchingRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    (runner, keeping), ids = pair, ids_of(850, 1)
    runner.hold()
    write(runner, ids)
    runner.rollback(500)
    run, passes = runner.batcher.run, list[Pass]()

    def stop(current: Pass, cancel: CancelEvent | None) -> Pass:
        passes.append(current)
        if len(passes) == 2:
            raise Interrupted
        return run(current, cancel)

    with monkeypatch.context() as patched:
        patched.setattr(runner.batcher, "run", stop)
        with pytest.raises(Interrupted):
            runner.forward([7, 8])
    assert len(runner.tokens) == 500
    assert np.array_equal(runner.forward([7, 8]).copy(), read(keeping, [*ids[:500], 7, 8]))


def test_histories_have_the_bits_of_a_cache_that_keeps_all(
    pair: tuple[BranchingRunner, BranchingRunner], tmp_path: Path
) -> None:
    run_histories(*pair, tmp_path, 4)


@pytest.mark.slow
def test_many_histories_have_the_bits_of_a_cache_that_keeps_all(
    pair: tuple[BranchingRunner, BranchingRunner], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    engine = [f"app/headstart/engine/{name}" for name in ("kernels", "prefix_cache.py", "runners")]
    sources = [*sources_of(*engine, "tests/stand_ins/tiny.py"), *KERNEL_SOURCES, Path(__file__)]
    proven_once(f"windows-{request.node.callspec.id}", sources, lambda: run_histories(*pair, tmp_path, 200))


def run_histories(first: BranchingRunner, keeping: BranchingRunner, folder: Path, histories: int) -> None:
    """Two sequences read, guess, branch, are cut, and come back from memory and from disk."""
    runners = [first, *first.others]
    for seed in range(histories):
        chance = random.Random(seed)
        store = PrefixCache(first, 2**30, PartFiles(folder / str(seed), "model"), length=64)
        caches = [store, store.beside(runners[1])]
        texts = [ids_of(chance.randrange(2, 500), seed)]
        for runner in runners:
            runner.rollback(0)
        for _ in range(8):
            number = chance.randrange(2)
            runner, cache, text = runners[number], caches[number], chance.choice(texts)
            match chance.randrange(5):
                case 0:
                    cache.keep()
                    store.store_one()
                case 1:  # a restart
                    cache.clear()
            prompt = [*text[: chance.randrange(len(text) + 1)], *ids_of(chance.randrange(2, 300), chance.randrange(99))]
            prompt = prompt[: CONTEXT - 50]
            cache.reuse(prompt, KEEP if chance.random() < 0.7 else None)
            while len(runner.tokens) < len(prompt):
                count = len(runner.tokens)
                logits = runner.forward(prompt[count : count + chance.choice([64, 1024])])
            assert np.array_equal(logits, read(keeping, prompt))
            for _ in range(chance.randrange(4)):
                _guess(runner, keeping, chance)
            texts.append(list(runner.tokens))
            assert used(first) * BLOCK <= 2 * kept_tokens(WINDOW, 1024)


def _guess(runner: PagedRunner, keeping: PagedRunner, chance: random.Random) -> None:
    """Write some tokens, and keep some of them, or a branch."""
    text, guesses = list(runner.tokens), ids_of(chance.choice([1, 2, 6, 13]), chance.randrange(99))
    branches = [Branch(place, 5) for place in range(1, len(guesses))][:2]
    logits = runner.forward(guesses, branches, rows=len(guesses)).copy()
    keeping.rollback(common_prefix(keeping.tokens, text))
    missing = text[len(keeping.tokens) :]
    right = keeping.forward([*missing, *guesses], rows=len(guesses))
    assert np.array_equal(logits[: len(guesses)], right)
    if branches and chance.random() < 0.5:
        runner.rollback(len(text) + 1, branch=0)
        assert list(runner.tokens) == [*text, guesses[0], 5]
    else:
        runner.rollback(len(text) + chance.randrange(len(guesses) + 1))
