"""The rules of the engine's process, in made-up seconds."""

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path

import pytest

from headstart.engine import protocol
from headstart.engine.engine import ConversationRequest, Finish, FinishReason, LoadOptions, Message, Prefill, Tally
from headstart.engine.process import session as session_module
from headstart.engine.process.session import Ended, EngineSession, Lost, ProcessEvent
from headstart.engine.process.watchdog import POLL_S, Timeouts
from headstart.engine.protocol import Cancel, Describe, Failed, Forget, Generate, Load, Loaded, Ready
from headstart.engine.supervision import CANCEL_GRACE, CLOSE_GRACE, COMPUTING_GRACE, Journal
from headstart.errors import EngineLostError, ProtocolError, Translatable

TOY, OTHER = LoadOptions(Path("toy")), LoadOptions(Path("other"))
FACTS = protocol.ModelInfo("toy", None, "CPU", 8192)
CRASH = Ended(-11)


def ask(generation: int) -> Generate:
    return Generate(generation, ConversationRequest((Message("user", "hello"),)))


def finished(generation: int) -> protocol.Finished:
    stats = Tally().stats(plain_ms=None, ledger_ms=0.0, context_length=0)
    return protocol.Finished(generation, Finish(FinishReason.STOP, stats, ()))


def failed(kind: str, order: str, generation: int | None = None) -> Failed:
    return Failed(kind, Translatable("It failed."), order, generation)


class Process:
    """A process that records what happens to it."""

    def __init__(self, _command: Sequence[str], _journal: Journal, on_event: Callable[[ProcessEvent], object]) -> None:
        self.say = on_event
        self.orders: list[protocol.Order] = []
        self.graces: list[float] = []  # of its ends
        self.computed_s = 0.0
        self.send, self.end = self.orders.append, self._end

    def processor_seconds(self) -> float:
        return self.computed_s

    def _end(self, grace: float = CLOSE_GRACE) -> None:
        self.graces.append(grace)

    def wait(self) -> None: ...


