"""The window's link to the engine, with a toy engine in a real process."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from pytestqt.qtbot import QtBot

from headstart.engine.engine import ConversationRequest, FinishReason, LoadOptions, Message, Phase, Prefill, Step
from headstart.engine.protocol import (
    Benched,
    BenchHeat,
    BenchPlanned,
    BenchSize,
    BenchStage,
    Failed,
    Loading,
    ModelInfo,
)
from headstart.engine.text.generation_config import USUAL
from headstart.engine.tuning.messages import TuneDecided, TunedKnown, TuneEnded, TuneRequest, TuneStep
from headstart.ui.engine_link import EngineLink
from tests.ui.person import WAIT

TOY = LoadOptions(Path("toy"))
SIZE = BenchSize(prompts=1, tokens=4, repeats=1, with_peer=False)


class Heard:
    """The signals of an engine link, in order."""

    def __init__(self, link: EngineLink) -> None:
        self.received: list[tuple[Any, ...]] = []
        for name in ("loading", "loaded", "unloaded", "steps", "finished", "failed", "crashed", "restarted"):
            getattr(link, name).connect(lambda *values, name=name: self.received.append((name, *values)))

    def names(self) -> list[str]:
        """The signals' names."""
        return [each[0] for each in self.received]

    def text(self, generation: int) -> str:
        """Return the text shown of an answer."""
        steps = [each[2] for each in self.received if each[0] == "steps" and each[1] == generation]
        return "".join(step.text for batch in steps for step in batch)


@pytest.fixture
def heard(link: EngineLink) -> Heard:
    return Heard(link)


def ask(text: str, tokens: int = 4096) -> ConversationRequest:
    return ConversationRequest((Message("user", text),), max_new_tokens=tokens)


def answer(qtbot: QtBot, link: EngineLink, text: str) -> None:
    with qtbot.waitSignal(link.finished, timeout=WAIT):
        link.generate(ask(text))


def shown(heard: Heard) -> bool:
    return "steps" in heard.names()


@pytest.mark.engine_process
def test_link_loads_and_answers(qtbot: QtBot, link: EngineLink, heard: Heard) -> None:
    with qtbot.waitSignal(link.loaded, timeout=WAIT) as loaded:
        link.load(LoadOptions(Path("models/big"), Path("models/small")))
    assert loaded.args == [ModelInfo("big", "small", "CPU", 2048, sampling=USUAL, is_batch_invariant=True)]
    assert link.model_info is not None
    assert link.model_info.draft
    with qtbot.waitSignal(link.prefill, timeout=WAIT) as prefill:
        generation = link.generate(ask("one two three"))
    assert prefill.args == [generation, Prefill(0, 4)]
    qtbot.waitUntil(lambda: link.generation is None, timeout=WAIT)
    assert heard.text(generation) == "You wrote: one two three "
    assert heard.names()[:3] == ["loading", "loading", "loaded"]
    assert [each[1] for each in heard.received[:2]] == [None, Loading(Phase.MODEL)]
    name, finished, finish = heard.received[-1]
    assert (name, finished, finish.reason) == ("finished", generation, FinishReason.STOP)


def test_question_is_answered_after_the_load(qtbot: QtBot, link: EngineLink, heard: Heard) -> None:
    link.load(TOY)
    answer(qtbot, link, "early")
    assert heard.text(1) == "You wrote: early "


def test_question_without_a_model_fails(qtbot: QtBot, link: EngineLink) -> None:
    with qtbot.waitSignal(link.failed, timeout=WAIT) as blocker:
        generation = link.generate(ask("hello"))
    sentence, failure = blocker.args or []
    assert sentence == "No model is loaded; choose one first."
    assert isinstance(failure, Failed)
    assert (failure.order, failure.generation) == ("Generate", generation)
    assert link.generation is None


def test_steps_are_batched_by_frames(qtbot: QtBot, link: EngineLink) -> None:
    batches = list[tuple[Step, ...]]()
    link.steps.connect(lambda _, steps: batches.append(steps))
    with qtbot.waitSignal(link.loaded, timeout=WAIT):
        link.load(TOY)
    answer(qtbot, link, "toy: words 90")
    shown_batches = len(batches)
    assert shown_batches < 90
    batches.clear()
    link.set_hidden(True)
    answer(qtbot, link, "toy: words 90")
    assert len(batches) < shown_batches
    assert sum(len(step.round.tokens) for batch in batches for step in batch) == 90


