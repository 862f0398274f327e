"""Walks through a window with a keyboard and a screen reader only."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QRadioButton,
    QTabBar,
    QTextEdit,
    QWidget,
)

from headstart.ui.widgets.focus import bring_into_view

CONTROLS = (
    QAbstractButton, QAbstractItemView, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit, QTabBar, QTextEdit,
)  # fmt: skip
_LONGEST = 400  # steps
_STEPS = np.arange(256) / 255
_LINEAR = np.where(_STEPS <= 0.04045, _STEPS / 12.92, ((_STEPS + 0.055) / 1.055) ** 2.4).astype(np.float32)
_LEAST_MARK = 60  # pixels; a caret has less


def controls(window: QWidget) -> Iterator[QWidget]:
    """Return all visible controls, except their inner parts."""
    for widget in window.findChildren(QWidget):
        if isinstance(widget, CONTROLS) and widget.isVisible() and widget.window() is window and not _is_part(widget):
            yield widget


def walked(window: QWidget) -> list[QWidget]:
    """Return the controls that Tab visits, in order, until it comes round."""
    found: list[QWidget] = []
    for _ in range(_LONGEST):
        focused = QApplication.focusWidget()
        assert focused, f"nothing has the keyboard after {found[-1:]}"
        if focused in found:
            return found
        found.append(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    raise AssertionError(f"Tab does not come round: {[told(widget) for widget in found[-20:]]}")


def unmarked(window: QWidget) -> list[str]:
    """Return the stops of Tab whose focus cannot be seen: it changes too few pixels by a contrast of 3 (WCAG)."""
    unseen = []
    for widget in walked(window):
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        bring_into_view(widget)
        focused = _luminance(window)
        widget.clearFocus()
        plain = _luminance(window)
        contrast = (np.maximum(focused, plain) + 0.05) / (np.minimum(focused, plain) + 0.05)
        if (count := int((contrast >= 3).sum())) < _LEAST_MARK:
            unseen.append(f"{told(widget)}: {count} pixels")
    return unseen


def _luminance(window: QWidget) -> Any:
    """Return the luminance of each pixel, as WCAG 2 has it."""
    QApplication.processEvents()
    picture = window.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(bytes(picture.constBits()), np.uint8).reshape(picture.height(), picture.bytesPerLine())
    channels = rows[:, : 3 * picture.width()].reshape(picture.height(), picture.width(), 3)
    return _LINEAR[channels] @ np.array([0.2126, 0.7152, 0.0722], np.float32)


def unreached(window: QWidget) -> list[str]:
    """Return usable controls that Tab does not visit. A list without focus is operated from its field."""
    there = walked(window)
    wanted = [widget for widget in controls(window) if widget.isEnabled() and not _is_served(widget)]
    return [
        told(widget) for widget in wanted if (widget.focusProxy() or widget) not in there and not _has_arrows(widget)
    ]


def _has_arrows(widget: QWidget) -> bool:
    """Return whether arrow keys lead to a control: Tab stops only at the chosen one of a group."""
    return isinstance(widget, QRadioButton) and widget.autoExclusive() and not widget.isChecked()


def nameless(window: QWidget) -> list[str]:
    """Return the controls without a name or a role for screen readers."""
    return [told(widget) for widget in controls(window) if not _is_told(widget)]


def cut(window: QWidget) -> list[str]:
    """Return the controls with less room than their minimum, except those that scroll."""
    asking = [widget for widget in controls(window) if not hasattr(widget, "viewport")]
    return [
        f"{told(widget)}: {widget.size().toTuple()} of {widget.minimumSizeHint().toTuple()}"
        for widget in asking
        if widget.size().expandedTo(widget.minimumSizeHint()) != widget.size()
    ]


def told(widget: QWidget) -> str:
    """Return a description by which a control is found in the sources."""
    name = widget.accessibleName() or widget.objectName() or getattr(widget, "text", str)()
    return f"{type(widget).__name__} {name!r} in {type(widget.parent()).__name__}"


def _is_served(widget: QWidget) -> bool:
    return isinstance(widget, QAbstractItemView) and widget.focusPolicy() == Qt.FocusPolicy.NoFocus


def _is_told(widget: QWidget) -> bool:
    interface = QAccessible.queryAccessibleInterface(widget)
    assert interface
    no_role = (QAccessible.Role.NoRole, QAccessible.Role.Client)
    return bool(interface.text(QAccessible.Text.Name)) and interface.role() not in no_role


def _is_part(widget: QWidget) -> bool:
    """Return whether Qt made a widget as a part of a control."""
    parent = widget.parent()
    inside = isinstance(parent, QAbstractSpinBox | QComboBox | QLineEdit)
    in_popup = isinstance(parent, QWidget) and isinstance(parent.parent(), QComboBox)
    return inside or in_popup or widget.objectName().startswith("qt_")
