"""What the trial of ways to sample counts, on answers that a test wrote down."""

import json
import sys
from pathlib import Path

import pytest

from bench import open_questions
from bench.open_questions import Answer, table
from bench.toy import ToyEngine
from headstart.engine.engine import FinishReason
from tests.model_folders import write_model


def answer(text: str, reason: FinishReason = FinishReason.STOP) -> Answer:
    """One to some question."""
    return Answer("some", "kind", "What?", text, len(text.split()), reason)


@pytest.mark.parametrize("text", ["", " \n", "a\ufffdb\ufffdc\ufffd", "\x00\x01\x02\x03"])
def test_what_nobody_can_read_is_broken(text: str) -> None:
    assert answer(text).is_broken


@pytest.mark.parametrize("text", ["Yes.", "你好！🙂🙂🙂", "def f():\n\treturn 1\n", "long text " * 100 + "\ufffd"])
def test_other_texts_are_not(text: str) -> None:
    assert not answer(text).is_broken


def test_freshness_is_the_share_of_runs_of_words_that_are_new() -> None:
    assert answer("one two three four five six").freshness == 1.0
    assert answer("so it goes on " * 5).freshness == pytest.approx(4 / 17)
    assert answer("short").freshness == 1.0


def test_a_way_is_a_row() -> None:
    given = [answer("a b c d"), answer("a " * 9, FinishReason.REPETITION), answer("", FinishReason.LENGTH)]
    assert table(given, 300).splitlines()[-1] == "| some | 1 | 1 | 1 | 1 | 72% |"


def test_every_question_is_asked_in_every_way(
    headstart_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(headstart_home / "models" / "smol")
    output = tmp_path / "answers.json"
    monkeypatch.setattr(open_questions, "load_apart", lambda _: ToyEngine())
    ways = ["greedy", "0.7, top-p 0.9"]
    monkeypatch.setattr(sys, "argv", ["open", "--model", "smol", "--sampling", *ways, "--output", str(output)])
    open_questions.main()
    told = json.loads(output.read_text(encoding="utf-8"))
    assert [each["way"] for each in told] == [way for way in ways for _ in range(30)]
    assert all(each["text"].startswith("You wrote: ") for each in told)
    assert "| greedy | 30 | 0 | 0 | 0 |" in capsys.readouterr().out
