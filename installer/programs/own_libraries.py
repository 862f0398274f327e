"""Runs first in the frozen program: what it starts must load the system's libraries, not those of Headstart.

The loader has read the variable when this runs, so that the program itself goes on finding its own.
"""

import os

_BEFORE = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
if _BEFORE:
    os.environ["LD_LIBRARY_PATH"] = _BEFORE
else:
    os.environ.pop("LD_LIBRARY_PATH", None)
