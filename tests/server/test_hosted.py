"""The server inside the engine's process: its answers and those of the window take turns on one model."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import openai
import pytest

from headstart.engine.engine import ConversationRequest, LoadOptions, Message
from headstart.engine.protocol import (
    Asked,
    Cancel,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    ServerEnded,
    Serving,
    StartServer,
    Stepped,
    StopServer,
    TurnEnded,
    TurnTaken,
)
from headstart.server import keys
from headstart.server.server import listen
from tests.engine.process.hosted import Hosted, hosted
from tests.server.serving import KEY, MODEL
from tests.support.waiting import PATIENCE

START = StartServer(MODEL, (keys.digest(KEY),), "127.0.0.1", 0)


@pytest.fixture
def process() -> Iterator[Hosted]:
    """A host with a model."""
    with hosted(None, Load(LoadOptions(Path("toy")))) as process:
        process.hear(Loaded)
        yield process


def serve(process: Hosted) -> str:
    """Return the address of a server in it."""
    process.say(START)
    url: str = process.hear(Serving)[-1].url
    return url


@pytest.fixture
def ask(process: Hosted) -> Iterator[Callable[[str], str]]:
    """Return the answer of the server."""
    with openai.OpenAI(base_url=serve(process), api_key=KEY, max_retries=0, timeout=PATIENCE) as client:

        def answer(text: str) -> str:
            reply = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}])
            return reply.choices[0].message.content or ""

        yield answer


def order(text: str, generation: int) -> Generate:
    return Generate(generation, ConversationRequest((Message("user", text),), max_new_tokens=4096))


def test_window_and_clients_take_turns(process: Hosted, ask: Callable[[str], str]) -> None:
    process.say(order("toy: words 300", 1))
    process.hear(Stepped)
    with ThreadPoolExecutor(2) as pool:
        told = pool.map(ask, ["one", "two"])
        for _ in range(2):
            process.hear(Asked)
        process.say(order("three", 2))
        ends = [type(process.hear(Finished, TurnEnded)[-1]) for _ in range(4)]
        assert sorted(each.__name__ for each in ends) == ["Finished", "Finished", "TurnEnded", "TurnEnded"]
        assert ends[-1] is TurnEnded, "the window waits for one client, not for all"
        assert list(told) == ["You wrote: one ", "You wrote: two "]


def test_tokens_are_counted_while_an_answer_is_written(process: Hosted) -> None:
    url = serve(process)
    process.say(order("toy: words 2000", 1))
    process.hear(Stepped)
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, timeout=PATIENCE) as client:
        assert client.responses.input_tokens.count(model=MODEL, input="one two three").input_tokens == 4
    process.say(Generate(2, ConversationRequest((Message("user", "one two"),), tokens_only=True)))
    finished = process.hear(Finished)[-1]
    assert (finished.generation, len(finished.finish.token_ids)) == (2, 3)
    process.say(Cancel(1))
    assert process.hear(Finished)[-1].generation == 1


def test_disconnect_before_the_turn_is_skipped(process: Hosted, ask: Callable[[str], str]) -> None:
    process.say(order("toy: words 2000", 1))
    process.hear(Stepped)
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(ask, "one")
        process.hear(Asked)
        process.say(StopServer())
        assert process.hear(ServerEnded, Finished)[-1] == ServerEnded()
        with pytest.raises(openai.InternalServerError, match="being stopped"):
            told.result()
    process.hear(Stepped)
    process.say(Cancel(1))
    process.hear(Finished)


def test_answer_of_the_server_reports_its_turns(process: Hosted, ask: Callable[[str], str]) -> None:
    ask("toy: words 300")
    signs = [process.hear(TurnTaken)[-1] for _ in range(4)]
    assert signs[1].prefill.total == signs[2].prefill.done == 4
    assert signs[3].prefill is None


def test_error_is_sent_to_the_client(process: Hosted, ask: Callable[[str], str]) -> None:
    with pytest.raises(openai.APIStatusError, match="The toy refuses"):
        ask("toy: refuse")
    with pytest.raises(openai.APIStatusError, match="The engine failed"):
        ask("toy: bug")
    assert process.hear(Failed)[-1].order == "QueuedRequest"
    with pytest.raises(openai.APIStatusError, match="Memory ran out"):
        ask("toy: memory")
    failed = process.hear(Failed)[-1]
    assert (failed.kind, failed.order) == ("OutOfMemoryError", "QueuedRequest")
    assert ask("next") == "You wrote: next "


def test_server_without_a_model_refuses(process: Hosted) -> None:
    url = serve(process)
    process.say(Load(LoadOptions(Path("broken"))))
    process.hear(Failed)
    client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0)
    with client, pytest.raises(openai.APIStatusError, match="No model is loaded"):
        client.completions.create(model=MODEL, prompt="Once")
    process.say(START)
    assert process.hear(Failed)[-1].kind == "ModelNotFoundError"


def test_second_start_replaces_the_first(process: Hosted) -> None:
    serve(process)
    process.say(START)
    assert process.hear(ServerEnded, Serving)[-1] == ServerEnded()
    process.hear(Serving)


def test_taken_port_and_other_addresses_are_refused(process: Hosted) -> None:
    with closing(listen("127.0.0.1", 0)) as listener:
        process.say(StartServer(MODEL, (keys.digest(KEY),), "127.0.0.1", listener.getsockname()[1]))
        assert process.hear(Failed)[-1].kind == "PortTakenError"
    process.say(StartServer(MODEL, (keys.digest(KEY),), "0.0.0.0", 0))  # noqa: S104 - that is what is refused
    assert process.hear(Failed)[-1].kind == "SettingsError"
    process.say(StopServer())
    process.hear(ServerEnded)
