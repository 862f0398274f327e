"""Random orders of what several clients do at once: each request ends, and no answer depends on what runs beside it."""

import http.client
import json
import logging
import os
import random
import re
import signal
import socket
import struct
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bench.toy import PROGRAM, ToyEngine, ToyModels
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Prefill,
    Request,
    TranscriptionRequest,
    VectorsRequest,
    no_stats,
)
from headstart.engine.local import LocalEngine
from headstart.engine.process.client import EngineClient
from headstart.engine.process.host import EnginePool
from headstart.engine.protocol import (
    Cancel,
    CountTokens,
    Describe,
    Described,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    ReadAhead,
    Report,
    Serving,
    StartServer,
    StopServer,
    WriteTitle,
)
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.speech.transcript import Segment, SpeechTranscript
from headstart.engine.supervision import Journal
from headstart.errors import BrokenModelError, EngineLostError
from headstart.server import keys, streaming, worker
from headstart.server.models import LoadedModels, OpenModel, Served
from headstart.server.worker import Limits
from tests.engine.answers import load
from tests.engine.process.hosted import Hosted, hosted
from tests.server import histories, said
from tests.server.histories import Turn
from tests.server.said import CHAT, MESSAGES, OLLAMA_CHAT, OLLAMA_TEXT, RESPONSES, TEXT, Fault, Said
from tests.server.serving import KEY, Running, chat_body, serving
from tests.support.waiting import PATIENCE, wait_until

_CLIENTS = 4
_KEYS = ("one", "two")
_TERMS = "These are the terms of the work, and these are its conditions.\n" * 6
_TEXTS = ("Hi", f"{_TERMS}What are they?", f"{_TERMS}Who may copy it?", "the terms, the terms, the terms", "def add(a")
_SCHEMA = {"type": "object", "properties": {"at": {"enum": ["home", "work"]}}, "required": ["at"]}
_ACTIONS = (
    *["ask"] * 8,
    *["refused", "read_slowly", "leave_inside", "leave_waiting", "look", "count"] * 2,
    *["cut_body", "never_read", "half_close", "pipeline", "embed", "write_down", "load", "kill", "vanish", "unfit"],
)
_REFUSED: tuple[tuple[str, str, Any, int], ...] = (
    (CHAT, "{", None, 400),
    (CHAT, "", {"messages": []}, 400),
    (CHAT, "", {"messages": [{"role": "user", "content": "Hi"}], "temperature": 3}, 400),
    (CHAT, "", {"messages": [{"role": "user", "content": "Hi"}], "model": "other"}, 404),
    (TEXT, "", {"prompt": ""}, 400),
    (RESPONSES, "", {"input": "Hi", "previous_response_id": "resp_1"}, 400),
    (RESPONSES, "", {"input": [{"type": "item_reference", "id": "msg_1"}]}, 400),
    (RESPONSES, "", {"input": "Hi", "background": True}, 400),
    (MESSAGES, "", {"messages": [{"role": "robot", "content": "Hi"}], "max_tokens": 5}, 400),
    (MESSAGES, "", {"messages": [{"role": "user", "content": "Hi"}], "model": "other"}, 404),
    (OLLAMA_CHAT, "", {"messages": [{"role": "user", "content": "Hi"}], "options": {"temperature": 9}}, 400),
    (OLLAMA_TEXT, "", {"prompt": "Hi", "model": "other"}, 404),
    (OLLAMA_TEXT, "[]", None, 400),
    ("/v1/embeddings", "", {"input": []}, 400),
    ("/v1/embeddings", "", {"input": "Hi", "model": "one"}, 400),
    ("/v1/rerank", "", {"query": "Hi", "documents": []}, 400),
    ("/v1/audio/transcriptions", "{}", None, 400),
    ("/api/pull", "", {"model": "one"}, 400),
)
_GETS = ("/metrics", "/v1/models", "/v1/models/one", "/api/ps", "/api/tags", "/api/version", "/health")
_UNKNOWN = ("/v1/responses/resp_1", "/v1/responses/resp_1/cancel", "/api/nothing")
_TRANSCRIPT = SpeechTranscript((Segment(0.5, 3.25, "One."),), "en", 6.0)
_LONG = "terms and conditions " * 2000
_STOPS = (" the", "e", "a", "ing")
_FORM = {"type": "json_schema", "json_schema": {"name": "place", "schema": _SCHEMA}}
_LOGPROBS: dict[str, dict[str, Any]] = {
    CHAT: {"logprobs": True, "top_logprobs": 2},
    TEXT: {"logprobs": 2},
    RESPONSES: {"include": ["message.output_text.logprobs"], "top_logprobs": 1},
    MESSAGES: {},
    OLLAMA_CHAT: {"logprobs": True},
    OLLAMA_TEXT: {"logprobs": True},
}
_SCHEMAS: dict[str, dict[str, Any]] = {
    CHAT: {"response_format": _FORM},
    RESPONSES: {"text": {"format": {"type": "json_schema", "name": "place", "schema": _SCHEMA}}},
    MESSAGES: {"output_format": {"type": "json_schema", "schema": _SCHEMA}},
    OLLAMA_CHAT: {"format": _SCHEMA},
    OLLAMA_TEXT: {"format": _SCHEMA},
}
_MUST_CALL: dict[str, dict[str, Any]] = {
    CHAT: {"tool_choice": "required"},
    RESPONSES: {"tool_choice": "required"},
    MESSAGES: {"tool_choice": {"type": "any"}},
}
_MAY_HAPPEN = {  # to any request, by a part of the sentence
    "requests are waiting already": 429,
    "was killed": 503,
    "has vanished": 500,
    "is not served here": 404,
}


