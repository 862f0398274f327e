"""Runs first in the frozen program, so that programs it starts load the system's libraries and not Headstart's.

The loader has read the variable before, so the program itself still finds its own libraries.
"""

import os

_BEFORE = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
if _BEFORE:
    os.environ["LD_LIBRARY_PATH"] = _BEFORE
else:
    os.environ.pop("LD_LIBRARY_PATH", None)
