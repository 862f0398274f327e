"""The command line: the `headstart` command and its sub-commands."""

from headstart.cli.command import load_apart
from headstart.cli.program import COMMANDS, FAILED, main, start

__all__ = ["COMMANDS", "FAILED", "load_apart", "main", "start"]