class _Pool:
    """A loaded model, or a stand-in, that can be killed. Its engines write at the same time, as in a process."""

    def __init__(self, engine: Any) -> None:
        self.engines = [engine, *getattr(engine, "others", ())]
        self._pool, self._life = EnginePool(self.engines), 0

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        if request.tokens_only:
            yield from self.engines[0].generate(request, cancel)
            return
        number, life = self._pool.acquire(), self._life
        try:
            for event in self._pool.engine(number).generate(request, cancel):
                if life != self._life:
                    raise EngineLostError("The engine was killed; it starts again when needed.")
                yield event
        finally:
            self._pool.release(number)

    @property
    def is_free(self) -> bool:
        return self._pool.is_free

    def kill(self) -> None:
        """End the answers in progress."""
        self._life += 1

    def close(self) -> None:
        assert self.is_free, "no answer is cut off by another model"

    def forget(self) -> None:
        """Free what was read of earlier texts."""
        assert self.is_free
        for engine in self.engines:
            if isinstance(engine, LocalEngine):
                assert isinstance(engine.target.runner, PagedRunner)
                assert not engine.target.runner.batcher.schedule.at_work
                engine.forget_all()


class _Vectors:
    """Vectors of two numbers for each text."""

    def generate(self, request: Request, _cancel: CancelEvent | None = None) -> Iterator[Event]:
        assert isinstance(request, VectorsRequest)
        vectors = tuple(struct.pack("<2f", 1.0, len(text)) for text in request.inputs)
        yield Finish(FinishReason.STOP, no_stats(), (), vectors=vectors)

    def close(self) -> None:
        """Do nothing: nothing is held."""


class _Speech:
    """The same words for each recording."""

    def generate(self, request: Request, _cancel: CancelEvent | None = None) -> Iterator[Event]:
        assert isinstance(request, TranscriptionRequest)
        assert Path(request.recording).read_bytes()
        yield Prefill(0, 6)
        yield Finish(FinishReason.STOP, no_stats(), (), transcript=_TRANSCRIPT)


