"""Calls of Gemma 4, `<|tool_call>call:NAME{key:<|"|>text<|"|>,other:1}<tool_call|>`, and of FunctionGemma."""

import json
import re
from collections.abc import Sequence
from typing import Any

from headstart.engine.engine import Tool
from headstart.engine.text.tool_formats.form import (
    CallFormat,
    Found,
    NoCallError,
    UnfinishedError,
    call_of,
    expect,
    read_name,
    read_until,
    skip_blanks,
)

_MARKS = {  # the end and the quotation mark, by the beginning
    "<|tool_call>": ("<tool_call|>", '<|"|>'),
    "<start_function_call>": ("<end_function_call>", "<escape>"),
}
_SCALAR = re.compile(r"[^,}\]\s]+")
_MAX_DEPTH = 50


def _read(text: str, tools: Sequence[Tool]) -> Found:
    begins = next(mark for mark in _MARKS if text.startswith(mark))
    ends, quote = _MARKS[begins]
    at = expect(text, len(begins), "call:")
    name, at = read_name(text, at, tools, behind="{")
    arguments, at = _value(text, at - 1, quote)
    return Found((call_of(name, arguments),), expect(text, at, ends))


def _value(text: str, at: int, quote: str, depth: int = 0) -> tuple[Any, int]:
    at = skip_blanks(text, at)
    if depth > _MAX_DEPTH:
        raise NoCallError
    if text.startswith("{", at):
        return _mapping(text, at + 1, quote, depth)
    if text.startswith("[", at):
        return _list(text, at + 1, quote, depth)
    if text.startswith(quote, at):
        return read_until(text, at + len(quote), quote)
    match = _SCALAR.match(text, at)
    if match is None and at < len(text):
        raise NoCallError
    if match is None or match.end() == len(text) or quote.startswith(match[0]):
        raise UnfinishedError
    try:
        return json.loads(match[0]), match.end()
    except ValueError:
        raise NoCallError from None


def _mapping(text: str, at: int, quote: str, depth: int) -> tuple[dict[str, Any], int]:
    values = dict[str, Any]()
    at = skip_blanks(text, at)
    while not text.startswith("}", at):
        if values:
            at = skip_blanks(text, expect(text, at, ","))
        if text.startswith(quote, at):
            key, at = read_until(text, at + len(quote), quote)
            at = expect(text, at, ":")
        else:
            key, at = read_until(text, at, ":")
        values[key.strip()], at = _value(text, at, quote, depth + 1)
        at = skip_blanks(text, at)
    return values, at + 1


def _list(text: str, at: int, quote: str, depth: int) -> tuple[list[Any], int]:
    values = list[Any]()
    at = skip_blanks(text, at)
    while not text.startswith("]", at):
        if values:
            at = expect(text, at, ",")
        value, at = _value(text, at, quote, depth + 1)
        values.append(value)
        at = skip_blanks(text, at)
    return values, at + 1


FORMAT = CallFormat("Gemma", tuple(_MARKS), _read, inner=tuple(mark for marks in _MARKS.values() for mark in marks))
