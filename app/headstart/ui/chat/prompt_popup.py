"""The list of prompts that opens above the message box while a "/" is typed there. Knows no prompt's text."""

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from headstart.ui.chat.message_edit import MessageEdit
from headstart.ui.chat.prompts import called, filled, matching
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import TINY, Theme

_MOST_ROWS = 8
_WIDTH = 520
_MOVES = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
_TAKES = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab)
_NAME = Qt.ItemDataRole.UserRole


class PromptPopup(QFrame):
    """Lies above `anchor`. The keyboard stays in the message box; the keys that the list needs are taken from it."""

    chosen = Signal(str)  # name
    library_requested = Signal()

    def __init__(self, theme: Theme, edit: MessageEdit, anchor: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._edit, self._anchor, self._theme = edit, anchor, theme
        self._prompts: dict[str, str] = {}
        self._waved_away = ""  # what was typed when a person pressed Esc
        self.list = self._columns()
        column = QVBoxLayout(self)
        column.setContentsMargins(TINY, TINY, TINY, TINY)
        column.addWidget(self.list)
        edit.installEventFilter(self)
        anchor.installEventFilter(self)
        edit.textChanged.connect(self._follow)
        edit.focused.connect(self._note_focus)
        self.list.itemClicked.connect(self._take)
        self.hide()

    def set_prompts(self, prompts: dict[str, str]) -> None:
        """Names with what is shown beside each."""
        self._prompts = prompts

    def set_theme(self, theme: Theme) -> None:
        """Remarks in another colour."""
        self._theme = theme
        self._follow()

    def names(self) -> list[str]:
        """What is offered now, the last being the way to the library."""
        items = (self.list.topLevelItem(row) for row in range(self.list.topLevelItemCount()))
        return [item.data(0, _NAME) for item in items if item]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if watched is self._anchor and event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        if watched is not self._edit or self.isHidden() or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        if event.type() == QEvent.Type.ShortcutOverride and event.key() == Qt.Key.Key_Escape:
            event.accept()  # else it would stop an answer
            return True
        return event.type() == QEvent.Type.KeyPress and self._obey(event)

    def _obey(self, event: QKeyEvent) -> bool:
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self._waved_away = self._edit.text()
            self.hide()
        elif key in _MOVES:
            self._move(_MOVES[Qt.Key(key)])
        elif self._takes(event):
            self._take()
        else:
            return False
        return True

    def _takes(self, event: QKeyEvent) -> bool:
        """Enter and Tab take the one that is marked, a space the one whose whole name is typed."""
        whole = event.key() == Qt.Key.Key_Space and called(self._edit.text()) in self._prompts
        return whole or (event.key() in _TAKES and not event.modifiers())

    def _move(self, by: int) -> None:
        here = self.list.currentItem()
        row = self.list.indexOfTopLevelItem(here) if here else 0
        self._mark((row + by) % self.list.topLevelItemCount())

    def _mark(self, row: int) -> None:
        item = self.list.topLevelItem(row)
        assert item
        self.list.setCurrentItem(item)

    @Slot()
    def _take(self) -> None:
        item = self.list.currentItem()
        name = item.data(0, _NAME) if item else ""
        self.hide()
        if name:
            self.chosen.emit(name)
        else:
            self.library_requested.emit()

    @Slot(bool)
    def _note_focus(self, focused: bool) -> None:
        if focused:
            self._follow()
        else:
            self.hide()

    @Slot()
    def _follow(self) -> None:
        """Show what fits what is typed."""
        typed = called(self._edit.text())
        found = [] if typed is None else matching(self._prompts, typed)
        if not self._edit.text().startswith(self._waved_away):
            self._waved_away = ""
        if not self._edit.hasFocus() or typed is None or not (found or not typed) or self._waved_away:
            self.hide()
            return
        self._fill(found)
        self._place()
        self.show()
        self.raise_()

    def _fill(self, names: Iterable[str]) -> None:
        self.list.clear()
        rows = [(name, f"/{name}", " ".join(filled(self._prompts[name]).text.split())) for name in names]
        for name, title, remark in [*rows, ("", self.tr("Edit prompts…"), "")]:
            item = QTreeWidgetItem([title, remark])
            item.setData(0, _NAME, name)
            item.setForeground(1, QColor(self._theme.muted))
            self.list.addTopLevelItem(item)
        self._mark(0)

    def _place(self) -> None:
        parent = self.parentWidget()
        assert parent
        rows = min(self.list.topLevelItemCount(), _MOST_ROWS)
        self.list.setFixedHeight(rows * self.list.sizeHintForRow(0) + TINY)
        corner = self._anchor.mapTo(parent, QPoint(0, 0))
        height = self.list.height() + 2 * TINY + 2 * self.frameWidth()
        self.setGeometry(corner.x(), corner.y() - height - TINY, min(_WIDTH, self._anchor.width()), height)

    def _columns(self) -> QTreeWidget:
        """Names on the left, the beginning of the prompts on the right."""
        columns = QTreeWidget(self)
        columns.setAccessibleName(self.tr("Prompts"))
        columns.setColumnCount(2)
        columns.setHeaderHidden(True)
        columns.setRootIsDecorated(False)
        columns.setUniformRowHeights(True)
        columns.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        columns.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        columns.header().setStretchLastSection(True)
        columns.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        return columns
