"""The window speaks other languages: every text can be translated, is found by Qt's tools, and is shown translated."""

import ast
import importlib.util
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from PySide6.QtCore import QCoreApplication, QLocale
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from headstart import remotes
from headstart.engine import engine, opening
from headstart.engine.backends.genai.engine import guessing
from headstart.engine.backends.genai.pipelines import PipelineKind
from headstart.engine.backends.remote.errors import refusal
from headstart.engine.engine import ConversationRequest, EngineKind, LoadOptions, Remote, Sampling
from headstart.engine.hardware import devices
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.loading import loading
from headstart.engine.process.watchdog import Activity, HangReport
from headstart.errors import HeadstartError, HistoryError, MismatchedDraftError, Translatable, listed
from headstart.library import library
from headstart.library.manifest import ModelSpec
from headstart.server import server
from headstart.settings import about
from headstart.ui.actions import COMMANDS
from headstart.ui.models.add_model_controller import ExportRun
from headstart.ui.translation import FOLDER, Translation, choose_locale, language_of, translate_error
from tests import translations
from tests.source.source_tree import Module
from tests.stand_ins.model_folders import resolved_model, write_model
from tests.translations import Message, is_of_a_terminal
from tests.ui.conftest import Speak

BUTTONS = {"button", "icon_button", "addButton", "QPushButton", "_button"}
_NAMES = {"Headstart", "Markdown", "PDF", "Word"}  # in texts of buttons
_SMALL = {"a", "an", "as", "for", "from", "in", "of", "or", "the", "to", "up", "with"}  # in menus
MARKERS = {"translate", "QT_TRANSLATE_NOOP"}
SHOWN = {
    "QLabel", "QPushButton", "QCheckBox", "QRadioButton", "QToolButton", "QGroupBox", "QAction", "ElidedLabel",
    "setText", "setToolTip", "setWindowTitle", "setPlaceholderText", "setAccessibleName", "setAccessibleDescription",
    "setStatusTip", "addTab", "addMenu", "addAction", "setTitle", "setInformativeText", "setDetailedText",
}  # fmt: skip


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _calls(node: ast.AST, owner: str = "") -> Iterator[tuple[ast.Call, str]]:
    """Yield every call with its class."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield child, owner
        yield from _calls(child, child.name if isinstance(child, ast.ClassDef) else owner)


def _translated_texts(module: Module) -> Iterator[Message]:
    """Yield the texts that a module translates, each with its context, found by Python's parser."""
    for call, owner in _calls(module.tree):
        name, texts = _called(call), [_text(argument) for argument in call.args]
        if name == "tr" and texts[0] is not None:
            yield owner, texts[0]
        elif name in MARKERS and len(texts) > 1 and texts[0] is not None and texts[1] is not None:
            yield texts[0], texts[1]


def _untranslatable(module: Module) -> Iterator[str]:
    """Return the letters that are shown without translation."""
    for call, _ in _calls(module.tree):
        for argument in call.args[:1] if _called(call) in SHOWN else []:
            parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
            words = "".join(_text(part) or "" for part in parts)
            if words != "Headstart" and any(letter.isalpha() for letter in words):
                yield f"{module.name}:{call.lineno} {words!r}"


def _of_calls(module: Module, names: set[str]) -> Iterator[str]:
    """Yield the texts that calls of these names get to be translated."""
    for call, _ in _calls(module.tree):
        for marked in call.args if _called(call) in names else []:
            if isinstance(marked, ast.Call) and _called(marked) in {"tr", "translate"}:
                yield _text(marked.args[-1]) or ""


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]+", text.replace("&", ""))


def _module(text: str) -> Module:
    return Module("headstart.ui.planted", Path("planted.py"), text)


