"""`python -m headstart` is the `headstart` command: without a sub-command, the window."""

import sys

from headstart.cli import main

if __name__ == "__main__":
    sys.exit(main())
