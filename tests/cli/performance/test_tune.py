"""`headstart tune` from outside: what is loaded afterwards, the table, the sentences and the file."""

import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.toy import PROGRAM
from headstart import paths
from headstart.cli import main
from headstart.cli.performance import tune as tune_command
from headstart.cli.performance.tune import CUT_SHORT, NOTHING_GAINED, reason
from headstart.engine.bench.result import Spread
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import LoadOptions
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.loading.validation import Verdict, store_verdict
from headstart.engine.opening import LocalModels
from headstart.engine.process.client import EngineClient
from headstart.engine.supervision import Journal
from headstart.engine.tuning import search
from headstart.engine.tuning.messages import DEFAULT, Findings, Row, Stage, Tune, TuneReport, TuneRequest, TuningStep
from headstart.engine.tuning.search import CandidateTimes, Tell, decide_stage
from headstart.engine.tuning.store import Tuned
from headstart.errors import Translatable
from headstart.library import library, manifest
from headstart.library.library import fitting_drafts
from tests.stand_ins.fakes import RecordingLoad
from tests.stand_ins.model_folders import describe, write_model, write_pair

Captured = pytest.CaptureFixture[str]
ONE_THREAD = {"INFERENCE_NUM_THREADS": "1"}
KEPT = Row(DEFAULT, {"token of an answer": 70.0}, chosen=True)


def findings(*stages: Stage) -> Findings:
    """Return findings about an unnamed processor."""
    return Findings("big", "small", "A Processor", "2026.4.1-22982-abc", 61.4, stages)


WON = Stage(
    "target",
    (
        Row(DEFAULT, {"1 token": 80.0}),
        Row("1 thread", {"1 token": 60.0}, Spread(1.33, 1.2, 1.4), 9, 9, chosen=True),
        Row("on NPU", {}, failure=Translatable("NPU refuses it.")),
        Row("2 threads", {}),
    ),
)


class EngineHere:
    """An engine that tunes in this process, as the engine's process does."""

    def tune(self, request: TuneRequest, report: Callable[[TuneReport], None]) -> Findings:
        return LocalModels().tune(Tune(1, request), report, CancelEvent())

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune_command, "EngineClient", EngineHere)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[TuneRequest]:
    """The requests to a tuner with prepared findings."""
    asked: list[TuneRequest] = []

    def tune(request: TuneRequest, tell: Tell, _cancel: CancelEvent) -> tuple[Tuned, Findings]:
        asked.append(request)
        tell(TuningStep("target"))
        return Tuned("CPU", ONE_THREAD), findings(WON, Stage("drafts", (KEPT,)))

    monkeypatch.setattr(search, "tune", tune)
    return asked


def test_tune_prints_tables_and_the_result(plans: list[TuneRequest], tiny_pair: Path, capsys: Captured) -> None:
    assert main(["tune", "--model", str(tiny_pair)]) == 0
    shown = capsys.readouterr()
    rows = [" ".join(line.split()) for line in shown.out.splitlines()]
    assert "as it is 80.0 – –" in rows
    assert "1 thread 60.0 1.33x (1.20–1.40) 9 of 9 chosen" in rows
    assert "on NPU – – – NPU refuses it." in rows
    assert "2 threads – – – no time left" in rows
    assert "big: target: 1 thread" in rows[-3]
    assert "headstart tune --forget" in rows[-2]
    assert rows[-1].startswith("61 s on A Processor")
    assert shown.err == "· loading the model\n"
    assert plans == [
        TuneRequest(LoadOptions(tiny_pair / "target", tiny_pair / "draft"), {}, is_device_chosen=False, seconds=100)
    ]


@pytest.mark.usefixtures("plans")
def test_tune_tells_of_the_other_form(headstart_home: Path, capsys: Captured) -> None:
    models = headstart_home / "models"

    def said(name: str) -> str:
        assert main(["tune", "--model", name]) == 0
        return capsys.readouterr().out.splitlines()[-1]

    write_pair(models / "qwen2.5-coder")
    assert "headstart run qwen2.5-coder --weights int4" in said("qwen2.5-coder")
    fast = write_pair(models / "qwen2.5-coder-int4")
    (fast / "target" / "openvino_model.bin").write_bytes(b"other weights")
    manifest.write(fast / "target", describe(fast / "target"))
    assert "qwen2.5-coder-int4: not timed here" in said("qwen2.5-coder")
    for folder, ms in (("qwen2.5-coder", 25.0), ("qwen2.5-coder-int4", 20.0)):
        weights = manifest.read_model(models / folder / "target").files["openvino_model.bin"].sha256
        measurements = Measurements(paths.measurements_folder(), folder, {"weights": weights})
        store_verdict(measurements, {"INFERENCE_PRECISION_HINT": "f32"}, Verdict(ms={1: ms}))
    assert re.findall(r"[\d.]+ tokens/s", said("qwen2.5-coder")) == ["50.0 tokens/s", "40.0 tokens/s"]
    assert "qwen2.5-coder: 40.0 tokens/s" in said("qwen2.5-coder-int4")
    shutil.rmtree(models / "qwen2.5-coder")
    assert "headstart models add qwen2.5-coder" in said("qwen2.5-coder-int4")
    write_model(models / "own")
    assert said("own").startswith("61 s on A Processor")