class Engine:
    """A session with a clock and processes that tests control."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, journal: Journal, *, restarts_at_once: bool = True) -> None:
        self.now = 0.0
        self.processes: list[Process] = []
        self.outcomes: list[object] = []
        self.session = EngineSession(
            ("engine",), journal, self._take, Timeouts(), lambda: self.now, restarts_at_once=restarts_at_once
        )
        monkeypatch.setattr(session_module, "EngineProcess", self._start)

    @property
    def process(self) -> Process:
        return self.processes[-1]

    @property
    def lost(self) -> Lost:
        lost = self.outcomes[-1]
        assert isinstance(lost, Lost)
        return lost

    def say(self, *events: ProcessEvent) -> None:
        """Let the process say something."""
        for event in events:
            self.process.say(event)

    def load(self, options: LoadOptions = TOY) -> None:
        self.session.load(options)
        self.say(Ready(1, "1"), Loaded(FACTS))

    def pass_time(self, seconds: float) -> None:
        """Poll when it is due."""
        ends = self.now + seconds
        while (delay := self.session.poll_delay()) <= ends - self.now:
            self.now += delay
            if outcome := self.session.poll():
                self.outcomes.append(outcome)
        self.now = ends

    def _start(self, *arguments: object) -> Process:
        self.processes.append(Process(*arguments))  # type: ignore[arg-type]
        return self.process

    def _take(self, number: int, event: ProcessEvent) -> None:
        self.outcomes.append(self.session.take(number, event))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "log")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, journal: Journal) -> Engine:
    return Engine(monkeypatch, journal)


@pytest.fixture
def lazy(monkeypatch: pytest.MonkeyPatch, journal: Journal) -> Engine:
    """A session that restarts with the next order."""
    return Engine(monkeypatch, journal, restarts_at_once=False)


def test_orders_wait_for_the_model(engine: Engine) -> None:
    engine.session.load(TOY)
    engine.session.send(ask(1))
    assert engine.process.orders == []
    engine.say(Ready(1, "1"))
    assert engine.process.orders == [Load(TOY), ask(1)]
    assert engine.session.model_info is None
    engine.say(Loaded(FACTS))
    assert engine.session.model_info == FACTS


def test_order_without_a_model_starts_a_process(engine: Engine) -> None:
    engine.session.send(Describe(1))
    engine.say(Ready(1, "1"))
    assert engine.process.orders == [Describe(1)]
    engine.session.load(TOY)
    assert len(engine.processes) == 1, "it has had no model"
    assert engine.process.orders[1:] == [Load(TOY)]


def test_another_model_gets_a_new_process(engine: Engine) -> None:
    engine.load()
    engine.session.load(OTHER)
    engine.session.send(Forget(("chat",)))
    assert engine.process.graces == [CLOSE_GRACE]
    engine.say(finished(1), Ended(0))
    assert engine.outcomes[-2] is None
    assert engine.lost.is_expected
    engine.say(Ready(2, "1"))
    assert engine.process.orders == [Load(OTHER), Forget(("chat",))]
    engine.session.load(None)
    engine.say(Ended(0))
    assert len(engine.processes) == 2
    assert engine.session.process is None


def test_orders_for_a_model_are_dropped_with_it(engine: Engine) -> None:
    engine.session.load(TOY)
    for order in (ask(1), Describe(2)):
        engine.session.send(order)
    engine.session.load(OTHER)
    engine.say(Ready(1, "1"))
    assert engine.process.orders == [Load(OTHER), Describe(2)]


def test_crash_loads_the_model_again(engine: Engine) -> None:
    engine.load()
    engine.session.send(ask(1))
    first = engine.process
    engine.say(CRASH)
    assert engine.lost == Lost(CRASH, is_expected=False, was_loading=False, is_restarting=True)
    assert engine.session.answers == {}
    first.say(finished(1))
    assert engine.outcomes[-1] is None, "the process has been replaced"
    engine.say(Ready(2, "1"))
    assert engine.process.orders == [Load(TOY)]
    engine.say(Loaded(FACTS))
    assert engine.session.loads == 2


def test_crash_while_loading_is_not_repeated(engine: Engine) -> None:
    engine.session.load(TOY)
    engine.session.send(ask(1))
    engine.say(Ready(1, "1"), CRASH)
    assert engine.lost == Lost(CRASH, is_expected=False, was_loading=True, is_restarting=False)
    assert engine.session.process is None
    assert engine.session.options is None


def test_restarts_are_bounded_until_the_next_load(engine: Engine) -> None:
    engine.load()
    restarts = []
    for _ in range(4):
        engine.say(CRASH)
        restarts.append(engine.lost.is_restarting)
        engine.say(Ready(1, "1"), Loaded(FACTS))
    assert restarts == [True, True, True, False]
    engine.load()
    engine.say(CRASH)
    assert engine.lost.is_restarting


def test_lazy_session_restarts_with_the_next_order(lazy: Engine) -> None:
    lazy.load()
    for number in range(1, 4):
        lazy.say(CRASH)
        assert not lazy.lost.is_restarting
        assert len(lazy.processes) == number
        lazy.session.send(ask(number))
        lazy.say(Ready(1, "1"))
        assert lazy.process.orders == [Load(TOY), ask(number)]
    lazy.say(CRASH)
    with pytest.raises(EngineLostError, match="too often"):
        lazy.session.send(ask(4))
    assert lazy.session.answers == {}
    lazy.now = 300.0
    lazy.session.send(ask(5))
    lazy.say(Ready(1, "1"))
    assert lazy.process.orders == [Load(TOY), ask(5)], "it keeps its model"


def test_cancelled_answer_may_take_its_time_to_end(engine: Engine) -> None:
    engine.load()
    engine.session.send(ask(1))
    engine.session.cancel(1)
    engine.session.cancel(1)
    assert engine.process.orders[1:] == [ask(1), Cancel(1)]
    engine.pass_time(CANCEL_GRACE - 0.1)
    engine.say(finished(1))
    engine.pass_time(10.0)
    assert engine.process.graces == []
    assert engine.session.poll_delay() == inf


def test_process_deaf_to_cancel_is_killed(engine: Engine) -> None:
    engine.load()
    engine.session.send(ask(1))
    engine.session.cancel(1)
    engine.pass_time(CANCEL_GRACE - 0.1)
    assert engine.process.graces == []
    engine.pass_time(0.1)
    assert engine.process.graces == [0.0]
    engine.say(finished(1), Ended(-9))
    assert engine.outcomes[-2] is None
    assert "did not stop in time" in str(engine.lost.cause)
    assert engine.lost.is_restarting


def test_process_inside_a_long_pass_is_not_killed(engine: Engine) -> None:
    engine.load()
    engine.session.send(ask(1))
    engine.session.cancel(1)
    while engine.now < COMPUTING_GRACE - CANCEL_GRACE:
        engine.process.computed_s += CANCEL_GRACE
        engine.pass_time(CANCEL_GRACE)
    assert engine.process.graces == []
    engine.process.computed_s += CANCEL_GRACE
    engine.pass_time(CANCEL_GRACE)
    assert engine.process.graces == [0.0]


def test_cancelled_answer_waits_for_its_turn(engine: Engine) -> None:
    engine.load()
    engine.session.send(ask(1))
    engine.session.send(ask(2))
    engine.session.cancel(2)
    for _ in range(10):
        engine.pass_time(CANCEL_GRACE)
        engine.say(protocol.Prefilled(1, Prefill(1, 9)))
    assert engine.process.graces == []
    engine.say(finished(1))
    engine.pass_time(CANCEL_GRACE)
    assert engine.process.graces == [0.0]


def test_withdrawn_answer_is_not_heard_of(engine: Engine) -> None:
    engine.session.load(TOY)
    engine.session.send(ask(1))
    engine.session.withdraw(1)
    engine.session.send(ask(2))
    engine.say(Ready(1, "1"), Loaded(FACTS))
    assert engine.process.orders == [Load(TOY), ask(2)]
    engine.session.withdraw(2)
    assert engine.process.orders[2:] == [Cancel(2)]
    engine.say(finished(2))
    assert engine.outcomes[-1] is None


def test_hanging_process_is_killed(engine: Engine) -> None:
    engine.load()
    assert engine.session.poll_delay() == inf
    engine.session.send(ask(1))
    assert engine.session.poll_delay() == POLL_S
    engine.pass_time(Timeouts().round + 2 * POLL_S)
    assert engine.process.graces == [0.0]
    assert engine.session.poll_delay() == inf
    engine.say(Ended(-9))
    assert "gave no sign" in str(engine.lost.cause)


def test_foreign_program_is_killed(engine: Engine) -> None:
    engine.load()
    engine.say(ProtocolError("What?"), ProtocolError("Who?"), Ended(-9))
    assert engine.processes[0].graces == [0.0]
    assert str(engine.lost.cause) == "What?"


def test_missing_program_is_a_loss(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise EngineLostError("There is no such program.")

    monkeypatch.setattr(session_module, "EngineProcess", refuse)
    engine.session.load(TOY)
    engine.session.send(ask(1))
    engine.pass_time(0.0)
    assert str(engine.lost.cause) == "There is no such program."
    assert not engine.lost.is_restarting
    assert engine.session.outbox == []
    assert engine.session.poll_delay() == inf


def test_out_of_memory_replaces_the_process(engine: Engine) -> None:
    engine.load()
    engine.session.send(ask(1))
    report = failed("OutOfMemoryError", "Generate", 1)
    engine.say(report)
    assert engine.outcomes[-1] == report
    assert engine.session.model_info is None
    assert engine.process.graces == [CLOSE_GRACE]
    for _ in range(9):  # which no budget limits
        engine.say(Ended(0), Ready(2, "1"), Loaded(FACTS), failed("OutOfMemoryError", "Bench"))
    engine.say(Ended(0), Ready(2, "1"))
    assert engine.process.orders == [Load(TOY)]


def test_out_of_memory_in_the_server_is_a_loss(engine: Engine) -> None:
    engine.load()
    engine.say(failed("OutOfMemoryError", "QueuedRequest"))
    assert engine.outcomes[-1] is None
    assert engine.process.graces == [0.0]
    engine.say(Ended(-9))
    assert str(engine.lost.cause) == "It failed."
    assert engine.lost.is_restarting


@pytest.mark.parametrize(("name", "options"), [("engine", None), ("lazy", TOY)])
def test_failed_load_leaves_the_model_to_a_lazy_session(
    request: pytest.FixtureRequest, name: str, options: LoadOptions | None
) -> None:
    engine: Engine = request.getfixturevalue(name)
    engine.session.load(TOY)
    engine.say(Ready(1, "1"), failed("BrokenModelError", "Load"))
    assert engine.session.options == options


def test_failures_that_nobody_shows_are_dropped(engine: Engine) -> None:
    engine.load()
    for order in ("CountTokens", "ReadAhead", "QueuedRequest"):
        engine.say(failed("EngineLostError", order))
        assert engine.outcomes[-1] is None
    assert engine.process.graces == []


def test_closed_session_takes_nothing(engine: Engine) -> None:
    engine.load()
    engine.session.send(ask(1))
    engine.session.close()
    assert engine.process.graces == [CLOSE_GRACE]
    engine.say(finished(1), Ended(0))
    assert engine.outcomes[-2:] == [None, None]
    assert engine.session.process is None
    assert engine.session.model_info is None
