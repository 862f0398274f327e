"""The programs that load and soak the window run, small, and the slopes are what they are called."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.soak import Sample, slopes

BENCH = Path(__file__).resolve().parents[2] / "app" / "bench"


def _run(name: str, *words: str) -> dict[str, Any]:
    variables = {**os.environ, "PYTHONPATH": str(BENCH.parent), "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, str(BENCH / name), *words]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_a_small_load_is_measured_and_its_history_kept(tmp_path: Path) -> None:
    words = ["--chats", "8", "--tokens", "1200", "--repeats", "1", "--long", "60", "--history", str(tmp_path / "kept")]
    found = _run("load.py", *words)
    assert found["history"]["chats"] == 8
    assert found["start"]["median_ms"] > 0
    assert found["search"]["found"]["a word of one chat"]["median_ms"] > 0
    assert found["long_chat"]["open"]["median_ms"] > 0
    assert found["long_chat"]["messages"] == 60
    assert found["answers"]["heartbeat"]["beats"] > 0
    assert {"one message", "3 messages"} < found["transcript"].keys()
    assert found["transcript"]["one message"]["updates"] > 10
    assert (tmp_path / "kept" / "history" / "history.db").is_file()


@pytest.mark.slow
def test_a_short_soak_counts_what_both_processes_hold() -> None:
    found = _run("soak.py", "--answers", "20")
    assert (found["engine"], found["answers"]) == ("toy", 20)
    assert found["end"]["window_mb"] > 20
    assert found["end"]["engine_handles"] > 2
    assert found["per_1000_answers"].keys() == {*Sample.__dataclass_fields__} - {"answers"}


def test_a_slope_is_what_a_thousand_answers_add() -> None:
    samples = [Sample(n, 100.0 + n / 50, 20.0, 14 + n // 100, 1, 7, 3) for n in range(0, 1000, 100)]
    assert slopes(samples) == {
        "window_mb": 20.0,
        "engine_mb": 0.0,
        "handles": 10.0,
        "threads": 0.0,
        "engine_handles": 0.0,
        "engine_threads": 0.0,
    }