def test_refusal_keeps_the_engine(qtbot: QtBot, loaded_link: EngineLink) -> None:
    pid = loaded_link.pid
    with qtbot.waitSignal(loaded_link.failed, timeout=WAIT) as blocker:
        loaded_link.generate(ask("toy: refuse"))
    assert "The toy refuses" in (blocker.args or [])[0]
    answer(qtbot, loaded_link, "again")
    assert loaded_link.pid == pid


def test_broken_model_is_refused_and_another_loads(qtbot: QtBot, link: EngineLink) -> None:
    with qtbot.waitSignal(link.failed, timeout=WAIT) as blocker:
        link.load(LoadOptions(Path("broken")))
    assert (blocker.args or [])[1].kind == "BrokenModelError"
    assert link.model_info is None
    with qtbot.waitSignal(link.loaded, timeout=WAIT):
        link.load(TOY)


def test_cancel_ends_the_answer_and_keeps_its_part(qtbot: QtBot, loaded_link: EngineLink, heard: Heard) -> None:
    generation = loaded_link.generate(ask("toy: words 2000"))
    qtbot.waitUntil(lambda: shown(heard), timeout=WAIT)
    with qtbot.waitSignal(loaded_link.finished, timeout=WAIT) as blocker:
        loaded_link.cancel()
    finish = (blocker.args or [])[1]
    assert finish.reason is FinishReason.CANCELLED
    assert 0 < len(heard.text(generation).split()) == finish.stats.output_tokens < 2000


def test_cancel_while_loading_does_not_wait(qtbot: QtBot, link: EngineLink, heard: Heard) -> None:
    link.load(TOY)
    link.generate(ask("toy: words 2000"))
    link.cancel()
    assert heard.names() == ["loading", "finished"]
    answer(qtbot, link, "next")
    assert heard.text(1) == ""
    assert [each[1] for each in heard.received if each[0] == "finished"] == [1, 2]
    assert heard.text(2) == "You wrote: next "


def test_late_reports_are_dropped(qtbot: QtBot, link: EngineLink, heard: Heard) -> None:
    with qtbot.waitSignal(link.described, timeout=WAIT):
        link.describe()
    link.load(TOY)
    link.generate(ask("toy: words 2000"))  # goes out at once, to a process that is still loading
    link.cancel()
    answer(qtbot, link, "next")
    assert [each[1] for each in heard.received if each[0] == "finished"] == [2, 3]


@pytest.mark.engine_process
def test_engine_deaf_to_cancel_is_killed_and_replaced(qtbot: QtBot, loaded_link: EngineLink) -> None:
    with qtbot.waitSignal(loaded_link.prefill, timeout=WAIT):
        generation = loaded_link.generate(ask("toy: hang"))
    started = time.monotonic()
    with qtbot.waitSignal(loaded_link.crashed, timeout=WAIT) as blocker:
        loaded_link.cancel()
    assert time.monotonic() - started > 1.9
    assert ((blocker.args or [])[0].startswith("The engine did not stop"), (blocker.args or [])[1:]) == (
        True,
        [generation],
    )
    with qtbot.waitSignal(loaded_link.restarted, timeout=WAIT):
        pass
    answer(qtbot, loaded_link, "next")


@pytest.mark.engine_process
@pytest.mark.skipif(sys.platform == "win32", reason="signals have no names there")
def test_crash_is_reported_and_the_engine_restarts(qtbot: QtBot, loaded_link: EngineLink, heard: Heard) -> None:
    with qtbot.waitSignals([loaded_link.crashed, loaded_link.restarted], timeout=WAIT, order="strict"):
        generation = loaded_link.generate(ask("toy: segfault"))
    crash = next(each for each in heard.received if each[0] == "crashed")
    assert crash[1:] == ("The engine stopped unexpectedly (SIGSEGV).", generation)
    assert any("Segmentation fault" in line for line in loaded_link.journal.tail)
    assert "Segmentation fault" in loaded_link.journal.path.read_text(encoding="utf-8")
    answer(qtbot, loaded_link, "next")
    assert heard.text(2) == "You wrote: next "


