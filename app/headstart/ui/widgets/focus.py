"""Keyboard: Tab in reading order, a substitute for a focused widget that is hidden or disabled, input methods."""

from collections.abc import Iterable

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, QTimer, Slot
from PySide6.QtGui import QColor, QFocusEvent, QInputMethodEvent, QKeyEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QApplication, QPlainTextEdit, QWidget

from headstart.ui.widgets.theme import SMALL, TINY

_KEY_TYPES = (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride)
_RING = 2  # pixels
_IS_LAST = "last in its row"  # the property that `mark_as_last` sets
_STOPS = "stops"  # the property that `mark_as_stop` sets
_CONTAINERS = ("page", "panel", "sidebar")  # object names of the parts of a window


def step(columns: Iterable[QWidget], *, forward: bool) -> bool:
    """Move the focus to the next or previous stop in these parts and scroll to it; return False if there is none."""
    all_stops = stops(columns)
    if not all_stops:
        return False
    here = QApplication.focusWidget()
    inside = next((at for at, stop in enumerate(all_stops) if here and here.isAncestorOf(stop)), 0)
    at = all_stops.index(here) + (1 if forward else -1) if here in all_stops else inside - (0 if forward else 1)
    target = all_stops[at % len(all_stops)]
    bring_into_view(target)
    target.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
    return True


class FocusKeeper(QObject):
    """Moves the focus when its widget is hidden or disabled, and back when the widget is usable again.

    The substitute is the button that stops what has begun, or else the card or page around the widget. It is never a
    control that would do something else at the next key.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._lost: QWidget | None = None  # the widget that had the focus
        self._substitute: QWidget | None = None  # the widget that has it instead
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_focus_changed)

    def has_lost(self) -> bool:
        """Return whether the focused widget is unusable; if so, move the focus."""
        here = self._window.focusWidget()
        if here is None or _is_usable(here):
            return False
        self._on_lost(here)
        return True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._lost and event.type() in (QEvent.Type.Show, QEvent.Type.EnabledChange):
            QTimer.singleShot(0, self, self._return_focus)
        return super().eventFilter(watched, event)

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, now: QWidget | None) -> None:
        """Move the focus on from a widget that was disabled or hidden: Qt leaves it nowhere."""
        is_gone = old is not None and now is None and shiboken6.isValid(self._window)
        if old is not None and is_gone and self._window.isAncestorOf(old) and not _is_usable(old):
            self._on_lost(old)

    def _on_lost(self, widget: QWidget) -> None:
        if widget is not self._substitute or self._lost is None:
            if self._lost is not None and shiboken6.isValid(self._lost):
                self._lost.removeEventFilter(self)
            self._lost = widget
            widget.installEventFilter(self)
        QTimer.singleShot(0, self, self._move_focus)

    def _move_focus(self) -> None:
        """Move the focus to the substitute, after all changes of the current event."""
        now = self._window.focusWidget()
        has_focus = now is not None and now is not self._lost and _is_usable(now)
        if self._lost is None or not shiboken6.isValid(self._lost) or has_focus:
            return
        self._substitute = self._lost if _is_usable(self._lost) else _find_substitute(self._lost)
        if self._substitute:
            self._substitute.setFocus()

    def _return_focus(self) -> None:
        """Return the focus, unless the user has moved it or the substitute is a button."""
        waits = self._window.focusWidget() is self._substitute and not isinstance(self._substitute, QAbstractButton)
        if self._lost is not None and shiboken6.isValid(self._lost) and waits and _is_usable(self._lost):
            self._lost.setFocus()


class InputMethodGuard(QObject):
    """Leaves every key to the input method while something is being composed, in every text box.

    Most input methods take the keys themselves; those that do not would send half a word, or close a dialog.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._composing: QObject | None = None
        self._placeholder = ""  # of the box in which something is composed
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_focus_changed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QInputMethodEvent):
            self._show_placeholder(watched, shown=not event.preeditString())
            self._composing = watched if event.preeditString() else None
        elif isinstance(event, QKeyEvent) and watched is self._composing and event.type() in _KEY_TYPES:
            event.accept()  # else a shortcut, or a widget around, gets it
            return True
        return super().eventFilter(watched, event)

    def _show_placeholder(self, box: QObject | None, *, shown: bool) -> None:
        # WORKAROUND Qt 6.11: QPlainTextEdit paints its placeholder below what is composed.
        if isinstance(box, QPlainTextEdit) and shown == bool(self._placeholder):
            before, text = box.placeholderText(), self._placeholder
            box.setPlaceholderText(text)
            self._placeholder = "" if shown else before

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, old: QWidget | None, now: QWidget | None) -> None:
        self._show_placeholder(old, shown=True)
        self._composing = None
        if now is not None and now.testAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled):
            now.installEventFilter(self)  # again each time: the filter installed last is the first to see a key


