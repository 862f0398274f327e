"""`headstart dev`: what developers of Headstart need, and programs that start it."""

import click

from headstart.cli.command import Command, Group, LazyCommand, load_measured


def commands() -> Group:
    """`headstart dev` and its sub-commands."""
    return Group(
        {
            "audit": LazyCommand("Check that guessing changes no answer", _audit),
            "forward": LazyCommand("Time passes by number of tokens and by context", _forward),
            "reference": LazyCommand("Write the page of the documentation that lists all commands", _reference),
            "text": LazyCommand("Print the text of a PDF file, as it goes with a message", _text),
        }
    )


def _audit() -> click.Command:
    from headstart.cli import audit  # noqa: PLC0415

    return Command(audit.run)


def _forward() -> click.Command:
    from headstart.cli import bench  # noqa: PLC0415

    return Command(bench.time_passes, load_measured)


def _reference() -> click.Command:
    from headstart.cli import reference  # noqa: PLC0415

    return Command(reference.run)


def _text() -> click.Command:
    from headstart.cli import text  # noqa: PLC0415

    return Command(text.run)
