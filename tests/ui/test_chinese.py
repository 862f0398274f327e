"""The Chinese words of the window: all there, whole, in the right characters and as people there write."""

import importlib.util
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart.ui.actions import COMMANDS
from headstart.ui.translation import FOLDER
from tests import translations
from tests.translations import Message

CHINESE = ("zh_CN", "zh_TW")
HAN = r"[\u3400-\u9fff]"
MARKS = "，。；：！？（）、「」“”…"
# Nothing that a person of the other side would say; single characters are caught by their character set.
FOREIGN = {
    "zh_CN": ("信息窗", "默認", "记忆体", "资料夹", "软体", "视窗", "程式", "档案", "萤幕"),
    "zh_TW": ("默認", "文件夾", "軟件", "信息", "內存", "加載", "窗口", "程序", "質量", "菜單", "打開", "文本", "復制"),
}
GLOSSARY = {
    "draft model": ("草稿模型", "草稿模型"),
    "acceptance threshold": ("接受阈值", "接受閾值"),
    "confidence threshold": ("置信度阈值", "信心閾值"),
    "n-gram": ("n-gram", "n-gram"),
    "plain decoding": ("普通解码", "一般解碼"),
    "speculation": ("推测", "推測"),
    "system prompt": ("系统提示词", "系統提示詞"),
    "tokenizer": ("分词器", "分詞器"),
    "token": ("token", "token"),
    "folder": ("文件夹", "資料夾"),
    "licence": ("许可证", "授權條款"),
    "attachment": ("附件", "附件"),
    "benchmark": ("基准测试", "基準測試"),
}

HOLE = re.compile(r"\{[^{}]*\}")
DATE = "MMMM yyyy"  # a form, not words

Words = dict[Message, str]


def catalogue(language: str) -> Path:
    return FOLDER / f"headstart_{language}.ts"


@pytest.fixture(scope="module", params=CHINESE)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def said(language: str) -> Words:
    return translations.words(catalogue(language))


def holes(text: str) -> Counter[str]:
    """What is put into a text, commands of a terminal aside; bare braces count as their places."""
    found = [hole for hole in re.findall(r"\{[^{}]*\}|%n|%\d", text) if hole != "{command}"]
    bare = iter(range(len(found)))
    return Counter(f"{{{next(bare)}}}" if hole == "{}" else hole for hole in found)


def access_keys(text: str) -> list[str]:
    return re.findall(r"&(\w)", text)


def unspaced(text: str) -> Iterator[str]:
    """Places where Chinese stands against Latin letters, or a blank or a Latin mark against Chinese."""
    shown = re.sub(r"\(&\w\)", "", text)
    for form in (f"{HAN}[A-Za-z0-9]", f"[A-Za-z0-9]{HAN}", f"{HAN}[,.;:!?()]", f"[,;:!?()]{HAN}", f" [{MARKS[:-1]}]"):
        yield from re.findall(form, shown)
    yield from re.findall(f"[{MARKS[:-1]}] ", shown)


def test_nothing_is_missing_and_nothing_left_over(language: str, tmp_path: Path) -> None:
    if not importlib.util.find_spec("PySide6.scripts.pyside_tool"):
        pytest.skip("this PySide6 brings no lupdate")
    fresh = tmp_path / "fresh.ts"
    shutil.copy(catalogue(language), fresh)
    translations.update(fresh, language)
    assert translations.messages(fresh) == translations.messages(catalogue(language))
    assert not translations.messages(catalogue(language), unfinished=True)
    assert 'type="' not in catalogue(language).read_text(encoding="utf-8")  # vanished, obsolete


def test_what_is_filled_in_is_kept(said: Words) -> None:
    assert not {words: text for (_, words), text in said.items() if holes(words) != holes(text)}


def test_lines_and_edges_are_kept(said: Words) -> None:
    for (_, words), text in said.items():
        assert text.count("\n") == words.count("\n"), words
        assert words.endswith("…") == text.endswith("…"), words
        assert text.strip() == text or words.strip() != words, words


def test_access_keys_are_kept_and_stand_behind_the_words(said: Words) -> None:
    for (_, words), text in said.items():
        assert [key.upper() for key in access_keys(words)] == access_keys(text), words
        assert bool(access_keys(text)) == bool(re.search(r"\(&[A-Z]\)", text)), words


@pytest.mark.parametrize("language", ["en", *CHINESE])
def test_access_keys_differ_within_a_menu(language: str) -> None:
    said = {} if language == "en" else translations.words(catalogue(language))
    menus = [[command.text for command in COMMANDS if command.menu == menu] for menu in {c.menu for c in COMMANDS}]
    menus.append(list(dict.fromkeys(command.menu for command in COMMANDS)))
    for menu in menus:
        keys = [access_keys(said.get(("Actions", words), words).upper()) for words in menu]
        assert len({key for found in keys for key in found}) == len(menu), menu


def test_characters_are_those_of_the_place(said: Words, language: str) -> None:
    charset = {"zh_CN": "gb2312", "zh_TW": "big5"}[language]
    for words, text in said.items():
        han = "".join(re.findall(HAN, text))
        assert han.encode(charset, "ignore").decode(charset) == han, words


def test_words_are_those_of_the_place(said: Words, language: str) -> None:
    place = CHINESE.index(language)
    assert not {text for text in said.values() for word in FOREIGN[language] if word in text}
    for (_, words), text in said.items():
        for word, wanted in GLOSSARY.items():
            if re.search(rf"\b{word}s?\b", HOLE.sub("", words.lower())):
                assert wanted[place] in text, words


def test_chinese_and_latin_are_set_apart(said: Words) -> None:
    of_words = {text for (_, words), text in said.items() if words != DATE}
    assert not {text: found for text in of_words if (found := list(unspaced(text)))}


def test_planted_faults_are_found() -> None:
    assert holes("{} of {}") == holes("{1}/{0}") != holes("{}")
    assert list(unspaced("最多2个")) == ["多2", "2个"]
    assert list(unspaced("停止, 重试")) == ["止,"]
    assert list(unspaced("停止 ，重试")) == [" ，"]
    assert not list(unspaced("文件(&F)"))
