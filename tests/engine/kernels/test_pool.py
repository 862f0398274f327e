"""Threads of the library, in a process of their own."""

import subprocess
import sys

import pytest

SCRIPT = """
import os
import time

import numpy as np

from headstart.engine.kernels.library import Activation, Format, Kind, Weights, library
from headstart.engine.kernels.operation import Layout, PlannedStep, pack

os.sched_setaffinity(0, range(os.cpu_count()))  # the worker that runs this may be bound to one of them
every, mine = os.sched_getaffinity(0), {min(os.sched_getaffinity(0))}
kernels = library()
weights = Weights(Format.INT8, 0, 64, 128, np.ones((64, 128), np.int8), np.ones((64, 1), np.float16))
layout = Layout([128, 64], inputs=1, outputs=1)
layout.steps.append(PlannedStep(Kind.LINEAR, Activation.NONE, 0, -1, [1], [weights], [None], gain=None, epsilon=0.0))
(piece,) = pack(kernels, [layout], threads=1)
piece.threads = 2
before = set(os.listdir("/proc/self/task"))
os.sched_setaffinity(0, mine)
piece.run([np.ones((1, 128), np.float32), np.empty((1, 64), np.float32)])
started = [int(name) for name in os.listdir("/proc/self/task") if name not in before]
end = time.monotonic() + 30
while not all(os.sched_getaffinity(thread) == every for thread in started) and time.monotonic() < end:
    time.sleep(0.01)
print(len(started), time.monotonic() < end)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads inherit no affinity elsewhere")
def test_helper_threads_are_not_bound_to_the_processor_of_the_caller() -> None:
    """OpenVINO binds its threads: two that share a processor are half as fast."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["1", "True"], done.stderr
