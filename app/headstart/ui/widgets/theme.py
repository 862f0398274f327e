"""The colours, spacings and fonts of the window."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

from PySide6.QtCore import QLocale, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QGuiApplication, QPalette, QTextCharFormat
from PySide6.QtWidgets import QApplication

from headstart.engine.origins import MARKED, ORIGINS, Colours, OriginLook
from headstart.settings import Settings

# Spacings in device-independent pixels.
TINY, SMALL, MEDIUM, LARGE = 4, 8, 12, 16
STYLE = "fusion"
RADIUS = 10
ICON = 16
ROW = 30  # of a table
USUAL_SIZE = 11.0  # of text, in points
TEXT_WIDTH = 860  # of the widest column of text that is pleasant to read
LINE_HEIGHT = 135  # per cent
CODE_LINE_HEIGHT = 120  # per cent
SHARED_MONO = ("Noto Sans Mono CJK SC", "monospace")
MONO = ("Cascadia Mono", "SF Mono", "JetBrains Mono", "DejaVu Sans Mono", "Noto Sans Mono", "Consolas", "Menlo")
CJK = MappingProxyType(
    {
        "SC": ("Microsoft YaHei UI", "PingFang SC", "Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei"),
        "TC": ("Microsoft JhengHei UI", "PingFang TC", "Noto Sans CJK TC", "Source Han Sans TC", "WenQuanYi Micro Hei"),
    }
)

# Pygments token types of each colour; their children inherit it.
_CODE = (
    ("Comment",),
    ("Keyword", "Operator.Word"),
    ("Keyword.Type",),
    ("Literal.String",),
    ("Literal.Number", "Name.Builtin", "Name.Attribute", "Name.Constant", "Generic.Heading"),
    ("Name.Function",),
    ("Name.Class", "Name.Decorator"),
    ("Name.Tag", "Generic.Inserted"),
    ("Generic.Deleted",),
)
Underline = QTextCharFormat.UnderlineStyle


class ThemeChoice(StrEnum):
    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"
    CONTRAST = "contrast"  # high contrast, light or dark like the desktop


@dataclass(frozen=True)
class OriginMark:
    """The marking of text of one origin, never by colour alone."""

    background: str
    line: str  # colour of the underline
    underline: Underline


@dataclass(frozen=True, eq=False)  # hashed by identity, so that style sheets and palettes are cached
class Theme:
    """A set of colours as "#rrggbb". Text has a contrast of at least 4.5 on every ground, or 7 in high contrast."""

    dark: bool
    window: str  # behind everything, side bars
    surface: str  # behind text
    raised: str  # cards, hovered rows
    bubble: str  # the user's messages
    text: str
    muted: str  # labels, statistics
    disabled: str
    border: str  # around parts that are not controls
    outline: str  # of controls that take input: contrast of at least 3
    link: str
    accent: str  # default buttons, selection
    on_accent: str
    danger: str
    success: str
    code_ground: str
    inline_code: str
    table_head: str
    quote_bar: str
    match: str  # ground of matches
    match_current: str
    origins: Mapping[str, OriginMark]
    series: Mapping[str, str]  # lines and bars of charts by origin or part
    code: Mapping[str, str]  # Pygments token type -> colour; children inherit
    drawings: str = ""  # folder of the resources with marks for controls, in high contrast


def _origins(theme: str) -> Mapping[str, OriginMark]:
    return MappingProxyType({origin: _mark(ORIGINS[origin], theme) for origin in MARKED})


def _mark(look: OriginLook, theme: str) -> OriginMark:
    colours: Colours = getattr(look, theme)
    return OriginMark(colours.background, colours.line, QTextCharFormat.UnderlineStyle[look.underline])


def _series(theme: str, target: str, other: str) -> Mapping[str, str]:
    guessed = {origin: mark.line for origin, mark in _origins(theme).items()}
    return MappingProxyType({**guessed, "target": target, "verify": target, "other": other, "plain": other})


def _code(*colours: str) -> Mapping[str, str]:
    return MappingProxyType({name: colour for names, colour in zip(_CODE, colours, strict=True) for name in names})


LIGHT = Theme(
    dark=False,
    window="#f4f5f7",
    surface="#ffffff",
    raised="#eceff3",
    bubble="#edf2fc",
    text="#1f2328",
    muted="#59616b",
    disabled="#8a929c",
    border="#d3d8df",
    outline="#7b838e",
    link="#0b57c4",
    accent="#1d62d6",
    on_accent="#ffffff",
    danger="#b3261e",
    success="#146c2e",
    code_ground="#f5f7f9",
    inline_code="#eceff3",
    table_head="#f0f3f6",
    quote_bar="#c3cad3",
    match="#ffeaa0",
    match_current="#ffc15e",
    origins=_origins("light"),
    series=_series("light", "#3b6fd1", "#7d8590"),
    code=_code("#5b6570", "#a3195b", "#7b3fb0", "#0a5a78", "#0b51a8", "#6036b5", "#8a4300", "#146038", "#a01f17"),
)

DARK = Theme(
    dark=True,
    window="#16191e",
    surface="#1c2026",
    raised="#282d35",
    bubble="#232b3a",
    text="#e4e8ee",
    muted="#a2abb7",
    disabled="#767f8b",
    border="#3a414b",
    outline="#757e8a",
    link="#7db3ff",
    accent="#2f6fde",
    on_accent="#ffffff",
    danger="#ff938a",
    success="#6fd08c",
    code_ground="#14171b",
    inline_code="#2c323b",
    table_head="#262b33",
    quote_bar="#4a525e",
    match="#5c4a12",
    match_current="#7d5106",
    origins=_origins("dark"),
    series=_series("dark", "#6f9df0", "#8b95a3"),
    code=_code("#9aa5b1", "#ff9ab8", "#d3b0ff", "#9ed8f0", "#8fc4ff", "#d3b0ff", "#ffb877", "#86dba3", "#ffa198"),
)

CONTRAST_LIGHT = replace(
    LIGHT,
    drawings="contrast_light",
    window="#ffffff",
    raised="#e6e9ee",
    bubble="#e9effc",
    text="#000000",
    muted="#262626",
    disabled="#636363",
    border="#595959",
    outline="#000000",
    link="#073a8c",
    accent="#073a8c",
    danger="#8b1a14",
    success="#0d4f21",
    inline_code="#e9ecf0",
    table_head="#e6e9ee",
    quote_bar="#404040",
    match="#ffe680",
    match_current="#ffb733",
    origins=_origins("contrast_light"),
    series=_series("contrast_light", "#1d51b0", "#595f67"),
    code=_code("#404750", "#8a1049", "#5f2e8a", "#084a63", "#08448f", "#4f2a9c", "#6e3500", "#0f4f2e", "#8b1a14"),
)

CONTRAST_DARK = replace(
    DARK,
    drawings="contrast_dark",
    window="#000000",
    surface="#000000",
    raised="#2b2b2b",
    bubble="#14203a",
    text="#ffffff",
    muted="#e0e0e0",
    disabled="#a0a0a0",
    border="#a8a8a8",
    outline="#ffffff",
    link="#9cc8ff",
    accent="#ffd60a",
    on_accent="#000000",
    danger="#ffb0a8",
    success="#86e0a0",
    code_ground="#0a0a0a",
    inline_code="#242424",
    table_head="#242424",
    quote_bar="#c0c0c0",
    match="#4a3a00",
    match_current="#694400",
    origins=_origins("contrast_dark"),
    series=_series("contrast_dark", "#8cb6ff", "#b4bcc6"),
    code=_code("#c0c8d0", "#ffabc4", "#d3b0ff", "#9ed8f0", "#8fc4ff", "#d3b0ff", "#ffb877", "#86dba3", "#ffa198"),
)
THEMES = (LIGHT, DARK, CONTRAST_LIGHT, CONTRAST_DARK)
_SCHEMES = {
    ThemeChoice.LIGHT: Qt.ColorScheme.Light,
    ThemeChoice.DARK: Qt.ColorScheme.Dark,
}  # other choices follow the desktop


def scaled(pixels: float, font: QFont) -> int:
    """Scale a length in pixels from the default font size to this font."""
    return scaled_to(pixels, font.pointSizeF())


def scaled_to(pixels: float, points: float) -> int:
    """Scale a length in pixels from the default font size to this one."""
    return max(1, round(pixels * points / USUAL_SIZE))


@lru_cache(maxsize=8)
def palette(theme: Theme) -> QPalette:
    """Return the palette of a theme for the Fusion style."""
    role = QPalette.ColorRole
    colours = {
        role.Window: theme.window,
        role.WindowText: theme.text,
        role.Base: theme.surface,
        role.AlternateBase: theme.raised,
        role.Text: theme.text,
        role.Button: theme.raised,
        role.ButtonText: theme.text,
        role.BrightText: theme.danger,
        role.ToolTipBase: theme.raised,
        role.ToolTipText: theme.text,
        role.PlaceholderText: theme.muted,
        role.Highlight: theme.accent,
        role.HighlightedText: theme.on_accent,
        role.Accent: theme.accent,
        role.Link: theme.link,
        role.LinkVisited: theme.link,
        role.Light: theme.surface,
        role.Midlight: theme.raised,
        role.Mid: theme.border,
        role.Dark: theme.border,
        role.Shadow: theme.border,
    }
    result = QPalette()
    for name, colour in colours.items():
        result.setColor(name, QColor(colour))
    for name in (role.Text, role.WindowText, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, name, QColor(theme.disabled))
    return result


def _menu_palette(theme: Theme) -> QPalette:
    """Return a lighter palette: Fusion draws lines and boxes of menus darker, which is invisible on a dark ground."""
    result = QPalette(palette(theme))
    if theme.dark:
        result.setColor(QPalette.ColorRole.Window, QColor(theme.outline))
        result.setColor(QPalette.ColorRole.Base, QColor(theme.raised))
    return result


def apply(application: QApplication, choice: ThemeChoice) -> Theme:
    """Apply the chosen theme and return it; "system" follows the desktop and falls back to light."""
    hints = application.styleHints()
    hints.setColorScheme(_SCHEMES.get(choice, Qt.ColorScheme.Unknown))  # Unknown follows the desktop
    # Without a platform theme, setColorScheme changes nothing, so the palette is always our own.
    theme = theme_for(application, choice)
    if application.style().objectName() != STYLE:  # setting it again measures every widget again
        application.setStyle(STYLE)
    application.setPalette(palette(theme))
    application.setPalette(_menu_palette(theme), "QMenu")  # type: ignore[arg-type]  # declared as bytes, taken as str
    return theme


def current() -> Theme:
    window = QGuiApplication.palette().color(QPalette.ColorRole.Window).name()
    return next((theme for theme in THEMES if theme.window == window), LIGHT)


def origin_format(origin: str) -> QTextCharFormat:
    fmt = QTextCharFormat()
    fmt.setForeground(QColor(current().text))
    if mark := current().origins.get(origin):
        fmt.setBackground(QColor(mark.background))
        fmt.setUnderlineStyle(mark.underline)
        fmt.setUnderlineColor(QColor(mark.line))
    return fmt


def theme_for(application: QApplication, choice: ThemeChoice) -> Theme:
    """Return the theme for a choice on the current desktop."""
    hints = application.styleHints()
    return select_theme(choice, hints.colorScheme(), hints.accessibility().contrastPreference())


def select_theme(choice: ThemeChoice, scheme: Qt.ColorScheme, preference: Qt.ContrastPreference) -> Theme:
    """Return the theme for a choice on a desktop with this colour scheme and contrast preference."""
    follows = choice not in _SCHEMES
    is_dark = _SCHEMES.get(choice, scheme) == Qt.ColorScheme.Dark
    if choice is ThemeChoice.CONTRAST or (follows and preference == Qt.ContrastPreference.HighContrast):
        return CONTRAST_DARK if is_dark else CONTRAST_LIGHT
    return DARK if is_dark else LIGHT


class Appearance(QObject):
    """The theme and font of the application, applied from the settings."""

    changed = Signal(object, object)  # Theme, QFont

    def __init__(self, application: QApplication, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._application = application
        self._settings = settings
        self._apply()
        hints = application.styleHints()
        hints.colorSchemeChanged.connect(self._on_desktop_changed)
        hints.accessibility().contrastPreferenceChanged.connect(self._on_desktop_changed)

    def set_settings(self, settings: Settings) -> None:
        """Apply changed theme, font size or zoom."""
        before, self._settings = self._settings, settings
        if any(getattr(before, name) != getattr(settings, name) for name in ("theme", "font_size", "zoom")):
            self._apply()
            self.changed.emit(self.theme, self.font)

    @Slot()
    def _on_desktop_changed(self) -> None:
        """Follow the desktop to another colour scheme or contrast."""
        if theme_for(self._application, ThemeChoice(self._settings.theme)) != self.theme:
            self._apply()
            self.changed.emit(self.theme, self.font)

    def _apply(self) -> None:
        self.theme = apply(self._application, ThemeChoice(self._settings.theme))
        self.font = text_font(self._settings.font_size * self._settings.zoom / 100)
        self._application.setFont(self.font)


def text_font(points: float | None = None, locale: QLocale | None = None) -> QFont:
    """Return the font of running text; Chinese glyphs follow the language of `locale`."""
    font = QFont(QGuiApplication.font())
    if points is not None:
        font.setPointSizeF(points)
    # The real family name, because a substitute such as "Sans Serif" loses to the first family that exists.
    font.setFamilies([QFontInfo(font).family(), *CJK[chinese(locale or QLocale())]])
    return font


def mono_families() -> list[str]:
    """Return families for code, best first. The first is installed: Qt replaces a missing one by a wide font."""
    present = set(QFontDatabase.families())
    fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
    return [*(family for family in MONO if family in present), fixed, *SHARED_MONO]


def mono_font() -> QFont:
    """Return the font of logs, in the default size."""
    font = QFont(QGuiApplication.font())
    font.setFamilies(mono_families())
    return font


def chinese(locale: QLocale) -> str:
    """Return the key of CJK for a locale: "TC" for Traditional Chinese, else "SC"."""
    traditional = locale.script() == QLocale.Script.TraditionalHanScript
    return "TC" if traditional else "SC"
