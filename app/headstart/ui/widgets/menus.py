"""Menus and small windows of text, with round corners as cards have them."""

from PySide6.QtCore import QRectF, Qt, Slot
from PySide6.QtGui import QGuiApplication, QPainterPath, QRegion, QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QMenu, QWidget

from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.labels import label
from headstart.ui.widgets.layouts import stacked
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import MEDIUM, RADIUS, SMALL, current, scaled

_TEXT_WIDTH = 420  # pixels at the usual size of text


class Menu(QMenu):
    """A menu in the colours of the theme. It takes its style sheet when it opens: most menus are never seen."""

    def __init__(self, parent: QWidget | None = None, title: str = "") -> None:
        super().__init__(title, parent)
        self.setLayoutDirection(QGuiApplication.layoutDirection())
        _make_frameless(self)
        self.aboutToShow.connect(self._apply_theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        _round(self)

    @Slot()
    def _apply_theme(self) -> None:
        sheet = stylesheet.menu_sheet(current(), QApplication.font())
        if sheet != self.styleSheet():
            self.setFont(QApplication.font())
            self.setStyleSheet(sheet)


class TextPopup(QFrame):
    """A small window with a text, which a click elsewhere or Esc closes."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        set_style_class(self, "card")
        _make_frameless(self)
        self.setStyleSheet(stylesheet.sheet(current(), QApplication.font()))
        self.label = label(text, self, selectable=True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        lines = [self.label.fontMetrics().horizontalAdvance(line) for line in text.splitlines()]
        self.label.setFixedWidth(min(max(lines, default=0) + SMALL, scaled(_TEXT_WIDTH, QApplication.font())))
        stacked(self, self.label, margin=MEDIUM)
        self.setAccessibleName(text)

    def open_below(self, button: QWidget) -> None:
        """Show the window below a button, with both ends at the same edge, and within the screen."""
        self.adjustSize()
        area = self.screen().availableGeometry()
        place = button.mapToGlobal(button.rect().bottomLeft())
        x = place.x() if button.isRightToLeft() else place.x() + button.width() - self.width()
        x = max(min(x, area.right() - self.width()), area.left())
        y = max(min(place.y(), area.bottom() - self.height()), area.top())
        self.move(x, y)
        self.show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        _round(self)


def _make_frameless(window: QWidget) -> None:
    flags = Qt.WindowType.FramelessWindowHint | Qt.WindowType.NoDropShadowWindowHint
    window.setWindowFlags(window.windowFlags() | flags)
    window.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground, on=not _is_opaque())


def _round(window: QWidget) -> None:
    if _is_opaque():
        path = QPainterPath()
        path.addRoundedRect(QRectF(window.rect()), RADIUS, RADIUS)
        window.setMask(QRegion(path.toFillPolygon().toPolygon()))


def _is_opaque() -> bool:
    """Return whether a transparent corner might be black: X11 without a compositor. A mask is less smooth, but safe."""
    return QGuiApplication.platformName() == "xcb"
