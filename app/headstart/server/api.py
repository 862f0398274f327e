"""The routes: models, chat, completions, and their description. Knows no socket and no key file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from headstart.engine.engine import Request
from headstart.errors import HeadstartError
from headstart.server import description
from headstart.server.answering import Manner, Reported, new_head
from headstart.server.bodies import BoundedBody
from headstart.server.gate import Doors, Gate, KeyCheck
from headstart.server.limits import Limits
from headstart.server.reading import Defaults, chat_order, parsed, text_order
from headstart.server.refusal import INVALID, SERVER, Fault, RefusedError, refused
from headstart.server.replies import CHAT, TEXT, Form, Model, ModelList
from headstart.server.requests import ChatRequest, TextRequest, Wish
from headstart.server.worker import Worker

_Order = TypeVar("_Order", ChatRequest, TextRequest)


@dataclass(frozen=True)
class Served:
    """What is offered, to whom, and within which bounds."""

    model: Model
    doors: Doors
    defaults: Defaults
    limits: Limits


class Api:
    """Answers what passed the doors."""

    def __init__(self, worker: Worker, served: Served) -> None:
        """`worker` writes the answers."""
        self._worker = worker
        self._served = served
        self._description = msgspec.json.encode(description.of(served.model.id))

    async def models(self, _: HttpRequest) -> Response:
        """What can be asked."""
        return _json(msgspec.json.encode(ModelList([self._served.model])))

    async def model(self, request: HttpRequest) -> Response:
        """One of them."""
        self._require(request.path_params["model"])
        return _json(msgspec.json.encode(self._served.model))

    async def chat(self, request: HttpRequest) -> Response:
        """Answer a conversation."""
        asked = parsed(await request.body(), ChatRequest)
        self._require(asked.model)
        return self._begun(chat_order(asked, self._served.defaults), asked, CHAT)

    async def complete(self, request: HttpRequest) -> Response:
        """Write a text on."""
        asked = parsed(await request.body(), TextRequest)
        self._require(asked.model)
        return self._begun(text_order(asked, self._served.defaults), asked, TEXT)

    async def openapi(self, _: HttpRequest) -> Response:
        """What there is, for programs."""
        return _json(self._description)

    def _begun(self, order: Request, asked: Wish, form: Form) -> Response:
        head = new_head("chatcmpl" if form is CHAT else "cmpl", self._served.model.id)
        with_usage = asked.stream_options is not None and bool(asked.stream_options.include_usage)
        with_tokens = order.likeliest is not None
        manner = Manner(form, head, bool(asked.stream), with_usage, with_tokens, self._served.limits.send_seconds)
        return Reported(self._worker.take(order), manner)

    def _require(self, name: str) -> None:
        if name != self._served.model.id:
            sentence = f"The model {name[:80]!r} is not served here: ask for {self._served.model.id!r}."
            raise RefusedError(404, Fault(sentence, INVALID, "model", "model_not_found"))


def application(worker: Worker, served: Served) -> Starlette:
    """The API with its doors."""
    api = Api(worker, served)
    return Starlette(
        routes=[
            Route("/v1/models", api.models),
            Route("/v1/models/{model:path}", api.model),
            Route("/v1/chat/completions", api.chat, methods=["POST"]),
            Route("/v1/completions", api.complete, methods=["POST"]),
            Route("/openapi.json", api.openapi),
        ],
        middleware=_middleware(served),
        exception_handlers={HeadstartError: _as_refusal, HTTPException: _as_http, Exception: _as_bug},
    )


def _middleware(served: Served) -> list[Middleware]:
    """From the outside in."""
    origins = sorted(served.doors.origins)
    pages = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])
    return [
        Middleware(Gate, served.doors),
        *([pages] if origins else []),
        Middleware(KeyCheck, served.doors),
        Middleware(BoundedBody, served.limits),
    ]


async def _as_refusal(_: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, HeadstartError)
    return _refusal(refused(error))


async def _as_http(request: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = f"{request.method} {request.url.path[:80]} is not answered here: see /openapi.json."
    return _refusal(RefusedError(error.status_code, Fault(sentence, INVALID, code="not_found"), error.headers))


async def _as_bug(_: HttpRequest, error: Exception) -> Response:
    """It is logged by whoever runs this."""
    sentence = f"The server failed ({type(error).__name__}): see what it printed, and report it."
    # Whoever runs this closes the connection after a bug; a client that is not told would send its next request there.
    return _refusal(RefusedError(500, Fault(sentence, SERVER), {"connection": "close"}))


def _refusal(refusal: RefusedError) -> Response:
    return _json(refusal.body, refusal.status, refusal.headers)


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json")
