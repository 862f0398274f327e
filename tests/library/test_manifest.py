"""The contract of manifest.json: what is written comes back, and whatever is wrong with a folder is said."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headstart.errors import BrokenModelError, SettingsError
from headstart.library import library, manifest
from headstart.library.manifest import PairManifest, Precision
from tests.stand_ins.model_folders import CREATED, describe, write_model, write_pair

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def test_manifest_is_read_back(folder: Path) -> None:
    assert manifest.read(folder) == describe(folder)
    written = dataclasses.replace(describe(folder), quality=None, notes=("not run in CI", "中文"))
    before = set(folder.iterdir())
    manifest.write(folder, written)
    assert manifest.read(folder) == written
    assert set(folder.iterdir()) == before  # no temporary file


def test_pair_manifest_is_read_back(tmp_path: Path) -> None:
    folder = write_pair(tmp_path / "pair")
    assert manifest.read(folder) == PairManifest("pair", 4, CREATED)
    with pytest.raises(BrokenModelError, match=r"holds a pair; name its target or draft folder"):
        manifest.read_model(folder)


def test_perplexity_ratio_is_above_one_when_compression_costs(folder: Path) -> None:
    read = manifest.read_model(folder)
    assert read.quality is not None
    assert read.quality.perplexity_ratio == pytest.approx(8.2 / 8.1)


def test_unknown_keys_are_ignored(folder: Path) -> None:
    _edit(folder, lambda data: data.update(colour="green") or data["precision"].update(bits=8))
    assert manifest.read(folder) == describe(folder)


def test_integer_is_read_as_a_float(folder: Path) -> None:
    _edit(folder, lambda data: data["precision"].update(ratio=1))
    assert manifest.read_model(folder).precision == Precision("int8", "int8_asym", ratio=1.0)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda data: data.pop("licence"), "licence"),
        (lambda data: data.update(context_length="long"), r"\.context_length"),
        (lambda data: data.update(context_length=True), r"\.context_length"),
        (lambda data: data.update(size_bytes=1.5), r"\.size_bytes"),
        (lambda data: data.update(quality=[]), r"\.quality"),
        (lambda data: data.update(files=["model.bin"]), r"\.files"),
        (lambda data: data["tokenizer"].update(stop_ids=["end"]), r"\.tokenizer\.stop_ids"),
        (lambda data: data["tokenizer"].update(stop_ids=[0, 999_999]), r"an answer ends with token 999999"),
        (lambda data: data["tokenizer"].update(stop_ids=[-1]), r"an answer ends with token -1"),
        (lambda data: data["tokenizer"].update(stop_ids=[True]), r"\.tokenizer\.stop_ids"),
        (lambda data: data.update(source=None), r"\.source"),
    ],
)
def test_unfit_field_is_named(folder: Path, edit: Edit, reason: str) -> None:
    _edit(folder, edit)
    with pytest.raises(BrokenModelError, match=rf"is damaged \(.*{reason}.*\); export the model again"):
        manifest.read(folder)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        *((content, "cannot be read") for content in (b"", b'{"schema": 1', b"\xff\xfe", b"[" * 10)),
        *((content, "written for another version of Headstart") for content in (b"[]", b'{"schema": 2}')),
    ],
)
def test_other_version_is_refused(folder: Path, content: bytes, reason: str) -> None:
    (folder / manifest.FILE_NAME).write_bytes(content)
    with pytest.raises(BrokenModelError, match=reason):
        manifest.read(folder)


def test_missing_manifest_names_the_exporter(tmp_path: Path) -> None:
    with pytest.raises(
        BrokenModelError, match=r"is not a Headstart model: manifest\.json is missing.*headstart models add"
    ):
        manifest.read(tmp_path)


def test_files_are_hashed_by_posix_path(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "empty").touch()
    hashed = manifest.hash_files(folder)
    assert set(hashed) == {"inner/empty", "openvino_model.bin", "openvino_model.xml", "tokenizer.json"}
    assert hashed["inner/empty"] == manifest.File("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0)


def test_unfinished_file_is_none_of_the_model(folder: Path) -> None:
    before = manifest.hash_files(folder)
    for name in (".manifest.json.4711.new", ".table.npz.new"):  # of processes that were killed
        (folder / name).touch()
    assert manifest.hash_files(folder) == before


def _edit(folder: Path, edit: Edit) -> None:
    path = folder / manifest.FILE_NAME
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(json.dumps(data), encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (manifest.Source("packages", "some"), "model"),
        (manifest.Source("hub", "org/model", "c0ffee"), "org/model"),
        (manifest.Source("hub", "org/files", "c0ffee", "ab"), "model"),
        (manifest.Source("gguf", "own.gguf", sha256="ab", path="/files/own.gguf"), "/files/own.gguf"),
    ],
)
def test_model_is_exported_again_from_its_source(folder: Path, source: manifest.Source, name: str) -> None:
    described = dataclasses.replace(describe(folder), source=source)
    assert manifest.command_to_replace(folder, described) == f"`headstart models add {name} --force`"


def test_part_of_a_pair_is_exported_again_with_its_pair(headstart_home: Path) -> None:
    target = write_pair(headstart_home / "models" / "pair") / "target"
    (target / "tokenizer.json").unlink()
    with pytest.raises(BrokenModelError, match=r"export it again with `headstart models add pair --force`\."):
        library.find("pair")


@pytest.mark.parametrize("name", ["smollm2", "Qwen2.5 Coder 0.5B", "a+b", "模型", "console", "nonesuch", "a" * 200])
def test_name_is_good(name: str) -> None:
    manifest.require_name(name)  # raises nothing


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            ".",
            "..",
            "...",
            "none",
            ".hidden",
            "a.",
            "a ",
            " a",
            "a/b",
            "a\\b",
            "../a",
            "a:b",
            "remote:a",
            "a?b",
            "a*",
        ),
        *(
            "con",
            "CON",
            "con.gguf",
            "Nul .x",
            "com1",
            "lpt9.a",
            "com¹",
            "a\0b",
            "a\nb",
            "a\x1b[2J",
            "a\u202eb",
            "\ud800",
        ),
    ],
)
def test_name_that_no_folder_should_have_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=r"cannot be the name of a model; take letters, digits and dashes\."):
        manifest.require_name(name)


@pytest.mark.parametrize("name", ["a" * 201, "模" * 67, "a" * 260])
def test_name_that_is_too_long_is_refused(name: str) -> None:
    with pytest.raises(
        SettingsError, match=r"The name of a model has at most 200 bytes, and .* has \d+; take a shorter"
    ):
        manifest.require_name(name)
