"""Calls of Mistral: `[TOOL_CALLS][{"name": ..., "arguments": {...}}]`, and the newer `[TOOL_CALLS]name[ARGS]{...}`."""

from collections.abc import Sequence

from headstart.engine.engine import Call, Tool
from headstart.engine.text.tool_formats.form import (
    CallFormat,
    Found,
    call_of,
    expect,
    expect_one,
    read_name,
    read_object,
    read_quoted_name,
    read_until,
    skip_blanks,
)

_MARK, _ID, _ARGUMENTS = "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"


def _read(text: str, tools: Sequence[Tool]) -> Found:
    at = skip_blanks(text, len(_MARK))
    return _read_list(text, at + 1, tools) if text.startswith("[", at) else _read_named(text, at, tools)


def _read_list(text: str, at: int, tools: Sequence[Tool]) -> Found:
    calls, separator = list[Call](), ","
    while separator == ",":
        name, at = read_quoted_name(text, expect(text, at, "{", '"name"', ":"), tools)
        arguments, at = read_object(text, expect(text, at, ",", '"arguments"', ":"))
        calls.append(call_of(name, arguments))
        end, at = expect_one(text, at, ("}", ","))
        if end == ",":
            _, at = read_until(text, expect(text, at, '"id"', ":", '"'), '"')
            at = expect(text, at, "}")
        separator, at = expect_one(text, at, (",", "]"))
    return Found(tuple(calls), at)


def _read_named(text: str, at: int, tools: Sequence[Tool]) -> Found:
    name, at = read_name(text, at, tools, behind="[")
    mark, at = expect_one(text, at - 1, (_ARGUMENTS, _ID))
    if mark == _ID:
        _, at = read_until(text, at, _ARGUMENTS)
    arguments, at = read_object(text, at)
    return Found((call_of(name, arguments),), at)


FORMAT = CallFormat("Mistral", (_MARK,), _read, inner=(_ID, _ARGUMENTS))
