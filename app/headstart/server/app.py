"""The routes: models, chat, completions, and their description in OpenAPI's words."""

import asyncio
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from headstart import __version__
from headstart.engine.engine import Request
from headstart.errors import HeadstartError
from headstart.server.auth import Access, Guard
from headstart.server.refusal import INVALID, SERVER, Fault, FaultBody, RefusedError, invalid, refused
from headstart.server.replies import (
    ChatChunk,
    ChatCompletion,
    ChatForm,
    Form,
    Model,
    ModelList,
    TextCompletion,
    TextForm,
)
from headstart.server.requests import AnswerRequest, ChatRequest, Defaults, TextRequest, chat_order, parsed, text_order
from headstart.server.streaming import Reported
from headstart.server.worker import Limits, Worker

_Body = TypeVar("_Body", ChatRequest, TextRequest)
_MOST_DISCARDED = 64 * 2**20  # bytes
_CLOSING = {"connection": "close"}
_PLACE = "#/components/schemas/{name}"
_TYPES = (ChatRequest, TextRequest, ChatCompletion, ChatChunk, TextCompletion, ModelList, Model, FaultBody)
_FAULTS = {
    "400": "The request asks for what cannot be.",
    "401": "The key is missing or wrong.",
    "403": "A web page, or another name than this computer's.",
    "404": "There is no such model.",
    "408": "The request came too slowly.",
    "413": "The request is too large.",
    "429": "Too many requests wait; Retry-After says when to come again.",
    "500": "The server failed.",
    "503": "The engine was lost, or the server is being stopped.",
}


class Api:
    """Answers what was let in."""

    def __init__(self, worker: Worker, model: Model, defaults: Defaults) -> None:
        """`worker` writes the answers."""
        self._worker, self._model, self._defaults = worker, model, defaults
        self._description = msgspec.json.encode(description(model.id))

    async def models(self, _: HttpRequest) -> Response:
        """What can be asked."""
        return _json(msgspec.json.encode(ModelList([self._model])))

    async def model(self, request: HttpRequest) -> Response:
        """One of them."""
        self._require(request.path_params["model"])
        return _json(msgspec.json.encode(self._model))

    async def chat(self, request: HttpRequest) -> Response:
        """Answer a conversation."""
        asked = await self._read(request, ChatRequest)
        return self._begun(chat_order(asked, self._defaults), asked, ChatForm.new(self._model.id))

    async def complete(self, request: HttpRequest) -> Response:
        """Write a text on."""
        asked = await self._read(request, TextRequest)
        return self._begun(text_order(asked, self._defaults), asked, TextForm.new(self._model.id))

    async def openapi(self, _: HttpRequest) -> Response:
        """What there is, for programs."""
        return _json(self._description)

    async def _read(self, request: HttpRequest, kind: type[_Body]) -> _Body:
        asked = parsed(await _body(request, self._worker.limits), kind)
        self._require(asked.model)
        return asked

    def _begun(self, order: Request, asked: AnswerRequest, form: Form) -> Response:
        with_tokens = order.likeliest is not None
        return Reported(
            self._worker.take(order), form, asked, self._worker.limits.send_seconds, with_tokens=with_tokens
        )

    def _require(self, name: str) -> None:
        if name != self._model.id:
            sentence = f"The model {name[:80]!r} is not served here: ask for {self._model.id!r}."
            raise RefusedError(404, Fault(sentence, INVALID, "model", "model_not_found"))


def application(worker: Worker, model: Model, access: Access, defaults: Defaults) -> Starlette:
    """The API, for those who are let in."""
    api, origins = Api(worker, model, defaults), sorted(access.origins)
    pages = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])
    return Starlette(
        routes=[
            Route("/v1/models", api.models),
            Route("/v1/models/{model:path}", api.model),
            Route("/v1/chat/completions", api.chat, methods=["POST"]),
            Route("/v1/completions", api.complete, methods=["POST"]),
            Route("/openapi.json", api.openapi),
        ],
        middleware=[
            Middleware(Guard, access.page_refusal),
            *([pages] if origins else []),
            Middleware(Guard, access.key_refusal),
        ],
        exception_handlers={HeadstartError: _as_refusal, HTTPException: _as_http, Exception: _as_bug},
    )


async def _body(request: HttpRequest, limits: Limits) -> bytes:
    """All of it, within bounds of size and time. Many clients listen only when they have sent all."""
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= limits.body_bytes:
                    body += chunk
                elif size > _MOST_DISCARDED:
                    break
    except ClientDisconnect:
        raise invalid("The connection ended before the request was there: send all of it.") from None
    except TimeoutError:
        if size <= limits.body_bytes:
            sentence = f"The request was not there within {limits.body_seconds:g} s: send it faster."
            raise RefusedError(408, Fault(sentence, INVALID, code="too_slow"), _CLOSING) from None
    if size > limits.body_bytes:
        sentence = f"The request has more than {limits.body_bytes / 2**20:.3g} MiB: shorten its text."
        raise RefusedError(413, Fault(sentence, INVALID, code="too_large"), _CLOSING)
    return bytes(body)


async def _as_refusal(_: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, HeadstartError)
    return refused(error).response()


async def _as_http(request: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = f"{request.method} {request.url.path[:80]} is not answered here: see /openapi.json."
    return RefusedError(error.status_code, Fault(sentence, INVALID, code="not_found"), error.headers).response()


async def _as_bug(_: HttpRequest, error: Exception) -> Response:
    """It is logged by whoever runs this."""
    sentence = f"The server failed ({type(error).__name__}): see what it printed, and report it."
    # Whoever runs this closes the connection after a bug; a client that is not told would send its next request there.
    return RefusedError(500, Fault(sentence, SERVER), _CLOSING).response()


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def description(model: str) -> dict[str, Any]:
    """The whole document for a server of `model`."""
    _, schemas = msgspec.json.schema_components(_TYPES, ref_template=_PLACE)
    for name in ("ChatRequest", "TextRequest"):
        schemas[name]["properties"]["model"] = {"type": "string", "enum": [model]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headstart", "version": __version__, "description": "One local model, as OpenAI has it."},
        "paths": _paths(),
        "security": [{"key": []}],
        "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _paths() -> dict[str, Any]:
    name = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
    chat = _asked("ChatRequest") | _answered("ChatCompletion", "ChatChunk")
    text = _asked("TextRequest") | _answered("TextCompletion", "TextCompletion")
    return {
        "/v1/models": {"get": _named("listModels", "What can be asked.") | _answered("ModelList")},
        "/v1/models/{model}": {
            "get": _named("retrieveModel", "One model.") | {"parameters": [name]} | _answered("Model")
        },
        "/v1/chat/completions": {"post": _named("createChatCompletion", "Answer a conversation.") | chat},
        "/v1/completions": {"post": _named("createCompletion", "Write a text on.") | text},
    }


def _named(operation: str, summary: str) -> dict[str, Any]:
    return {"operationId": operation, "summary": summary}


def _asked(schema: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _at(schema)}}}}


def _answered(schema: str, streamed: str | None = None) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": _at(schema)}}
    told = "As asked."
    if streamed:
        told = f"As asked. With `stream`, an event for each part has a {streamed}, and the last event is [DONE]."
        content["text/event-stream"] = {}
    fault = {"application/json": {"schema": _at("FaultBody")}}
    replies = {status: {"description": text, "content": fault} for status, text in _FAULTS.items()}
    return {"responses": {"200": {"description": told, "content": content}} | replies}


def _at(schema: str) -> dict[str, str]:
    return {"$ref": _PLACE.format(name=schema)}
