"""The library of matrix products."""

import ctypes
import os

import pytest

from headstart.engine.kernels.library import Library, path

LIBRARY = "HEADSTART_TEST_KERNELS"  # a library to test instead of the one that is installed


@pytest.fixture(scope="session")
def kernels() -> Library:
    """The library on the best instruction set of this processor."""
    return Library(ctypes.CDLL(os.environ.get(LIBRARY) or str(path())))
