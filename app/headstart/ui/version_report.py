"""The versions that a report of a fault should name, as plain text. Says nothing of models, chats or folders."""

import platform

import psutil
from PySide6 import __version__ as pyside
from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication

from headstart import __version__
from headstart.computer import package_versions, processor


def version_report() -> str:
    """One fact on each line, in English whatever the window speaks: it is for those who mend."""
    screen = QGuiApplication.primaryScreen()
    facts = {
        "Headstart": __version__,
        "Python": platform.python_version(),
        "Qt": f"{qVersion()} (PySide6 {pyside}, {QGuiApplication.platformName()})",
        **package_versions(),
        "System": platform.platform(),
        "Processor": f"{processor()}, {psutil.cpu_count(logical=True)} threads",
        "Memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
        "Screen": f"{screen.size().width()}x{screen.size().height()} at {screen.devicePixelRatio():.2f}",
    }
    return "\n".join(f"{name}: {fact}" for name, fact in facts.items())