def _all(modules: Iterable[Module]) -> set[Message]:
    return {message for module in modules for message in _translated_texts(module)}


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A .ts file of all texts of the window."""
    path = tmp_path_factory.mktemp("i18n") / "headstart_zh_CN.ts"
    translations.update(path, "zh_CN")
    return path


def test_tools_of_qt_find_every_text_in_the_context_it_is_asked_for(catalogue: Path) -> None:
    found = translations.messages(catalogue)
    texts = _all(translations.window_sources())
    assert len(texts) > 300
    assert texts <= found
    assert {("Settings", known.meaning) for known in about().values()} <= found


def test_nothing_is_shown_that_cannot_be_translated() -> None:
    assert not [fault for module in translations.window_sources() for fault in _untranslatable(module)]


def test_buttons_have_a_capital_at_the_start_and_menus_at_each_word() -> None:
    modules = translations.window_sources()
    buttons = {text for module in modules for text in _of_calls(module, BUTTONS)}
    menus = {text for module in modules for text in _of_calls(module, {"addAction"})}
    menus |= {command.text for command in COMMANDS}
    assert min(len(buttons), len(menus)) > 20
    assert [text for text in buttons if not _words(text)[0][0].isupper()] == []
    lower = [(text, word) for text in buttons for word in _words(text.partition("(")[0])[1:] if not word.islower()]
    assert {text for text, word in lower if word not in _NAMES} == set()
    assert {text for text in menus for word in _words(text) if word not in _SMALL and word[0].islower()} == set()


def test_what_a_translator_writes_is_what_the_window_says(qapp: QApplication, catalogue: Path, tmp_path: Path) -> None:
    text = catalogue.read_text(encoding="utf-8")
    empty = '<source>&amp;File</source>\n        <translation type="unfinished"></translation>'
    assert empty in text
    translated = tmp_path / "headstart_zh_CN.ts"
    translated.write_text(
        text.replace(empty, "<source>&amp;File</source>\n        <translation>文件</translation>"), encoding="utf-8"
    )
    assert translations.stale(tmp_path) == ["headstart_zh_CN.ts"]
    translations.compile_(translated)
    assert not translations.stale(tmp_path)
    assert ("Actions", "&File") not in translations.messages(translated, unfinished=True)
    before = QLocale()
    spoken_now = Translation(qapp, tmp_path)
    try:
        assert spoken_now.install("zh_CN").name() == "zh_CN"
        assert QCoreApplication.translate("Actions", "&File") == "文件"
        assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "取消"  # Qt's own words
        spoken_now.install("en")
        assert QCoreApplication.translate("Actions", "&File") == "&File"
    finally:
        spoken_now.install("en")
        QLocale.setDefault(before)


@pytest.mark.parametrize(
    ("system", "expected"),
    [("en_GB", "en"), ("zh_CN", "zh_CN"), ("zh_SG", "zh_CN"), ("zh_TW", "zh_TW"), ("zh_HK", "zh_TW"), ("de_DE", "en")],
)
def test_language_of_the_system_is_taken_where_the_window_speaks_it(system: str, expected: str) -> None:
    assert language_of(choose_locale("", QLocale(system))) == expected
    assert language_of(choose_locale("zh_TW", QLocale(system))) == "zh_TW"


def test_translations_that_are_there_are_compiled_as_they_are() -> None:
    assert translations.stale() == [], "run `python -m tests.translations`"


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
    "speculation": ("猜测", "猜測"),
    "guess ahead": ("预先猜测", "預先猜測"),
    "guessing ahead": ("预先猜测", "預先猜測"),
    "guesses per step": ("每步猜测数", "每步猜測數"),
    "time saved": ("节省的时间", "節省的時間"),
    "accepted": ("接受", "接受"),
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


def file_of(language: str) -> Path:
    return FOLDER / f"headstart_{language}.ts"


@pytest.fixture(scope="module", params=CHINESE)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def chinese(language: str) -> Words:
    return translations.words(file_of(language))


def holes(text: str) -> Counter[str]:
    """Return the placeholders of a text, without commands of a terminal; bare braces count as their places."""
    found = [hole for hole in re.findall(r"\{[^{}]*\}|%n|%\d", text) if hole != "{command}"]
    bare = iter(range(len(found)))
    return Counter(f"{{{next(bare)}}}" if hole == "{}" else hole for hole in found)


def access_keys(text: str) -> list[str]:
    return re.findall(r"&(\w)", text)


def unspaced(text: str) -> Iterator[str]:
    """Return places where Chinese touches Latin letters, or where a blank or a Latin mark touches Chinese."""
    shown = re.sub(r"\(&\w\)", "", text)
    for form in (f"{HAN}[A-Za-z0-9]", f"[A-Za-z0-9]{HAN}", f"{HAN}[,.;:!?()]", f"[,;:!?()]{HAN}", f" [{MARKS[:-1]}]"):
        yield from re.findall(form, shown)
    yield from re.findall(f"[{MARKS[:-1]}] ", shown)


def test_nothing_is_missing_and_nothing_left_over(language: str, tmp_path: Path) -> None:
    if not importlib.util.find_spec("PySide6.scripts.pyside_tool"):
        pytest.skip("this PySide6 brings no lupdate")
    fresh = tmp_path / "fresh.ts"
    shutil.copy(file_of(language), fresh)
    translations.update(fresh, language)
    remedy = f"run `python -m tests.translations`, translate what is new in {file_of(language)}, and run it again"
    assert translations.messages(fresh) == translations.messages(file_of(language)), remedy
    assert not translations.messages(file_of(language), unfinished=True), remedy
    assert 'type="' not in file_of(language).read_text(encoding="utf-8")  # vanished, obsolete


def test_what_is_filled_in_is_kept(chinese: Words) -> None:
    assert not {words: text for (_, words), text in chinese.items() if holes(words) != holes(text)}


def test_lines_and_edges_are_kept(chinese: Words) -> None:
    for (_, words), text in chinese.items():
        assert text.count("\n") == words.count("\n"), words
        assert words.endswith("…") == text.endswith("…"), words
        assert text.strip() == text or words.strip() != words, words


def test_access_keys_are_kept_and_follow_the_words(chinese: Words) -> None:
    for (_, words), text in chinese.items():
        assert [key.upper() for key in access_keys(words)] == access_keys(text), words
        assert bool(access_keys(text)) == bool(re.search(r"\(&[A-Z]\)", text)), words


@pytest.mark.parametrize("language", ["en", *CHINESE])
def test_access_keys_differ_within_a_menu(language: str) -> None:
    chinese = {} if language == "en" else translations.words(file_of(language))
    menus = [[command.text for command in COMMANDS if command.menu == menu] for menu in {c.menu for c in COMMANDS}]
    menus.append(list(dict.fromkeys(command.menu for command in COMMANDS)))
    for menu in menus:
        keys = [access_keys(chinese.get(("Actions", words), words).upper()) for words in menu]
        assert len({key for found in keys for key in found}) == len(menu), menu


def test_characters_are_those_of_the_place(chinese: Words, language: str) -> None:
    charset = {"zh_CN": "gb2312", "zh_TW": "big5"}[language]
    for words, text in chinese.items():
        han = "".join(re.findall(HAN, text))
        assert han.encode(charset, "ignore").decode(charset) == han, words


def test_words_are_those_of_the_place(chinese: Words, language: str) -> None:
    place = CHINESE.index(language)
    assert not {text for text in chinese.values() for word in FOREIGN[language] if word in text}
    for (_, words), text in chinese.items():
        for word, wanted in GLOSSARY.items():
            if re.search(rf"\b{word}s?\b", HOLE.sub("", words.lower())):
                assert wanted[place] in text, words


def test_chinese_and_latin_are_set_apart(chinese: Words) -> None:
    of_words = {text for (_, words), text in chinese.items() if words != DATE}
    assert not {text: found for text in of_words if (found := list(unspaced(text)))}


def test_no_fault_that_a_window_may_show_is_a_finished_sentence() -> None:
    finished = [
        f"{module.name}:{node.lineno}"
        for module in translations.fault_sources()
        for node in translations.fault_calls(module)
        if isinstance(node.args[0], ast.JoinedStr)
    ]
    assert not finished


@pytest.mark.parametrize("activity", Activity)
def test_hanging_engine_is_reported_in_the_language_of_the_window(speak: Speak, activity: Activity) -> None:
    sentence = HangReport(activity, 61.0).sentence
    assert translate_error(sentence) == sentence
    speak("zh_CN")
    told = translate_error(sentence)
    assert "61 秒没有任何响应" in told
    assert not re.search("[a-z]", told)


def test_sentence_keeps_its_values(speak: Speak) -> None:
    speak("zh_CN")
    error = HistoryError("There already is a tag “{kept}”; choose another name.", kept="a {b}")
    assert translate_error(error) == "已有标签“a {b}”；请换一个名称。"


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
    assert (
        translate_error(error)
        == "草稿模型 d 與 t 不相容：ID 3 在此處為 'a'，在彼處為 'b'；請選擇分詞器相同的草稿模型。"
    )
    speak("zh_CN")
    assert translate_error(listed([missing, short])) == "缺少 x.bin；y.bin 有 3 字节，应为 4 字节"


@pytest.mark.parametrize("text", ["Something else. That happened.", "已停止。", ""])
def test_what_is_not_known_stays(speak: Speak, text: str) -> None:
    speak("zh_CN")
    assert translate_error(text) == text
    assert translate_error(Translatable(text)) == text


# There a command is what the text is about, mostly to be copied.
ABOUT_A_TERMINAL = {"AddModelController", "EncryptionPage", "ExporterNote"}
SERVER = Remote("office", "https://office:8443/v1", "big")
NAMED = re.compile("“([^{}”]+)”")


@pytest.fixture(scope="module")
def reworded() -> dict[Message, str]:
    return translations.words(file_of("en"))


def test_everything_that_needs_other_words_has_them(reworded: dict[Message, str], tmp_path: Path) -> None:
    assert set(reworded) == {("Faults", text) for text in translations.reworded()}
    assert len(reworded) > 30
    assert not translations.messages(file_of("en"), unfinished=True)
    assert all(holes(text) == holes(wording) for (_, text), wording in reworded.items())
    if not importlib.util.find_spec("PySide6.scripts.pyside_tool"):
        pytest.skip("this PySide6 brings no lupdate")
    fresh = tmp_path / "fresh.ts"
    shutil.copy(file_of("en"), fresh)
    translations.update(fresh, "en")
    assert translations.words(fresh) == reworded


@pytest.mark.parametrize("language", ["en", *CHINESE])
def test_nothing_that_a_window_shows_is_of_a_terminal(reworded: dict[Message, str], language: str) -> None:
    plain = {message: message[1] for message in translations.messages(file_of(CHINESE[0]))}
    shown = {**plain, **reworded} if language == "en" else translations.words(file_of(language))
    assert not {text for (about, _), text in shown.items() if about not in ABOUT_A_TERMINAL and is_of_a_terminal(text)}


def test_settings_and_buttons_have_the_names_that_the_window_gives_them(reworded: dict[Message, str]) -> None:
    chinese = [translations.words(file_of(language)) for language in CHINESE]
    own = {text for _, text in chinese[0]} | {"Headstart"}
    for message, wording in reworded.items():
        for name in NAMED.findall(wording):
            assert name in own, wording
            for words in chinese:
                names = [text for (_, source), text in words.items() if source == name] or [name]
                assert any(each in words[message] for each in names), (name, words[message])


def _refused(*, device: str = "CPU", head: str | None = None) -> object:
    options = LoadOptions(Path("model"), device=device, engine=EngineKind.HEADSTART)
    with TemporaryDirectory() as folder:
        return opening.choose_engine(resolved_model(Path(folder), options, head))


def _sampled_with_a_draft() -> object:
    request = ConversationRequest((engine.Message("user", "?"),), sampling=Sampling(temperature=0.7))
    return guessing(request, PipelineKind.DRAFT, npu=False)


def _answered(status: int, words: str, *, has_key: bool = False) -> object:
    asked = httpx.Request("POST", SERVER.url, headers={"Authorization": "Bearer key"} if has_key else {})
    raise refusal(SERVER, httpx.Response(status, json={"error": {"message": words}}, request=asked))


def _unloadable(device: str) -> object:
    with TemporaryDirectory() as folder:
        model = ModelSpec.read(write_model(Path(folder, "small")))
    measurements = Measurements(Path(folder), "small", {})
    raise loading.load_error(loading.VerifiedModel(Path("/m/small"), model.manifest, device, measurements), "no")


def _raised(error: HeadstartError) -> object:
    raise error


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "head": (
        lambda: _refused(head="eagle", device="GPU"),
        "Headstart's own engine uses the EAGLE-3 head eagle on a processor only: set “Engine” to “Automatic”, or "
        "“Device” to CPU.",
    ),
    "npu": (
        lambda: _refused(device="NPU"),
        "An NPU compiles a fixed prompt length in, while Headstart's own engine feeds passes of any length: set "
        "“Engine” to “Automatic”, or “Device” to CPU.",
    ),
    "sampled": (
        _sampled_with_a_draft,
        "OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): set “Engine” to "
        "“Headstart”, “Temperature” to 0, or “Speed-up” to “Off”.",
    ),
    "device": (
        lambda: _unloadable("GPU"),
        "GPU refuses small (no). Try it with “Device” set to CPU.",
    ),
    "missing device": (
        lambda: _raised(devices._refusal("GPU", ("CPU", "NPU"), devices.DRAFT_DEVICE)),
        "There is no device GPU here; present: CPU, NPU. Choose one with “Draft device”. If this computer has a "
        "GPU, its driver is missing or closed to you.",
    ),
    "several devices": (
        lambda: _raised(devices._refusal("HETERO:CPU", ("CPU",), devices.DEVICE)),
        "Headstart runs a model on one device, not on HETERO:CPU; present: CPU. Choose one with “Device”, or AUTO.",
    ),
    "first model": (
        lambda: library.find("big"),
        "There is no model 'big': none is installed yet.",
    ),
    "broken": (
        lambda: _unloadable("CPU"),
        f"{Path('/m/small')} cannot be loaded (no). Export it again on the page of models.",
    ),
    "key": (lambda: _answered(401, "no"), "office wants a key (no); add the server again with its “Key”."),
    "other key": (
        lambda: _answered(401, "no", has_key=True),
        "office refuses the key (no); add the server again with another “Key”.",
    ),
    "other model": (
        lambda: _answered(404, "no such model"),
        "office does not know the model 'big' (no such model); add the server again with one that it has under "
        "“Model”.",
    ),
    "no server": (
        lambda: remotes.find("remote:lab"),
        "There is no server 'lab'; none is known yet. Add it on the page of models.",
    ),
    "password": (
        lambda: remotes.checked(Remote("lab", "https://me:secret@lab/v1")),
        "An address must not hold a password; give the key under “Key” instead.",
    ),
    "port": (
        lambda: _raised(server._bind_error("127.0.0.1", 8642, OSError(22, "odd"))),
        "127.0.0.1 port 8642 cannot be used (odd): choose another “Port”.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("language", ["en", *CHINESE])
def test_real_fault_is_translated(speak: Speak, name: str, language: str) -> None:
    cause, expected = CASES[name]
    with pytest.raises(HeadstartError) as refused:
        cause()
    speak(language)
    assert translate_error(refused.value) != str(refused.value)
    assert not is_of_a_terminal(translate_error(refused.value))
    if language == "en":
        assert translate_error(refused.value) == expected


def test_result_of_an_export_is_translated(qtbot: QtBot, speak: Speak, headstart_home: Path) -> None:
    speak("en")
    run = ExportRun()
    with qtbot.waitSignal(run.ended, timeout=60_000) as ended:
        run.start((sys.executable, "-m", "headstart_export"), ("qwen3-4b+0.6b", "--draft", "small"))
    assert ended.args == [
        False,
        "qwen3-4b+0.6b is the recipe of a pair: it names both models, so leave “Draft model” empty.",
    ]
