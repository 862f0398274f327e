"""Numbers, lists, folders and parts of a sentence in the window's language."""

from collections.abc import Iterable
from functools import reduce
from pathlib import Path

from PySide6.QtCore import QLocale

from headstart.ui.translation import translate


def decimal(value: float, places: int) -> str:
    """With so many digits behind the decimal mark."""
    return QLocale().toString(float(value), "f", places)


def whole(value: float) -> str:
    """With separators of thousands, where they are usual."""
    return QLocale().toString(round(value))


def percent(share: float, places: int = 0) -> str:
    """Of a share from 0 to 1."""
    return translate("Formatting", "{} %").format(decimal(share * 100, places))


def format_size(size_bytes: float) -> str:
    """Such as "1.42 GB"."""
    return f"{decimal(size_bytes / 1e9, 2)} GB" if size_bytes >= 1e9 else f"{decimal(size_bytes / 1e6, 0)} MB"


def listed(parts: Iterable[str]) -> str:
    """All in one text; empty for none."""
    several = list(parts)
    return reduce(translate("Formatting", "{}, {}").format, several) if several else ""


def titled(title: str, text: str) -> str:
    """A title and what it is about."""
    return translate("Formatting", "{}: {}").format(title, text)


def sentences(first: str, second: str) -> str:
    """Two sentences in one text."""
    return translate("Formatting", "{} {}").format(first, second)


def short_path(folder: Path) -> str:
    """A folder with the home folder as "~"."""
    home = Path.home()
    return f"~/{folder.relative_to(home).as_posix()}" if folder.is_relative_to(home) else str(folder)
