"""Tests of large memory pages."""

import sys
from pathlib import Path

import pytest

from headstart.engine.process.huge_pages import SETTING, VARIABLE, tunables


@pytest.fixture
def on_demand(tmp_path: Path) -> Path:
    """A system that gives large pages on request."""
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
