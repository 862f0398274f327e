"""The start of the frozen program: engine or exporter if that is its name, else the window and the command line."""

import sys
from pathlib import Path

if __name__ == "__main__":
    match Path(sys.argv[0]).name:
        case "headstart-engine":
            from headstart.engine_process import main as answer

            answer()
        case "headstart-export":
            from headstart_export.__main__ import main as export

            sys.exit(export())
        case _:
            from headstart.__main__ import main as start

            sys.exit(start())
