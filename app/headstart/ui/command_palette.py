"""What can be done now and which chats there are, to be chosen by typing."""

from collections.abc import Iterable
from itertools import islice

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QHeaderView,
    QLabel,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from headstart.ui import actions
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.layouts import Dialog
from headstart.ui.widgets.theme import MEDIUM, SMALL

_WHAT = Qt.ItemDataRole.UserRole
_OFFERED = 100  # chats; who looks for another one types more letters
_MOVES = (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_PageDown, Qt.Key.Key_PageUp)


class CommandPalette(Dialog):
    """Lists what can be done now; the choice is triggered after it has closed."""

    chat_chosen = Signal(str)

    def __init__(self, commands: Iterable[QAction], chats: Iterable[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Command palette"))
        self._commands = [action for action in commands if action.isEnabled() and action.objectName() != "palette"]
        self._chats = list(chats)
        self.field = QLineEdit(self)
        self.field.setPlaceholderText(self.tr("Type a command or the title of a chat"))
        self.field.setAccessibleName(self.windowTitle())
        self.list = self._columns()
        self._nothing = QLabel(self)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self._nothing.setMargin(MEDIUM)
        self._nothing.setWordWrap(True)
        self._nothing.setTextFormat(Qt.TextFormat.PlainText)
        stylesheet.dress(self._nothing, "muted")
        column = QVBoxLayout(self)
        column.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        column.addWidget(self.field)
        column.addWidget(self._nothing, 1)
        column.addWidget(self.list, 1)
        self.resize(QSize(min(560, parent.width() - 80), 380))
        self.field.installEventFilter(self)
        self.field.textChanged.connect(self._fill)
        self.field.returnPressed.connect(self._choose)
        self.list.itemClicked.connect(self._choose)
        self._fill("")

    def _columns(self) -> QTreeWidget:
        """Titles on the left, keys on the right."""
        columns = QTreeWidget(self)
        columns.setAccessibleName(self.tr("Commands and chats"))
        columns.setColumnCount(2)
        columns.setHeaderHidden(True)
        columns.setRootIsDecorated(False)
        columns.setUniformRowHeights(True)
        columns.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        columns.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        header = columns.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        return columns

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if watched is self.field and isinstance(event, QKeyEvent) and event.key() in _MOVES:
            self.list.event(event)
            return True
        return super().eventFilter(watched, event)

    @Slot(str)
    def _fill(self, typed: str) -> None:
        self.list.clear()
        words = typed.lower().split()
        for action in self._commands:
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            if _holds(actions.title(action), words):
                self._offer(actions.title(action), keys, action)
        named = ((chat, title or self.tr("New chat")) for chat, title in self._chats)
        for chat, title in islice((each for each in named if _holds(each[1], words)), _OFFERED):
            self._offer(title, self.tr("chat"), chat)
        first = self.list.topLevelItem(0)
        if first:
            self.list.setCurrentItem(first)
        self.list.setVisible(first is not None)
        self._nothing.setText(self.tr("No command or chat is called “{}”.").format(typed.strip()))
        self._nothing.setVisible(first is None)

    def _offer(self, text: str, remark: str, what: object) -> None:
        item = QTreeWidgetItem([text, remark])
        item.setData(0, _WHAT, what)
        item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        item.setForeground(1, self.palette().placeholderText())
        self.list.addTopLevelItem(item)

    @Slot()
    def _choose(self) -> None:
        item = self.list.currentItem()
        if item is None:
            return
        what = item.data(0, _WHAT)
        self.close()
        if isinstance(what, QAction):
            what.trigger()
        elif isinstance(what, str):
            self.chat_chosen.emit(what)


def _holds(title: str, words: list[str]) -> bool:
    return all(word in title.lower() for word in words)
