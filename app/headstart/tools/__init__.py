"""Tools that answers call: what calls look like, the loop of an answer, and MCP servers."""
