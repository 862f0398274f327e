"""The keys of every command that has some, by menu. Knows no command from inside."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QFont, QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from headstart.ui import actions
from headstart.ui.settings.settings_form import scrolled
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import HUGE, LARGE, MEDIUM, TINY, Theme

_SIZE = QSize(740, 640)
_LEFT = 3  # menus in the first column

Group = tuple[str, Sequence[QAction]]


class Shortcuts(QDialog):
    """Shows the groups it is given: a title and its commands each."""

    def __init__(self, theme: Theme, groups: Sequence[Group], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        inner = QWidget(self)
        columns = QHBoxLayout(inner)
        columns.setContentsMargins(LARGE, LARGE, LARGE, LARGE)
        columns.setSpacing(HUGE)
        for part in (groups[:_LEFT], groups[_LEFT:]):
            columns.addLayout(self._column(part), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, MEDIUM)
        column.addWidget(scrolled(inner, self, sideways=True), 1)
        column.addLayout(self._foot())
        self.resize(_SIZE)
        self.set_looks(theme, self.font())

    def set_looks(self, theme: Theme, font: QFont) -> None:
        """Other colours, or another font: a window of its own has it only later."""
        self.setStyleSheet(stylesheet.sheet(theme, font))

    def _column(self, groups: Sequence[Group]) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(LARGE)
        for title, commands in groups:
            column.addLayout(self._group(title, [command for command in commands if not command.shortcut().isEmpty()]))
        column.addStretch(1)
        return column

    def _group(self, title: str, commands: Sequence[QAction]) -> QGridLayout:
        grid = QGridLayout()
        grid.setVerticalSpacing(TINY)
        grid.setColumnStretch(0, 1)
        head = QLabel(title, self)
        dress(head, "section")
        grid.addWidget(head, 0, 0, 1, 2)
        for row, command in enumerate(commands, start=1):
            keys = QLabel(command.shortcut().toString(QKeySequence.SequenceFormat.NativeText), self)
            dress(keys, "badge")
            grid.addWidget(QLabel(actions.title(command), self), row, 0)
            grid.addWidget(keys, row, 1, Qt.AlignmentFlag.AlignRight)
        return grid

    def _foot(self) -> QHBoxLayout:
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.close)
        dress(buttons.button(QDialogButtonBox.StandardButton.Close), "plain")
        foot = QHBoxLayout()
        foot.setContentsMargins(MEDIUM, 0, MEDIUM, 0)
        foot.addStretch(1)
        foot.addWidget(buttons)
        return foot
