"""Layouts, cards, pages and dialogs."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QDir, QEvent, QObject, QPoint, QRect, QSize, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QDesktopServices,
    QGuiApplication,
    QHideEvent,
    QKeySequence,
    QPalette,
    QResizeEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QDialog,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLayout,
    QLayoutItem,
    QMessageBox,
    QPushButton,
    QScrollArea,
    QStyle,
    QToolButton,
    QTreeWidget,
    QVBoxLayout,
    QWidget,
)

from headstart import paths, private_files
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.icons import icon_button
from headstart.ui.widgets.labels import Heading, section
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, current, scaled


class FlowLayout(QLayout):
    """A layout that wraps like words; `spacing` separates items and lines."""

    def __init__(self, parent: QWidget, spacing: int) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)
        self.invalidate()  # Qt leaves that to the layout: an item that was shown before it was added has no place yet

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._place(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._place(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        widest = QSize()
        for item in self._items:
            widest = widest.expandedTo(item.minimumSize())
        return widest

    def _place(self, rect: QRect, *, move: bool) -> int:
        """Return the height that the items need at this width, and `move` them there if asked."""
        parent = self.parentWidget()
        direction = parent.layoutDirection() if parent else Qt.LayoutDirection.LeftToRight
        x, y, line = rect.x(), rect.y(), 0
        for item in self._items:
            if item.isEmpty():  # hidden
                continue
            size = item.sizeHint().boundedTo(QSize(rect.width(), item.sizeHint().height()))
            if x > rect.x() and x + size.width() > rect.right() + 1:
                x, y, line = rect.x(), y + line + self.spacing(), 0
            if move:
                item.setGeometry(QStyle.visualRect(direction, rect, QRect(QPoint(x, y), size)))
            x, line = x + size.width() + self.spacing(), max(line, size.height())
        return y + line - rect.y()


class Card(QFrame):
    """A frame with a title. Its content goes into `column`."""

    def __init__(self, parent: QWidget | None, title: str = "", *, spacing: int = SMALL) -> None:
        super().__init__(parent)
        set_style_class(self, "card")
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        self.column.setSpacing(spacing)
        if title:
            self.column.addWidget(section(title, self))


class Spaced(QWidget):
    """A widget with a margin around it, which disappears while the widget is hidden."""

    def __init__(self, inner: QWidget, margin: int, parent: QWidget) -> None:
        super().__init__(parent)
        stacked(self, inner, margin=margin)
        self.setVisible(not inner.isHidden())
        inner.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.setVisible(event.type() == QEvent.Type.ShowToParent)
        return super().eventFilter(watched, event)


class TitledField(QWidget):
    """A field with a title, which is also its name for screen readers."""

    def __init__(self, title: str, field: QWidget, parent: QWidget, *, above: bool = False) -> None:
        """`above` puts the title above the field instead of beside it."""
        super().__init__(parent)
        label = QLabel(title, self)
        label.setBuddy(field)
        field.setAccessibleName(title)
        row = QBoxLayout(QBoxLayout.Direction.TopToBottom if above else QBoxLayout.Direction.LeftToRight, self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        row.addWidget(label)
        row.addWidget(field)


def set_margins(layout: QLayout, *, start: int, top: int, end: int, bottom: int) -> None:
    """Set margins by reading direction, because Qt does not mirror them."""
    left, right = (end, start) if QGuiApplication.isRightToLeft() else (start, end)
    layout.setContentsMargins(left, top, right, bottom)


Part = QWidget | QLayout


def row(*widgets: QWidget) -> QHBoxLayout:
    """Create a row of widgets with free space at its end."""
    row = beside(None, *widgets)
    row.addStretch(1)
    return row


def beside(
    parent: QWidget | None, *parts: Part, margin: int = 0, spacing: int = SMALL, growing: Part | None = None
) -> QHBoxLayout:
    """Create a row with the same margin on each side. The part `growing` takes the free space."""
    row = QHBoxLayout(parent) if parent else QHBoxLayout()
    _fill(row, parts, margin, spacing, growing)
    return row


def stacked(
    parent: QWidget | None, *parts: Part, margin: int = 0, spacing: int = SMALL, growing: Part | None = None
) -> QVBoxLayout:
    """Create a column, with the parameters of `beside`."""
    column = QVBoxLayout(parent) if parent else QVBoxLayout()
    _fill(column, parts, margin, spacing, growing)
    return column


def _fill(box: QBoxLayout, parts: Iterable[Part], margin: int, spacing: int, growing: Part | None) -> None:
    box.setContentsMargins(margin, margin, margin, margin)
    box.setSpacing(spacing)
    add(box, *parts, growing=growing)


def add(box: QBoxLayout, *parts: Part, growing: Part | None = None) -> None:
    """Append parts to a row or column."""
    for part in parts:
        stretch = int(part is growing)
        if isinstance(part, QLayout):
            box.addLayout(part, stretch)
        else:
            box.addWidget(part, stretch)


def flowing(widgets: Iterable[QWidget], parent: QWidget, spacing: int = MEDIUM) -> QWidget:
    """Create a row that wraps."""
    row = QWidget(parent)
    flow = FlowLayout(row, spacing)
    for widget in widgets:
        flow.addWidget(widget)
    return row


def scrolled(inner: QWidget, parent: QWidget, *, sideways: bool = False) -> QScrollArea:
    """Create a transparent scroll area, which scrolls horizontally only if `sideways`."""
    scroll = QScrollArea(parent)
    scroll.setWidgetResizable(True)
    if not sideways:
        inner.setMinimumWidth(1)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    scroll.setWidget(inner)
    inner.setAutoFillBackground(False)  # `setWidget` turns it on
    scroll.viewport().setAutoFillBackground(False)
    return scroll


def two_columns(name: str, parent: QWidget, *, widened: int) -> QTreeWidget:
    """Create a list of two columns that is operated by the keys of another widget.

    The column `widened` takes the free space. `name` is for screen readers.
    """
    columns = QTreeWidget(parent)
    columns.setAccessibleName(name)
    columns.setColumnCount(2)
    columns.setHeaderHidden(True)
    columns.setRootIsDecorated(False)
    columns.setUniformRowHeights(True)
    columns.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    columns.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    columns.header().setStretchLastSection(False)
    columns.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    columns.header().setSectionResizeMode(widened, QHeaderView.ResizeMode.Stretch)
    columns.ensurePolished()  # or rows keep the height that they have without the style sheet
    return columns


def back_button(parent: QWidget) -> QToolButton:
    """Create the button that leads back to the chat."""
    label = QCoreApplication.translate("Page", "Back to the chat")
    button = icon_button("previous", label, parent, colour=QPalette.ColorRole.WindowText)
    button.setToolTip(QCoreApplication.translate("Page", "Back to the chat (Esc)"))
    return button


_NARROW_PAGE = 560  # pixels; a narrower page has no room to spare beside the way back


class Page(QFrame):
    """A page with a title and a way back. Its content goes into `column`, which begins below the title."""

    back_requested = Signal()
    entered = Signal()
    left = Signal()  # for another page, or because the window closes

    def __init__(self, max_width: int, parent: QWidget | None = None) -> None:
        """`max_width` of the content, in pixels."""
        super().__init__(parent)
        self.setObjectName("page")
        self._title = Heading("", 1.5, self)
        self._max_width = max_width
        self._back = back_button(self)
        self._back.clicked.connect(self.back_requested)
        self.inner = QWidget(self)
        self.column = QVBoxLayout(self.inner)
        self.column.setSpacing(MEDIUM)
        outside = QVBoxLayout(self)
        outside.setContentsMargins(0, 0, 0, 0)
        outside.addLayout(self._head())
        self.scroll_area = scrolled(self.inner, self, sideways=True)
        outside.addWidget(self.scroll_area, 1)

    def set_title(self, title: str) -> None:
        self._title.setText(title)
        self.setAccessibleName(title)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._align()

    def event(self, event: QEvent) -> bool:
        is_handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # the text became larger
            self._align()
        return is_handled

    def _align(self) -> None:
        """Let the content begin below the title."""
        is_narrow = self.width() < _NARROW_PAGE
        start = LARGE if is_narrow else 2 * SMALL + self._back.sizeHint().width()
        end = max(self.width() - start - self._max_width, LARGE)
        set_margins(self.column, start=start, top=MEDIUM, end=end, bottom=LARGE)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous():
            self.entered.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if not event.spontaneous():  # not if the window is only minimised
            self.left.emit()

    def _head(self) -> QHBoxLayout:
        head = QHBoxLayout()
        head.setContentsMargins(SMALL, SMALL, SMALL, 0)
        head.setSpacing(SMALL)
        head.addWidget(self._back)
        head.addWidget(self._title)
        head.addStretch(1)
        return head


def style_dialog(dialog: QDialog) -> None:
    """Set the window's style sheet, which a dialog does not inherit if its parent has none."""
    dialog.setStyleSheet(stylesheet.sheet(current(), QApplication.font()))