class _World:
    """The models of a server, and what its clients saw."""

    def __init__(self, pools: dict[str, _Pool]) -> None:
        self.pools = pools
        self.hidden = set[str]()  # models whose folders have vanished
        self.models = LoadedModels(self._listed, self._load)
        self.answers: list[tuple[str, dict[str, Any], Said]] = []
        self.told: Counter[tuple[str, int]] = Counter()  # replies that a client has read, by route and status
        self.sent = 0  # requests
        self.stopped = False  # the server

    def _listed(self) -> list[Served]:
        kinds: dict[str, Any] = {"vectors": {"dimensions": 2}, "speech": {"languages": 9}}
        return [Served(name, 1024, **kinds.get(name, {})) for name in self.pools if name not in self.hidden]

    def _load(self, name: str) -> OpenModel:
        if name in self.hidden:
            raise BrokenModelError(f"The folder of {name} has vanished: install it again.")
        return OpenModel(self.pools[name], 1024, len(self.pools[name].engines))


class _Client:
    """A client that acts at random."""

    def __init__(self, running: Running, world: _World, name: str) -> None:
        self.running, self.world, self.random = running, world, random.Random(name)
        self.key = self.random.choice(_KEYS)
        self.kept = self._connection()  # for several requests
        self.unread = list[socket.socket]()
        self.done = list[str]()

    def act(self) -> None:
        """Carry out a random action."""
        name = self.random.choice(_ACTIONS)
        self.done.append(name)
        getattr(self, name)()

    def close(self) -> None:
        self.kept.close()
        for connection in self.unread:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.running.port, timeout=PATIENCE)

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def _send(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, str, bytes]:
        """Return status, type and body of a reply on the kept connection."""
        self.world.sent += 1
        self.kept.request(method, path, body or None, self._headers | (headers or {}))
        reply = self.kept.getresponse()
        self.world.told[path, reply.status] += 1
        return reply.status, reply.headers["content-type"], reply.read()

    def _raw(self, path: str, body: bytes, missing: int = 0) -> socket.socket:
        """Send a request on a connection of its own; `missing` bytes of its body do not come."""
        self.world.sent += 1
        connection = self._connect()
        connection.sendall(self._request(path, body, missing))
        return connection

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.running.port), timeout=PATIENCE)

    def _request(self, path: str, body: bytes, missing: int = 0) -> bytes:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.key}\r\n"
        return f"{head}Content-Length: {len(body) + missing}\r\n\r\n".encode() + body

    def _body(self, path: str) -> dict[str, Any]:
        """Return a random request for an answer."""
        dice, tokens = self.random, self.random.choice((1, 3, 8, 24))
        body: dict[str, Any] = {"prompt": dice.choice(_TEXTS)}
        if path in histories.ROUTES:
            body = histories.ROUTES[path](_turns(dice))
        has_tools = "tools" in body and dice.random() < 0.5
        if not has_tools:
            body.pop("tools", None)
        elif dice.random() < 0.3:
            body |= _MUST_CALL.get(path, {})
        sampling: dict[str, Any] = dice.choice(({"temperature": 0}, {"temperature": 0.9, "seed": dice.randrange(3)}))
        if dice.random() < 0.3:
            sampling["stop"] = [dice.choice(_STOPS)]
        if path.startswith("/api/"):
            body |= {"options": {**sampling, "num_predict": tokens}, "stream": False}
        else:
            body |= sampling
            body[{RESPONSES: "max_output_tokens"}.get(path, "max_tokens")] = tokens
        if path in {CHAT, TEXT} and dice.random() < 0.3:
            body["n"] = dice.choice((2, 3))
        if dice.random() < 0.3:
            body |= _LOGPROBS[path]
        elif not has_tools and dice.random() < 0.2:
            body |= _SCHEMAS.get(path, {})
        body["model"] = dice.choice(("one", "one", "one", "two"))
        return body

    def _route(self) -> str:
        return self.random.choice(said.ROUTES)

    def _note(self, path: str, body: dict[str, Any], result: Said | Fault, status: int = 200) -> None:
        """Keep an answer, or check that an error is one of those that may happen to any request."""
        if isinstance(result, Said):
            self.world.answers.append((path, body, result))
            return
        if self.world.stopped and "is being stopped" in result.sentence:
            assert status in {200, 503}
            return
        cause = next((words for words in _MAY_HAPPEN if words in result.sentence), None)
        assert cause, f"{path} {body}: {status} {result}"
        assert status in {200, _MAY_HAPPEN[cause]}, result

    def ask(self) -> None:
        """Ask for an answer, whole or in a stream."""
        path = self._route()
        body, stream = self._body(path), self.random.random() < 0.5
        sent = body | {"stream": stream}
        if stream and path in {CHAT, TEXT} and self.random.random() < 0.5:
            sent["stream_options"] = {"include_usage": True}
        status, kind, data = self._send("POST", path, json.dumps(sent).encode())
        if kind.startswith(("text/event-stream", "application/x-ndjson")):
            assert status == 200
            self._note(path, body, said.streamed(path, data.decode()))
        else:
            self._note(path, body, said.whole(path, json.loads(data)), status)

    def refused(self) -> None:
        path, text, body, status = self.random.choice(_REFUSED)
        told, _, data = self._send("POST", path, (text or json.dumps(body)).encode())
        assert isinstance(said.fault(path, json.loads(data)), Fault), data
        assert told in {status, 404}, data  # the model may have vanished

    def read_slowly(self) -> None:
        """Read a stream byte by byte."""
        path = self._route()
        body = self._body(path)
        with closing(self._raw(path, json.dumps(body | {"stream": True}).encode())) as connection:
            reply = http.client.HTTPResponse(connection)
            reply.begin()
            self.world.told[path, reply.status] += 1
            data = b"".join(iter(lambda: reply.read(1), b""))
        if reply.status == 200:
            self._note(path, body, said.streamed(path, data.decode()))
        else:
            self._note(path, body, said.whole(path, json.loads(data)), reply.status)

    def leave_inside(self) -> None:
        """Leave after the first bytes of a stream."""
        path = self._route()
        sent = self._body(path) | {"stream": True}
        with closing(self._raw(path, json.dumps(sent).encode())) as connection:
            if self.random.random() < 0.3:  # what is not read yet ends the connection at once
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.recv(self.random.choice((1, 300, 2000)))

    def leave_waiting(self) -> None:
        """Leave before the first byte of the reply."""
        path = self._route()
        sent = self._body(path) | {"stream": self.random.random() < 0.5}
        self._raw(path, json.dumps(sent).encode()).close()

    def cut_body(self) -> None:
        """Leave in the middle of the body."""
        path = self._route()
        data = json.dumps(self._body(path)).encode()
        self._raw(path, data[: self.random.randrange(len(data))], missing=9).close()

    def never_read(self) -> None:
        path = self._route()
        self.unread.append(self._raw(path, json.dumps(self._body(path) | {"stream": True}).encode()))

    def half_close(self) -> None:
        """End the own half of a connection after the request, and read what comes."""
        path = self._route()
        with closing(self._raw(path, json.dumps(self._body(path) | {"stream": False}).encode())) as connection:
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass

    def pipeline(self) -> None:
        """Send two requests at once on one connection."""
        path = self._route()
        first = self._request(path, json.dumps(self._body(path) | {"stream": False}).encode())
        second = self._request(OLLAMA_CHAT, b"{").replace(b"Host:", b"Connection: close\r\nHost:")
        self.world.sent += 2
        with closing(self._connect()) as connection:
            connection.sendall(first + second)
            data = b"".join(iter(lambda: connection.recv(4096), b""))
        if self.world.stopped:
            return
        assert data.count(b"HTTP/1.1 ") == 2, data
        assert isinstance(said.fault(OLLAMA_CHAT, json.loads(data.rpartition(b"\r\n\r\n")[2])), Fault), data

    def look(self) -> None:
        """Ask for what the server knows, or for what it does not have."""
        if self.random.random() < 0.2:
            path = self.random.choice((RESPONSES, *_UNKNOWN))
            method = self.random.choice(("GET", "DELETE"))
            status, _, data = self._send(method, path)
            assert status in {404, 405}, data
            assert isinstance(said.fault(path, json.loads(data)), Fault)
            return
        path = self.random.choice(_GETS)
        status, _, data = self._send("GET", path)
        assert status == 200 or (path == "/v1/models/one" and status == 404), data

    def count(self) -> None:
        """Ask for tokens alone."""
        path, route = self.random.choice(
            (("/v1/messages/count_tokens", MESSAGES), ("/v1/responses/input_tokens", RESPONSES), ("/tokenize", TEXT))
        )
        body = self._body(route)
        if path == "/tokenize":
            body = {"model": body["model"], "prompt": body["prompt"]}
        status, _, data = self._send("POST", path, json.dumps(body).encode())
        self._check(path, status, json.loads(data), ("count", "input_tokens"))

    def embed(self) -> None:
        path, body = self.random.choice(
            (
                ("/v1/embeddings", {"input": ["a", "bc"]}),
                ("/api/embed", {"input": "a"}),
                ("/api/embeddings", {"prompt": "a"}),
                ("/v1/rerank", {"query": "a", "documents": ["b", "cde"]}),
            )
        )
        status, _, data = self._send("POST", path, json.dumps(body | {"model": "vectors"}).encode())
        self._check(path, status, json.loads(data), ("data", "embeddings", "embedding", "results"))

    def write_down(self) -> None:
        part = 'Content-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
        file = 'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nsound\r\n'
        form = f"--cut\r\n{part.format('model', 'speech')}--cut\r\n{file}--cut--\r\n".encode()
        kind = {"Content-Type": "multipart/form-data; boundary=cut"}
        status, _, data = self._send("POST", "/v1/audio/transcriptions", form, kind)
        self._check("/v1/audio/transcriptions", status, json.loads(data), ("text",))

    def load(self) -> None:
        """Load a model through Ollama's API, or ask to free it."""
        path = self.random.choice((OLLAMA_CHAT, OLLAMA_TEXT))
        body = {"model": self.random.choice(("one", "two")), "keep_alive": self.random.choice((0, -1, "5m"))}
        status, _, data = self._send("POST", path, json.dumps(body).encode())
        self._check(path, status, json.loads(data), ("done_reason",))

    def unfit(self) -> None:
        """Send a conversation that is longer than the context."""
        path = self._route()
        body = self._body(path) | {"stream": self.random.random() < 0.5}
        key = next(name for name in ("prompt", "input", "messages") if name in body)
        body[key] = _LONG if key != "messages" else [{"role": "user", "content": _LONG}]
        body.pop("n", None)
        status, kind, data = self._send("POST", path, json.dumps(body).encode())
        is_stream = kind.startswith(("text/event-stream", "application/x-ndjson"))
        result = said.streamed(path, data.decode()) if is_stream else said.whole(path, json.loads(data))
        assert isinstance(result, Fault), result
        if "context" not in result.sentence:
            self._note(path, body, result, status)

    def kill(self) -> None:
        self.random.choice(list(self.world.pools.values())).kill()

    def vanish(self) -> None:
        """Let the folder of a model vanish, or come back."""
        if self.world.hidden:
            self.world.hidden.clear()
        else:
            self.world.hidden.add(self.random.choice(list(self.world.pools)))

    def _check(self, path: str, status: int, reply: Any, names: tuple[str, ...]) -> None:
        """Check a reply that has one of some fields, or an error that may happen."""
        error = said.fault(path, reply)
        if error:
            self._note(path, {}, error, status)
        else:
            assert status == 200
            assert any(reply.get(name) for name in names), reply


