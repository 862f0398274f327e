"""The window's end of a benchmark: what the engine link says of it, and how it ends."""

from pathlib import Path

from pytestqt.qtbot import QtBot

from headstart.engine.engine import LoadOptions
from headstart.engine.protocol import Benched, BenchHeat, BenchPlanned, BenchReport, BenchSize, BenchStage
from headstart.ui.engine_link import EngineLink

TOY = LoadOptions(Path("toy"))
WAIT = 60_000  # ms, for a loaded machine
SIZE = BenchSize(prompts=1, tokens=4, repeats=1, with_peer=False)


def benched(link: EngineLink) -> list[BenchReport]:
    """What a benchmark will say."""
    said: list[BenchReport] = []
    link.benched.connect(said.append)
    return said


def test_a_benchmark_may_be_asked_for_before_the_model_is_there(qtbot: QtBot, link: EngineLink) -> None:
    said = benched(link)
    link.load(TOY)
    ticket = link.bench(SIZE)
    qtbot.waitUntil(lambda: bool(said) and isinstance(said[-1], Benched), timeout=WAIT)
    kinds = [type(report) for report in said]
    assert kinds == [BenchStage, BenchPlanned, *[BenchHeat] * 20, Benched]
    assert {report.ticket for report in said} == {ticket}
    assert link.bench(SIZE) != ticket


def test_a_benchmark_stopped_before_it_began_has_no_result(qtbot: QtBot, link: EngineLink) -> None:
    said = benched(link)
    link.load(TOY)
    ticket = link.bench(SIZE)
    link.stop_job()
    qtbot.waitUntil(lambda: Benched(ticket, None) in said, timeout=WAIT)
    assert not any(isinstance(report, BenchHeat) for report in said)


def test_another_model_ends_a_benchmark_and_its_late_reports_are_dropped(qtbot: QtBot, loaded_link: EngineLink) -> None:
    said = benched(loaded_link)
    ticket = loaded_link.bench(BenchSize(prompts=3, tokens=400, repeats=9, with_peer=False))
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT)
    with qtbot.waitSignal(loaded_link.loaded, timeout=WAIT):
        loaded_link.load(LoadOptions(Path("other")))
    assert said[-1] == Benched(ticket, None)


def test_a_benchmark_without_a_model_fails_in_words(qtbot: QtBot, link: EngineLink) -> None:
    with qtbot.waitSignal(link.failed, timeout=WAIT) as blocker:
        ticket = link.bench(SIZE)
    sentence, failure = blocker.args or []
    assert sentence == "No model is loaded; choose one first."
    assert (failure.order, failure.ticket) == ("Bench", ticket)
    link.bench(SIZE)  # the one before is over
