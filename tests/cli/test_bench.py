"""`headstart bench` from outside: flags, refusals, the table and the file."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headstart.cli import bench, main
from headstart.engine.bench.measure import ForwardResult, ModelForward, Timed
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


def test_the_table_has_a_row_for_each_prompt_each_class_and_all() -> None:
    assert bench.sheets(result())[0] == [
        ["prompt", "plain ms/token", "auto", "genai 3"],
        ["code-1", "82.0", "3.00x (2.00–4.00)", "1.55x (1.50–1.60)"],
        ["story-1", "80.0", "1.00x (1.00–1.00)", "0.80x (0.80–0.80)"],
        ["code mean", "", "3.00x", "1.55x"],
        ["story mean", "", "1.00x", "0.80x"],
        ["all mean", "", "1.73x", "1.11x"],
    ]


def test_the_ranking_tells_how_speedups_scatter() -> None:
    assert bench.sheets(result())[1] == [
        ["", "mean (95 %)", "5th percentile", "worst", "mean with TTFT", "worst with TTFT"],
        ["plain", "1.00x (1.00–1.00)", "1.00x", "1.00x", "1.00x", "1.00x"],
        ["auto", "1.73x (1.00–3.00)", "1.10x", "1.00x", "1.29x", "1.00x"],
        ["genai 3", "1.11x (0.80–1.55)", "0.84x", "0.80x", "1.05x", "0.87x"],
    ]


def test_many_contestants_are_ranked_only() -> None:
    names = ["plain", "auto", *(f"genai {length}" for length in range(1, 8))]
    prompts = prompt_results([Heat(CODE, name, 0, Run((1, 2, 3), 100.0, 80.0, 7)) for name in names])
    many = replace(result(), prompts=prompts, standings=standings(prompts, names))
    assert [sheet[0][0] for sheet in bench.sheets(many)] == [""]
    assert len(bench.sheets(result())) == 2


def test_one_repeat_shows_no_spread() -> None:
    heats = [Heat(CODE, name, 0, Run((1, 2), 100.0, ms, 7)) for name, ms in (("plain", 80.0), ("auto", 40.0))]
    prompts = prompt_results(heats)
    alone = replace(result(), prompts=prompts, standings=standings(prompts, ["plain", "auto"]))
    assert bench.sheets(alone)[0][1] == ["code-1", "80.0", "2.00x"]


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
def small_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts that fit the context of tiny models."""
    monkeypatch.setattr(bench, "read_prompts", lambda per_kind, _kinds: (CODE, STORY)[:per_kind])


SHORT = ["--tokens", "8", "--repeats", "1", "--prompts", "1"]


@pytest.mark.slow
@pytest.mark.usefixtures("small_questions")
def test_a_race_prints_a_table_and_writes_every_figure(tiny_pair: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "bench.json"
    picture = tmp_path / "bench.svg"
    more = ["--json", str(file), "--markdown", "--plot", str(picture)]
    assert main(["bench", "--model", str(tiny_pair), *SHORT, *more]) == 0
    assert picture.read_text(encoding="utf-8").rstrip().endswith("</svg>")
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
    monkeypatch.setattr(bench, "read_prompts", lambda _per_kind, _kinds: (CODE,))
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
