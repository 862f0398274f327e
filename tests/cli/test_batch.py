"""`headstart chat --batch` from outside: answers, who writes them, resuming, Ctrl+C, kills and full disks."""

import errno
import json
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench.toy import ToyEngine
from headstart import library
from headstart.cli import main
from headstart.engine import generation_config
from headstart.engine.backends.genai import batching
from headstart.engine.engine import Event, LoadOptions, Request, Step
from headstart.engine.generation_config import USUAL
from headstart.errors import DeviceError, EngineLostError, SettingsError
from tests.fakes import RecordingLoad, ScriptedEngine
from tests.model_folders import write_model, write_pair

ROOT = Path(__file__).resolve().parents[2]
Captured = pytest.CaptureFixture[str]


@dataclass
class Place:
    """A folder with prompts."""

    folder: Path
    load: RecordingLoad = field(default_factory=RecordingLoad)

    @property
    def prompts(self) -> Path:
        return self.folder / "prompts.jsonl"

    @property
    def output(self) -> Path:
        return self.folder / "prompts.answers.jsonl"

    def ask(self, *lines: dict[str, Any] | str) -> None:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        self.prompts.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

    def run(self, *more: str, engine: str = "own") -> int:
        flags = ["--batch", str(self.prompts), "--model", "smol", "--batch-engine", engine, *more]
        return main(["chat", *flags], self.load)

    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def place(tmp_path: Path, headstart_home: Path) -> Place:
    """A model that is sampled as OpenVINO GenAI does it, too."""
    model = write_model(headstart_home / "models" / "smol")
    (model / generation_config.FILE_NAME).write_text('{"do_sample": true, "temperature": 0.7}', encoding="utf-8")
    return Place(tmp_path)


@dataclass
class Genai:
    """Stands where OpenVINO GenAI is opened; gives the last answer first, as several at once end in any order."""

    error: Exception | None = None
    size: int | None = None
    opened: list[int] = field(default_factory=list)
    engine: ScriptedEngine = field(default_factory=ScriptedEngine)

    def open(self, _options: LoadOptions, size: int, _longest: int) -> "Genai":
        self.opened.append(size)
        if self.error:
            raise self.error
        self.size = self.size or size
        return self

    def answers(self, requests: Iterator[tuple[int, Request]], cancel: threading.Event) -> Iterator[tuple[int, Event]]:
        answered = [(key, list(self.engine.generate(request, cancel))) for key, request in requests]
        yield from ((key, event) for key, events in reversed(answered) for event in events)

    def close(self) -> None:
        self.engine.close()


@pytest.fixture
def genai(monkeypatch: pytest.MonkeyPatch) -> Genai:
    fake = Genai()
    monkeypatch.setattr(batching, "ContinuousBatching", fake.open)
    return fake


def questions(number: int) -> Sequence[dict[str, Any]]:
    return [{"id": each, "prompt": f"Question {each}"} for each in range(1, number + 1)]


def contents(requests: Sequence[Request]) -> list[str]:
    return [request.messages[-1].content for request in requests]


def test_every_prompt_gets_a_line(place: Place, capsys: Captured) -> None:
    place.ask({"id": "a", "prompt": "Hi", "max_new_tokens": 2}, {"id": 7, "prompt": "Ho", "system": "Be brief."})
    assert place.run("--temperature", "0.5") == 0
    first, second = place.answers()
    assert list(first) == ["id", "text", "finish_reason", "token_ids", "stats", "settings"]
    assert (first["id"], first["text"], first["finish_reason"]) == ("a", "The quick", "length")
    assert (second["id"], second["text"]) == (7, "The quick brown fox jumps over the lazy dog.")
    expected = {"model": "smol", "draft": None, "engine": "own", "system": "Be brief.", "temperature": 0.5, "seed": 0}
    assert expected.items() <= second["settings"].items()
    assert second["stats"]["output_tokens"] == 9
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2 prompts for Headstart's own engine, one after another: as asked." in shown.err
    assert f"2 answers written to {place.output}." in shown.err
    assert place.load.engine.closed


