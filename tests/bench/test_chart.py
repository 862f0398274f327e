"""The chart of a race, or of two."""

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench.speed import chart

Captured = pytest.CaptureFixture[str]
SVG = "{http://www.w3.org/2000/svg}"


def race(path: Path, plain: dict[str, float], llama: dict[str, float] | None = None) -> Path:
    """Write the parts of a race's file that the chart reads."""

    def means(speeds: dict[str, float]) -> dict[str, Any]:
        return {kind: {"mean": mean} for kind, mean in speeds.items()}

    peers = [{"peer": "genai", "decoding": means(plain)}]
    peers += [{"peer": "llama", "decoding": means(llama)}] if llama else []
    found = {"standings": {"auto": {"decoding": means(plain)}}, "hindsight": peers}
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *words: str | Path) -> ET.Element:
    """Return the chart that the program draws."""
    output = tmp_path / "chart.svg"
    monkeypatch.setattr(sys, "argv", ["chart.py", *map(str, words), "--output", str(output)])
    assert chart.main() == 0
    return ET.parse(output).getroot()  # noqa: S314 - our own


def test_both_precisions_have_a_bar_in_each_class_and_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    precise = race(
        tmp_path / "a.json", {"all": 1.5, "code": 1.25, "edit": 2.0}, {"all": 2.0, "code": 1.75, "edit": 3.0}
    )
    fast = race(tmp_path / "b.json", {"all": 1.6, "code": 1.3, "edit": 2.5}, {"all": 2.1, "code": 1.8, "edit": 3.5})
    svg = drawn(monkeypatch, tmp_path, precise, "--fast", fast)
    bars = [bar.get("class") for bar in svg.iter(f"{SVG}rect") if float(bar.get("width") or 0) > 12.0]
    assert bars == ["precise", "fast"] * 6
    texts = [text.text for text in svg.iter(f"{SVG}text")]
    assert texts[:5] == ["as in the GGUF file", "fast (INT4)", "all", "edit", "code"]
    assert {"1.25x", "3.50x", "over plain decoding"} < set(texts)
    assert json.loads(capsys.readouterr().out)["fast"]["llama"] == {"all": 2.1, "code": 1.8, "edit": 3.5}
    assert len(list(svg.iter(f"{SVG}line"))) == 2


def test_bars_are_as_long_as_their_figures_and_stay_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    svg = drawn(monkeypatch, tmp_path, race(tmp_path / "a.json", {"all": 1.5, "code": 3.0}, {"all": 0.5, "code": 1.0}))
    places = [(float(bar.get("x") or 0), float(bar.get("width") or 0)) for bar in svg.iter(f"{SVG}rect")]
    widths = [width for _, width in places]
    assert [round(width / widths[0], 2) for width in widths] == [1.0, 2.0, 1.0, 2.0]  # each column has its own scale
    assert max(left + width for left, width in places) < float(svg.get("width") or 0) - 30


def test_bar_far_above_the_others_is_cut_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    svg = drawn(monkeypatch, tmp_path, race(tmp_path / "a.json", {"all": 1.5, "code": 1.25, "edit": 9.0}))
    widths = sorted(float(bar.get("width") or 0) for bar in svg.iter(f"{SVG}rect"))
    assert widths[2] == pytest.approx(2 * widths[1], rel=0.01)
    assert "9.00x →" in [text.text for text in svg.iter(f"{SVG}text")]


def test_race_without_llama_cpp_has_one_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    svg = drawn(monkeypatch, tmp_path, race(tmp_path / "a.json", {"all": 1.5, "code": 1.25}))
    assert [text.text for text in svg.iter(f"{SVG}text")] == [
        "all",
        "code",
        "over plain decoding",
        "1.50x",
        "1.25x",
        "1x",
    ]
