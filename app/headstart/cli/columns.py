"""Rows of plain text under each other. Knows not what they say."""

from collections.abc import Sequence

from headstart.cli.harmless import harmless


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """The first row is the heading; every column is as wide as its widest cell."""
    shown = [[harmless(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
