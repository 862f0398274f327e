"""Names to folders, what is listed, and which draft fits which target."""

import dataclasses
import json
import re
import sys
from pathlib import Path

import pytest

from headstart.errors import BrokenModelError, MismatchedDraftError, ModelNotFoundError, SettingsError, Translatable
from headstart.library import library, manifest
from headstart.library.library import Broken, Model, Pair
from tests.stand_ins.model_folders import WORDS, write_model, write_pair
from tests.support.rights import usual_rights

OTHER_WORDS = {"a": 0, "the": 1, "Ġof": 2, "Ġand": 3}


@pytest.fixture
def root(headstart_home: Path) -> Path:
    return headstart_home / "models"


def test_library_lists_models_pairs_and_broken_folders(root: Path) -> None:
    write_pair(root / "b-pair")
    write_model(root / "c-model")
    write_model(root / "a-broken")
    (root / "a-broken" / "openvino_model.bin").unlink()
    (root / "downloads").mkdir()
    write_model(root / ".half-done")
    broken, pair, model = library.installed()
    assert isinstance(broken, Broken)
    assert "openvino_model.bin is missing" in broken.reason
    assert isinstance(pair, Pair)
    assert (pair.target.name, pair.draft.name) == ("b-pair/target", "b-pair/draft")
    assert isinstance(model, Model)
    assert model.folder == root / "c-model"


def test_pair_with_a_damaged_half_is_broken(root: Path) -> None:
    (write_pair(root / "pair") / "draft" / "openvino_model.bin").write_bytes(b"")
    (entry,) = library.installed()
    assert isinstance(entry, Broken)
    assert "0 bytes instead of 256" in entry.reason


def test_head_is_loaded_with_and_without_a_draft(root: Path) -> None:
    write_model(write_pair(root / "pair") / "target" / manifest.HEAD_FOLDER)
    pair = library.find("pair")
    assert isinstance(pair, Pair)
    assert library.loaded_models(pair) == (pair.target, pair.draft, pair.target.head)
    assert library.loaded_models(pair.target) == (pair.target, pair.target.head)


def test_model_with_an_unreadable_head_is_broken(root: Path) -> None:
    head = write_model(write_model(root / "model") / manifest.HEAD_FOLDER)
    (head / manifest.FILE_NAME).write_text("{", encoding="utf-8")
    (entry,) = library.installed()
    assert isinstance(entry, Broken)
    assert manifest.FILE_NAME in entry.reason


@pytest.mark.parametrize("place", ["", manifest.FILE_NAME, manifest.HEAD_FOLDER], ids=["model", "manifest", "head"])
def test_model_that_may_not_be_read_is_listed_with_the_remedy(root: Path, place: str) -> None:
    write_model(write_model(root / "model") / manifest.HEAD_FOLDER)
    closed = root / "model" / place
    rights = closed.stat().st_mode
    closed.chmod(0)
    with usual_rights():
        (entry,) = library.installed()
        assert isinstance(entry, Broken)
        assert re.search(r"model.* cannot be read \(Permission denied\); see that you may read it", entry.reason)
        assert library.size_on_disk(entry) >= 0
        with pytest.raises(BrokenModelError, match="see that you may read it"):
            library.find(str(root / "model"))
        closed.chmod(rights)
        assert isinstance(library.find("model"), Model), "it is read again"


def test_folder_of_models_that_may_not_be_read_is_named(root: Path) -> None:
    write_model(root / "model")
    root.chmod(0)
    with usual_rights():
        assert library.installed() == ()
        for name in ("model", None):
            with pytest.raises(BrokenModelError, match=rf"{re.escape(str(root))} cannot be read \(Permission denied\)"):
                library.choose(name)
    root.chmod(0o700)


def test_pair_cannot_point_outside_itself(root: Path) -> None:
    write_model(root / "model")
    folder = write_pair(root / "pair")
    written = manifest.read(folder)
    assert isinstance(written, manifest.PairManifest)
    manifest.write(folder, dataclasses.replace(written, draft="../model"))
    with pytest.raises(BrokenModelError, match="is not one of its folders"):
        library.find("pair")


def test_pair_has_both_models(root: Path) -> None:
    folder = write_pair(root / "pair")
    choice = library.choose("pair")
    assert choice.draft is not None
    assert (choice.target.folder, choice.draft.folder) == (folder / "target", folder / "draft")
    assert library.choose("pair", "none").draft is None
    for part in ("target", "draft"):
        choice = library.choose(f"pair/{part}")
        assert (choice.target.folder, choice.draft) == (folder / part, None)


def test_folder_is_chosen_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "elsewhere" / "model")
    assert library.choose(str(folder)).target.folder == folder
    monkeypatch.chdir(folder.parent)
    assert library.choose("./model").target.folder == folder
    assert library.choose("model").target.folder == folder


