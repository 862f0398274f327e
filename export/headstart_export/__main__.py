"""The start of `headstart-export`, which is also `python -m headstart_export`."""

import signal
import sys


def main() -> int:
    """Run the command. Child steps skip the command line, which takes longer to load.

    Until the command has begun there is nothing to clean up, so Ctrl+C ends the process and prints no traceback.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from headstart_export import process

    if sys.argv[1:2] == [process.STEP]:
        return process.run_step(*sys.argv[2:])
    from headstart_export import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
