"""A field with its title beside or above it, and a row of widgets that goes on below when full. Knows no value."""

from collections.abc import Iterable

from PySide6.QtWidgets import QBoxLayout, QLabel, QWidget

from headstart.ui.widgets.flow import Flow
from headstart.ui.widgets.theme import MEDIUM, SMALL


class TitledField(QWidget):
    """Screen readers call the field by its title, too."""

    def __init__(self, title: str, field: QWidget, parent: QWidget, *, above: bool = False) -> None:
        """`above`: the title stands above the field, not beside it."""
        super().__init__(parent)
        label = QLabel(title, self)
        label.setBuddy(field)
        field.setAccessibleName(title)
        row = QBoxLayout(QBoxLayout.Direction.TopToBottom if above else QBoxLayout.Direction.LeftToRight, self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        row.addWidget(label)
        row.addWidget(field)


def flowing(widgets: Iterable[QWidget], parent: QWidget) -> QWidget:
    """Side by side, and on as many lines as they need."""
    row = QWidget(parent)
    flow = Flow(row, MEDIUM)
    for widget in widgets:
        flow.addWidget(widget)
    return row
