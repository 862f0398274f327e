"""The recorded answers and measurements behind the pictures."""

import json

import pytest

from bench.window.showcase import MODELS, RECORDED, SIZE, TALKS, install
from bench.window.tape import Playing, Tape, said_in
from headstart.engine.bench.result import BenchResult
from headstart.engine.engine import ConversationRequest, Finish, LoadOptions, Message, Step
from headstart.engine.wire import from_data, to_data
from headstart.library import library
from headstart.library.library import Broken


@pytest.fixture(scope="module")
def tape() -> Tape:
    """The recording."""
    return Tape(RECORDED)


def test_every_talk_is_on_the_tape(tape: Tape) -> None:
    opened = Playing(tape, in_time=False).open(LoadOptions(RECORDED), print)
    for talk in TALKS:
        said: list[Message] = []
        for question in talk.questions:
            said.append(Message("user", question))
            events = list(opened.engine.generate(ConversationRequest(tuple(said))))
            end = events[-1]
            assert isinstance(end, Finish)
            assert end.stats.accepted > 0
            said.append(Message("assistant", "".join(event.text for event in events if isinstance(event, Step))))
        assert opened.count(ConversationRequest(tuple(said)), "") == tape.get("counts", [said_in(said), ""])


def test_lanes_of_the_race_are_equal(tape: Tape) -> None:
    answers = json.loads(RECORDED.read_text(encoding="utf-8"))["answers"].items()
    lanes = [events for key, events in answers if "class LinkedList" in key]
    plain, speculative = (events[-1]["token_ids"] for events in lanes if len(events) > 10)
    assert plain == speculative


def test_benchmark_of_the_showcase_is_valid(tape: Tape) -> None:
    result: BenchResult = from_data(BenchResult, tape.get("bench", to_data(SIZE)))
    assert result.setting.repeats == SIZE.repeats
    assert {prompt.kind for prompt in result.prompts} == {"code", "edit", "explanation", "summary", "story"}


def test_models_of_the_showcase_are_whole() -> None:
    install()
    assert MODELS.is_file()
    assert not [entry for entry in library.installed() if isinstance(entry, Broken)]
    assert len(library.installed()) == 2
