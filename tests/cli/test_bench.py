"""`headstart bench` and `headstart dev audit` from outside: flags, refusals, tables, reports and files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from headstart.cli import bench, main
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Heat, Run
from headstart.engine.bench.result import (
    BenchResult,
    Memory,
    Setting,
    prompt_results,
    standings,
    versus_best_peer,
    versus_hindsight,
)
from headstart.engine.devices import Machine
from headstart.engine.speculative import Decoder

Captured = pytest.CaptureFixture[str]

MACHINE = Machine("A Processor", 2, "Linux x86_64", "3.11", "0.1", "2026.4.1-22982-abc", "2026.4.1.0")
CODE, STORY = BenchPrompt("code-1", "code", "Write code."), BenchPrompt("story-1", "story", "Tell a story.")
SPEEDS = {
    CODE: {"plain": (80.0, 84.0), "auto": (40.0, 21.0), "genai 3": (50.0, 56.0)},
    STORY: {"plain": (80.0, 80.0), "auto": (80.0, 80.0), "genai 3": (100.0, 100.0)},
}


def result() -> BenchResult:
    """A race of three on two prompts, with figures that are easy to reckon."""
    parts = {"draft": 10.0, "verify": 85.0, "other": 5.0}
    heats = [
        Heat(prompt, name, repeat, Run((1, 2, 3), 100.0, 2 * ms, 7, parts=parts))
        for prompt, by_name in SPEEDS.items()
        for name, times in by_name.items()
        for repeat, ms in enumerate(times)
    ]
    prompts = prompt_results(heats)
    return BenchResult(
        machine=MACHINE,
        setting=Setting("big", "small", {"INFERENCE_PRECISION_HINT": "f32"}, {}, tokens=160, repeats=2),
        prompts=prompts,
        standings=standings(prompts, list(SPEEDS[CODE])),
        auto_vs_best_static_peer=versus_best_peer(prompts, ["genai 3"]),
        memory=Memory(weights=2000 * 2**20, kv=10 * 2**20, peak_rss=2300 * 2**20),
    )


def test_the_tables_have_a_row_for_each_prompt_each_class_and_all_and_a_ranking() -> None:
    by_prompt, ranking = bench.sheets(result())
    assert by_prompt == [
        ["prompt", "plain ms/token", "auto", "genai 3"],
        ["code-1", "82.0", "3.00x (2.00–4.00)", "1.55x (1.50–1.60)"],
        ["story-1", "80.0", "1.00x (1.00–1.00)", "0.80x (0.80–0.80)"],
        ["code mean", "", "3.00x", "1.55x"],
        ["story mean", "", "1.00x", "0.80x"],
        ["all mean", "", "1.73x", "1.11x"],
    ]
    assert ranking[0] == ["", "mean (95 %)", "5th percentile", "worst", "mean with TTFT", "worst with TTFT"]
    assert ranking[2] == ["auto", "1.73x (1.00–3.00)", "1.10x", "1.00x", "1.29x", "1.00x"]


def test_one_repeat_shows_no_spread_and_many_contestants_are_ranked_only() -> None:
    for names, titles in ((["plain", "auto"], ["prompt", ""]), (["plain", *(f"genai {n}" for n in range(8))], [""])):
        heats = [Heat(CODE, name, 0, Run((1, 2), 100.0, 80.0 if name == "plain" else 40.0, 7)) for name in names]
        prompts = prompt_results(heats)
        found = bench.sheets(replace(result(), prompts=prompts, standings=standings(prompts, names)))
        assert [sheet[0][0] for sheet in found] == titles
        assert "2.00x (" not in str(found[0][1])


def test_the_sentences_say_what_the_table_does_not() -> None:
    code, story = result().prompts
    scores = {**code.scores, "auto": replace(code.scores["auto"], equals_plain=False)}
    more = replace(
        result(),
        prompts=(replace(code, scores=scores), story),
        auto_vs_hindsight=versus_hindsight(result().prompts, ["genai 3"]),
        skipped=("llama.cpp stays out: no reason.",),
    )
    setting, *others = bench.remarks(more)
    assert setting.startswith(
        "big with draft small, f32, at most 160 tokens, on A Processor with 2 cores, OpenVINO 2026.4.1."
    )
    assert others == [
        "auto against genai 3, the peer's best static setting: 1.56x (1.25 to 1.96 over the prompts).",
        "auto against the best setting of genai for each prompt: 1.56x (1.25–1.96), 1.25 to 1.96 over the prompts.",
        "Time outside the models with auto: 5.0% of decoding.",
        "Peak memory of Headstart itself: 2300 MiB; weights 2000, keys and values 10, everything else 290.",
        "Texts that differ from plain decoding's, of 2 each (auto: 1).",
        "llama.cpp stays out: no reason.",
    ]
    bare = replace(result(), auto_vs_best_static_peer=None, memory=Memory(weights=1, kv=1, peak_rss=None))
    assert bench.remarks(bare)[2] == "Everyone wrote the same texts as plain decoding."


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Flags of a short race, with a prompt that fits the context of tiny models."""
    monkeypatch.setattr(bench, "read_prompts", lambda _per_kind, _kinds: (CODE,))
    return ["--tokens", "8", "--repeats", "1"]


