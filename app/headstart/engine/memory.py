"""Memory that a loaded model no longer needs: pages of the weight file, which OpenVINO maps and then repacks.

Without this a model counts twice, once as the file and once as the copy that is computed with. Linux only; elsewhere
nothing happens. A page that is needed after all is read again from the file.
"""

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_DONTNEED = 4  # MADV_DONTNEED
_PERIOD = 0.1  # seconds between two releases


@contextmanager
def released(weights: Path) -> Iterator[None]:
    """While inside and on leaving, give back the pages of `weights` that this process has mapped but not changed."""
    if not sys.platform.startswith("linux"):
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_keep_releasing, args=(weights, done), daemon=True, name="release-weights")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        release(weights)


def release(weights: Path) -> None:
    """Give the mapped pages of `weights` back once."""
    libc = ctypes.CDLL(None)
    for start, length in _mappings(weights):
        libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), _DONTNEED)


def _keep_releasing(weights: Path, done: threading.Event) -> None:
    while not done.wait(_PERIOD):
        release(weights)


def _mappings(path: Path) -> list[tuple[int, int]]:
    """Address and length of each read-only mapping of a file in this process."""
    name = str(path.resolve())
    lines = [line.split(maxsplit=5) for line in _MAPS.read_text(encoding="utf-8", errors="replace").splitlines()]
    ranges = [line[0].split("-") for line in lines if len(line) == 6 and line[5] == name and "w" not in line[1]]
    return [(int(start, 16), int(end, 16) - int(start, 16)) for start, end in ranges]
