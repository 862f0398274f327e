"""What is kept of a benchmark, and what is drawn of it."""

import csv
import dataclasses
import io
import json
from pathlib import Path

import pytest

from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Heat, Run
from headstart.engine.bench.result import (
    BenchResult,
    Memory,
    Setting,
    Versus,
    as_json,
    prompt_results,
    standings,
    versus_best_peer,
)
from headstart.engine.devices import Machine
from headstart.ui.performance import benchmark_chart, benchmark_page
from headstart.ui.performance.benchmark_chart import ALL, Bar

MACHINE = Machine("A processor", 2, "Linux x86_64", "3.13", "1.0", "2026.4.1-abc", "2026.4.1")
CODE, MORE_CODE, STORY = (BenchPrompt(id_, id_[:-2], "?") for id_ in ("code-1", "code-2", "story-1"))
TIMES = {  # milliseconds per token by prompt and contestant, two repeats
    CODE: {"plain": (80.0, 80.0), "auto": (40.0, 20.0), "genai 3": (80.0, 40.0)},
    MORE_CODE: {"plain": (80.0, 80.0), "auto": (80.0, 80.0), "genai 3": (80.0, 80.0)},
    STORY: {"plain": (40.0, 60.0), "auto": (80.0, 120.0), "genai 3": (80.0, 60.0)},
}


def result() -> BenchResult:
    """A result with two prompts of one class and one of another."""
    heats = [
        Heat(prompt, name, repeat, Run((1, 2, 3, 4, 5 if name == "plain" else 6), 100.0, 4 * ms, 7))
        for prompt, scores in TIMES.items()
        for name, times in scores.items()
        for repeat, ms in enumerate(times)
    ]
    prompts = prompt_results(heats)
    return BenchResult(
        machine=MACHINE,
        setting=Setting("big", "small", {}, {}, 160, 2),
        prompts=prompts,
        standings=standings(prompts, ["plain", "auto", "genai 3"]),
        auto_vs_best_static_peer=versus_best_peer(prompts, ["genai 3"]),
        memory=Memory(0, 0, None),
    )


def record() -> benchmark_page.BenchmarkRecord:
    """As it comes over the wire."""
    return benchmark_page.record("2026-01-02T03:04:05Z", json.loads(json.dumps(as_json(result()))))


def test_the_result_survives_the_wire_as_values() -> None:
    assert record().result == result()
    assert isinstance(record().result.auto_vs_best_static_peer, Versus)


def test_a_group_for_all_prompts_and_one_for_each_class() -> None:
    groups = benchmark_chart.groups(result())
    assert [group.kind for group in groups] == [ALL, "code", "story"]
    assert [bar.contestant for bar in groups[0].bars] == ["auto", "genai 3"]
    code = groups[1].bars[0]
    assert code.mean == pytest.approx(3.0**0.5)
    assert (code.low, code.high) == (1.0, 4.0)
    assert groups[2].bars[0] == Bar("auto", 0.5, 0.5, 0.5)
    assert (groups[0].bars[0].low, groups[0].bars[0].high) == (0.5, 4.0)
    assert groups[2].plain_ms == 50.0


def test_an_answer_too_short_for_a_speed_has_no_bar() -> None:
    whole = result()
    scores = {name: dataclasses.replace(score, speedup=None) for name, score in whole.prompts[2].scores.items()}
    prompts = (*whole.prompts[:2], dataclasses.replace(whole.prompts[2], scores=scores))
    cut = dataclasses.replace(whole, prompts=prompts, standings=standings(prompts, ["plain", "auto"]))
    assert benchmark_chart.groups(cut)[2].bars == (Bar("auto", None, None, None),)


def test_texts_that_differ_are_counted() -> None:
    assert benchmark_chart.differing(result()) == {"auto": 3, "genai 3": 3}


def test_the_rest_takes_as_long_as_what_was_done() -> None:
    assert benchmark_chart.remaining(30.0, 3, 12) == 90.0
    assert benchmark_chart.remaining(30.0, 0, 12) is None
    assert benchmark_chart.remaining(30.0, 12, 12) == 0.0


def test_the_table_has_a_row_for_each_answer() -> None:
    rows = list(csv.DictReader(io.StringIO(benchmark_page.as_csv(record()))))
    assert len(rows) == 18
    first = next(row for row in rows if row["contestant"] == "auto")
    assert (first["class"], first["prompt"], first["repeat"], first["ms_per_token"]) == ("code", "code-1", "1", "40.0")
    assert (first["speedup_median"], first["speedup_low"], first["speedup_high"]) == ("3.0", "2.0", "4.0")
    assert first["same_text_as_plain"] == "False"


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "last.json"
    assert benchmark_page.read(path) is None
    benchmark_page.keep(path, record())
    assert benchmark_page.read(path) == record()


@pytest.mark.parametrize("content", ["", "[]", '{"when": "now"}', '{"when": "now", "result": {"prompts": 3}}'])
def test_what_is_damaged_counts_as_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "last.json"
    path.write_text(content, encoding="utf-8")
    assert benchmark_page.read(path) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    benchmark_page.keep(tmp_path / "file" / "last.json", record())
    assert benchmark_page.read(tmp_path / "file" / "last.json") is None
