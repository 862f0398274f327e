"""Many who ask, some who leave, an engine that dies, and the end of the server: nobody else notices."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import openai
import psutil
import pytest

from bench.toy import PROGRAM
from headstart.engine.engine import LoadOptions
from headstart.engine.process.client import EngineClient
from headstart.engine.supervision import Journal
from headstart.server.worker import Limits
from tests.fakes import ScriptedEngine
from tests.server.serving import KEY, MODEL, PATIENCE, Running, chat_body, serving

WORDS = "one two three"


def message(text: str) -> Any:
    return [{"role": "user", "content": text}]


def ask(client: openai.OpenAI, text: str) -> str | None:
    return client.chat.completions.create(model=MODEL, messages=message(text)).choices[0].message.content


def wait_for(engine: ScriptedEngine, requests: int) -> None:
    end = time.monotonic() + PATIENCE
    while len(engine.requests) < requests and time.monotonic() < end:
        time.sleep(0.01)
    assert len(engine.requests) == requests


def send(running: Running, stream: str = "false") -> socket.socket:
    """A request whose answer is not read."""
    connection = socket.create_connection(("127.0.0.1", running.port), PATIENCE)
    body = chat_body(stream=stream)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    return connection


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[EngineClient]:
    """The toy engine in a process of its own."""
    with closing(EngineClient(PROGRAM, Journal(tmp_path / "engine.log"))) as client:
        client.load(LoadOptions(Path("toy")))
        yield client


def test_past_the_queue_a_request_is_sent_away_and_told_when_to_come_again() -> None:
    engine = ScriptedEngine(["word " * 500, WORDS], pause=0.05)
    with serving(engine, Limits(waiting=1)) as running, running.client() as client:
        with closing(send(running)):
            wait_for(engine, 1)
            with closing(send(running)):
                # The second may need a moment to be in the queue.
                status, headers, body = until_full(running)
                assert (status, json.loads(body)["error"]["code"]) == (429, "queue_full")
                assert int(headers["retry-after"]) >= 1
        with running.client(retries=9) as patient:
            assert ask(patient, "Hi") == WORDS
        assert ask(client, "Hi") == WORDS


def until_full(running: Running) -> tuple[int, Mapping[str, str], str]:
    """Asks until it is sent away; what takes a place in the queue instead leaves it again."""
    while True:
        with contextlib.suppress(TimeoutError):
            return running.ask("POST", "/v1/chat/completions", body=chat_body(), patience=1.0)


@pytest.mark.parametrize("stream", ["true", "false"])
def test_who_leaves_ends_the_answer(stream: str) -> None:
    engine = ScriptedEngine(["word " * 100, WORDS], pause=30.0)
    with serving(engine) as running:
        with closing(send(running, stream)):
            wait_for(engine, 1)
        engine.pause = 0.0
        started = time.monotonic()
        with running.client() as client:
            assert ask(client, "Hi") == WORDS
        assert time.monotonic() - started < 25.0


def test_who_leaves_the_queue_is_not_answered() -> None:
    engine = ScriptedEngine(["word " * 2000, WORDS], pause=0.05)
    with serving(engine) as running, running.client() as client:
        with closing(send(running)):
            wait_for(engine, 1)
            for _ in range(5):
                send(running).close()
            time.sleep(1.0)  # for the server to notice; the first answer takes longer than all this
        assert ask(client, "Hi") == WORDS
    assert len(engine.requests) == 2


def test_a_killed_engine_is_told_and_the_next_request_answered(toy: EngineClient) -> None:
    with serving(toy) as running, running.client() as client:
        with pytest.raises(openai.InternalServerError, match="stopped unexpectedly") as told:
            ask(client, "toy: segfault")
        assert (told.value.status_code, told.value.code) == (503, "engine_lost")
        assert ask(client, "next") == "You wrote: next "
        with running.client(retries=2) as patient:
            assert toy.pid
            psutil.Process(toy.pid).kill()
            assert ask(patient, "again") == "You wrote: again "


def test_an_engine_killed_in_a_stream_ends_it_with_the_error(tmp_path: Path) -> None:
    with closing(EngineClient((*PROGRAM, "--pace", "0.02"), Journal(tmp_path / "engine.log"))) as toy:
        toy.load(LoadOptions(Path("toy")))
        with serving(toy) as running, running.client() as client:
            stream = client.chat.completions.create(model=MODEL, messages=message("toy: words 2000"), stream=True)
            for _ in range(5):
                next(stream)
            assert toy.pid
            psutil.Process(toy.pid).kill()
            with pytest.raises(openai.APIError, match=r"was killed|stopped unexpectedly"):
                list(stream)
            assert ask(client, "next") == "You wrote: next "


def test_the_end_of_the_server_ends_streams_and_says_so() -> None:
    engine = ScriptedEngine(["word " * 1000], pause=0.05)
    with serving(engine) as running, running.client() as client:
        stream = client.chat.completions.create(model=MODEL, messages=message("Hi"), stream=True)
        next(stream)
        waiting = threading.Thread(target=lambda: waited.append(refusal(running)))
        waited: list[str] = []
        waiting.start()
        time.sleep(0.3)
        running.server.stop()
        with pytest.raises(openai.APIError, match="being stopped"):
            list(stream)
        waiting.join(PATIENCE)
    assert waited == ["stopping"]


def test_so_it_does_where_the_engine_is_deaf_to_it(toy: EngineClient) -> None:
    with serving(toy) as running:
        waiting = threading.Thread(target=lambda: told.append(refusal(running, "toy: hang")))
        told: list[str] = []
        waiting.start()
        time.sleep(1.0)
        running.server.stop()
        waiting.join(PATIENCE)
    assert told == ["stopping"]


def refusal(running: Running, text: str = "Hi") -> str:
    """The code of the error that comes instead of an answer."""
    code: str = json.loads(running.ask("POST", "/v1/chat/completions", body=chat_body(text))[2])["error"]["code"]
    return code