def test_installed_name_wins_over_a_local_folder(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(tmp_path / "model")
    write_model(root / "model")
    monkeypatch.chdir(tmp_path)
    assert library.choose("model").target.folder == root / "model"


def test_local_folder_does_not_hide_a_misspelling(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(root / "model")
    (tmp_path / "modle").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelNotFoundError, match="'modle'; installed are model"):
        library.choose("modle")


def test_path_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BrokenModelError, match=r"manifest\.json is missing"):
        library.choose(str(tmp_path))


def test_unknown_name_lists_what_exists(root: Path) -> None:
    write_model(root / "one")
    write_pair(root / "two")
    with pytest.raises(ModelNotFoundError, match=r"installed are one, two\."):
        library.choose("three")


@pytest.mark.parametrize("name", ["three", None])
def test_empty_library_names_the_command_to_run(root: Path, name: str | None) -> None:
    with pytest.raises(ModelNotFoundError, match="run `headstart models add smollm2-135m-instruct`"):
        library.choose(name)
    assert library.installed() == ()
    assert not root.exists()


def test_single_model_needs_no_name(root: Path) -> None:
    (write_model(root / "ruin") / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelNotFoundError, match="`headstart models`"):
        library.choose(None)
    write_model(root / "one")
    assert library.choose(None).name == "one"
    write_model(root / "two")
    with pytest.raises(SettingsError, match=r"\(one, two\)"):
        library.choose(None)


@pytest.mark.parametrize("name", ["big", "pair"])
def test_draft_of_the_same_vocabulary_fits(root: Path, name: str) -> None:
    write_model(root / "big")
    write_pair(root / "pair")
    small = write_model(root / "small", rows=4)
    choice = library.choose(name, "small")
    assert choice.draft is not None
    assert choice.draft.folder == small


def test_mismatched_draft_is_refused_with_the_first_differing_id(root: Path) -> None:
    write_model(root / "big")
    write_model(root / "small", OTHER_WORDS)
    with pytest.raises(MismatchedDraftError) as refusal:
        library.choose("big", "small")
    difference = refusal.value.text.values["difference"]
    assert isinstance(difference, Translatable)
    assert difference.values == {"id": 1, "first": "'the'", "second": "'Ġthe'"}


def test_padding_rows_are_no_difference(root: Path) -> None:
    write_model(root / "one", {**WORDS, "<think>": 4, "</think>": 6}, rows=8)
    write_model(root / "two", rows=7)
    assert library.choose("one", "two").draft is not None
    assert library.choose("two", "one").draft is not None


def test_hole_in_the_middle_is_no_padding(root: Path) -> None:
    write_model(root / "big")
    write_model(root / "small", {"a": 0, "Ġof": 2, "Ġand": 3, "Ġthe": 4})
    with pytest.raises(MismatchedDraftError, match="id 1 is nothing here and 'Ġthe' there"):
        library.choose("big", "small")


@pytest.mark.parametrize(("target", "draft"), [("wide", "narrow"), ("narrow", "wide")])
def test_id_beyond_the_rows_is_a_difference(root: Path, target: str, draft: str) -> None:
    write_model(root / "wide", {**WORDS, "<think>": 6}, rows=8)
    write_model(root / "narrow", rows=6)
    with pytest.raises(MismatchedDraftError, match=r"id 6 is ('<think>' here and nothing|nothing here and '<think>')"):
        library.choose(target, draft)


def test_pair_is_no_draft(root: Path) -> None:
    write_model(root / "big")
    write_pair(root / "pair")
    with pytest.raises(SettingsError, match="pair/draft"):
        library.choose("big", "pair")


def test_pair_inside_a_pair_is_refused(root: Path) -> None:
    folder = write_pair(root / "pair")
    path = folder / "draft" / "manifest.json"
    path.write_text(json.dumps({"kind": "pair", "schema": 1, "name": "x", "shared_ids": 1, "created": "now"}))
    with pytest.raises(BrokenModelError, match="holds a pair"):
        library.find("pair")


def test_bundled_models_are_installed_unless_newer(
    headstart_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = headstart_home / "models"
    write_model(tmp_path / "models" / "bundled")
    write_model(tmp_path / "models" / "both")
    write_model(own / "both")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "headstart"))
    assert [entry.name for entry in library.installed()] == ["both"]  # not a frozen program
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert [(entry.name, entry.folder.parent) for entry in library.installed()] == [
        ("both", own),
        ("bundled", tmp_path / "models"),
    ]


def test_name_that_no_file_can_have_is_unknown(root: Path) -> None:
    write_model(root / "small")
    for name in ("a" * 300, "a\0b", "b/" + "a" * 300):
        with pytest.raises(ModelNotFoundError, match="There is no model"):
            library.find(name)
