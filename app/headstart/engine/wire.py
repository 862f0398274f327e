"""Frozen dataclasses as plain JSON data and back, by their declared types. Knows no message and no pipe."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any


def to_data(value: Any) -> Any:
    """`value` as what `json.dumps` takes: dataclasses become objects, tuples arrays, paths and enums strings."""
    if dataclasses.is_dataclass(value):
        return {field.name: to_data(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [to_data(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_data(item) for key, item in value.items()}
    return str(value) if isinstance(value, Path | StrEnum) else value


def from_data(wanted: Any, data: Any) -> Any:
    """`data` from JSON as the declared type. TypeError or ValueError names what does not fit; unknown keys are ignored.

    Understood: dataclasses, str, int, float, bool, StrEnum, Path, `X | None`, `tuple[X, ...]`, `Mapping[str, X]`,
    and Any, which is left as JSON has it.
    """
    if wanted is Any:
        return data
    if dataclasses.is_dataclass(wanted):
        return _dataclass_from(wanted, data)
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is types.UnionType:
        return None if data is None else from_data(arguments[0], data)
    if origin is tuple and isinstance(data, list):
        return tuple(from_data(arguments[0], item) for item in data)
    if origin is Mapping and isinstance(data, dict):
        return {key: from_data(arguments[1], item) for key, item in data.items()}
    return _plain_from(wanted, data)


def _plain_from(wanted: Any, data: Any) -> Any:
    if wanted is float and type(data) is int:
        return float(data)
    if isinstance(data, str) and isinstance(wanted, type) and issubclass(wanted, StrEnum | Path):
        return wanted(data)
    if type(data) is not wanted:
        raise TypeError(f"{str(data)[:40]!r} where {getattr(wanted, '__name__', wanted)} belongs")
    return data


def _dataclass_from(wanted: Any, data: Any) -> Any:
    if not isinstance(data, dict):
        raise TypeError(f"{str(data)[:40]!r} where {wanted.__name__} belongs")
    return wanted(**{name: from_data(hint, data[name]) for name, hint in _hints(wanted).items() if name in data})


@cache
def _hints(wanted: Any) -> dict[str, Any]:
    return typing.get_type_hints(wanted)
