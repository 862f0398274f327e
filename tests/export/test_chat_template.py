"""Chat templates are rendered once, in a process with limits: whatever is wrong with one becomes a sentence."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headstart.errors import ExportError
from headstart_export import tokenizer_proof
from tests import tiny

HOSTILE = "{{ cycler.__init__.__globals__.os.system('touch PLACE') }}"


def tokenizer(template: str) -> Any:
    """What of a tokenizer the templates need."""
    return SimpleNamespace(
        chat_template=template, get_chat_template=lambda: template, special_tokens_map={"bos_token": "<s>"}
    )


def refusal(template: str) -> str:
    """The sentence, without its frame."""
    with pytest.raises(ExportError) as caught:
        tokenizer_proof.render(tokenizer(template))
    said = str(caught.value)
    begin, end = "The chat template cannot be used (", "); choose another version of the model."
    assert said.startswith(begin)
    assert said.endswith(end)
    return said.removeprefix(begin).removesuffix(end)


def test_a_template_says_what_it_makes_and_how_an_answer_ends() -> None:
    chat = tokenizer_proof.render(tokenizer("{{ bos_token }}" + tiny.CHAT_TEMPLATE))
    assert chat is not None
    assert chat.text.startswith("<s><|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is 2 + 2?<")
    assert chat.text.endswith("Grüße, 世界 🙂<|im_end|>\n<|im_start|>assistant\n")
    assert chat.turns[0] == {"role": "system", "content": "Be brief."}
    assert chat.tail == "<|im_end|>\n"


def test_a_template_without_system_messages_gets_none() -> None:
    choosy = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}."
    chat = tokenizer_proof.render(tokenizer(choosy + "{% endfor %}"))
    assert chat is not None
    assert chat.text == "What is 2 + 2?.It is 4..Grüße, 世界 🙂."
    assert [turn["role"] for turn in chat.turns] == ["user", "assistant", "user"]


def test_no_template_is_no_chat() -> None:
    assert tokenizer_proof.render(tokenizer("")) is None


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ 1/0 }}", "ZeroDivisionError"),
        ("{{ messages + 1 }}", "TypeError"),
        ("{% for %}", "TemplateSyntaxError"),
        ("{{ 'x' * 3000000 }}", "it makes 3000000 characters of 2 short messages"),
        ("{{ 'x' * 30000000000 }}", "MemoryError"),
    ],
)
def test_a_broken_template_is_a_sentence(template: str, reason: str) -> None:
    assert reason in refusal(template)


def test_a_template_executes_nothing(tmp_path: Path) -> None:
    assert "SecurityError" in refusal(HOSTILE.replace("PLACE", str(tmp_path / "executed")))
    assert list(tmp_path.iterdir()) == []


def test_a_template_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_proof, "_TEMPLATE_MINUTES", 0.1)
    endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    assert refusal(endless) == "it took more than 0.1 min"


def test_several_templates_without_an_ordinary_one_are_told() -> None:
    def none() -> str:
        raise ValueError("This model has multiple chat templates with no default specified!")

    several = SimpleNamespace(chat_template={"tool_use": "x"}, get_chat_template=none)
    with pytest.raises(ExportError, match=r"cannot be used \(This model has multiple chat templates with no default"):
        tokenizer_proof.render(several)
