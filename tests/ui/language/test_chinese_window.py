"""The window in Chinese: nothing on it is in English and nothing is cut, at the usual size and a quarter larger."""

import re
from collections.abc import Callable, Iterator
from itertools import product

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QSpinBox,
    QTextBrowser,
    QWidget,
)
from pytestqt.qtbot import QtBot

from headstart.ui.program import Program
from headstart.ui.widgets.labels import ElidedLabel
from headstart.ui.window.dialogs import CommandPalette
from tests.ui import reach
from tests.ui.conftest import Speak
from tests.ui.person import ask, open_pages

Open = Callable[..., Program]

ZOOMS = (100, 125)
DIALOGS = ("preferences", "about", "prompts", "manual", "keys", "tools")
HAN = re.compile(r"[\u3400-\u9fff]")
# Names, and what is written the same everywhere.
SAME = re.compile(
    r"/\S+|Headstart [\d.]+|Headstart|toy.*|Top-[pk]|Min-p|n-gram|CPU|INT[48].*|Apache-2\.0|[\d, /]+ token|token|pt|GB|"
    r"Markdown|PDF|JSON|CSV|smollm2\S*|(Qwen|SmolLM|Gemma|Llama|Phi)[-\d. ]+.*"
)


@pytest.fixture(params=["zh_CN", "zh_TW"])
def language(request: pytest.FixtureRequest, speak: Speak) -> str:
    speak(request.param)
    return str(request.param)


@pytest.fixture
def app(language: str, open_program: Open) -> Program:
    program = open_program()
    program.window.resize(1240, 820)
    return program


def pages(app: Program) -> Iterator[QWidget]:
    """Yield every page with all its parts shown."""
    for name in ("panel", "live", "origins"):
        app.window.actions_by_name[name].setChecked(True)
    for page in (app.window.chat, *open_pages(app)):
        app.window.show_page(page)
        QApplication.processEvents()
        yield page


def dialog_of(app: Program, name: str) -> QDialog:
    app.window.actions_by_name[name].trigger()
    QApplication.processEvents()
    return next(child for child in app.window.findChildren(QDialog) if child.isVisible())


def in_english(window: QWidget) -> set[str]:
    """Return texts with letters, none of them Chinese."""
    found = {text for widget in window.findChildren(QWidget) if widget.isVisible() for text in texts(widget)}
    return {text for text in found if re.search(r"[A-Za-z]{2}", text) and not HAN.search(text) and not told_alike(text)}


def told_alike(text: str) -> bool:
    return bool(SAME.fullmatch(text.strip()))


def texts(widget: QWidget) -> Iterator[str]:
    """Return the texts of a widget, without views and fields, which have words of models and people."""
    if isinstance(widget, QPlainTextEdit | QTextBrowser):
        return
    yield widget.toolTip()
    yield widget.accessibleName()
    yield widget.windowTitle()
    if isinstance(widget, QLabel | QAbstractButton):
        yield widget.text()
    if isinstance(widget, QLineEdit):
        yield widget.placeholderText()
    if isinstance(widget, QComboBox):
        yield widget.currentText()
    if isinstance(widget, QDoubleSpinBox | QSpinBox):
        yield widget.suffix()


def tight(window: QWidget) -> list[str]:
    """Return the widgets with too little room once the layouts are at rest."""
    for _ in range(5):
        QApplication.processEvents()
    return [*reach.cut(window), *squeezed(window)]


def squeezed(window: QWidget) -> list[str]:
    """Return texts in less room than they need, unless they wrap or have an ellipsis."""
    return [
        f"{label.text()}: {label.width()} of {label.sizeHint().width()}"
        for label in window.findChildren(QLabel)
        if label.isVisible() and not isinstance(label, ElidedLabel) and not label.wordWrap()
        if label.width() < label.minimumSizeHint().width()
    ]


def test_menus_are_chinese(app: Program, language: str) -> None:
    file = {"zh_CN": "文件(&F)", "zh_TW": "檔案(&F)"}[language]
    menus = [menu for menu in app.window.menuBar().findChildren(QMenu) if menu.title()]
    assert menus[0].title() == file
    actions = [action for menu in menus for action in menu.actions() if action.text()]
    assert len(actions) > 30
    assert not [action.text() for action in actions if not HAN.search(action.text())]


def test_every_page_is_chinese_and_fits(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "toy: words 50")
    for zoom in ZOOMS:
        app.settings.change(zoom=zoom)
        for page in pages(app):
            assert not in_english(app.window), type(page).__name__
            assert not tight(app.window), (type(page).__name__, zoom)


def test_panel_keeps_its_width_beside_live_figures(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "toy: words 50")
    list(pages(app))
    app.window.show_page(app.window.chat)
    QApplication.processEvents()
    panel = app.window.panel
    for box in panel.findChildren(QComboBox):
        assert box.mapTo(panel, box.rect().topRight()).x() < panel.width()


def test_every_dialog_is_chinese_and_fits(app: Program) -> None:
    for zoom, name in product(ZOOMS, DIALOGS):
        app.settings.change(zoom=zoom)
        dialog = dialog_of(app, name)
        assert HAN.search(dialog.windowTitle()), name
        assert not in_english(dialog), name
        assert not tight(dialog), (name, zoom)
        dialog.close()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_titles_of_commands_have_no_access_keys(app: Program) -> None:
    app.window.actions_by_name["palette"].trigger()
    palette = app.window.findChild(CommandPalette)
    assert palette
    model = palette.list.model()
    rows = [str(model.index(row, 0).data()) for row in range(model.rowCount())]
    assert any(HAN.search(row) for row in rows)
    assert not [row for row in rows if re.search(r"\([A-Z]\)", row)]
