"""`headstart bench`: its sub-commands; without one it races (`bench speed`). Knows none of them from inside."""

import argparse

from headstart.terminal import bench_advice, bench_forward, bench_peers, bench_speed
from headstart.terminal.command import Command

COMMANDS: tuple[Command, ...] = (
    bench_speed.COMMAND,
    bench_forward.COMMAND,
    bench_peers.COMMAND,
    bench_advice.COMMAND,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart bench speed`, and the sub-commands."""
    bench_speed.add_arguments(parser)
    commands = parser.add_subparsers(
        dest="benchmark", metavar="BENCHMARK", title="benchmarks", description="speed is run where none is named"
    )
    for command in COMMANDS:
        sub = commands.add_parser(
            command.name, help=command.summary, description=f"{command.summary.capitalize()}.", allow_abbrev=False
        )
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)


COMMAND = Command(
    "bench", "measure this machine: plain decoding, speculation, other programs", add_arguments, bench_speed.run
)
