"""The replay of recorded answers as a program."""

import json
from pathlib import Path

import pytest

from bench.research.replay import lines, main
from tests.source_tree import ROOT

Captured = pytest.CaptureFixture[str]
TRACE = ROOT / "tests" / "engine" / "data" / "qwen2.5-coder.jsonl"


def test_every_rule_is_listed_with_mean_worst_and_best(capsys: Captured, tmp_path: Path) -> None:
    assert main([str(TRACE), "--json", str(tmp_path / "figures.json")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "6 answers, times plain decoding: geometric mean (worst to best)"
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert len(figures) == 6
    assert all(len(shown) == 1 + len(by_rule) and by_rule["auto"] < by_rule["oracle"] for by_rule in figures.values())


def test_means_are_geometric() -> None:
    assert lines({"a 1": {"auto": 2.0, "oracle": 4.0}, "a 2": {"auto": 0.5}}) == [
        "2 answers, times plain decoding: geometric mean (worst to best)",
        "  auto    1.00x (0.50 to 2.00)",
        "  oracle  4.00x (4.00 to 4.00)",
    ]


def test_a_file_that_is_no_trace_is_refused(capsys: Captured, tmp_path: Path) -> None:
    assert main([str(tmp_path / "none")]) == 1
    assert "cannot be read" in capsys.readouterr().err