def test_the_values_that_were_used_and_a_repetition_are_written_down(place: Place) -> None:
    place.ask(
        {"id": 1, "prompt": "toy: repeat 50", "top_p": 0.5},
        {"id": 2, "prompt": "toy: repeat 50", "temperature": 0, "stop_on_repetition": False},
    )
    own = {"do_sample": True, "temperature": 0.6, "top_k": 20}
    model = library.choose("smol").target.folder
    (model / generation_config.FILE_NAME).write_text(json.dumps(own), encoding="utf-8")
    assert main(["chat", "--batch", str(place.prompts), "--batch-engine", "own"], lambda _: ToyEngine()) == 0
    first, second = place.answers()
    names = ("temperature", "top_p", "top_k", "repetition_penalty", "stop_on_repetition")
    assert [first["settings"][name] for name in names] == [0.6, 0.5, 20, 1.0, True]
    assert (first["finish_reason"], first["stats"]["repeats"]) == ("repetition", 4)
    assert [second["settings"][name] for name in names] == [0.0, 1.0, 0, 1.0, False]
    assert (second["finish_reason"], second["stats"]["repeats"]) == ("stop", 50)


def test_bad_lines_are_reported_and_stop_nothing(place: Place, capsys: Captured) -> None:
    place.load.engine.context = 5
    place.ask(
        "{", {"id": 1, "prompt": "one two three four five six"}, {"id": 2, "prompt": "Hi"}, {"id": 2, "prompt": "?"}
    )
    assert place.run() == 1
    found = {line.get("line"): line for line in place.answers()}
    assert found[1]["id"] is None
    assert found[1]["error"].startswith("it is not JSON")
    assert found[2] == {"id": 1, "line": 2, "error": "The prompt has 6 tokens and the context only 5."}
    assert found[4]["error"] == "the id 2 is that of line 3; give each line its own."
    assert found[None]["id"] == 2
    shown = capsys.readouterr().err
    assert "· line 2: The prompt has 6 tokens and the context only 5.\n" in shown
    assert "3 lines could not be answered" in shown


def test_a_second_run_answers_only_what_lacks(place: Place, capsys: Captured) -> None:
    place.ask(*questions(3))
    assert place.run() == 0
    whole = place.output.read_bytes()
    place.ask("{", *questions(3), {"id": 4, "prompt": "Question 4"})
    with place.output.open("ab") as file:
        file.write(whole[:40])  # as a kill would leave it
    place.load = RecordingLoad()
    assert place.run() == 1
    assert contents(place.load.engine.requests) == ["Question 4"]
    assert place.output.read_bytes().startswith(whole)
    shown = capsys.readouterr().err
    assert "3 prompts answered before and skipped." in shown

    place.ask({"id": 0, "prompt": "Question 0"}, *questions(3), {"id": 4, "prompt": "Question 4"})
    place.load = RecordingLoad()
    assert place.run() == 0
    assert contents(place.load.engine.requests) == ["Question 0"]
    assert sorted(line["id"] for line in place.answers()) == [0, 1, 2, 3, 4]

    before, place.load = place.output.read_bytes(), RecordingLoad()
    assert place.run() == 0
    assert not place.load.options, "with nothing left no model is loaded"
    assert place.output.read_bytes() == before


def test_prompts_that_begin_alike_are_answered_one_after_another(place: Place) -> None:
    shared = "Be brief. " * 30
    place.ask(
        {"id": 1, "prompt": "A", "system": shared},
        {"id": 2, "prompt": "Else"},
        {"id": 3, "prompt": "B", "system": shared},
    )
    place.run()
    assert contents(place.load.engine.requests) == ["A", "B", "Else"]


