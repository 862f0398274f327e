"""The window's figures: every part of the program runs, small, and the table has a row for each."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.ui import table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    """A very small measurement, as JSON."""
    command = [sys.executable, str(ROOT / "app" / "bench" / "ui.py"), "--messages", "4", "--tokens", "20"]
    command += ["--history", "50", "--repeats", "1"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "app"), "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    measured: dict[str, object] = json.loads(done.stdout)
    return measured


@pytest.mark.slow
def test_everything_is_measured(found: dict[str, dict[str, dict[str, float]]]) -> None:
    assert found["messages"]["4"]["updates"] > 10
    assert all(figures["worst_ms"] > 0 for figures in found["search"].values())
    assert len(found["search"]) > 10
    assert found["list"]["one more chat"]["median_ms"] > 0
    assert found["start"].keys() == {"median_ms", "worst_ms", "rss_mb"}


@pytest.mark.slow
def test_the_table_has_goals_and_figures(found: dict[str, object]) -> None:
    late = {"model": "pair", "late_max_ms": 12.34, "late_p99_ms": 1.26}
    lines = table({**found, "heartbeat": late}).splitlines()
    assert lines[:2] == ["| measured | asked for | found |", "| :-- | --: | --: |"]
    assert lines[-1] == "| lateness of the window's thread while pair streams | 50 ms | 12 ms, 99 of 100 under 1.3 ms |"
    assert len(lines) == 10
    assert all(line.count("|") == 4 for line in lines)
