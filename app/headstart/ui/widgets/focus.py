"""Focus by Tab in reading order, and focus when its widget is hidden or disabled."""

from collections.abc import Iterable

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer, Slot
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QApplication, QWidget

from headstart.ui.widgets.theme import SMALL

_ENDS = "ends"  # the property of a button that is marked by `ends`
_PLACES = ("page", "panel", "sidebar")  # names of what a window is made of


def step(columns: Iterable[QWidget], *, forward: bool) -> bool:
    """Move the focus to the next or previous stop in these parts of a window, and scroll it into view."""
    found = stops(columns)
    if not found:
        return False
    here = QApplication.focusWidget()
    inside = next((at for at, stop in enumerate(found) if here and here.isAncestorOf(stop)), 0)
    at = found.index(here) + (1 if forward else -1) if here in found else inside - (0 if forward else 1)
    target = found[at % len(found)]
    bring_into_view(target)
    target.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
    return True


class FocusKeeper(QObject):
    """Moves the focus when its widget is hidden or disabled: to the button that ends what has begun, or to the card or
    page around it, until the widget is back. Never to a control that would do something else at the next key.
    """

    def __init__(self, window: QWidget) -> None:
        """Listens from now on."""
        super().__init__(window)
        self._window = window
        self._lost: QWidget | None = None  # what had the focus
        self._heir: QWidget | None = None  # what has it instead
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._follow)

    def has_lost(self) -> bool:
        """Whether the focused widget is unusable; then the focus moves on."""
        here = self._window.focusWidget()
        if here is None or _is_usable(here):
            return False
        self._note_loss(here)
        return True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if watched is self._lost and event.type() in (QEvent.Type.Show, QEvent.Type.EnabledChange):
            QTimer.singleShot(0, self, self._give_back)
        return super().eventFilter(watched, event)

    @Slot(QWidget, QWidget)
    def _follow(self, old: QWidget | None, now: QWidget | None) -> None:
        """Qt does not ask for the next stop when a whole form is disabled."""
        is_gone = old is not None and now is None and shiboken6.isValid(self._window)
        if old is not None and is_gone and self._window.isAncestorOf(old) and not _is_usable(old):
            self._note_loss(old)

    def _note_loss(self, widget: QWidget) -> None:
        if widget is not self._heir or self._lost is None:
            if self._lost is not None and shiboken6.isValid(self._lost):
                self._lost.removeEventFilter(self)
            self._lost = widget
            widget.installEventFilter(self)
        QTimer.singleShot(0, self, self._settle)

    def _settle(self) -> None:
        """After all changes of this event."""
        now = self._window.focusWidget()
        is_seen_to = now is not None and now is not self._lost and _is_usable(now)
        if self._lost is None or not shiboken6.isValid(self._lost) or is_seen_to:
            return
        self._heir = self._lost if _is_usable(self._lost) else _heir(self._lost)
        if self._heir:
            self._heir.setFocus()

    def _give_back(self) -> None:
        """Give the focus back, unless the user has moved it or could have."""
        waits = self._window.focusWidget() is self._heir and not isinstance(self._heir, QAbstractButton)
        if self._lost is not None and shiboken6.isValid(self._lost) and waits and _is_usable(self._lost):
            self._lost.setFocus()


def ends(button: QAbstractButton) -> None:
    """Mark a button that ends what another one has begun."""
    button.setProperty(_ENDS, True)  # noqa: FBT003 - Qt's own signature


class _WheelPasser(QObject):
    """Lets the page behind a field scroll."""

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if event.type() == QEvent.Type.Wheel:
            event.ignore()
        return event.type() == QEvent.Type.Wheel


def pass_wheel(*fields: QWidget) -> None:
    """Have these fields leave the wheel to the page that they are on: it must scroll, and change no value."""
    for field in fields:
        field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        field.installEventFilter(_WheelPasser(field))


def stops(columns: Iterable[QWidget]) -> list[QWidget]:
    """What Tab leads to, column after column."""
    return [stop for column in columns for stop in _in_order(column)]


def bring_into_view(widget: QWidget) -> None:
    """Scroll the areas around a widget; of a tall one, show the beginning."""
    for area in _above(widget):
        if isinstance(area, QAbstractScrollArea):
            top = widget.mapTo(area.viewport(), QPoint(0, 0)).y()
            beyond = top + widget.height() - area.viewport().height()
            bar = area.verticalScrollBar()
            if top < 0:
                bar.setValue(bar.value() + top - SMALL)
            elif beyond > 0:
                bar.setValue(bar.value() + min(beyond, top) + SMALL)


def _in_order(part: QWidget) -> list[QWidget]:
    """Row by row in reading direction. A scroll area has one place, whatever part of it is visible."""
    found = [widget for widget in part.findChildren(QWidget) if _is_stop(widget)]
    scrolled = {widget: _outermost(widget, part) for widget in found}
    blocks = dict.fromkeys(scrolled[widget] or widget for widget in found)
    ordered: list[QWidget] = []
    for row in _rows(part, list(blocks)):
        for block in row:
            ordered += [block] if _is_stop(block) else []
            ordered += _in_order(block.viewport()) if isinstance(block, QAbstractScrollArea) else []
    return ordered


def _outermost(widget: QWidget, part: QWidget) -> QAbstractScrollArea | None:
    """The outermost scroll area around it inside this part."""
    above = _above(widget)
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
    start = (lambda each: places[each].left()) if rightward else (lambda each: -places[each].right())
    return [sorted(row, key=start) for row in rows]


def _above(widget: QWidget) -> list[QWidget]:
    """Its ancestors, the nearest first."""
    parent = widget.parentWidget()
    return [parent, *_above(parent)] if parent else []


def _is_usable(widget: QWidget) -> bool:
    return widget.isVisible() and widget.isEnabled()


def _heir(widget: QWidget) -> QWidget | None:
    """The nearest place for the focus."""
    for place in _above(widget):
        if not _is_usable(place):
            continue
        buttons = (each for each in place.findChildren(QAbstractButton) if each.property(_ENDS) and _is_usable(each))
        if found := next(buttons, None):
            return found
        if (place.property("kind") == "card" and place.accessibleName()) or place.objectName() in _PLACES:
            return place
    return None


def _is_stop(widget: QWidget) -> bool:
    takes_tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return takes_tab and widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None
