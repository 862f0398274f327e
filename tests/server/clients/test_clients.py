"""Clients that send too much, too slowly or in crowds, or leave; engines that die; the end of the server."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
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
from headstart.errors import ContextOverflowError
from headstart.server.worker import Limits
from tests.server.serving import KEY, MODEL, ReportRecorder, Running, chat_body, serving
from tests.stand_ins.fakes import ScriptedEngine
from tests.support.waiting import PATIENCE, wait_until

CHAT = "/v1/chat/completions"
HEAD = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
WORDS = "one two three"


def ask(client: openai.OpenAI, text: str = "Hi") -> Any:
    return client.chat.completions.create(model=MODEL, messages=message(text)).choices[0].message.content


def message(text: str) -> Any:
    return [{"role": "user", "content": text}]


def send(running: Running, sent: str) -> socket.socket:
    """Return a connection that has sent a request; nothing is read yet."""
    connection = socket.create_connection(("127.0.0.1", running.port), PATIENCE)
    connection.sendall(sent.encode())
    return connection


def whole(stream: str = "false") -> str:
    """Return a request with its head."""
    body = chat_body(stream=stream)
    return f"{HEAD}Content-Length: {len(body)}\r\n\r\n{body}"


def until_closed(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


def wait_for(engine: ScriptedEngine, requests: int) -> None:
    wait_until(lambda: len(engine.requests) == requests)


IMPATIENT = Limits(body_bytes=20_000, body_seconds=0.5, head_seconds=0.5, connection_seconds=0.5)


@pytest.fixture
def impatient() -> Iterator[Running]:
    with serving(ScriptedEngine(), IMPATIENT) as running:
        yield running


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[EngineClient]:
    """The toy engine in a process of its own."""
    with closing(EngineClient((*PROGRAM, "--pace", "0.02"), Journal(tmp_path / "engine.log"))) as client:
        client.load(LoadOptions(Path("toy")))
        yield client


def test_too_large_body_is_refused(impatient: Running) -> None:
    large = chat_body("a" * 20_000)
    status, headers, body = impatient.ask("POST", CHAT, body=large)
    assert (status, headers["connection"], json.loads(body)["error"]["code"]) == (413, "close", "too_large")
    chunk = f"{len(large):x}\r\n{large}\r\n0\r\n\r\n"
    with closing(send(impatient, f"{HEAD}Transfer-Encoding: chunked\r\n\r\n{chunk}")) as connection:
        assert until_closed(connection).startswith(b"HTTP/1.1 413")


def test_body_without_the_key_is_not_read(impatient: Running) -> None:
    with closing(
        send(impatient, f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n")
    ) as refused:
        assert refused.recv(12) == b"HTTP/1.1 401"


def test_rest_of_a_refused_body_times_out(impatient: Running) -> None:
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n"
    with closing(send(impatient, head)) as refused:
        told = refused.recv(12)
        refused.sendall(b"{")
        assert (told + until_closed(refused)).startswith(b"HTTP/1.1 401")


def test_missing_body_times_out(impatient: Running) -> None:
    with closing(send(impatient, f"{HEAD}Content-Length: 9000\r\n\r\n{{")) as connection:
        assert until_closed(connection).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("begun", ["", "POST /v1/chat"])
def test_connection_without_a_request_is_closed(impatient: Running, begun: str) -> None:
    with closing(send(impatient, begun)) as connection:
        assert until_closed(connection) == b""


@pytest.mark.parametrize("body", ["", "{", "[]", '"a"', "\xff\xfe", '{"a":' * 100_000, '{"model": NaN}'])
def test_malformed_json_is_refused(body: str) -> None:
    with serving(ScriptedEngine()) as running:
        status, _, told = running.ask("POST", CHAT, body=body.encode("latin-1"))
    assert (status, json.loads(told)["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize("sent", ["nonsense\r\n\r\n", f"GET {CHAT} HTTP/1.1\r\nHost: a\r\nHost: b\r\nX y: z\r\n\r\n"])
def test_malformed_http_is_refused(impatient: Running, sent: str) -> None:
    with closing(send(impatient, sent)) as connection:
        head, _, body = until_closed(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["error"]["code"] == "invalid_http"


def test_request_with_two_lengths_is_refused(impatient: Running) -> None:
    lengths = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with closing(send(impatient, f"{HEAD}{lengths}GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")) as connection:
        told = until_closed(connection)
    assert told.startswith(b"HTTP/1.1 400 ")
    assert told.count(b"HTTP/1.1") == 1


def test_web_server_writes_nothing(impatient: Running, caplog: pytest.LogCaptureFixture) -> None:
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
    for asked in ("nonsense\r\n\r\n", f"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n{upgrade}\r\n"):
        with closing(send(impatient, asked)) as connection:
            assert until_closed(connection)
    assert not caplog.records


def test_answer_has_no_timeout_of_a_request() -> None:
    limits = Limits(body_seconds=2, head_seconds=2)
    with serving(ScriptedEngine(pause=0.5), limits) as running, running.client() as client:
        assert ask(client).endswith("dog.")


def test_answer_past_its_time_limit_is_cut() -> None:
    slow = ScriptedEngine([" ".join(["word"] * 500)], pause=0.1)
    with serving(slow, Limits(answer_seconds=0.5)) as running, running.client() as client:
        reply = client.chat.completions.create(model=MODEL, messages=message("Hi"))
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage is not None
    assert reply.usage.completion_tokens < 100


def test_client_that_reads_nothing_is_dropped() -> None:
    engine = ScriptedEngine([" ".join(["word"] * 4000), "Next."])
    with (
        serving(engine, Limits(send_seconds=0.5), send_buffer=4096) as running,
        closing(socket.socket()) as connection,
    ):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1", running.port))
        connection.sendall(whole("true").encode())
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        with running.client() as client:
            assert ask(client) == "Next."


def test_full_queue_refuses_with_retry_after() -> None:
    engine = ScriptedEngine(["word " * 4000, WORDS], pause=0.05)
    with serving(engine, Limits(waiting=1)) as running, running.client(retries=9) as patient:
        with closing(send(running, whole())):
            wait_for(engine, 1)
            with closing(send(running, whole())):
                # The second may need a moment to be in the queue.
                status, headers, body = until_full(running)
                assert (status, json.loads(body)["error"]["code"]) == (429, "queue_full")
                assert int(headers["retry-after"]) >= 1
        assert ask(patient) == WORDS


def until_full(running: Running) -> tuple[int, Mapping[str, str], str]:
    """Ask until a request is rejected; cancel those that wait in the queue."""
    while True:
        with contextlib.suppress(TimeoutError):
            return running.ask("POST", CHAT, body=chat_body(), patience=1.0)


@pytest.mark.parametrize("stream", ["true", "false"])
def test_disconnect_ends_the_answer(stream: str) -> None:
    engine = ScriptedEngine(["word " * 100, WORDS], pause=2 * PATIENCE)
    with serving(engine) as running:
        with closing(send(running, whole(stream))):
            wait_for(engine, 1)
        engine.pause = 0.0
        with running.client() as client:
            assert ask(client) == WORDS


def test_disconnect_leaves_the_queue() -> None:
    engine, recorder = ScriptedEngine(["word " * 4000, WORDS], pause=0.05), ReportRecorder()
    with serving(engine, tell=recorder.take) as running, running.client() as client:
        with closing(send(running, whole())):
            wait_for(engine, 1)
            for number in range(2, 7):
                send(running, whole()).close()
                recorder.ended(number)
        assert ask(client) == WORDS
    assert len(engine.requests) == 2


def test_killed_engine_is_reported_and_restarted(toy: EngineClient) -> None:
    with serving(toy) as running, running.client() as client, running.client(retries=2) as patient:
        with pytest.raises(openai.InternalServerError, match="stopped unexpectedly") as told:
            ask(client, "toy: segfault")
        assert (told.value.status_code, told.value.code) == (503, "engine_lost")
        assert ask(client, "next") == "You wrote: next "
        assert toy.pid
        psutil.Process(toy.pid).kill()
        assert ask(patient, "again") == "You wrote: again "
        stream = client.chat.completions.create(model=MODEL, messages=message("toy: words 2000"), stream=True)
        for _ in range(5):
            next(stream)
        psutil.Process(toy.pid).kill()
        with pytest.raises(openai.APIError, match=r"was killed|stopped unexpectedly"):
            list(stream)
        assert ask(client, "next") == "You wrote: next "


def test_stop_ends_streams_with_an_error() -> None:
    engine = ScriptedEngine(["word " * 4000], pause=0.05)
    with serving(engine) as running, running.client() as client, ThreadPoolExecutor(1) as pool:
        stream = client.chat.completions.create(model=MODEL, messages=message("Hi"), stream=True)
        next(stream)
        waiting = pool.submit(running.ask, "POST", CHAT, None, chat_body())
        wait_until(lambda: running.waiting)
        running.server.stop()
        with pytest.raises(openai.APIError, match="being stopped"):
            list(stream)
        assert json.loads(waiting.result(PATIENCE)[2])["error"]["code"] == "stopping"


def test_stop_ends_requests_of_a_hanging_engine(toy: EngineClient) -> None:
    recorder = ReportRecorder()
    with serving(toy, tell=recorder.take) as running, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(running.ask, "POST", CHAT, None, chat_body("toy: hang"))
        wait_until(lambda: recorder.paths and toy._session.answers)
        running.server.stop()
        assert json.loads(waiting.result(PATIENCE)[2])["error"]["code"] == "stopping"


def test_reports_have_tokens_and_status() -> None:
    recorder = ReportRecorder()
    with serving(ScriptedEngine(["a b c"]), tell=recorder.take) as running:
        running.ask("POST", CHAT, body=chat_body())
        running.ask("POST", CHAT, body=chat_body(stream="true"))
        running.ask("POST", CHAT, {"Authorization": "Bearer no"}, chat_body())
        running.ask("GET", "/" + "x" * 5000)
        ends = [recorder.ended(number) for number in (1, 2, 3, 4)]
    assert [end.status for end in ends] == [200, 200, 401, 404]
    assert [end.output_tokens for end in ends] == [3, 3, None, None]
    assert ends[3].prompt_tokens is None
    assert recorder.paths[2] == CHAT
    assert len(recorder.paths[3]) == 200, "strangers choose it"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (CHAT, chat_body(), 0),
        (CHAT, chat_body(stream="true"), 200),
        ("/v1/completions", json.dumps({"prompt": "Hi"}), 0),
        ("/v1/responses", json.dumps({"input": "Hi"}), 0),
        ("/v1/messages", json.dumps({"max_tokens": 9000, "messages": message("Hi")}), 0),
    ],
)
def test_disconnect_is_no_failure_of_the_server(path: str, body: str, status: int) -> None:
    recorder, engine = ReportRecorder(), ScriptedEngine(["word " * 4000], pause=0.05)
    with serving(engine, tell=recorder.take) as running:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=PATIENCE)
        with closing(connection):
            connection.request("POST", path, body, {"Authorization": f"Bearer {KEY}"})
            wait_for(engine, 1)
            if status:
                connection.getresponse()
            assert connection.sock
            connection.sock.shutdown(socket.SHUT_RDWR)
        end = recorder.ended(1)
        assert (end.status, end.has_left, end.code, end.refusal) == (status, True, "", "")
        wait_until(lambda: f'headstart_requests_total{{route="{path}",status="{status}"}}' in running.metrics())
        assert not [name for name in running.metrics() if 'status="5' in name]


def test_report_says_who_asked_for_what_and_why_it_was_refused() -> None:
    recorder = ReportRecorder()
    with serving(ScriptedEngine([WORDS, ContextOverflowError("It has 9 tokens.")]), tell=recorder.take) as running:
        running.ask("POST", CHAT, body=chat_body())
        running.ask("POST", CHAT, body=chat_body())
        running.ask("POST", CHAT, {"Authorization": "Bearer no"}, chat_body())
        running.ask("POST", CHAT, {"Origin": "http://evil.example"}, chat_body())
        running.ask("POST", "/none")
        ends = [recorder.ended(number) for number in range(1, 6)]
    assert [(end.model, end.client) for end in ends] == [
        *((MODEL, "127.0.0.1 0"), (MODEL, "127.0.0.1 0"), ("", "127.0.0.1"), ("", "127.0.0.1"), ("", "127.0.0.1 0"))
    ]
    codes = ["", "context_length_exceeded", "invalid_api_key", "origin_not_allowed", "not_found"]
    assert [end.code for end in ends] == codes
    assert (ends[0].refusal, ends[1].refusal) == ("", "It has 9 tokens.")


def test_report_has_the_refusal_in_a_stream() -> None:
    recorder = ReportRecorder()
    with (
        serving(ScriptedEngine(["word " * 4000], pause=0.05), tell=recorder.take) as running,
        running.client() as client,
    ):
        stream = client.chat.completions.create(model=MODEL, messages=message("Hi"), stream=True)
        next(stream)
        running.server.stop()
        with pytest.raises(openai.APIError, match="being stopped"):
            list(stream)
        end = recorder.ended(1)
    assert (end.status, end.code, end.has_left) == (200, "stopping", False)
