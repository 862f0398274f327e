"""What parts without a window say of a fault is a template, put into the window's language where it is shown."""

import ast
import re

import pytest

from headstart.engine.process.watch import Doing, Silence
from headstart.errors import HistoryError, MismatchedDraftError, Translatable, listed
from headstart.ui.translation import said
from tests import translations
from tests.ui.conftest import Speak
from tests.ui.test_chinese import CHINESE, catalogue, holes


@pytest.mark.parametrize("language", CHINESE)
def test_every_fault_that_a_window_may_show_is_translated(language: str) -> None:
    known = translations.words(catalogue(language))
    templates = translations.faults()
    assert len(templates) > 200
    assert not [text for text in templates if holes(known.get(("Faults", text), "")) != holes(text)]


def test_no_fault_that_a_window_may_show_is_a_finished_sentence() -> None:
    finished = [
        f"{module.name}:{node.lineno}"
        for module in translations.fault_sources()
        for node in translations.fault_calls(module)
        if isinstance(node.args[0], ast.JoinedStr)
    ]
    assert not finished


@pytest.mark.parametrize("doing", Doing)
def test_an_engine_that_hangs_is_told_in_the_windows_language(speak: Speak, doing: Doing) -> None:
    sentence = Silence(doing, 61.0).sentence
    assert said(sentence) == sentence
    speak("zh_CN")
    told = said(sentence)
    assert "61 秒没有任何响应" in told
    assert not re.search("[a-z]", told)


def test_a_sentence_keeps_its_values(speak: Speak) -> None:
    speak("zh_CN")
    error = HistoryError("There already is a tag “{kept}”; choose another name.", kept="a {b}")
    assert said(error) == "已有标签“a {b}”；请换一个名称。"


def test_parts_of_a_sentence_are_translated_too(speak: Speak) -> None:
    difference = Translatable("id {id} is {first} here and {second} there", id=3, first="'a'", second="'b'")
    error = MismatchedDraftError(
        "draft {draft} does not fit {target}: {difference}; choose a draft with the same tokenizer.",
        draft="d",
        target="t",
        difference=difference,
    )
    missing = Translatable("{name} is missing", name="x.bin")
    short = Translatable("{name} has {present} bytes instead of {wanted}", name="y.bin", present=3, wanted=4)
    assert str(listed([missing, short])) == "x.bin is missing; y.bin has 3 bytes instead of 4"
    speak("zh_TW")
    assert said(error) == "草稿模型 d 與 t 不相容：ID 3 在此處為 'a'，在彼處為 'b'；請選擇分詞器相同的草稿模型。"
    speak("zh_CN")
    assert said(listed([missing, short])) == "缺少 x.bin；y.bin 有 3 字节，应为 4 字节"


@pytest.mark.parametrize("text", ["Something else. That happened.", "已停止。", ""])
def test_what_is_not_known_stays(speak: Speak, text: str) -> None:
    speak("zh_CN")
    assert said(text) == text
    assert said(Translatable(text)) == text
