"""HTTP around a request: encoded bodies, streams while they wait, kept connections, pages of other origins, ids."""

import base64
import gzip
import http.client
import json
import re
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import brotli
import pytest
import zstandard

from headstart.engine.engine import Event, Message, Prefill, Request
from headstart.server import server, streaming, worker
from headstart.server.worker import Limits
from tests.server import said
from tests.server.serving import KEY, ReportRecorder, Running, chat_body, serving
from tests.stand_ins.fakes import ScriptedEngine
from tests.support.waiting import PATIENCE, wait_until

CHAT = "/v1/chat/completions"
HI = [{"role": "user", "content": "Hi"}]
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"messages": HI},
    "/v1/completions": {"prompt": "Hi"},
    "/v1/responses": {"input": "Hi"},
    "/v1/messages": {"messages": HI, "max_tokens": 50},
    "/api/chat": {"messages": HI},
    "/api/generate": {"prompt": "Hi"},
}


def bare(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": bare,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "gzip, zstd": lambda data: zstandard.ZstdCompressor().compress(gzip.compress(data)),
    "identity": lambda data: data,
    "identity,br": brotli.compress,
}


@pytest.fixture(scope="module")
def engine() -> ScriptedEngine:
    return ScriptedEngine(context=2**30)


@pytest.fixture(scope="module")
def running(engine: ScriptedEngine) -> Iterator[Running]:
    with serving(engine, Limits(body_bytes=2**20, text_bytes=2**20)) as running:
        yield running


@pytest.mark.parametrize("coding", PACK)
def test_encoded_body_is_unpacked(running: Running, engine: ScriptedEngine, coding: str) -> None:
    text = f"{coding} 🎉"
    packed = PACK[coding](json.dumps({"messages": [{"role": "user", "content": text}]}).encode())
    assert running.ask("POST", CHAT, {"Content-Encoding": coding}, packed)[0] == 200
    assert engine.requests[-1].messages == (Message("user", text),)


@pytest.mark.parametrize("coding", ["compress", "gzip, lz4", ",".join(["gzip"] * 5)])
def test_unknown_encoding_is_refused_with_those_that_are_taken(running: Running, coding: str) -> None:
    status, headers, text = running.ask("POST", CHAT, {"Content-Encoding": coding}, chat_body())
    assert (status, headers["accept-encoding"]) == (415, "gzip, deflate, br, zstd")
    assert "gzip, deflate, br, zstd" in json.loads(text)["error"]["message"]
    assert running.ask("POST", CHAT, body=chat_body())[0] == 200


@pytest.mark.parametrize("coding", sorted(PACK.keys() - {"identity"}))
def test_body_that_unpacks_to_too_much_or_not_at_all_is_refused(running: Running, coding: str) -> None:
    bomb = PACK[coding](b" " * 2**23)
    status, _, text = running.ask("POST", CHAT, {"Content-Encoding": coding}, bomb)
    assert (status, json.loads(text)["error"]["code"]) == (413, "too_large")
    for damaged in (b"{}", PACK[coding](chat_body().encode())[:-9], b""):
        status, _, text = running.ask("POST", CHAT, {"Content-Encoding": coding}, damaged)
        assert (status, json.loads(text)["error"]["type"]) == (400, "invalid_request_error")
    assert running.ask("POST", CHAT, body=chat_body())[0] == 200


ODD = {
    "a byte order mark": ("\ufeff" + chat_body("odd"), "odd"),
    "half an emoji": (chat_body(r"cut \ud83d"), "cut \ufffd"),
    "the other half": (chat_body(r"\ude00 cut"), "\ufffd cut"),
    "a whole one": (chat_body(r"\ud83d\ude00"), "😀"),
    "all escapes": (chat_body(r"\/\b\f\n\r\t\"\\\u0000"), '/\b\f\n\r\t"\\\0'),
    "names twice": (chat_body("odd").replace("{", '{"messages":[],', 1), "odd"),
    "blanks": (f" \r\n\t{chat_body('odd')}\r\n ", "odd"),
    "an unknown number that is out of range": (chat_body("odd").replace("{", '{"far":-1.5e+9999,', 1), "odd"),
    "exponents": (chat_body("odd").replace("{", '{"max_tokens":1E2,"temperature":0e0,"seed":-0,', 1), "odd"),
}


