"""The style sheet of the window, built from a theme."""

from functools import lru_cache
from pathlib import Path
from string import Template

from PySide6.QtGui import QFont, QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QAbstractScrollArea, QDoubleSpinBox, QSpinBox, QWidget

from headstart.ui.widgets.theme import ICON, LARGE, MEDIUM, RADIUS, ROW, SMALL, TINY, Theme, scaled_to

RESOURCES = Path(__file__).parent.parent / "resources"
# Pixels at the usual size of text.
_BESIDE_TEXT = {"box": 14, "drop": 22, "switch": 34, "knob": 18, "send": 34, "row": ROW,
    "icon": ICON, "head_icon": ICON + 2, "chip_icon": ICON - 2, "round_icon": ICON + TINY,
}  # fmt: skip
_AROUND_TEXT = 10  # pixels of a field's height
_SHEET = Template("""
QFrame#sidebar { background: $window; border: none; }
QFrame#panel { background: $window; border: none; }
QFrame#page, QFrame#header, QFrame#foot, QWidget#legend { background: $surface; border: none; }
QLabel { color: $text; background: transparent; }
QLabel[kind="muted"] { color: $muted; }
QLabel[kind="danger"] { color: $danger; }
QLabel[kind="success"] { color: $success; }
QLabel[kind="section"] { color: $text; font-weight: 700; }
QLabel[kind="badge"] { color: $muted; background: $raised; border-radius: ${small}px; padding: 2px ${small}px; }
QLabel[kind="badge-accent"] {
    color: $link; background: $bubble; border-radius: ${small}px; padding: 2px ${small}px; }
QToolButton, QPushButton { icon-size: ${icon}px; }
QPushButton { outline: none; }
QFrame#header QToolButton { icon-size: ${head_icon}px; }
QFrame[kind="chip"] QToolButton { icon-size: ${chip_icon}px; }
QToolButton[kind="round"] { icon-size: ${round_icon}px; }
QToolButton[kind="flat"], QToolButton[kind="menu"], QPushButton[kind="flat"] {
    border: 1px solid transparent; border-radius: ${small}px; padding: 5px; background: transparent; color: $text; }
QToolButton[kind="flat"]:hover, QToolButton[kind="menu"]:hover, QPushButton[kind="flat"]:hover { background: $raised; }
QToolButton[kind="flat"]:checked, QPushButton[kind="flat"]:checked { background: $raised; border-color: $border; }
QToolButton[kind="flat"]:focus, QToolButton[kind="menu"]:focus, QPushButton[kind="flat"]:focus {
    border-color: $link; }
QToolButton[kind="flat"]:disabled, QPushButton[kind="flat"]:disabled { color: $disabled; }
QPushButton[kind="link"] {
    border: 1px solid transparent; border-radius: ${small}px; padding: 5px; background: transparent; color: $link; }
QPushButton[kind="link"]:hover { background: $raised; }
QPushButton[kind="link"]:focus { border-color: $link; }
QPushButton[kind="link"]:disabled { color: $disabled; }
QToolButton[kind="flat"]::menu-indicator { image: none; width: 0; }
QToolButton[kind="way"] {
    border: 1px solid transparent; border-radius: ${tiny}px; padding: 0; background: transparent; color: $muted; }
QToolButton[kind="way"]:hover { color: $link; }
QToolButton[kind="way"]:focus { color: $link; border-color: $link; }
QToolButton[kind="way"]::menu-indicator { image: none; width: 0; }
QToolButton[kind="menu"] { padding-$after: ${menu_room}px; }
QToolButton[kind="menu"]::menu-indicator {
    image: url("$resources/down.svg"); width: ${box}px; height: ${box}px;
    subcontrol-origin: padding; subcontrol-position: center right; $after: ${tiny}px; }
QToolButton[kind="toggle"] {
    border: 1px solid transparent; border-radius: ${small}px; padding: 5px; background: transparent; color: $muted; }
QToolButton[kind="toggle"]:hover { background: $raised; }
QToolButton[kind="toggle"]:checked { border-color: $link; color: $link; }
QToolButton[kind="toggle"]:focus { border-color: $text; }
QPushButton[kind="plain"], QDialogButtonBox QPushButton {
    border: 1px solid $outline; border-radius: ${small}px; padding: 6px ${medium}px;
    background: $surface; color: $text; }
QPushButton[kind="plain"]:hover, QDialogButtonBox QPushButton:hover { background: $raised; }
QPushButton[kind="plain"]:checked { border-color: $link; color: $link; background: $bubble; }
QPushButton[kind="plain"]:focus, QDialogButtonBox QPushButton:focus { border: 2px solid $link; padding: 5px 11px; }
QPushButton[kind="plain"]:disabled, QDialogButtonBox QPushButton:disabled { color: $disabled; }
QPushButton[kind="step"] {
    border: 1px solid $border; border-radius: ${small}px; padding: 5px ${tiny}px; background: $surface; color: $text; }
QPushButton[kind="step"]:hover { background: $raised; }
QPushButton[kind="step"]:checked { border: 1px solid $accent; color: $link; background: $bubble; }
QPushButton[kind="step"]:focus { border: 2px solid $link; padding: 4px 3px; }
QPushButton[kind="example"] {
    border: 1px solid $border; border-radius: ${radius}px; background: $surface; text-align: left; }
QPushButton[kind="example"]:hover { background: $raised; }
QPushButton[kind="example"]:focus { border-color: $link; }
QPushButton::menu-indicator {
    image: url("$resources/down.svg"); width: ${box}px; height: ${box}px;
    subcontrol-origin: padding; subcontrol-position: center right; right: ${tiny}px; }
QPushButton[kind="primary"] {
    border: 1px solid $accent; border-radius: ${small}px; padding: 6px ${medium}px;
    background: $accent; color: $on_accent; }
QPushButton[kind="primary"]:focus { border: 2px solid $text; padding: 5px 11px; outline: 1px solid $on_accent; }
QPushButton[kind="primary"]:disabled { background: $raised; border-color: $border; color: $disabled; }
QToolButton[kind="round"] { border: 2px solid transparent; border-radius: ${round}px; background: $accent; }
QToolButton[kind="round"]:focus { border-color: $text; }
QToolButton[kind="round"]:disabled { background: $raised; }
QLineEdit, QPlainTextEdit[kind="field"], QComboBox, QAbstractSpinBox {
    border: 1px solid $outline; border-radius: ${small}px; padding: 4px ${small}px; background: $surface; color: $text;
    placeholder-text-color: $muted;
    selection-background-color: $accent; selection-color: $on_accent; }
QLineEdit:disabled, QComboBox:disabled, QAbstractSpinBox:disabled { color: $disabled; border-color: $border; }
QAbstractSpinBox { padding: 3px ${small}px 2px; }
QLineEdit:focus, QPlainTextEdit[kind="field"]:focus, QComboBox:focus { border: 2px solid $link; padding: 3px 7px; }
/* Qt sizes a list by the padding above its box, which must not change with the focus: the last row would not fit. */
QComboBox { padding: 0 ${small}px; min-height: ${field}px; }
QComboBox:focus { padding: 0 7px; min-height: ${field_in}px; }
QAbstractSpinBox:focus { border: 2px solid $link; padding: 2px 7px 1px; }
QComboBox QLineEdit, QComboBox QLineEdit:focus, QAbstractSpinBox QLineEdit, QAbstractSpinBox QLineEdit:focus {
    border: none; padding: 0; background: transparent; }
QComboBox::drop-down { border: none; width: ${drop}px; }
QComboBox::down-arrow { image: url("$resources/down.svg"); width: ${box}px; height: ${box}px; }
QComboBox QAbstractItemView {
    border: 1px solid $outline; padding: ${tiny}px 0; background: $surface; color: $text;
    selection-background-color: $accent; selection-color: $on_accent; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: none; width: 20px; background: transparent; }
QAbstractSpinBox::up-arrow { image: url("$resources/up.svg"); width: 11px; height: 11px; }
QAbstractSpinBox::down-arrow { image: url("$resources/down.svg"); width: 11px; height: 11px; }
QAbstractSpinBox::up-arrow:off { image: url("$resources/up-off.svg"); }
QAbstractSpinBox::down-arrow:off { image: url("$resources/down-off.svg"); }
QCheckBox { color: $text; spacing: ${small}px; outline: 1px solid $link; }
QCheckBox:disabled { color: $disabled; }
QCheckBox::indicator, QTreeView::indicator {
    width: ${box}px; height: ${box}px; border: 1px solid $outline; border-radius: ${tiny}px; background: $surface; }
QCheckBox::indicator:hover, QTreeView::indicator:hover { border-color: $text; }
QCheckBox::indicator:focus { border: 2px solid $link; width: ${box_in}px; height: ${box_in}px; }
QCheckBox::indicator:checked, QTreeView::indicator:checked {
    background: $accent; border-color: $accent; image: url("$resources/check.svg"); }
QCheckBox::indicator:checked:focus { border-color: $text; }
QCheckBox::indicator:disabled { background: $raised; border-color: $border; }
QCheckBox[kind="switch"] { font-weight: 600; }
QCheckBox[kind="switch"]::indicator {
    width: ${switch}px; height: ${knob}px; border: 1px solid $outline; border-radius: ${curve}px; background: $raised;
    image: url("$resources/switch_off.svg"); }
QCheckBox[kind="switch"]::indicator:focus { border: 2px solid $link; width: ${switch_in}px; height: ${knob_in}px; }
QCheckBox[kind="switch"]::indicator:checked {
    background: $accent; border-color: $accent; image: url("$resources/switch_on.svg"); }
QCheckBox[kind="switch"]::indicator:checked:focus { border-color: $text; }
#composer { background: $surface; border: 1px solid $border; border-radius: 14px; }
#composer[focused="true"] { border-color: $link; }
#composer[dropping="true"] { border: 2px dashed $accent; }
#composer QPlainTextEdit {
    border: none; background: transparent; color: $text; placeholder-text-color: $muted; }
QFrame[kind="card"] { background: $surface; border: 1px solid $border; border-radius: ${radius}px; }
QFrame[kind="card"]:focus { border-color: $link; }
Welcome[kind="card"]:focus { border-color: $border; }
QFrame[kind="card"][chosen="true"] { border: 2px solid $accent; }
QFrame#page[dropping="true"] { border: 2px dashed $accent; }
QFrame[kind="chip"] { background: $raised; border: 1px solid $border; border-radius: ${small}px; }
QToolButton[kind="chip"] {
    background: $raised; border: 1px solid $border; border-radius: ${small}px; padding: 2px ${small}px; color: $text; }
QToolButton[kind="chip"]:hover, QToolButton[kind="chip"]:checked { border-color: $text; }
QToolButton[kind="chip"]:focus { border: 2px solid $link; padding: 1px 7px; }
QFrame[kind="bar"] { background: $raised; border: 1px solid $border; border-radius: ${small}px; }
QFrame[kind="bar"][severity="danger"] { border-color: $danger; }
QListView { border: none; background: transparent; outline: none; }
QDialog QListWidget::item {
    padding: ${small}px; border-radius: ${small}px; color: $text; border: 1px solid transparent; }
QDialog QListWidget::item:selected { background: $raised; color: $text; }
QDialog QListWidget::item:selected:focus { border-color: $link; }
QScrollArea { border: none; background: transparent; }
QProgressBar { border: none; border-radius: 3px; background: $raised; max-height: 6px; }
QProgressBar::chunk { border-radius: 3px; background: $accent; }
QSplitter::handle { background: $border; }
QTreeWidget { border: none; background: transparent; outline: none; }
QTreeWidget::item { height: ${row}px; padding: 0 ${small}px; border: none; }
QTreeWidget::item:selected { background: $raised; color: $text; }
QTabWidget::pane { border: 1px solid $border; border-radius: ${small}px; background: $surface; }
QTabBar::tab {
    color: $muted; background: transparent; border: 1px solid transparent; border-radius: ${small}px;
    padding: 6px ${medium}px; margin: 0 ${tiny}px ${tiny}px 0; }
QTabBar::tab:selected { color: $text; background: $raised; }
QTabBar::tab:focus { border-color: $link; }
QHeaderView { background: transparent; border: none; }
QHeaderView::section {
    background: transparent; color: $muted; border: none; border-bottom: 1px solid $border; padding: 4px 11px; }
FigureTable::item { padding: 0 ${tiny}px; }
FigureTable QHeaderView::section { padding: 4px 7px; }
QDialog { background: $surface; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 0; border: none; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 0; border: none; }
QScrollBar::handle { background: $border; border-radius: ${tiny}px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: $disabled; }
QScrollBar[idle="true"]::handle:vertical { background: transparent; }
QScrollBar::add-line, QScrollBar::sub-line { height: 0; width: 0; border: none; background: transparent; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
""")


