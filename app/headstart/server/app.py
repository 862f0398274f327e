"""The routes of the API, and their description in OpenAPI."""

import asyncio
import hashlib
import re
import time
from collections.abc import Iterable, Sequence
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
from headstart.server.anthropic import (
    CountedTokens,
    CountTokensRequest,
    MessagesFormatter,
    MessagesRequest,
    left_out_of_messages,
    messages_to_request,
)
from headstart.server.auth import CLIENT, Access, Guard
from headstart.server.errors import (
    INVALID,
    SERVER,
    Fault,
    FaultBody,
    MessagesFaultBody,
    Notices,
    RefusedError,
    invalid,
    stopping,
)
from headstart.server.metrics import TYPE, Metrics
from headstart.server.models import Served, find
from headstart.server.replies import (
    EMBEDS,
    ChatChunk,
    ChatCompletion,
    ChatFormatter,
    Embeddings,
    Model,
    ModelList,
    ReplyContext,
    ReplyFormatter,
    TextCompletion,
    TextFormatter,
    embeddings_of,
)
from headstart.server.requests import (
    AnswerRequest,
    ChatRequest,
    Defaults,
    EmbeddingRequest,
    TextRequest,
    chat_to_request,
    embedding_to_request,
    fan_out,
    other_kinds,
    parse_request,
    text_to_requests,
)
from headstart.server.responses import (
    InputTokens,
    ResponsesFormatter,
    ResponsesRequest,
    left_out_of_responses,
    responses_to_request,
)
from headstart.server.streaming import MODEL, AnswerResponse, refusal_of
from headstart.server.tokens import Detokenized, DetokenizeRequest, Tokenized, TokenizeRequest, tokenize_to_request
from headstart.server.worker import Limits, Worker
from headstart.tools.calls import CallReader


class _HasModel(Protocol):
    @property
    def model(self) -> str | None: ...


