"""Has a step of the export done in a process of its own: its memory, its threads and its crash stay there.

A step is a module that reads one JSON request on standard input, as its `main`, and prints what it has to say.
"""

import json
import subprocess
import sys
from collections.abc import Mapping

from headstart.errors import ExportError


def ask(step: str, request: Mapping[str, object], *arguments: str, minutes: int, failure: str) -> str:
    """What `python -m headstart_export.STEP` prints for the request.

    Raises ExportError with the sentence `failure`, whose {} is the reason, when it fails or takes too long.
    """
    command = [sys.executable, "-m", f"headstart_export.{step}", *arguments]
    question = json.dumps(request)
    try:
        done = subprocess.run(
            command, input=question, capture_output=True, text=True, timeout=60 * minutes, check=False
        )
    except subprocess.TimeoutExpired:
        raise ExportError(failure.format(f"it took more than {minutes} min")) from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise ExportError(failure.format(reason))
    return done.stdout