@pytest.mark.engine_process
def test_restarts_of_a_link_are_bounded_until_the_next_load(qtbot: QtBot, loaded_link: EngineLink) -> None:
    crashes: list[str] = []
    loaded_link.crashed.connect(lambda sentence, _: crashes.append(sentence))
    for _ in range(3):
        with qtbot.waitSignal(loaded_link.restarted, timeout=WAIT):
            psutil.Process(loaded_link.pid).kill()
    assert sys.platform == "win32" or all("probably because memory ran out" in each for each in crashes)
    with qtbot.waitSignal(loaded_link.crashed, timeout=WAIT) as blocker:
        psutil.Process(loaded_link.pid).kill()
    assert "Details are in the log" in (blocker.args or [])[0]
    assert loaded_link.pid == 0
    with qtbot.assertNotEmitted(loaded_link.restarted, wait=500):
        pass
    with qtbot.waitSignal(loaded_link.loaded, timeout=WAIT):
        loaded_link.load(TOY)


@pytest.mark.engine_process
def test_link_starts_a_process_for_another_model(qtbot: QtBot, loaded_link: EngineLink, heard: Heard) -> None:
    first = psutil.Process(loaded_link.pid)
    with qtbot.waitSignal(loaded_link.loaded, timeout=WAIT) as blocker:
        loaded_link.load(LoadOptions(Path("second")))
    assert (blocker.args or [])[0].model == "second"
    assert loaded_link.pid != first.pid
    assert not first.is_running()
    assert "crashed" not in heard.names()


def test_unload_ends_the_process(qtbot: QtBot, loaded_link: EngineLink, heard: Heard) -> None:
    loaded_link.unload()
    assert loaded_link.model_info is None
    qtbot.waitUntil(lambda: loaded_link.pid == 0, timeout=WAIT)
    assert heard.names()[-1] == "unloaded"


def test_count_works_during_an_answer(qtbot: QtBot, loaded_link: EngineLink) -> None:
    loaded_link.generate(ask("toy: words 2000"))
    with qtbot.waitSignal(loaded_link.counted, timeout=WAIT):
        loaded_link.count_tokens("one", ask("two three"))
    assert loaded_link.generation is not None


def test_describe_works_without_a_model(qtbot: QtBot, link: EngineLink) -> None:
    with qtbot.waitSignal(link.described, timeout=WAIT) as blocker:
        link.describe()
    description = (blocker.args or [])[0]
    assert "headstart" in description.versions


@pytest.mark.engine_process
def test_closing_during_an_answer_leaves_no_process(qtbot: QtBot, loaded_link: EngineLink) -> None:
    child = psutil.Process(loaded_link.pid)
    with qtbot.waitSignal(loaded_link.steps, timeout=WAIT):
        loaded_link.generate(ask("toy: words 2000"))
    loaded_link.close()
    assert not child.is_running()


@pytest.mark.engine_process
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no way to freeze a process")
def test_frozen_engine_is_killed_on_closing(qtbot: QtBot, loaded_link: EngineLink) -> None:
    child = psutil.Process(loaded_link.pid)
    os.kill(child.pid, signal.SIGSTOP)
    qtbot.waitUntil(lambda: child.status() == psutil.STATUS_STOPPED, timeout=WAIT)
    started = time.monotonic()
    loaded_link.close()
    assert time.monotonic() - started > 0.7
    assert not child.is_running()


def impostor(qtbot: QtBot, script: str) -> str:
    """Return the sentence of the link about a program that is no engine."""
    link = EngineLink((sys.executable, "-c", script))
    with qtbot.waitSignal(link.crashed, timeout=WAIT) as blocker:
        link.start()
    link.close()
    return str((blocker.args or [])[0])


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('print(\'{"v": 2, "is": "Ready"}\'); input()', "another version of Headstart"),
        ("raise SystemExit(3)", "stopped unexpectedly (exit code 3)"),
    ],
)
def test_garbage_on_the_wire_is_reported(qtbot: QtBot, script: str, words: str) -> None:
    sentence = impostor(qtbot, script)
    assert words in sentence
    assert "Traceback" not in sentence


