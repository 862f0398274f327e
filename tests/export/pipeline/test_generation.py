"""The sampling parameters and the ends of answers in an exported folder."""

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from headstart.errors import ExportError
from headstart_export.pipeline.generation import TOKEN_KEYS, write_generation_config
from headstart_export.sources.recipe import ChatMarkers, Sampling, find_model
from headstart_export.sources.weights import SourceInfo
from tests.stand_ins.model_folders import write_tokenizer

WORDS = ["<|end|>", "Hello", "</s>", "a", "b", "c", "d", "<|stop|>"]
MARKS = {index: SimpleNamespace(content=WORDS[index], special=True) for index in (0, 7)}
TOKENIZER = SimpleNamespace(
    added_tokens_decoder=MARKS, chat_template=None, eos_token_id=2, decode=lambda ids: f" {WORDS[ids[0]]}"
)
FILE = SourceInfo(1, is_gguf=True, licence=None, ends=(7, 0), sampling={"temperature": 0.2, "top_k": 5})
CODER = replace(find_model("qwen2.5-coder-0.5b-instruct"), chat=ChatMarkers())


def settle(
    folder: Path,
    generation: dict[str, Any],
    config: dict[str, Any] | None = None,
    info: SourceInfo | None = None,
    recipe: Any = CODER,
) -> tuple[tuple[int, ...], list[str]]:
    """Return the ids that end an answer, and what was noted."""
    write_tokenizer(folder, {word: index for index, word in enumerate(WORDS)})
    (folder / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(config or {}), encoding="utf-8")
    notes: list[str] = []
    return write_generation_config(folder, TOKENIZER, recipe, "", notes.append, info), notes


def test_sampling_of_a_recipe_replaces_the_source(tmp_path: Path) -> None:
    found = {"do_sample": False, "temperature": 0.1, "min_p": 0.2, "eos_token_id": 7}
    assert settle(tmp_path, found) == ((7, 2), [])
    assert json.loads((tmp_path / "generation_config.json").read_text(encoding="utf-8")) == {
        "do_sample": True,
        "temperature": 0.7,
        "top_p": 0.8,
        "top_k": 20,
        "repetition_penalty": 1.1,
        "eos_token_id": [7, 2],
    }


def test_sampling_of_the_source_is_kept(tmp_path: Path) -> None:
    settle(tmp_path, {"temperature": 0.6, "eos_token_id": 2}, recipe=replace(CODER, sampling=Sampling()))
    generation = json.loads((tmp_path / "generation_config.json").read_text(encoding="utf-8"))
    assert generation == {"temperature": 0.6, "eos_token_id": [2]}


def test_sampling_of_a_gguf_file_is_kept(tmp_path: Path) -> None:
    settle(tmp_path, {}, info=FILE, recipe=replace(CODER, sampling=Sampling()))
    generation = json.loads((tmp_path / "generation_config.json").read_text(encoding="utf-8"))
    assert generation == {"do_sample": True, "temperature": 0.2, "top_k": 5, "eos_token_id": [7, 0, 2]}


@pytest.mark.parametrize("file", ["generation_config.json", "config.json"])
@pytest.mark.parametrize("key", TOKEN_KEYS)
@pytest.mark.parametrize("index", [999_999, 8, -2, "7", 7.5, True, [2, 999_999], [[2]]])
def test_id_of_no_token_is_refused(tmp_path: Path, file: str, key: str, index: object) -> None:
    wrong = {key: index}
    with pytest.raises(ExportError, match=rf"{file} says that {key} is .+, but the vocabulary has no such token"):
        settle(tmp_path, wrong if file == "generation_config.json" else {}, wrong if file == "config.json" else {})


def test_id_that_stands_for_none_is_none(tmp_path: Path) -> None:
    assert settle(tmp_path, {"eos_token_id": -1, "bos_token_id": None}, {"pad_token_id": -1}) == ((2,), [])


def test_word_that_ends_answers_is_noted(tmp_path: Path) -> None:
    ids, notes = settle(tmp_path, {"eos_token_id": [0, 1]}, {"eos_token_id": 7})
    assert ids == (0, 1, 7, 2)
    (note,) = notes
    assert note.startswith(f"Warning: the word 'Hello' ends an answer, as {CODER.title} says (token 1).")


def test_ends_of_a_gguf_file_replace_those_of_its_architecture(tmp_path: Path) -> None:
    ids, notes = settle(tmp_path, {"eos_token_id": 1, "bos_token_id": 999_999}, {"eos_token_id": 50256}, FILE)
    assert (ids, notes) == ((7, 0, 2), [])
    generation = json.loads((tmp_path / "generation_config.json").read_text(encoding="utf-8"))
    assert generation["eos_token_id"] == [7, 0, 2]
    assert "bos_token_id" not in generation


def test_tag_that_looks_like_an_end_is_none(tmp_path: Path) -> None:
    """Gemma knows `</s>` as a tag of HTML."""
    tokens = {1: SimpleNamespace(content="<eos>", special=True), 212: SimpleNamespace(content="</s>", special=False)}
    gemma = SimpleNamespace(added_tokens_decoder=tokens, chat_template=None, eos_token_id=1)
    write_tokenizer(tmp_path, {"<eos>": 1, "</s>": 212})
    notes: list[str] = []
    assert write_generation_config(tmp_path, gemma, CODER, "", notes.append, dataclasses.replace(FILE, ends=())) == (1,)
    assert not notes
