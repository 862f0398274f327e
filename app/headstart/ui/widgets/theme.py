"""Every colour, spacing and font of the window, changed live."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
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
TEXT_WIDTH = 860  # widest column of text that is still pleasant to read
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

# Pygments token types of one colour; their children inherit it.
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
    """What the user asked for."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"
    CONTRAST = "contrast"  # high contrast, light or dark as the system is


@dataclass(frozen=True)
class OriginMark:
    """How text of one origin is marked: never by colour alone."""

    background: str
    line: str  # colour of the underline
    underline: Underline


@dataclass(frozen=True)
class Theme:
    """One set of colours as "#rrggbb". Text has a contrast of at least 4.5 on every ground, or 7 in high contrast."""

    dark: bool
    window: str  # behind everything, side bars
    surface: str  # behind text
    raised: str  # cards, hovered rows
    bubble: str  # the user's messages
    text: str
    muted: str  # labels, statistics
    disabled: str
    border: str  # around what is no control
    outline: str  # of what takes input: 3 to 1 on its ground
    link: str
    accent: str  # default buttons, selection
    on_accent: str
    danger: str
    success: str
    code_ground: str
    inline_code: str
    table_head: str
    quote_bar: str
    match: str  # found text
    match_current: str
    origins: Mapping[str, OriginMark]
    series: Mapping[str, str]  # lines and bars of charts by origin or part
    code: Mapping[str, str]  # Pygments token type -> colour; children inherit
    drawings: str = ""  # where marks inside controls have other colours: the folder in the resources


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
_SCHEMES = {ThemeChoice.LIGHT: Qt.ColorScheme.Light, ThemeChoice.DARK: Qt.ColorScheme.Dark}  # others follow the desktop


def scaled(pixels: float, font: QFont) -> int:
    """Pixels for this font of a length given for text of the usual size."""
    return max(1, round(pixels * font.pointSizeF() / USUAL_SIZE))


def palette(theme: Theme) -> QPalette:
    """The colours of `theme` for Fusion."""
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
    made = QPalette()
    for name, colour in colours.items():
        made.setColor(name, QColor(colour))
    for name in (role.Text, role.WindowText, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, name, QColor(theme.disabled))
    return made


def _menu_palette(theme: Theme) -> QPalette:
    """Lighter than the window: Fusion draws lines and boxes of a menu darker, which is invisible on a dark ground."""
    made = palette(theme)
    if theme.dark:
        made.setColor(QPalette.ColorRole.Window, QColor(theme.outline))
        made.setColor(QPalette.ColorRole.Base, QColor(theme.raised))
    return made


def apply(application: QApplication, choice: ThemeChoice) -> Theme:
    """Give the application the chosen theme and return it; "system" asks the desktop and falls back to light."""
    hints = application.styleHints()
    hints.setColorScheme(_SCHEMES.get(choice, Qt.ColorScheme.Unknown))  # Unknown: as the desktop
    # Without a platform theme setColorScheme changes nothing, so the palette is always our own.
    theme = wanted(application, choice)
    if application.style().objectName() != STYLE:  # set again it would measure every widget anew
        application.setStyle(STYLE)
    application.setPalette(palette(theme))
    application.setPalette(_menu_palette(theme), "QMenu")  # type: ignore[arg-type]  # declared as bytes, taken as str
    return theme


def current() -> Theme:
    """The theme that the application has now."""
    window = QGuiApplication.palette().color(QPalette.ColorRole.Window).name()
    return next((theme for theme in THEMES if theme.window == window), LIGHT)


def origin_format(origin: str) -> QTextCharFormat:
    """How the current theme shows a text of this origin."""
    form = QTextCharFormat()
    form.setForeground(QColor(current().text))
    if mark := current().origins.get(origin):
        form.setBackground(QColor(mark.background))
        form.setUnderlineStyle(mark.underline)
        form.setUnderlineColor(QColor(mark.line))
    return form


def wanted(application: QApplication, choice: ThemeChoice) -> Theme:
    """The theme for a choice on the desktop as it is now."""
    hints = application.styleHints()
    return chosen(choice, hints.colorScheme(), hints.accessibility().contrastPreference())


def chosen(choice: ThemeChoice, scheme: Qt.ColorScheme, preference: Qt.ContrastPreference) -> Theme:
    """The theme for a choice on a desktop with this colour scheme and this preference."""
    follows = choice not in _SCHEMES
    is_dark = _SCHEMES.get(choice, scheme) == Qt.ColorScheme.Dark
    if choice is ThemeChoice.CONTRAST or (follows and preference == Qt.ContrastPreference.HighContrast):
        return CONTRAST_DARK if is_dark else CONTRAST_LIGHT
    return DARK if is_dark else LIGHT


class Appearance(QObject):
    """Theme and font that everything is drawn with."""

    changed = Signal(object, object)  # Theme, QFont

    def __init__(self, application: QApplication, settings: Settings, parent: QObject | None = None) -> None:
        """Applies the settings at once."""
        super().__init__(parent)
        self._application = application
        self._settings = settings
        self._apply()
        hints = application.styleHints()
        hints.colorSchemeChanged.connect(self._follow)
        hints.accessibility().contrastPreferenceChanged.connect(self._follow)

    def set_settings(self, settings: Settings) -> None:
        """Theme, font size or zoom may have changed."""
        before, self._settings = self._settings, settings
        if any(getattr(before, name) != getattr(settings, name) for name in ("theme", "font_size", "zoom")):
            self._apply()
            self.changed.emit(self.theme, self.font)

    @Slot()
    def _follow(self) -> None:
        """The desktop went dark or light, or wants another contrast."""
        if wanted(self._application, ThemeChoice(self._settings.theme)) != self.theme:
            self._apply()
            self.changed.emit(self.theme, self.font)

    def _apply(self) -> None:
        self.theme = apply(self._application, ThemeChoice(self._settings.theme))
        self.font = text_font(self._settings.font_size * self._settings.zoom / 100)
        self._application.setFont(self.font)


def text_font(points: float | None = None, locale: QLocale | None = None) -> QFont:
    """The font of running text; Chinese glyphs follow the language of `locale`."""
    font = QFont(QGuiApplication.font())
    if points is not None:
        font.setPointSizeF(points)
    # By its true name: a substitute such as "Sans Serif" loses to the first family that exists.
    font.setFamilies([QFontInfo(font).family(), *CJK[chinese(locale or QLocale())]])
    return font


def mono_families() -> list[str]:
    """Families for code, best first. The first one is installed: Qt replaces a missing first family by a wide font."""
    present = set(QFontDatabase.families())
    fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
    return [*(family for family in MONO if family in present), fixed, *SHARED_MONO]


def mono_font() -> QFont:
    """The font of logs, in the usual size."""
    font = QFont(QGuiApplication.font())
    font.setFamilies(mono_families())
    return font


def chinese(locale: QLocale) -> str:
    """Which key of CJK to use: TC where Traditional Chinese is written, else SC."""
    traditional = locale.script() == QLocale.Script.TraditionalHanScript
    return "TC" if traditional else "SC"
