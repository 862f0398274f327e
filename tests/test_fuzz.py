"""The long version of the tests with random inputs: it runs what is marked, so many times as often, and counts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import ROOT, table

BROKEN = """
from hypothesis import given, strategies as st
from tests.junk import fuzz

@fuzz("numbers", 5)
@given(st.integers())
def test_all_are_read(number): pass

@fuzz("numbers", 5)
@given(st.integers())
def test_none_is_read(number): assert False

def test_another(): assert False
"""


@pytest.mark.parametrize(("chosen", "code", "inputs"), [("all_are", 0, 15), ("read", 1, 16)])
def test_inputs_are_counted_and_a_find_is_told(tmp_path: Path, chosen: str, code: int, inputs: int) -> None:
    (tmp_path / "test_broken.py").write_text(BROKEN, encoding="utf-8")
    words = [
        "--times",
        "3",
        "--json",
        str(tmp_path / "found.json"),
        str(tmp_path),
        "-k",
        chosen,
        "-c",
        "pyproject.toml",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert found["inputs"]["numbers"] >= inputs
    assert len(found["failed"]) == code
    assert table(found["inputs"]).splitlines()[-1] in done.stdout
