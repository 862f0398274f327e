"""What a server tells whoever runs it: every request with its end."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from headstart.engine.protocol import Answered, Asked, ServerReport
from tests.fakes import ScriptedEngine
from tests.server.serving import KEY, PATIENCE, Running, chat_body, serving


class Ear:
    """Keeps what is told, and lets a test wait for it."""

    def __init__(self) -> None:
        self._told: list[ServerReport] = []
        self._changed = threading.Condition()

    def take(self, told: ServerReport) -> None:
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
