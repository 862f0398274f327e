"""Exactness under fire: random histories with guesses against plain answers from nothing, to the bit."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bench.speed.exactness import Fuzz, Report, texts
from headstart.engine.drafters.base import Draft
from headstart.engine.engine import LoadOptions
from headstart.engine.hardware.runtime import core
from headstart.engine.kernels.fusion import KERNELS
from headstart.engine.kernels.selftest import proven
from headstart.engine.runners.precision import OWN, plain
from headstart.engine.runners.selftest import Invariance
from headstart.engine.sequence import Sequence
from headstart.engine.speculative import Decoder
from tests.conftest import KERNEL_SOURCES, proven_once, sources_of
from tests.engine.answers import Whimsical, load

STOCK = {**plain(), KERNELS: ""}
FEW, MORE, MANY = 3, 6, 200
KINDS = ("convolutional", "recurrent", "experts")
RUN_BY_HISTORIES = (
    "app/headstart/engine",
    "app/headstart/library/manifest.py",
    "app/headstart/library/vocabulary.py",
    "app/headstart/parameters.py",
    "app/bench/speed/exactness.py",
    "tests/stand_ins/tiny.py",
    "tests/engine/answers.py",
    "tests/engine/test_histories.py",
)

few_or_more = pytest.mark.parametrize("histories", [FEW, pytest.param(MORE, marks=pytest.mark.slow)])


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let models compute in one thread: two that wait for each other on a busy machine take ten times as long."""
    before = core().get_property("CPU", "INFERENCE_NUM_THREADS")
    core().set_property("CPU", {"INFERENCE_NUM_THREADS": 1})
    yield
    core().set_property("CPU", {"INFERENCE_NUM_THREADS": before})


def fuzz(target: Path, draft: Path, home: Path, properties: dict[str, str], histories: int) -> Report:
    """Compare guessing with plain engines in random histories; in every second one, a policy guesses at random."""
    options = LoadOptions(target, context=1024, properties=properties)
    guessing = LoadOptions(target, draft, context=1024, properties=properties, parallel=2)
    with closing(load(guessing)) as engine, closing(load(options)) as reference:
        assert properties is STOCK or not proven() or OWN in engine.arithmetic
        engine.keep_in(home / "parts")
        run = Fuzz(engine, reference, 16, [text[:160] for text in texts()])
        for seed in range(histories):
            with pytest.MonkeyPatch.context() as patched:
                for each in (engine, *engine.others) if seed % 2 else ():
                    patched.setattr(each.slot.decoder, "_policy", Whimsical(seed))
                run.run(seed)
    assert run.report.answers > histories
    return run.report


@few_or_more
def test_histories_have_the_same_bits_with_guesses(
    tiny_family: Path, tiny_draft: Path, headstart_home: Path, histories: int
) -> None:
    assert not fuzz(tiny_family, tiny_draft, headstart_home, {}, histories).differing


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("kind", KINDS)
def test_histories_of_every_kind_of_layer_have_the_same_bits(
    tiny_models: Path, headstart_home: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    require_same_bits(tiny_models, headstart_home, monkeypatch, kind, FEW)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("kind", ["windowed", *KINDS])
def test_many_histories_of_every_kind_of_layer_have_the_same_bits(
    tiny_models: Path, headstart_home: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def prove() -> None:
        require_same_bits(tiny_models, headstart_home, monkeypatch, kind, MANY)

    proven_once(f"histories-{kind}", [*sources_of(*RUN_BY_HISTORIES), *KERNEL_SOURCES], prove)


def require_same_bits(models: Path, home: Path, monkeypatch: pytest.MonkeyPatch, kind: str, histories: int) -> None:
    """Require equal bits where target and draft keep windows or states, or have experts.

    Guesses hold and fail, and branches are taken.
    """
    keep, cuts, branches = Decoder._keep, list[int](), list[int]()

    def note(decoder: Decoder, sequence: Sequence, draft: Draft, chosen: list[int]) -> list[int]:
        cuts.extend([len(chosen)] * (len(chosen) <= len(draft.tokens)))
        branches.extend([len(chosen)] * (draft.branch_taken(chosen) is not None))
        return keep(decoder, sequence, draft, chosen)

    monkeypatch.setattr(Decoder, "_keep", note)
    report = fuzz(models / kind, models / f"{kind}-draft", home, {}, histories)
    print(f"{kind}: {report}, {len(cuts)} cuts, {len(branches)} branches taken")
    assert not report.differing
    assert report.guesses - report.accepted > histories
    assert report.accepted > histories
    assert report.reused > 100 * histories
    assert len(cuts) > histories // 2
    assert len(branches) >= histories // 20


@few_or_more
def test_histories_have_the_same_bits_with_openvino(
    tiny_quantized: Path, tiny_draft: Path, headstart_home: Path, histories: int
) -> None:
    assert not fuzz(tiny_quantized, tiny_draft, headstart_home, STOCK, histories).differing


def test_histories_show_a_pass_that_is_not_padded(
    tiny_quantized: Path, tiny_draft: Path, headstart_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Invariance, "apply", lambda *_: True)
    assert fuzz(tiny_quantized, tiny_draft, headstart_home, STOCK, FEW).differing
