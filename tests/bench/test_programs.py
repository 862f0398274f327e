"""The programs that measure: each runs, small, and counts what it says."""

import json
import math
import os
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest

from bench.files import passages
from bench.passes import kernels
from bench.server import clients, routes
from bench.server.many_requests import measure, throughput
from bench.speed import versions
from bench.window.soak import slopes
from bench.window.ui import table
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import PLAIN, TimedAnswer
from headstart.engine.engine import LoadOptions
from headstart.engine.kernels.library import Format
from headstart.engine.kernels.library import library as library_of_kernels
from headstart.engine.kernels.selftest import proven
from headstart.errors import BrokenModelError
from headstart.library import library
from headstart.server.worker import Limits
from installer import kernels as installer
from tests.engine.answers import load
from tests.export.gguf import tiny_gguf
from tests.server.serving import KEY, MODEL, serving
from tests.source.source_tree import ROOT
from tests.stand_ins.fakes import ScriptedEngine

Captured = pytest.CaptureFixture[str]
WORDS = "one two three"
SMALL_KERNELS = ("--rows", "64", "--cols", "256", "--mb", "1", "--turns", "2", "--threads", "1")


def run(name: str, *words: str) -> dict[str, Any]:
    """Return what a program prints."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "app"), "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, str(ROOT / "app" / "bench" / name), *words]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_window_benchmark_has_a_row_for_each_action() -> None:
    found = run("window/ui.py", "--messages", "4", "--tokens", "20", "--history", "50", "--repeats", "1")
    assert found["messages"]["4"]["updates"] > 10
    assert len(found["search"]) > 10
    assert all(figures["worst_ms"] > 0 for figures in found["search"].values())
    assert found["list"]["one more chat"]["median_ms"] > 0
    assert found["start"].keys() == {"median_ms", "worst_ms", "rss_mb"}
    lines = table({**found, "heartbeat": {"model": "pair", "late_max_ms": 12.34, "late_p99_ms": 1.26}}).splitlines()
    assert lines[0] == "| measured | asked for | found |"
    assert lines[-1].endswith("| 50 ms | 12 ms, 99 of 100 under 1.3 ms |")
    assert len(lines) == 10


@pytest.mark.slow
@pytest.mark.skipif(not proven(), reason="this computer does not use our own kernels")
def test_kernel_benchmark_has_each_format_and_set_beside_a_read() -> None:
    cases = run("passes/kernels.py", *SMALL_KERNELS, "--tokens", "1,3")["cases"]
    loaded = library_of_kernels()
    assert loaded
    assert len({(case["format"], case["isa"]) for case in cases}) == len(Format) * len(loaded.isas[1:])
    assert {case["tokens"] for case in cases} == {1, 3}
    assert all(min(case["GB/s"], case["GB/s of a read"], case["times a read"]["from"]) > 0 for case in cases)


@pytest.mark.slow
@pytest.mark.skipif(not proven(), reason="this computer does not use our own kernels")
def test_kernel_benchmark_times_changed_constants(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    less_optimized = [flag.replace("-O3", "-O1") for flag in installer.COMPILE]  # compiled in a third of the time
    monkeypatch.setattr(installer, "COMPILE", less_optimized)
    words = [*SMALL_KERNELS, "--tokens", "1", "--formats", "INT8", "--isas", "AVX2", "--set", "AHEAD=0"]
    monkeypatch.setattr("sys.argv", ["kernels.py", *words])
    assert kernels.main() == 0
    cases = json.loads(capsys.readouterr().out)["cases"]
    assert [case["build"] for case in cases] == ["as it is", "AHEAD=0"]


@pytest.mark.slow
@pytest.mark.skipif(not proven(), reason="this computer does not use our own kernels")
def test_depth_benchmark_reads_and_writes_with_a_model_of_random_weights(tiny_models: Path, tmp_path: Path) -> None:
    vocabulary = tmp_path / "tiny.gguf"
    tiny_gguf.write(tiny_models / "target-hf", vocabulary)
    words = ("--shape", "qwen3-4b", "--layers", "1", "--gguf", str(vocabulary), "--bits", "16")
    found = run("speed/depth.py", *words, "--depths", "8,24", "--turns", "1")
    assert [*found["depths"]] == ["8", "24"]
    assert all(figure > 0 for by_name in found["depths"].values() for figure in by_name["16 bits"].values())


@pytest.mark.slow
def test_small_load_is_measured_with_its_history(tmp_path: Path) -> None:
    words = ["--chats", "8", "--tokens", "1200", "--repeats", "1", "--long", "60", "--history", str(tmp_path / "kept")]
    found = run("window/load.py", *words)
    assert found["history"]["chats"] == 8
    assert found["start"]["median_ms"] > 0
    assert found["search"]["found"]["a word of one chat"]["median_ms"] > 0
    assert found["long_chat"]["open"]["median_ms"] > 0
    assert found["long_chat"]["messages"] == 60
    assert found["answers"]["heartbeat"]["beats"] > 0
    assert found["transcript"]["one message"]["updates"] > 10
    assert (tmp_path / "kept" / "history" / "history.db").is_file()


@pytest.mark.slow
def test_soak_counts_the_memory_of_both_processes() -> None:
    found = run("window/soak.py", "--answers", "20")
    assert (found["engine"], found["answers"]) == ("toy", 20)
    assert found["end"]["window_mb"] > 20
    assert found["end"]["engine_handles"] > 2
    assert found["per_1000_answers"].keys() == found["end"].keys() - {"answers"}


def test_slope_is_per_thousand_answers() -> None:
    samples = [{"answers": n, "window_mb": 100.0 + n / 50, "handles": 14 + n // 100} for n in range(0, 1000, 100)]
    assert slopes(samples) == {"window_mb": 20.0, "handles": 10.0}


def test_refused_request_is_retried_and_answered() -> None:
    with serving(ScriptedEngine([WORDS], pause=0.05), Limits(waiting=1)) as running:
        found = measure(running.url, KEY, row=3, together=6)
    assert [found["in_a_row"][name] for name in ("requests", "answered", "lost")] == [3, 3, 0]
    assert [found["at_once"][name] for name in ("answered", "lost", "tokens")] == [6, 0, 18]
    assert found["at_once"]["sent_away_and_back"] > 0


def test_parallel_clients_are_compared_with_one() -> None:
    with serving(ScriptedEngine([WORDS], pause=0.02), Limits(parallel=4)) as running:
        found = throughput([running.url, running.url], KEY, [4], tokens=3, repeats=2)
    ratios = sorted(run[1]["seconds"] / run[4]["seconds"] for run in found["runs"])
    assert [found["times_one_client"][4][name] for name in ("from", "to")] == [round(ratio, 2) for ratio in ratios]
    assert [run[4]["tokens"] for run in found["runs"]] == [24, 24]
    peer = found["peers"][0]
    assert (list(peer["times_this_peer"]), len(peer["runs"])) == ([1, 4], 2)


def test_missing_client_is_skipped_and_failing_one_reported(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    answers = [call, "Sunny, 21 degrees.", "I cannot."]
    missing = clients.ClientCase(clients.openai_whole, "no-such-client")
    monkeypatch.setattr(clients, "CASES", (missing, *clients.CASES[:2]))
    monkeypatch.setattr(clients, "KEY", KEY)
    with serving(ScriptedEngine(answers)) as running:
        monkeypatch.setattr("sys.argv", ["clients.py", running.url, MODEL, "--markdown"])
        assert clients.main() == 1
    head, _, works, fails = capsys.readouterr().out.splitlines()
    assert head.count("|") == 4
    assert (openai.__version__ in works, works.endswith("| yes |")) == (True, True)
    assert fails.endswith("| no |")


@pytest.mark.slow
def test_clients_call_tools_of_a_real_model(real_pair: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    pair = library.choose(str(real_pair), None)
    assert pair.draft
    monkeypatch.setattr(clients, "KEY", KEY)
    with (
        closing(load(LoadOptions(pair.target.folder, pair.draft.folder))) as engine,
        serving(engine) as running,
    ):
        monkeypatch.setattr("sys.argv", ["clients.py", running.url, MODEL])
        assert clients.main() == 0
    assert len(capsys.readouterr().out.splitlines()) >= 4  # of the one that the tests have


def test_servers_are_compared_by_route(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("HEADSTART_SERVE_KEY", KEY)
    with serving(ScriptedEngine([WORDS], pause=0.05)) as old, serving(ScriptedEngine([WORDS])) as new:
        urls = [running.url.removesuffix("/v1") for running in (old, new)]
        monkeypatch.setattr(sys, "argv", ["", *urls, "--rounds", "2", "--routes", "chat", "ollama"])
        routes.main()
        raced = json.loads(capsys.readouterr().out)
        monkeypatch.setattr(sys, "argv", ["", *urls, "--resend", "300"])
        routes.main()
        resent = json.loads(capsys.readouterr().out)
    assert len(raced) == 2 * len(routes.KINDS)
    assert all(each["times as fast"] > 1 for each in raced.values())
    assert set(resent) == set(urls)


def test_failed_answer_is_counted_as_lost() -> None:
    with serving(ScriptedEngine([WORDS, BrokenModelError("Export it again."), WORDS])) as running:
        found = measure(running.url, KEY, row=3, together=6)
    assert (found["in_a_row"]["answered"], found["in_a_row"]["lost"], found["at_once"]["lost"]) == (2, 1, 0)
    assert "500" in found["in_a_row"]["faults"][0]


PROGRAM = """#!{python}
import json, sys
file = sys.argv[sys.argv.index("--json") + 1]
scores = {{"plain": {{"ms_per_token": [{plain}]}}, "auto": {{"ms_per_token": [{auto}]}}}}
json.dump({{"prompts": [{{"id": name, "scores": scores}} for name in ("code-1", "story-1")]}}, open(file, "w"))
open({log!r}, "a").write({name!r} + " ")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are scripts")
def test_checkouts_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    for name, auto in (("old", 40.0), ("new", 20.0)):
        program = tmp_path / name / ".venv/bin/headstart"
        program.parent.mkdir(parents=True)
        log = str(tmp_path / "log")
        program.write_text(PROGRAM.format(python=sys.executable, plain=60.0, auto=auto, log=log, name=name))
        program.chmod(0o755)
    words = [str(tmp_path / "old"), str(tmp_path / "new"), "--model", "any", "--rounds", "2"]
    monkeypatch.setattr(sys, "argv", ["", "checkouts", *words])
    assert versions.main() == 0
    found = json.loads(capsys.readouterr().out)
    assert found["plain"]["times as fast"] == pytest.approx(1.0)
    assert found["auto"] == pytest.approx(
        {"times as fast": 2.0, "from": 2.0, "to": 2.0, "worst": 2.0, "comparisons": 4}
    )
    assert (tmp_path / "log").read_text().split() == ["old", "new", "new", "old"]


