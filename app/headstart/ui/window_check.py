"""Loads what a window needs from Qt, for those who ask whether one could open. Opens none, makes no application."""

from PySide6 import __version__ as pyside
from PySide6.QtCore import qVersion
from PySide6.QtWidgets import QApplication

from headstart.ui.display import x11_fault

__all__ = ["versions", "x11_fault"]


def versions() -> str:
    """Of Qt and its binding."""
    assert QApplication is not None, "its import is the check"
    return f"Qt {qVersion()} (PySide6 {pyside})"
