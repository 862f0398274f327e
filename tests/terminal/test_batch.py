"""`headstart chat --batch` from outside: answers, resuming, Ctrl+C, kills and full disks; engines are scripted."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart import library
from headstart.cli import main
from headstart.engine import generation_config
from headstart.engine.engine import Event, LoadOptions, Request, Step
from headstart.engine.toy import ToyEngine
from headstart.errors import EngineLostError
from tests.fakes import RecordingLoad, ScriptedEngine
from tests.terminal.batches import GenaiFake, Place, contents, three

ROOT = Path(__file__).resolve().parents[2]
Captured = pytest.CaptureFixture[str]


@pytest.mark.usefixtures("genai")
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
    assert "2 prompts for Headstart's own engine, one after another: which engine is faster was not" in shown.err
    assert f"2 answers written to {place.output} at " in shown.err
    assert place.load.engine.closed


@pytest.mark.usefixtures("genai")
def test_the_values_that_were_used_and_a_repetition_are_written_down(place: Place) -> None:
    place.ask(
        {"id": 1, "prompt": "toy: repeat 50", "top_p": 0.5},
        {"id": 2, "prompt": "toy: repeat 50", "temperature": 0, "stop_on_repetition": False},
    )
    own = {"do_sample": True, "temperature": 0.6, "top_k": 20}
    model = library.choose("smol").target.folder
    (model / generation_config.FILE_NAME).write_text(json.dumps(own), encoding="utf-8")
    assert main(["chat", "--batch", str(place.prompts)], lambda _: ToyEngine()) == 0
    first, second = place.answers()
    names = ("temperature", "top_p", "top_k", "repetition_penalty", "stop_on_repetition")
    assert [first["settings"][name] for name in names] == [0.6, 0.5, 20, 1.0, True]
    assert (first["finish_reason"], first["stats"]["repeats"]) == ("repetition", 4)
    assert [second["settings"][name] for name in names] == [0.0, 1.0, 0, 1.0, False]
    assert (second["finish_reason"], second["stats"]["repeats"]) == ("stop", 50)


@pytest.mark.usefixtures("genai")
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


@pytest.mark.usefixtures("genai")
def test_a_second_run_answers_only_what_lacks(place: Place, capsys: Captured) -> None:
    place.ask(*three())
    assert place.run() == 0
    whole = place.output.read_bytes()
    place.ask("{", *three(), {"id": 4, "prompt": "Question 4"})
    with place.output.open("ab") as file:
        file.write(whole[:40])  # as a kill would leave it
    place.load = RecordingLoad()
    assert place.run() == 1
    assert contents(place.load.engine.requests) == ["Question 4"]
    assert place.output.read_bytes().startswith(whole)
    shown = capsys.readouterr().err
    assert "3 prompts answered before and skipped." in shown
    assert "The last answer of the earlier run was torn, and will be made anew." in shown

    place.ask({"id": 0, "prompt": "Question 0"}, *three(), {"id": 4, "prompt": "Question 4"})
    place.load = RecordingLoad()
    assert place.run() == 0
    assert contents(place.load.engine.requests) == ["Question 0"]
    assert sorted(line["id"] for line in place.answers()) == [0, 1, 2, 3, 4]


@pytest.mark.usefixtures("genai")
def test_with_nothing_left_no_model_is_loaded(place: Place) -> None:
    place.ask(*three())
    place.run()
    before, place.load = place.output.read_bytes(), RecordingLoad()
    assert place.run() == 0
    assert not place.load.options
    assert place.output.read_bytes() == before


@pytest.mark.usefixtures("genai")
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


@pytest.mark.usefixtures("genai")
@pytest.mark.parametrize(("presses", "kept"), [(1, [1, 2]), (2, [1])])
def test_ctrl_c_ends_after_the_present_answer_and_twice_at_once(
    place: Place, capsys: Captured, presses: int, kept: list[int]
) -> None:
    engine = PressingEngine()
    engine.presses = presses
    place.load = RecordingLoad(engine)
    before = signal.getsignal(signal.SIGINT)
    place.ask(*three())
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


@pytest.mark.usefixtures("genai")
def test_ctrl_c_while_loading_says_how_to_go_on(place: Place, capsys: Captured) -> None:
    def interrupted(_options: LoadOptions) -> ScriptedEngine:
        raise KeyboardInterrupt

    place.ask(*three())
    assert main(["chat", "--batch", str(place.prompts)], interrupted) == 130
    assert "Stopped with 3 prompts to go. Run the same command again" in capsys.readouterr().err


CHILD = """
import sys
from headstart.cli import main
from tests.fakes import RecordingLoad, ScriptedEngine
sys.exit(main(sys.argv[1:], RecordingLoad(ScriptedEngine(("word " * 40,), pause=0.005))))
"""


@pytest.mark.usefixtures("genai")
def test_a_killed_run_goes_on_where_it_was(place: Place) -> None:
    place.ask(*({"id": number, "prompt": f"Question {number}"} for number in range(12)))
    command = [sys.executable, "-c", CHILD, "chat", "--batch", str(place.prompts), "--batch-engine", "own"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        deadline = time.monotonic() + 60
        while not place.output.exists() or place.output.read_bytes().count(b"\n") < 3:
            assert child.poll() is None, "it ended by itself"
            assert time.monotonic() < deadline, "no answers came"
            time.sleep(0.01)
        child.kill()
    kept = place.output.read_bytes().count(b"\n")
    assert 3 <= kept < 12
    assert place.run("--batch-engine", "own") == 0
    assert len(place.load.engine.requests) == 12 - kept
    assert [line["id"] for line in place.answers()] == list(range(12))


@pytest.mark.usefixtures("genai")
def test_a_full_disk_keeps_what_was_answered(place: Place, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def second_time_full(_descriptor: int) -> None:
        written.append(1)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", second_time_full)
    place.ask(*three())
    assert place.run() == 1
    assert f"headstart: {place.output} cannot be written (No space left on device)" in capsys.readouterr().err
    assert [line["id"] for line in place.answers()] == [1]
    assert place.load.engine.closed
    assert place.run() == 0
    assert [line["id"] for line in place.answers()] == [1, 2, 3]


def test_an_engine_that_is_lost_keeps_what_was_answered(place: Place, genai: GenaiFake, capsys: Captured) -> None:
    place.load.engine.scripts = ("One.", EngineLostError("It is gone."))
    place.ask(*three())
    assert place.run() == 1
    assert [line["id"] for line in place.answers()] == [1]
    assert capsys.readouterr().err.endswith("headstart: It is gone.\n")
    assert not genai.opened


@pytest.mark.usefixtures("genai")
def test_a_pipe_shows_no_bar(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    place.ask(*three())
    assert place.run() == 0
    assert "\x1b" not in shown.getvalue()
    assert all(line.startswith("· ") for line in shown.getvalue().splitlines())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--batch", "missing.jsonl"], "missing.jsonl cannot be read (No such file or directory); name a file with"),
        (
            ["--batch", "p.jsonl", "--prompt", "Hi"],
            "--batch takes prompts from a file and writes JSON to another: leave",
        ),
        (["--batch", "p.jsonl", "--json"], "--batch takes prompts from a file"),
        (["--batch", "p.jsonl", "--output", "p.jsonl"], "--output must be another file than --batch."),
        (["--batch", "p.jsonl", "--output", "gone/a.jsonl"], "gone/a.jsonl cannot be written: name a file in a folder"),
        (["--batch", "empty.jsonl"], "empty.jsonl has no prompts; give it one JSON object in each line."),
        (["--batch", "p.jsonl", "--batch-engine", "vllm"], "batch-engine must be auto, own or genai, not 'vllm'."),
        (["--batch", "p.jsonl", "--batch-size", "0"], "batch-size must be a whole number, 1 or more, not '0'."),
        (["--batch", "p.jsonl", "--batch-engine", "own", "--batch-size", "4"], "Headstart's own engine answers one"),
        (["--batch", "p.jsonl", "--output", "diary.txt"], "diary.txt holds something else than answers (line 1)"),
        (["--output", "a.jsonl"], "--output needs --batch FILE."),
        (["--batch-size", "4"], "--batch-size needs --batch FILE."),
    ],
)
def test_an_error_is_a_sentence_and_nothing_is_loaded(
    arguments: list[str], sentence: str, place: Place, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.folder)
    Path("p.jsonl").write_text('{"id": 1, "prompt": "Hi"}\n', encoding="utf-8")
    Path("empty.jsonl").write_text("\n", encoding="utf-8")
    Path("diary.txt").write_text("Dear diary\n", encoding="utf-8")
    assert main(["chat", *arguments], place.load) == 2
    assert capsys.readouterr().err.startswith(f"headstart: {sentence}")
    assert not place.load.options
    assert Path("diary.txt").read_text(encoding="utf-8") == "Dear diary\n"
