"""A server in a thread, in front of an engine without a model, and clients for it."""

import http.client
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import openai

from headstart.engine.engine import Engine
from headstart.engine.protocol import Answered, Asked
from headstart.server import keys
from headstart.server.api import Served, application
from headstart.server.gate import Doors
from headstart.server.limits import Limits
from headstart.server.listening import Server, listen
from headstart.server.reading import Defaults
from headstart.server.replies import Model
from headstart.server.telling import Watched
from headstart.server.worker import Worker

MODEL, KEY = "toy", "hs-for-tests"
PATIENCE = 60.0  # seconds for what a loaded machine does in one


@dataclass(frozen=True)
class Offer:
    """What a test may want otherwise."""

    limits: Limits = field(default_factory=Limits)
    defaults: Defaults = field(default_factory=Defaults)
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    send_buffer: int | None = None  # bytes that the system takes although nobody reads them


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    port: int
    server: Server
    thread: threading.Thread

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def client(self, key: str = KEY, retries: int = 0) -> openai.OpenAI:
        """OpenAI's own client; to be closed."""
        return openai.OpenAI(base_url=self.url, api_key=key, max_retries=retries, timeout=PATIENCE)

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | str | None = None,
        patience: float = PATIENCE,
    ) -> tuple[int, Mapping[str, str], str]:
        """Status, headers and body of a request with the key, unless `headers` have another."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)) as connection:
            connection.request(method, path, body, {"Authorization": f"Bearer {KEY}"} | dict(headers or {}))
            reply = connection.getresponse()
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read().decode()


@contextmanager
def serving(
    engine: Engine, offer: Offer | None = None, tell: Callable[[Asked | Answered], None] = lambda _: None
) -> Iterator[Running]:
    """A server in front of `engine` while inside."""
    offer = offer or Offer()
    served = Served(Model(MODEL, 0), Doors(keys.digest(KEY), offer.hosts, offer.origins), offer.defaults, offer.limits)
    listener = listen("127.0.0.1", 0)
    if offer.send_buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, offer.send_buffer)
    with closing(Worker(engine, offer.limits)) as worker:
        server = Server(Watched(application(worker, served), tell), worker, offer.limits.head_seconds)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            yield Running(listener.getsockname()[1], server, thread)
        finally:
            server.stop()
            thread.join(PATIENCE)
            listener.close()
            assert not thread.is_alive()


def chat_body(text: str = "Hi", stream: str = "false") -> str:
    """A request as curl would send it."""
    message = f'{{"role":"user","content":"{text}"}}'
    return f'{{"model":"{MODEL}","stream":{stream},"messages":[{message}]}}'
