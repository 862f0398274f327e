"""The window speaks other languages: every text can be translated, is found by Qt's tools, and is shown translated."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QLocale
from PySide6.QtWidgets import QApplication

from headstart.settings import about
from headstart.ui.translation import Translation, chosen, spoken
from tests import translations
from tests.source_tree import Module
from tests.translations import Message

MARKS = {"translate", "QT_TRANSLATE_NOOP"}
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
    """Every call with the class it stands in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield child, owner
        yield from _calls(child, child.name if isinstance(child, ast.ClassDef) else owner)


def _said(module: Module) -> Iterator[Message]:
    """What a module gives to be translated, as Python understands it."""
    for call, owner in _calls(module.tree):
        name, texts = _called(call), [_text(argument) for argument in call.args]
        if name == "tr" and texts[0] is not None:
            yield owner, texts[0]
        elif name in MARKS and len(texts) > 1 and texts[0] is not None and texts[1] is not None:
            yield texts[0], texts[1]


def _untranslatable(module: Module) -> Iterator[str]:
    """Letters that are shown as they are."""
    for call, _ in _calls(module.tree):
        for argument in call.args[:1] if _called(call) in SHOWN else []:
            parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
            words = "".join(_text(part) or "" for part in parts)
            if words != "Headstart" and any(letter.isalpha() for letter in words):
                yield f"{module.name}:{call.lineno} {words!r}"


def _module(text: str) -> Module:
    return Module("headstart.ui.planted", Path("planted.py"), text)


def _all(modules: Iterable[Module]) -> set[Message]:
    return {message for module in modules for message in _said(module)}


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A .ts file of all that the window says."""
    path = tmp_path_factory.mktemp("i18n") / "headstart_zh_CN.ts"
    translations.update(path, "zh_CN")
    return path


def test_the_tools_of_qt_find_every_text_in_the_context_it_is_asked_for(catalogue: Path) -> None:
    found = translations.messages(catalogue)
    said = _all(translations.window_sources())
    assert len(said) > 300
    assert said <= found
    assert {("Settings", known.meaning) for known in about().values()} <= found


def test_nothing_is_shown_that_cannot_be_translated() -> None:
    assert not [fault for module in translations.window_sources() for fault in _untranslatable(module)]


def test_a_planted_text_is_found() -> None:
    assert list(_untranslatable(_module("label.setText('Hello')")))
    assert list(_untranslatable(_module("QLabel(f'Hello {name}', self)")))
    assert not list(_untranslatable(_module("QLabel(self.tr('Hello'), self)\nlabel.setText(f'{a} · {b}')")))
    planted = "class A:\n    def f(self):\n        self.tr('one' 'two')\ntranslate('B', 'three')"
    assert _all([_module(planted)]) == {("A", "onetwo"), ("B", "three")}


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
        assert spoken_now.speak("zh_CN").name() == "zh_CN"
        assert QCoreApplication.translate("Actions", "&File") == "文件"
        assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "取消"  # Qt's own words
        spoken_now.speak("en")
        assert QCoreApplication.translate("Actions", "&File") == "&File"
    finally:
        spoken_now.speak("en")
        QLocale.setDefault(before)


@pytest.mark.parametrize(
    ("system", "expected"),
    [("en_GB", "en"), ("zh_CN", "zh_CN"), ("zh_SG", "zh_CN"), ("zh_TW", "zh_TW"), ("zh_HK", "zh_TW"), ("de_DE", "en")],
)
def test_the_language_of_the_system_is_taken_where_the_window_speaks_it(system: str, expected: str) -> None:
    assert spoken(chosen("", QLocale(system))) == expected
    assert spoken(chosen("zh_TW", QLocale(system))) == "zh_TW"


def test_translations_that_are_there_are_compiled_as_they_are() -> None:
    assert translations.stale() == []
