"""The watchdog of a silent engine, in made-up seconds."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from headstart.engine import protocol
from headstart.engine.engine import (
    ConversationRequest,
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Origin,
    Prefill,
    Remote,
    Round,
    Step,
    Tally,
    Timing,
)
from headstart.engine.process.watchdog import _PASS_TOKENS, POLL_S, Activity, HangReport, Timeouts, Watchdog
from headstart.engine.runners.runner import PREFILL_CHUNK
from headstart.errors import Translatable

QUESTION = protocol.Generate(1, ConversationRequest((Message("user", "hello"),)))
STEP = protocol.Stepped(1, Step("a", Round((), 0, 0, Origin.TARGET, Timing())))
END = protocol.Finished(1, Finish(FinishReason.STOP, Tally().stats(plain_ms=None, ledger_ms=0.0, context_length=0), ()))
P = Timeouts()
TOY = protocol.ModelInfo("toy", None, "CPU", 8192)
ORDERS = get_args(protocol.Order)


class Engine:
    """A watchdog with a clock that tests control; the process uses `share` of a core."""

    def __init__(self, *messages: Any, share: float = 0.0, model_info: protocol.ModelInfo = TOY) -> None:
        self.now = self.used = 0.0
        self.share = share
        self.watchdog = Watchdog(P, lambda: self.now)
        self.note(protocol.Ready(1, "1"), protocol.Load(LoadOptions(Path("nowhere"))), protocol.Loaded(model_info))
        self.note(*messages)

    def note(self, *messages: Any) -> None:
        for message in messages:
            (self.watchdog.note_order if isinstance(message, ORDERS) else self.watchdog.note_report)(message)

    def silent(self, seconds: float = 10**5) -> HangReport | None:
        """Return the verdicts of so many silent seconds."""
        ends = self.now + seconds
        while self.now < ends:
            self.now += POLL_S
            self.used += POLL_S * self.share
            if hang := self.watchdog.find_hang(lambda: self.used):
                return hang
        return None


def test_idle_engine_may_be_silent() -> None:
    engine = Engine(protocol.CountTokens(1), protocol.Cancel(1))
    assert engine.watchdog.is_idle
    assert engine.silent() is None


def test_silent_round_is_a_hang() -> None:
    engine = Engine(QUESTION, STEP)
    assert engine.silent(P.round) is None
    hang = engine.silent(2 * POLL_S)
    assert hang == HangReport(Activity.WRITE, P.round + POLL_S)
    assert "61" in hang.sentence


def test_report_restarts_the_wait() -> None:
    engine = Engine(QUESTION)
    for _ in range(5):
        engine.note(STEP)
        assert engine.silent(P.round - POLL_S) is None
    engine.note(END)
    assert engine.silent() is None


def test_counted_tokens_do_not_restart_the_wait() -> None:
    engine = Engine(QUESTION)
    engine.silent(P.round - POLL_S)
    engine.note(protocol.Counted(1, 2, 3), protocol.Failed("SettingsError", Translatable("No."), order="CountTokens"))
    hang = engine.silent()
    assert hang
    assert hang.seconds == pytest.approx(P.round + POLL_S)


def test_answer_of_the_local_server_is_work() -> None:
    engine = Engine(protocol.TurnTaken(Prefill(0, 100)))
    assert not engine.watchdog.is_idle
    engine.note(QUESTION)  # which waits for its turn
    for _ in range(5):
        assert engine.silent(P.round) is None
        engine.note(protocol.TurnTaken())
    assert engine.silent(P.round + 2 * POLL_S)
    engine.note(protocol.TurnEnded())
    assert engine.silent(P.round) is None
    engine.note(END)
    assert engine.watchdog.is_idle


@pytest.mark.parametrize(
    ("model_info", "reports", "seconds"),
    [
        (TOY, (protocol.Prefilled(1, Prefill(0, 4000)),), P.round + P.token * _PASS_TOKENS),
        (replace(TOY, engine="genai"), (protocol.Prefilled(1, Prefill(0, 4000)),), P.round + P.token * 4000),
        (replace(TOY, draft="draft"), (protocol.Prefilled(1, Prefill(0, 400)), STEP), P.round + P.token * 400),
    ],
)
def test_long_prompt_has_more_time(model_info: protocol.ModelInfo, reports: tuple[object, ...], seconds: float) -> None:
    hang = Engine(QUESTION, *reports, model_info=model_info).silent(10**6)
    assert hang
    assert hang.seconds == pytest.approx(seconds + POLL_S, abs=POLL_S)
    assert _PASS_TOKENS >= PREFILL_CHUNK


def test_computing_process_is_slow_before_it_hangs() -> None:
    assert Engine(QUESTION, share=0.5).silent() == HangReport(Activity.READ, P.computing * P.round + POLL_S)


def test_kinds_of_work_have_their_timeouts(tmp_path: Path) -> None:
    with (tmp_path / "model.bin").open("wb") as stream:
        stream.truncate(10**9)
    for folder, allowed in ((tmp_path, P.load + P.gigabyte), (tmp_path / "none", P.load)):
        assert Engine(protocol.Load(LoadOptions(folder))).silent() == HangReport(Activity.LOAD, allowed + POLL_S)
    race = protocol.Bench(1, protocol.BenchSize(1, 2, 1, with_peer=False))
    assert Engine(race).silent() == HangReport(Activity.MEASURE, P.measuring + POLL_S)
    starting = Engine()
    starting.watchdog = Watchdog(P, lambda: starting.now)
    starting.note(QUESTION)
    assert starting.silent() == HangReport(Activity.START, P.start + POLL_S)


def test_remote_engine_has_its_own_timeouts() -> None:
    engine = Engine(QUESTION, model_info=protocol.ModelInfo("far", None, "", 0, server="office"))
    assert engine.silent(5000) is None
    engine.note(END, protocol.Load(LoadOptions(Path("far"), remote=Remote("office", "https://office/v1"))))
    assert engine.silent(5000) is None


def test_sleep_and_clock_changes_are_no_hang() -> None:
    engine = Engine(QUESTION, STEP)
    for _ in range(10):
        engine.now += 8 * 3600.0  # this side stood still as well
        assert engine.silent(POLL_S) is None
    engine.now -= 5.0
    assert engine.silent(P.round / 2) is None
    assert engine.silent(P.round)


def test_failed_order_is_not_waited_for() -> None:
    lost = protocol.Failed("EngineLostError", Translatable("No."), order="Generate", generation=1)
    for failure in (lost, protocol.Failed("ProtocolError", Translatable("Unreadable."))):
        assert Engine(QUESTION, failure).watchdog.is_idle
