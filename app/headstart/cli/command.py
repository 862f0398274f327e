"""What a sub-command of `headstart` is. Knows none of them."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from headstart.engine.engine import Engine, LoadOptions

INTERRUPTED = 130  # exit code: what shells report after Ctrl+C
Load = Callable[[LoadOptions], Engine]


@dataclass(frozen=True)
class Command:
    """One sub-command. `run` gets the parsed arguments and the way to load a model; it returns the exit code.

    `apart`: its engine runs in a process of its own, so that the program outlives it.
    """

    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Load], int]
    apart: bool = False
