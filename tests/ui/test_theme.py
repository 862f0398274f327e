"""Both themes are readable, and one of them is always worn."""

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication

from headstart.ui import theme
from headstart.ui.theme import DARK, LIGHT, Theme, ThemeChoice, contrast

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


def test_system_follows_the_desktop() -> None:
    assert theme.chosen(ThemeChoice.SYSTEM, Qt.ColorScheme.Dark) is DARK
    assert theme.chosen(ThemeChoice.SYSTEM, Qt.ColorScheme.Light) is LIGHT
    assert theme.chosen(ThemeChoice.SYSTEM, Qt.ColorScheme.Unknown) is LIGHT


def test_chinese_glyphs_follow_the_language(qapp: QApplication) -> None:
    assert "Noto Sans CJK TC" in theme.text_font(10, QLocale("zh_TW")).families()
    assert "Noto Sans CJK SC" in theme.text_font(10, QLocale("zh_CN")).families()
