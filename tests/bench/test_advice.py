"""The advice of a race, from its file."""

import json
from pathlib import Path

import pytest

from bench.speed.advice import main
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Heat, TimedAnswer
from headstart.engine.bench.result import BenchResult, Memory, Setting, as_json, prompt_results, standings
from headstart.engine.hardware.devices import Machine

Captured = pytest.CaptureFixture[str]
MACHINE = Machine("A Processor", 2, "Linux x86_64", "3.11", "0.1", "2026.4.1-22982-abc", "2026.4.1.0")
SPEEDUPS = {
    "code": {"plain": 1.0, "fixed 3": 1.9, "ngram": 1.2, "auto": 2.0},
    "story": {"plain": 1.0, "fixed 3": 0.9, "ngram": 1.0, "auto": 1.0},
}


def test_advice_is_a_table_from_a_file(tmp_path: Path, capsys: Captured) -> None:
    heats = [
        Heat(BenchPrompt(f"{kind}-1", kind, "?"), name, 0, TimedAnswer((1, 2), 0.0, 100.0 / speedup, 7))
        for kind, speedups in SPEEDUPS.items()
        for name, speedup in speedups.items()
    ]
    prompts = prompt_results(heats)
    setting = Setting("big", "small", {}, {}, tokens=160, repeats=1)
    raced = BenchResult(MACHINE, setting, prompts, standings(prompts, [*SPEEDUPS["code"]]), Memory(0, 0, None))
    file, written = tmp_path / "speed.json", tmp_path / "advice.json"
    file.write_text(json.dumps(as_json(raced)), encoding="utf-8")
    assert main([str(file), "--json", str(written)]) == 0
    _, code, story = (line.split() for line in capsys.readouterr().out.splitlines())
    assert code == ["code", "draft,", "3", "1.90x", "2.00x"]
    assert story == ["story", "off", "1.00x", "1.00x"]
    advice = json.loads(written.read_text(encoding="utf-8"))["advice"]
    assert (advice[0]["kind"], advice[0]["method"], advice[0]["lengths"]) == ("code", "draft", [3, 3])


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"standings": []}'])
def test_advice_refuses_another_file(text: str, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    assert main([str(file)]) == 2
    assert str(file) in capsys.readouterr().err
