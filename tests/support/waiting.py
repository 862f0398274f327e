"""Waiting for what another thread or process does."""

import time
from collections.abc import Callable

PATIENCE = 60.0  # seconds that a loaded machine may take; only a test that fails waits so long


def wait_until(condition: Callable[[], object]) -> None:
    """Return as soon as `condition` holds; fail if that takes too long."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)
