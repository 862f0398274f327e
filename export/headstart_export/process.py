"""Processes that hold the heavy libraries: without telemetry, needless network or chatter.

`python -m headstart_export.process MODULE:FUNCTION` reads the function's arguments as JSON and prints its result: the
memory, the threads and the crash of such a step stay in its process.
"""

import contextlib
import dataclasses
import json
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from headstart.errors import ExportError, Translatable
from headstart_export.progress import Advance

_ENVIRONMENT = {
    "CI": "true",  # the telemetry of NNCF and OpenVINO stays off where this is set: belt and braces
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "true",  # set at all, it silences a warning about forks
    "TRANSFORMERS_VERBOSITY": "error",
}


_TOLD = re.compile(r"done (\d+) of (\d+)")


def prepare() -> None:
    """Call before the first import of transformers, optimum, nncf or openvino. Calling it again changes nothing."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # OpenVINO and NNCF fall back to empty stubs of their own when this import fails; otherwise each step of an
    # export forks a process that calls an analytics host.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    # WORKAROUND optimum-intel 2.2 installs a torchvision whose build does not fit the CPU torch; importing it breaks
    # every import of transformers, which does without it where the import fails cleanly.
    if "torchvision" not in sys.modules:
        sys.modules["torchvision"] = None  # type: ignore[assignment]


@contextlib.contextmanager
def muted(stream: TextIO) -> Iterator[None]:
    """Send what libraries print and warn to `stream`, so that standard output keeps to the result alone."""
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def call(
    function: Callable[..., Any], *, minutes: float, failure: str, advance: Advance | None = None, **arguments: object
) -> Any:
    """Return what a function of a module returns for these arguments, all of them as JSON has them.

    `advance` hears of the progress that the function tells with `tell`. Raises ExportError with the sentence `failure`,
    whose {reason} is put in, when it fails or takes too long.
    """
    place = f"{function.__module__}:{function.__qualname__}"
    command = [sys.executable, "-m", "headstart_export.process", place]
    result, is_late = "", threading.Event()
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as faults,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=faults, encoding="utf-8", errors="replace"
        ) as child,
    ):
        assert child.stdin
        assert child.stdout

        def end() -> None:
            is_late.set()
            child.kill()

        limit = threading.Timer(60 * minutes, end)
        limit.start()
        try:
            with contextlib.suppress(BrokenPipeError):  # it has failed, and says why
                child.stdin.write(json.dumps(arguments))
                child.stdin.close()
            for line in child.stdout:
                if told := _TOLD.fullmatch(line.strip()):
                    if advance:
                        advance(int(told[1]), int(told[2]))
                elif line.strip():
                    result = line
            child.wait()
        except BaseException:
            child.kill()
            raise
        finally:
            limit.cancel()
        faults.seek(0)
        said = faults.read().strip().splitlines()
    if child.returncode:
        late = Translatable("it took more than {minutes} min", minutes=minutes)
        raise ExportError(failure, reason=late if is_late.is_set() else (said or [f"status {child.returncode}"])[-1])
    return json.loads(result)


def tell(done: int, total: int) -> None:
    """Tell whoever called this process how much is done."""
    print(f"done {done} of {total}", flush=True)


def main() -> None:
    """Do the step."""
    prepare()
    try:
        result = pkgutil.resolve_name(sys.argv[1])(**json.load(sys.stdin))
    except ExportError as error:
        sys.exit(str(error))
    print(json.dumps(result, default=dataclasses.asdict))


if __name__ == "__main__":
    main()
