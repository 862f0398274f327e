"""`python -m headstart` is the `headstart` command: without a sub-command, the window."""

import sys

from headstart.cli import start

if __name__ == "__main__":
    sys.exit(start())