@pytest.mark.slow
def test_a_race_prints_a_table_and_writes_every_figure(
    short: list[str], tiny_pair: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "bench.json"
    more = ["--json", str(file), "--markdown"]
    assert main(["bench", "--model", str(tiny_pair), *short, *more]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(
        "| prompt | plain ms/token | fixed 3 | fixed 5 | auto | genai plain | genai 3 | genai 5 |\n"
    )
    assert "code-1, repeat 1, genai 5: " in shown.err
    data = json.loads(file.read_text(encoding="utf-8"))
    assert list(data) == [
        *("machine", "setting", "prompts", "standings", "auto_vs_best_static_peer", "memory", "schema"),
        *("auto_vs_hindsight", "skipped"),
    ]
    assert [len(score["ms_per_token"]) for score in data["prompts"][0]["scores"].values()] == [1] * 7
    assert data["memory"]["peak_rss"] is None or data["memory"]["beyond"] is not None


@pytest.mark.slow
def test_timed_passes_are_printed_and_written(tiny_pair: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "forward.json"
    sizes = ["--most-tokens", "4", "--most-context", "64", "--repeats", "1"]
    assert main(["dev", "forward", "--model", str(tiny_pair), *sizes, "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "tiny-draft, ms" in shown
    data = json.loads(file.read_text(encoding="utf-8"))
    assert [set(model["by_tokens"]) for model in data["models"]] == [{"1", "2", "3", "4"}] * 2


@pytest.mark.slow
def test_peers_race_and_the_absent_ones_are_named(
    short: list[str], tiny_pair: Path, tiny_source: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "peers.json"
    flags = [*short, "--genai-lengths", "2,3", "--source", str(tiny_source), "--json", str(file), "--markdown"]
    assert main(["bench", "peers", "--model", str(tiny_pair), *flags]) == 0
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


def audit(pair: Path, *more: str) -> int:
    return main(["dev", "audit", "--model", str(pair), "--tokens", "16", "--prompts", "1", *more])


def test_an_audit_of_a_sound_pair_passes(tiny_pair: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "audit.json"
    assert audit(tiny_pair, "--json", str(file)) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == "tiny-target with draft tiny-draft, auto and fixed 5:"
    assert [line.split(",")[0] for line in lines[1:3]] == [
        "  greedy: 32 tokens checked",
        "  sampled: 32 tokens checked",
    ]
    assert lines[3:] == ["passed: 0 tokens outside the noise floor."]
    assert "scoring 16 tokens again: code-1, auto" in shown.err
    data = json.loads(file.read_text(encoding="utf-8"))
    assert (data["outside"], data["findings"]["greedy"]["tokens"]) == (0, 32)


def test_a_bug_shows_in_the_exit_code_of_an_audit(
    tiny_pair: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    monkeypatch.setattr(Decoder, "_tolerated", lambda *_arguments: True)  # every guess is taken unchecked
    file = tmp_path / "audit.json"
    assert audit(tiny_pair, "--temperature", "0", "--json", str(file)) == 1
    lines = capsys.readouterr().out.splitlines()
    outside = json.loads(file.read_text(encoding="utf-8"))["outside"]
    assert lines[-1] == f"FAILED: {outside} tokens outside the noise floor."
    assert lines[2].startswith("    code-1, ")
    assert not any("sampled" in line for line in lines)
