"""Processes that hold the heavy libraries: without telemetry, needless network or chatter.

`python -m headstart_export.process MODULE:FUNCTION` reads the function's arguments as JSON and prints its result: the
memory, the threads and the crash of such a step stay in its process.
"""

import contextlib
import dataclasses
import json
import os
import pkgutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from headstart.errors import ExportError, Translatable

_ENVIRONMENT = {
    "CI": "true",  # the telemetry of NNCF and OpenVINO stays off where this is set: belt and braces
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "true",  # set at all, it silences a warning about forks
    "TRANSFORMERS_VERBOSITY": "error",
}


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


def call(function: Callable[..., Any], *, minutes: float, failure: str, **arguments: object) -> Any:
    """What a function of a module returns for these arguments, all of them as JSON has them.

    Raises ExportError with the sentence `failure`, whose {reason} is put in, when it fails or takes too long.
    """
    place = f"{function.__module__}:{function.__qualname__}"
    command = [sys.executable, "-m", "headstart_export.process", place]
    question = json.dumps(arguments)
    try:
        done = subprocess.run(
            command, input=question, capture_output=True, text=True, timeout=60 * minutes, check=False
        )
    except subprocess.TimeoutExpired:
        raise ExportError(failure, reason=Translatable("it took more than {minutes} min", minutes=minutes)) from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise ExportError(failure, reason=reason)
    return json.loads(done.stdout.splitlines()[-1])


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
