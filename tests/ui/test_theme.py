"""Both themes are readable, and one of them is always worn."""

import re

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QCheckBox, QMenu, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from headstart.engine.engine import Origin, Piece, Round, Step, Timing
from headstart.ui.performance.race_page import RaceLane
from headstart.ui.widgets import stylesheet, theme
from headstart.ui.widgets.dialog import Dialog
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.stylesheet import RESOURCES
from headstart.ui.widgets.theme import DARK, LIGHT, Theme, ThemeChoice, contrast

THEMES = pytest.mark.parametrize("wanted", [LIGHT, DARK], ids=["light", "dark"])


def _grounds(wanted: Theme) -> list[str]:
    plain = [wanted.window, wanted.surface, wanted.raised, wanted.bubble, wanted.code_ground, wanted.inline_code]
    return [*plain, wanted.table_head, *(mark.background for mark in wanted.origins.values())]


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@THEMES
@pytest.mark.parametrize("name", ["text", "muted", "link", "danger", "success", "warning"])
def test_text_is_readable_on_every_ground(wanted: Theme, name: str) -> None:
    assert min(contrast(getattr(wanted, name), ground) for ground in _grounds(wanted)) >= 4.5


@THEMES
def test_code_is_readable_with_and_without_origins(wanted: Theme) -> None:
    grounds = [wanted.code_ground, *(mark.background for mark in wanted.origins.values())]
    assert min(contrast(colour, ground) for colour in wanted.code.values() for ground in grounds) >= 4.5


@THEMES
def test_marks_and_buttons_are_readable(wanted: Theme) -> None:
    assert min(contrast(wanted.text, ground) for ground in (wanted.match, wanted.match_current)) >= 4.5
    assert contrast(wanted.on_accent, wanted.accent) >= 4.5


@THEMES
def test_controls_stand_out_from_what_they_lie_on(wanted: Theme) -> None:
    grounds = (wanted.window, wanted.surface, wanted.raised)
    for colour in (wanted.outline, wanted.link, wanted.text):  # at rest, with the keyboard, under the pointer
        assert min(contrast(colour, ground) for ground in grounds) >= 3
    assert min(contrast(wanted.accent, ground) for ground in (wanted.window, wanted.surface)) >= 3


@THEMES
def test_marks_inside_controls_are_visible(wanted: Theme) -> None:
    drawn = {path.stem: set(re.findall("#[0-9a-f]{6}", path.read_text())) for path in RESOURCES.glob("*.svg")}
    del drawn["headstart"]  # the icon of the program
    for name in ("up", "down"):
        assert drawn.pop(f"{name}-off") == drawn[name]  # fainter, as what cannot be pressed may be
    assert drawn.keys() == {"check", "down", "switch_off", "switch_on", "up"}
    for name, colours in drawn.items():
        ground = wanted.accent if name in {"check", "switch_on"} else wanted.surface
        assert min(contrast(colour, ground) for colour in colours) >= 3


@THEMES
def test_a_check_box_is_drawn_with_its_outline(qapp: QApplication, wanted: Theme) -> None:
    box = QCheckBox()
    box.setStyleSheet(stylesheet.sheet(wanted, box.font()))
    box.resize(40, 40)
    unticked = _colours(box)
    assert wanted.outline in unticked
    box.setChecked(True)
    assert {wanted.accent, "#ffffff"} <= _colours(box)


def _colours(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


@THEMES
def test_lines_of_charts_and_underlines_are_visible(wanted: Theme) -> None:
    assert min(contrast(colour, wanted.surface) for colour in wanted.series.values()) >= 3
    assert min(contrast(mark.line, mark.background) for mark in wanted.origins.values()) >= 3


@THEMES
def test_origins_differ_by_more_than_colour(wanted: Theme) -> None:
    lines = [mark.underline for mark in wanted.origins.values()]
    assert len(set(lines)) == len(lines)


def test_the_palette_is_ours_even_where_the_desktop_ignores_colour_schemes(qapp: QApplication) -> None:
    for choice, expected in ((ThemeChoice.DARK, DARK), (ThemeChoice.LIGHT, LIGHT)):
        assert theme.apply(qapp, choice) is expected
        assert qapp.palette().color(QPalette.ColorRole.Window).name() == expected.window
        assert qapp.style().name() == "fusion"


@THEMES
def test_a_menu_stands_out_from_the_page_behind_it(qapp: QApplication, wanted: Theme) -> None:
    theme.apply(qapp, ThemeChoice.DARK if wanted.dark else ThemeChoice.LIGHT)
    menu = QMenu()
    menu.addAction("words").setCheckable(True)
    menu.resize(menu.sizeHint())
    edge = menu.grab().toImage().pixelColor(0, menu.height() // 2).name()
    assert contrast(edge, wanted.surface) > 1.5


def test_system_follows_the_desktop() -> None:
    assert theme.chosen(ThemeChoice.SYSTEM, Qt.ColorScheme.Dark) is DARK
    assert theme.chosen(ThemeChoice.SYSTEM, Qt.ColorScheme.Light) is LIGHT
    assert theme.chosen(ThemeChoice.SYSTEM, Qt.ColorScheme.Unknown) is LIGHT


def test_chinese_glyphs_follow_the_language(qapp: QApplication) -> None:
    assert "Noto Sans CJK TC" in theme.text_font(10, QLocale("zh_TW")).families()
    assert "Noto Sans CJK SC" in theme.text_font(10, QLocale("zh_CN")).families()


@pytest.mark.parametrize("choice", [ThemeChoice.DARK, ThemeChoice.LIGHT])
def test_nothing_is_told_of_a_theme_but_by_the_palette(qtbot: QtBot, qapp: QApplication, choice: ThemeChoice) -> None:
    theme.apply(qapp, ThemeChoice.LIGHT)
    button, lane, dialog = QToolButton(), RaceLane("Plain"), Dialog()
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
