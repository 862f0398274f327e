"""The routes: models, chat, completions and their OpenAPI description."""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from typing import Any, Protocol, TypeVar

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
from headstart.engine.engine import Finish, Request, Step
from headstart.errors import HeadstartError
from headstart.server.anthropic import MessagesForm, MessagesRequest, messages_order
from headstart.server.auth import CLIENT, Access, Guard
from headstart.server.metrics import TYPE, Metrics
from headstart.server.models import Served, find
from headstart.server.refusal import INVALID, SERVER, Fault, FaultBody, RefusedError, invalid, refused, stopping
from headstart.server.replies import (
    EMBEDS,
    ChatChunk,
    ChatCompletion,
    ChatForm,
    Embeddings,
    Form,
    Head,
    Model,
    ModelList,
    TextCompletion,
    TextForm,
    embeddings_of,
)
from headstart.server.requests import (
    AnswerRequest,
    ChatRequest,
    Defaults,
    EmbeddingRequest,
    TextRequest,
    chat_order,
    embedding_order,
    parsed,
    several,
    text_orders,
)
from headstart.server.responses import ResponsesForm, ResponsesRequest, responses_order
from headstart.server.streaming import Reported
from headstart.server.tokens import Detokenized, DetokenizeRequest, Tokenized, TokenizeRequest, tokens_order
from headstart.server.worker import Limits, Worker
from headstart.tools.calls import CallReader


class _NamesModel(Protocol):
    @property
    def model(self) -> str | None: ...


_Body = TypeVar("_Body", bound=_NamesModel)
_USUAL_LENGTH = 4096  # tokens of an answer at most, where nothing is known of the context
_MOST_DISCARDED = 2**30  # bytes
_MOST_NUMBERS = 2_500_000  # of the vectors of a request; the engine tells them in one line
_CLOSING = {"connection": "close"}
_PLACE = "#/components/schemas/{name}"
_BODIES = (
    ChatRequest,
    TextRequest,
    MessagesRequest,
    ResponsesRequest,
    EmbeddingRequest,
    TokenizeRequest,
    DetokenizeRequest,
)
_ANSWERS = (
    Embeddings,
    Tokenized,
    Detokenized,
    ChatCompletion,
    ChatChunk,
    TextCompletion,
    ModelList,
    Model,
    FaultBody,
)
_FAULTS = {
    "400": "The request cannot be answered as it is.",
    "401": "The key is missing or wrong.",
    "403": "The request came from a web page, or with a Host that is not this computer.",
    "404": "There is no such model.",
    "408": "The request came too slowly.",
    "413": "The request is too large.",
    "429": "Too many requests are waiting; Retry-After says when to try again.",
    "500": "The server failed.",
    "503": "The engine was lost, or the server is stopping.",
}


