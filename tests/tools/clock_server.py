"""An MCP server for tests: a clock, a calculator, and the ways in which a server can go wrong."""

import os
import sys
import time

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("clock")


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def get_time() -> str:
    """Tell what time it is."""
    return "It is 12:34."


@server.tool()
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@server.tool()
def secret() -> str:
    """Tell the key of the environment, and the variables that it got besides."""
    return f"{os.environ.get('API_KEY')} {os.environ.get('HEADSTART_HOME')}"


@server.tool()
def much() -> str:
    """Tell far more than a model can read."""
    return "word " * 100_000


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("no rng")


@server.tool()
def die() -> str:
    """End in the middle of a call."""
    os._exit(3)


@server.tool()
def hang() -> str:
    """Never answer."""
    time.sleep(60)
    return ""


@server.tool()
def babble() -> str:
    """Write what no MCP server says, and then answer."""
    sys.stdout.write("{not JSON\n")
    sys.stdout.flush()
    return "done"


if __name__ == "__main__":
    server.run()
