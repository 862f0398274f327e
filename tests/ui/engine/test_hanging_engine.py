"""An engine that gives no sign or gets no memory any more is ended and replaced; what it had said stays."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openai
import psutil
import pytest
from pytestqt.qtbot import QtBot

from bench.toy import PROGRAM
from headstart.engine.engine import LoadOptions
from headstart.engine.process import session
from headstart.engine.process.watchdog import Timeouts
from headstart.engine.protocol import Serving, StartServer
from headstart.server import keys
from headstart.ui.engine_link import EngineLink
from tests.ui.engine.test_engine_link import TOY, Heard, answer, ask
from tests.ui.person import WAIT


@pytest.fixture
def impatient(qtbot: QtBot) -> Iterator[EngineLink]:
    """A link that waits two seconds for a round."""
    link = EngineLink((*PROGRAM, "--pace", "0.01"), timeouts=Timeouts(round=2.0, token=0.0))
    with qtbot.waitSignal(link.loaded, timeout=WAIT):
        link.load(TOY)
    yield link
    link.close()


@pytest.mark.engine_process
def test_hanging_engine_is_replaced(qtbot: QtBot, impatient: EngineLink) -> None:
    heard = Heard(impatient)
    with qtbot.waitSignal(impatient.restarted, timeout=WAIT):
        generation = impatient.generate(ask("toy: hang"))
    sentence, ended = next(each[1:] for each in heard.received if each[0] == "crashed")
    assert "while reading the message" in sentence
    assert ended == generation
    answer(qtbot, impatient, "next")


@pytest.mark.engine_process
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no way to freeze a process")
def test_hanging_load_is_not_repeated(qtbot: QtBot) -> None:
    link = EngineLink(PROGRAM, timeouts=Timeouts(load=2.0))
    with qtbot.waitSignal(link.described, timeout=WAIT):
        link.describe()
    os.kill(link.pid, signal.SIGSTOP)
    with qtbot.waitSignal(link.crashed, timeout=WAIT) as blocker:
        link.load(TOY)
    sentence = (blocker.args or [])[0]
    assert "while loading the model" in sentence
    assert "Details are in the log" in sentence
    assert "more memory" not in sentence
    assert link.pid == 0
    link.close()


@pytest.mark.engine_process
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no way to freeze a process")
def test_window_abandons_a_process_that_survives_kill(
    qtbot: QtBot, impatient: EngineLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "KILL_GRACE", 0.2)
    assert impatient._session.process
    stuck = impatient._session.process._process
    monkeypatch.setattr(stuck, "kill", lambda: None)
    os.kill(stuck.pid, signal.SIGSTOP)
    with qtbot.waitSignals([impatient.crashed, impatient.restarted], timeout=WAIT, order="strict"):
        impatient.generate(ask("hello"))
    assert stuck.poll() is None
    answer(qtbot, impatient, "next")
    psutil.Process(stuck.pid).kill()
    stuck.wait()
    assert any("it is left alone" in line for line in impatient.journal.tail)


def test_out_of_memory_replaces_the_engine(qtbot: QtBot, loaded_link: EngineLink) -> None:
    before, heard = loaded_link.pid, Heard(loaded_link)
    with qtbot.waitSignal(loaded_link.restarted, timeout=WAIT):
        generation = loaded_link.generate(ask("toy: memory"))
    sentence, failed = next(each[1:] for each in heard.received if each[0] == "failed")
    assert sentence.startswith("Memory ran out,")
    assert failed.generation == generation
    assert "crashed" not in heard.names()
    assert loaded_link.pid != before
    answer(qtbot, loaded_link, "next")


def test_out_of_memory_in_the_local_server_replaces_the_engine(qtbot: QtBot, loaded_link: EngineLink) -> None:
    with qtbot.waitSignal(loaded_link.served, timeout=WAIT) as serving:
        loaded_link.serve(StartServer("toy", (keys.digest("key"),), "127.0.0.1", 0))
    (report,) = serving.args or []
    assert isinstance(report, Serving)

    def ask_server() -> str:
        with openai.OpenAI(base_url=report.url, api_key="key", max_retries=0) as client:
            try:
                return str(client.completions.create(model="toy", prompt="toy: memory"))
            except openai.APIError as error:
                return str(error)

    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(ask_server)
        with qtbot.waitSignals([loaded_link.crashed, loaded_link.restarted], timeout=WAIT):
            pass
        assert "Memory ran out" in reply.result()
    answer(qtbot, loaded_link, "next")


def test_failed_load_ends_the_waiting_question(qtbot: QtBot, link: EngineLink) -> None:
    with qtbot.waitSignal(link.failed, timeout=WAIT) as blocker:
        link.load(LoadOptions(Path("boundless")))
        link.generate(ask("hello"))
    assert "while the model was loaded" in (blocker.args or [])[0]
    assert link.generation is None
    with qtbot.waitSignal(link.loaded, timeout=WAIT):
        link.load(TOY)
    answer(qtbot, link, "next")
