"""The checks between a converted model and its source, on answers that are wrong in one way each."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer

from headstart.errors import ExportError, MismatchedDraftError
from headstart.manifest import Precision, Quality
from headstart_export import check, pair, quantize, trial
from headstart_export.trial import Answer, Request

QUALITY = Quality(1, 1.0, 0.0, 1.0, 1.0)

Spoil = Callable[[Answer], Answer]


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


@pytest.fixture
def try_out(speaker: Speaker, tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Spoil], Answer]:
    """Check the tiny target against an honest answer of OpenVINO's that is spoilt first."""

    def run(spoil: Spoil) -> Answer:
        def answer(request: Request) -> Answer:
            encoded = [speaker(text).input_ids for text in request.texts]
            decoded = [speaker.decode(ids) for ids in encoded]
            return spoil(Answer(QUALITY, 1, encoded, decoded, speaker.apply_chat_template(request.messages)))

        monkeypatch.setattr(trial, "run", answer)
        return check.check(tiny_target, speaker, [1, 2], Path("unused.npy"))

    return run


def test_agreement_passes(try_out: Callable[[Spoil], Answer]) -> None:
    assert try_out(lambda answer: answer).quality == QUALITY


def test_a_wrong_id_is_named(try_out: Callable[[Spoil], Answer]) -> None:
    def spoil(answer: Answer) -> Answer:
        second = answer.encoded[1]
        return dataclasses.replace(
            answer, encoded=[answer.encoded[0], [*second[:4], 599, *second[5:]], *answer.encoded[2:]]
        )

    with pytest.raises(
        ExportError, match=r"differs from the original on '  two spaces.*: at position 4 it has \[599, "
    ):
        try_out(spoil)


def test_a_missing_last_id_is_named(try_out: Callable[[Spoil], Answer]) -> None:
    def spoil(answer: Answer) -> Answer:
        return dataclasses.replace(answer, encoded=[answer.encoded[0][:-1], *answer.encoded[1:]])

    with pytest.raises(ExportError, match=r"at position \d+ it has \[\] instead of \[\d+\]"):
        try_out(spoil)


def test_a_lost_space_is_named(try_out: Callable[[Spoil], Answer]) -> None:
    def spoil(answer: Answer) -> Answer:
        return dataclasses.replace(answer, decoded=[text.replace(" ", "") for text in answer.decoded])

    with pytest.raises(ExportError, match=r"The converted detokenizer turns .Hello world.* into .Helloworld"):
        try_out(spoil)


def test_a_chat_that_renders_differently_is_named(try_out: Callable[[Spoil], Answer]) -> None:
    with pytest.raises(ExportError, match=r"The chat template renders differently in OpenVINO: 'other' instead of"):
        try_out(lambda answer: dataclasses.replace(answer, chat="other"))


def test_a_rebuilt_tokenizer_must_give_back_every_probe(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    check.require_round_trip(speaker, "x.gguf")
    monkeypatch.setattr(Speaker, "decode", lambda _self, ids, **_options: f"{len(ids)} ids")
    with pytest.raises(ExportError, match=r"The tokenizer rebuilt from x\.gguf turns .Hello world.* into '\d+ ids'"):
        check.require_round_trip(speaker, "x.gguf")


def test_a_target_needs_a_chat_template(speaker: Speaker) -> None:
    check.require_chat_template(speaker, "base")
    speaker.chat_template = None
    with pytest.raises(ExportError, match="base has no chat template, so it can be a draft but not answer"):
        check.require_chat_template(speaker, "base")


def test_a_model_that_cannot_be_loaded_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "openvino_model.xml").write_text("<net", encoding="utf-8")
    request = Request(str(tmp_path), "none.npy", [1, 2], [], [])
    with pytest.raises(ExportError, match=r"The converted model cannot be used \(.+\); nothing was kept"):
        trial.run(request)


def test_precision_must_be_what_was_asked_for() -> None:
    quantize.require("int8", Precision("int8", "int8_asym"))
    with pytest.raises(ExportError, match="should have become int4, but the converted model says fp16"):
        quantize.require("int4", Precision("fp16"))


def test_equal_vocabularies_make_a_pair(speaker: Speaker, tiny_models: Path, tmp_path: Path) -> None:
    shared = pair.require_agreement(speaker, Speaker(tiny_models / "draft-hf"), ("big", "small"), tmp_path)
    assert shared == 600


def test_the_first_differing_id_is_named_with_both_texts(speaker: Speaker, tiny_models: Path, tmp_path: Path) -> None:
    other = Speaker(tiny_models / "draft-hf")
    other._tokenizer = Tokenizer.from_str(other._tokenizer.to_str().replace("<|im_start|>", "<|start|>"))
    with pytest.raises(MismatchedDraftError) as caught:
        pair.require_agreement(speaker, other, ("big", "small"), tmp_path)
    assert str(caught.value) == (
        "small cannot draft for big: id 1 is '<|im_start|>' in big but '<|start|>' in small; "
        "choose a draft with the same vocabulary."
    )
