"""Tells errors that mean that memory ran out, whatever they call it, and words them. Knows no model and no process."""

import re
from collections.abc import Iterator

from headstart.errors import OutOfMemoryError

# Of C++, of OpenVINO and oneDNN, of OpenCL and Level Zero; the last two are of threads that find no room for a stack.
_NAMES = re.compile(
    r"bad_alloc|(can't|cannot|could not|failed to|unable to) alloc|out of (device |host )?memory|not enough memory"
    r"|OUT_OF_(HOST_|DEVICE_)?MEMORY|OUT_OF_RESOURCES|ALLOCATION_FAILURE"
    r"|Resource temporarily unavailable|can't start new thread",
    re.IGNORECASE,
)


def instead_of(error: BaseException, *, loading: bool) -> OutOfMemoryError | None:
    """What to say where memory ran out, though `error` may call it otherwise; None for all else."""
    if not any(_tells(each) for each in _chain(error)):
        return None
    if loading:
        return OutOfMemoryError(
            "Memory ran out while the model was loaded: close other programs, choose a smaller context, or a smaller "
            "model."
        )
    return OutOfMemoryError(
        "Memory ran out, so the engine starts again: close other programs, start a new chat, or choose a smaller "
        "context."
    )


def _tells(error: BaseException) -> bool:
    if isinstance(error, MemoryError | OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError | OSError) and bool(_NAMES.search(str(error)))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those that it was made of."""
    each: BaseException | None = error
    while each is not None:
        yield each
        each = each.__cause__ or each.__context__
