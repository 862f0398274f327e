"""What a server tells whoever runs it: every request with its end, and lines that another program can read."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from headstart.engine.protocol import Answered, Asked, Serving
from headstart.errors import DeviceError, ProtocolError
from headstart.server import telling
from headstart.server.telling import Told
from tests.fakes import ScriptedEngine
from tests.server.serving import KEY, PATIENCE, Running, chat_body, serving

TOLD: tuple[Told, ...] = (
    telling.Loading("duo on CPU"),
    telling.KeyMade("hs-x"),
    Serving("duo", "http://127.0.0.1:1/v1", beyond=True),
    Asked(1, "POST", "/v1/中文"),
    Answered(1, 0.5, 200, 12, 34),
    Answered(2, 0.5, 0),
    telling.Failed("PortTakenError", "Port 1 is taken."),
    telling.Stopped(),
)


class Ear:
    """Keeps what is told, and lets a test wait for it."""

    def __init__(self) -> None:
        self._told: list[Told] = []
        self._changed = threading.Condition()

    def take(self, told: Told) -> None:
        with self._changed:
            self._told.append(told)
            self._changed.notify_all()

    def ended(self, number: int) -> Answered:
        """How the request with this number ended."""

        def found() -> Answered | None:
            ends = [told for told in self._told if isinstance(told, Answered) and told.number == number]
            return ends[0] if ends else None

        with self._changed:
            end = self._changed.wait_for(found, PATIENCE)
        assert end
        return end

    def came(self) -> list[Asked]:
        return [told for told in self._told if isinstance(told, Asked)]


@contextmanager
def heard(engine: ScriptedEngine) -> Iterator[tuple[Running, Ear]]:
    ear = Ear()
    with serving(engine, tell=ear.take) as running:
        yield running, ear


@pytest.mark.parametrize("told", TOLD, ids=lambda told: type(told).__name__)
def test_a_line_brings_back_what_was_told(told: Told) -> None:
    line = telling.encode(told)
    assert line.count(b"\n") == 1
    assert telling.decode(line) == told


@pytest.mark.parametrize("line", [b"", b"Hello", b"{}", b'{"type":"Asked"}', b'{"type":"Nothing"}', b"\xff"])
def test_what_is_no_such_line_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolError, match="no message of Headstart"):
        telling.decode(line)


def test_answers_are_told_with_their_tokens_and_refusals_with_their_status() -> None:
    with heard(ScriptedEngine(["a b c"])) as (running, ear):
        running.ask("POST", "/v1/chat/completions", body=chat_body())
        running.ask("POST", "/v1/chat/completions", body=chat_body(stream="true"))
        running.ask("POST", "/v1/chat/completions", {"Authorization": "Bearer no"}, chat_body())
        running.ask("GET", "/nothing/here")
        ends = [ear.ended(number) for number in (1, 2, 3, 4)]
    assert [end.status for end in ends] == [200, 200, 401, 404]
    whole, streamed, *others = ends
    assert whole.output_tokens == streamed.output_tokens
    assert (whole.output_tokens or 0) > 0
    assert all(end.output_tokens is None and end.prompt_tokens is None for end in others)
    assert [asked.path for asked in ear.came()][2:] == ["/v1/chat/completions", "/nothing/here"]


def test_a_failure_is_told_with_its_status() -> None:
    with heard(ScriptedEngine([DeviceError("It is gone.")])) as (running, ear):
        running.ask("POST", "/v1/chat/completions", body=chat_body())
        assert ear.ended(1).status == 500


def test_a_client_that_leaves_before_its_answer_is_told() -> None:
    with heard(ScriptedEngine(["word " * 1000], pause=0.01)) as (running, ear):
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=PATIENCE)
        with closing(connection):
            connection.request("POST", "/v1/chat/completions", chat_body(), {"Authorization": f"Bearer {KEY}"})
            assert connection.sock
            connection.sock.shutdown(socket.SHUT_RDWR)
        assert ear.ended(1).status in {0, 503}


def test_the_path_of_a_stranger_is_cut() -> None:
    with heard(ScriptedEngine([])) as (running, ear):
        running.ask("GET", "/" + "x" * 5000)
        ear.ended(1)
    assert len(ear.came()[0].path) == 200