class Api:
    """Answers the requests that were let in."""

    def __init__(self, worker: Worker, defaults: Defaults, metrics: Metrics) -> None:
        """`worker` writes the answers."""
        self._worker, self._models, self._defaults, self._metrics = worker, worker.models, defaults, metrics
        self._created = int(time.time())

    async def models(self, _: HttpRequest) -> Response:
        """List the models."""
        return _json(ModelList([self._shown(model) for model in self._models.listed()]))

    async def model(self, request: HttpRequest) -> Response:
        """Show one model."""
        return _json(self._shown(find(self._models, request.path_params["model"])))

    async def chat(self, request: HttpRequest) -> Response:
        """Answer a conversation."""
        asked, model = await self._read(request, ChatRequest)
        orders = several(chat_order(asked, self._for(model)), asked.n)
        head = self._head(asked, model, len(orders), len(orders))
        forms = [ChatForm(head, _reader(order), index) for index, order in enumerate(orders)]
        return self._begun(request, model, orders, forms, streamed=bool(asked.stream))

    async def complete(self, request: HttpRequest) -> Response:
        """Continue a text."""
        asked, model = await self._read(request, TextRequest)
        orders = text_orders(asked, self._for(model))
        head = self._head(asked, model, asked.n or 1, len(orders))
        forms = [TextForm(head, index) for index in range(len(orders))]
        return self._begun(request, model, orders, forms, streamed=bool(asked.stream))

    async def messages(self, request: HttpRequest) -> Response:
        """Answer a conversation as Anthropic's API does."""
        asked, model = await self._read(request, MessagesRequest)
        order = messages_order(asked, self._for(model))
        return self._begun(
            request, model, [order], [MessagesForm(model.id, _reader(order))], streamed=bool(asked.stream)
        )

    async def respond(self, request: HttpRequest) -> Response:
        """Answer a conversation as OpenAI's newer API does."""
        asked, model = await self._read(request, ResponsesRequest)
        order = responses_order(asked, self._for(model))
        form = ResponsesForm(replace(asked, model=model.id), order, _reader(order))
        return self._begun(request, model, [order], [form], streamed=bool(asked.stream))

    async def embed(self, request: HttpRequest) -> Response:
        """Turn texts into vectors."""
        asked, model = await self._read(request, EmbeddingRequest)
        if asked.dimensions and asked.dimensions > model.dimensions:
            sentence = f"The vectors of {model.id!r} have {model.dimensions} dimensions: ask for no more."
            raise invalid(sentence, "dimensions", "unsupported_value")
        order = embedding_order(asked)
        if len(order.inputs) * model.dimensions > _MOST_NUMBERS:
            most = _MOST_NUMBERS // model.dimensions
            raise invalid(f"{model.id!r} takes up to {most} texts at a time: send them in several requests.", "input")
        _, finish = await self._tokens(request, model, order)
        if not finish.vectors:
            raise stopping()
        return _json(embeddings_of(finish, model.id, asked.dimensions, as_base64=asked.encoding_format == "base64"))

    async def tokenize(self, request: HttpRequest) -> Response:
        """Turn a text or a conversation into tokens."""
        asked, model = await self._read(request, TokenizeRequest)
        _, finish = await self._tokens(request, model, tokens_order(asked))
        return _json(Tokenized(list(finish.token_ids), len(finish.token_ids), finish.stats.context_length))

    async def detokenize(self, request: HttpRequest) -> Response:
        """Turn tokens into a text."""
        asked, model = await self._read(request, DetokenizeRequest)
        text, _ = await self._tokens(request, model, Request((), prompt_ids=tuple(asked.tokens), tokens_only=True))
        return _json(Detokenized(text, text))

    async def health(self, _: HttpRequest) -> Response:
        """Say that the server answers."""
        return _json({"status": "ok"})

    async def metrics(self, _: HttpRequest) -> Response:
        """Show what was counted."""
        return Response(self._metrics.text(self._worker.waiting), headers={"content-type": TYPE})

    async def openapi(self, _: HttpRequest) -> Response:
        """The description in OpenAPI."""
        return _json(description([model.id for model in self._models.listed()]))

    async def _read(self, request: HttpRequest, kind: type[_Body]) -> tuple[_Body, Served]:
        asked = parsed(await _body(request, self._worker.limits), kind)
        if asked.model is None and len(self._models.listed()) > 1:
            raise invalid("Several models are served here: name one in `model`.", "model")
        model = find(self._models, asked.model or self._models.listed()[0].id)
        if isinstance(asked, EmbeddingRequest) != bool(model.dimensions):
            does = "turns texts into vectors and cannot chat" if model.dimensions else "writes and makes no vectors"
            raise invalid(f"The model {model.id!r} {does}: name another one.", "model", "unsupported_model")
        return asked, model

    async def _tokens(self, request: HttpRequest, model: Served, order: Request) -> tuple[str, Finish]:
        """The text of a prompt, and its tokens."""
        (answer,) = self._worker.take([order], model, request.scope[CLIENT])
        text = ""
        async with aclosing(answer.events()) as events:
            async for event in events:
                if isinstance(event, Step):
                    text += event.text
                elif isinstance(event, Finish):
                    return text, event
        raise stopping()

    def _head(self, asked: AnswerRequest, model: Served, each: int, answers: int) -> Head:
        with_usage = asked.stream_options is not None and bool(asked.stream_options.include_usage)
        loaded = cache(lambda: fingerprint(self._models.known(model), self._defaults))
        return Head(model.id, loaded, with_usage, each, answers)

    def _for(self, model: Served) -> Defaults:
        """What is left open."""
        defaults = self._defaults
        return replace(defaults, length=defaults.length or model.context // 2 or _USUAL_LENGTH)

    def _begun(
        self, request: HttpRequest, model: Served, orders: Sequence[Request], forms: Sequence[Form], *, streamed: bool
    ) -> Response:
        answers = self._worker.take(orders, model, request.scope[CLIENT])
        patience, with_tokens = self._worker.limits.send_seconds, orders[0].likeliest is not None
        return Reported(answers, forms, patience, streamed=streamed, with_tokens=with_tokens)

    def _shown(self, model: Served) -> Model:
        shown = Model(model.id, self._created, model.context or None, model.context or None)
        return replace(shown, capabilities=EMBEDS) if model.dimensions else shown


def application(worker: Worker, access: Access, defaults: Defaults, counted: Metrics) -> Starlette:
    """The API behind its access checks. `counted` is told of each request by the caller."""
    api, origins = Api(worker, defaults, counted), sorted(access.origins)
    pages = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])
    routes = [
        Route("/v1/models", api.models),
        Route("/v1/chat/completions", api.chat, methods=["POST"]),
        Route("/v1/completions", api.complete, methods=["POST"]),
        Route("/v1/responses", api.respond, methods=["POST"]),
        Route("/v1/messages", api.messages, methods=["POST"]),
        Route("/v1/embeddings", api.embed, methods=["POST"]),
        Route("/tokenize", api.tokenize, methods=["POST"]),
        Route("/detokenize", api.detokenize, methods=["POST"]),
        Route("/health", api.health),
        Route("/v1/health", api.health),
        Route("/metrics", api.metrics),
        Route("/openapi.json", api.openapi),
    ]
    # Some clients add a slash, and follow no redirect of a POST.
    slashed = [Route(f"{route.path}/", route.endpoint, methods=list(route.methods or ())) for route in routes]
    return Starlette(
        routes=[Route("/", api.health), *routes, *slashed, Route("/v1/models/{model:path}", api.model)],
        middleware=[
            Middleware(Guard, access.page_refusal),
            *([pages] if origins else []),
            Middleware(Guard, access.key_refusal),
        ],
        exception_handlers={HeadstartError: _as_refusal, HTTPException: _as_http, Exception: _as_bug},
    )


