"""`headstart chat --batch` from outside: which engine answers what, and that a person is told why."""

from pathlib import Path

import pytest

from headstart.cli import main
from headstart.engine.batch_choice import BatchFigures
from headstart.errors import DeviceError
from tests.terminal.batches import GenaiFake, Place, contents, three

Captured = pytest.CaptureFixture[str]


def test_real_models_answer_through_both_engines(tiny_pair: Path, place: Place, capsys: Captured) -> None:
    place.ask(*three(), {"id": 4, "prompt": "Question 1", "min_p": 0.1}, {"id": 5, "prompt": "word " * 2000})
    flags = ["--model", str(tiny_pair), "--greedy", "--batch-engine", "genai", "--batch-size", "2"]
    assert main(["chat", "--batch", str(place.prompts), *flags, "--max-new-tokens", "6"]) == 1
    by_id = {line["id"]: line for line in place.answers()}
    assert {number: len(by_id[number]["token_ids"]) for number in (1, 2, 3, 4)} == {1: 6, 2: 6, 3: 6, 4: 6}
    assert by_id[1]["text"] == by_id[4]["text"]  # greedily min-p changes nothing
    assert [by_id[number]["settings"]["engine"] for number in (1, 4)] == ["genai", "own"]
    assert by_id[1]["stats"]["ttft_ms"] > 0
    assert "context holds" in by_id[5]["error"]
    assert "3 prompts for OpenVINO GenAI" not in capsys.readouterr().err  # it gets the one that is too long, too


def test_genai_answers_where_it_was_measured_to_be_faster(place: Place, genai: GenaiFake, capsys: Captured) -> None:
    genai.figures = BatchFigures(10.0, {1: 5.0, 2: 20.0, 4: 30.0})
    place.ask(*three())
    assert place.run() == 0
    assert [size for size, _ in genai.opened] == [2]
    assert not place.load.options
    assert [line["id"] for line in place.answers()] == [3, 2, 1]
    settings = place.answers()[0]["settings"]
    assert (settings["engine"], settings["batch_size"], settings["speculation"]) == ("genai", 2, "off")
    assert "3 prompts for OpenVINO GenAI, 2 at once: measured here, OpenVINO GenAI is 2.0x" in capsys.readouterr().err


def test_what_genai_does_otherwise_goes_to_our_own_engine(place: Place, genai: GenaiFake, capsys: Captured) -> None:
    place.ask(
        *three(), {"id": 4, "prompt": "Four", "temperature": 1, "seed": 2}, {"id": 5, "prompt": "5", "min_p": 0.1}
    )
    assert place.run("--batch-engine", "genai", "--batch-size", "2") == 0
    assert contents(genai.engine.requests) == ["Question 1", "Question 2", "Question 3"]
    assert contents(place.load.engine.requests) == ["Four", "5"]
    shown = capsys.readouterr().err
    assert "3 prompts for OpenVINO GenAI, 2 at once: as asked." in shown
    assert (
        "2 prompts for Headstart's own engine, one after another: batches of OpenVINO GenAI do not do this as we do: "
        "a seed (1), min-p (1)."
    ) in shown


def test_our_own_engine_is_loaded_once_where_it_answers_all(place: Place, genai: GenaiFake) -> None:
    genai.figures = BatchFigures(10.0, {1: 5.0, 2: 6.0})
    place.ask(*three(), {"id": 4, "prompt": "Four", "min_p": 0.1})
    assert place.run() == 0
    assert len(place.load.options) == 1
    assert len(place.load.engine.requests) == 4
    assert not genai.opened


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--numerics", "exact"], "exact numerics (3)"),
        (["--device", "npu"], "the NPU (3)"),
        (["--trace", "rounds.jsonl"], "a trace (3)"),
        (["--num-assistant-tokens", "3"], "speculation of their own (3)"),
    ],
)
def test_some_wishes_are_for_our_own_engine(
    place: Place, genai: GenaiFake, capsys: Captured, flags: list[str], words: str
) -> None:
    place.ask(*three())
    assert place.run("--batch-engine", "genai", *flags) == 0
    assert not genai.opened
    assert words in capsys.readouterr().err


def test_memory_for_fewer_is_told(place: Place, genai: GenaiFake, capsys: Captured) -> None:
    genai.size = 1
    place.ask(*three())
    assert place.run("--batch-engine", "genai", "--batch-size", "3") == 0
    assert "The memory holds 1 at once." in capsys.readouterr().err


def test_where_genai_cannot_run_auto_goes_on_and_a_wish_is_refused(
    place: Place, genai: GenaiFake, capsys: Captured
) -> None:
    genai.figures = BatchFigures(10.0, {1: 50.0})
    genai.error = DeviceError("OpenVINO GenAI cannot answer in batches on CPU (reason); use --batch-engine own.")
    place.ask(*three())
    assert place.run("--batch-engine", "genai") == 1
    assert not place.load.options
    assert place.run() == 0
    assert len(place.load.engine.requests) == 3
    assert "Headstart's own engine goes on." in capsys.readouterr().err
