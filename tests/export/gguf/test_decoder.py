"""The decoder's graph computes what transformers computes: for every kind, and for real files."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from headstart.engine.kernels.fusion import fuse
from headstart.engine.kernels.library import Library
from headstart.engine.kernels.selftest import proven, unsupported_reason
from headstart.engine.runners import paged
from headstart.engine.runners.paged import BranchingRunner, PagedRunner
from headstart.engine.runners.precision import OWN, Properties, plain, properties, reference
from headstart.engine.runners.runner import Branch, Logits
from headstart.engine.runners.stateful import StatefulRunner
from headstart_export.checks import quality
from headstart_export.gguf import converter, metadata, tokenizer_model
from tests.conftest import EXPORTER, USER_CACHE, built_once, kept, proven_once, sources_of
from tests.export.conftest import RUN_BY_EXPORTER
from tests.export.gguf import tiny_gguf, torch_logits
from tests.export.gguf.tiny_decoders import EXPERTS, IDS, KINDS, LAYERS

TOKENS, LOGITS = 320, "logits.npy"
PAGED = [kind for kind in KINDS if kind != "gemma2"]  # whose attention OpenVINO can compute over pages
RECURRENT = {"lfm2": [1] * (LAYERS // 2), "qwen35": [1] * (LAYERS // 4)}  # layers with attention, one by one
REFUSED = (5, 6, 7)  # guesses that are forgotten
ROUNDED = 0.2  # of the logits' deviation: the most that activations of 8 bits cost these models, which are not trained
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
    runner = (PagedRunner.load if kind in PAGED else StatefulRunner)(
        tmp_path, "CPU", reference(), len(IDS) + len(REFUSED)
    )
    expected = np.load(decoders / f"{kind}.npy")
    for tokens, refused in ((len(IDS), ()), (1, ()), (5, ()), (4, REFUSED)):
        runner.rollback(0)
        for start in range(0, len(IDS), tokens):
            ids = IDS[start : start + tokens]
            logits = runner.forward([*ids, *refused], rows=len(ids) + len(refused))[: len(ids)]
            runner.rollback(start + len(ids))
            assert np.abs(logits - expected[start : start + len(ids)]).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.slow
@pytest.mark.parametrize("kind", PAGED)
def test_own_kernels_compute_every_kind(kind: str, decoders: Path, tmp_path: Path) -> None:
    """All layers are one operation, except experts and recurrences; passes of all sizes agree, with branches, too."""
    has_experts = EXPERTS.keys() <= KINDS[kind][1].keys()
    converter.convert(decoders / f"{kind}.gguf", tmp_path, "int8")
    kernels, model = proven(), paged._paged_model(tmp_path, None, allow_qq_bias=True)
    if kernels is None:
        pytest.skip(unsupported_reason())
    attentions = [len(piece.attentions) for piece in fuse(model, kernels, 2, kv_bits=16) if piece.attentions]
    assert attentions == RECURRENT.get(kind, [1] * LAYERS if has_experts else [LAYERS])
    ids = [*IDS, *IDS[::-1], *IDS[:30]]
    expected, stock, found = (_logits(tmp_path, each, ids) for each in (reference(), plain(), properties(OWN)))
    bound = 1.2 * _distance(stock, expected) if _openvino_rounds(kernels) else ROUNDED * expected.std()
    assert _distance(found, expected) < bound
    runner = BranchingRunner.load(tmp_path, "CPU", properties(OWN), 128)
    if has_experts:  # of 8 bits, which OpenVINO computes
        return
    for count, branches in ((1, ()), (7, ()), (33, ()), (5, (Branch(1, 9), Branch(3, 2)))):
        runner.rollback(0)
        for start in range(0, len(ids), count):
            new = ids[start : start + count]
            logits = runner.forward(new, [each for each in branches if each.place < len(new)], rows=len(new))
            assert np.array_equal(logits[: len(new)], found[start : start + len(new)])


def _openvino_rounds(kernels: Library) -> bool:
    """Return True if OpenVINO, too, rounds activations to 8 bits: it does where the processor has VNNI."""
    return any(isa.endswith("VNNI") for isa in kernels.isas)


def _logits(folder: Path, chosen: Properties, ids: Sequence[int]) -> Logits:
    return BranchingRunner.load(folder, "CPU", chosen, len(ids)).forward(ids, rows=len(ids)).copy()


def _distance(found: Logits, expected: Logits) -> float:
    return float(np.abs(found - expected).mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_file_keeps_its_quality(name: str, tmp_path: Path) -> None:
    digest, bounds = REAL[name]
    path = USER_CACHE / "gguf" / f"{digest}.gguf"
    if not path.is_file():
        pytest.skip(f"{path} is not there: run `headstart-export {name}`")

    def compute(folder: Path) -> None:
        folder.mkdir()
        command = [sys.executable, "-m", "tests.export.gguf.torch_logits", str(path), str(TOKENS), str(folder / LOGITS)]
        subprocess.run(command, check=True, capture_output=True)

    computed_by = (torch_logits, quality, metadata, tokenizer_model)
    sources = [quality.TEXT_FILE, *(Path(str(module.__file__)) for module in computed_by)]
    expected = np.load(kept(f"logits-{digest[:16]}-{TOKENS}", sources, compute) / LOGITS, mmap_mode="r")
    ids = torch_logits.text_ids(path, TOKENS)

    def prove() -> None:
        for form, bound in bounds.items():
            converter.convert(path, tmp_path / form, form)
            runner = PagedRunner.load(tmp_path / form, "CPU", reference(), TOKENS)
            found = quality.compare(expected, runner.forward(ids, rows=len(ids)), ids)
            print(f"{name} {form}: KL {found.mean_kl:.6f}, agreement {found.top1_agreement:.2%}")
            assert found.mean_kl < bound, form
            del runner

    proven_once(f"quality-{digest[:16]}", [*sources, *sources_of(*EXPORTER, *RUN_BY_EXPORTER), Path(__file__)], prove)