_FRAME = QSize(2 * SMALL, 6 * SMALL)  # of a window, its title bar above all


class Dialog(QDialog):
    """A dialog that follows theme and font.

    Enter in a field presses the button that was made the default one, and without one no button: Qt would take the
    first.
    """

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        style_dialog(self)
        # The window's own shortcut is inactive while the dialog is open.
        QShortcut(QKeySequence("Ctrl+Q"), self).activated.connect(self._quit)

    def open(self) -> None:
        """Open the dialog, which is deleted when it closes."""
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        super().open()

    def set_size(self, size: QSize) -> None:
        """Resize to a size in pixels at the usual size of text, as far as the screen has room."""
        wanted = QSize(scaled(size.width(), self.font()), scaled(size.height(), self.font()))
        self.resize(wanted.boundedTo(self.screen().availableSize() - _FRAME))

    def setVisible(self, visible: bool) -> None:
        buttons = self.findChildren(QPushButton) if visible else []
        if not any(button.isDefault() for button in buttons):
            for button in buttons:
                button.setAutoDefault(False)
        super().setVisible(visible)

    def event(self, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.ApplicationPaletteChange, QEvent.Type.ApplicationFontChange}:
            style_dialog(self)
        return super().event(event)

    @Slot()
    def _quit(self) -> None:
        top: QWidget = self
        while above := top.parentWidget():
            top = above
        self.close()
        if action := top.findChild(QAction, "quit"):
            action.trigger()