class PressingEngine(ScriptedEngine):
    """Its user presses Ctrl+C at some rounds of the second answer."""

    presses = 1

    def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        left = self.presses
        for event in super().generate(request, cancel):
            yield event
            if isinstance(event, Step) and len(self.requests) == 2 and left:
                left -= 1
                pressed = signal.getsignal(signal.SIGINT)
                assert callable(pressed)
                pressed(signal.SIGINT, None)


@pytest.mark.parametrize(("presses", "kept"), [(1, [1, 2]), (2, [1])])
def test_ctrl_c_ends_after_the_present_answer_and_twice_at_once(
    place: Place, capsys: Captured, presses: int, kept: list[int]
) -> None:
    engine = PressingEngine()
    engine.presses = presses
    place.load = RecordingLoad(engine)
    before = signal.getsignal(signal.SIGINT)
    place.ask(*questions(3))
    assert place.run() == 130
    assert signal.getsignal(signal.SIGINT) is before
    assert [line["id"] for line in place.answers()] == kept
    assert all(line["finish_reason"] == "stop" for line in place.answers())
    shown = capsys.readouterr().err
    assert shown.count("Stopping after the present answer; Ctrl+C again stops at once.") == 1
    assert "to go. Run the same command again to go on; what is answered will be skipped." in shown
    assert engine.closed
    place.load = RecordingLoad()
    assert place.run() == 0
    assert [line["id"] for line in place.answers()] == [1, 2, 3]


def test_ctrl_c_while_loading_says_how_to_go_on(place: Place, capsys: Captured) -> None:
    def interrupted(_options: LoadOptions) -> ScriptedEngine:
        raise KeyboardInterrupt

    place.ask(*questions(3))
    assert main(["chat", "--batch", str(place.prompts), "--batch-engine", "own"], interrupted) == 130
    assert "Stopped with 3 prompts to go. Run the same command again" in capsys.readouterr().err


