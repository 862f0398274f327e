"""The example of an MCP server: a clock and a calendar, which need no network.

It runs as a program of its own, also where Headstart cannot be imported, so it imports nothing of it.
"""

import datetime as dt


def main() -> None:
    """Answer on standard input and output until they are closed."""
    from mcp.server import MCPServer  # noqa: PLC0415 - it takes a second
    from mcp.types import ToolAnnotations  # noqa: PLC0415

    server = MCPServer("clock")
    harmless = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
    for tool in (get_time, count_days):
        server.tool(annotations=harmless)(tool)
    server.run()


def get_time() -> str:
    """Tell today's date, the day of the week and the time on this computer."""
    return dt.datetime.now().astimezone().strftime("%Y-%m-%d, %A, %H:%M:%S %z")


def count_days(first: str, last: str) -> int:
    """Count the days from one date to another, both written as 2026-12-31."""
    return (dt.date.fromisoformat(last) - dt.date.fromisoformat(first)).days


if __name__ == "__main__":
    main()
