"""Calls of Qwen3-Coder: `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`."""

import json
from collections.abc import Sequence
from typing import Any

from headstart.engine.engine import CALL_BEGINS, CALL_ENDS, Tool
from headstart.engine.text.tool_formats.form import (
    CallFormat,
    Found,
    call_of,
    expect,
    expect_one,
    read_name,
    read_until,
)

_FUNCTION, _FUNCTION_ENDS = "<function=", "</function>"
_PARAMETER, _PARAMETER_ENDS = "<parameter=", "</parameter>"


def _read(text: str, tools: Sequence[Tool]) -> Found:
    is_marked = text.startswith(CALL_BEGINS)  # the model leaves the mark out at times
    at = expect(text, len(CALL_BEGINS) if is_marked else 0, _FUNCTION)
    name, at = read_name(text, at, tools, behind=">")
    properties = _properties(next(tool for tool in tools if tool.name == name))
    arguments = dict[str, Any]()
    while True:
        mark, at = expect_one(text, at, (_PARAMETER, _FUNCTION_ENDS))
        if mark == _FUNCTION_ENDS:
            return Found((call_of(name, arguments),), expect(text, at, CALL_ENDS) if is_marked else at)
        key, at = read_until(text, at, ">")
        written, at = read_until(text, at, _PARAMETER_ENDS)
        arguments[key] = _value(written.removeprefix("\n").removesuffix("\n"), properties.get(key))


def _properties(tool: Tool) -> dict[str, Any]:
    properties = json.loads(tool.parameters).get("properties")
    return properties if isinstance(properties, dict) else {}


def _value(written: str, schema: Any) -> Any:
    """Parse the value of a parameter: a string if the schema says so, else JSON if it is valid."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "string":
        return written
    try:
        return json.loads(written, parse_constant=str)
    except (ValueError, RecursionError):
        return written


FORMAT = CallFormat("Qwen3-Coder", (CALL_BEGINS, _FUNCTION), _read)