def test_a_full_disk_keeps_what_was_answered(place: Place, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def second_time_full(_descriptor: int) -> None:
        written.append(1)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", second_time_full)
    place.ask(*questions(3))
    assert place.run() == 1
    assert f"headstart: {place.output} cannot be written (No space left on device)" in capsys.readouterr().err
    assert [line["id"] for line in place.answers()] == [1]
    assert place.load.engine.closed
    assert place.run() == 0
    assert [line["id"] for line in place.answers()] == [1, 2, 3]


def test_an_engine_that_is_lost_keeps_what_was_answered(place: Place, capsys: Captured) -> None:
    place.load.engine.scripts = ("One.", EngineLostError("It is gone."))
    place.ask(*questions(3))
    assert place.run() == 1
    assert [line["id"] for line in place.answers()] == [1]
    assert capsys.readouterr().err.endswith("headstart: It is gone.\n")


def test_a_setting_that_the_engine_refuses_is_an_error_of_its_line(place: Place) -> None:
    place.load.engine.scripts = ("One.", SettingsError("It has no table of likely next tokens."), "Three.")
    place.ask(*questions(3))
    assert place.run() == 1
    found = {line["id"]: line for line in place.answers()}
    assert found[2]["error"] == "It has no table of likely next tokens."
    assert (found[1]["text"], found[3]["text"]) == ("One.", "Three.")


def test_without_a_draft_model_two_prompts_are_enough_for_openvino_genai(
    place: Place, genai: Genai, capsys: Captured
) -> None:
    genai.size = 1
    place.ask(*questions(3))
    assert place.run(engine="auto") == 0
    assert genai.opened == [3]
    assert genai.engine.closed
    assert not place.load.options
    assert [line["id"] for line in place.answers()] == [3, 2, 1]
    settings = place.answers()[0]["settings"]
    assert genai.engine.requests[0].sampling.temperature == settings["temperature"] == USUAL.temperature
    assert (settings["engine"], settings["batch_size"], settings["speculation"]) == ("genai", 3, "off")
    shown = capsys.readouterr().err
    assert "3 prompts for OpenVINO GenAI, 3 at once: usually faster for 2 or more at once." in shown
    assert "The memory holds 1 at once." in shown


@pytest.mark.parametrize(
    ("prompts", "flags", "at_once"),
    [(7, [], None), (8, [], 8), (20, [], 8), (20, ["--batch-size", "16"], 16), (20, ["--batch-size", "4"], None)],
)
def test_with_a_draft_model_openvino_genai_answers_where_many_are_answered_at_once(
    place: Place, genai: Genai, headstart_home: Path, prompts: int, flags: list[str], at_once: int | None
) -> None:
    write_pair(headstart_home / "models" / "couple")
    place.ask(*questions(prompts))
    assert place.run("--model", "couple", "--greedy", *flags, engine="auto") == 0
    assert genai.opened == ([at_once] if at_once else [])
    assert len(place.load.options) == (0 if at_once else 1)
    assert len(place.answers()) == prompts


def test_what_openvino_genai_does_otherwise_goes_to_our_own_engine(
    place: Place, genai: Genai, capsys: Captured
) -> None:
    place.ask(
        *questions(3), {"id": 4, "prompt": "Four", "temperature": 1, "seed": 2}, {"id": 5, "prompt": "5", "min_p": 0.1}
    )
    assert place.run("--batch-size", "2", engine="genai") == 0
    assert contents(genai.engine.requests) == ["Question 1", "Question 2", "Question 3"]
    assert contents(place.load.engine.requests) == ["Four", "5"]
    shown = capsys.readouterr().err
    assert "3 prompts for OpenVINO GenAI, 2 at once: as asked." in shown
    assert (
        "2 prompts for Headstart's own engine, one after another: batches of OpenVINO GenAI do not do this as we do: "
        "a seed (1), min-p (1)."
    ) in shown


def test_our_own_engine_is_loaded_once_where_it_answers_all(place: Place, genai: Genai) -> None:
    place.ask({"id": 1, "prompt": "One"}, {"id": 2, "prompt": "Two", "min_p": 0.1})
    assert place.run(engine="auto") == 0
    assert len(place.load.options) == 1
    assert len(place.load.engine.requests) == 2
    assert not genai.opened


def test_where_openvino_genai_cannot_run_auto_goes_on_and_a_wish_is_refused(
    place: Place, genai: Genai, capsys: Captured
) -> None:
    genai.error = DeviceError("OpenVINO GenAI cannot answer in batches on CPU (reason); use --batch-engine own.")
    place.ask(*questions(3))
    assert place.run(engine="genai") == 1
    assert not place.load.options
    assert place.run(engine="auto") == 0
    assert len(place.load.engine.requests) == 3
    assert "one after another: OpenVINO GenAI cannot run here." in capsys.readouterr().err


def test_real_models_answer_through_both_engines(tiny_pair: Path, place: Place) -> None:
    place.ask(*questions(3), {"id": 4, "prompt": "Question 1", "min_p": 0.1}, {"id": 5, "prompt": "word " * 2000})
    flags = ["--batch-engine", "genai", "--batch-size", "2", "--max-new-tokens", "6", "--greedy"]
    assert main(["chat", "--batch", str(place.prompts), "--model", str(tiny_pair), *flags]) == 1
    by_id = {line["id"]: line for line in place.answers()}
    assert {number: len(by_id[number]["token_ids"]) for number in (1, 2, 3, 4)} == {1: 6, 2: 6, 3: 6, 4: 6}
    assert by_id[1]["text"] == by_id[4]["text"]  # greedily min-p changes nothing
    assert [by_id[number]["settings"]["engine"] for number in (1, 4)] == ["genai", "own"]
    assert by_id[1]["stats"]["ttft_ms"] > 0
    assert "context holds" in by_id[5]["error"]
