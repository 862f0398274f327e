"""The decoder's graph computes what transformers computes: for every kind, and for real files."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import reference
from headstart_export.checks import quality
from headstart_export.gguf import converter
from tests.conftest import USER_CACHE, built_once
from tests.export.gguf import tiny_gguf, torch_logits
from tests.export.gguf.tiny_decoders import IDS, KINDS

TOKENS = 320
REFUSED = (5, 6, 7)  # guesses that are forgotten
# Real files by their SHA-256, and the most that each form may differ by from the file's own weights, in nats a token.
REAL = {
    "smollm2-135m-instruct": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        {"fp16": 1e-5, "gguf": 0.003, "int8": 0.007},
    ),
    "qwen2.5-coder-1.5b-instruct": (
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        {"fp16": 1e-5, "gguf": 0.0006, "int8": 0.002, "int4": 0.12},
    ),
}


@pytest.fixture(scope="session")
def decoders() -> Path:
    """A folder with `KIND.gguf` and the logits of transformers in `KIND.npy`."""
    return built_once("tests.export.gguf.tiny_decoders", tiny_gguf.__file__)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_logits_equal_those_of_transformers(kind: str, decoders: Path, tmp_path: Path) -> None:
    converter.convert(decoders / f"{kind}.gguf", tmp_path, "fp16")
    runner = PagedRunner(tmp_path, "CPU", reference(), len(IDS) + len(REFUSED))
    expected = np.load(decoders / f"{kind}.npy")
    for tokens, refused in ((len(IDS), ()), (1, ()), (5, ()), (4, REFUSED)):
        runner.rollback(0)
        for start in range(0, len(IDS), tokens):
            ids = IDS[start : start + tokens]
            logits = runner.forward([*ids, *refused], rows=len(ids) + len(refused))[: len(ids)]
            runner.rollback(start + len(ids))
            assert np.abs(logits - expected[start : start + len(ids)]).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_file_keeps_its_quality(name: str, tmp_path: Path) -> None:
    digest, bounds = REAL[name]
    path = USER_CACHE / "gguf" / f"{digest}.gguf"
    if not path.is_file():
        pytest.skip(f"{path} is not there: run `headstart-export {name}`")
    logits = tmp_path / "logits.npy"
    command = [sys.executable, "-m", "tests.export.gguf.torch_logits", str(path), str(TOKENS), str(logits)]
    subprocess.run(command, check=True, capture_output=True)
    expected, ids = np.load(logits), torch_logits.text_ids(path, TOKENS)
    for form, bound in bounds.items():
        converter.convert(path, tmp_path / form, form)
        runner = PagedRunner(tmp_path / form, "CPU", reference(), TOKENS)
        found = quality.compare(expected, runner.forward(ids, rows=len(ids)), ids)
        print(f"{name} {form}: KL {found.mean_kl:.6f}, agreement {found.top1_agreement:.2%}")
        assert found.mean_kl < bound, form
        del runner
