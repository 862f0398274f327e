"""A model folder that is damaged, incomplete or of another version is refused in a sentence that names the file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headstart import manifest
from headstart.engine import loading
from headstart.engine.engine import LoadOptions, Numerics
from headstart.engine.loading import Place, load_model
from headstart.engine.local import load
from headstart.errors import BrokenModelError, HeadstartError
from tests.engine.answers import flip_a_bit

Alter = Callable[..., Path]
EXACT = Place("CPU", Numerics.EXACT, 256)


def truncated(path: Path) -> None:
    """Half of it is left."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    """Nothing is left."""
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [truncated, flip_a_bit, emptied, Path.unlink])
@pytest.mark.parametrize(
    "name",
    [
        "openvino_model.bin",
        "openvino_model.xml",
        "openvino_tokenizer.bin",
        "openvino_detokenizer.xml",
        "tokenizer.json",
        "tokenizer_config.json",
    ],
)
def test_a_damaged_file_is_named(tiny_target: Path, altered: Alter, name: str, damage: Callable[[Path], None]) -> None:
    folder = altered(tiny_target)
    damage(folder / name)
    with pytest.raises(BrokenModelError, match=rf"tiny-target is damaged: {name} .*headstart-export"):
        load(LoadOptions(folder, numerics=Numerics.EXACT))


def test_a_damaged_draft_is_named(tiny_target: Path, tiny_draft: Path, altered: Alter) -> None:
    folder = altered(tiny_draft)
    flip_a_bit(folder / "openvino_model.bin")
    with pytest.raises(BrokenModelError, match=r"tiny-draft is damaged: openvino_model\.bin"):
        load(LoadOptions(tiny_target, folder, numerics=Numerics.EXACT))


def test_damage_after_a_good_load_is_found(tiny_target: Path, altered: Alter, measured: Path) -> None:
    folder = altered(tiny_target)
    load_model(folder, EXACT, measured)
    flip_a_bit(folder / "openvino_model.bin")
    with pytest.raises(BrokenModelError, match=r"openvino_model\.bin"):
        load_model(folder, EXACT, measured)


def test_a_large_file_is_hashed_again_only_when_it_changed(
    tiny_target: Path, altered: Alter, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "_SMALL_FILE", 50_000)
    hashed: list[str] = []
    hash_file = manifest.hash_file

    def noting(path: Path) -> str:
        hashed.append(path.name)
        return hash_file(path)

    monkeypatch.setattr(manifest, "hash_file", noting)
    folder = altered(tiny_target)
    load_model(folder, EXACT, measured)
    assert "openvino_model.bin" in hashed
    hashed.clear()
    load_model(folder, EXACT, measured)
    assert "openvino_model.bin" not in hashed
    assert "config.json" in hashed
    flip_a_bit(folder / "openvino_model.bin")
    with pytest.raises(BrokenModelError, match=r"openvino_model\.bin"):
        load_model(folder, EXACT, measured)


def test_a_missing_model_is_told(tiny_target: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    with pytest.raises(BrokenModelError, match=r"nothing is not a Headstart model.*headstart-export"):
        load(LoadOptions(nothing))
    with pytest.raises(BrokenModelError, match="nothing is not a Headstart model"):
        load(LoadOptions(tiny_target, nothing))


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"[]", b"{}", b'{"schema": 1}', b'{"schema": 2}', b"null"])
def test_a_manifest_of_garbage_or_of_another_version_is_told(tiny_target: Path, altered: Alter, content: bytes) -> None:
    folder = altered(tiny_target)
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(BrokenModelError, match=r"manifest\.json .*export the model again"):
        load(LoadOptions(folder))


def test_a_manifest_of_a_newer_schema_is_refused(tiny_target: Path, altered: Alter) -> None:
    folder = altered(tiny_target, schema=manifest.SCHEMA + 1)
    with pytest.raises(BrokenModelError, match="another version of Headstart"):
        load(LoadOptions(folder))


@pytest.mark.parametrize("name", ["openvino_model.bin", "openvino_model.xml"])
def test_a_manifest_that_does_not_list_the_model_is_refused(tiny_target: Path, altered: Alter, name: str) -> None:
    files = {key: file for key, file in manifest.read_model(tiny_target).files.items() if key != name}
    with pytest.raises(BrokenModelError, match=rf"does not list {name}"):
        load(LoadOptions(altered(tiny_target, files=files)))


def test_a_pair_folder_is_no_model(tiny_pair: Path) -> None:
    with pytest.raises(BrokenModelError, match="holds a pair"):
        load(LoadOptions(tiny_pair))


def test_a_file_that_cannot_be_read_is_told(tiny_target: Path, measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(manifest, "hash_file", denied)
    with pytest.raises(BrokenModelError, match=r"tiny-target is damaged: it cannot be read \(.*Permission denied"):
        load_model(tiny_target, EXACT, measured)


def test_every_refusal_is_one_sentence_for_people(tiny_target: Path, altered: Alter) -> None:
    folder = altered(tiny_target)
    flip_a_bit(folder / "openvino_model.bin")
    with pytest.raises(HeadstartError) as caught:
        load(LoadOptions(folder))
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
