"""Runs the export tool with one of its steps replaced, for tests of what happens when that step goes wrong.

`python -m tests.export.staged STAGE` reads a JSON list of argument lists on standard input and prints one line of JSON
for each run: {"code": ..., "out": ..., "err": ...}.
"""

import contextlib
import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from headstart.errors import ExportError
from headstart_export import answers, cli, workspace
from headstart_export.conversion import quantize
from headstart_export.pipeline import gguf_import


def hang(*_arguments: Any, **_options: Any) -> NoReturn:
    """Report the stage, and never return."""
    print("HANGING", file=sys.__stderr__, flush=True)
    while True:
        time.sleep(0.1)  # short, as a signal that another thread gets does not end it


def fail(*_arguments: Any, **_options: Any) -> NoReturn:
    """Raise an unexpected error."""
    raise RuntimeError("a test wants this step to fail")


def compress_nothing(source: Path, _weights: str, target: Path, **_options: Any) -> None:
    """Write the 16-bit model, whatever was ordered."""
    for suffix in (".xml", ".bin"):
        target.with_suffix(suffix).write_bytes(source.with_suffix(suffix).read_bytes())


def write_nothing(*_arguments: Any, **_options: Any) -> NoReturn:
    """Fail as OpenVINO does for a model that it cannot run."""
    raise ExportError("The model cannot write answers with OpenVINO (a test).")


def has_room(*_arguments: Any) -> None: ...


STAGES: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "as it is": (answers, "more_prompts", list),  # a hundred answers are enough for tiny models
    "hangs while compressing": (quantize, "compress", hang),
    "hangs while importing": (gguf_import, "convert_model", hang),
    "fails while compressing": (quantize, "compress", fail),
    "writes nothing": (answers, "written", write_nothing),
    "compresses nothing": (quantize, "compress", compress_nothing),
    "does not ask for room": (workspace, "require_room", has_room),
}


def run(arguments: list[str]) -> dict[str, Any]:
    """Run once with captured streams."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(arguments)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def main() -> None:
    """Replace the functions of the stage, and run."""
    setattr(*STAGES[sys.argv[1]])
    for arguments in json.load(sys.stdin):
        print(json.dumps(run(arguments)), flush=True)


if __name__ == "__main__":
    main()
