"""Lets `python -m headstart_export` do what `headstart-export` does."""

import sys

from headstart_export.cli import main

if __name__ == "__main__":
    sys.exit(main())