class FocusRing(QWidget):
    """A ring over a scroll area while a key has moved the focus there."""

    def __init__(self, area: QAbstractScrollArea) -> None:
        super().__init__(area)
        self._area = area
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        area.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not shiboken6.isValid(self._area):  # it loses the focus while it is destroyed
            return False
        if isinstance(event, QFocusEvent):
            self.resize(self._area.size())
            self.raise_()
            self.setVisible(event.gotFocus() and is_by_key(event))
        elif event.type() == QEvent.Type.Resize:
            self.resize(self._area.size())
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_ring(painter, self.rect(), self.palette().color(QPalette.ColorRole.Link))
        painter.end()


def is_by_key(event: QFocusEvent) -> bool:
    """Return whether a key has moved the focus, so that its place must be shown."""
    reasons = Qt.FocusReason
    return event.reason() in (reasons.TabFocusReason, reasons.BacktabFocusReason, reasons.ShortcutFocusReason)


def paint_ring(painter: QPainter, rect: QRect, colour: QColor) -> None:
    """Paint the ring around what has the focus, for parts without a style sheet."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colour, _RING))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(QRectF(rect).adjusted(_RING / 2, _RING / 2, -_RING / 2, -_RING / 2), TINY, TINY)


def mark_as_stop(button: QAbstractButton) -> None:
    """Mark a button that stops what another one has begun."""
    button.setProperty(_STOPS, True)  # noqa: FBT003 - Qt's own signature


def mark_as_last(widget: QWidget) -> None:
    """Mark what Tab visits at the end of its row, wherever it stands there: the buttons of a message after its text."""
    widget.setProperty(_IS_LAST, True)  # noqa: FBT003 - Qt's own signature


class _WheelFilter(QObject):
    """An event filter that lets the wheel scroll the page, not change a field."""

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel:
            event.ignore()
        return event.type() == QEvent.Type.Wheel


def pass_wheel(*fields: QWidget) -> None:
    """Make the wheel scroll the page around these fields instead of changing their values."""
    for field in fields:
        field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        field.installEventFilter(_WheelFilter(field))


def stops(columns: Iterable[QWidget]) -> list[QWidget]:
    """Return the widgets that Tab visits, column after column."""
    return [stop for column in columns for stop in _ordered_stops(column)]


def bring_into_view(widget: QWidget) -> None:
    """Scroll the areas around a widget so that it is visible; of a tall one, show the beginning."""
    for area in _ancestors(widget):
        if isinstance(area, QAbstractScrollArea):
            top = widget.mapTo(area.viewport(), QPoint(0, 0)).y()
            beyond = top + widget.height() - area.viewport().height()
            bar = area.verticalScrollBar()
            if top < 0:
                bar.setValue(bar.value() + top - SMALL)
            elif beyond > 0:
                bar.setValue(bar.value() + min(beyond, top) + SMALL)


def _ordered_stops(part: QWidget) -> list[QWidget]:
    """Return the stops in reading order, row by row. A scroll area counts as one stop."""
    children = [widget for widget in part.findChildren(QWidget) if _is_stop(widget)]
    blocks = dict.fromkeys(_outermost(widget, part) or widget for widget in children)
    ordered: list[QWidget] = []
    for row in _rows(part, list(blocks)):
        for block in row:
            ordered += [block] if _is_stop(block) else []
            ordered += _ordered_stops(block.viewport()) if isinstance(block, QAbstractScrollArea) else []
    return ordered


def _outermost(widget: QWidget, part: QWidget) -> QAbstractScrollArea | None:
    """Return the outermost scroll area around a widget inside this part."""
    above = _ancestors(widget)
    inside = above[: above.index(part)] if part in above else []
    return next((area for area in reversed(inside) if isinstance(area, QAbstractScrollArea)), None)


def _rows(part: QWidget, widgets: list[QWidget]) -> list[list[QWidget]]:
    places = {widget: QRect(widget.mapTo(part, QPoint(0, 0)), widget.size()) for widget in widgets}
    rows: list[list[QWidget]] = []
    for widget in sorted(widgets, key=lambda each: places[each].top()):
        if rows and places[widget].center().y() <= places[rows[-1][0]].bottom():
            rows[-1].append(widget)
        else:
            rows.append([widget])
    rightward = part.layoutDirection() == Qt.LayoutDirection.LeftToRight

    def place(widget: QWidget) -> tuple[bool, int]:
        return bool(widget.property(_IS_LAST)), places[widget].left() if rightward else -places[widget].right()

    return [sorted(row, key=place) for row in rows]


def _ancestors(widget: QWidget) -> list[QWidget]:
    """Return the ancestors of a widget, the nearest first."""
    parent = widget.parentWidget()
    return [parent, *_ancestors(parent)] if parent else []


def _is_usable(widget: QWidget) -> bool:
    return widget.isVisible() and widget.isEnabled()


def _find_substitute(widget: QWidget) -> QWidget | None:
    for place in _ancestors(widget):
        if not _is_usable(place):
            continue
        buttons = (each for each in place.findChildren(QAbstractButton) if each.property(_STOPS) and _is_usable(each))
        if button := next(buttons, None):
            return button
        if (place.property("kind") == "card" and place.accessibleName()) or place.objectName() in _CONTAINERS:
            return place
    return None


def _is_stop(widget: QWidget) -> bool:
    takes_tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return takes_tab and widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None
