"""The style sheet of everything around the transcript, made from a theme; knows no widget but by `kind`."""

from string import Template

from PySide6.QtWidgets import QWidget

from headstart.ui.theme import LARGE, MEDIUM, RADIUS, SMALL, TINY, Theme

_SHEET = Template("""
QFrame#sidebar { background: $window; border: none; }
QFrame#panel { background: $window; border: none; }
QFrame#page, QFrame#header, QFrame#foot, QWidget#legend { background: $surface; border: none; }
QLabel { color: $text; background: transparent; }
QLabel[kind="muted"] { color: $muted; }
QLabel[kind="danger"] { color: $danger; }
QLabel[kind="section"] { color: $text; font-weight: 600; }
QLabel[kind="badge"] { color: $muted; background: $raised; border-radius: ${small}px; padding: 2px ${small}px; }
QLabel[kind="badge-accent"] {
    color: $on_accent; background: $accent; border-radius: ${small}px; padding: 2px ${small}px; }
QToolButton[kind="flat"], QPushButton[kind="flat"] {
    border: 1px solid transparent; border-radius: ${small}px; padding: 5px; background: transparent; color: $text; }
QToolButton[kind="flat"]:hover, QPushButton[kind="flat"]:hover { background: $raised; }
QToolButton[kind="flat"]:checked { background: $raised; border-color: $border; }
QToolButton[kind="flat"]:focus, QPushButton[kind="flat"]:focus { border-color: $accent; }
QToolButton[kind="flat"]:disabled, QPushButton[kind="flat"]:disabled { color: $disabled; }
QToolButton[kind="flat"]::menu-indicator { image: none; width: 0; }
QPushButton[kind="plain"] {
    border: 1px solid $border; border-radius: ${small}px; padding: 6px ${medium}px;
    background: $surface; color: $text; }
QPushButton[kind="plain"]:hover { background: $raised; }
QPushButton[kind="plain"]:focus { border-color: $accent; }
QPushButton[kind="plain"]:disabled { color: $disabled; }
QPushButton[kind="primary"] {
    border: 1px solid $accent; border-radius: ${small}px; padding: 6px ${large}px;
    background: $accent; color: $on_accent; }
QPushButton[kind="primary"]:focus { border: 2px solid $text; }
QPushButton[kind="primary"]:disabled { background: $raised; border-color: $border; color: $disabled; }
QToolButton[kind="round"] { border: 2px solid transparent; border-radius: 17px; background: $accent; }
QToolButton[kind="round"]:focus { border-color: $text; }
QToolButton[kind="round"]:disabled { background: $raised; }
QLineEdit, QPlainTextEdit[kind="field"] {
    border: 1px solid $border; border-radius: ${small}px; padding: 4px ${small}px; background: $surface; color: $text;
    selection-background-color: $accent; selection-color: $on_accent; }
QLineEdit:focus, QPlainTextEdit[kind="field"]:focus { border-color: $accent; }
QLineEdit:disabled { color: $disabled; }
QComboBox QLineEdit, QAbstractSpinBox QLineEdit { border: none; padding: 0; background: transparent; }
#composer { background: $surface; border: 1px solid $border; border-radius: 14px; }
#composer[focused="true"] { border-color: $accent; }
#composer[dropping="true"] { border: 2px dashed $accent; }
#composer QPlainTextEdit { border: none; background: transparent; color: $text; }
QFrame[kind="card"] { background: $surface; border: 1px solid $border; border-radius: ${radius}px; }
QFrame[kind="card"][chosen="true"] { border: 2px solid $accent; }
QFrame[kind="chip"] { background: $raised; border: 1px solid $border; border-radius: ${small}px; }
QFrame[kind="bar"] { background: $raised; border: 1px solid $border; border-radius: ${small}px; }
QFrame[kind="bar"][severity="danger"] { border-color: $danger; }
QListView { border: none; background: transparent; outline: none; }
QScrollArea { border: none; background: transparent; }
QProgressBar { border: none; border-radius: 3px; background: $raised; max-height: 6px; }
QProgressBar::chunk { border-radius: 3px; background: $accent; }
QSplitter::handle { background: $border; }
QTreeWidget { border: none; background: transparent; outline: none; }
QTreeWidget::item { height: 30px; padding: 0 ${small}px; border: none; }
QTreeWidget::item:selected { background: $raised; color: $text; }
QDialog { background: $surface; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 0; border: none; }
QScrollBar::handle:vertical { background: $border; border-radius: ${tiny}px; min-height: 28px; margin: 2px; }
QScrollBar::handle:vertical:hover { background: $disabled; }
QScrollBar[idle="true"]::handle:vertical { background: transparent; }
QScrollBar::add-line, QScrollBar::sub-line { height: 0; width: 0; border: none; background: transparent; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
""")


def sheet(theme: Theme) -> str:
    """The rules in the colours of a theme."""
    colours = {name: value for name, value in vars(theme).items() if isinstance(value, str)}
    return _SHEET.substitute(colours, tiny=TINY, small=SMALL, medium=MEDIUM, large=LARGE, radius=RADIUS)


def dress(widget: QWidget, kind: str) -> None:
    """Let the rules of this kind apply to a widget."""
    widget.setProperty("kind", kind)


def mark(widget: QWidget, name: str, value: object) -> None:
    """Change a property that rules depend on, and apply them again."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
