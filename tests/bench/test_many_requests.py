"""The count of lost requests: none where the server sends some away for a while, one where the engine fails."""

from bench.many_requests import Size, measure
from headstart.errors import BrokenModelError
from headstart.server.worker import Limits
from tests.fakes import ScriptedEngine
from tests.server.serving import KEY, serving

WORDS = "one two three"
SIZE = Size(row=3, together=6)


def test_who_is_sent_away_comes_again_and_is_answered() -> None:
    with serving(ScriptedEngine([WORDS], pause=0.05), Limits(waiting=1)) as running:
        found = measure(running.url, KEY, SIZE)
    assert {name: found["in_a_row"][name] for name in ("requests", "answered", "lost")} == {
        "requests": 3,
        "answered": 3,
        "lost": 0,
    }
    together = found["at_once"]
    assert (together["answered"], together["lost"], together["tokens"]) == (6, 0, 18)
    assert together["sent_away_and_back"] > 0


def test_an_answer_that_fails_is_counted_as_lost() -> None:
    with serving(ScriptedEngine([WORDS, BrokenModelError("Export it again."), WORDS])) as running:
        found = measure(running.url, KEY, SIZE)
    assert (found["in_a_row"]["answered"], found["in_a_row"]["lost"]) == (2, 1)
    assert "500" in found["in_a_row"]["faults"][0]
    assert found["at_once"]["lost"] == 0
