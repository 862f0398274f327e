"""The queue of a server's requests."""

import asyncio
from collections.abc import Iterator

from headstart.engine.engine import ConversationRequest, Event, Message
from headstart.server.models import OneModel, Served
from headstart.server.worker import Limits, Waiting, Worker
from tests.stand_ins.fakes import ScriptedEngine
from tests.support.waiting import PATIENCE

REQUEST = ConversationRequest((Message("user", "Hi"),), max_new_tokens=8)


def test_answer_that_has_just_ended_takes_no_place() -> None:
    async def ask() -> list[Event | Waiting]:
        model = Served("toy")
        worker = Worker(OneModel(model, ScriptedEngine(["Hello."] * 2)), Limits(waiting=0))
        (first,) = worker.take([REQUEST], model)
        first.work.result()  # meanwhile nobody tells the loop
        (second,) = worker.take([REQUEST], model)
        return [event async for event in second.events()]

    assert not any(isinstance(event, Waiting) for event in asyncio.run(ask()))


def test_request_that_comes_while_the_server_stops_ends_at_once() -> None:
    async def ask() -> list[Event | Waiting]:
        model = Served("toy")
        worker = Worker(OneModel(model, ScriptedEngine()), Limits())

        class Late(list[ConversationRequest]):
            def __iter__(self) -> Iterator[ConversationRequest]:
                worker.stop()
                return super().__iter__()

        (answer,) = worker.take(Late([REQUEST]), model)
        async with asyncio.timeout(PATIENCE):
            return [event async for event in answer.events()]

    assert asyncio.run(ask()) == []
