"""The host of the engine's process between two orders."""

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest

from bench.toy import ToyModels
from headstart.engine import protocol
from headstart.engine.engine import ConversationRequest, LoadOptions, Message
from headstart.engine.opening import LoadedEngine, Tell
from headstart.engine.process.host import Host
from tests.support.waiting import PATIENCE

LOAD = protocol.Load(LoadOptions(Path("toy")))


class RecordingHost:
    """A host in this process that records its actions in order."""

    def __init__(self, store_one: Callable[["RecordingHost"], bool]) -> None:
        self.events: list[str] = []
        self._ended = threading.Event()

        def store() -> bool:
            self.events.append("stored")
            return store_one(self)

        class Models(ToyModels):
            def open(self, options: LoadOptions, tell: Tell) -> LoadedEngine:
                return replace(super().open(options, tell), store_one=store, forget=forget)

        def forget(chats: Collection[str]) -> None:
            self.events.append(f"forgot {list(chats)}")

        self.host = Host(Models(), self._hear, "engine.log")

    def say(self, *orders: protocol.Order) -> None:
        for order in orders:
            self.host.receive(protocol.encode(order))

    def run(self, *orders: protocol.Order) -> list[str]:
        """Carry out these orders and their consequences."""
        serving = threading.Thread(target=self.host.serve)
        serving.start()
        self.say(*orders)
        assert self._ended.wait(PATIENCE)
        self.host.close()
        serving.join()
        return self.events

    def end(self) -> None:
        self._ended.set()

    def _hear(self, report: protocol.Report) -> None:
        if isinstance(report, protocol.Finished | protocol.Failed):
            self.events.append(type(report).__name__)


def ask(generation: int) -> protocol.Generate:
    return protocol.Generate(generation, ConversationRequest((Message("user", "one two"),)))


def test_host_stores_parts_while_no_order_waits() -> None:
    def store_one(host: RecordingHost) -> bool:
        if len(host.events) == 2:
            host.say(ask(1), ask(2), protocol.Forget(("chat",)))
        if len(host.events) == 7:
            host.end()
        return len(host.events) < 7

    events = RecordingHost(store_one).run(LOAD)
    assert events == ["stored", "stored", "Finished", "Finished", "forgot ['chat']", "stored", "stored"]


def test_forget_without_a_model_does_nothing() -> None:
    def store_one(host: RecordingHost) -> bool:
        host.end()
        return False

    assert RecordingHost(store_one).run(protocol.Forget(("chat",)), protocol.Forget(), LOAD) == ["stored"]


def test_failed_store_leaves_the_engine_running(caplog: pytest.LogCaptureFixture) -> None:
    def store_one(host: RecordingHost) -> bool:
        if len(host.events) == 1:
            host.say(ask(1))
            raise MemoryError
        host.end()
        return False

    assert RecordingHost(store_one).run(LOAD) == ["stored", "Finished", "stored"]
    assert len(caplog.records) == 1
