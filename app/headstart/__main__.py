"""`python -m headstart` is the `headstart` command."""

import sys

from headstart.cli import main

if __name__ == "__main__":
    sys.exit(main())
