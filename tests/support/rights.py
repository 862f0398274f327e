"""The rights of a user who is not the superuser, for tests that run as one."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_VERSION = 0x20080522  # of the structures
_IGNORING_RIGHTS = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def usual_rights() -> Iterator[None]:
    """Context manager in which this thread, and threads made in it, may open only what the rights of files allow."""
    if sys.platform == "win32":
        pytest.skip("rights are others there")
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("the superuser may read everything")
    header, data = _Header(_VERSION, 0), (_Data * 2)()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.capget(ctypes.byref(header), data) == 0
    before = data[0].effective
    data[0].effective &= ~_IGNORING_RIGHTS
    assert libc.capset(ctypes.byref(header), data) == 0
    try:
        yield
    finally:
        data[0].effective = before
        assert libc.capset(ctypes.byref(header), data) == 0
