"""An engine that is lost in the middle of an answer costs the terminal neither what was said nor the conversation."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bench.toy import PROGRAM
from headstart.cli import main
from headstart.cli.chat import Dialogue, Session, converse
from headstart.cli.options import Settings
from headstart.cli.render import Screen
from headstart.engine.engine import Event, LoadOptions, Request, Step
from headstart.engine.process.client import EngineClient
from headstart.engine.process.watch import Patience
from headstart.engine.supervision import Journal
from headstart.errors import EngineLostError
from tests.fakes import RecordingLoad, ScriptedEngine
from tests.model_folders import write_model

Captured = pytest.CaptureFixture[str]


class LostInTheMiddle(ScriptedEngine):
    """The first answer ends after so many steps."""

    steps = 1

    def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        first = not self.requests
        for event in super().generate(request, cancel):
            if first and isinstance(event, Step):
                self.steps -= 1
                if self.steps < 0:
                    raise EngineLostError("The engine was ended.")
            yield event


def test_the_conversation_keeps_what_was_said(capsys: Captured) -> None:
    engine = LostInTheMiddle(("Hello there you.", "Second."))
    session = Session(engine, "smol", Screen(), Settings(), Dialogue())
    converse(session, ["Hi", "Next"])
    said = [message.content for message in engine.requests[1].messages]
    assert said == ["Hi", "Hello", "Next"]
    assert session.failures == 1
    output = capsys.readouterr()
    assert output.out == "Hello\nSecond.\n"
    assert "The engine was ended." in output.err


def test_without_a_word_the_question_may_be_asked_again(capsys: Captured) -> None:
    engine = LostInTheMiddle(("Hello there you.", "Second."))
    engine.steps = 0
    session = Session(engine, "smol", Screen(), Settings(), Dialogue())
    converse(session, ["Hi", "Hi"])
    assert [message.content for message in engine.requests[1].messages] == ["Hi"]
    assert session.failures == 1
    assert capsys.readouterr().out == "Second.\n"


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no way to freeze a process")
def test_an_engine_that_hangs_is_replaced_and_the_talk_goes_on(tmp_path: Path, capsys: Captured) -> None:
    patience = Patience(round=2.0, token=0.0)
    with closing(EngineClient((*PROGRAM, "--pace", "0.02"), Journal(tmp_path / "log"), patience)) as client:
        client.load(LoadOptions(Path("toy")))
        assert client.pid
        hang = threading.Timer(1.0, os.kill, (client.pid, signal.SIGSTOP))
        hang.start()
        session = Session(client, "toy", Screen(), Settings(), Dialogue())
        converse(session, ["toy: words 2000", "next"])
        hang.join()
    output = capsys.readouterr()
    assert "while writing the answer, so it was ended; it starts again when it is needed." in output.err
    assert output.out.startswith("The toy engine")
    assert output.out.endswith("You wrote: next \n")
    assert session.failures == 1


def test_one_answer_that_was_not_finished_is_an_error(headstart_home: Path, capsys: Captured) -> None:
    write_model(headstart_home / "models" / "smol")
    load = RecordingLoad(LostInTheMiddle(("Hello there you.",)))
    assert main(["chat", "--prompt", "Hi"], load) == 1
    assert capsys.readouterr() == ("Hello\n", "headstart: The engine was ended.\n")
