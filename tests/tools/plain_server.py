"""The clock of `clock_server.py` without the package for servers, which takes a second to load.

It speaks the protocol as servers did before `server/discover`.
"""

import json
import os
import sys
import time
from typing import Any

NUMBERS = {"a": {"type": "number"}, "b": {"type": "number"}}
HARMLESS = {"readOnlyHint": True, "openWorldHint": False}
TOOLS: dict[str, dict[str, Any]] = {
    "get_time": {"description": "Tell what time it is.", "annotations": HARMLESS},
    "add": {"description": "Add two numbers.", "properties": NUMBERS},
    "fail": {"description": "Fail."},
    "die": {"description": "End in the middle of a call."},
    "hang": {"description": "Never answer."},
}


def main() -> None:
    """Answer on standard input and output until they are closed."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], message.get("params") or {})}
            print(json.dumps(reply), flush=True)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result or the error of a request."""
    if method == "initialize":
        about = {"name": "clock", "version": "1"}
        return {
            "result": {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": about,
            }
        }
    if method == "tools/list":
        return {"result": {"tools": [described(name) for name in TOOLS]}}
    if method == "tools/call":
        text = call(params["name"], params.get("arguments") or {})
        return {"result": {"content": [{"type": "text", "text": text}], "isError": params["name"] == "fail"}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def described(name: str) -> dict[str, Any]:
    """Return a tool as servers list it."""
    tool = dict(TOOLS[name])
    properties = tool.pop("properties", {})
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "inputSchema": schema, **tool}


def call(name: str, arguments: dict[str, Any]) -> str:
    """Return the text of a tool."""
    if name == "add":
        return str(float(arguments["a"] + arguments["b"]))
    if name == "die":
        os._exit(3)
    if name == "hang":
        time.sleep(60)
    return "It is 12:34." if name == "get_time" else "no rng"


if __name__ == "__main__":
    main()
