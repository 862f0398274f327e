"""`headstart bench batch`: the race with tiny models, its table, and that the choice of an engine knows of it."""

import json
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from headstart.cli import main
from headstart.engine.batch_figures import known_figures
from headstart.engine.batching import Keyed, OneByOne, Reported
from headstart.engine.bench.batch import BatchPlan, BatchResult, Openers, Pace, Watch, measure_batches
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import RaceCancelled
from headstart.engine.engine import LoadOptions
from headstart.engine.machine import Machine
from headstart.terminal import bench_batch
from tests.fakes import RecordingLoad, ScriptedEngine

Captured = pytest.CaptureFixture[str]
PROMPTS = tuple(BenchPrompt(f"code-{number}", "code", f"Write {number}.") for number in range(4))
MACHINE = Machine("A Processor", 2, "Linux x86_64", "3.11", "0.1", "2026.4.1-22982-abc", "2026.4.1.0")


def result(*, rates: dict[int, float]) -> BatchResult:
    """Our own engine at 20 tokens a second, GenAI at these."""
    paces = {size: Pace(100.0, 16, round(rate * 100)) for size, rate in rates.items()}
    return BatchResult(MACHINE, "big", "small", 16, 64, Pace(50.0, 16, 1000), paces)


def test_the_lines_say_from_where_batches_win() -> None:
    setting, verdict = bench_batch.lines(result(rates={1: 10.0, 4: 25.0, 8: 40.0}))
    assert setting == (
        "16 prompts, at most 64 tokens each, on A Processor with 2 cores; own is big with draft small, "
        "one answer after another."
    )
    assert verdict == "OpenVINO GenAI is faster from 4 at once."
    assert bench_batch.lines(result(rates={1: 10.0}))[1] == "OpenVINO GenAI is faster at no number that was measured."


def test_the_table_has_a_row_for_each() -> None:
    columns = [list(column.cells) for column in bench_batch.table(result(rates={1: 10.0, 4: 25.0})).columns]
    assert columns == [
        ["own", "genai", "genai"],
        ["1", "1", "4"],
        ["19.2", "9.6", "9.6"],
        ["20.0", "10.0", "25.0"],
        ["1.00x", "0.50x", "1.25x"],
    ]


@pytest.mark.slow
def test_tiny_models_are_raced_and_the_figures_kept(
    tiny_pair: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_batch, "_prompts", lambda count: PROMPTS[:count])
    file = tmp_path / "batch.json"
    flags = ["--prompts", "3", "--tokens", "6", "--sizes", "2,1,2", "--repeats", "2", "--json", str(file)]
    assert main(["bench", "batch", "--model", str(tiny_pair), *flags]) == 0
    data = json.loads(file.read_text(encoding="utf-8"))
    assert (data["own"]["answers"], data["own"]["tokens"]) == (6, 36)
    assert {size: pace["tokens"] for size, pace in data["genai"].items()} == {"1": 36, "2": 36}
    known = known_figures(LoadOptions(tiny_pair / "target", tiny_pair / "draft"))
    assert known is not None
    assert known.own == data["own"]["tokens_per_second"]
    assert set(known.genai) == {1, 2}
    shown = capsys.readouterr()
    stages = [line for line in shown.err.splitlines() if "tokens/s" not in line]
    assert stages[:3] == stages[:-4:-1]  # forwards, then backwards
    assert stages[2] == "· OpenVINO GenAI, 2 at once"
    assert "3 prompts, at most 6 tokens each" in shown.out


def test_a_race_that_is_cancelled_has_no_result() -> None:
    cancel = threading.Event()

    class Cancelling(OneByOne):
        """Somebody ends the race while it answers."""

        def answers(self, requests: Iterable[Keyed], cancelled: threading.Event) -> Iterator[Reported]:
            cancel.set()
            yield from super().answers(requests, cancelled)

    plan = BatchPlan(LoadOptions(Path("model")), PROMPTS, tokens=4, sizes=(2,))
    openers = Openers(ScriptedEngine, lambda _size: Cancelling(ScriptedEngine()))
    with pytest.raises(RaceCancelled):
        measure_batches(plan, openers, Watch(lambda _sentence: None, cancel), ("big", None))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--sizes", "0"], "sizes must be whole numbers from 1 to 256 with commas, not '0'."),
        (["--sizes", "1,x"], "sizes must be whole numbers from 1 to 256 with commas, not '1,x'."),
        (["--tokens", "1"], "tokens must be a whole number, 2 or more, not '1'."),
        (["--numerics", "exact"], "Batches of OpenVINO GenAI round as the fast numerics do: leave out --numerics"),
    ],
)
def test_an_error_is_a_sentence_and_nothing_is_loaded(arguments: list[str], sentence: str, capsys: Captured) -> None:
    loading = RecordingLoad()
    assert main(["bench", "batch", *arguments], loading) == 2
    assert capsys.readouterr().err.startswith(f"headstart: {sentence}")
    assert not loading.options
