"""What the frozen `headstart` runs: the window and the command line."""

import sys

from headstart.cli import start

if __name__ == "__main__":
    sys.exit(start())
