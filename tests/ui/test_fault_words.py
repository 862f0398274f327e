"""What other parts say in English is known to the window, sentence by sentence, and said in its language."""

import ast
import re
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from headstart.engine.process.watch import Doing, Silence
from headstart.ui import fault_words
from headstart.ui.fault_sentences import DETAILS, SENTENCES
from headstart.ui.fault_words import detailed, said
from tests import source_tree
from tests.source_tree import Module
from tests.ui.conftest import Speak

HOLE = re.compile(r"\{\w*[^{}]*\}")
# Their sentences reach the window; those of a terminal, of the engine's other end and about its own options do not.
HEARD = (
    "headstart.chat", "headstart.library", "headstart.intake", "headstart.manifest", "headstart.vocabulary",
    "headstart.pdf_text", "headstart.settings_file", "headstart.engine.loading", "headstart.engine.local",
    "headstart.engine.chat_template", "headstart.engine.memory", "headstart.engine.tokenizer",
    "headstart.engine.devices", "headstart.engine.process.host", "headstart.engine.backends.remote",
    "headstart.engine.selection", "headstart.engine.engine", "headstart.engine.backends.genai",
    "headstart.engine.opening", "headstart.engine.protocol", "headstart.engine.drafters.bigram",
    "headstart.engine.process.child", "headstart.engine.process.client", "headstart.engine.tuning", "headstart.keys",
    "headstart.remotes", "headstart.server.keys", "headstart.server.server",
    "headstart.exporter", "headstart.ui",
)  # fmt: skip
# A count of tokens that fails is a number less on the screen, and no sentence.
ASKED_OF_A_TERMINAL = (
    "{} does not count tokens beforehand",
    "Exact numerics compute in f32",  # the window offers no precision
    "{} was not exported, for the reason above.",  # what the exporter said there
    "{} must be exported first",
    "OpenVINO GenAI cannot answer in batches",  # nor batches
    "Several models are installed",
    "No installed model can be used",
    "There is no display",
    "Fixed speculation needs a length",  # the window's settings refuse that before, in words of their own
    "{} must be {}, not {}.",  # fields of a form keep to their bounds
    "{} can be reached from other computers",
    "host must be an address",
    "servers.{} must be a table",  # a log has it
    "A benchmark needs at least one prompt",
    "OpenVINO GenAI is not asked",  # how likely tokens were: that is asked by programs alone
    "{} is only asked to answer conversations",
    "The engine did not",  # a client of the local server hears it
    "OpenVINO GenAI does not tell what a trace holds",
)


def heard() -> list[Module]:
    return [module for module in source_tree.modules("headstart") if any(map(module.is_in, HEARD))]


def sentence(node: ast.expr | None) -> str:
    """A text with braces where something is put in; empty where it is none."""
    if isinstance(node, ast.JoinedStr):
        return "".join(sentence(part) or "{}" for part in node.values)
    return HOLE.sub("{}", node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def raised(module: Module) -> Iterator[str]:
    """The sentences of the errors that a module raises."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            name = getattr(node.exc.func, "id", "")
            if name.endswith("Error") and name not in ("TypeError", "ValueError", "RuntimeError", "KeyError"):
                yield sentence(node.exc.args[0])


def test_every_sentence_is_known() -> None:
    found = {text for module in heard() for text in raised(module) if text.endswith(".") and text[0] != '"'}
    assert len(found) > 30
    unknown = {
        text
        for text in found
        if not any(form.fullmatch(text) for _, form in fault_words._sentences())
        and not text.startswith(ASKED_OF_A_TERMINAL)
    }
    assert not unknown


@pytest.mark.parametrize("doing", Doing)
def test_an_engine_that_hangs_is_told_in_the_windows_language(speak: Speak, doing: Doing) -> None:
    sentence = Silence(doing, 61.0).sentence
    assert said(sentence) == sentence
    speak("zh_CN")
    told = said(sentence)
    assert "61 秒没有任何响应" in told
    assert not re.search("[a-z]", told)


def test_no_sentence_is_known_that_nobody_says() -> None:
    texts = [
        "".join(sentence(node) + "\n" for node in ast.walk(module.tree) if isinstance(node, ast.expr))
        for module in (*source_tree.modules("headstart"), *source_tree.modules("headstart_export"))
        if not module.is_in("headstart.ui") or not module.name.endswith("_sentences")
    ]
    for known in map(str, (*SENTENCES, *DETAILS)):
        pieces = [piece for part in HOLE.split(known) for piece in part.replace(". D", ".\0D").split("\0")]
        own = [piece for piece in pieces if any(map(str.isalpha, piece))]
        assert any(all(_says(text, piece) for piece in own) for text in texts), known


def _says(text: str, piece: str) -> bool:
    """A remedy that several sentences share stands in a place of its own."""
    return piece in text or all(half.strip() in text for half in piece.split("; "))


def test_a_sentence_keeps_its_details(speak: Speak) -> None:
    speak("zh_CN")
    assert said("This chat no longer exists in the history; start a new one.") == "历史记录中已没有此对话；请新建对话。"
    assert said("There already is a tag “a and b”; choose another name.") == "已有标签“a and b”；请换一个名称。"
    assert detailed("x.bin is missing; y.bin has 3 bytes instead of 4") == "缺少 x.bin；y.bin 有 3 字节，应为 4 字节"


def test_parts_of_a_sentence_are_translated_too(speak: Speak) -> None:
    speak("zh_TW")
    told = said(
        "Loading a and b with 4096 tokens of context takes about 9.0 GB of memory, but 2.0 GB is free: choose a "
        "smaller context (512 tokens would fit), a smaller draft or none, or a smaller model."
    )
    assert told == (
        "以 4096 個 token 的上下文載入 a and b 約需 9.0 GB 記憶體，但可用記憶體為 2.0 GB："
        "請選擇更小的上下文（512 個 token 可以容納）、更小的草稿模型或不用草稿模型，或更小的模型。"
    )
    assert said("draft d does not fit t: id 3 is 'a' here and 'b' there; choose a draft with the same tokenizer.") == (
        "草稿模型 d 與 t 不相容：ID 3 在此處為 'a'，在彼處為 'b'；請選擇分詞器相同的草稿模型。"
    )


@pytest.mark.parametrize("text", ["Something else. That happened.", "已停止。", ""])
def test_what_is_not_known_stays(speak: Speak, text: str) -> None:
    speak("zh_CN")
    assert said(text) == text


def test_as_long_as_no_language_is_spoken_nothing_changes(qapp: QApplication) -> None:
    for known in map(str, SENTENCES):
        filled = HOLE.sub("x", known)
        assert said(filled) == filled
