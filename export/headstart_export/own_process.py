"""Steps of an export that have a process of their own: their memory, their threads and their crash stay there.

`python -m headstart_export.own_process MODULE:FUNCTION` reads the function's arguments as JSON and prints its result.
"""

import dataclasses
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from headstart.errors import ExportError, Translatable
from headstart_export import quiet


def call(function: Callable[..., Any], *, minutes: float, failure: str, **arguments: object) -> Any:
    """What a function of a module returns for these arguments, all of them as JSON has them.

    Raises ExportError with the sentence `failure`, whose {reason} is put in, when it fails or takes too long.
    """
    place = f"{function.__module__}:{function.__qualname__}"
    command = [sys.executable, "-m", "headstart_export.own_process", place]
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
    quiet.prepare()
    try:
        result = pkgutil.resolve_name(sys.argv[1])(**json.load(sys.stdin))
    except ExportError as error:
        sys.exit(str(error))
    print(json.dumps(result, default=dataclasses.asdict))


if __name__ == "__main__":
    main()
