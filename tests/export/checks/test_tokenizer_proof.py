"""Converted tokenizers and chat templates do as their sources do, token by token too; what differs is found.

Templates are rendered once, in a process with limits: whatever is wrong with one becomes a sentence.
"""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer as Source

from headstart.engine.answer_writer import AnswerText
from headstart.engine.text.tokenizer import Tokenizer
from headstart.errors import ExportError
from headstart_export.checks import tokenizer_proof
from headstart_export.checks.tokenizer_proof import RenderedChat
from headstart_export.conversion import convert
from tests.conftest import built_once
from tests.export.checks import tokenizer_kinds
from tests.export.checks.tokenizer_kinds import ALONE, FOUND, JOINED, KINDS, TAGGED
from tests.stand_ins import tiny

PROVEN = (convert, tokenizer_proof)
LEAST = 20_000
MARKS = "ẍ́x", "a\u0323\u0302", "مُحَمَّدٌ لَّ".replace("\u064e\u0651", "\u0651\u064e"), "שָׁלוֹם"


class Speaker:
    """A tokenizer with the methods of transformers' that the checks use."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Source.from_file(str(folder / "tokenizer.json"))

    def __call__(self, text: str, **_options: Any) -> SimpleNamespace:
        """The ids of a text."""
        return SimpleNamespace(input_ids=self._tokenizer.encode(text).ids)

    def decode(self, ids: list[int], **_options: Any) -> str:
        """All tokens, special ones included."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=False))


@pytest.fixture(scope="session")
def kinds() -> Path:
    """The folder of all kinds, not to be altered."""
    return built_once(tokenizer_kinds.__name__, *(str(module.__file__) for module in (tokenizer_kinds, *PROVEN)))


@pytest.fixture(scope="session")
def found(kinds: Path) -> dict[str, dict[str, Any]]:
    """Return by kind how many texts there were, and the first difference."""
    answers: dict[str, dict[str, Any]] = json.loads((kinds / FOUND).read_text(encoding="utf-8"))
    return answers


@pytest.mark.parametrize("kind", KINDS)
def test_every_tokenizer_kind_is_converted_faithfully(found: dict[str, dict[str, Any]], kind: str) -> None:
    assert found[kind]["fault"] == ""
    assert found[kind]["texts"] >= LEAST


@pytest.mark.parametrize("kind", JOINED)
def test_joined_splits_of_openvino_are_found(found: dict[str, dict[str, Any]], kind: str) -> None:
    fault = found[ALONE + kind]["fault"]
    assert fault.startswith("The OpenVINO tokenizer reads '1.  a\\n\\n2.   b\\n    3 | 4  ½ ١٢' as [")


def test_tags_that_openvino_takes_for_bytes_are_found(found: dict[str, dict[str, Any]]) -> None:
    fault = found[ALONE + TAGGED]["fault"]
    assert re.fullmatch(r"The OpenVINO tokenizer writes \[\d+\] as '\ufffd', its source as '<code>'\.", fault)


def test_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"has no tokenizer\.json, which Headstart needs"):
        convert.load_tokenizer(tmp_path)


def test_probe_texts_are_stable_and_hold_every_character() -> None:
    first, second = tokenizer_proof.texts(), tokenizer_proof.texts()
    assert first == second
    assert len(first) > 3 * LEAST
    assert {chr(code) for code in (*range(0xD800), *range(0xE000, 1 << 16))} <= set(first)
    assert "1\n\n2" in first


@pytest.mark.parametrize("kind", ["smollm", "qwen", "llama 2", "gemma"])
def test_engine_reads_and_streams_probes_like_the_source(kinds: Path, kind: str) -> None:
    source, ours = Source.from_file(str(kinds / kind / "tokenizer.json")), Tokenizer(kinds / f"{kind} converted")
    for text in (*MARKS, *tokenizer_proof.texts()[:300:6]):
        ids = source.encode(text, add_special_tokens=False).ids
        assert ours.encode(text) == ids
        answer = AnswerText(ours.texts)
        shown = [answer.push([token]).text for token in ids]
        assert "".join([*shown, answer.finish()[1]]) == source.decode(ids)


def test_difference_refuses_the_export(kinds: Path) -> None:
    speaker = Speaker(kinds / "smollm")
    folder = kinds / "alone" / "smollm converted"
    with pytest.raises(ExportError, match=r"reads .* as \[.*, its source as .* The model would get wrong tokens, so"):
        tokenizer_proof.prove(folder, kinds / "smollm", speaker, None)


def test_differing_chat_template_refuses_the_export(tiny_target: Path) -> None:
    with pytest.raises(ExportError, match="is not that of its source"):
        tokenizer_proof.prove(tiny_target, tiny_target, Speaker(tiny_target), RenderedChat("{{ messages }}", "hi", ""))


