"""The experiments: half and double of the policy's constants, the replay of recorded answers."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from bench.research import losses, policy_constants
from bench.research.policy_constants import CONSTANTS, MODULES, Constant
from bench.research.recordings import joined, read_recordings
from bench.research.replay import lines, main
from headstart.engine.engine import Origin
from headstart.engine.kernels import operation
from headstart.engine.policy import plan
from headstart.engine.runners import batching
from tests.source.source_tree import ROOT

Captured = pytest.CaptureFixture[str]
TRACE = ROOT / "tests" / "engine" / "data" / "edit.jsonl"
# What counts places, comes from another constant, or meets no recording: tables of likely tokens, unmeasured prices.
OTHERS = {
    *("SIZES", "BULK", "_TABULATED", "_MIN_MS", "_SWITCHING", "_PREFILL", "_MATCH_BUCKETS", "_CHANCE_BUCKETS"),
    *("_TABLE_TRUST", "_ALLOWANCE", "_MEANS", "_READING", "MAX_CANDIDATES", "_PREFILL_DELAY"),
}


def tuned(module: ModuleType) -> set[str]:
    """Return the names of numbers and of tuples of numbers in a module."""
    found = set()
    for name, value in vars(module).items():
        figures = value if isinstance(value, tuple) else (value,)
        if name.isupper() and figures and all(isinstance(figure, int | float) for figure in figures):
            found.add(name)
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
def test_every_policy_constant_is_measured(module: ModuleType) -> None:
    assert tuned(module) - OTHERS == {each.name for each in CONSTANTS if each.module is module}


def test_every_policy_constant_has_its_row_with_its_value() -> None:
    page = (ROOT / "app" / "docs" / "policy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+)\.py \| `(\w+)` \| ([^|]+) \|", page, re.MULTILINE)
    listed = {(file, name): value for file, name, value in rows}
    assert len(listed) == len(rows)
    for each in CONSTANTS:
        figures = each.value if isinstance(each.value, tuple) else (each.value,)
        file = each.module.__name__.rpartition(".")[2]
        assert listed.pop((file, each.name)) == ", ".join(f"{figure:g}" for figure in figures)
    modules = {module.__name__.rpartition(".")[2]: module for module in (*MODULES, batching, operation)}
    assert all(hasattr(modules[file], name) for file, name in listed)


@pytest.mark.slow
def test_spoilt_rule_is_slower() -> None:
    spoilt = Constant(plan, "_MAX_RATE")
    (row,) = policy_constants.measure([spoilt], seeds=(1,))["constants"]
    assert row["half"]["mean"] < 0.0
    assert spoilt.value == 1.15


def test_rules_are_listed_with_mean_worst_and_best(capsys: Captured, tmp_path: Path) -> None:
    assert main([str(TRACE), "--json", str(tmp_path / "figures.json")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("1 answers")
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert len(figures) == 1
    assert all(len(shown) == 1 + len(by_rule) and by_rule["auto"] < by_rule["oracle"] for by_rule in figures.values())
    assert lines({"a 1": {"auto": 2.0, "oracle": 4.0}, "a 2": {"auto": 0.5}})[1:] == [
        "  auto    1.00x (0.50 to 2.00)",
        "  oracle  4.00x (4.00 to 4.00)",
    ]


def test_table_names_its_files(capsys: Captured) -> None:
    assert main([str(TRACE), str(TRACE.with_name("qa.jsonl")), "--markdown"]) == 0
    head, _, *rows = (line.strip("|").split("|") for line in capsys.readouterr().out.splitlines())
    assert [row[0].strip() for row in rows] == ["edit", "qa", "all"]
    for row in rows:
        by_rule = dict(zip(map(str.strip, head[1:]), map(float, row[1:]), strict=True))
        assert by_rule["best fixed length"] < by_rule["oracle"] > by_rule["auto with hindsight"] > 1.0


def test_unreadable_measurements_are_refused(capsys: Captured, tmp_path: Path) -> None:
    assert main([str(tmp_path / "none")]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_losses_add_up_to_the_time_over_the_oracle() -> None:
    for file in (TRACE, TRACE.with_name("qa.jsonl"), TRACE.with_name("translation.jsonl")):
        (recording,) = read_recordings(file)
        answer = losses.play(recording, recording.policy())
        lost_ms = sum(sum(each.losses.values()) for each in answer.rounds)
        assert lost_ms == pytest.approx(answer.ms - answer.oracle_ms)
        assert sum(answer.shares().values()) == pytest.approx(1 - answer.oracle_ms / answer.ms)
        gains = {"branches", "changes of size"}  # a branch may hold where no first choice does
        assert all(ms > -1e-6 for each in answer.rounds for cause, ms in each.losses.items() if cause not in gains)


def test_drafters_of_the_same_answer_are_joined() -> None:
    (recording,) = read_recordings(TRACE)
    guesses = replace(recording.text, drafter=Origin.HEAD, reads_text=False, right=[True] * len(recording.text))
    head = replace(recording, text=guesses)
    (both,) = joined([recording, head, recording])
    assert [text.drafter for text in both.texts] == [Origin.DRAFT, Origin.HEAD]
    dear_draft = {"target": {1: 50.0, 16: 100.0}, Origin.DRAFT: {1: 40.0}, Origin.HEAD: {1: 1.0}}
    answer = losses.play(both.priced(dear_draft), both.priced(dear_draft).policy())
    assert {each.outcome.drafter for each in answer.rounds} >= {Origin.HEAD}
    assert {each.best.drafter for each in answer.rounds} <= {Origin.HEAD, Origin.NGRAM}


def test_table_of_losses_has_a_row_for_each_cause(capsys: Captured) -> None:
    prices = ["--price", "target=1:52.2,8:103", "--price", "draft=1:10"]
    assert losses.main([str(TRACE), *prices, "--tokens", "16", "--kinds", "--rounds", "edit 2"]) == 0
    shown = capsys.readouterr().out
    assert all(f"| {cause} |" in shown for cause in losses.CAUSES)
    assert "edit 1 answers" in shown
    assert re.search(r"guessed \d+ checked \d+ held \d+ .* lost: ", shown)
    assert losses.main([str(TRACE), "--tokens", "500"]) == 1
    assert losses.main([str(TRACE.with_name("qa.jsonl")), "--after", str(TRACE)]) == 0
    assert "changes of size" in capsys.readouterr().out
    assert losses.main([str(TRACE), "--price", "target"]) == 1