# In high contrast, focused and selected parts have a frame.
_CONTRAST = Template("""
QToolButton[kind="flat"]:focus, QPushButton[kind="flat"]:focus, QPushButton[kind="link"]:focus {
    border: 2px solid $link; padding: 4px; }
QToolButton[kind="menu"]:focus { border: 2px solid $link; padding: 4px; padding-$after: ${menu_room_in}px; }
QToolButton[kind="toggle"]:focus { border: 2px solid $text; padding: 4px; }
QPushButton[kind="step"]:checked { border: 2px solid $link; padding: 4px 3px; }
QPushButton[kind="step"]:checked:focus { outline: 1px solid $link; }
QToolButton[kind="flat"]:checked, QPushButton[kind="flat"]:checked, QTabBar::tab:selected { border-color: $text; }
QTabBar::tab:focus { border: 2px solid $link; }
QFrame[kind="card"]:focus, QPushButton[kind="example"]:focus, #composer[focused="true"] { border: 2px solid $link; }
QTreeWidget::item:selected, QDialog QListWidget::item:selected { background: $accent; color: $on_accent; }
QFrame#sidebar, QFrame#panel { border: 1px solid $border; }
""")


_MENU = Template("""
QMenu { background: $surface; color: $text; border: 1px solid $border; border-radius: ${radius}px; padding: 5px; }
QMenu::item {
    padding: 5px; padding-$before: ${medium}px; padding-$after: ${arrow_room}px;
    border: 1px solid transparent; border-radius: ${small}px;
    background: transparent; }
QMenu::item:selected { background: $raised; }
QMenu::item:disabled { color: $disabled; background: transparent; }
QMenu::separator { height: 1px; background: $border; margin: 5px ${small}px; }
QMenu::indicator { width: ${box}px; height: ${box}px; margin-$before: ${small}px; }
QMenu::indicator:checked { image: url("$resources/tick.svg"); }
""")
_MENU_CONTRAST = Template("QMenu::item:selected { border-color: $text; }")