def test_tune_runs_in_the_engine_process(
    tiny_pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    client = EngineClient(PROGRAM, Journal(tmp_path / "log"))
    monkeypatch.setattr(tune_command, "EngineClient", lambda: client)
    assert main(["tune", "--model", str(tiny_pair)]) == 0
    shown = capsys.readouterr()
    assert "target: 1 thread" in shown.out
    assert shown.err.startswith("· loading the model\n")
    assert "1.33x as fast" in shown.err
    assert client.pid is None, "its process has ended"


def test_tuned_options_are_used_until_forgotten(plans: list[TuneRequest], tiny_pair: Path, capsys: Captured) -> None:
    load, model = RecordingLoad(), ["--model", str(tiny_pair)]
    chat = ["chat", *model, "--prompt", "Hello", "--json"]
    assert main(["tune", *model]) == 0
    capsys.readouterr()
    assert main(chat, load) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["draft"] is None
    assert main([*chat, "--draft", str(tiny_pair / "draft")], load) == 0
    assert main(["tune", *model, "--forget"]) == 0
    assert "what was tuned is forgotten" in capsys.readouterr().out
    assert main(["tune", *model, "--forget"]) == 0
    assert "nothing was tuned" in capsys.readouterr().out
    assert main(chat, load) == 0
    assert [options.properties for options in load.options] == [ONE_THREAD, ONE_THREAD, {}]
    assert [options.draft and options.draft.name for options in load.options] == [None, "draft", "draft"]


def test_tune_shows_reasons_and_figures_on_request(
    plans: list[TuneRequest], tiny_pair: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "tuned.json"
    flags = ["--explain", "--json", str(file), "--device", "CPU", "--seconds", "30"]
    assert main(["tune", "--model", str(tiny_pair), *flags]) == 0
    told = capsys.readouterr().out
    assert "1.33x as fast" in told
    assert told.index("Drafts: as it is") < told.index("Chosen for big")
    data: dict[str, Any] = json.loads(file.read_text())
    assert data["stages"][0]["rows"][1]["ratio"] == {"median": 1.33, "low": 1.2, "high": 1.4}
    assert (plans[0].is_device_chosen, plans[0].seconds) == (True, 30)


@pytest.mark.parametrize(("others", "told"), [((), NOTHING_GAINED), ((Row("no draft model", {}),), CUT_SHORT)])
def test_tune_without_a_gain_says_so(
    monkeypatch: pytest.MonkeyPatch, tiny_pair: Path, capsys: Captured, others: tuple[Row, ...], told: str
) -> None:
    stage = Stage("drafts", (KEPT, *others))
    monkeypatch.setattr(search, "tune", lambda *_: (Tuned("CPU"), findings(stage)))
    assert main(["tune", "--model", str(tiny_pair), "--explain"]) == 0
    assert capsys.readouterr().out.splitlines()[-3:-1] == [reason(stage), told]


def test_tune_stores_nothing_of_a_broken_model(tmp_path: Path, headstart_home: Path) -> None:
    assert main(["tune", "--model", str(tmp_path / "missing")]) == 1
    assert not headstart_home.exists()


def test_other_drafts_are_small_and_share_the_vocabulary(
    tiny_pair: Path, tiny_other: Path, headstart_home: Path
) -> None:
    models = headstart_home / "models"
    models.mkdir(parents=True)
    for name, folder in {"pair": tiny_pair, "other": tiny_other}.items():
        (models / name).symlink_to(folder)
    choice = library.choose("pair")
    assert fitting_drafts(choice.target) == {}  # as large as its target
    manifest = choice.target.manifest
    big = library.Model(
        choice.target.name, choice.target.folder, dataclasses.replace(manifest, size_bytes=manifest.size_bytes * 10)
    )
    assert fitting_drafts(big) == {"pair/draft": models / "pair" / "draft"}


@pytest.mark.parametrize(
    ("trials", "told"),
    [
        (
            [CandidateTimes("x", [110.0] * 8, [100.0] * 8)],
            "Target: x, because it was 1.10x as fast as the default (1.10–1.10), ahead in 8 of 8 runs "
            "(token of an answer: 100.0 instead of 70.0 ms).",
        ),
        ([], f"Target: {DEFAULT} (token of an answer: 70.0 ms), as there is nothing else to try here."),
        (
            [CandidateTimes("x", [90.0] * 3, [100.0] * 3), CandidateTimes("y")],
            f"Target: {DEFAULT}, because the best of the others, x, was not faster: 0.90x as fast as the default "
            "(0.90–0.90), ahead in 0 of 3 runs; not all were timed, give it more --seconds.",
        ),
        ([CandidateTimes("x", [101.0] * 9, [100.0] * 9)], "gained too little to tell"),
        ([CandidateTimes("x", [150.0] * 3, [100.0] * 3)], "not faster often enough to rule out chance"),
        ([CandidateTimes("x", failure=Translatable("no kernel"))], "nothing else runs here (x: no kernel)"),
        ([CandidateTimes("x")], "give it more --seconds"),
    ],
)
def test_tuned_options_are_explained(trials: list[CandidateTimes], told: str) -> None:
    assert told in reason(decide_stage("target", trials, {"": 70.0, "x": 100.0}))
