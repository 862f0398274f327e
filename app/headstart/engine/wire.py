"""The engine's values as plain JSON data and back, by their declared types."""

from pathlib import Path
from typing import Any

import msgspec


class Tagged(msgspec.Struct, frozen=True, tag=True, tag_field="is"):
    """A message that says by its class name which one it is."""


def to_data(value: Any) -> Any:
    """`value` as what `json.dumps` takes."""
    return msgspec.to_builtins(value, enc_hook=_text)


def from_data(wanted: Any, data: Any) -> Any:
    """`data` from JSON as the declared type; unknown keys are ignored. ValueError says what does not fit."""
    try:
        return msgspec.convert(data, wanted, dec_hook=_value)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def _text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no value of a message")


def _value(wanted: type, data: Any) -> Any:
    if wanted is Path:
        return Path(data)
    raise TypeError(f"{wanted.__name__} is no value of a message")