_LAST_FOLDER = "last folder"  # a property of the application


def initial_path(name: str = "") -> str:
    """Return the initial path of a file dialog: `name` in the folder used last, at first the home folder."""
    application = QCoreApplication.instance()
    assert application, "a file dialog needs an application"
    return QDir(application.property(_LAST_FOLDER) or QDir.homePath()).filePath(name)


def remember_folder(chosen: str) -> None:
    """Let the next file dialog begin in this folder or in the folder of this file."""
    application = QCoreApplication.instance()
    assert application, "a file dialog needs an application"
    application.setProperty(_LAST_FOLDER, chosen if paths.is_folder(Path(chosen)) else str(Path(chosen).parent))


def confirm(parent: QWidget, title: str, question: str, action: str, more: str = "") -> bool:
    """Ask before an action that cannot be undone; return True if it may be done. `action`: the text of the button."""
    box = QMessageBox(QMessageBox.Icon.Question, title, question, parent=parent)
    style_dialog(box)
    box.setInformativeText(more)
    proceed = box.addButton(action, QMessageBox.ButtonRole.DestructiveRole)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))  # Enter presses it
    box.exec()
    return box.clickedButton() is proceed


def open_folder(folder: Path) -> None:
    """Show a folder in the desktop's own program; one that cannot be made by the nearest above it."""
    with suppress(OSError):
        private_files.make(folder)
    shown = next(path for path in (folder, *folder.parents) if paths.is_folder(path))
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(shown)))