_Body = TypeVar("_Body", bound=_HasModel)
_DEFAULT_ANSWER_TOKENS = 4096  # tokens, if the model's context is unknown
_MAX_DISCARDED_BYTES = 2**30
_MAX_FLOATS = 2_500_000  # in the embeddings of a request, which the engine reports in one line
_CLOSE_CONNECTION = {"connection": "close"}
_LEFT_OUT = "x-headstart-left-out"  # header of a reply: types of tools and parts that the request had in vain
_MAX_LEFT_OUT = 20  # of them; clients choose their names
_SCHEMA_REF = "#/components/schemas/{name}"
_BODIES = (
    ChatRequest,
    TextRequest,
    MessagesRequest,
    CountTokensRequest,
    ResponsesRequest,
    EmbeddingRequest,
    TokenizeRequest,
    DetokenizeRequest,
)
_ANSWERS = (
    Embeddings,
    Tokenized,
    Detokenized,
    CountedTokens,
    InputTokens,
    ChatCompletion,
    ChatChunk,
    TextCompletion,
    ModelList,
    Model,
    FaultBody,
    MessagesFaultBody,
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
    """The handlers of the routes."""

    def __init__(self, worker: Worker, defaults: Defaults, metrics: Metrics, notices: Notices) -> None:
        self._worker, self._models, self._defaults, self._metrics = worker, worker.models, defaults, metrics
        self._notices = notices
        self._created = int(time.time())

    async def models(self, _: HttpRequest) -> Response:
        return _json(ModelList([self._describe(model) for model in self._models.listed()]))

    async def model(self, request: HttpRequest) -> Response:
        return _json(self._describe(find(self._models, request.path_params["model"])))

    async def chat(self, request: HttpRequest) -> Response:
        """Answer a conversation: POST /v1/chat/completions."""
        body, model = await self._read(request, ChatRequest)
        engine_requests = fan_out(chat_to_request(body, self._defaults_for(model)), body.n)
        context = self._context(body, model, len(engine_requests), len(engine_requests))
        formatters = [
            ChatFormatter(context, _call_reader(engine_request), index)
            for index, engine_request in enumerate(engine_requests)
        ]
        left_out = other_kinds(body.tools or ())
        return self._answer(request, model, engine_requests, formatters, streamed=bool(body.stream), left_out=left_out)

    async def complete(self, request: HttpRequest) -> Response:
        """Continue a text: POST /v1/completions."""
        body, model = await self._read(request, TextRequest)
        engine_requests = text_to_requests(body, self._defaults_for(model))
        context = self._context(body, model, body.n or 1, len(engine_requests))
        formatters = [TextFormatter(context, index) for index in range(len(engine_requests))]
        return self._answer(request, model, engine_requests, formatters, streamed=bool(body.stream))

    async def messages(self, request: HttpRequest) -> Response:
        """Answer a conversation: POST /v1/messages, Anthropic's API."""
        body, model = await self._read(request, MessagesRequest)
        engine_request = messages_to_request(body, self._defaults_for(model))
        formatter = MessagesFormatter(model.id, _call_reader(engine_request))
        left_out = left_out_of_messages(body)
        return self._answer(
            request, model, [engine_request], [formatter], streamed=bool(body.stream), left_out=left_out
        )

    async def count_messages(self, request: HttpRequest) -> Response:
        """Count the tokens of a conversation: POST /v1/messages/count_tokens."""
        body, model = await self._read(request, CountTokensRequest)
        engine_request = messages_to_request(body, self._defaults_for(model))
        return _json(CountedTokens(await self._count(request, model, engine_request)))

    async def respond(self, request: HttpRequest) -> Response:
        """Answer a conversation: POST /v1/responses, OpenAI's newer API."""
        body, model = await self._read(request, ResponsesRequest)
        engine_request = responses_to_request(body, self._defaults_for(model))
        formatter = ResponsesFormatter(replace(body, model=model.id), engine_request, _call_reader(engine_request))
        left_out = left_out_of_responses(body)
        return self._answer(
            request, model, [engine_request], [formatter], streamed=bool(body.stream), left_out=left_out
        )

    async def count_input(self, request: HttpRequest) -> Response:
        """Count the tokens of a conversation: POST /v1/responses/input_tokens."""
        body, model = await self._read(request, ResponsesRequest)
        engine_request = responses_to_request(body, self._defaults_for(model))
        return _json(InputTokens(await self._count(request, model, engine_request)))

    async def embed(self, request: HttpRequest) -> Response:
        """Turn texts into vectors: POST /v1/embeddings."""
        body, model = await self._read(request, EmbeddingRequest)
        if body.dimensions and body.dimensions > model.dimensions:
            sentence = f"The vectors of {model.id!r} have {model.dimensions} dimensions: ask for no more."
            raise invalid(sentence, "dimensions", "unsupported_value")
        engine_request = embedding_to_request(body)
        if len(engine_request.inputs) * model.dimensions > _MAX_FLOATS:
            limit = _MAX_FLOATS // model.dimensions
            raise invalid(f"{model.id!r} takes up to {limit} texts at a time: send them in several requests.", "input")
        _, finish = await self._run(request, model, engine_request)
        if not finish.vectors:
            raise stopping()
        return _json(embeddings_of(finish, model.id, body.dimensions, as_base64=body.encoding_format == "base64"))

    async def tokenize(self, request: HttpRequest) -> Response:
        body, model = await self._read(request, TokenizeRequest)
        _, finish = await self._run(request, model, tokenize_to_request(body))
        return _json(Tokenized(list(finish.token_ids), len(finish.token_ids), finish.stats.context_length))

    async def detokenize(self, request: HttpRequest) -> Response:
        body, model = await self._read(request, DetokenizeRequest)
        text, _ = await self._run(request, model, Request((), prompt_ids=tuple(body.tokens), tokens_only=True))
        return _json(Detokenized(text, text))

    async def health(self, _: HttpRequest) -> Response:
        return _json({"status": "ok"})

    async def metrics(self, _: HttpRequest) -> Response:
        return Response(self._metrics.text(self._worker.waiting), headers={"content-type": TYPE})

    async def openapi(self, _: HttpRequest) -> Response:
        return _json(description([model.id for model in self._models.listed()]))

    async def _read(self, request: HttpRequest, body_type: type[_Body]) -> tuple[_Body, Served]:
        body = parse_request(await _read_body(request, self._worker.limits), body_type)
        if body.model is None and len(self._models.listed()) > 1:
            raise invalid("Several models are served here: name one in `model`.", "model")
        model = find(self._models, body.model or self._models.listed()[0].id)
        request.scope[MODEL] = model.id
        if isinstance(body, EmbeddingRequest) != bool(model.dimensions):
            does = "turns texts into vectors and cannot chat" if model.dimensions else "writes and makes no vectors"
            raise invalid(f"The model {model.id!r} {does}: name another one.", "model", "unsupported_model")
        return body, model

    async def _run(self, request: HttpRequest, model: Served, engine_request: Request) -> tuple[str, Finish]:
        """Return the text and the statistics of an answer. Raises RefusedError."""
        (answer,) = self._worker.take([engine_request], model, request.scope[CLIENT])
        text = ""
        async with aclosing(answer.events()) as events:
            async for event in events:
                if isinstance(event, Step):
                    text += event.text
                elif isinstance(event, Finish):
                    return text, event
        raise stopping()

    async def _count(self, request: HttpRequest, model: Served, engine_request: Request) -> int:
        _, finish = await self._run(request, model, replace(engine_request, tokens_only=True))
        return len(finish.token_ids)

    def _context(self, body: AnswerRequest, model: Served, answers_per_prompt: int, answers: int) -> ReplyContext:
        with_usage = body.stream_options is not None and bool(body.stream_options.include_usage)
        loaded = cache(lambda: fingerprint(self._models.known(model), self._defaults))
        return ReplyContext(model.id, loaded, with_usage, answers_per_prompt, answers)

    def _defaults_for(self, model: Served) -> Defaults:
        """Return the values for the fields that a request leaves out."""
        defaults = self._defaults
        return replace(defaults, length=defaults.length or model.context // 2 or _DEFAULT_ANSWER_TOKENS)

    def _answer(
        self,
        request: HttpRequest,
        model: Served,
        engine_requests: Sequence[Request],
        formatters: Sequence[ReplyFormatter],
        *,
        streamed: bool,
        left_out: Iterable[str] = (),
    ) -> Response:
        """Return the response to a request. `left_out`: types of its tools and parts that have no place here."""
        answers = self._worker.take(engine_requests, model, request.scope[CLIENT])
        send_seconds, with_tokens = self._worker.limits.send_seconds, engine_requests[0].likeliest is not None
        kinds = list(dict.fromkeys(re.sub(r"[^\w.-]", "_", kind[:80], flags=re.ASCII) for kind in left_out))
        for kind in kinds[:_MAX_LEFT_OUT]:
            self._notices.warn(f"A request has {kind!r}, which nobody can use here: it was left out.")
        headers = {_LEFT_OUT: ", ".join(kinds[:_MAX_LEFT_OUT])} if kinds else {}
        return AnswerResponse(
            answers, formatters, send_seconds, streamed=streamed, with_tokens=with_tokens, more_headers=headers
        )

    def _describe(self, model: Served) -> Model:
        shown = Model(model.id, self._created, model.context or None, model.context or None)
        return replace(shown, capabilities=EMBEDS) if model.dimensions else shown


def application(worker: Worker, access: Access, defaults: Defaults, metrics: Metrics) -> Starlette:
    """Return the API behind its access checks. The caller counts the requests in `metrics`."""
    api, origins = Api(worker, defaults, metrics, access.notices), sorted(access.origins)
    pages = Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])
    routes = [
        Route("/v1/models", api.models),
        Route("/v1/chat/completions", api.chat, methods=["POST"]),
        Route("/v1/completions", api.complete, methods=["POST"]),
        Route("/v1/responses", api.respond, methods=["POST"]),
        Route("/v1/responses/input_tokens", api.count_input, methods=["POST"]),
        Route("/v1/messages", api.messages, methods=["POST"]),
        Route("/v1/messages/count_tokens", api.count_messages, methods=["POST"]),
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
        exception_handlers={
            HeadstartError: _refusal_response,
            HTTPException: _http_error_response,
            Exception: _bug_response,
        },
    )


