"""Exactness under fire: random histories with guesses against plain answers from nothing, to the bit."""

from contextlib import closing
from pathlib import Path

import pytest

from bench.exactness import Fuzz, texts
from headstart.engine.engine import LoadOptions
from headstart.engine.kernels.fusion import KERNELS
from headstart.engine.runners.precision import plain
from headstart.engine.runners.selftest import Invariance
from tests.engine.answers import load

STOCK = {**plain(), KERNELS: ""}
HISTORIES = 6


def fuzz(target: Path, draft: Path, home: Path, properties: dict[str, str], histories: int = HISTORIES) -> list[str]:
    """Compare guessing with plain engines in random histories. Return the differences."""
    options = LoadOptions(target, context=1024, properties=properties)
    guessing = LoadOptions(target, draft, context=1024, properties=properties, parallel=2)
    with closing(load(guessing)) as engine, closing(load(options)) as reference:
        engine.keep_in(home / "parts")
        run = Fuzz(engine, reference, 16, [text[:160] for text in texts()])
        for seed in range(histories):
            run.run(seed)
    assert run.report.answers > histories
    return run.report.differing


def test_histories_have_the_same_bits_with_guesses(tiny_family: Path, tiny_draft: Path, headstart_home: Path) -> None:
    assert not fuzz(tiny_family, tiny_draft, headstart_home, {})


def test_histories_have_the_same_bits_with_openvino(
    tiny_quantized: Path, tiny_draft: Path, headstart_home: Path
) -> None:
    assert not fuzz(tiny_quantized, tiny_draft, headstart_home, STOCK)


def test_histories_show_a_pass_that_is_not_padded(
    tiny_quantized: Path, tiny_draft: Path, headstart_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Invariance, "apply", lambda *_: True)
    assert fuzz(tiny_quantized, tiny_draft, headstart_home, STOCK, histories=3)
