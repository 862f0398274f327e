"""The server inside the engine's process: its answers and those of the window take turns on one model."""

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import openai
import pytest

from bench.toy import ToyModels
from headstart import engine_process
from headstart.engine.engine import LoadOptions, Message, Request
from headstart.engine.process.host import Host
from headstart.engine.protocol import (
    Asked,
    Cancel,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    Order,
    Report,
    ServerEnded,
    Serving,
    StartServer,
    Stepped,
    StopServer,
    TurnEnded,
    TurnTaken,
    encode,
)
from headstart.server import keys
from headstart.server.server import listen
from tests.server.serving import KEY, MODEL, PATIENCE

START = StartServer(MODEL, (keys.digest(KEY),), "127.0.0.1", 0)


class Process:
    """The host of the engine's process with a toy, and all that it reports."""

    def __init__(self) -> None:
        self._reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self.host = Host(ToyModels(0.01), self._reports.put, "", engine_process.serve)
        threading.Thread(target=self.host.serve, daemon=True).start()

    def say(self, *orders: Order) -> None:
        for order in orders:
            self.host.receive(encode(order))

    def hear(self, wanted: type[Report] | tuple[type[Report], ...]) -> Any:
        """The next report of a kind; those before it are dropped."""
        while not isinstance(report := self._reports.get(timeout=PATIENCE), wanted):
            pass
        return report

    def serve(self) -> str:
        self.say(START)
        url: str = self.hear(Serving).url
        return url


@pytest.fixture
def process() -> Iterator[Process]:
    """With a model in it."""
    process = Process()
    process.say(Load(LoadOptions(Path("toy"))))
    process.hear(Loaded)
    yield process
    process.host.close()


@pytest.fixture
def ask(process: Process) -> Iterator[Callable[[str], str]]:
    """What the server answers."""
    with openai.OpenAI(base_url=process.serve(), api_key=KEY, max_retries=0, timeout=PATIENCE) as client:

        def answer(text: str) -> str:
            reply = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}])
            return reply.choices[0].message.content or ""

        yield answer


def order(text: str, generation: int) -> Generate:
    return Generate(generation, Request((Message("user", text),), 4096))


def test_window_and_clients_take_turns(process: Process, ask: Callable[[str], str]) -> None:
    process.say(order("toy: words 300", 1))
    process.hear(Stepped)
    with ThreadPoolExecutor(2) as pool:
        told = pool.map(ask, ["one", "two"])
        for _ in range(2):
            process.hear(Asked)
        process.say(order("three", 2))
        ends = [type(process.hear((Finished, TurnEnded))) for _ in range(4)]
        assert sorted(each.__name__ for each in ends) == ["Finished", "Finished", "TurnEnded", "TurnEnded"]
        assert ends[-1] is TurnEnded, "the window waits for one client, not for all"
        assert list(told) == ["You wrote: one ", "You wrote: two "]


def test_who_leaves_before_the_turn_is_not_waited_for(process: Process, ask: Callable[[str], str]) -> None:
    process.say(order("toy: words 2000", 1))
    process.hear(Stepped)
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(ask, "one")
        process.hear(Asked)
        process.say(StopServer())
        assert process.hear((ServerEnded, Finished)) == ServerEnded()
        with pytest.raises(openai.InternalServerError, match="being stopped"):
            told.result()
    process.hear(Stepped)
    process.say(Cancel(1))
    process.hear(Finished)


def test_an_answer_of_the_server_gives_signs_of_life(process: Process, ask: Callable[[str], str]) -> None:
    ask("toy: words 300")
    signs = [process.hear(TurnTaken) for _ in range(4)]
    assert signs[1].prefill.total == signs[2].prefill.done == 4
    assert signs[3].prefill is None


def test_what_fails_is_told_to_whoever_asked(process: Process, ask: Callable[[str], str]) -> None:
    with pytest.raises(openai.APIStatusError, match="The toy refuses"):
        ask("toy: refuse")
    with pytest.raises(openai.APIStatusError, match="The engine failed"):
        ask("toy: bug")
    assert process.hear(Failed).order == "Turn"
    with pytest.raises(openai.APIStatusError, match="Memory ran out"):
        ask("toy: memory")
    failed = process.hear(Failed)
    assert (failed.kind, failed.order) == ("OutOfMemoryError", "Turn")
    assert ask("next") == "You wrote: next "


def test_without_a_model_there_is_none_and_one_that_was_freed_is_missed(process: Process) -> None:
    url = process.serve()
    process.say(Load(LoadOptions(Path("broken"))))
    process.hear(Failed)
    client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0)
    with client, pytest.raises(openai.APIStatusError, match="No model is loaded"):
        client.completions.create(model=MODEL, prompt="Once")
    process.say(START)
    assert process.hear(Failed).kind == "ModelNotFoundError"


def test_a_second_start_takes_the_place_of_the_first(process: Process) -> None:
    process.serve()
    process.say(START)
    assert process.hear((ServerEnded, Serving)) == ServerEnded()
    process.hear(Serving)


def test_a_port_that_is_taken_and_other_computers_are_refused(process: Process) -> None:
    with closing(listen("127.0.0.1", 0)) as listener:
        process.say(StartServer(MODEL, (keys.digest(KEY),), "127.0.0.1", listener.getsockname()[1]))
        assert process.hear(Failed).kind == "PortTakenError"
    process.say(StartServer(MODEL, (keys.digest(KEY),), "0.0.0.0", 0))  # noqa: S104 - that is what is refused
    assert "can be reached from other computers" in process.hear(Failed).sentence
    process.say(StopServer())
    process.hear(ServerEnded)
