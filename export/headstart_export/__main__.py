"""The start of `headstart-export`, which is also `python -m headstart_export`."""

import sys

from headstart_export import process


def main() -> int:
    """Run the command. Child steps skip the command line, which takes longer to load."""
    if sys.argv[1:2] == [process.STEP]:
        return process.run_step(*sys.argv[2:])
    from headstart_export import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
