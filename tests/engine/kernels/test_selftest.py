"""The proof of our own kernels on this processor, and what happens without it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart.engine.hardware import machine
from headstart.engine.kernels import library, selftest
from headstart.engine.kernels.library import Isa, Library, use_isa
from headstart.engine.runners.precision import HINTS, OWN, candidates
from headstart.errors import SettingsError
from headstart.library import manifest

ISA = "HEADSTART_ISA"
IDENTITY = "from headstart.engine.kernels import selftest; print(selftest.identity())"


@pytest.fixture(autouse=True)
def unknown(headstart_home: Path) -> Iterator[None]:
    """Forget the results of the self-test before and after a test."""
    cached = (library.library, selftest.build, selftest.unsupported_reason)
    for each in cached:
        each.cache_clear()
    yield
    for each in cached:
        each.cache_clear()


def trying_with(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(selftest, "program", lambda *_: (sys.executable, "-c", script))


def test_kernels_are_right_in_every_instruction_set(kernels: Library) -> None:
    for isa in kernels.isas:
        kernels.use(isa)
        assert not selftest.self_test(kernels)
    kernels.use(kernels.isas[-1])


def test_selftest_passes_in_a_child_process() -> None:
    assert selftest.proven() is library.library() is not None
    assert selftest.identity().startswith(library.library().isa)  # type: ignore[union-attr]
    assert candidates(manifest.Precision("int8"), "CPU")[0] == OWN


@pytest.fixture
def changed_isa(kernels: Library, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the processor's best instruction set after a test."""
    best = kernels.isa
    monkeypatch.setenv(ISA, best)
    yield
    kernels.use(best)


@pytest.mark.usefixtures("changed_isa")
def test_chosen_instruction_set_is_that_of_child_processes_and_of_measurements(kernels: Library) -> None:
    best = selftest.identity()
    use_isa(Isa.AVX2)
    assert kernels.isa == "AVX2"
    child = subprocess.run([sys.executable, "-c", IDENTITY], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == selftest.identity()
    assert best.partition(" ")[2] == selftest.identity().removeprefix("AVX2 ")  # of the same build
    assert selftest.proven()


@pytest.mark.usefixtures("changed_isa")
def test_instruction_set_that_the_processor_lacks_is_refused(kernels: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "isas", ["plain C"])
    before = os.environ[ISA]
    with pytest.raises(SettingsError, match="no kernels with AVX512-VNNI for this processor"):
        use_isa(Isa.AVX512_VNNI)
    assert os.environ[ISA] == before
    library.library.cache_clear()
    monkeypatch.setenv(ISA, "AVX9")
    assert library.library() is None
    assert ISA in selftest.unsupported_reason()
    assert ISA in selftest.remedy()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import sys; sys.exit('INT8 differs by 2')", "INT8 differs by 2"),
        ("import os; os.kill(os.getpid(), 4)", "SIGILL"),
    ],
)
def test_failed_selftest_is_remembered(monkeypatch: pytest.MonkeyPatch, script: str, reason: str) -> None:
    trying_with(monkeypatch, script)
    assert selftest.unsupported_reason() == reason
    assert selftest.proven() is None
    assert candidates(manifest.Precision("int8"), "CPU") == HINTS
    selftest.unsupported_reason.cache_clear()
    trying_with(monkeypatch, "")
    assert selftest.unsupported_reason() == reason  # this build is not tried again


def test_set_at_fault_is_left_for_the_next_one(kernels: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    if len(kernels.isas) < 3:
        pytest.skip("this processor has one set of vector instructions")
    *_, next_one, best = kernels.isas
    monkeypatch.setenv(ISA, "")  # the end of the test takes away what is put there
    monkeypatch.delenv(ISA)
    trying_with(monkeypatch, f"import os, sys; sys.exit(None if os.environ.get('{ISA}') else 'illegal instruction')")
    try:
        assert not selftest.unsupported_reason()
        assert (kernels.isa, os.environ[ISA]) == (next_one, next_one)
        assert selftest.identity().startswith(next_one)
        selftest.unsupported_reason.cache_clear()
        trying_with(monkeypatch, "raise AssertionError('it is known')")
        kernels.use(best)
        monkeypatch.delenv(ISA)
        assert not selftest.unsupported_reason()
        assert kernels.isa == next_one
    finally:
        kernels.use(best)


def test_selftest_without_an_answer_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "_SECONDS", 0.2)
    trying_with(monkeypatch, "import time; time.sleep(60)")
    assert "could not be tried" in selftest.unsupported_reason()
    selftest.unsupported_reason.cache_clear()
    monkeypatch.setattr(selftest, "_SECONDS", 60.0)
    trying_with(monkeypatch, "")
    assert not selftest.unsupported_reason()


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF and nothing else"])
def test_missing_library_leaves_openvino(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / library.path().name
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setattr(library, "path", lambda: file)
    monkeypatch.setattr(selftest, "path", lambda: file)
    assert selftest.proven() is None
    assert selftest.unsupported_reason().startswith("they were not compiled" if content is None else "they do not load")
    assert "compiler" in selftest.remedy()
    assert candidates(manifest.Precision("int8"), "CPU") == HINTS


def test_processor_without_avx2_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "library", lambda: None)
    monkeypatch.setattr(machine, "instruction_sets", lambda: ("NEON",))
    assert selftest.unsupported_reason() == "this processor lacks AVX2"
    assert "AVX2" in selftest.remedy()


def test_differing_kernels_are_found(kernels: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "_rounded", lambda given: given * 1.001)
    assert "INT8 differs by 0.00" in selftest.self_test(kernels)


def test_differing_attention_is_found(kernels: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    right = selftest._attended
    monkeypatch.setattr(selftest, "_attended", lambda *of: 1.01 * right(*of))
    assert "attention in 16 bits differs by 0.0" in selftest.self_test(kernels)
