"""How `headstart serve` speaks: in words to a person, or in JSON lines to the program that runs it. Serves nothing."""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headstart.cli.harmless import harmless

if TYPE_CHECKING:  # `headstart --help` need not wait for a server's libraries
    from headstart.server.telling import Told

_CHUNK = 4096  # bytes
_INPUT, _OUTPUT = 0, 1  # by number: a frozen program without a console has no `sys.stdin`


def in_words(told: "Told") -> None:
    """For a person; single requests are none of their business."""
    for line in _lines(told):
        print(harmless(line))
    sys.stdout.flush()


def in_lines(told: "Told") -> None:
    """For a program. One that reads no more has ended, and so does this one soon."""
    from headstart.server import telling  # noqa: PLC0415

    os.write(_OUTPUT, telling.encode(told))


@contextmanager
def ended_with_input() -> Iterator[None]:
    """While inside, the end of standard input is a Ctrl+C: whoever holds its other end has let go, or died."""
    threading.Thread(target=_watch, daemon=True).start()
    yield


def _watch() -> None:
    while os.read(_INPUT, _CHUNK):  # a thread that waits in `sys.stdin` would hold its lock when the interpreter ends
        pass
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        os.kill(os.getpid(), signal.SIGINT)  # wakes a main thread that waits, as for an engine that loads


def _lines(told: "Told") -> list[str]:
    from headstart.engine.serving import Serving  # noqa: PLC0415
    from headstart.server.telling import KeyMade, Loading, Stopped  # noqa: PLC0415

    match told:
        case Loading(title):
            return [f"Loading {title} ..."]
        case KeyMade(key):
            return [f"Key: {key}", "Programs send it as their API key. Keep it: it is not shown again."]
        case Serving(model, url, beyond):
            others = "Other computers can ask, too; what they send and the key travel unencrypted."
            return [f"{model} answers at {url} until Ctrl+C.", *([others] if beyond else [])]
        case Stopped():
            return ["Stopped."]
    return []
