"""Every theme is readable, and the window follows the choice and the system."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QCheckBox, QLineEdit, QMenu, QPlainTextEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import AnswerOutcome, Run
from headstart.engine.engine import Origin, Piece, Round, Step, Timing
from headstart.ui.performance.race_page import RaceLane
from headstart.ui.program import Program
from headstart.ui.widgets import stylesheet, theme
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.layouts import Dialog
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.stylesheet import RESOURCES
from headstart.ui.widgets.theme import CONTRAST_DARK, CONTRAST_LIGHT, DARK, LIGHT, Theme, ThemeChoice
from tests.source.source_tree import ROOT
from tests.ui.person import ask, open_pages, texts

# What text, and what controls need on their grounds; WCAG's AA for most, AAA in high contrast.
THEMES = pytest.mark.parametrize(
    ("wanted", "readable", "visible"),
    [(LIGHT, 4.5, 3), (DARK, 4.5, 3), (CONTRAST_LIGHT, 7, 4.5), (CONTRAST_DARK, 7, 4.5)],
    ids=["light", "dark", "contrast light", "contrast dark"],
)
Scheme, Preference = Qt.ColorScheme, Qt.ContrastPreference


def _grounds(wanted: Theme) -> list[str]:
    plain = [wanted.window, wanted.surface, wanted.raised, wanted.bubble, wanted.code_ground, wanted.inline_code]
    return [*plain, wanted.table_head, *(mark.background for mark in wanted.origins.values())]


def contrast(first: str, second: str) -> float:
    """WCAG 2 contrast ratio of two "#rrggbb" colours, 1 to 21."""
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@THEMES
def test_text_has_contrast_on_every_background(wanted: Theme, readable: float, visible: float) -> None:
    texts = [getattr(wanted, name) for name in ("text", "muted", "link", "danger", "success")]
    assert min(contrast(text, ground) for text in texts for ground in _grounds(wanted)) >= readable
    assert min(contrast(wanted.text, ground) for ground in (wanted.match, wanted.match_current)) >= readable
    assert contrast(wanted.on_accent, wanted.accent) >= readable
    code_grounds = [wanted.code_ground, *(mark.background for mark in wanted.origins.values())]
    assert min(contrast(colour, ground) for colour in wanted.code.values() for ground in code_grounds) >= readable


@THEMES
def test_controls_have_contrast(wanted: Theme, readable: float, visible: float) -> None:
    grounds = (wanted.window, wanted.surface, wanted.raised)
    for colour in (wanted.outline, wanted.link, wanted.text):  # at rest, with the keyboard, under the pointer
        assert min(contrast(colour, ground) for ground in grounds) >= visible
    assert min(contrast(wanted.accent, ground) for ground in grounds[:2]) >= visible
    assert min(contrast(colour, wanted.surface) for colour in wanted.series.values()) >= visible
    assert min(contrast(mark.line, mark.background) for mark in wanted.origins.values()) >= visible
    assert len({mark.underline for mark in wanted.origins.values()}) == len(wanted.origins)  # not by colour alone


@THEMES
def test_marks_inside_controls_have_contrast(wanted: Theme, readable: float, visible: float) -> None:
    files = (RESOURCES / wanted.drawings).glob("*.svg")
    drawn = {path.stem: set(re.findall("#[0-9a-f]{6}", path.read_text())) for path in files}
    drawn.pop("headstart", None)  # the icon of the program
    for name in ("up", "down"):
        assert drawn.pop(f"{name}-off") == drawn[name]  # fainter, as what cannot be pressed may be
    assert drawn.keys() == {"check", "down", "switch_off", "switch_on", "tick", "up"}
    for name, colours in drawn.items():
        ground = wanted.accent if name in {"check", "switch_on"} else wanted.surface
        assert min(contrast(colour, ground) for colour in colours) >= (7 if wanted.drawings else 3)


@THEMES
def test_check_box_has_an_outline(qapp: QApplication, wanted: Theme, readable: float, visible: float) -> None:
    box = QCheckBox()
    box.setStyleSheet(stylesheet.sheet(wanted, box.font()))
    box.resize(40, 40)
    unticked = _colours(box)
    assert wanted.outline in unticked
    box.setChecked(True)
    mark = re.findall("#[0-9a-f]{6}", (RESOURCES / wanted.drawings / "check.svg").read_text())
    assert {wanted.accent, *mark} <= _colours(box)


def _colours(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


def test_palette_is_that_of_the_theme(qapp: QApplication) -> None:
    for choice, expected in (
        (ThemeChoice.DARK, DARK),
        (ThemeChoice.CONTRAST, CONTRAST_LIGHT),
        (ThemeChoice.LIGHT, LIGHT),
    ):
        assert theme.apply(qapp, choice) is expected
        assert qapp.palette().color(QPalette.ColorRole.Window).name() == expected.window
        assert qapp.style().name() == "fusion"


@THEMES
def test_placeholder_text_has_contrast(
    qapp: QApplication, qtbot: QtBot, wanted: Theme, readable: float, visible: float
) -> None:
    for field in (QLineEdit(), QPlainTextEdit()):
        qtbot.addWidget(field)
        stylesheet.set_style_class(field, "field")
        field.setStyleSheet(stylesheet.sheet(wanted, field.font()))
        field.setPlaceholderText("hint")
        field.ensurePolished()
        assert field.palette().color(QPalette.ColorRole.PlaceholderText).name() == wanted.muted
        assert field.palette().color(QPalette.ColorRole.PlaceholderText).alpha() == 255


@pytest.mark.parametrize("choice", [ThemeChoice.LIGHT, ThemeChoice.DARK, ThemeChoice.CONTRAST])
def test_menu_has_contrast_with_the_page(qapp: QApplication, choice: ThemeChoice) -> None:
    wanted = theme.apply(qapp, choice)
    menu = QMenu()
    menu.addAction("words").setCheckable(True)
    menu.resize(menu.sizeHint())
    edge = menu.grab().toImage().pixelColor(0, menu.height() // 2).name()
    assert contrast(edge, wanted.surface) > 1.5


@pytest.mark.parametrize(
    ("choice", "scheme", "preference", "expected"),
    [
        (ThemeChoice.SYSTEM, Scheme.Dark, Preference.NoPreference, DARK),
        (ThemeChoice.SYSTEM, Scheme.Light, Preference.NoPreference, LIGHT),
        (ThemeChoice.SYSTEM, Scheme.Unknown, Preference.NoPreference, LIGHT),
        (ThemeChoice.SYSTEM, Scheme.Dark, Preference.HighContrast, CONTRAST_DARK),
        (ThemeChoice.SYSTEM, Scheme.Light, Preference.HighContrast, CONTRAST_LIGHT),
        (ThemeChoice.CONTRAST, Scheme.Dark, Preference.NoPreference, CONTRAST_DARK),
        (ThemeChoice.CONTRAST, Scheme.Unknown, Preference.NoPreference, CONTRAST_LIGHT),
        (ThemeChoice.LIGHT, Scheme.Dark, Preference.HighContrast, LIGHT),
        (ThemeChoice.DARK, Scheme.Light, Preference.HighContrast, DARK),
    ],
)
def test_theme_follows_setting_and_desktop(
    choice: ThemeChoice, scheme: Qt.ColorScheme, preference: Qt.ContrastPreference, expected: Theme
) -> None:
    assert theme.select_theme(choice, scheme, preference) is expected


def test_theme_follows_high_contrast(app: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    hints = QApplication.styleHints().accessibility()
    asked = theme.select_theme
    monkeypatch.setattr(theme, "select_theme", lambda choice, scheme, _: asked(choice, scheme, Preference.HighContrast))
    hints.contrastPreferenceChanged.emit(Preference.HighContrast)
    assert app.appearance.theme is CONTRAST_LIGHT
    assert CONTRAST_LIGHT.outline in app.window.sidebar.styleSheet()
    app.window.actions_by_name["theme_dark"].trigger()
    assert app.appearance.theme is DARK
    monkeypatch.undo()
    app.window.actions_by_name["theme_system"].trigger()
    assert app.appearance.theme is LIGHT


def test_chinese_glyphs_follow_the_language(qapp: QApplication) -> None:
    assert "Noto Sans CJK TC" in theme.text_font(10, QLocale("zh_TW")).families()
    assert "Noto Sans CJK SC" in theme.text_font(10, QLocale("zh_CN")).families()


@pytest.mark.parametrize("choice", [ThemeChoice.DARK, ThemeChoice.LIGHT, ThemeChoice.CONTRAST])
def test_theme_is_set_by_palette_alone(qtbot: QtBot, qapp: QApplication, choice: ThemeChoice) -> None:
    theme.apply(qapp, ThemeChoice.LIGHT)
    button, lane, dialog = QToolButton(), RaceLane("Plain"), Dialog("")
    for widget in (button, lane, dialog):
        qtbot.addWidget(widget)
    button.setIcon(icon("close", QPalette.ColorRole.Link))
    lane.grow([Step("word", Round((), 0, 0, Origin.DRAFT, Timing()), (Piece("word", Origin.DRAFT),))])
    lane.show()
    worn = theme.apply(qapp, choice)
    qapp.processEvents()
    assert worn.link in _colours(button)
    assert _colours(dialog) == {worn.surface}
    assert worn.origins["draft"].background in _colours(lane)
    theme.apply(qapp, ThemeChoice.LIGHT)


TEXT = (
    "```python\ndef add(a, b):\n    return a + b\n```\n\nSome `code`, and *words* enough to fill a few lines here. "
    * 12
)


def test_theme_changes_while_messages_change(qtbot: QtBot, open_program: Callable[..., Program]) -> None:
    app = open_program()
    ask(qtbot, app, "hello")
    session = app.chat_controller.session
    answer = session.conversation.begin_answer("toy")
    assert answer.last
    done = answer.finish(
        answer.last.id, AnswerOutcome(TEXT, origins=(Run(len(TEXT) // 2, "draft"), Run(len(TEXT), "n-gram")))
    )
    app.store.save(session.chat.id, session.conversation, done)
    app = open_program()
    app.window.resize(1180, 820)
    actions = app.window.actions_by_name
    actions["origins"].trigger()
    for number in range(6):
        actions["live"].trigger()
        actions["panel"].trigger()
        qtbot.wait(50)
        actions["theme_light" if number % 2 else "theme_dark"].trigger()
        qtbot.wait(150)
        assert not app.window.grab().isNull()
    assert texts(app)[-1] == TEXT.strip()


def _moving(app: Program) -> list[BusyBar]:
    bars = app.window.findChildren(BusyBar)
    assert bars
    return [bar for bar in bars if bar.maximum() == 0]


def test_reduced_motion_stops_animations(qapp: QApplication, app: Program) -> None:
    effect = Qt.UIEffect.UI_AnimateMenu
    flash, animated = qapp.cursorFlashTime(), qapp.isEffectEnabled(effect)
    app.window.actions_by_name["race"].trigger()
    assert _moving(app)
    app.settings.change(reduced_motion=True)
    open_pages(app)  # most of them for the first time
    assert not _moving(app)
    assert (qapp.cursorFlashTime(), qapp.isEffectEnabled(effect)) == (0, False)
    assert app.race._is_still
    app.settings.change(reduced_motion=False)
    assert _moving(app)
    assert (qapp.cursorFlashTime(), qapp.isEffectEnabled(effect)) == (flash, animated)


def test_closed_window_restores_the_cursor(qapp: QApplication, qtbot: QtBot, app: Program) -> None:
    flash = qapp.cursorFlashTime()
    app.settings.change(reduced_motion=True)
    app.window.close()
    assert qapp.cursorFlashTime() == flash


def test_reduced_motion_follows_the_desktop(app: Program) -> None:
    app.motion._on_setting_changed("org.gnome.desktop.interface", "enable-animations", value=False)
    assert app.motion.is_reduced
    assert not _moving(app)
    app.motion._on_setting_changed("org.gnome.desktop.interface", "cursor-size", value=True)
    assert app.motion.is_reduced
    app.motion._on_setting_changed("org.gnome.desktop.interface", "enable-animations", value=True)
    assert not app.motion.is_reduced


@pytest.mark.skipif(not shutil.which("dbus-run-session"), reason="no bus can be started")
def test_portal_reports_changes() -> None:
    command = ["dbus-run-session", "--", sys.executable, "-m", "tests.ui.window.desktop_bus", "motion"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [True, False]
