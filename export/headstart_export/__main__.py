"""`python -m headstart_export`, the same as `headstart-export`."""

import sys

from headstart_export.cli import main

if __name__ == "__main__":
    sys.exit(main())
