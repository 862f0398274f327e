"""The contract of vocabularies: what tokenizer.json says, fingerprints, and the first difference."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from headstart.errors import BrokenModelError
from headstart.library import vocabulary
from headstart.library.vocabulary import Difference
from tests.stand_ins.model_folders import WORDS, write_tokenizer


def test_words_and_added_tokens_are_read_by_id(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, WORDS, {"<|reserved|>": 3, "<|im_end|>": 4})
    assert vocabulary.read(tmp_path) == {0: "a", 1: "Ġthe", 2: "Ġof", 3: "<|reserved|>", 4: "<|im_end|>"}
    assert vocabulary.reading(tmp_path).added == {"<|reserved|>", "<|im_end|>"}


def test_unigram_rows_are_numbered(tmp_path: Path) -> None:
    _write(tmp_path, {"model": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["▁the", -2.5]]}})
    assert vocabulary.read(tmp_path) == {0: "<unk>", 1: "▁the"}


def test_fingerprint_depends_on_ids_and_texts_only(tmp_path: Path) -> None:
    def fingerprint(words: Mapping[str, int]) -> str:
        write_tokenizer(tmp_path, words)
        return vocabulary.fingerprint(tmp_path)

    assert fingerprint(WORDS) == fingerprint(dict(reversed(list(WORDS.items()))))
    assert fingerprint(WORDS) != fingerprint({"a": 0, "Ġthe": 2, "Ġof": 1, "Ġand": 3})
    assert fingerprint({"a": 0, "b": 1}) != fingerprint({"a1\0b": 0})


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ({0: "a", 1: "b"}, {1: "b", 0: "a"}, None),
        ({0: "a", 1: "b", 7: "x"}, {0: "a", 1: "c", 7: "y"}, Difference(1, "b", "c")),
        ({0: "a", 5: "b"}, {0: "a"}, Difference(5, "b", None)),
        ({0: "a"}, {0: "a", 3: "c"}, Difference(3, None, "c")),
        ({}, {}, None),
    ],
)
def test_lowest_differing_id_is_found(
    first: dict[int, str], second: dict[int, str], difference: Difference | None
) -> None:
    assert vocabulary.first_difference(first, second) == difference


def test_missing_tokenizer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BrokenModelError, match=r"tokenizer\.json is missing; export the model again"):
        vocabulary.read(tmp_path)


@pytest.mark.parametrize(
    "content", ["{}", '{"model": {}}', '{"model": {"vocab": [1]}}', '{"model": {"vocab": {"a": "x"}}}', "[]", "{"]
)
def test_damaged_tokenizer_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / vocabulary.FILE_NAME).write_text(content, encoding="utf-8")
    with pytest.raises(BrokenModelError, match="export the model again"):
        vocabulary.read(tmp_path)


def _write(folder: Path, data: object) -> None:
    (folder / vocabulary.FILE_NAME).write_text(json.dumps(data), encoding="utf-8")


@pytest.mark.parametrize("added", ['{"content": 1}', '[{"id": 3}]', "[7]"])
def test_damaged_added_tokens_are_an_error(tmp_path: Path, added: str) -> None:
    (tmp_path / "tokenizer.json").write_text(f'{{"model": {{"vocab": {{}}}}, "added_tokens": {added}}}')
    with pytest.raises(BrokenModelError, match="export the model again"):
        vocabulary.reading(tmp_path)


@pytest.mark.parametrize(
    ("normalizer", "composes"),
    [
        (None, False),
        ({"type": "NFC"}, True),
        ({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}, True),
        ({"type": "Sequence", "normalizers": [{"type": "Replace"}, {"type": "NFC"}]}, False),
        ({"type": "Sequence", "normalizers": []}, False),
        ({"type": "NFKC"}, False),
        ("NFC", False),
    ],
)
def test_composition_of_characters_is_read(tmp_path: Path, normalizer: object, *, composes: bool) -> None:
    _write(tmp_path, {"normalizer": normalizer})
    assert vocabulary.reading(tmp_path).composes is composes


def test_deeply_nested_json_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("[" * 100_000)
    with pytest.raises(BrokenModelError, match="cannot be read"):
        vocabulary.read(tmp_path)
