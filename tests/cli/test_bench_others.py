"""`headstart dev forward`, `headstart bench peers` and `advice` from outside: tables, files, pictures and refusals."""

import json
import sys
from pathlib import Path

import pytest

from headstart.cli import bench, main
from headstart.engine.bench.forward import ForwardResult, ModelForward, Timed
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.devices import Machine

Captured = pytest.CaptureFixture[str]

MACHINE = Machine("A Processor", 2, "Linux x86_64", "3.11", "0.1", "2026.4.1", "2026.4.1.0")


def forward_result() -> ForwardResult:
    """Two models, of which the draft has less room."""
    steps = {16: Timed(50.0, 49.0), 256: Timed(60.0, 58.0)}
    target = ModelForward("big", "target", {}, {1: Timed(50.0, 49.0)}, steps)
    small = {1: Timed(10.0, 9.0), 2: Timed(12.0, 11.0)}
    draft = ModelForward("small", "draft", {}, small, {16: Timed(10.0, 9.0)})
    return ForwardResult(MACHINE, (target, draft))


def test_the_tables_have_what_was_measured_of_each_model() -> None:
    tokens, context = bench.forward_tables(forward_result())
    assert [list(column.cells) for column in tokens.columns] == [["1", "2"], ["50.0", "–"], ["10.0", "12.0"]]
    assert [list(column.cells) for column in context.columns] == [
        ["16", "256"],
        ["50.0", "60.0"],
        ["10.0", "–"],
    ]


@pytest.mark.slow
def test_a_whole_run_prints_writes_and_draws(tiny_pair: Path, tmp_path: Path, capsys: Captured) -> None:
    file, picture = tmp_path / "forward.json", tmp_path / "forward.svg"
    sizes = ["--most-tokens", "4", "--most-context", "64", "--repeats", "1"]
    files = ["--json", str(file), "--plot", str(picture)]
    assert main(["dev", "forward", "--model", str(tiny_pair), *sizes, *files]) == 0
    shown = capsys.readouterr().out
    assert "tiny-draft, ms" in shown
    data = json.loads(file.read_text(encoding="utf-8"))
    assert [set(model["by_tokens"]) for model in data["models"]] == [{"1", "2", "3", "4"}] * 2
    assert picture.read_text(encoding="utf-8").rstrip().endswith("</svg>")


@pytest.mark.slow
def test_peers_race_and_the_absent_ones_are_named(
    tiny_pair: Path, tiny_source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    question = BenchPrompt("code-1", "code", "Write code.")
    monkeypatch.setattr(bench, "read_prompts", lambda _per_kind, _kinds: (question,))
    file = tmp_path / "peers.json"
    flags = ["--tokens", "8", "--repeats", "1", "--genai-lengths", "2,3", "--source", str(tiny_source)]
    assert main(["bench", "peers", "--model", str(tiny_pair), *flags, "--json", str(file), "--markdown"]) == 0
    shown = capsys.readouterr().out
    data = json.loads(file.read_text(encoding="utf-8"))
    assert list(data["standings"]) == [
        *("plain", "auto", "genai plain", "genai 2", "genai 3"),
        *(f"genai threshold {value}" for value in (0.2, 0.4, 0.6, 0.8)),
        *("genai lookup 3", "genai lookup 5", "genai lookup 10", "hf plain", "hf lookup"),
    ]
    assert [found["peer"] for found in data["auto_vs_hindsight"]] == ["genai", "hf"]
    assert "- llama.cpp stays out: name its server with --llama-server PATH and a model with --gguf FILE.\n" in shown
    assert "auto against the best setting of hf for each prompt: " in shown


def test_advice_is_a_table_from_a_file(tmp_path: Path, capsys: Captured) -> None:
    speeds = {"fixed 3": {"code": 1.9, "story": 0.9}, "ngram": {"code": 1.2, "story": 1.0}, "auto": {"code": 2.0}}
    result = {
        "setting": {"draft": "small"},
        "prompts": [{"kind": "code"}, {"kind": "story"}],
        "standings": {name: {"total_by_kind": by_kind} for name, by_kind in speeds.items()},
    }
    file, written = tmp_path / "speed.json", tmp_path / "advice.json"
    file.write_text(json.dumps(result), encoding="utf-8")
    assert main(["bench", "advice", str(file), "--json", str(written)]) == 0
    _, code, story = (line.split() for line in capsys.readouterr().out.splitlines())
    assert code == ["code", "draft,", "3", "1.90x", "2.00x"]
    assert story == ["story", "off", "1.00x", "–"]
    told = json.loads(written.read_text(encoding="utf-8"))["advice"]
    assert told[0] == {"kind": "code", "method": "draft", "lengths": [3, 3], "speedup": 1.9, "auto": 2.0}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"standings": []}'])
def test_advice_refuses_another_file(text: str, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    assert main(["bench", "advice", str(file)]) == 2
    assert capsys.readouterr().err == (f"headstart: {file} is no result of `headstart bench speed --json FILE`.\n")


def test_without_the_library_a_picture_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["dev", "forward", "--plot", str(tmp_path / "f.png")]) == 2
    sentence = 'Pictures need matplotlib: install headstart with the extra "plots".'
    assert capsys.readouterr().err == f"headstart: {sentence}\n"


def test_the_passes_are_drawn_as_a_picture(tmp_path: Path) -> None:
    file = tmp_path / "forward.png"
    bench.draw_forward(forward_result(), file)
    assert file.read_bytes().startswith(b"\x89PNG")