@pytest.mark.parametrize("name", ODD)
def test_all_that_json_allows_is_read(running: Running, engine: ScriptedEngine, name: str) -> None:
    body, text = ODD[name]
    status, _, reply = running.ask("POST", CHAT, body=body.encode())
    assert status == 200, reply
    assert engine.requests[-1].messages == (Message("user", text),)


def test_many_pictures_in_results_are_noted() -> None:
    picture = base64.b64encode(bytes(600_000)).decode()
    source = {"type": "base64", "media_type": "image/png", "data": picture}
    calls: list[Any] = [{"type": "tool_use", "id": f"t{n}", "name": "look", "input": {"n": n}} for n in range(20)]
    results: list[Any] = [
        {"type": "tool_result", "tool_use_id": f"t{n}", "content": [{"type": "image", "source": source}]}
        for n in range(20)
    ]
    turns: list[Any] = [*HI, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    engine = ScriptedEngine()
    with serving(engine) as running:
        status, _, text = running.ask("POST", "/v1/messages", body=json.dumps({"messages": turns, "max_tokens": 5}))
        assert status == 200, text
        long = json.dumps({"messages": [{"role": "user", "content": "a" * 2**23}]})
        status, _, text = running.ask("POST", CHAT, body=long)
        assert (status, "4 MiB of text" in text) == (413, True)
    notes = [turn.content for turn in engine.requests[0].messages if turn.role == "tool"]
    assert ["left out" in note for note in notes] == [True] * 20


@pytest.mark.parametrize("path", BODIES)
def test_random_seed_gives_another_answer_each_time(path: str) -> None:
    engine = ScriptedEngine()
    with serving(engine, seed=7) as running:
        for seed in (-1, -1, -1, None, 3):
            more = {"options": {"seed": seed}} if path.startswith("/api/") else {"seed": seed}
            assert running.ask("POST", path, body=json.dumps(BODIES[path] | more))[0] == 200
    *random, default, own = [request.sampling.seed for request in engine.requests]
    assert len({*random, 7}) == 4
    assert (default, own) == (7, 3)


def test_random_seed_gives_several_answers_several_seeds(running: Running, engine: ScriptedEngine) -> None:
    before = len(engine.requests)
    for _ in range(2):
        assert running.ask("POST", CHAT, body=json.dumps({"messages": HI, "n": 3, "seed": -1}))[0] == 200
    assert len({request.sampling.seed for request in engine.requests[before:]}) == 6


class Slow:
    """An engine that reads a prompt in steps, then answers."""

    def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        yield from (Prefill(number, 5049) for number in range(0, 5049, 256))
        yield from ScriptedEngine().generate(request, cancel)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def strict(path: str, line: str) -> bool:
    """Return whether a line of a stream is allowed by the route's own specification."""
    if path.startswith("/api/"):
        return "created_at" in json.loads(line)
    if path in {CHAT, "/v1/completions"}:
        chunk = line.removeprefix("data: ")
        return line.startswith("data: ") and (chunk == "[DONE]" or len(json.loads(chunk)["choices"]) == 1)
    return bool(re.match(r"event: [a-z_.]+$|data: \{", line))


@pytest.mark.parametrize("path", BODIES)
def test_stream_has_only_events_of_its_route(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (worker, streaming):
        monkeypatch.setattr(module, "KEEPALIVE_SECONDS", 0.001)
    may_end = threading.Event()
    busy = ScriptedEngine(before_round=lambda *_: may_end.wait(PATIENCE))
    body = json.dumps(BODIES[path] | {"stream": True})
    with serving(busy) as running, closing(http.client.HTTPConnection("127.0.0.1", running.port)) as first:
        first.request("POST", CHAT, chat_body(), {"Authorization": f"Bearer {KEY}"})
        wait_until(lambda: busy.requests)
        with closing(http.client.HTTPConnection("127.0.0.1", running.port)) as second:
            second.request("POST", path, body, {"Authorization": f"Bearer {KEY}"})
            reply = second.getresponse()
            waiting = [reply.readline().decode().rstrip("\n") for _ in range(12)]
            may_end.set()
            waited = [*waiting, *reply.read().decode().split("\n")]
        first.getresponse().read()
    with serving(Slow()) as running:
        read = running.ask("POST", path, body=body)[2].split("\n")
    for lines in (waited, read):
        assert [line for line in lines if line and not strict(path, line)] == []
        assert "dog" in "\n".join(lines)


@pytest.mark.parametrize("path", BODIES)
def test_stream_ends_with_its_last_event_though_the_engine_lingers(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lingering(ScriptedEngine):
        def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
            yield from super().generate(request, cancel)
            assert is_read.wait(PATIENCE)

    monkeypatch.setattr(worker, "KEEPALIVE_SECONDS", 0.001)
    is_read = threading.Event()
    with serving(Lingering()) as running:
        text = running.ask("POST", path, body=json.dumps(BODIES[path] | {"stream": True}))[2]
        is_read.set()
    result = said.streamed(path, text)
    assert isinstance(result, said.Said)
    assert result.choices[0].text == "The quick brown fox jumps over the lazy dog."


def test_waiting_stream_of_openai_gives_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "KEEPALIVE_SECONDS", 0)
    with serving(Slow()) as running, running.client() as client:
        asked: Any = {"model": "toy", "messages": HI, "stream": True}
        chunks: list[Any] = list(client.chat.completions.create(**asked))
        texts = [chunk.choices[0].delta.content or "" for chunk in chunks]
        assert "".join(texts) == "The quick brown fox jumps over the lazy dog."
        assert [chunk.choices[0].delta.role for chunk in chunks if chunk.choices[0].delta.role] == ["assistant"]
        with client.responses.stream(model="toy", input="Hi") as stream:
            assert stream.get_final_response().output_text == "The quick brown fox jumps over the lazy dog."


def test_kept_connection_outlives_the_limit_of_a_head() -> None:
    limits = Limits(head_seconds=0.05, connection_seconds=PATIENCE)
    with serving(ScriptedEngine(), limits) as running, closing(idle_client(running)) as connection:
        kept = connection.sock
        for _ in range(3):
            time.sleep(0.1)  # twice the limit of a head
            connection.request("POST", CHAT, chat_body(), {"Authorization": f"Bearer {KEY}"})
            reply = connection.getresponse()
            assert (reply.status, reply.getheader("keep-alive")) == (200, f"timeout={PATIENCE:.0f}")
            reply.read()
            assert connection.sock is kept


def idle_client(running: Running, receive_buffer: int | None = None) -> http.client.HTTPConnection:
    """Return a connection. `receive_buffer`: bytes that the system takes although the client does not read them."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port)
    connection.sock = socket.socket()
    if receive_buffer:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.sock.connect(("127.0.0.1", running.port))
    return connection


def test_idle_connection_is_kept_for_a_minute_or_more(running: Running) -> None:
    seconds = int(running.ask("GET", "/health")[1]["keep-alive"].removeprefix("timeout="))
    assert seconds >= 60
    assert running.server._server.config.timeout_keep_alive > seconds


def test_client_that_is_slow_to_send_learns_that_the_server_stops(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server, "_SHUTDOWN_SECONDS", 0)
    recorder = ReportRecorder()
    with serving(ScriptedEngine(), tell=recorder.take) as running, closing(idle_client(running)) as client:
        client.putrequest("POST", CHAT)
        client.putheader("Authorization", f"Bearer {KEY}")
        client.putheader("Content-Length", "900")
        client.endheaders(b'{"messages"')
        wait_until(lambda: recorder.paths)
        running.server.stop()
        reply = client.getresponse()
        assert (reply.status, json.loads(reply.read())["error"]["code"]) == (503, "stopping")
    assert (recorder.ended(1).status, recorder.ended(1).code) == (503, "stopping")
    assert not caplog.records


def test_client_that_stops_reading_hangs_up_no_server(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server, "_SHUTDOWN_SECONDS", 0)
    engine, recorder = ScriptedEngine(["word " * 2000]), ReportRecorder()
    with (
        serving(engine, send_buffer=4096, tell=recorder.take) as running,
        closing(idle_client(running, receive_buffer=4096)) as client,
    ):
        body = json.dumps({"messages": HI, "max_tokens": 2000, "stream": True})
        client.request("POST", CHAT, body, {"Authorization": f"Bearer {KEY}"})
        wait_until(lambda: threads_that_answer() == 0 and engine.requests)
        running.server.stop()
    assert recorder.ended(1).code == "stopping"
    assert not caplog.records


def test_reply_while_the_server_stops_is_the_last_of_its_connection() -> None:
    with serving(ScriptedEngine()) as running:
        running.server._worker.stop()
        for method, path in (("GET", "/health"), ("POST", CHAT)):
            assert running.ask(method, path, body=chat_body())[1]["connection"] == "close"


def threads_that_answer() -> int:
    return sum(thread.name == "answer" for thread in threading.enumerate())


def test_client_that_reads_no_reply_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    recorder = ReportRecorder()
    limits = Limits(send_seconds=0.01)
    with (
        serving(ScriptedEngine(), limits, tell=recorder.take, send_buffer=4096) as running,
        closing(idle_client(running, receive_buffer=4096)) as client,
    ):
        head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n"
        client.sock.sendall(f"GET /openapi.json HTTP/1.1\r\n{head}\r\n".encode())
        body = chat_body().encode()
        client.sock.sendall(f"POST {CHAT} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert recorder.ended(2).prompt_tokens == 1
    assert not caplog.records


def test_page_of_an_allowed_origin_reaches_a_private_network() -> None:
    page = "https://chat.example.org"
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true"}
    with serving(ScriptedEngine(), origins=(page,)) as running:
        status, headers, _ = running.ask("OPTIONS", CHAT, asked | {"Origin": page, "Authorization": ""})
        assert (status, headers["access-control-allow-private-network"]) == (200, "true")
        assert headers["access-control-allow-origin"] == page
        status, headers, _ = running.ask("OPTIONS", CHAT, asked | {"Origin": "https://evil.example"})
        assert (status, [name for name in headers if name.startswith("access-control")]) == (403, [])


@pytest.mark.filterwarnings("ignore")
def test_page_of_an_allowed_origin_can_read_every_error() -> None:
    page = "https://chat.example.org"
    engine = ScriptedEngine([RuntimeError("A bug.")])
    with serving(engine, Limits(body_bytes=9000), origins=(page,)) as running:
        for path, headers, body, expected in (
            (CHAT, {"Authorization": ""}, chat_body(), 401),
            (CHAT, {}, "{", 400),
            (CHAT, {}, chat_body(model="other"), 404),
            (CHAT, {}, "a" * 9001, 413),
            (CHAT, {"Content-Encoding": "lz4"}, "{}", 415),
            ("/v1/nothing", {}, "", 404),
            (CHAT, {}, chat_body(), 500),
        ):
            status, told, text = running.ask("POST", path, {"Origin": page, **headers}, body)
            assert (status, told["access-control-allow-origin"]) == (expected, page)
            assert told["access-control-expose-headers"] == "*"
            assert json.loads(text)["error"]["message"]


def test_every_reply_has_an_id() -> None:
    with serving(ScriptedEngine()) as running:
        ids = set[str]()
        for path, body in (*BODIES.items(), ("/v1/nothing", {}), ("/v1/messages", {"messages": []})):
            for stream in (False, True):
                _, headers, text = running.ask("POST", path, body=json.dumps(body | {"stream": stream}))
                ids.add(headers["x-request-id"])
                assert headers.get("request-id") == (headers["x-request-id"] if "messages" in path else None)
                if path == "/v1/messages" and not body["messages"]:
                    assert json.loads(text)["request_id"] == headers["request-id"]
        with running.client() as client:
            ids.add(client.models.list()._request_id or "")
        ids.add(running.ask("GET", "/v1/models", {"Authorization": ""})[1]["x-request-id"])
    assert len(ids) == 18
    assert all(re.fullmatch(r"req_[0-9a-f]{24}", each) for each in ids)


def test_unknown_model_names_the_flag_that_answers_to_it(running: Running) -> None:
    status, _, text = running.ask("POST", CHAT, body=chat_body(model="claude-sonnet-4-5"))
    assert (status, "--alias claude-sonnet-4-5=toy" in json.loads(text)["error"]["message"]) == (404, True)
