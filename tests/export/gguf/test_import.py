"""Imports of GGUF files: without PyTorch, checked later, and refused from then on if the check fails."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest

from headstart.engine.kernels import selftest
from headstart.errors import BrokenModelError, ExporterNeededError, ExportError
from headstart.library import library, manifest
from headstart_export.checks import tokenizer_proof
from headstart_export.pipeline import check, gguf_import
from headstart_export.sources import recipe
from tests.export.conftest import NO_CONVERTERS, NO_NETWORK, Offline, Spoken

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lean(offline: Offline, tmp_path_factory: pytest.TempPathFactory) -> Offline:
    """A runner of exports in a Python without PyTorch, NNCF and optimum."""
    folder = tmp_path_factory.mktemp("lean")
    (folder / "sitecustomize.py").write_text(NO_NETWORK + NO_CONVERTERS, encoding="utf-8")
    path = f"{folder}{os.pathsep}{offline.environment['PYTHONPATH']}"
    return Offline({**offline.environment, "PYTHONPATH": path})


@pytest.fixture(scope="module")
def imported_once(lean: Offline, tiny_gguf_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an imported model that is not checked yet."""
    folder = tmp_path_factory.mktemp("imported") / "tiny"
    (outcome,) = lean.export([str(tiny_gguf_file), "--output", str(folder), "--defer-checks"])
    assert outcome.code == 0, outcome.err
    return folder


@pytest.fixture
def imported(imported_once: Path, tmp_path: Path) -> Path:
    """A copy of that folder, which tests may alter."""
    return Path(shutil.copytree(imported_once, tmp_path / "tiny"))


def test_import_leaves_its_checks_for_later(imported: Path, tiny_gguf_file: Path) -> None:
    described = manifest.read_model(imported)
    assert not described.is_checked
    assert described.quality is None
    assert described.source.path == str(tiny_gguf_file)
    assert described.source.sha256 == manifest.hash_file(tiny_gguf_file)
    entry = library.find(str(imported))
    assert not entry.is_checked


def test_check_records_proof_and_quality(lean: Offline, imported: Path) -> None:
    (outcome,) = lean.export(["check", str(imported), "--json"])
    assert outcome.code == 0, outcome.err
    described = manifest.read_model(imported)
    assert described.is_checked
    assert described.source.path is None
    assert (described.tokenizer.proof or 0) > 70_000
    assert described.quality
    assert described.quality.against == "gguf"
    assert described.quality.top1_agreement > 0.9
    (again,) = lean.export(["check", str(imported)])
    assert again.code == 0
    assert manifest.read_model(imported) == described


def test_check_without_the_file_proves_the_tokenizer(lean: Offline, imported: Path) -> None:
    described = manifest.read_model(imported)
    gone = dataclasses.replace(described.source, path="/gone.gguf")
    manifest.write(imported, dataclasses.replace(described, source=gone))
    (outcome,) = lean.export(["check", str(imported)])
    assert outcome.code == 0, outcome.err
    assert "is not measured: its GGUF file is not where it was" in outcome.err
    checked = manifest.read_model(imported)
    assert checked.is_checked
    assert checked.quality is None


def test_model_that_replaces_the_checked_one_stays_unchecked(
    imported: Path, tmp_path: Path, spoken: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = manifest.read_model(imported)
    other = dataclasses.replace(described, created="2030-01-01T00:00:00+00:00")

    def prove(*_arguments: object, **_options: object) -> int:
        manifest.write(imported, other)
        return 1

    monkeypatch.setattr(tokenizer_proof, "prove", prove)
    monkeypatch.setattr(check, "_compare_with_file", lambda *_: None)
    with pytest.raises(ExportError, match="was replaced while it was checked; run the check again"):
        check.check(imported, tmp_path / "cache", spoken.progress)
    assert manifest.read_model(imported) == other


def test_failed_check_stops_the_use_of_a_model(lean: Offline, imported: Path) -> None:
    path = imported / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    tokenizer["pre_tokenizer"] = None  # as if the converted tokenizer split its texts in another way
    path.write_text(json.dumps(tokenizer), encoding="utf-8")
    described = manifest.read_model(imported)
    manifest.write(imported, dataclasses.replace(described, files=manifest.hash_files(imported)))
    (outcome,) = lean.export(["check", str(imported), "--json"])
    assert outcome.code == 1
    assert "The model would get wrong tokens, so it is not used" in outcome.err
    with pytest.raises(BrokenModelError, match="so it is not used; choose another"):
        library.find(str(imported))


def test_export_of_safetensors_says_that_it_needs_the_exporter(
    lean: Offline, tiny_source: Path, tmp_path: Path
) -> None:
    quiet, loud = lean.export(
        [str(tiny_source), "--output", str(tmp_path / "a"), "--defer-checks"],
        [str(tiny_source), "--output", str(tmp_path / "b")],
    )
    assert quiet.code == loud.code == ExporterNeededError.export_status
    assert quiet.err == ""
    assert "needs the exporter" in loud.err
    assert not list(tmp_path.iterdir())


def test_verify_needs_no_converters(lean: Offline, imported: Path, tiny_gguf_file: Path) -> None:
    assert lean.export(["check", str(imported)])[0].code == 0
    (outcome,) = lean.export(["verify", str(imported), "--against", str(tiny_gguf_file)])
    assert outcome.code == 0, outcome.err
    assert "is what it was made from" in outcome.out


def test_blocks_of_4_bits_are_kept_only_for_own_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    order = recipe.parse_order(recipe.Arguments("smollm2-135m-instruct"))
    assert isinstance(order, recipe.ModelOrder)
    monkeypatch.setattr(selftest, "proven", lambda: True)
    assert gguf_import.best_form(order) == "gguf"
    monkeypatch.setattr(selftest, "proven", lambda: False)
    assert gguf_import.best_form(order) == "int8"


def test_only_a_draft_is_int4_throughout() -> None:
    pair = recipe.parse_order(recipe.Arguments("qwen2.5-coder-int4"))
    assert isinstance(pair, recipe.PairOrder)
    assert [gguf_import.best_form(order) for order in (pair.target, pair.draft)] == ["int4-mixed", "int4"]