def test_missing_program_is_reported(qtbot: QtBot, tmp_path: Path) -> None:
    link = EngineLink((str(tmp_path / "missing"),))
    with qtbot.waitSignal(link.crashed, timeout=WAIT) as blocker:
        link.load(TOY)
    assert "install Headstart again" in (blocker.args or [])[0]
    assert link.pid == 0


@pytest.mark.engine_process
def test_orders_do_not_wait_for_a_mute_engine(qtbot: QtBot) -> None:
    link = EngineLink((sys.executable, "-c", "import time; time.sleep(600)"))
    started = time.monotonic()
    for call in (
        lambda: link.load(TOY),
        lambda: link.generate(ask("toy: hang")),
        link.describe,
        lambda: link.load(LoadOptions(Path("second"))),
        link.unload,
        lambda: link.load(TOY),
    ):
        call()
        qtbot.wait(30)
    assert time.monotonic() - started < WAIT / 1000
    link.close()


def reports(link: EngineLink) -> list[Any]:
    """Return the reports of a benchmark or a tuning."""
    received: list[Any] = []
    link.benched.connect(received.append)
    link.tuned.connect(received.append)
    return received


def test_benchmark_runs_after_the_load(qtbot: QtBot, link: EngineLink) -> None:
    received = reports(link)
    link.load(TOY)
    ticket = link.bench(SIZE)
    qtbot.waitUntil(lambda: bool(received) and isinstance(received[-1], Benched), timeout=WAIT)
    assert [type(report) for report in received] == [BenchStage, BenchPlanned, *[BenchHeat] * 20, Benched]
    assert {report.ticket for report in received} == {ticket}
    assert link.bench(SIZE) != ticket


def test_benchmark_cancelled_early_has_no_result(qtbot: QtBot, link: EngineLink) -> None:
    received = reports(link)
    link.load(TOY)
    ticket = link.bench(SIZE)
    link.stop_job()
    qtbot.waitUntil(lambda: Benched(ticket, None) in received, timeout=WAIT)
    assert not any(isinstance(report, BenchHeat) for report in received)


@pytest.mark.parametrize("job", ["benchmark", "tuning"])
def test_another_model_ends_a_job(qtbot: QtBot, link: EngineLink, job: str) -> None:
    received = reports(link)
    if job == "tuning":
        last: object = TuneEnded(link.tune(TuneRequest(TOY)), None)
    else:
        link.load(TOY)
        last = Benched(link.bench(BenchSize(prompts=3, tokens=400, repeats=9, with_peer=False)), None)
    qtbot.waitUntil(lambda: bool(received), timeout=WAIT)
    with qtbot.waitSignal(link.loaded, timeout=WAIT):
        link.load(LoadOptions(Path("other")))
    assert received[-1] == last


def test_benchmark_without_a_model_fails(qtbot: QtBot, link: EngineLink) -> None:
    with qtbot.waitSignal(link.failed, timeout=WAIT) as blocker:
        ticket = link.bench(SIZE)
    sentence, failure = blocker.args or []
    assert sentence == "No model is loaded; choose one first."
    assert (failure.order, failure.ticket) == ("Bench", ticket)
    link.bench(SIZE)  # the one before is over


def test_tuning_reports_stages_and_stores_the_result(qtbot: QtBot, link: EngineLink) -> None:
    received = reports(link)
    ticket = link.tune(TuneRequest(TOY))
    qtbot.waitUntil(lambda: bool(received) and isinstance(received[-1], TuneEnded), timeout=WAIT)
    assert [type(report) for report in received] == [*[TuneStep, TuneStep, TuneDecided] * 2, TuneEnded]
    assert {report.ticket for report in received} == {ticket}
    findings = received[-1].findings
    assert [stage.chosen.name for stage in findings.stages] == ["1 thread", "as it is"]
    tuning = link.pid
    link.load(TOY)  # in another process
    link.recall(TOY)
    qtbot.waitUntil(lambda: isinstance(received[-1], TunedKnown), timeout=WAIT)
    assert link.pid != tuning
    assert received[-1].findings == findings
    link.forget(TOY)
    qtbot.waitUntil(lambda: received[-1] == TunedKnown(received[-1].ticket, None), timeout=WAIT)
