"""The tools that an answer may call."""

from collections.abc import Collection, Sequence

import msgspec

from headstart.engine.engine import Tool, Tools
from headstart.engine.text.json_schema import enforceable
from headstart.server.errors import invalid
from headstart.server.requests.bodies import FunctionTool, OfferedTool
from headstart.server.requests.content import required
from headstart.tools.calls import MAX_DEPTH, depth

FUNCTION = "function"  # the type of the tools that an answer may call
_NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}


def functions_of(tools: Sequence[OfferedTool]) -> tuple[Tool, ...]:
    """Return the tools that an answer may call. Raises RefusedError."""
    functions = [(f"tools[{place}]", tool.function) for place, tool in enumerate(tools) if tool.type == FUNCTION]
    return tuple(tool_of(required(function, place, "function")) for place, function in functions)


def other_kinds(tools: Sequence[OfferedTool]) -> list[str]:
    """Return the types of the tools that are left out."""
    return [tool.type for tool in tools if tool.type != FUNCTION]


def tool_of(function: FunctionTool) -> Tool:
    """Translate a tool into the engine's form. Raises RefusedError."""
    parameters = _NO_PARAMETERS if function.parameters in (None, {}) else function.parameters
    kind = parameters.get("type", "object") if isinstance(parameters, dict) else None
    if function.strict and kind != "object":
        raise invalid(f"The parameters of the tool {function.name!r} must be of the type `object`.", "tools")
    schema = msgspec.json.encode({**(parameters if kind else {}), "type": "object"}).decode()
    if depth(schema) > MAX_DEPTH:
        sentence = (
            f"The parameters of the tool {function.name!r} are nested too deeply: send {MAX_DEPTH} levels at most."
        )
        raise invalid(sentence, "tools")
    losses = enforceable(schema).losses if function.strict else ()
    if losses:
        sentence = f"The parameters of the tool {function.name!r} cannot be kept to: {losses[0]}. "
        raise invalid(f"{sentence}Leave that part of them out, or `strict`.", "tools")
    return Tool(function.name, schema, function.description or "", strict=bool(function.strict))


def tools_of(
    offered: tuple[Tool, ...], *, required: bool, only: str, parallel: bool, left_out: Collection[str] = ()
) -> Tools | None:
    """Return the tools that an answer may call, and how; None if there are none. Raises RefusedError.

    `left_out` has the types and names of the tools that nobody can call here.
    """
    names = [tool.name for tool in offered]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise invalid(f"Two tools are called {twice!r}: give each its own name.", "tools")
    if only in left_out and only not in names:
        raise invalid(f"`tool_choice` names {only!r}, which nobody can call here: choose a function.", "tool_choice")
    if only and only not in names:
        raise invalid(f"`tool_choice` names {only!r}, which is not in `tools`: choose one of them.", "tool_choice")
    if required and left_out and not offered:
        sentence = "`tool_choice` asks for a call, but nobody can call these `tools` here: send functions."
        raise invalid(sentence, "tool_choice")
    if required and not offered:
        raise invalid("`tool_choice` asks for a call, but there are no `tools`: send some.", "tool_choice")
    return Tools(offered, required or bool(only), only, parallel) if offered else None
