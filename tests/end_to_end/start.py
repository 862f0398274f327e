"""Starts the `headstart` command with a stand-in for the exporter: `MODEL_FOLDER ARGUMENTS...`; all else is real."""

import shutil
import sys
from pathlib import Path

from headstart import cli, paths
from headstart.library import exporter

_EXPORT = "--export"


def main() -> int:
    """Run `headstart ARGUMENTS...`, with an export that installs the models in MODEL_FOLDER."""
    folder, *arguments = sys.argv[1:]
    if arguments[:1] == [_EXPORT]:
        return _export(Path(folder), arguments[1:])
    exporter.importer = lambda: None
    exporter.command = lambda: (sys.executable, "-m", "tests.end_to_end.start", folder, _EXPORT)
    return cli.main(arguments)


def _export(folder: Path, words: list[str]) -> int:
    """Print the output of `headstart-export`, and leave its result."""
    if "--list" in words:
        print("[]")
        return 0
    print(f"Fetching {words[0]} ...", flush=True)
    paths.models_folder().mkdir(parents=True, exist_ok=True)
    unfinished = paths.models_folder() / f".{words[0]}"
    shutil.copytree(folder, unfinished)
    print(unfinished.rename(paths.models_folder() / words[0]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
