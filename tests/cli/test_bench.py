"""`headstart bench` and `headstart dev audit` from outside: flags, refusals, tables, reports and files."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench import chart
from headstart.cli import bench, main
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Heat, Run
from headstart.engine.bench.result import (
    BenchResult,
    Interval,
    Memory,
    Promise,
    Setting,
    Slower,
    Spread,
    as_json,
    hindsight,
    prompt_results,
    standings,
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
        memory=Memory(weights=2000 * 2**20, kv=10 * 2**20, peak_rss=2300 * 2**20),
        hindsight=hindsight(prompts, ["genai 3"]),
    )


def test_the_tables_have_auto_by_class_all_contestants_and_auto_against_the_peers() -> None:
    by_class, ranking, peers = bench.sheets(result())
    assert by_class[0] == [
        *("auto", "mean (95 %)", "5th percentile", "worst prompt"),
        *("mean (95 %) with TTFT", "5th percentile with TTFT", "worst prompt with TTFT"),
    ]
    assert [row[:4] for row in by_class[1:]] == [
        ["code", "3.00x", "3.00x", "3.00x (2.00–4.00) code-1"],
        ["story", "1.00x", "1.00x", "1.00x (1.00–1.00) story-1"],
        ["all", "1.73x (1.00–3.00)", "1.10x", "1.00x (1.00–1.00) story-1"],
    ]
    assert by_class[3][4:] == ["1.29x (1.00–1.67)", "1.03x", "1.00x (1.00–1.00) story-1"]
    assert [row[0] for row in ranking] == ["", "auto", "genai 3"]
    assert ranking[1][1:] == by_class[3][1:]
    assert peers == [
        ["auto against the best of", "genai", "genai with TTFT"],
        ["code", "1.96x", "1.30x"],
        ["story", "1.25x", "1.15x"],
        ["all", "1.56x (1.25–1.96)", "1.23x (1.15–1.30)"],
    ]


def test_the_sentences_say_what_the_table_does_not() -> None:
    code, story = result().prompts
    scores = {**code.scores, "auto": replace(code.scores["auto"], equals_plain=False)}
    more = replace(
        result(), prompts=(replace(code, scores=scores), story), skipped=("llama.cpp stays out: no reason.",)
    )
    setting, *others = bench.remarks(more)
    assert setting.startswith(
        "big with draft small, f32, at most 160 tokens, on A Processor with 2 cores, OpenVINO 2026.4.1."
    )
    assert others == [
        "Plain decoding: 80.0 ms a token.",
        "Time outside the models with auto: 5.0% of decoding.",
        "Peak memory of Headstart itself: 2300 MiB; weights 2000, keys and values 10, everything else 290.",
        "Texts that differ from plain decoding's, of 2 each (auto: 1).",
        "llama.cpp stays out: no reason.",
    ]
    bare = replace(result(), memory=Memory(weights=1, kv=1, peak_rss=None))
    assert bench.remarks(bare)[-1] == "Everyone wrote the same texts as plain decoding."


def test_the_chart_draws_auto_by_class_and_each_peers_best_setting() -> None:
    written = json.loads(json.dumps(as_json(result())))
    speeds = chart.speedups(written, written)
    shown = {kind: {name: f"{mean:.2f}x" for name, mean in each.items()} for kind, each in speeds.items()}
    assert shown == {
        "All texts": {"Headstart": "1.73x", "OpenVINO GenAI, 3": "1.11x"},
        "Headstart, by kind of text": {"code": "3.00x", "story": "1.00x"},
    }
    texts = re.findall(r"<text[^>]*>(.*?)</text>", chart.drawing(speeds))
    bars = [[heading, *[text for bar in each.items() for text in bar]] for heading, each in shown.items()]
    assert texts == [*bars[0], *bars[1], "plain decoding"]


def slower(prompt: str, *, is_noise: bool | None) -> Slower:
    return Slower(prompt, Spread(0.9, 0.85, 0.95), is_noise)


@pytest.mark.parametrize(
    ("kept", "slow", "sentences"),
    [
        (
            True,
            (),
            ["held: no prompt was below 0.97x outside the noise, time to first token included."],
        ),
        (
            True,
            (slower("a-1", is_noise=True),),
            ["held: no prompt", "The noise explains what else was below 0.97x: a-1 0.90x (0.85–0.95)."],
        ),
        (
            False,
            (slower("a-1", is_noise=False),),
            ["did not hold: a-1 0.90x (0.85–0.95) was below 0.97x outside the noise, time to first token included."],
        ),
        (
            None,
            (slower("a-1", is_noise=None),),
            ["cannot be judged: too few answers tell slowness from noise on a-1 0.90x (0.85–0.95); use --repeats 3"],
        ),
    ],
)
def test_a_sentence_says_whether_the_promise_held(
    kept: bool | None, slow: tuple[Slower, ...], sentences: list[str]
) -> None:
    around = Interval(0.9, 1.1)
    promise = Promise(kept, slow, limit=0.88, noise=around, noise_decoding=around)
    noise, verdict, *more = bench.remarks(replace(result(), promise=promise))[2:-3]
    assert noise == (
        "Noise: 95 % of the times of plain decoding are 0.90 to 1.10 times those of plain decoding again with the time "
        "to first token, 0.90 to 1.10 times without it."
    )
    assert verdict.startswith(f'The promise "never slower" {sentences[0]}')
    assert more == ["This noise hides a loss unless every repeat is below 0.88x.", *sentences[1:]]


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
    assert shown.out.startswith("| auto | mean (95 %) | 5th percentile | worst prompt | ")
    assert "\n| genai 5 | " in shown.out
    assert "code-1, repeat 1, genai 5: " in shown.err
    data = json.loads(file.read_text(encoding="utf-8"))
    assert main(["bench", "--model", str(tiny_pair), *short, "--resume", *more]) == 0
    assert "code-1, repeat 1" not in capsys.readouterr().err
    assert json.loads(file.read_text(encoding="utf-8"))["prompts"] == data["prompts"]
    assert list(data) == [
        *("machine", "setting", "prompts", "standings", "memory", "schema", "hindsight", "promise", "skipped"),
    ]
    assert [len(score["ms_per_token"]) for score in data["prompts"][0]["scores"].values()] == [1] * 8
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
