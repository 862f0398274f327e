"""The checks between a converted model and its source, on answers that are wrong in one way each."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer

from headstart.errors import ExportError, MismatchedDraftError
from headstart.manifest import Precision
from headstart_export import chat_template, describe, quality, quantize
from headstart_export.quality import Request


class Speaker:
    """A tokenizer with those methods of transformers' that the checks use."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.chat_template: str | None = "a template"

    def __call__(self, text: str, **_options: Any) -> SimpleNamespace:
        """The ids of a text."""
        return SimpleNamespace(input_ids=self._tokenizer.encode(text).ids)

    def decode(self, ids: list[int], **_options: Any) -> str:
        """All tokens, special ones included."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=False))

    def apply_chat_template(self, messages: list[dict[str, str]], **_options: Any) -> str:
        """One line each."""
        return "".join(f"{message['role']}: {message['content']}\n" for message in messages)

    def save_pretrained(self, folder: Path) -> None:
        """As `tokenizer.json`."""
        folder.mkdir(parents=True)
        self._tokenizer.save(str(folder / "tokenizer.json"))


@pytest.fixture
def speaker(tiny_source: Path) -> Speaker:
    """The tiny target's tokenizer."""
    return Speaker(tiny_source)


def test_a_target_needs_a_chat_template(speaker: Speaker) -> None:
    chat_template.require(speaker, "base")
    speaker.chat_template = None
    with pytest.raises(ExportError, match="base has no chat template, so it can be a draft but not answer"):
        chat_template.require(speaker, "base")


def test_a_model_that_cannot_be_loaded_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "openvino_model.xml").write_text("<net", encoding="utf-8")
    request = Request(str(tmp_path), "none.npy", [1, 2])
    with pytest.raises(ExportError, match=r"The converted model cannot be used \(.+\); nothing was kept"):
        quality.run(request)


def test_precision_must_be_what_was_asked_for() -> None:
    quantize.require("int8", Precision("int8", "int8_asym"))
    with pytest.raises(ExportError, match="should have become int4, but the converted model says fp16"):
        quantize.require("int4", Precision("fp16"))


def test_equal_vocabularies_make_a_pair(speaker: Speaker, tiny_models: Path, tmp_path: Path) -> None:
    shared = describe.require_agreement(speaker, Speaker(tiny_models / "draft-hf"), ("big", "small"), tmp_path)
    assert shared == 600


def test_the_first_differing_id_is_named_with_both_texts(speaker: Speaker, tiny_models: Path, tmp_path: Path) -> None:
    other = Speaker(tiny_models / "draft-hf")
    other._tokenizer = Tokenizer.from_str(other._tokenizer.to_str().replace("<|im_start|>", "<|start|>"))
    with pytest.raises(MismatchedDraftError) as caught:
        describe.require_agreement(speaker, other, ("big", "small"), tmp_path)
    assert str(caught.value) == (
        "small cannot draft for big: id 1 is '<|im_start|>' in big but '<|start|>' in small; "
        "choose a draft with the same vocabulary."
    )
