"""Conversion of the engine's values to JSON data and back, by their declared types."""

from pathlib import Path
from typing import Any

import msgspec

from headstart.errors import Translatable


class Tagged(msgspec.Struct, frozen=True, tag=True, tag_field="is"):
    """A message with its class name as the tag."""


def to_data(value: Any) -> Any:
    """`value` as what `json.dumps` takes."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


def from_data(wanted: Any, data: Any) -> Any:
    """`data` from JSON as the declared type; unknown keys are ignored. Raises ValueError."""
    try:
        return msgspec.convert(data, wanted, str_keys=True, dec_hook=_value)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def _plain(value: Any) -> object:
    if isinstance(value, Translatable):
        return value.as_data()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no value of a message")


def _value(wanted: type, data: Any) -> Any:
    if wanted is Path:
        return Path(data)
    if wanted is Translatable:
        return Translatable.from_data(data)
    raise TypeError(f"{wanted.__name__} is no value of a message")