def _reader(order: Request) -> CallReader | None:
    return CallReader(bare=not order.schema) if order.tools else None


def fingerprint(model: Served, defaults: Defaults) -> str:
    """Return what changes with the program, the model, its arithmetic and what a request leaves open.

    It ends in "-varies" where the arithmetic cannot promise the same answer to the same request.
    """
    described = repr((__version__, model, defaults)).encode()
    return f"fp_{hashlib.sha256(described).hexdigest()[:12]}{'' if model.is_batch_invariant else '-varies'}"


async def _body(request: HttpRequest, limits: Limits) -> bytes:
    """The whole body, within limits of size and time. Many clients read no reply before they have sent everything."""
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
        raise invalid("The connection ended before the whole request arrived: send all of it.") from None
    except TimeoutError:
        if size <= limits.body_bytes:
            sentence = f"The request did not arrive within {limits.body_seconds:g} s: send it faster."
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
    sentence = f"{request.method} {request.url.path[:80]} is not part of this API: see /openapi.json."
    code = "method_not_allowed" if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED else "not_found"
    return RefusedError(error.status_code, Fault(sentence, INVALID, code=code), error.headers).response()


async def _as_bug(_: HttpRequest, error: Exception) -> Response:
    """The web server logs it."""
    sentence = f"The server failed ({type(error).__name__}): look at its output, and report it."
    # The web server closes the connection after a bug; the header keeps a client from sending its next request there.
    return RefusedError(500, Fault(sentence, SERVER), _CLOSING).response()


def _json(told: object) -> Response:
    return Response(msgspec.json.encode(told), media_type="application/json")


def description(models: list[str]) -> dict[str, Any]:
    """The whole document for a server of these models."""
    _, schemas = msgspec.json.schema_components(_BODIES + _ANSWERS, ref_template=_PLACE)
    for body in _BODIES:
        schemas[body.__name__]["properties"]["model"] = {"type": "string", "enum": models}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headstart", "version": __version__, "description": "Local models behind OpenAI's API."},
        "paths": _paths(),
        "security": [{"key": []}],
        "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _paths() -> dict[str, Any]:
    name = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
    chat = _asked("ChatRequest") | _answered("ChatCompletion", "ChatChunk")
    text = _asked("TextRequest") | _answered("TextCompletion", "TextCompletion")
    message = _asked("MessagesRequest") | _answered("")
    response = _asked("ResponsesRequest") | _answered("")
    tokenize = _asked("TokenizeRequest") | _answered("Tokenized")
    embed = _asked("EmbeddingRequest") | _answered("Embeddings")
    detokenize = _asked("DetokenizeRequest") | _answered("Detokenized")
    return {
        "/v1/models": {"get": _named("listModels", "List the models.") | _answered("ModelList")},
        "/v1/models/{model}": {
            "get": _named("retrieveModel", "Show one model.") | {"parameters": [name]} | _answered("Model")
        },
        "/v1/chat/completions": {"post": _named("createChatCompletion", "Answer a conversation.") | chat},
        "/v1/completions": {"post": _named("createCompletion", "Continue a text.") | text},
        "/v1/responses": {"post": _named("createResponse", "Answer a conversation; nothing is stored.") | response},
        "/v1/embeddings": {"post": _named("createEmbedding", "Turn texts into vectors.") | embed},
        "/tokenize": {"post": _named("tokenize", "Turn a text or a conversation into tokens.") | tokenize},
        "/detokenize": {"post": _named("detokenize", "Turn tokens into a text.") | detokenize},
        "/v1/messages": {"post": _named("createMessage", "Answer a conversation, as Anthropic's API does.") | message},
    }


def _named(operation: str, summary: str) -> dict[str, Any]:
    return {"operationId": operation, "summary": summary}


def _asked(schema: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _at(schema)}}}}


def _answered(schema: str, streamed: str | None = None) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": _at(schema)} if schema else {}}
    told = "The answer."
    if streamed:
        told = f"The answer. With `stream`, each event holds a {streamed}, and the last event is [DONE]."
    if streamed or not schema:
        content["text/event-stream"] = {}
    fault = {"application/json": {"schema": _at("FaultBody")}}
    replies = {status: {"description": text, "content": fault} for status, text in _FAULTS.items()}
    return {"responses": {"200": {"description": told, "content": content}} | replies}


def _at(schema: str) -> dict[str, str]:
    return {"$ref": _PLACE.format(name=schema)}
