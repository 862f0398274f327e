"""Calls of Llama 3: `{"name": ..., "parameters": {...}}`, alone or behind `<|python_tag|>`, with `;` between them."""

from collections.abc import Sequence
from contextlib import suppress

from headstart.engine.engine import Call, Tool
from headstart.engine.text.tool_formats.form import (
    CallFormat,
    Found,
    NoCallError,
    call_of,
    expect,
    read_object,
    read_quoted_name,
    skip_blanks,
)

_MARK = "<|python_tag|>"


def _read(text: str, tools: Sequence[Tool]) -> Found:
    calls, at = list[Call](), 0
    while True:
        if text.startswith(_MARK, at):
            at += len(_MARK)
        at = expect(text, at, "{")
        with suppress(NoCallError):
            at = expect(text, at, '"type"', ":", '"function"', ",")
        name, at = read_quoted_name(text, expect(text, at, '"name"', ":"), tools)
        at = expect(text, at, ",", '"parameters"', ":")
        arguments, at = read_object(text, at)
        at = expect(text, at, "}")
        calls.append(call_of(name, arguments))
        behind = skip_blanks(text, at)
        if not text.startswith(";", behind):
            return Found(tuple(calls), at)
        at = skip_blanks(text, behind + 1)


FORMAT = CallFormat("Llama", (_MARK,), _read, bare="{")
