"""Flags and files that `headstart bench` and `headstart audit` share. Knows neither."""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headstart.engine.bench.prompts import USUAL_KINDS, read_kinds
from headstart.errors import SettingsError


def whole_number(name: str, least: int) -> Callable[[str], int]:
    """Reads a number of at least `least`, or says what `name` must be."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < least:
            raise SettingsError(f"{name} must be a whole number, {least} or more, not {text!r}.")
        return int(text)

    return read


def add_kinds(group: argparse._ArgumentGroup) -> None:
    """The flag that names classes of prompts; read as `classes`."""
    group.add_argument(
        "--classes",
        type=read_kinds,
        default=USUAL_KINDS,
        metavar="NAMES",
        help=f"classes of prompts, with commas between them, or all (default: {','.join(USUAL_KINDS)})",
    )


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