def _call_reader(engine_request: Request) -> CallReader | None:
    return CallReader(bare=not engine_request.schema) if engine_request.tools else None


def fingerprint(model: Served, defaults: Defaults) -> str:
    """Return a name that changes with the program, the model, its arithmetic and the defaults of requests.

    It ends in "-varies" if the same request may get different answers.
    """
    state = repr((__version__, model, defaults)).encode()
    return f"fp_{hashlib.sha256(state).hexdigest()[:12]}{'' if model.is_batch_invariant else '-varies'}"


async def _read_body(request: HttpRequest, limits: Limits) -> bytes:
    """Return the body of a request within the limits of size and time. Raises RefusedError.

    A body that is too large is read on and discarded: many clients read no reply before they have sent everything.
    """
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= limits.body_bytes:
                    body += chunk
                elif size > _MAX_DISCARDED_BYTES:
                    break
    except ClientDisconnect:
        raise invalid("The connection ended before the whole request arrived: send all of it.") from None
    except TimeoutError:
        if size <= limits.body_bytes:
            sentence = f"The request did not arrive within {limits.body_seconds:g} s: send it faster."
            raise RefusedError(408, Fault(sentence, INVALID, code="too_slow"), _CLOSE_CONNECTION) from None
    if size > limits.body_bytes:
        sentence = f"The request has more than {limits.body_bytes / 2**20:.3g} MiB: shorten its text."
        raise RefusedError(413, Fault(sentence, INVALID, code="too_large"), _CLOSE_CONNECTION)
    return bytes(body)