def test_unloadable_tokenizer_is_an_error(tiny_target: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_target, tmp_path / "model"))
    (folder / "openvino_tokenizer.xml").write_text("<net", encoding="utf-8")
    with pytest.raises(ExportError, match=r"cannot be compared with its source \(.+\); nothing was kept"):
        tokenizer_proof.prove(folder, tiny_target, Speaker(tiny_target), None)


class Stutterer:
    """A tokenizer that decodes a beginning of two tokens otherwise than its continuation."""

    def decode(self, batch: Sequence[Sequence[int]], *, skip_special_tokens: bool) -> list[str]:
        """Decode tokens as their letters."""
        assert skip_special_tokens
        return ["?" * 2 if len(ids) == 2 else "".join(map(chr, ids)) for ids in batch]


def test_changed_streamed_text_is_found() -> None:
    ids = [ord(letter) for letter in "abc"]
    (fault,) = tokenizer_proof._streaming_faults(Stutterer(), [ids], ["abc"])
    assert fault.endswith("writes [97, 98, 99] one by one as 'abc', at once as 'abc'.")


def test_rebuilt_tokenizer_gives_back_every_probe(tiny_source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speaker = Speaker(tiny_source)
    tokenizer_proof.require_round_trip(speaker, "x.gguf")
    monkeypatch.setattr(Speaker, "decode", lambda _self, ids, **_options: f"{len(ids)} ids")
    with pytest.raises(ExportError, match=r"The tokenizer rebuilt from x\.gguf turns .Hello world.* into '\d+ ids'"):
        tokenizer_proof.require_round_trip(speaker, "x.gguf")


HOSTILE = "{{ cycler.__init__.__globals__.os.system('touch PLACE') }}"


def tokenizer(template: str) -> Any:
    """Return the part of a tokenizer that templates need."""
    return SimpleNamespace(
        chat_template=template, get_chat_template=lambda **_options: template, special_tokens_map={"bos_token": "<s>"}
    )


def refusal(template: str) -> str:
    """Return the error of a template, without its frame."""
    with pytest.raises(ExportError) as caught:
        tokenizer_proof.render(tokenizer(template))
    said = str(caught.value)
    begin, end = "The chat template cannot be used (", "); choose another version of the model."
    assert said.startswith(begin)
    assert said.endswith(end)
    return said.removeprefix(begin).removesuffix(end)


def test_template_defines_roles_and_the_end() -> None:
    chat = tokenizer_proof.render(tokenizer("{{ bos_token }}" + tiny.CHAT_TEMPLATE))
    assert chat is not None
    assert chat.text.startswith("<s><|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is 2 + 2?<")
    assert chat.text.endswith("Grüße, 世界 🙂<|im_end|>\n<|im_start|>assistant\n")
    assert chat.tail == "<|im_end|>\n"


def test_template_without_system_messages_gets_none() -> None:
    choosy = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}."
    chat = tokenizer_proof.render(tokenizer(choosy + "{% endfor %}"))
    assert chat is not None
    assert chat.text == "What is 2 + 2?.It is 4..Grüße, 世界 🙂."


def test_missing_template_means_no_chat() -> None:
    assert tokenizer_proof.render(tokenizer("")) is None


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ 1/0 }}", "ZeroDivisionError"),
        ("{{ messages + 1 }}", "TypeError"),
        ("{% for %}", "Expected an expression"),
        ("{{ 'x' * 3000000 }}", "it makes 3000000 characters of 2 short messages"),
        ("{{ 'x' * 30000000000 }}", "too many steps"),
        ("{% if tools %}{{ tools | from_json }}{% endif %}", "it uses the filter `from_json`, which no renderer has"),
        ("{{ tools_of(messages) if tools }}", "the function `tools_of`"),
    ],
)
def test_broken_template_is_an_error(template: str, reason: str) -> None:
    assert reason in refusal(template)


def test_template_executes_nothing(tmp_path: Path) -> None:
    assert "is unsafe" in refusal(HOSTILE.replace("PLACE", str(tmp_path / "executed")))
    assert list(tmp_path.iterdir()) == []


def test_endless_template_is_ended() -> None:
    endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    assert "too many steps" in refusal(endless)


def test_template_without_tools_says_why() -> None:
    refusing = (
        "{% for m in messages %}{{ m.content }}{% if m.tool_calls %}{{ m.content.nothing() }}{% endif %}{% endfor %}"
    )
    chat = tokenizer_proof.render(tokenizer(refusing))
    assert chat is not None
    assert chat.tools_refusal == "'str object' has no attribute 'nothing'"


def test_several_templates_without_a_default_are_refused() -> None:
    def none(**_options: Any) -> str:
        raise ValueError("This model has multiple chat templates with no default specified!")

    several = SimpleNamespace(chat_template={"tool_use": "x"}, get_chat_template=none)
    with pytest.raises(ExportError, match=r"cannot be used \(This model has multiple chat templates with no default"):
        tokenizer_proof.render(several)
