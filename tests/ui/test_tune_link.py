"""The window's end of a tuning: what is told of it, and how it ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from bench.toy import PROGRAM
from headstart.engine.engine import LoadOptions
from headstart.engine.tuning.messages import TuneDecided, TunedKnown, TuneEnded, TuneReport, TuneTrying, TuneWish
from headstart.ui.engine_link import EngineLink

TOY = LoadOptions(Path("toy"))
WAIT = 60_000  # ms, for a loaded machine


@pytest.fixture
def slow_link(qtbot: QtBot) -> Iterator[EngineLink]:
    """A link to a toy that takes its time."""
    link = EngineLink((*PROGRAM, "--pace", "0.5"))
    yield link
    link.close()


def told(link: EngineLink) -> list[TuneReport]:
    """What a tuning will say."""
    said: list[TuneReport] = []
    link.tuned.connect(said.append)
    return said


def test_it_tells_its_stages_then_what_it_found_and_remembers_that(qtbot: QtBot, link: EngineLink) -> None:
    said = told(link)
    ticket = link.tune(TuneWish(TOY))
    qtbot.waitUntil(lambda: bool(said) and isinstance(said[-1], TuneEnded), timeout=WAIT)
    assert [type(report) for report in said] == [*[TuneTrying, TuneTrying, TuneDecided] * 2, TuneEnded]
    assert {report.ticket for report in said} == {ticket}
    found = said[-1]
    assert isinstance(found, TuneEnded)
    assert found.findings
    assert [stage.chosen.name for stage in found.findings.stages] == ["1 thread", "as it is"]
    link.load(TOY)  # in another process
    link.recall(TOY)
    qtbot.waitUntil(lambda: isinstance(said[-1], TunedKnown), timeout=WAIT)
    known = said[-1]
    assert isinstance(known, TunedKnown)
    assert known.findings == found.findings
    link.forget(TOY)
    qtbot.waitUntil(lambda: said[-1] == TunedKnown(said[-1].ticket, None), timeout=WAIT)


def test_the_model_that_comes_next_is_loaded_in_a_process_of_its_own(qtbot: QtBot, loaded_link: EngineLink) -> None:
    said, before = told(loaded_link), loaded_link.pid
    loaded_link.unload()
    loaded_link.tune(TuneWish(TOY))
    qtbot.waitUntil(lambda: bool(said) and isinstance(said[-1], TuneEnded), timeout=WAIT)
    tuning = loaded_link.pid
    with qtbot.waitSignal(loaded_link.loaded, timeout=WAIT):
        loaded_link.load(TOY)
    assert len({before, tuning, loaded_link.pid}) == 3


def test_it_can_be_stopped(qtbot: QtBot, slow_link: EngineLink) -> None:
    link = slow_link
    said = told(link)
    ticket = link.tune(TuneWish(TOY))
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT)
    link.stop_job()
    qtbot.waitUntil(lambda: said[-1] == TuneEnded(ticket, None), timeout=WAIT)


def test_another_model_ends_it(qtbot: QtBot, slow_link: EngineLink) -> None:
    link = slow_link
    said = told(link)
    ticket = link.tune(TuneWish(TOY))
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT)
    with qtbot.waitSignal(link.loaded, timeout=WAIT):
        link.load(TOY)
    assert said[-1] == TuneEnded(ticket, None)
