"""Numbers, sizes, lists and paths as text in the window's language."""

import unicodedata
from collections.abc import Iterable
from functools import reduce
from pathlib import Path

from PySide6.QtCore import QLocale

from headstart.ui.translation import translate


def decimal(value: float, places: int) -> str:
    """Format a number with `places` digits after the decimal mark."""
    return QLocale().toString(float(value), "f", places)


def whole(value: float) -> str:
    """Format a rounded number with the language's separators of thousands."""
    return QLocale().toString(round(value))


def percent(share: float) -> str:
    """Format a share from 0 to 1."""
    return translate("Formatting", "{} %").format(decimal(share * 100, 0))


def format_size(size_bytes: float) -> str:
    """Format a number of bytes, such as "1.42 GB"."""
    return f"{decimal(size_bytes / 1e9, 2)} GB" if size_bytes >= 1e9 else f"{decimal(size_bytes / 1e6, 0)} MB"


def rough_size(size_bytes: float) -> str:
    """Format a number of bytes for comparison, such as "18 GB", "1.4 GB" or "90 MB"."""
    gigabytes = size_bytes / 1e9
    if gigabytes >= 1:
        return f"{decimal(gigabytes, 1 if gigabytes < 10 else 0)} GB"
    return f"{whole(max(round(size_bytes / 1e7), 1) * 10)} MB"


def listed(parts: Iterable[str]) -> str:
    """Join texts to a list; "" for none."""
    texts = list(parts)
    return reduce(translate("Formatting", "{}, {}").format, texts) if texts else ""


def titled(title: str, text: str) -> str:
    """Join a title and a text about it."""
    return translate("Formatting", "{}: {}").format(title, text)


def sentences(first: str, second: str) -> str:
    """Join two sentences."""
    return translate("Formatting", "{} {}").format(first, second)


def short_path(folder: Path) -> str:
    """Return a path with "~" for the home folder."""
    home = Path.home()
    return f"~/{folder.relative_to(home).as_posix()}" if folder.is_relative_to(home) else str(folder)


def escape_invisible(text: str) -> str:
    """Replace each invisible format character, which may reorder others, by its code."""
    return "".join(f"\\u{ord(sign):04x}" if unicodedata.category(sign) == "Cf" else sign for sign in text)
