"""Tells errors that mean that memory ran out, whatever they call it, and words them. Knows no model and no process."""

import errno
from collections.abc import Iterator

import psutil

from headstart.errors import OutOfMemoryError

# OpenVINO raises a RuntimeError for all faults; in it stand the type that C++ threw, or the code of a driver.
_CODES = (
    "bad_alloc",
    "CL_OUT_OF_RESOURCES",
    "CL_OUT_OF_HOST_MEMORY",
    "CL_MEM_OBJECT_ALLOCATION_FAILURE",
    "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY",
    "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
)
_SHORT = 128 * 2**20  # bytes; where no more is free, what failed had no room


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
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and (
        any(code in str(error) for code in _CODES) or psutil.virtual_memory().available < _SHORT
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those that it was made of."""
    each: BaseException | None = error
    while each is not None:
        yield each
        each = each.__cause__ or each.__context__
