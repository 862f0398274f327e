"""`headstart bench replay` from outside."""

import json
from pathlib import Path

import pytest

from headstart.cli import main
from headstart.terminal.bench_replay import lines
from tests.source_tree import ROOT

Captured = pytest.CaptureFixture[str]
TRACE = ROOT / "tests" / "engine" / "data" / "qwen2.5-coder.jsonl"


def test_every_rule_is_listed_with_mean_worst_and_best(capsys: Captured, tmp_path: Path) -> None:
    assert main(["bench", "replay", str(TRACE), "--json", str(tmp_path / "figures.json")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "6 answers, times plain decoding: geometric mean (worst to best)"
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert len(shown) == 1 + len(figures["means"])
    assert f"{figures['means']['auto']:.2f}x" in shown[1]
    assert figures["means"]["auto"] < figures["means"]["oracle"]


def test_means_are_geometric() -> None:
    assert lines({"a 1": {"auto": 2.0, "oracle": 4.0}, "a 2": {"auto": 0.5}}) == [
        "2 answers, times plain decoding: geometric mean (worst to best)",
        "  auto    1.00x (0.50 to 2.00)",
        "  oracle  4.00x (4.00 to 4.00)",
    ]


def test_a_trace_without_answers_says_so() -> None:
    assert lines({}) == ["The traces hold no finished answer."]


def test_a_file_that_is_no_trace_is_refused(capsys: Captured, tmp_path: Path) -> None:
    assert main(["bench", "replay", str(tmp_path / "none")]) == 1
    assert "cannot be read" in capsys.readouterr().err
