"""`python -m headstart` is the `headstart` command: without a sub-command, the window."""

import signal
import sys


def main() -> int:
    """Run the command. Until it has begun, Ctrl+C ends the process and prints no traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from headstart.cli import start  # noqa: PLC0415 - it takes a quarter of a second

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return start()


if __name__ == "__main__":
    sys.exit(main())