def test_models_take_turns_and_are_compared_by_kind(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    asked = []

    @dataclass(frozen=True)
    class Canned:
        """A contestant that answers 11 tokens, each in the time that its name says, after a second."""

        name: str
        ms: float

        def answer(self, prompt: BenchPrompt) -> TimedAnswer:
            asked.append((prompt.id, self.name))
            slower = 2.0 if prompt.kind == "story" and self.name == versions.NEW else 1.0
            return TimedAnswer(tuple(range(11)), 1000.0, 10 * self.ms * slower, prompt_tokens=5)

    speeds = {versions.OLD: 40.0, versions.NEW: 30.0}
    monkeypatch.setattr(versions, "_modes", lambda _, name, *__: (Canned(PLAIN, 60.0), Canned(name, speeds[name])))
    monkeypatch.setattr(sys, "argv", ["", "models", "a", "b", "--classes", "code,story", "--prompts", "2"])
    assert versions.main() == 0
    found = json.loads(capsys.readouterr().out)
    compared = found["decoding"]
    assert compared["code"]["old to plain"] == pytest.approx(
        {"times as fast": 1.5, "from": 1.5, "to": 1.5, "worst": 1.5, "comparisons": 2}
    )
    assert compared["code"]["new to plain"]["times as fast"] == pytest.approx(2.0)
    assert compared["story"]["new to old"]["times as fast"] == pytest.approx(2 / 3)
    assert compared["all"]["new to plain"]["times as fast"] == pytest.approx(math.sqrt(2.0))
    assert compared["all"]["new to plain"]["worst"] == pytest.approx(1.0)
    assert found["with TTFT"]["code"]["new to plain"]["times as fast"] == pytest.approx(1600 / 1300)
    warmed_up = [("code-1", PLAIN), ("code-1", "old"), ("code-1", "new")]
    assert asked[:9] == [*warmed_up, *warmed_up, *(("story-1", name) for name in ("new", "old", PLAIN))]


def test_passage_search_finds_most_answers() -> None:
    for question in passages.questions():  # else it could not be found at all
        assert passages._has_answer(question, passages.texts()[question["text"]].text)
    found = {way: passages.measure(make) for way, make in list(passages.WAYS.items())[:3]}
    usual, *others = (figures["found"] for figures in found.values())
    assert usual[-1] >= 0.85 * 40
    assert all(usual[-1] >= other[-1] for other in others)
    assert passages.table(found).splitlines()[0] == "| | in the best | in the best 3 | in the best 5 |"
