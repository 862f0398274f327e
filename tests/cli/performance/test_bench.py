"""`headstart bench` from outside: flags, refusals, tables, reports and files."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench.speed import chart
from bench.toy import PROGRAM
from headstart.cli import main
from headstart.cli.performance import bench
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Heat, TimedAnswer
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
from headstart.engine.engine import LoadOptions
from headstart.engine.hardware.devices import Machine
from headstart.engine.process.client import EngineClient
from headstart.engine.supervision import Journal
from tests.stand_ins.model_folders import write_model

Captured = pytest.CaptureFixture[str]

MACHINE = Machine("A Processor", 2, "Linux x86_64", "3.11", "0.1", "2026.4.1-22982-abc", "2026.4.1.0")
CODE, STORY = BenchPrompt("code-1", "code", "Write code."), BenchPrompt("story-1", "story", "Tell a story.")
SPEEDS = {
    CODE: {"plain": (80.0, 84.0), "auto": (40.0, 21.0), "genai 3": (50.0, 56.0)},
    STORY: {"plain": (80.0, 80.0), "auto": (80.0, 80.0), "genai 3": (100.0, 100.0)},
}


def result() -> BenchResult:
    """A race of three contestants on two prompts, with simple figures."""
    parts = {"draft": 10.0, "verify": 85.0, "other": 5.0}
    heats = [
        Heat(prompt, name, repeat, TimedAnswer((1, 2, 3), 100.0, 2 * ms, 7, parts=parts))
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


def test_tables_have_kinds_contestants_and_peers() -> None:
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


def figures(sentence: str) -> list[str]:
    """Return the numbers in a sentence."""
    return re.findall(r"\d+(?:\.\d+)?", sentence)


def test_remarks_have_figures_beside_the_tables() -> None:
    code, story = result().prompts
    scores = {**code.scores, "auto": replace(code.scores["auto"], equals_plain=False)}
    more = replace(
        result(), prompts=(replace(code, scores=scores), story), skipped=("llama.cpp stays out: no reason.",)
    )
    setting, *others = bench.remarks(more)
    assert all(part in setting for part in ("big", "small", "f32", "160 tokens", "A Processor", "2 cores", "2026.4.1"))
    assert [figures(sentence) for sentence in others] == [
        ["80.0"],
        ["5.0"],
        ["2300", "2000", "10", "290"],
        ["2", "1"],
        [],
    ]
    bare = replace(result(), memory=Memory(weights=1, kv=1, peak_rss=None))
    assert [figures(sentence) for sentence in bench.remarks(bare)[1:]] == [["80.0"], ["5.0"], []]


def test_chart_reads_the_file_of_a_race() -> None:
    speeds = chart.speedups(json.loads(json.dumps(as_json(result()))))
    assert {name: {kind: f"{mean:.2f}x" for kind, mean in each.items()} for name, each in speeds.items()} == {
        "plain": {"all": "1.73x", "code": "3.00x", "story": "1.00x"}
    }


def slower(prompt: str, *, is_noise: bool | None) -> Slower:
    return Slower(prompt, Spread(0.9, 0.85, 0.95), is_noise)


@pytest.mark.parametrize(
    ("kept", "slow", "beginning", "rest"),
    [
        (True, (), '" held: ', []),
        (True, (slower("a-1", is_noise=True),), '" held: ', [["0.97", "1", "0.90", "0.85", "0.95"]]),
        (False, (slower("a-1", is_noise=False),), '" did not hold: a-1 0.90x (0.85–0.95) ', []),
        (None, (slower("a-1", is_noise=None),), '" cannot be judged: ', []),
    ],
)
def test_remark_says_whether_the_promise_held(
    kept: bool | None, slow: tuple[Slower, ...], beginning: str, rest: list[list[str]]
) -> None:
    around = Interval(0.9, 1.1)
    promise = Promise(kept, slow, limit=0.88, noise=around, noise_decoding=around)
    noise, verdict, *more = bench.remarks(replace(result(), promise=promise))[2:-3]
    assert figures(noise) == ["95", "0.90", "1.10", "0.90", "1.10"]
    assert beginning in verdict
    assert [figures(sentence) for sentence in more] == [["0.88"], *rest]


def test_race_runs_in_the_engine_process(tmp_path: Path, headstart_home: Path, capsys: Captured) -> None:
    write_model(headstart_home / "models" / "smol")
    client, file = EngineClient(PROGRAM, Journal(tmp_path / "log")), tmp_path / "bench.json"

    def load(options: LoadOptions) -> EngineClient:
        client.load(options)
        return client

    size = ["--classes", "story", "--prompts", "1", "--tokens", "4", "--repeats", "1", "--contestants", "auto"]
    assert main(["bench", "--model", "smol", *size, "--json", str(file)], load) == 0
    shown = capsys.readouterr()
    assert "An engine without a model" in shown.out
    assert "· warming up\n" in shown.err
    assert "· story-1, repeat 1, auto: " in shown.err
    assert [prompt["id"] for prompt in json.loads(file.read_text(encoding="utf-8"))["prompts"]] == ["story-1"]
    assert client.pid is None, "its process has ended"


@pytest.mark.slow
def test_race_prints_a_table_and_writes_json(tiny_pair: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "bench.json"
    size = ["--classes", "story", "--prompts", "1", "--tokens", "8", "--repeats", "1"]
    flags = ["--model", str(tiny_pair), *size, "--json", str(file), "--markdown"]
    assert main(["bench", *flags]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("| auto | mean (95 %) | 5th percentile | worst prompt | ")
    assert "\n| genai 5 | " in shown.out
    assert "story-1, repeat 1, genai 5: " in shown.err
    data = json.loads(file.read_text(encoding="utf-8"))
    assert main(["bench", *flags, "--resume"]) == 0
    assert "story-1, repeat 1" not in capsys.readouterr().err
    assert json.loads(file.read_text(encoding="utf-8"))["prompts"] == data["prompts"]
    assert list(data) == [
        *("machine", "setting", "prompts", "standings", "memory", "schema", "hindsight", "promise", "skipped"),
    ]
    assert [len(score["ms_per_token"]) for score in data["prompts"][0]["scores"].values()] == [1] * 8
    assert data["memory"]["peak_rss"] is None or data["memory"]["beyond"] is not None
