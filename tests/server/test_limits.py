"""Bounds of size and time: who sends too much, too slowly or takes nothing does not hold up the others."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from headstart.server.worker import Limits
from tests.fakes import ScriptedEngine
from tests.server.serving import KEY, MODEL, PATIENCE, Running, chat_body, serving

CHAT = "/v1/chat/completions"
HEAD = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
SMALL = Limits(body_bytes=20_000)
IMPATIENT = Limits(body_seconds=0.5, head_seconds=0.5)


@pytest.fixture
def running() -> Iterator[Running]:
    with serving(ScriptedEngine(), SMALL) as running:
        yield running


@pytest.fixture
def impatient() -> Iterator[Running]:
    with serving(ScriptedEngine(), IMPATIENT) as running:
        yield running


def raw(running: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", running.port), PATIENCE)


def until_closed(connection: socket.socket) -> bytes:
    received = bytearray()
    while chunk := connection.recv(65536):
        received += chunk
    return bytes(received)


def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(running: Running) -> None:
    large = chat_body("a" * 20_000)
    status, headers, body = running.ask("POST", CHAT, body=large)
    assert (status, headers["connection"], json.loads(body)["error"]["code"]) == (413, "close", "too_large")
    with closing(raw(running)) as connection:
        chunk = f"{len(large):x}\r\n{large}\r\n0\r\n\r\n"
        connection.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n{chunk}".encode())
        assert until_closed(connection).startswith(b"HTTP/1.1 413")


def test_without_the_key_no_body_is_read(running: Running) -> None:
    with closing(raw(running)) as connection:
        connection.sendall(f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n".encode())
        assert connection.recv(12) == b"HTTP/1.1 401"


def test_a_body_that_does_not_come_is_not_waited_for(impatient: Running) -> None:
    with closing(raw(impatient)) as connection:
        connection.sendall(f"{HEAD}Content-Length: 9000\r\n\r\n{{".encode())
        assert until_closed(connection).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("begun", ["", "POST /v1/chat"])
def test_a_connection_without_a_request_is_closed(impatient: Running, begun: str) -> None:
    with closing(raw(impatient)) as connection:
        connection.sendall(begun.encode())
        assert until_closed(connection) == b""


def test_an_answer_may_take_longer_than_its_request_might() -> None:
    limits = Limits(body_seconds=2, head_seconds=2)
    slow = ScriptedEngine(pause=0.3)
    with serving(slow, limits) as running, running.client() as client:
        reply = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hi"}])
        assert reply.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("body", ["", "{", "[]", '"a"', "\xff\xfe", '{"a":' * 100_000, '{"model": NaN}'])
def test_what_is_no_request_is_refused(body: str) -> None:
    with serving(ScriptedEngine()) as running:
        status, _, told = running.ask("POST", CHAT, body=body.encode("latin-1"))
        assert (status, json.loads(told)["error"]["type"]) == (400, "invalid_request_error")


def test_a_client_that_takes_nothing_holds_up_nobody() -> None:
    many, limits = " ".join(["word"] * 4000), Limits(send_seconds=0.5)
    with (
        serving(ScriptedEngine([many, "Next."]), limits, send_buffer=4096) as running,
        closing(socket.socket()) as connection,
    ):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1", running.port))
        body = chat_body(stream="true")
        connection.sendall(f"{HEAD}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        started = time.monotonic()
        with running.client() as client:
            reply = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hi"}])
        assert reply.choices[0].message.content == "Next."
        assert time.monotonic() - started < PATIENCE / 2


def test_an_answer_that_takes_too_long_is_cut_short() -> None:
    limits = Limits(answer_seconds=0.5)
    slow = ScriptedEngine([" ".join(["word"] * 500)], pause=0.1)
    with serving(slow, limits) as running, running.client() as client:
        reply = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hi"}])
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage is not None
    assert reply.usage.completion_tokens < 100
