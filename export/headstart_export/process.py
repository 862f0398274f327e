"""Child processes for heavy libraries, without telemetry, network or output.

`headstart-export step MODULE:FUNCTION [BYTES]` reads the function's arguments as JSON and prints its result, so that
the memory, the threads and a crash of such a step stay in its process.
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

from headstart import paths
from headstart.errors import ExportError, Translatable
from headstart_export.progress import Advance

_ENVIRONMENT = {
    "CI": "true",  # also turns the telemetry of NNCF and OpenVINO off
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "true",  # set at all, it silences a warning about forks
    "TRANSFORMERS_VERBOSITY": "error",
}
STEP = "step"  # the word by which `headstart-export` is started for one
_PROGRESS_LINE = re.compile(r"done (\d+) of (\d+)")


def prepare() -> None:
    """Set up this process; call it before the first import of transformers, optimum, nncf or openvino. Idempotent."""
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
    """Redirect the output and the warnings of libraries to `stream`, so that standard output has only the result."""
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def call(
    function: Callable[..., Any],
    *,
    minutes: float,
    failure: str,
    memory: int | None = None,
    advance: Advance | None = None,
    **arguments: object,
) -> Any:
    """Call a function of a module in a child process. Arguments and result cross as JSON.

    `memory`: bytes that it may allocate. `advance` gets the progress that the function reports with `tell`. Raises
    ExportError with the template `failure` and its {reason} when the function fails or takes too long.
    """
    target = f"{function.__module__}:{function.__qualname__}"
    command = [*_program(), STEP, target, *([str(memory)] if memory else [])]
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
            with contextlib.suppress(BrokenPipeError):  # it has failed, and wrote the reason
                child.stdin.write(json.dumps(arguments))
                child.stdin.close()
            for line in child.stdout:
                if progress := _PROGRESS_LINE.fullmatch(line.strip()):
                    if advance:
                        advance(int(progress[1]), int(progress[2]))
                elif line.strip():
                    result = line
            child.wait()
        except BaseException:
            child.kill()
            raise
        finally:
            limit.cancel()
        faults.seek(0)
        stderr_lines = faults.read().strip().splitlines()
    if child.returncode:
        timeout = Translatable("it took more than {minutes} min", minutes=minutes)
        raise ExportError(
            failure, reason=timeout if is_late.is_set() else (stderr_lines or [f"status {child.returncode}"])[-1]
        )
    return json.loads(result)


def _program() -> tuple[str, ...]:
    frozen = paths.bundled_program("headstart-export")
    return (str(frozen),) if frozen else (sys.executable, "-m", "headstart_export")


def tell(done: int, total: int) -> None:
    """Report progress to the caller of this process."""
    print(f"done {done} of {total}", flush=True)


def _limit_memory(size: int) -> None:
    """Limit the bytes that this process may allocate. Pages of mapped files do not count.

    Linux enforces it, macOS takes it for advice, and Windows has no such limit: there only the time is limited.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # each thread of NumPy's would allocate much more than it uses
    if sys.platform != "win32":
        import resource

        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def run_step(target: str, memory: str = "") -> int:
    """Call the function of a step in this process. Return the exit code."""
    prepare()
    if memory:
        _limit_memory(int(memory))
    try:
        result = pkgutil.resolve_name(target)(**json.load(sys.stdin))
    except ExportError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(result, default=dataclasses.asdict))
    return 0
