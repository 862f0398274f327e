"""The command line: the `headstart` command and its sub-commands."""

from headstart.cli.program import COMMANDS, FAILED, load_apart, main, start

__all__ = ["COMMANDS", "FAILED", "load_apart", "main", "start"]