def _turns(dice: random.Random) -> list[Turn]:
    """Return a random conversation, sometimes with calls whose results come in any order, or not all of them."""
    turns = [Turn("user", (dice.choice(_TEXTS),))]
    if dice.random() < 0.5:
        calls: tuple[histories.Call, ...] = (
            ("call_1", "look", {"at": "home"}),
            ("call_2", "time", {}),
            ("call_3", "look", {"at": "work"}),
        )
        results = [(id_, f"result of {id_}") for id_, _, _ in calls]
        if dice.random() < 0.5:
            results = dice.sample(results, dice.randint(1, 3))
        turns.append(Turn("assistant", ("Let me see.",), calls, tuple(results)))
        if dice.random() < 0.5:
            turns.append(Turn("user", ("And now?",)))
    return turns


@pytest.fixture(scope="module")
def pools(tiny_target: Path) -> Iterator[dict[str, _Pool]]:
    with closing(load(LoadOptions(tiny_target, parallel=2))) as one:
        yield {
            "one": _Pool(one),
            "two": _Pool(ToyEngine(0.001)),
            "vectors": _Pool(_Vectors()),
            "speech": _Pool(_Speech()),
        }


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_answers_do_not_depend_on_what_runs_beside_them(
    pools: dict[str, _Pool], seed: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, dice, steps = _World(pools), random.Random(seed), 8 if seed == 0 else 40
    for module in (worker, streaming):  # some streams say often that they wait
        monkeypatch.setattr(module, "KEEPALIVE_SECONDS", dice.choice((0.002, 5.0)))
    limits = Limits(parallel=2, waiting=5, idle_seconds=dice.choice((None, 0.01)))
    order: dict[str, Any] = {"keys": tuple(map(keys.digest, (*_KEYS, KEY)))}
    with serving(pools["one"], limits, models=world.models, usual="one", **order) as running:
        clients = [_Client(running, world, f"{seed} {number}") for number in range(_CLIENTS)]

        def stop(faults: list[str]) -> None:
            if is_stopped:
                wait_until(lambda: faults or len(world.answers) > wanted)
                world.stopped = True
                running.server.stop()

        is_stopped, wanted = seed % 4 == 3, dice.randrange(1, steps)
        try:
            faults = _together(clients, steps, stop)
        finally:
            for client in clients:
                client.close()
        assert not faults, faults
        world.hidden.clear()
        wait_until(lambda: all(pool.is_free for pool in pools.values()))
        if not is_stopped:
            _check_metrics(running, world)
        counted = (10**9, 10**9) if is_stopped else _tokens(running)
    with serving(pools["one"], limits, models=world.models, usual="one", **order) as running:
        _check_answers(running, world, counted)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def _together(clients: list[_Client], steps: int, meanwhile: Callable[[list[str]], None]) -> list[str]:
    """Let all clients act at the same time, and return what went wrong, also to `meanwhile`."""
    faults = list[str]()

    def act(client: _Client) -> None:
        try:
            for _ in range(steps):
                client.act()
        except Exception as error:  # noqa: BLE001 - it fails the test
            if not (client.world.stopped and isinstance(error, ConnectionError)):
                faults.append(f"{client.done}: {traceback.format_exc()}")

    threads = [threading.Thread(target=act, args=(client,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    meanwhile(faults)
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), [client.done for client in clients]
    return faults


def _check_metrics(running: Running, world: _World) -> None:
    def counted() -> Counter[tuple[str, int]]:
        found = Counter[tuple[str, int]]()
        for name, count in running.metrics().items():
            if match := re.fullmatch(r'headstart_requests_total{route="(.*)",status="(\d+)"}', name):
                found[match[1], int(match[2])] = int(count)
        return found

    def others(found: Counter[tuple[str, int]]) -> int:
        return sum(found.values()) - found["/metrics", 200]

    told = world.told - Counter({key: count for key, count in world.told.items() if key[0] == "/metrics"})
    sent = world.sent - world.told["/metrics", 200]
    wait_until(lambda: others(counted()) == sent)
    known = counted()
    for (path, status), count in told.items():
        route = "/v1/models/{model}" if path == "/v1/models/one" else "other" if path in _UNKNOWN else path
        assert known[route, status] >= count, (route, status)


def _tokens(running: Running) -> tuple[int, int]:
    """Return how many tokens of prompts and of answers are counted."""
    told = running.metrics()
    return int(told["headstart_prompt_tokens_total"]), int(told["headstart_generation_tokens_total"])


def _check_answers(running: Running, world: _World, counted: tuple[int, int]) -> None:
    """Compare each answer with that of a server that does nothing else, and has read nothing before.

    That server must count what the replies say; the other had `counted` what they say, and answers nobody read.
    """
    for pool in world.pools.values():
        pool.forget()
    alone = dict[str, Said]()
    for path, body, result in world.answers:
        name = f"{path} {json.dumps(body)}"
        if name not in alone:
            status, _, text = running.ask("POST", path, body=json.dumps(body))
            reply = said.whole(path, json.loads(text))
            assert status == 200
            assert isinstance(reply, Said)
            alone[name] = reply
        assert result.choices == alone[name].choices, name
        assert result.usage in {None, alone[name].usage}, name
    assert _tokens(running) == _sum(alone.values())
    told = _sum(alone[f"{path} {json.dumps(body)}"] for path, body, _ in world.answers)
    assert all(one >= other for one, other in zip(counted, told, strict=True)), (counted, told)


def _sum(answers: Iterable[Said]) -> tuple[int, int]:
    usages = [answer.usage for answer in answers if answer.usage]
    return sum(prompt for prompt, _ in usages), sum(written for _, written in usages)


class _Window:
    """A window over a toy, whose process has the server inside. It acts at random."""

    def __init__(self, process: Hosted, seed: int) -> None:
        self.process, self.random = process, random.Random(seed)
        self.asked = list[int]()
        self.url = ""

    def act(self) -> None:
        """Send a random order."""
        number = len(self.asked) + 1
        question = self.random.choice(("Hi", "toy: words 60", "toy: refuse", "toy: bug"))
        request = ConversationRequest((Message("user", question),), max_new_tokens=200)
        match self.random.choice(_ORDERS):
            case "ask":
                self.process.say(Generate(number, request))
                self.asked.append(number)
            case "tokens":
                self.process.say(Generate(number, structs.replace(request, tokens_only=True)))
                self.asked.append(number)
            case "cancel" if self.asked:
                self.process.say(Cancel(self.random.choice(self.asked)))
            case "count":
                self.process.say(CountTokens(number, request))
            case "ahead":
                self.process.say(ReadAhead(number, request))
            case "title":
                self.process.say(WriteTitle(number, request))
            case "load":
                self.process.say(Load(LoadOptions(Path("toy"), parallel=self.random.choice((1, 2)))))
            case "server":
                self.process.say(self.random.choice((_START, _START, StopServer())))


_ORDERS = (*["ask"] * 3, "tokens", "cancel", "count", "ahead", "title", "load", "server")
_START = StartServer("toy", (keys.digest(KEY),), "127.0.0.1", 0, parallel=2)
_TOLD = {  # what a client of a toy may be told, by its question
    "Hi": "You wrote: Hi ",
    "toy: words 30": None,
    "toy: refuse": "The toy refuses",
    "toy: bug": "The engine failed",
}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_window_and_clients_share_a_model_in_any_order(seed: int, headstart_home: Path) -> None:
    steps, reports = (40 if seed else 25), list[Report]()
    with hosted(ToyModels(0.0005)) as process:
        window, ended = _Window(process, seed), threading.Event()
        process.say(Load(LoadOptions(Path("toy"), parallel=2)))
        process.hear(Loaded)
        process.say(_START)
        window.url = process.hear(Serving)[-1].url
        faults = list[str]()

        def ask(number: int) -> None:
            dice = random.Random(f"{seed} {number}")
            try:
                while not ended.is_set():
                    _ask_toy(window.url, dice)
            except Exception:  # noqa: BLE001 - it fails the test
                faults.append(traceback.format_exc())

        clients = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(3)]
        for client in clients:
            client.start()
        for _ in range(steps):
            window.act()
            if window.random.random() < 0.5:
                process.say(Describe(-1))
                reports += process.hear(Described)
                window.url = next((each.url for each in reversed(reports) if isinstance(each, Serving)), window.url)
        ended.set()
        for client in clients:
            client.join(PATIENCE)
            assert not client.is_alive()
        process.say(StopServer(), Generate(-2, ConversationRequest((Message("user", "Last"),), max_new_tokens=9)))
        wanted = Counter((*window.asked, -2))
        while wanted - _ends(reports):
            reports += process.hear(Finished, Failed)
        assert _ends(reports) == wanted
        assert not faults, faults


def _ends(reports: list[Report]) -> Counter[int]:
    """Return how often each answer of the window has ended."""
    return Counter(
        report.generation
        for report in reports
        if isinstance(report, Finished | Failed) and report.generation is not None
    )


def _ask_toy(url: str, dice: random.Random) -> None:
    question, path = dice.choice(list(_TOLD)), dice.choice((CHAT, MESSAGES, OLLAMA_CHAT))
    body = {"messages": [{"role": "user", "content": question}], "max_tokens": 90, "stream": dice.random() < 0.5}
    body = body if path != OLLAMA_CHAT else {name: value for name, value in body.items() if name != "max_tokens"}
    port = int(re.findall(r":(\d+)/", url)[0])
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        try:
            connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {KEY}"})
            reply = connection.getresponse()
            if dice.random() < 0.2:
                reply.read(9)
                return
            data = reply.read().decode()
        except ConnectionError:  # the server is stopped
            return
    is_stream = (reply.headers["content-type"] or "").startswith(("text/event-stream", "application/x-ndjson"))
    result = said.streamed(path, data) if is_stream else said.whole(path, json.loads(data))
    if isinstance(result, Fault):
        words = (_TOLD[question] or "", "is being stopped", "No model is loaded", "requests are waiting already")
        assert any(each and each in result.sentence for each in words), (question, result)
    else:
        assert result.choices[0].text == (_TOLD[question] or result.choices[0].text)


_LOST = ("stopped unexpectedly", "stopped too often", "did not stop in time")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("seed", range(4))
def test_clients_survive_kills_of_the_engine(seed: int, headstart_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    engines = dict[str, EngineClient]()

    def load_toy(name: str) -> OpenModel:
        engines[name] = EngineClient((*PROGRAM, "--pace", "0.002"), Journal(headstart_home / "engine.log"))
        engines[name].load(LoadOptions(Path(name), parallel=2))
        return OpenModel(engines[name], 2048, 2)

    models = LoadedModels(lambda: [Served(name, 2048) for name in ("toy", "other")], load_toy)
    ended, faults, answered = threading.Event(), list[str](), list[str]()

    def ask(number: int) -> None:
        dice = random.Random(f"{seed} {number}")
        try:
            while not ended.is_set():
                answered.append(_ask_mortal(running, dice))
        except Exception:  # noqa: BLE001 - it fails the test
            faults.append(traceback.format_exc())

    with closing(models), serving(ToyEngine(), models=models, limits=Limits(parallel=2)) as running:
        clients = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(3)]
        for client in clients:
            client.start()
        dice = random.Random(seed)
        for _ in range(6):
            before = len(answered)
            wait_until(lambda: faults or len(answered) > before + dice.randrange(4))  # noqa: B023 - it is called at once
            for engine in list(engines.values()):
                if (pid := engine.pid) and dice.random() < 0.7:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        ended.set()
        for client in clients:
            client.join(PATIENCE)
            assert not client.is_alive()
        assert not faults, faults
        for name in ("other", "toy", "other"):  # loaded anew, which ends the count of kills
            reply = running.ask("POST", CHAT, body=chat_body("Hi", model=name))
            if reply[0] != 200:
                assert any(words in reply[2] for words in _LOST), reply
        assert "You wrote: Hi" in reply[2]
        assert running.waiting == 0
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def _ask_mortal(running: Running, dice: random.Random) -> str:
    """Ask a model that may be killed. Return the answer or the error."""
    model, path = dice.choice(("toy", "toy", "other")), dice.choice((CHAT, MESSAGES, RESPONSES))
    question, stream = dice.choice(("Hi", "toy: words 60")), dice.random() < 0.5
    body: dict[str, Any] = {"model": model, "stream": stream}
    if path == RESPONSES:
        body |= {"input": question}
    else:
        body |= {"messages": [{"role": "user", "content": question}], "max_tokens": 90}
    status, _, text = running.ask("POST", path, body=json.dumps(body))
    is_stream = text.startswith(("event:", "data:"))
    result = said.streamed(path, text) if is_stream else said.whole(path, json.loads(text))
    if isinstance(result, Fault):
        assert any(words in result.sentence for words in _LOST), result
        assert status == (200 if is_stream else 503)
        return result.sentence
    assert question != "Hi" or result.choices[0].text == "You wrote: Hi "
    assert result.usage in {None, (2, 3), (4, 60)}, result
    return result.choices[0].text
