"""The start of the frozen program: the engine if that is its name, else the window and the command line."""

import sys
from pathlib import Path

if __name__ == "__main__":
    if Path(sys.argv[0]).name == "headstart-engine":
        from headstart.engine_process import main

        main()
    else:
        from headstart.cli import start

        sys.exit(start())
