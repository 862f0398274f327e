"""Starts the `headstart` command with a stand-in for the exporter: `MODEL_FOLDER ARGUMENTS...`; all else is real."""

import sys

from headstart import cli, exporter


def main() -> int:
    """Like `headstart ARGUMENTS...`, but an export installs what lies in MODEL_FOLDER."""
    folder, *arguments = sys.argv[1:]
    exporter.command = lambda: (sys.executable, "-m", "tests.end_to_end.exporter", folder)
    return cli.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
