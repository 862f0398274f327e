"""`python -m headstart_export`, the same as `headstart-export`. A step loads nothing of the command."""

import sys

from headstart_export import process

if __name__ == "__main__":
    if sys.argv[1:2] == [process.STEP]:
        sys.exit(process.run_step(*sys.argv[2:]))

    from headstart_export.cli import main

    sys.exit(main())