def menu_sheet(theme: Theme, font: QFont) -> str:
    return _rules(_MENU, _MENU_CONTRAST, theme, font)


def sheet(theme: Theme, font: QFont) -> str:
    """Return the style sheet of a theme; boxes, switches and arrows scale with this font."""
    return _rules(_SHEET, _CONTRAST, theme, font)


def _rules(rules: Template, contrast: Template, theme: Theme, font: QFont) -> str:
    """Return the rules for a theme and font, in high contrast with those that it adds."""
    mirrored, line = QGuiApplication.isRightToLeft(), QFontMetrics(font).height()
    return _filled(rules, contrast if theme.drawings else None, theme, font.pointSizeF(), line, is_mirrored=mirrored)


@lru_cache(maxsize=8)
def _filled(
    rules: Template, more: Template | None, theme: Theme, points: float, line: int, *, is_mirrored: bool
) -> str:
    values = _values(theme, points, line, is_mirrored=is_mirrored)
    return rules.substitute(values) + (more.substitute(values) if more else "")


def _values(theme: Theme, points: float, line: int, *, is_mirrored: bool) -> dict[str, object]:
    """Return the colours and lengths that the rules name; `line` is the height of a line of text in pixels."""
    colours = {name: value for name, value in vars(theme).items() if isinstance(value, str)}
    lengths = {name: scaled_to(pixels, points) for name, pixels in _BESIDE_TEXT.items()}
    lengths["field"] = line + _AROUND_TEXT
    focused = {
        f"{name}_in": lengths[name] - 2 for name in ("box", "switch", "knob", "field")
    }  # a border is 2 pixels wide there
    spaces = {"tiny": TINY, "small": SMALL, "medium": MEDIUM, "large": LARGE, "radius": RADIUS}
    sides = ("right", "left") if is_mirrored else ("left", "right")
    return {
        **colours,
        **lengths,
        **focused,
        **spaces,
        "before": sides[0],
        "after": sides[1],
        "menu_room": lengths["box"] + SMALL,
        "menu_room_in": lengths["box"] + SMALL - 1,
        "arrow_room": lengths["box"] + SMALL + TINY,
        "curve": lengths["knob"] // 2 + 1,
        "round": lengths["send"] // 2,  # with more than half its side a button is square
        "resources": (RESOURCES / theme.drawings).as_posix(),
    }


def set_style_class(widget: QWidget, kind: str) -> None:
    """Give a widget the style class `kind`, such as "flat" or "danger"."""
    widget.setProperty("kind", kind)


def inset(spin: QSpinBox | QDoubleSpinBox) -> None:
    """Indent the number like the text of other fields, which a style sheet cannot do."""
    spin.lineEdit().setTextMargins(SMALL, 0, 0, 0)


def hide_idle_bar(area: QAbstractScrollArea) -> None:
    """Hide the handle of the vertical bar while there is nothing to scroll."""

    def show(low: int, high: int) -> None:
        # The bar is not stored, because it would lose its C++ object.
        set_style_property(area.verticalScrollBar(), "idle", value=low == high)

    area.verticalScrollBar().rangeChanged.connect(show)
    show(0, 0)


def set_style_property(widget: QWidget, name: str, value: object) -> None:
    """Set a property on which rules depend, and apply them again."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
