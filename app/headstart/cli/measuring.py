"""Files that are written for people and programs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart.errors import SettingsError


def writable_file(text: str) -> Path:
    """A path whose folder exists: refused now rather than after minutes of measuring."""
    path = Path(text).expanduser()
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise SettingsError(f"{text} cannot be written: name a file in a folder that exists.")
    return path


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write one object, whole or not at all. Raises SettingsError."""
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    beside = path.with_name(f".{path.name}.new")
    try:
        if path.exists() and not path.is_file():  # a pipe, or what stands for standard output
            path.write_text(text, encoding="utf-8")
            return
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise SettingsError(f"{path} cannot be written ({error.strerror}); choose another place.") from None
