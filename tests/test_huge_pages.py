"""Tests of large memory pages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headstart import huge_pages
from headstart.huge_pages import SETTING, VARIABLE, tunables


@pytest.fixture
def on_demand(tmp_path: Path) -> Path:
    """A system that gives large pages to those who ask."""
    state = tmp_path / "enabled"
    state.write_text("always [madvise] never\n")
    return state


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ({}, {VARIABLE: SETTING}),
        ({VARIABLE: "glibc.malloc.arena_max=2"}, {VARIABLE: f"glibc.malloc.arena_max=2:{SETTING}"}),
        ({VARIABLE: "glibc.malloc.hugetlb=0"}, {}),
    ],
)
def test_huge_pages_are_requested_where_undecided(
    on_demand: Path, known: dict[str, str], asked: dict[str, str]
) -> None:
    assert tunables(known, on_demand) == asked


@pytest.mark.parametrize("words", ["[always] madvise never", "always madvise [never]", ""])
def test_huge_pages_are_not_requested_in_vain(tmp_path: Path, words: str) -> None:
    state = tmp_path / "enabled"
    assert tunables({}, state) == {}  # no such file
    state.write_text(words)
    assert tunables({}, state) == {}


def test_huge_pages_are_not_requested_elsewhere(on_demand: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert tunables({}, on_demand) == {}


def test_program_restarts_once_with_its_arguments(on_demand: Path) -> None:
    code = f"""
import json, os, sys
from pathlib import Path
from headstart import huge_pages
known = huge_pages.tunables
huge_pages.tunables = lambda environment: known(environment, Path({str(on_demand)!r}))
huge_pages.restart()
print(json.dumps([sys.argv[1:], os.environ["GLIBC_TUNABLES"]]))
"""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment["PYTHONPATH"] = str(Path(huge_pages.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, "chat", "--prompt", "a b"],
        env=environment,
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout) == [["chat", "--prompt", "a b"], SETTING]
