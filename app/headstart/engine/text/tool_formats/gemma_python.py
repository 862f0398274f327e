"""Calls in the way of Gemma 3: Python in a block of code, "```tool_code", with a call in each line."""

import ast
import json
from collections.abc import Sequence
from typing import Any

from headstart.engine.engine import Call, Tool
from headstart.engine.text.tool_calls import FENCE
from headstart.engine.text.tool_formats.form import CallFormat, Found, NoCallError, call_of, read_until

_MARK = f"{FENCE}tool_code"


def _read(text: str, tools: Sequence[Tool]) -> Found:
    code, end = read_until(text, len(_MARK), f"\n{FENCE}")
    try:
        body = ast.parse(code.strip()).body
        calls = [_call(statement.value, tools) for statement in body if isinstance(statement, ast.Expr)]
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise NoCallError from None
    if not calls or len(calls) != len(body):
        raise NoCallError
    return Found(tuple(calls), end)


def _call(node: ast.expr, tools: Sequence[Tool]) -> Call:
    """Return the call that an expression is, alone or in `print`. Raises ValueError for values that are no literals."""
    match node:
        case ast.Call(ast.Name("print"), [ast.Call() as printed], []):
            return _call(printed, tools)
        case ast.Call(ast.Name() | ast.Attribute(), values, named):
            name = ast.unparse(node.func)
        case _:
            raise NoCallError
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise NoCallError
    places = list(json.loads(tool.parameters).get("properties") or {})[: len(values)]
    arguments: dict[str, Any] = dict(zip(places, map(ast.literal_eval, values), strict=True))
    for each in named:
        if each.arg is None or each.arg in arguments:
            raise NoCallError
        arguments[each.arg] = ast.literal_eval(each.value)
    json.dumps(arguments, allow_nan=False)
    return call_of(name, arguments)


FORMAT = CallFormat("Gemma 3", (_MARK,), _read)
