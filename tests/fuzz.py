"""`python -m tests.fuzz --times 50`: the tests that are given inputs at random, with so many times as many of them.

Prints how many inputs of each kind were tried, and ends with 1 where one was neither read nor refused in words. What
else is given goes to pytest.
"""

import argparse
import functools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

# Hypothesis is imported by nothing here: pytest wants to be before it.
MARKER = "fuzz"
TIMES = "HEADSTART_FUZZ_TIMES"  # as many inputs as usual
ROOT = Path(__file__).resolve().parent.parent


class Counting:
    """A plugin of pytest: counts the inputs that the marked tests are given, by what they are inputs of."""

    def __init__(self) -> None:
        self.inputs: Counter[str] = Counter()
        self.failed: list[str] = []
        self._counted: set[object] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """A test with parameters comes several times, and is counted in all of them."""
        for item in items:
            marker = item.get_closest_marker(MARKER)
            if marker and isinstance(item, pytest.Function) and item.function not in self._counted:
                self._counted.add(item.function)
                self._count(item.function.hypothesis, marker.args[0])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest for each part of a test."""
        if report.failed:
            self.failed.append(report.nodeid)

    def _count(self, handle: Any, kind: str) -> None:
        tried = handle.inner_test

        @functools.wraps(tried)
        def counted(*values: object, **named: object) -> None:
            self.inputs[kind] += 1
            tried(*values, **named)

        handle.inner_test = counted


def main(words: Sequence[str] | None = None) -> int:
    """0 where all were read or refused."""
    given, further = _parser().parse_known_args(words)
    os.environ[TIMES] = str(given.times)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.chdir(ROOT)
    counting, started = Counting(), time.monotonic()
    code = int(pytest.main(["-q", "-m", MARKER, *further], plugins=[counting]))
    inputs = dict(sorted(counting.inputs.items()))
    print(table(inputs))
    if given.json:
        content = {
            "inputs": inputs,
            "all": sum(inputs.values()),
            "failed": counting.failed,
            "seconds": round(time.monotonic() - started),
        }
        given.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return code


def table(inputs: Mapping[str, int]) -> str:
    """In Markdown, as the README has it."""
    rows = [f"| {kind} | {count:,} |" for kind, count in inputs.items()]
    return "\n".join(["| inputs | tried |", "| --- | ---: |", *rows, f"| all | {sum(inputs.values()):,} |"])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=50, help="as many inputs as the suite tries")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
