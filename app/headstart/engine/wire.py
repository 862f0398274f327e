"""Conversion of typed values to JSON data and back."""

from pathlib import Path
from typing import Any

import msgspec

from headstart.errors import Translatable


class Tagged(msgspec.Struct, frozen=True, tag=True, tag_field="is"):
    """A message with its class name as the tag."""


def to_data(value: Any) -> Any:
    """Return `value` as data for `json.dumps`."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


def from_data(kind: Any, data: Any) -> Any:
    """Return JSON data as a value of type `kind`. Ignores unknown keys. Raises ValueError."""
    try:
        return msgspec.convert(data, kind, str_keys=True, dec_hook=_value)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def _plain(value: Any) -> object:
    if isinstance(value, Translatable):
        return value.as_data()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no value of a message")


def _value(kind: type, data: Any) -> Any:
    if kind is Path:
        return Path(data)
    if kind is Translatable:
        return Translatable.from_data(data)
    raise TypeError(f"{kind.__name__} is no value of a message")
