"""The versions that a report of a fault should name, as plain text. Says nothing of models, chats or folders."""

import platform
from importlib import metadata
from pathlib import Path

import psutil
from PySide6 import __version__ as pyside
from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication

from headstart import __version__

_PACKAGES = ("openvino", "openvino-genai", "openvino-tokenizers", "numpy")
_CPU_FILE = Path("/proc/cpuinfo")


def version_report() -> str:
    """One fact on each line, in English whatever the window speaks: it is for those who mend."""
    screen = QGuiApplication.primaryScreen()
    facts = {
        "Headstart": __version__,
        "Python": platform.python_version(),
        "Qt": f"{qVersion()} (PySide6 {pyside}, {QGuiApplication.platformName()})",
        **{name: found for name in _PACKAGES if (found := _version(name))},
        "System": platform.platform(),
        "Processor": f"{_processor()}, {psutil.cpu_count(logical=True)} threads",
        "Memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
        "Screen": f"{screen.size().width()}x{screen.size().height()} at {screen.devicePixelRatio():.2f}",
    }
    return "\n".join(f"{name}: {fact}" for name, fact in facts.items())


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    """Its full name on Linux; other systems give it away less readily."""
    lines = _CPU_FILE.read_text(encoding="utf-8").splitlines() if _CPU_FILE.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