async def _refusal_response(request: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, HeadstartError)
    return refusal_of(error, request.scope).response(request.url.path)


async def _http_error_response(request: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = f"{request.method} {request.url.path[:80]} is not part of this API: see /openapi.json."
    code = "method_not_allowed" if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED else "not_found"
    return RefusedError(error.status_code, Fault(sentence, INVALID, code=code), error.headers).response(
        request.url.path
    )


async def _bug_response(request: HttpRequest, error: Exception) -> Response:
    """Return the reply to a request that met a bug. The web server logs the bug."""
    sentence = f"The server failed ({type(error).__name__}): look at its output, and report it."
    # The web server closes the connection after a bug; the header keeps a client from sending its next request there.
    return RefusedError(500, Fault(sentence, SERVER), _CLOSE_CONNECTION).response(request.url.path)


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


def description(models: list[str]) -> dict[str, Any]:
    """Return the OpenAPI document for a server of these models."""
    _, schemas = msgspec.json.schema_components(_BODIES + _ANSWERS, ref_template=_SCHEMA_REF)
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
    chat = _request_body("ChatRequest") | _responses("ChatCompletion", "ChatChunk")
    text = _request_body("TextRequest") | _responses("TextCompletion", "TextCompletion")
    message = _request_body("MessagesRequest") | _responses("", fault="MessagesFaultBody")
    counted = _request_body("CountTokensRequest") | _responses("CountedTokens", fault="MessagesFaultBody")
    response = _request_body("ResponsesRequest") | _responses("")
    counted_input = _request_body("ResponsesRequest") | _responses("InputTokens")
    tokenize = _request_body("TokenizeRequest") | _responses("Tokenized")
    embed = _request_body("EmbeddingRequest") | _responses("Embeddings")
    detokenize = _request_body("DetokenizeRequest") | _responses("Detokenized")
    return {
        "/v1/models": {"get": _operation("listModels", "List the models.") | _responses("ModelList")},
        "/v1/models/{model}": {
            "get": _operation("retrieveModel", "Show one model.") | {"parameters": [name]} | _responses("Model")
        },
        "/v1/chat/completions": {"post": _operation("createChatCompletion", "Answer a conversation.") | chat},
        "/v1/completions": {"post": _operation("createCompletion", "Continue a text.") | text},
        "/v1/responses": {"post": _operation("createResponse", "Answer a conversation; nothing is stored.") | response},
        "/v1/embeddings": {"post": _operation("createEmbedding", "Turn texts into vectors.") | embed},
        "/tokenize": {"post": _operation("tokenize", "Turn a text or a conversation into tokens.") | tokenize},
        "/detokenize": {"post": _operation("detokenize", "Turn tokens into a text.") | detokenize},
        "/v1/messages": {
            "post": _operation("createMessage", "Answer a conversation, as Anthropic's API does.") | message
        },
        "/v1/messages/count_tokens": {
            "post": _operation("countMessageTokens", "Count the tokens of a conversation.") | counted
        },
        "/v1/responses/input_tokens": {
            "post": _operation("countInputTokens", "Count the tokens of a conversation.") | counted_input
        },
    }


def _operation(operation: str, summary: str) -> dict[str, Any]:
    return {"operationId": operation, "summary": summary}


def _request_body(schema: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _ref(schema)}}}}


def _responses(schema: str, streamed: str | None = None, fault: str = "FaultBody") -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": _ref(schema)} if schema else {}}
    description = "The answer."
    if streamed:
        description = f"The answer. With `stream`, each event holds a {streamed}, and the last event is [DONE]."
    if streamed or not schema:
        content["text/event-stream"] = {}
    faults = {"application/json": {"schema": _ref(fault)}}
    replies = {status: {"description": text, "content": faults} for status, text in _FAULTS.items()}
    return {"responses": {"200": {"description": description, "content": content}} | replies}


def _ref(schema: str) -> dict[str, str]:
    return {"$ref": _SCHEMA_REF.format(name=schema)}
