"""Headstart's own engine inside of a benchmark's process."""

import os
import sys

from headstart.engine import opening
from headstart.engine.engine import LoadOptions
from headstart.engine.loading.loading import measure_all
from headstart.engine.loading.validation import Trial
from headstart.engine.local import LocalEngine
from headstart.engine.opening import resolve
from headstart.engine.process import huge_pages


def load_measured(options: LoadOptions) -> LocalEngine:
    """Load an engine in the fastest precision. The first time, all precisions are measured."""
    resolved = resolve(options)
    measure_all(resolved, Trial())
    engine = opening.load(resolved)
    assert isinstance(engine, LocalEngine), "benchmarks name no other engine"
    return engine


def restart() -> None:
    """Start this program again with large memory pages if that helps; else return. Call it before anything else."""
    added = huge_pages.tunables(os.environ)
    if added:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **added})  # noqa: S606
