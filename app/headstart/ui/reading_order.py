"""Where Tab leads: from the upper left to the lower right of each column, wherever things were built. Knows no page."""

from collections.abc import Iterable

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QWidget

from headstart.ui.theme import SMALL


def step(columns: Iterable[QWidget], *, forward: bool) -> bool:
    """Give the keyboard to the next or the previous stop in these parts of a window, and bring that into view."""
    found = stops(columns)
    if not found:
        return False
    here = QApplication.focusWidget()
    at = found.index(here) + (1 if forward else -1) if here in found else 0
    target = found[at % len(found)]
    bring_into_view(target)
    target.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
    return True


def stops(columns: Iterable[QWidget]) -> list[QWidget]:
    """What takes the keyboard, column after column."""
    return [stop for column in columns for stop in _in_order(column)]


def bring_into_view(widget: QWidget) -> None:
    """Scroll whatever it lies in; of what is too tall, the beginning is shown."""
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
    """Rows from above, each from the left. What scrolls has one place, whatever of it is in sight."""
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
    """What scrolls it inside this part, if anything does."""
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
    return [sorted(row, key=lambda each: places[each].left()) for row in rows]


def _above(widget: QWidget) -> list[QWidget]:
    """What it lies in, the nearest first."""
    parent = widget.parentWidget()
    return [parent, *_above(parent)] if parent else []


def _is_stop(widget: QWidget) -> bool:
    takes_tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return takes_tab and widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None
